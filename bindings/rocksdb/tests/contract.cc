// A program that holds the file system to what RocksDB expects of it:
//
//   contract files URI          every call of the FileSystem, beside a database
//   contract copies URI         checkpoint and backup, both opened again
//   contract full URI           fills the drive until RocksDB is refused. RocksDB writes when it
//                               opens, so a file that was kept for this is deleted. Then
//                               everything that was written is read, deleted, and written again
//   contract write URI FROM     writes keys from FROM on until it is killed; every tenth write is
//                               synced. Prints the number of each write that survives a kill, when
//                               it has returned: of those that are synced, or of all where the URI
//                               has the option `written`
//   contract verify URI TOLD    opens the database: every key up to TOLD must be there, and behind
//                               it a prefix of what was written. Prints the first number that is
//                               not there
//
// It is linked with the plug-in, so that it also shows that a program can be.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/utilities/backup_engine.h"
#include "rocksdb/utilities/checkpoint.h"

using rocksdb::ConfigOptions;
using rocksdb::DB;
using rocksdb::Env;
using rocksdb::FileOptions;
using rocksdb::FileSystem;
using rocksdb::FSWritableFile;
using rocksdb::IOOptions;
using rocksdb::Options;
using rocksdb::ReadOptions;
using rocksdb::Slice;
using rocksdb::Status;
using rocksdb::WriteOptions;

#define CHECK(holds)                                                             \
  do {                                                                           \
    if (!(holds)) {                                                              \
      std::fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #holds);  \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

static void must(const Status& status, const char* what) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s: %s\n", what, status.ToString().c_str());
    std::exit(1);
  }
}

static std::shared_ptr<FileSystem> file_system(const std::string& uri) {
  ConfigOptions config;
  config.ignore_unsupported_options = false;
  std::shared_ptr<FileSystem> fs;
  must(FileSystem::CreateFromString(config, uri, &fs), "file system");
  CHECK(fs != nullptr);
  return fs;
}

static void put(FileSystem* fs, const std::string& path, const std::string& text) {
  std::unique_ptr<FSWritableFile> file;
  must(fs->NewWritableFile(path, FileOptions(), &file, nullptr), "new file");
  must(file->Append(text, IOOptions(), nullptr), "append");
  must(file->Sync(IOOptions(), nullptr), "sync");
  CHECK(file->GetFileSize(IOOptions(), nullptr) == text.size());
  must(file->Close(IOOptions(), nullptr), "close");
}

static std::string get(FileSystem* fs, const std::string& path) {
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  must(fs->NewSequentialFile(path, FileOptions(), &file, nullptr), "open");
  char scratch[64];
  Slice read;
  must(file->Read(sizeof scratch, IOOptions(), &read, scratch, nullptr), "read");
  return read.ToString();
}

