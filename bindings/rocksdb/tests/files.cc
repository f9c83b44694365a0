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

// Reads that are begun, and polled or aborted.
static void begun(FileSystem* fs, rocksdb::FSRandomAccessFile* file) {
  std::vector<std::string> found;
  const auto callback = [](const rocksdb::FSReadRequest& read, void* argument) {
    must(read.status, "read");
    static_cast<std::vector<std::string>*>(argument)->push_back(read.result.ToString());
  };
  char scratch[3][16];
  std::vector<void*> handles(3);
  std::vector<rocksdb::IOHandleDeleter> destroy(3);
  for (size_t read = 0; read < 3; read++) {
    rocksdb::FSReadRequest request;
    request.offset = 3 * read;
    request.len = 5;
    request.scratch = scratch[read];
    must(file->ReadAsync(request, IOOptions(), callback, &found, &handles[read], &destroy[read],
                         nullptr),
         "begin of a read");
    CHECK(handles[read] != nullptr);
  }
  CHECK(found.empty());
  std::vector<void*> given_up = {handles[0]}, waited = {handles[1], handles[2]};
  must(fs->AbortIO(given_up), "abort");
  must(fs->Poll(given_up, 1), "poll of a read that was aborted");
  must(fs->Poll(waited, 2), "poll");
  must(fs->Poll(waited, 2), "second poll");
  // The second one is cut by the end of the file.
  CHECK(found == std::vector<std::string>({"le/mo", "more"}));
  for (size_t read = 0; read < 3; read++) {
    destroy[read](handles[read]);
  }
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
  begun(fs.get(), random.get());

  rocksdb::FileLock* lock = nullptr;
  rocksdb::FileLock* second = nullptr;
  must(fs->LockFile("/a/LOCK", io, &lock, nullptr), "lock");
  CHECK(!fs->LockFile("/a/LOCK", io, &second, nullptr).ok());
  must(fs->UnlockFile(lock, io, nullptr), "unlock");

  must(fs->RenameFile("/a", "/moved", io, nullptr), "rename of a directory");
  CHECK(get(fs.get(), "/moved/b/CURRENT") == "two");
  CHECK(!fs->IsDirectory("/a", io, &is, nullptr).ok());
  must(fs->DeleteFile("/moved/b/CURRENT", io, nullptr), "delete");
  must(fs->DeleteDir("/moved/b", io, nullptr), "delete of a directory");
  CHECK(!fs->DeleteDir("/moved/b", io, nullptr).ok());
}
