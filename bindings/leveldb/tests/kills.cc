// A history of operations that a kill may end anywhere.
//
// Operation i of a history follows only from the seed and i: a put, an overwrite or a delete, and
// some are synced. Each is one batch with a counter, so that a database has the number of its
// operations. Their expected result is then computed again and compared, entry for entry.

#include <map>

#include "contract.h"
#include "leveldb/write_batch.h"

using leveldb::DB;
using leveldb::ReadOptions;
using leveldb::Status;
using leveldb::WriteBatch;
using leveldb::WriteOptions;

namespace {

constexpr char kPlace[] = "/db";
// After all other keys.
constexpr char kCounter[] = "counter";
constexpr uint64_t kKeys = 4000;
// Number of operations after which the writer compacts everything.
constexpr uint64_t kCompactions = 2500;

using Model = std::map<std::string, std::string>;

// SplitMix64.
uint64_t mixed(uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

struct Operation {
  bool deletes = false;
  bool synced = false;
  std::string key;
  std::string value;
};

Operation operation(uint64_t seed, uint64_t index) {
  const uint64_t first = mixed(mixed(seed) + index), second = mixed(first);
  Operation made;
  made.key = key_of(static_cast<int>(second % kKeys));
  made.deletes = first % 4 == 0;
  made.synced = first / 4 % 10 == 0;
  made.value = std::to_string(index) + std::string(second / kKeys % 700, 'v');
  return made;
}

// The result of the first `operations` of a history.
Model model(uint64_t seed, uint64_t operations) {
  Model left;
  for (uint64_t index = 0; index < operations; index++) {
    const Operation done = operation(seed, index);
    if (done.deletes) {
      left.erase(done.key);
    } else {
      left[done.key] = done.value;
    }
  }
  if (operations > 0) {
    left[kCounter] = std::to_string(operations);
  }
  return left;
}

}  // namespace

void write_history(const std::string& uri, uint64_t seed, uint64_t from) {
  const auto env = env_of(uri);
  auto db = open(options_of(env.get()), kPlace);
  const bool tells_all = uri.find("written") != std::string::npos;
  for (uint64_t index = from;; index++) {
    const Operation next = operation(seed, index);
    WriteBatch batch;
    if (next.deletes) {
      batch.Delete(next.key);
    } else {
      batch.Put(next.key, next.value);
    }
    batch.Put(kCounter, std::to_string(index + 1));
    WriteOptions options;
    options.sync = next.synced;
    must(db->Write(options, &batch), "write");
    if (next.synced || tells_all) {
      std::printf("%llu\n", static_cast<unsigned long long>(index));
      std::fflush(stdout);
    }
    if (index % kCompactions == kCompactions - 1) {
      db->CompactRange(nullptr, nullptr);
    }
  }
}

void verify_history(const std::string& uri, uint64_t seed, long long told) {
  const auto env = env_of(uri);
  auto db = open(options_of(env.get()), kPlace);
  std::string count = "0";
  const Status status = db->Get(ReadOptions(), kCounter, &count);
  CHECK(status.ok() || status.IsNotFound());
  const uint64_t operations = std::strtoull(count.c_str(), nullptr, 10);
  if (static_cast<long long>(operations) <= told) {
    std::fprintf(stderr, "expected operation %lld, which had returned, found %llu operations\n",
                 told, static_cast<unsigned long long>(operations));
    std::exit(1);
  }
  const Model expected = model(seed, operations);
  ReadOptions options;
  options.verify_checksums = true;
  std::unique_ptr<leveldb::Iterator> found(db->NewIterator(options));
  auto next = expected.begin();
  for (found->SeekToFirst(); found->Valid(); found->Next(), ++next) {
    CHECK(next != expected.end());
    CHECK(found->key() == next->first && found->value() == next->second);
  }
  must(found->status(), "scan");
  CHECK(next == expected.end());
  std::printf("%llu\n", static_cast<unsigned long long>(operations));
}