static void files(const std::string& uri) {
  const IOOptions io;
  auto fs = file_system(uri);
  CHECK(file_system(uri) != nullptr);  // A second one shares the mount.

  CHECK(fs->FileExists("/a", io, nullptr).IsNotFound());
  must(fs->CreateDir("/a", io, nullptr), "directory");
  CHECK(!fs->CreateDir("/a/", io, nullptr).ok());
  must(fs->CreateDirIfMissing("/a//b", io, nullptr), "directory");
  std::vector<std::string> children;
  must(fs->GetChildren("/a", io, &children, nullptr), "children");
  CHECK(children == std::vector<std::string>({"b"}));
  CHECK(fs->GetChildren("/none", io, &children, nullptr).IsNotFound());

  put(fs.get(), "/a/1.sst", "table");
  put(fs.get(), "/a/2.log", "log");
  put(fs.get(), "/a/b/CURRENT", "one");
  put(fs.get(), "/a/b/CURRENT.dbtmp", "two");
  must(fs->RenameFile("/a/b/CURRENT.dbtmp", "/a/b/CURRENT", io, nullptr), "rename");
  CHECK(get(fs.get(), "/a/b/CURRENT") == "two");
  CHECK(fs->FileExists("/a/b/CURRENT.dbtmp", io, nullptr).IsNotFound());
  CHECK(!fs->RenameFile("/a/none", "/a/some", io, nullptr).ok());
  CHECK(!fs->DeleteDir("/a/b", io, nullptr).ok());

  must(fs->LinkFile("/a/1.sst", "/a/3.sst", io, nullptr), "link");
  CHECK(!fs->LinkFile("/a/1.sst", "/a/2.log", io, nullptr).ok());
  uint64_t number = 0;
  must(fs->NumFileLinks("/a/1.sst", io, &number, nullptr), "links");
  CHECK(number == 2);
  bool is = false;
  must(fs->AreFilesSame("/a/1.sst", "/a/3.sst", io, &is, nullptr), "same");
  CHECK(is);
  must(fs->DeleteFile("/a/1.sst", io, nullptr), "delete");
  CHECK(get(fs.get(), "/a/3.sst") == "table");
  CHECK(!fs->DeleteFile("/a/1.sst", io, nullptr).ok());

  std::unique_ptr<FSWritableFile> file;
  must(fs->ReopenWritableFile("/a/3.sst", FileOptions(), &file, nullptr), "reopen");
  must(file->Append("/more", io, nullptr), "append");
  must(file->Close(io, nullptr), "close");
  CHECK(get(fs.get(), "/a/3.sst") == "table/more");
  must(fs->ReuseWritableFile("/a/4.log", "/a/2.log", FileOptions(), &file, nullptr), "reuse");
  file->SetWriteLifeTimeHint(Env::WLTH_EXTREME);
  must(file->Append("fresh", io, nullptr), "append");
  must(file->Flush(io, nullptr), "flush");
  CHECK(get(fs.get(), "/a/4.log") == "fresh");  // Before it is synced or closed.
  must(fs->GetFileSize("/a/4.log", io, &number, nullptr), "size");
  CHECK(number == 5);
  file.reset();
  CHECK(fs->FileExists("/a/2.log", io, nullptr).IsNotFound());
  must(fs->Truncate("/a/4.log", 2, io, nullptr), "truncate");
  CHECK(get(fs.get(), "/a/4.log") == "fr");
  must(fs->GetFileModificationTime("/a/4.log", io, &number, nullptr), "time");
  CHECK(number > 1600000000);
  must(fs->GetFreeSpace("/a", io, &number, nullptr), "space");
  CHECK(number > 0);

  std::unique_ptr<rocksdb::FSRandomAccessFile> random;
  must(fs->NewRandomAccessFile("/a/3.sst", FileOptions(), &random, nullptr), "open");
  must(fs->DeleteFile("/a/3.sst", io, nullptr), "delete");
  char scratch[8];
  Slice read;
  must(random->Read(6, 8, io, &read, scratch, nullptr), "read of a file that was deleted");
  CHECK(read == "more");

  rocksdb::FileLock* lock = nullptr;
  rocksdb::FileLock* second = nullptr;
  must(fs->LockFile("/a/LOCK", io, &lock, nullptr), "lock");
  CHECK(!fs->LockFile("/a/LOCK", io, &second, nullptr).ok());
  must(fs->UnlockFile(lock, io, nullptr), "unlock");

  must(fs->RenameFile("/a", "/moved", io, nullptr), "rename of a directory");
  CHECK(get(fs.get(), "/moved/b/CURRENT") == "two");
  must(fs->IsDirectory("/a", io, &is, nullptr), "directory");
  CHECK(!is);
  must(fs->DeleteFile("/moved/b/CURRENT", io, nullptr), "delete");
  must(fs->DeleteDir("/moved/b", io, nullptr), "delete of a directory");
  CHECK(!fs->DeleteDir("/moved/b", io, nullptr).ok());
}

static std::string key_of(int number) {
  char text[16];
  std::snprintf(text, sizeof text, "%09d", number);
  return text;
}

static std::string value_of(int number) {
  return key_of(number) + std::string(static_cast<size_t>(number) * 37 % 700, 'v');
}

static Options options_of(Env* env) {
  Options options;
  options.env = env;
  options.create_if_missing = true;
  // Small, so that flushes and compactions are always under way.
  options.write_buffer_size = 256 << 10;
  options.target_file_size_base = 256 << 10;
  options.max_bytes_for_level_base = 1 << 20;
  options.compression = rocksdb::kNoCompression;
  options.recycle_log_file_num = 2;
  options.paranoid_checks = true;
  return options;
}

