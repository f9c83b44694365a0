// Parts that the programs of the contract share: checks, a database that is always busy, and its
// entries.

#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"

// Ends the program if a condition does not hold. It runs no destructors: threads of an open
// database go on.
#define CHECK(holds)                                                             \
  do {                                                                           \
    if (!(holds)) {                                                              \
      std::fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #holds);  \
      std::fflush(nullptr);                                                      \
      std::_Exit(1);                                                             \
    }                                                                            \
  } while (0)

// Ends the program with a message unless the call has succeeded.
void must(const rocksdb::Status& status, const char* what);

// The file system of a URI.
std::shared_ptr<rocksdb::FileSystem> file_system(const std::string& uri);

// Makes a file with this text, synced and closed.
void put(rocksdb::FileSystem* fs, const std::string& path, const std::string& text);

std::string key_of(int number);
std::string value_of(int number);

// Options under which flushes and compactions always run.
rocksdb::Options options_of(rocksdb::Env* env);

std::unique_ptr<rocksdb::DB> open(const rocksdb::Options& options, const std::string& path);

// Every call of the FileSystem.
void files(const std::string& uri);
// Every virtual method in a header of RocksDB's FileSystem.
void methods(const std::string& uri, const std::string& header);
// Random calls, compared with those of RocksDB's FileSystem in a directory of the machine.
void differs(const std::string& uri, uint64_t seed, const std::string& directory);
// Tables that are deleted at a rate.
void deletion(const std::string& uri);
// Logs in checkpoints, backups and archives.
void checkpoints(const std::string& uri);
// Tables that are read as memory.
void plain(const std::string& uri);
// A checkpoint and a backup, both opened again.
void copies(const std::string& uri);
// A drive that gets full.
void full(const std::string& uri);
// One write for a synced insert.
void writes(const std::string& uri);
// The info log on an ordinary path.
void logs(const std::string& uri, const std::string& directory);
// A history of operations until the process is killed, and the check of its remainder.
void write_history(const std::string& uri, uint64_t seed, uint64_t from);
void verify_history(const std::string& uri, uint64_t seed, long long told, bool copied);
