// Every call of the Env.

#include <atomic>
#include <cstdarg>
#include <thread>
#include <vector>

#include "contract.h"
#include "terrace/leveldb_env.h"

using leveldb::Env;
using leveldb::Slice;
using leveldb::Status;
using leveldb::WritableFile;

namespace {

std::string get(Env* env, const std::string& path) {
  std::string text;
  must(leveldb::ReadFileToString(env, path, &text), path.c_str());
  return text;
}

void put(Env* env, const std::string& path, const std::string& text) {
  must(leveldb::WriteStringToFile(env, text, path), path.c_str());
}

std::unique_ptr<WritableFile> writable(Env* env, const std::string& path, bool append) {
  WritableFile* file = nullptr;
  must(append ? env->NewAppendableFile(path, &file) : env->NewWritableFile(path, &file), "file");
  return std::unique_ptr<WritableFile>(file);
}

void directories(Env* env) {
  CHECK(!env->FileExists("/a"));
  must(env->CreateDir("/a"), "directory");
  CHECK(env->FileExists("/a"));
  CHECK(!env->CreateDir("/a/").ok());
  must(env->CreateDir("/a//b"), "directory");
  std::vector<std::string> children;
  must(env->GetChildren("/a", &children), "children");
  CHECK(children == std::vector<std::string>({"b"}));
  CHECK(env->GetChildren("/none", &children).IsNotFound());
  CHECK(!env->RemoveDir("/none").ok());
  put(env, "/a/b/file", "text");
  CHECK(!env->RemoveDir("/a/b").ok());
  must(env->RemoveFile("/a/b/file"), "remove");
  must(env->RemoveDir("/a/b"), "remove of a directory");
  CHECK(!env->FileExists("/a/b"));
  // A relative name begins at the root.
  put(env, "a/relative", "text");
  CHECK(get(env, "/a/./relative") == "text");
}

void names(Env* env) {
  put(env, "/a/CURRENT", "one");
  put(env, "/a/000001.dbtmp", "two");
  must(env->RenameFile("/a/000001.dbtmp", "/a/CURRENT"), "rename");
  CHECK(get(env, "/a/CURRENT") == "two");
  CHECK(!env->FileExists("/a/000001.dbtmp"));
  CHECK(env->RenameFile("/a/none", "/a/some").IsNotFound());
  put(env, "/a/CURRENT", "three");  // Replaces what has the name.
  CHECK(get(env, "/a/CURRENT") == "three");
  uint64_t size = 0;
  must(env->GetFileSize("/a/CURRENT", &size), "size");
  CHECK(size == 5);
  CHECK(env->GetFileSize("/a/none", &size).IsNotFound());
  CHECK(env->RemoveFile("/a/none").IsNotFound());
  leveldb::SequentialFile* none = nullptr;
  CHECK(env->NewSequentialFile("/a/none", &none).IsNotFound() && none == nullptr);
}

void contents(Env* env) {
  auto log = writable(env, "/a/000002.log", false);
  must(log->Append("first"), "append");
  must(log->Flush(), "flush");
  CHECK(get(env, "/a/000002.log") == "first");  // Before it is synced or closed.
  must(log->Sync(), "sync");
  must(log->Close(), "close");
  log = writable(env, "/a/000002.log", true);
  must(log->Append("/more"), "append");
  log.reset();
  CHECK(get(env, "/a/000002.log") == "first/more");
  log = writable(env, "/a/000003.log", true);  // There is none yet.
  must(log->Append("fresh"), "append");
  must(log->Close(), "close");
  CHECK(get(env, "/a/000003.log") == "fresh");

  put(env, "/a/000004.ldb", "0123456789");
  leveldb::RandomAccessFile* random = nullptr;
  must(env->NewRandomAccessFile("/a/000004.ldb", &random), "open");
  must(env->RemoveFile("/a/000004.ldb"), "remove");
  char scratch[8];
  Slice read;
  must(random->Read(8, 8, &read, scratch), "read of a file that was removed");
  CHECK(read == "89");
  delete random;

  leveldb::SequentialFile* sequential = nullptr;
  must(env->NewSequentialFile("/a/000002.log", &sequential), "open");
  must(sequential->Skip(3), "skip");
  must(sequential->Read(3, &read, scratch), "read");
  CHECK(read == "st/");
  must(sequential->Skip(100), "skip beyond the end");
  must(sequential->Read(3, &read, scratch), "read at the end");
  CHECK(read.empty());
  delete sequential;
}

// Like LevelDB's own function, which its library does not export.
void log(leveldb::Logger* logger, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  logger->Logv(format, arguments);
  va_end(arguments);
}

void info_log(Env* env) {
  leveldb::Logger* logger = nullptr;
  must(env->NewLogger("/a/LOG", &logger), "logger");
  log(logger, "number %d", 7);
  log(logger, "%s", std::string(2000, 'x').c_str());
  const std::string text = get(env, "/a/LOG");
  CHECK(text.find("number 7\n") != std::string::npos);
  CHECK(text.find(std::string(2000, 'x') + "\n") != std::string::npos);
  delete logger;
}

void raise(void* number) { static_cast<std::atomic<int>*>(number)->fetch_add(1); }

void locks_threads_and_time(Env* env) {
  leveldb::FileLock* lock = nullptr;
  leveldb::FileLock* second = nullptr;
  must(env->LockFile("/a/LOCK", &lock), "lock");
  CHECK(!env->LockFile("/a/LOCK", &second).ok() && second == nullptr);
  must(env->UnlockFile(lock), "unlock");
  must(env->LockFile("/a/LOCK", &lock), "lock");
  must(env->UnlockFile(lock), "unlock");

  std::atomic<int> number(0);
  const uint64_t start = env->NowMicros();
  env->Schedule(raise, &number);
  env->StartThread(raise, &number);
  do {
    env->SleepForMicroseconds(1000);
    CHECK(env->NowMicros() - start < 600000000);
  } while (number < 2);
  CHECK(env->NowMicros() > start);
  std::string path;
  must(env->GetTestDirectory(&path), "test directory");
  CHECK(env->FileExists(path));
}

// The last user of a mount goes while another one comes.
void users_of_a_mount(const std::string& uri) {
  std::vector<std::thread> users;
  for (int user = 0; user < 3; user++) {
    users.emplace_back([&uri] {
      for (int round = 0; round < 20; round++) {
        env_of(uri);
      }
    });
  }
  for (std::thread& user : users) {
    user.join();
  }
}

}  // namespace

void files(const std::string& uri) {
  users_of_a_mount(uri);
  auto env = env_of(uri);
  CHECK(env_of(uri) != nullptr);  // A second one shares the mount.
  for (const std::string word : {"wrong", "cache=-1", "cache=", "reserve=18446744073709551616"}) {
    Env* refused = nullptr;
    const Status wrong = terrace::new_leveldb_env("terrace://none?" + word, &refused);
    CHECK(refused == nullptr && wrong.ToString().find("found " + word) != std::string::npos);
  }
  // Without TERRACE_URI, the default Env is LevelDB's own.
  CHECK(Env::Default()->FileExists("/proc/self/exe"));
  directories(env.get());
  names(env.get());
  contents(env.get());
  info_log(env.get());
  locks_threads_and_time(env.get());
}
