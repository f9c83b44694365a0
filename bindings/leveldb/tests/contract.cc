// A program that checks the plug-in against LevelDB's expectations:
//
//   contract files URI               every call of the Env
//   contract methods URI HEADER      every virtual method that LevelDB's header has
//   contract loads URI               fills, overwrites, deletes, compacts; every value is checked
//   contract full URI                fills the drive until LevelDB is refused; reads, opens again,
//                                    deletes and writes again
//   contract synced URI INSERTS      inserts that are each synced
//   contract write URI SEED FROM     continues a history of operations until it is killed. Prints
//                                    the number of each that survives a kill, when it has returned
//   contract verify URI SEED TOLD    opens the database, which must hold the result of a prefix of
//                                    the history, operation TOLD included. Prints the number of
//                                    its operations
//
// It is linked with the plug-in, so that it also shows that a program can be.

#include "contract.h"

#include <cstring>

#include "terrace/leveldb_env.h"

using leveldb::DB;
using leveldb::Env;
using leveldb::Options;
using leveldb::Status;

void must(const Status& status, const char* what) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s: %s\n", what, status.ToString().c_str());
    std::exit(1);
  }
}

std::unique_ptr<Env> env_of(const std::string& uri) {
  Env* env = nullptr;
  must(terrace::new_leveldb_env(uri, &env), "env");
  return std::unique_ptr<Env>(env);
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
  options.max_file_size = 1 << 20;
  options.compression = leveldb::kNoCompression;
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
  const auto number = [&](int index) {
    return count > index ? std::strtoll(arguments[index], nullptr, 10) : 0;
  };
  if (what == "files") {
    files(uri);
  } else if (what == "methods" && count > 3) {
    methods(uri, arguments[3]);
  } else if (what == "loads") {
    loads(uri);
  } else if (what == "full") {
    full(uri);
  } else if (what == "synced" && count > 3) {
    synced(uri, static_cast<int>(number(3)));
  } else if (what == "write" && count > 4) {
    write_history(uri, static_cast<uint64_t>(number(3)), static_cast<uint64_t>(number(4)));
  } else if (what == "verify" && count > 4) {
    verify_history(uri, static_cast<uint64_t>(number(3)), number(4));
  } else {
    std::fprintf(stderr, "usage: contract files|loads|full|synced|write|verify URI [NUMBER...]\n"
                         "       contract methods URI HEADER\n");
    return 2;
  }
  return 0;
}
