// A program that checks the file system against RocksDB's expectations:
//
//   contract files URI              every call of the FileSystem, with a database
//   contract methods URI HEADER     every virtual method that RocksDB's header has
//   contract differs URI SEED DIRECTORY   random calls, and on RocksDB's own file system there
//   contract deletion URI           deletes tables at a rate, piece by piece
//   contract checkpoints URI        copies of logs, links of them and archives on a half empty drive
//   contract plain URI              tables that are read as memory
//   contract copies URI             checkpoint and backup, both opened again
//   contract full URI               fills the drive until RocksDB is refused, opens the database
//                                   again and again, deletes, compacts, and writes again
//   contract writes URI             counts the writes to the drive of synced inserts
//   contract logs URI DIRECTORY     has RocksDB put its info log into an ordinary directory
//   contract write URI SEED FROM    carries out the history of the seed from operation FROM on,
//                                   until it is killed; prints the number of each operation that
//                                   survives a kill, when it has returned: of those that are
//                                   synced, or of all where the URI has the options `unsynced&written`
//   contract verify URI SEED TOLD   opens the database: it must hold the result of a prefix of the
//                                   history, with operation TOLD in it; -1 for none. Prints the
//                                   length of that prefix
//   contract copied URI SEED TOLD   the same, and of a checkpoint and a backup that it makes
//
// It is linked with the plug-in, so that it also shows that a program can be.

#include "contract.h"

#include "rocksdb/convenience.h"

using rocksdb::ConfigOptions;
using rocksdb::DB;
using rocksdb::Env;
using rocksdb::FileOptions;
using rocksdb::FileSystem;
using rocksdb::FSWritableFile;
using rocksdb::IOOptions;
using rocksdb::Options;
using rocksdb::Status;

void must(const Status& status, const char* what) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s: %s\n", what, status.ToString().c_str());
    std::exit(1);
  }
}

std::shared_ptr<FileSystem> file_system(const std::string& uri) {
  ConfigOptions config;
  config.ignore_unsupported_options = false;
  std::shared_ptr<FileSystem> fs;
  must(FileSystem::CreateFromString(config, uri, &fs), "file system");
  CHECK(fs != nullptr);
  return fs;
}

void put(FileSystem* fs, const std::string& path, const std::string& text) {
  std::unique_ptr<FSWritableFile> file;
  must(fs->NewWritableFile(path, FileOptions(), &file, nullptr), "new file");
  must(file->Append(text, IOOptions(), nullptr), "append");
  must(file->Sync(IOOptions(), nullptr), "sync");
  CHECK(file->GetFileSize(IOOptions(), nullptr) == text.size());
  must(file->Close(IOOptions(), nullptr), "close");
}

std::string key_of(int number) {
  char text[16];
  std::snprintf(text, sizeof text, "%09d", number);
  return text;
}

std::string value_of(int number) {
  return key_of(number) + std::string(static_cast<size_t>(number) * 37 % 700, 'v');
}

Options options_of(Env* env) {
  Options options;
  options.env = env;
  options.create_if_missing = true;
  // Small, so that flushes and compactions always run.
  options.write_buffer_size = 256 << 10;
  options.target_file_size_base = 256 << 10;
  options.max_bytes_for_level_base = 1 << 20;
  options.compression = rocksdb::kNoCompression;
  options.recycle_log_file_num = 2;
  options.paranoid_checks = true;
  return options;
}

std::unique_ptr<DB> open(const Options& options, const std::string& path) {
  DB* db = nullptr;
  must(DB::Open(options, path, &db), "open");
  return std::unique_ptr<DB>(db);
}

int main(int count, char** arguments) {
  const std::string what = count > 2 ? arguments[1] : "";
  const std::string uri = count > 2 ? arguments[2] : "";
  const std::string third = count > 3 ? arguments[3] : "";
  const long long fourth = count > 4 ? std::atoll(arguments[4]) : 0;
  const uint64_t seed = std::strtoull(third.c_str(), nullptr, 10);
  if (what == "files") {
    files(uri);
  } else if (what == "methods" && count > 3) {
    methods(uri, third);
  } else if (what == "differs" && count > 4) {
    differs(uri, seed, arguments[4]);
  } else if (what == "deletion") {
    deletion(uri);
  } else if (what == "checkpoints") {
    checkpoints(uri);
  } else if (what == "plain") {
    plain(uri);
  } else if (what == "copies") {
    copies(uri);
  } else if (what == "full") {
    full(uri);
  } else if (what == "writes") {
    writes(uri);
  } else if (what == "logs" && count > 3) {
    logs(uri, third);
  } else if (what == "write" && count > 4) {
    write_history(uri, seed, static_cast<uint64_t>(fourth));
  } else if ((what == "verify" || what == "copied") && count > 4) {
    verify_history(uri, seed, fourth, what == "copied");
  } else {
    std::fprintf(stderr,
                 "usage: contract files|copies|full|writes|deletion|checkpoints|plain URI,\n"
                 "       contract logs URI DIRECTORY, contract methods URI HEADER,\n"
                 "       contract differs URI SEED DIRECTORY, or\n"
                 "       contract write|verify|copied URI SEED NUMBER\n");
    return 2;
  }
  return 0;
}
