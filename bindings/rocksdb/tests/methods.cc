// Every virtual method of RocksDB's FileSystem and of its files: each is called, and works or
// returns NotSupported. None may inherit a default that reports success and does nothing.
//
// The table is compared with RocksDB's header: if a newer RocksDB adds a method, this fails until
// the method is handled.

#include <fstream>
#include <set>
#include <sstream>

#include "methods.h"

using rocksdb::FileOptions;
using rocksdb::FSRandomAccessFile;
using rocksdb::FSSequentialFile;
using rocksdb::FSWritableFile;
using rocksdb::IOOptions;

namespace {

void add_files(Methods& all) {
  all["FileSystem::NewSequentialFile"] = [](World& w) {
    std::unique_ptr<FSSequentialFile> file;
    CHECK(!w.fs->NewSequentialFile(w.at("none"), w.options, &file, nullptr).ok());
    w.sequential("text");
  };
  all["FileSystem::NewRandomAccessFile"] = [](World& w) {
    std::unique_ptr<FSRandomAccessFile> file;
    CHECK(!w.fs->NewRandomAccessFile(w.at("none"), w.options, &file, nullptr).ok());
    w.random("text");
  };
  all["FileSystem::NewWritableFile"] = [](World& w) {
    // A file exists before its first byte, for each kind of file.
    const std::vector<std::string> names = {"1.blob", "1.log", "1.sst", "CURRENT", "MANIFEST-1"};
    std::vector<std::unique_ptr<FSWritableFile>> files;
    for (const std::string& name : names) {
      files.push_back(w.writable(name));
      must(w.fs->FileExists(w.at(name), w.io, nullptr), "a file without bytes");
      CHECK(w.read(name).empty());
    }
    std::vector<std::string> children;
    must(w.fs->GetChildren(w.place, w.io, &children, nullptr), "children");
    CHECK(children == names);
    must(w.fs->CreateDirIfMissing(w.at("sub"), w.io, nullptr), "directory");
    std::unique_ptr<FSWritableFile> file;
    CHECK(!w.fs->NewWritableFile(w.at("sub"), w.options, &file, nullptr).ok());
  };
  all["FileSystem::ReopenWritableFile"] = [](World& w) {
    const std::string text(200000, 'x');
    w.write("1.sst", text);
    const uint64_t before = w.written();
    auto file = w.reopened("1.sst");
    CHECK(file->GetFileSize(w.io, nullptr) == text.size());
    must(file->Close(w.io, nullptr), "close");
    CHECK(w.written() == before);  // Nothing was copied.
    file = w.reopened("1.sst");
    must(file->Append("more", w.io, nullptr), "append");
    must(file->Close(w.io, nullptr), "close");
    CHECK(w.read("1.sst") == text + "more");
    must(w.reopened("2.sst")->Append("fresh", w.io, nullptr), "append to a new one");
    CHECK(w.read("2.sst") == "fresh");
  };
  all["FileSystem::ReuseWritableFile"] = [](World& w) {
    w.write("1.log", "old");
    std::unique_ptr<FSWritableFile> file;
    must(w.fs->ReuseWritableFile(w.at("2.log"), w.at("1.log"), w.options, &file, nullptr), "reuse");
    must(file->Append("new", w.io, nullptr), "append");
    CHECK(w.read("2.log") == "new");
    CHECK(w.fs->FileExists(w.at("1.log"), w.io, nullptr).IsNotFound());
  };
  all["FileSystem::DeleteFile"] = all["FileSystem::FileExists"] = [](World& w) {
    const std::string path = w.write("file", "text");
    must(w.fs->FileExists(path, w.io, nullptr), "exists");
    must(w.fs->DeleteFile(path, w.io, nullptr), "delete");
    CHECK(w.fs->FileExists(path, w.io, nullptr).IsNotFound());
    CHECK(!w.fs->DeleteFile(path, w.io, nullptr).ok());
  };
  all["FileSystem::Truncate"] = [](World& w) {
    const std::string path = w.write("1.sst", "0123456789");
    must(w.fs->Truncate(path, 4, w.io, nullptr), "truncate");
    CHECK(w.read("1.sst") == "0123");
    CHECK(!w.fs->Truncate(path, 5, w.io, nullptr).ok());
    CHECK(!w.fs->Truncate(w.at("none"), 0, w.io, nullptr).ok());
  };
  all["FileSystem::GetFileSize"] = all["FileSystem::GetFileModificationTime"] = [](World& w) {
    const std::string path = w.write("file", "text");
    uint64_t number = 0;
    must(w.fs->GetFileSize(path, w.io, &number, nullptr), "size");
    CHECK(number == 4);
    must(w.fs->GetFileModificationTime(path, w.io, &number, nullptr), "time");
    CHECK(number > 1600000000);
  };
  all["FileSystem::RenameFile"] = [](World& w) {
    w.write("b", "old");
    const std::string path = w.write("a", "new");
    must(w.fs->RenameFile(path, w.at("b"), w.io, nullptr), "rename");
    CHECK(w.read("b") == "new" && !w.fs->FileExists(path, w.io, nullptr).ok());
    must(w.fs->CreateDir(w.at("sub"), w.io, nullptr), "directory");
    CHECK(!w.fs->RenameFile(w.at("b"), w.at("sub"), w.io, nullptr).ok());
    CHECK(!w.fs->RenameFile(w.at("sub"), w.at("b"), w.io, nullptr).ok());
  };
  const Method links = [](World& w) {
    const std::string path = w.write("a", "text");
    must(w.fs->LinkFile(path, w.at("b"), w.io, nullptr), "link");
    CHECK(!w.fs->LinkFile(path, w.at("b"), w.io, nullptr).ok());
    uint64_t count = 0;
    must(w.fs->NumFileLinks(path, w.io, &count, nullptr), "links");
    bool same = false;
    must(w.fs->AreFilesSame(path, w.at("b"), w.io, &same, nullptr), "same");
    CHECK(count == 2 && same);
    must(w.fs->Truncate(path, 2, w.io, nullptr), "truncate");
    CHECK(w.read("b") == "te");
    must(w.fs->RenameFile(path, w.at("b"), w.io, nullptr), "rename to a name of the same file");
    CHECK(w.read("a") == "te" && w.read("b") == "te");
  };
  all["FileSystem::LinkFile"] = all["FileSystem::NumFileLinks"] =
      all["FileSystem::AreFilesSame"] = links;
}

void add_directories(Methods& all) {
  const Method directories = [](World& w) {
    const std::string sub = w.at("sub");
    must(w.fs->CreateDir(sub, w.io, nullptr), "directory");
    CHECK(!w.fs->CreateDir(sub, w.io, nullptr).ok());
    must(w.fs->CreateDirIfMissing(sub, w.io, nullptr), "directory");
    bool is = false;
    must(w.fs->IsDirectory(sub, w.io, &is, nullptr), "directory");
    CHECK(is);
    must(w.fs->IsDirectory(w.write("file", "text"), w.io, &is, nullptr), "directory");
    CHECK(!is && !w.fs->IsDirectory(w.at("none"), w.io, &is, nullptr).ok());
    std::vector<rocksdb::FileAttributes> found;
    must(w.fs->GetChildrenFileAttributes(w.place, w.io, &found, nullptr), "attributes");
    CHECK(found.size() == 2 && found[0].name == "file" && found[0].size_bytes == 4);
    CHECK(found[1].name == "sub");
    CHECK(w.fs->GetChildrenFileAttributes(w.at("none"), w.io, &found, nullptr).IsNotFound());
    must(w.fs->DeleteDir(sub, w.io, nullptr), "delete");
    CHECK(!w.fs->DeleteDir(sub, w.io, nullptr).ok());
    std::vector<std::string> children;
    must(w.fs->GetChildren(w.place, w.io, &children, nullptr), "children");
    CHECK(children == std::vector<std::string>({"file"}));
  };
  for (const char* name : {"CreateDir", "CreateDirIfMissing", "DeleteDir", "IsDirectory",
                           "GetChildren", "GetChildrenFileAttributes"}) {
    all[std::string("FileSystem::") + name] = directories;
  }
  const Method open = [](World& w) {
    std::unique_ptr<rocksdb::FSDirectory> directory;
    CHECK(!w.fs->NewDirectory(w.at("none"), w.io, &directory, nullptr).ok());
    must(w.fs->NewDirectory(w.place, w.io, &directory, nullptr), "directory");
    must(directory->Fsync(w.io, nullptr), "sync");
    must(directory->FsyncWithDirOptions(w.io, nullptr, rocksdb::DirFsyncOptions()), "sync");
    must(directory->Close(w.io, nullptr), "close");
  };
  all["FileSystem::NewDirectory"] = all["FSDirectory::Fsync"] =
      all["FSDirectory::FsyncWithDirOptions"] = all["FSDirectory::Close"] = open;
  all["FileSystem::LockFile"] = all["FileSystem::UnlockFile"] = [](World& w) {
    rocksdb::FileLock* lock = nullptr;
    rocksdb::FileLock* second = nullptr;
    must(w.fs->LockFile(w.at("LOCK"), w.io, &lock, nullptr), "lock");
    CHECK(!w.fs->LockFile(w.at("LOCK"), w.io, &second, nullptr).ok());
    must(w.fs->UnlockFile(lock, w.io, nullptr), "unlock");
  };
  all["FileSystem::GetTestDirectory"] = [](World& w) {
    std::string path;
    must(w.fs->GetTestDirectory(w.io, &path, nullptr), "test directory");
    must(w.fs->FileExists(path, w.io, nullptr), "exists");
  };
  all["FileSystem::NewLogger"] = [](World& w) {
    std::shared_ptr<rocksdb::Logger> logger;
    must(w.fs->NewLogger(w.at("LOG"), w.io, &logger, nullptr), "logger");
    logger->SetInfoLogLevel(rocksdb::InfoLogLevel::INFO_LEVEL);
    rocksdb::Log(logger, "a line");
    logger->Flush();
    CHECK(w.read("LOG").find("a line") != std::string::npos);
    logger.reset();
  };
  all["FileSystem::GetAbsolutePath"] = [](World& w) {
    std::string path;
    must(w.fs->GetAbsolutePath("a//b/", w.io, &path, nullptr), "path");
    CHECK(path == "/a/b");
  };
  all["FileSystem::GetFreeSpace"] = [](World& w) {
    uint64_t free = 0;
    must(w.fs->GetFreeSpace(w.place, w.io, &free, nullptr), "space");
    CHECK(free > 0);
  };
}

// The virtual methods of these classes in the header, as CLASS::METHOD.
std::set<std::string> methods_in(const std::string& header) {
  const std::set<std::string> classes = {"FileSystem",     "FSSequentialFile", "FSRandomAccessFile",
                                         "FSWritableFile", "FSRandomRWFile",   "FSDirectory"};
  std::ifstream lines(header);
  CHECK(lines.good());
  std::set<std::string> found;
  std::string in_class;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("class ", 0) == 0 && line.back() != ';') {
      std::istringstream words(line.substr(6));
      words >> in_class;
    }
    const size_t end = line.find('(');
    if (line.rfind("  virtual ", 0) != 0 || end == std::string::npos ||
        classes.count(in_class) == 0 || line.find('~') != std::string::npos) {
      continue;
    }
    const size_t begin = line.find_last_of(" *&", end) + 1;
    found.insert(in_class + "::" + line.substr(begin, end - begin));
  }
  CHECK(found.size() > 60);
  return found;
}

}  // namespace

void methods(const std::string& uri, const std::string& header) {
  Methods all;
  add_facts(all);
  add_refusals(all);
  add_writes(all);
  add_reads(all);
  add_files(all);
  add_directories(all);
  bool complete = true;
  for (const std::string& name : methods_in(header)) {
    if (all.count(name) == 0) {
      std::fprintf(stderr, "%s: expected a call of it here, found none\n", name.c_str());
      complete = false;
    }
  }
  CHECK(complete);
  World world = {file_system(uri), "", IOOptions(), FileOptions()};
  size_t number = 0;
  for (const auto& [name, call] : all) {
    world.place = "/methods/" + std::to_string(number++);
    must(world.fs->CreateDirIfMissing(world.place, world.io, nullptr), "directory");
    std::printf("%s\n", name.c_str());
    std::fflush(stdout);
    call(world);
  }
}
