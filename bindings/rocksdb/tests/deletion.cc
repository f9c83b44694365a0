// Tables and logs that are deleted at a rate, in pieces: RocksDB renames a file to a trash file,
// opens that again and again, and cuts a piece off it each time.
//
// The trash must shrink and end, and nothing may be copied for it.

#include <chrono>
#include <thread>

#include "contract.h"
#include "rocksdb/convenience.h"
#include "rocksdb/sst_file_manager.h"

using rocksdb::FileSystem;
using rocksdb::IOOptions;
using rocksdb::WriteOptions;

namespace {

constexpr uint64_t kPiece = 128 << 10;
constexpr uint64_t kRate = 4 << 20;

uint64_t written(FileSystem* fs) {
  std::string bytes;
  must(fs->GetOption(rocksdb::ConfigOptions(), "written_bytes", &bytes), "count");
  return std::strtoull(bytes.c_str(), nullptr, 10);
}

// Bytes of tables in the directory, and of tables and of logs in the trash.
void sizes(FileSystem* fs, uint64_t* tables, uint64_t* trash, uint64_t* logs) {
  *tables = *trash = *logs = 0;
  std::vector<rocksdb::FileAttributes> files;
  must(fs->GetChildrenFileAttributes("/trash", IOOptions(), &files, nullptr), "files");
  for (const auto& file : files) {
    if (file.name.find(".log.trash") != std::string::npos) {
      *logs += file.size_bytes;
    } else if (file.name.find(".trash") != std::string::npos) {
      *trash += file.size_bytes;
    } else if (file.name.find(".sst") != std::string::npos) {
      *tables += file.size_bytes;
    }
  }
}

}  // namespace

void deletion(const std::string& uri) {
  auto fs = file_system(uri);
  const auto env = rocksdb::NewCompositeEnv(fs);
  auto options = options_of(env.get());
  options.write_buffer_size = 64 << 20;
  options.target_file_size_base = 1 << 20;
  options.sst_file_manager.reset(rocksdb::NewSstFileManager(env.get(), fs, nullptr, "", kRate, true,
                                                            nullptr, 1000.0, kPiece));
  auto db = open(options, "/trash");
  rocksdb::ColumnFamilyHandle* family = nullptr;
  must(db->CreateColumnFamily(options, "dropped", &family), "column family");
  for (int number = 0; number < 8192; number++) {
    must(db->Put(WriteOptions(), family, key_of(number), std::string(1000, 'v')), "put");
  }
  must(db->Flush(rocksdb::FlushOptions(), family), "flush");
  uint64_t tables = 0, left = 0, trash = 0, logs = 0;
  sizes(fs.get(), &tables, &trash, &logs);
  CHECK(tables > (7 << 20));
  const uint64_t before = written(fs.get());
  must(db->DropColumnFamily(family), "drop");
  must(db->DestroyColumnFamilyHandle(family), "drop");
  uint64_t last = tables, smaller = 0;
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    sizes(fs.get(), &left, &trash, &logs);
    CHECK(trash <= tables);
    smaller += trash < last ? 1 : 0;
    last = trash;
  } while (left > 0 || trash > 0 || logs > 0);
  const uint64_t cost = written(fs.get()) - before;
  std::printf("%llu bytes were written to delete %llu\n", static_cast<unsigned long long>(cost),
              static_cast<unsigned long long>(tables));
  CHECK(smaller > 2);
  CHECK(cost < tables / 4);
  must(db->Close(), "close");
}
