// Every virtual method of LevelDB's Env and of its files: each is called and checked.
//
// The table is compared with LevelDB's header: if a newer LevelDB adds a method, this fails until
// the method is handled.

#include <atomic>
#include <cstdarg>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "contract.h"

using leveldb::Env;
using leveldb::Slice;

namespace {

// The Env, in which each method has its own directory.
struct World {
  Env* env;
  std::string place;

  std::string at(const std::string& name) const { return place + "/" + name; }

  std::string write(const std::string& name, const std::string& text) const {
    must(leveldb::WriteStringToFile(env, text, at(name)), name.c_str());
    return at(name);
  }

  std::string read(const std::string& name) const {
    std::string text;
    must(leveldb::ReadFileToString(env, at(name), &text), name.c_str());
    return text;
  }

  std::unique_ptr<leveldb::WritableFile> writable(const std::string& name) const {
    leveldb::WritableFile* file = nullptr;
    must(env->NewWritableFile(at(name), &file), "new file");
    return std::unique_ptr<leveldb::WritableFile>(file);
  }
};

using Method = std::function<void(World&)>;
using Methods = std::map<std::string, Method>;

void add_files(Methods& all) {
  all["Env::NewSequentialFile"] = all["SequentialFile::Read"] = all["SequentialFile::Skip"] =
      [](World& w) {
        leveldb::SequentialFile* file = nullptr;
        must(w.env->NewSequentialFile(w.write("file", "0123456789"), &file), "open");
        const std::unique_ptr<leveldb::SequentialFile> held(file);
        char scratch[8];
        Slice read;
        must(file->Skip(3), "skip");
        must(file->Read(4, &read, scratch), "read");
        CHECK(read == "3456");
      };
  all["Env::NewRandomAccessFile"] = all["RandomAccessFile::Read"] = [](World& w) {
    leveldb::RandomAccessFile* file = nullptr;
    must(w.env->NewRandomAccessFile(w.write("file", "0123456789"), &file), "open");
    const std::unique_ptr<leveldb::RandomAccessFile> held(file);
    char scratch[8];
    Slice read;
    must(file->Read(8, 4, &read, scratch), "read");
    CHECK(read == "89");
  };
  all["Env::NewWritableFile"] = [](World& w) {
    // A file exists before its first byte, for each kind of file.
    for (const char* name : {"1.ldb", "2.log", "CURRENT", "MANIFEST-1"}) {
      const auto file = w.writable(name);
      CHECK(w.env->FileExists(w.at(name)) && w.read(name).empty());
    }
    std::vector<std::string> children;
    must(w.env->GetChildren(w.place, &children), "children");
    CHECK(children.size() == 4);
  };
  all["Env::NewAppendableFile"] = [](World& w) {
    w.write("1.log", "text");
    leveldb::WritableFile* file = nullptr;
    must(w.env->NewAppendableFile(w.at("1.log"), &file), "open");
    must(file->Append("/more"), "append");
    delete file;
    CHECK(w.read("1.log") == "text/more");
  };
  const Method writes = [](World& w) {
    auto file = w.writable("1.log");
    must(file->Append("text"), "append");
    must(file->Flush(), "flush");
    CHECK(w.read("1.log") == "text");
    must(file->Sync(), "sync");
    must(file->Close(), "close");
    must(file->Close(), "second close");
    CHECK(!file->Append("text").ok() && w.read("1.log") == "text");
  };
  for (const char* name : {"Append", "Flush", "Sync", "Close"}) {
    all[std::string("WritableFile::") + name] = writes;
  }
  for (const bool old : {false, true}) {
    // DeleteFile and DeleteDir are former names.
    all[old ? "Env::DeleteFile" : "Env::RemoveFile"] = [old](World& w) {
      const std::string path = w.write("file", "text");
      must(old ? w.env->DeleteFile(path) : w.env->RemoveFile(path), "remove");
      CHECK(!w.env->FileExists(path));
    };
    all[old ? "Env::DeleteDir" : "Env::RemoveDir"] = [old](World& w) {
      must(w.env->CreateDir(w.at("sub")), "directory");
      must(old ? w.env->DeleteDir(w.at("sub")) : w.env->RemoveDir(w.at("sub")), "remove");
      CHECK(!w.env->FileExists(w.at("sub")));
    };
  }
  const Method names = [](World& w) {
    must(w.env->CreateDir(w.at("sub")), "directory");
    CHECK(!w.env->CreateDir(w.at("sub")).ok());
    const std::string path = w.write("file", "text");
    uint64_t size = 0;
    must(w.env->GetFileSize(path, &size), "size");
    CHECK(size == 4);
    must(w.env->RenameFile(path, w.at("sub/file")), "rename");
    CHECK(!w.env->FileExists(path) && w.env->FileExists(w.at("sub/file")));
    std::vector<std::string> children;
    must(w.env->GetChildren(w.at("sub"), &children), "children");
    CHECK(children == std::vector<std::string>({"file"}));
  };
  for (const char* name : {"CreateDir", "GetFileSize", "RenameFile", "FileExists", "GetChildren"}) {
    all[std::string("Env::") + name] = names;
  }
}

void add_line(leveldb::Logger* logger, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  logger->Logv(format, arguments);
  va_end(arguments);
}

void raise(void* number) { static_cast<std::atomic<int>*>(number)->fetch_add(1); }

void add_others(Methods& all) {
  all["Env::LockFile"] = all["Env::UnlockFile"] = [](World& w) {
    leveldb::FileLock *lock = nullptr, *second = nullptr;
    must(w.env->LockFile(w.at("LOCK"), &lock), "lock");
    CHECK(!w.env->LockFile(w.at("LOCK"), &second).ok());
    must(w.env->UnlockFile(lock), "unlock");
  };
  const Method threads = [](World& w) {
    std::atomic<int> number(0);
    const uint64_t start = w.env->NowMicros();
    w.env->Schedule(raise, &number);
    w.env->StartThread(raise, &number);
    while (number < 2) {
      w.env->SleepForMicroseconds(100);
    }
    CHECK(w.env->NowMicros() >= start + 100);
  };
  for (const char* name : {"Schedule", "StartThread", "NowMicros", "SleepForMicroseconds"}) {
    all[std::string("Env::") + name] = threads;
  }
  all["Env::GetTestDirectory"] = [](World& w) {
    std::string path;
    must(w.env->GetTestDirectory(&path), "test directory");
    CHECK(w.env->FileExists(path));
  };
  all["Env::NewLogger"] = all["Logger::Logv"] = [](World& w) {
    leveldb::Logger* logger = nullptr;
    must(w.env->NewLogger(w.at("LOG"), &logger), "logger");
    add_line(logger, "number %d", 7);
    delete logger;
    CHECK(w.read("LOG").find("number 7\n") != std::string::npos);
  };
}

// The virtual methods of these classes in the header, as CLASS::METHOD.
std::set<std::string> methods_in(const std::string& header) {
  const std::set<std::string> classes = {"Env", "SequentialFile", "RandomAccessFile",
                                         "WritableFile", "Logger"};
  std::ifstream lines(header);
  CHECK(lines.good());
  std::set<std::string> found;
  std::string in_class;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("class ", 0) == 0 && line.back() != ';') {
      std::istringstream words(line.substr(6));
      do {
        words >> in_class;
      } while (words && in_class == "LEVELDB_EXPORT");
    }
    const size_t end = line.find('(');
    if (line.rfind("  virtual ", 0) != 0 || end == std::string::npos ||
        classes.count(in_class) == 0 || line.find('~') != std::string::npos) {
      continue;
    }
    const size_t begin = line.find_last_of(" *&", end) + 1;
    found.insert(in_class + "::" + line.substr(begin, end - begin));
  }
  CHECK(found.size() > 25);
  return found;
}

}  // namespace

void methods(const std::string& uri, const std::string& header) {
  Methods all;
  add_files(all);
  add_others(all);
  for (const std::string& name : methods_in(header)) {
    if (all.count(name) == 0) {
      std::fprintf(stderr, "%s: expected a call of it here, found none\n", name.c_str());
      std::exit(1);
    }
  }
  const auto env = env_of(uri);
  World world = {env.get(), ""};
  size_t number = 0;
  for (const auto& [name, call] : all) {
    world.place = "/methods-" + std::to_string(number++);
    must(env->CreateDir(world.place), "directory");
    std::printf("%s\n", name.c_str());
    std::fflush(stdout);
    call(world);
  }
}
