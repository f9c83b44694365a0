// Parts that the contract's programs share: checks, and a database that is always busy.

#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "leveldb/db.h"
#include "leveldb/env.h"

#define CHECK(holds)                                                             \
  do {                                                                           \
    if (!(holds)) {                                                              \
      std::fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #holds);  \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

// Ends the program with a message unless the call has succeeded.
void must(const leveldb::Status& status, const char* what);

// The Env of a URI.
std::unique_ptr<leveldb::Env> env_of(const std::string& uri);

std::string key_of(int number);
std::string value_of(int number);

// Options under which flushes and compactions always run.
leveldb::Options options_of(leveldb::Env* env);

std::unique_ptr<leveldb::DB> open(const leveldb::Options& options, const std::string& path);

// Every call of the Env.
void files(const std::string& uri);
// Every virtual method in LevelDB's header of the Env.
void methods(const std::string& uri, const std::string& header);
// Fills, overwrites, deletes and compacts, and reads everything.
void loads(const std::string& uri);
// A drive that gets full.
void full(const std::string& uri);
// Inserts that are each synced.
void synced(const std::string& uri, int inserts);
// A history of operations until the process is killed, and the check of its remainder.
void write_history(const std::string& uri, uint64_t seed, uint64_t from);
void verify_history(const std::string& uri, uint64_t seed, long long told);
