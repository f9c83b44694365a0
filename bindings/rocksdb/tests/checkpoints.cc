// Logs are counted once, and until RocksDB has flushed them: with any number of copies or links in
// checkpoints and backups, after renames, and with any place for old logs.
//
// On a drive that is half empty, no write is refused.

#include "contract.h"
#include "rocksdb/convenience.h"
#include "rocksdb/utilities/backup_engine.h"
#include "rocksdb/utilities/checkpoint.h"

using rocksdb::ColumnFamilyHandle;
using rocksdb::DB;
using rocksdb::FileSystem;
using rocksdb::IOOptions;
using rocksdb::Options;
using rocksdb::WriteOptions;

namespace {

constexpr uint64_t kMiB = 1 << 20;

uint64_t in_logs(FileSystem* fs) {
  std::string bytes;
  must(fs->GetOption(rocksdb::ConfigOptions(), "in_logs", &bytes), "bytes in logs");
  return std::strtoull(bytes.c_str(), nullptr, 10);
}

void put_mib(DB* db, ColumnFamilyHandle* family, int mib) {
  for (int number = 0; number < 128 * mib; number++) {
    must(db->Put(WriteOptions(), family, key_of(number), std::string(8150, 'v')), "put");
  }
}

void checkpoint(DB* db, const std::string& path) {
  rocksdb::Checkpoint* checkpoint = nullptr;
  must(rocksdb::Checkpoint::Create(db, &checkpoint), "checkpoint");
  // Without a flush, so that the logs are copied or linked.
  must(checkpoint->CreateCheckpoint(path, ~uint64_t{0}), path.c_str());
  delete checkpoint;
}

// Options under which nothing is flushed without a request.
Options lazy(rocksdb::Env* env) {
  Options options = options_of(env);
  options.write_buffer_size = 256 * kMiB;
  options.recycle_log_file_num = 0;
  options.avoid_flush_during_shutdown = true;
  return options;
}

// Ten copies of a log, and room for the same amount again.
void copies_of_a_log(const std::shared_ptr<FileSystem>& fs, rocksdb::Env* env) {
  const Options options = lazy(env);
  auto db = open(options, "/logged");
  put_mib(db.get(), db->DefaultColumnFamily(), 10);
  const uint64_t once = in_logs(fs.get());
  CHECK(once > 9 * kMiB && once < 12 * kMiB);
  const auto of_copies = rocksdb::BackupEngineOptions("/logged-backup", env);
  rocksdb::BackupEngine* backup = nullptr;
  must(rocksdb::BackupEngine::Open(of_copies, env, &backup), "backup");
  for (int number = 0; number < 5; number++) {
    checkpoint(db.get(), "/logged-" + std::to_string(number));
    must(backup->CreateNewBackup(db.get(), false), "backup");
  }
  delete backup;
  must(fs->RenameFile("/logged-0", "/logged-moved", IOOptions(), nullptr), "rename");
  CHECK(in_logs(fs.get()) == once);
  put_mib(db.get(), db->DefaultColumnFamily(), 20);
  must(db->Flush(rocksdb::FlushOptions()), "flush");
  CHECK(in_logs(fs.get()) < kMiB);
  must(db->Close(), "close");
  db = open(options, "/logged-3");
  std::string value;
  must(db->Get(rocksdb::ReadOptions(), key_of(7), &value), "get");
  must(db->Close(), "close");
}

// Links of logs, which stay when RocksDB removes the logs; an archive; a directory that is moved.
void links_and_archives(const std::shared_ptr<FileSystem>& fs, rocksdb::Env* env) {
  const uint64_t before = in_logs(fs.get());
  Options options = lazy(env);
  options.WAL_ttl_seconds = 1000000;
  options.wal_dir = "/archive/logs";
  auto db = open(options, "/linked");
  ColumnFamilyHandle* cold = nullptr;
  must(db->CreateColumnFamily(options, "cold", &cold), "column family");
  must(db->Put(WriteOptions(), cold, "key", "value"), "put");
  for (int number = 0; number < 3; number++) {
    put_mib(db.get(), db->DefaultColumnFamily(), 2);
    must(db->Flush(rocksdb::FlushOptions()), "flush");
  }
  // The logs of the flushed family stay for the other one.
  const uint64_t kept = in_logs(fs.get()) - before;
  CHECK(kept > 5 * kMiB && kept < 8 * kMiB);
  checkpoint(db.get(), "/linked-checkpoint");
  CHECK(in_logs(fs.get()) - before == kept);
  must(db->Flush(rocksdb::FlushOptions(), cold), "flush");
  std::vector<std::string> archived;
  must(fs->GetChildren("/archive/logs/archive", IOOptions(), &archived, nullptr), "archive");
  CHECK(archived.size() >= 3);
  CHECK(in_logs(fs.get()) - before < kMiB);
  put_mib(db.get(), db->DefaultColumnFamily(), 3);
  must(db->DestroyColumnFamilyHandle(cold), "column family");
  must(db->Close(), "close");
  // A closed database has logs to flush when it is opened, at any place.
  const uint64_t closed = in_logs(fs.get()) - before;
  CHECK(closed > 2 * kMiB && closed < 5 * kMiB);
  must(fs->RenameFile("/archive/logs", "/archive/moved", IOOptions(), nullptr), "rename");
  CHECK(in_logs(fs.get()) - before == closed);
}

// Without an archive, RocksDB removes a log that a checkpoint has a link of.
void links_of_removed_logs(const std::shared_ptr<FileSystem>& fs, rocksdb::Env* env) {
  const uint64_t before = in_logs(fs.get());
  const Options options = lazy(env);
  auto db = open(options, "/removed");
  ColumnFamilyHandle* cold = nullptr;
  must(db->CreateColumnFamily(options, "cold", &cold), "column family");
  must(db->Put(WriteOptions(), cold, "key", "value"), "put");
  put_mib(db.get(), db->DefaultColumnFamily(), 2);
  must(db->Flush(rocksdb::FlushOptions()), "flush");
  checkpoint(db.get(), "/removed-checkpoint");
  checkpoint(db.get(), "/removed-again");
  // The end of a checkpoint is not that of the log.
  must(rocksdb::DestroyDB("/removed-again", options), "destroy");
  CHECK(in_logs(fs.get()) - before > kMiB);
  must(db->Flush(rocksdb::FlushOptions(), cold), "flush");
  CHECK(in_logs(fs.get()) - before < kMiB);
  must(db->DestroyColumnFamilyHandle(cold), "column family");
  must(db->Close(), "close");
}

}  // namespace

void checkpoints(const std::string& uri) {
  auto fs = file_system(uri);
  const auto env = rocksdb::NewCompositeEnv(fs);
  copies_of_a_log(fs, env.get());
  links_and_archives(fs, env.get());
  links_of_removed_logs(fs, env.get());
}
