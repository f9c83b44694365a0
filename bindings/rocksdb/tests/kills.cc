// A history of operations that a kill may end anywhere.
//
// Operation i of a history follows only from the seed and i: a put, an overwrite, a delete or the
// delete of a range, and some are synced. Each is one batch with a counter, so that a database has
// the number of its operations. Their expected result is then computed again and compared, entry
// for entry. In between, the writer flushes, compacts, and makes checkpoints. A checkpoint, too,
// must hold a prefix of the history, even if it was made just before the kill.

#include <map>

#include "contract.h"
#include "rocksdb/utilities/backup_engine.h"
#include "rocksdb/utilities/checkpoint.h"
#include "rocksdb/write_batch.h"

using rocksdb::DB;
using rocksdb::Env;
using rocksdb::FileSystem;
using rocksdb::IOOptions;
using rocksdb::Options;
using rocksdb::ReadOptions;
using rocksdb::Status;
using rocksdb::WriteBatch;
using rocksdb::WriteOptions;

namespace {

constexpr char kPlace[] = "/db";
constexpr char kCheckpoint[] = "/checkpoint";
constexpr char kFormer[] = "/former";
// After all other keys.
constexpr char kCounter[] = "counter";
constexpr uint64_t kKeys = 4000;
// Numbers of operations after which the writer does these.
constexpr uint64_t kFlushes = 700, kCompactions = 2500, kCheckpoints = 1800;

using Model = std::map<std::string, std::string>;

// SplitMix64.
uint64_t mixed(uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

struct Operation {
  enum class Kind { kPut, kDelete, kDeleteRange } kind = Kind::kPut;
  std::string key;
  // The value, or the end of the range.
  std::string other;
  bool synced = false;
};

Operation operation(uint64_t seed, uint64_t index) {
  const uint64_t first = mixed(mixed(seed) + index), second = mixed(first);
  const int key = static_cast<int>(second % kKeys);
  Operation made;
  made.key = key_of(key);
  made.synced = first / 100 % 10 == 0;
  if (first % 100 < 75) {
    made.other = std::to_string(index) + std::string(second / kKeys % 700, 'v');
  } else if (first % 100 < 98) {
    made.kind = Operation::Kind::kDelete;
  } else {
    made.kind = Operation::Kind::kDeleteRange;
    made.other = key_of(key + static_cast<int>(second / kKeys % 50));
  }
  return made;
}

// The result of the first `operations` of a history.
Model model(uint64_t seed, uint64_t operations) {
  Model left;
  for (uint64_t index = 0; index < operations; index++) {
    const Operation done = operation(seed, index);
    switch (done.kind) {
      case Operation::Kind::kPut:
        left[done.key] = done.other;
        break;
      case Operation::Kind::kDelete:
        left.erase(done.key);
        break;
      case Operation::Kind::kDeleteRange:
        left.erase(left.lower_bound(done.key), left.lower_bound(done.other));
        break;
    }
  }
  return left;
}

// Number of operations of a database, after a comparison with their expected result.
uint64_t compared(DB* db, uint64_t seed) {
  std::string count = "0";
  const Status status = db->Get(ReadOptions(), kCounter, &count);
  CHECK(status.ok() || status.IsNotFound());
  const uint64_t operations = std::strtoull(count.c_str(), nullptr, 10);
  Model expected = model(seed, operations);
  if (operations > 0) {
    expected[kCounter] = count;
  }
  auto next = expected.begin();
  std::unique_ptr<rocksdb::Iterator> found(db->NewIterator(ReadOptions()));
  for (found->SeekToFirst(); found->Valid(); found->Next(), ++next) {
    CHECK(next != expected.end());
    CHECK(found->key() == next->first);
    CHECK(found->value() == next->second);
  }
  must(found->status(), "scan");
  CHECK(next == expected.end());
  return operations;
}

// Removes a database, if there is one.
void destroy(FileSystem* fs, const Options& options, const std::string& place) {
  if (fs->FileExists(place, IOOptions(), nullptr).ok()) {
    must(rocksdb::DestroyDB(place, options), "destroy");
    fs->DeleteDir(place, IOOptions(), nullptr).PermitUncheckedError();
  }
}

void make_checkpoint(FileSystem* fs, const Options& options, DB* db) {
  // By one transaction, because a partly destroyed checkpoint is none any more.
  if (fs->FileExists(kCheckpoint, IOOptions(), nullptr).ok()) {
    must(fs->RenameFile(kCheckpoint, kFormer, IOOptions(), nullptr), "rename");
  }
  destroy(fs, options, kFormer);
  rocksdb::Checkpoint* checkpoint = nullptr;
  must(rocksdb::Checkpoint::Create(db, &checkpoint), "checkpoint");
  must(checkpoint->CreateCheckpoint(kCheckpoint), "checkpoint");
  delete checkpoint;
}

void compare_copy(const Options& options, const std::string& place, uint64_t seed,
                  uint64_t operations) {
  auto copy = open(options, place);
  CHECK(compared(copy.get(), seed) == operations);
  must(copy->Close(), "close");
}

}  // namespace

void write_history(const std::string& uri, uint64_t seed, uint64_t from) {
  auto fs = file_system(uri);
  const auto env = rocksdb::NewCompositeEnv(fs);
  const Options options = options_of(env.get());
  destroy(fs.get(), options, kFormer);
  auto db = open(options, kPlace);
  const bool tells_all = uri.find("&written") != std::string::npos;
  for (uint64_t index = from;; index++) {
    const Operation next = operation(seed, index);
    WriteBatch batch;
    if (next.kind == Operation::Kind::kPut) {
      must(batch.Put(next.key, next.other), "put");
    } else if (next.kind == Operation::Kind::kDelete) {
      must(batch.Delete(next.key), "delete");
    } else {
      must(batch.DeleteRange(next.key, next.other), "delete of a range");
    }
    must(batch.Put(kCounter, std::to_string(index + 1)), "counter");
    WriteOptions how;
    how.sync = next.synced;
    must(db->Write(how, &batch), "write");
    if (next.synced || tells_all) {
      std::printf("%llu\n", static_cast<unsigned long long>(index));
      std::fflush(stdout);
    }
    if (index % kFlushes == 0) {
      must(db->Flush(rocksdb::FlushOptions()), "flush");
    }
    if (index % kCompactions == 0) {
      must(db->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr), "compact");
    }
    if (index % kCheckpoints == 0) {
      make_checkpoint(fs.get(), options, db.get());
    }
  }
}

