// A synced insert is one write to the drive, and no flush.
//
// The file system counts them. A memtable that holds everything keeps tables, and the journal's
// records of them, out of the count.

#include "contract.h"
#include "rocksdb/convenience.h"

using rocksdb::WriteOptions;

namespace {

unsigned long long count(rocksdb::FileSystem* fs, const std::string& name) {
  std::string value;
  must(fs->GetOption(rocksdb::ConfigOptions(), name, &value), "count");
  return std::strtoull(value.c_str(), nullptr, 10);
}

}  // namespace

void writes(const std::string& uri) {
  auto fs = file_system(uri);
  const auto env = rocksdb::NewCompositeEnv(fs);
  auto options = options_of(env.get());
  options.write_buffer_size = 64 << 20;
  auto db = open(options, "/writes");
  WriteOptions synced;
  synced.sync = true;
  // The first may take the log's first zone.
  must(db->Put(synced, key_of(0), "first"), "put");
  const auto writes_before = count(fs.get(), "writes"), flushes = count(fs.get(), "flushes");
  constexpr int kInserts = 100;
  for (int number = 1; number <= kInserts; number++) {
    must(db->Put(synced, key_of(number), value_of(number)), "put");
  }
  const auto writes = count(fs.get(), "writes") - writes_before;
  std::printf("%llu writes for %d synced inserts\n", writes, kInserts);
  CHECK(writes == kInserts);
  CHECK(count(fs.get(), "flushes") == flushes);
  std::string value;
  CHECK(fs->GetOption(rocksdb::ConfigOptions(), "none", &value).IsNotFound());
  must(db->Close(), "close");
}
