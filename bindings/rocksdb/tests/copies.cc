// A checkpoint and a backup of a database, which stay whole when the database is gone.

#include "contract.h"
#include "rocksdb/utilities/backup_engine.h"
#include "rocksdb/utilities/checkpoint.h"

using rocksdb::Options;
using rocksdb::ReadOptions;
using rocksdb::WriteOptions;

void copies(const std::string& uri) {
  const auto env = rocksdb::NewCompositeEnv(file_system(uri));
  const Options options = options_of(env.get());
  auto db = open(options, "/origin");
  for (int number = 0; number < 3000; number++) {
    must(db->Put(WriteOptions(), key_of(number), value_of(number)), "put");
  }
  rocksdb::Checkpoint* checkpoint = nullptr;
  must(rocksdb::Checkpoint::Create(db.get(), &checkpoint), "checkpoint");
  must(checkpoint->CreateCheckpoint("/checkpoint"), "checkpoint");
  delete checkpoint;
  const auto of_copies = rocksdb::BackupEngineOptions("/backup", env.get());
  rocksdb::BackupEngine* backup = nullptr;
  must(rocksdb::BackupEngine::Open(of_copies, env.get(), &backup), "backup");
  must(backup->CreateNewBackup(db.get(), true), "backup");
  for (int number = 0; number < 3000; number++) {
    must(db->Delete(WriteOptions(), key_of(number)), "delete");
  }
  must(db->Close(), "close");
  db.reset();
  must(rocksdb::DestroyDB("/origin", options), "destroy");
  must(backup->VerifyBackup(1, true), "verify");
  must(backup->RestoreDBFromLatestBackup("/restored", "/restored"), "restore");
  delete backup;
  for (const char* path : {"/checkpoint", "/restored"}) {
    auto copy = open(options, path);
    for (int number = 0; number < 3000; number++) {
      std::string value;
      must(copy->Get(ReadOptions(), key_of(number), &value), path);
      CHECK(value == value_of(number));
    }
    must(copy->Close(), "close");
  }
}
