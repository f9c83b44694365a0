// A drive that gets full. LevelDB has no status for it; the message says it. The database must open
// again and again, with all its entries, and take deletes.

#include <algorithm>

#include "contract.h"
#include "leveldb/write_batch.h"

using leveldb::DB;
using leveldb::ReadOptions;
using leveldb::Status;
using leveldb::WriteOptions;

namespace {

constexpr char kPlace[] = "/full";
constexpr int kOpenings = 3;

// Checks that exactly the first `entries` exist.
void compare(DB* db, int entries) {
  ReadOptions options;
  options.verify_checksums = true;
  std::unique_ptr<leveldb::Iterator> found(db->NewIterator(options));
  int number = 0;
  for (found->SeekToFirst(); found->Valid(); found->Next(), number++) {
    CHECK(found->key() == key_of(number) && found->value() == value_of(number));
  }
  must(found->status(), "scan");
  CHECK(number == entries);
}

// Writes until that fails; returns the number of the write that did.
int fill(DB* db, int number) {
  for (;; number++) {
    CHECK(number < 10000000);
    const Status status = db->Put(WriteOptions(), key_of(number), value_of(number));
    if (!status.ok()) {
      CHECK(status.IsIOError() && status.ToString().find("space") != std::string::npos);
      // It stays so until the database is opened again.
      CHECK(!db->Put(WriteOptions(), key_of(number), value_of(number)).ok());
      return number;
    }
  }
}

}  // namespace

void full(const std::string& uri) {
  const auto env = env_of(uri);
  const leveldb::Options options = options_of(env.get());
  auto db = open(options, kPlace);
  const int number = fill(db.get(), 0);
  compare(db.get(), number);
  std::printf("full after %d writes\n", number);
  for (int opening = 0; opening < kOpenings; opening++) {
    db.reset();
    db = open(options, kPlace);
    compare(db.get(), number);
  }
  int most = 0;
  for (int start = 0; start < number; start += 1000) {
    leveldb::WriteBatch batch;
    for (int key = start; key < number && key < start + 1000; key++) {
      batch.Delete(key_of(key));
    }
    for (int opening = 0; !db->Write(WriteOptions(), &batch).ok(); opening++) {
      CHECK(opening < kOpenings);
      most = std::max(most, opening + 1);
      db.reset();
      db = open(options, kPlace);
      db->CompactRange(nullptr, nullptr);
    }
  }
  std::printf("opened at most %d times for deletes\n", most);
  db->CompactRange(nullptr, nullptr);
  compare(db.get(), 0);
  for (int again = 0; again < number / 2; again++) {
    must(db->Put(WriteOptions(), key_of(again), value_of(again)), "put after the delete");
  }
  compare(db.get(), number / 2);
}