void verify_history(const std::string& uri, uint64_t seed, long long told, bool copied) {
  auto fs = file_system(uri);
  const auto env = rocksdb::NewCompositeEnv(fs);
  const Options options = options_of(env.get());
  auto db = open(options, kPlace);
  must(db->VerifyChecksum(), "checksums");
  const uint64_t operations = compared(db.get(), seed);
  if (static_cast<long long>(operations) <= told) {
    std::fprintf(stderr, "expected operation %lld, which had returned, found %llu operations\n",
                 told, static_cast<unsigned long long>(operations));
    std::exit(1);
  }
  if (fs->FileExists(kCheckpoint, IOOptions(), nullptr).ok()) {
    auto checkpoint = open(options, kCheckpoint);
    CHECK(compared(checkpoint.get(), seed) <= operations);
    must(checkpoint->Close(), "close");
  }
  if (copied) {
    make_checkpoint(fs.get(), options, db.get());
    compare_copy(options, kCheckpoint, seed, operations);
    const auto of_copies = rocksdb::BackupEngineOptions("/backup", env.get());
    rocksdb::BackupEngine* backup = nullptr;
    must(rocksdb::BackupEngine::Open(of_copies, env.get(), &backup), "backup");
    must(backup->CreateNewBackup(db.get(), true), "backup");
    must(backup->RestoreDBFromLatestBackup("/restored", "/restored"), "restore");
    compare_copy(options, "/restored", seed, operations);
    destroy(fs.get(), options, "/restored");
    must(backup->PurgeOldBackups(0), "purge");
    delete backup;
  }
  std::printf("%llu\n", static_cast<unsigned long long>(operations));
  must(db->Close(), "close");
}
