// Every call of the FileSystem.

#include "contract.h"

using rocksdb::Env;
using rocksdb::FileOptions;
using rocksdb::FileSystem;
using rocksdb::FSWritableFile;
using rocksdb::IOOptions;
using rocksdb::Slice;

static std::string get(FileSystem* fs, const std::string& path) {
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  must(fs->NewSequentialFile(path, FileOptions(), &file, nullptr), "open");
  char scratch[64];
  Slice read;
  must(file->Read(sizeof scratch, IOOptions(), &read, scratch, nullptr), "read");
  return read.ToString();
}

void files(const std::string& uri) {
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