static std::unique_ptr<DB> open(const Options& options, const std::string& path) {
  DB* db = nullptr;
  must(DB::Open(options, path, &db), "open");
  return std::unique_ptr<DB>(db);
}

static void copies(const std::string& uri) {
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

static void full(const std::string& uri) {
  auto fs = file_system(uri);
  put(fs.get(), "/ballast", std::string(12 << 20, 'b'));
  const auto env = rocksdb::NewCompositeEnv(fs);
  const Options options = options_of(env.get());
  auto db = open(options, "/full");
  Status status;
  int number = 0;
  for (; status.ok(); number++) {
    CHECK(number < 10000000);
    status = db->Put(WriteOptions(), key_of(number), value_of(number));
  }
  if (!status.IsNoSpace()) {
    std::fprintf(stderr, "expected no space, found %s\n", status.ToString().c_str());
    std::exit(1);
  }
  std::printf("full after %d writes\n", number - 1);
  db.reset();
  must(fs->DeleteFile("/ballast", IOOptions(), nullptr), "delete of the ballast");
  db = open(options, "/full");
  must(db->VerifyChecksum(), "checksums");
  std::unique_ptr<rocksdb::Iterator> entries(db->NewIterator(ReadOptions()));
  int found = 0;
  for (entries->SeekToFirst(); entries->Valid(); entries->Next(), found++) {
    CHECK(entries->key() == key_of(found) && entries->value() == value_of(found));
  }
  must(entries->status(), "scan");
  CHECK(found > number / 2);
  entries.reset();
  must(db->DeleteRange(WriteOptions(), db->DefaultColumnFamily(), key_of(0), key_of(number)),
       "delete");
  must(db->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr), "compact");
  for (int again = 0; again < number / 4; again++) {
    must(db->Put(WriteOptions(), key_of(again), value_of(again)), "put after the delete");
  }
  must(db->Close(), "close");
}

static void write(const std::string& uri, int number) {
  const auto env = rocksdb::NewCompositeEnv(file_system(uri));
  auto db = open(options_of(env.get()), "/db");
  WriteOptions synced;
  synced.sync = true;
  const bool tells_all = uri.find("?written") != std::string::npos;
  for (;; number++) {
    const bool sync = number % 10 == 9;
    must(db->Put(sync ? synced : WriteOptions(), key_of(number), value_of(number)), "put");
    if (sync || tells_all) {
      std::printf("%d\n", number);
      std::fflush(stdout);
    }
  }
}

static void verify(const std::string& uri, int told) {
  const auto env = rocksdb::NewCompositeEnv(file_system(uri));
  auto db = open(options_of(env.get()), "/db");
  must(db->VerifyChecksum(), "checksums");
  std::unique_ptr<rocksdb::Iterator> entries(db->NewIterator(ReadOptions()));
  int number = 0;
  for (entries->SeekToFirst(); entries->Valid(); entries->Next(), number++) {
    CHECK(entries->key() == key_of(number));
    CHECK(entries->value() == value_of(number));
  }
  must(entries->status(), "scan");
  if (number <= told) {
    std::fprintf(stderr, "expected the write %d, which had returned, found writes up to %d\n", told,
                 number - 1);
    std::exit(1);
  }
  std::printf("%d\n", number);
  entries.reset();
  must(db->Close(), "close");
}

int main(int count, char** arguments) {
  const std::string what = count > 2 ? arguments[1] : "";
  const std::string uri = count > 2 ? arguments[2] : "";
  const int number = count > 3 ? std::atoi(arguments[3]) : 0;
  if (what == "files") {
    files(uri);
  } else if (what == "copies") {
    copies(uri);
  } else if (what == "full") {
    full(uri);
  } else if (what == "write") {
    write(uri, number);
  } else if (what == "verify") {
    verify(uri, number);
  } else {
    std::fprintf(stderr, "usage: contract files|copies|full|write|verify URI [NUMBER]\n");
    return 2;
  }
  return 0;
}
