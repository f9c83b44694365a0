// A drive that gets full: the database on it is opened again, several times, while it is full; all
// of it is read; half of it is deleted and compacted away; then it takes new data.
//
// The writer goes on after each refusal. So each time the drive is filled a little further.

#include "contract.h"

using rocksdb::DB;
using rocksdb::IOOptions;
using rocksdb::Options;
using rocksdb::ReadOptions;
using rocksdb::Status;
using rocksdb::WriteOptions;

namespace {

// Puts entries from `number` on until RocksDB is refused, and returns the first that was.
int fill(DB* db, int number) {
  Status status;
  for (;; number++) {
    CHECK(number < 10000000);
    status = db->Put(WriteOptions(), key_of(number), value_of(number));
    if (!status.ok()) {
      break;
    }
  }
  if (!status.IsNoSpace()) {
    std::fprintf(stderr, "expected no space, found %s\n", status.ToString().c_str());
    std::exit(1);
  }
  return number;
}

// Reads all entries, which begin with `first`, and returns the number after the last.
int read_all(DB* db, int first) {
  std::unique_ptr<rocksdb::Iterator> entries(db->NewIterator(ReadOptions()));
  int number = first;
  for (entries->SeekToFirst(); entries->Valid(); entries->Next(), number++) {
    CHECK(entries->key() == key_of(number) && entries->value() == value_of(number));
  }
  must(entries->status(), "scan");
  return number;
}

// Compacts the entries from `first` up to `last`.
void compact(DB* db, int first, int last) {
  const std::string begin = key_of(first), end = key_of(last);
  const rocksdb::Slice from = begin, to = end;
  must(db->CompactRange(rocksdb::CompactRangeOptions(), &from, &to), "compact");
}

}  // namespace

void full(const std::string& uri) {
  auto fs = file_system(uri);
  uint64_t free = 0;
  const auto env = rocksdb::NewCompositeEnv(fs);
  const Options options = options_of(env.get());
  auto db = open(options, "/full");
  int end = fill(db.get(), 0);
  std::printf("full after %d writes\n", end);
  must(fs->GetFreeSpace("/full", IOOptions(), &free, nullptr), "space");
  std::printf("free then: %llu bytes\n", static_cast<unsigned long long>(free));
  // A compaction that has ended since frees its inputs: of level 0 and level 1, each about a MiB by
  // the options.
  CHECK(free < (3 << 20));
  for (int round = 0; round < 3; round++) {
    db.reset();
    db = open(options, "/full");
    // Unsynced entries may be lost with the process; here the process has gone on.
    const int found = read_all(db.get(), 0);
    CHECK(found == end);
    end = fill(db.get(), found);
    std::printf("full again after %d more\n", end - found);
  }
  db.reset();
  db = open(options, "/full");
  must(db->VerifyChecksum(), "checksums");
  // The first quarter at once; the second in single deletes, for which there is space then.
  must(db->DeleteRange(WriteOptions(), db->DefaultColumnFamily(), key_of(0), key_of(end / 4)),
       "delete of a range");
  compact(db.get(), 0, end / 4);
  CHECK(read_all(db.get(), end / 4) == end);
  for (int number = end / 4; number < end / 2; number++) {
    must(db->Delete(WriteOptions(), key_of(number)), "delete");
  }
  compact(db.get(), end / 4, end / 2);
  compact(db.get(), 0, end);
  CHECK(read_all(db.get(), end / 2) == end);
  // Most of the freed space can be written again.
  for (int again = end; again < end + end / 4; again++) {
    must(db->Put(WriteOptions(), key_of(again), value_of(again)), "put after the delete");
  }
  must(db->Close(), "close");
  db = open(options, "/full");
  CHECK(read_all(db.get(), end / 2) == end + end / 4);
  must(db->Close(), "close");
}
