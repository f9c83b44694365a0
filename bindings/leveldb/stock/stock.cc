// A program without any code of Terrace: `stock put|get PATH ENTRIES` writes entries to a database
// with LevelDB's default options, or reads them all and compares. The tests run it with the plug-in
// loaded by LD_PRELOAD, and without.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "leveldb/db.h"

int main(int count, char** arguments) {
  if (count != 4) {
    std::fprintf(stderr, "usage: stock put|get PATH ENTRIES\n");
    return 2;
  }
  const bool puts = std::string(arguments[1]) == "put";
  const int entries = std::atoi(arguments[3]);
  leveldb::Options options;
  options.create_if_missing = puts;
  leveldb::DB* opened = nullptr;
  leveldb::Status status = leveldb::DB::Open(options, arguments[2], &opened);
  const std::unique_ptr<leveldb::DB> db(opened);
  for (int number = 0; status.ok() && number < entries; number++) {
    const std::string key = std::to_string(number), expected = "value of " + key;
    if (puts) {
      status = db->Put(leveldb::WriteOptions(), key, expected);
      continue;
    }
    std::string value;
    status = db->Get(leveldb::ReadOptions(), key, &value);
    if (status.ok() && value != expected) {
      std::fprintf(stderr, "%s: expected \"%s\", found \"%s\"\n", key.c_str(), expected.c_str(),
                   value.c_str());
      return 1;
    }
  }
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  return 0;
}
