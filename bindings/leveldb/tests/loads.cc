// Loads like those of a benchmark; every value is compared with the writes.

#include <map>

#include "contract.h"
#include "leveldb/write_batch.h"

using leveldb::DB;
using leveldb::ReadOptions;
using leveldb::Status;
using leveldb::WriteOptions;

namespace {

constexpr int kEntries = 20000;
constexpr int kSynced = 200;
constexpr char kPlace[] = "/loads";

using Model = std::map<std::string, std::string>;

// Numbers that look random: each of them once, as the factor has no divisor of the count.
int scattered(int index) { return static_cast<int>(int64_t{index} * 7919 % kEntries); }

void write(DB* db, Model* model, int number, int value, bool sync) {
  WriteOptions options;
  options.sync = sync;
  must(db->Put(options, key_of(number), value_of(value)), "put");
  (*model)[key_of(number)] = value_of(value);
}

void compare(DB* db, const Model& model) {
  for (int index = 0; index < kEntries; index++) {
    const std::string key = key_of(scattered(index));
    const auto expected = model.find(key);
    std::string value;
    const Status status = db->Get(ReadOptions(), key, &value);
    if (expected == model.end()) {
      CHECK(status.IsNotFound());
    } else {
      must(status, "get");
      CHECK(value == expected->second);
    }
  }
  ReadOptions options;
  options.verify_checksums = true;
  std::unique_ptr<leveldb::Iterator> entries(db->NewIterator(options));
  auto expected = model.begin();
  for (entries->SeekToFirst(); entries->Valid(); entries->Next(), ++expected) {
    CHECK(expected != model.end());
    CHECK(entries->key() == expected->first && entries->value() == expected->second);
  }
  must(entries->status(), "scan");
  CHECK(expected == model.end());
}

// Opens the database again and compares it.
void reopen(std::unique_ptr<DB>* db, const leveldb::Options& options, const Model& model) {
  db->reset();
  *db = open(options, kPlace);
  compare(db->get(), model);
}

}  // namespace

void loads(const std::string& uri) {
  const auto env = env_of(uri);
  leveldb::Options options = options_of(env.get());
  Model model;
  auto db = open(options, kPlace);
  for (int number = 0; number < kEntries; number++) {
    write(db.get(), &model, number, number, false);
  }
  compare(db.get(), model);
  for (int index = 0; index < kEntries; index++) {
    write(db.get(), &model, scattered(index), index + 1, false);
  }
  reopen(&db, options, model);
  for (int index = 0; index < kSynced; index++) {
    write(db.get(), &model, scattered(index), index + 2, true);
  }
  for (int index = 0; index < kEntries; index += 2) {
    must(db->Delete(WriteOptions(), key_of(scattered(index))), "delete");
    model.erase(key_of(scattered(index)));
  }
  reopen(&db, options, model);
  db->CompactRange(nullptr, nullptr);
  compare(db.get(), model);
  // The log is appended to, instead of a new one.
  options.reuse_logs = true;
  for (int round = 0; round < 3; round++) {
    reopen(&db, options, model);
    write(db.get(), &model, round, round + 3, true);
  }
  reopen(&db, options, model);
  db.reset();
  must(leveldb::DestroyDB(kPlace, options), "destroy");
  CHECK(!env->FileExists(kPlace));
}

void synced(const std::string& uri, int inserts) {
  const auto env = env_of(uri);
  auto db = open(options_of(env.get()), "/synced");
  WriteOptions options;
  options.sync = true;
  for (int number = 0; number < inserts; number++) {
    must(db->Put(options, key_of(number), "value"), "put");
  }
}
