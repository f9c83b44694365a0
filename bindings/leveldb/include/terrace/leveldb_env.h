// An Env of LevelDB on a file system of Terrace. Link with libterrace_leveldb.so and libleveldb.so.
//
//   leveldb::Options options;
//   leveldb::Status status = terrace::new_leveldb_env("terrace://drive.img", &options.env);
//
// A program that was not built for it loads the library by LD_PRELOAD instead, with the URI in the
// environment variable TERRACE_URI: docs/leveldb.md.

#pragma once

#include <string>

#include "leveldb/env.h"
#include "leveldb/status.h"

namespace terrace {

// Mounts the drive of the URI, or shares its mount within this process, and makes an Env. The
// caller deletes it after the last database that uses it; `*env` is null if that fails.
__attribute__((visibility("default"))) leveldb::Status new_leveldb_env(const std::string& uri,
                                                                       leveldb::Env** env);

}  // namespace terrace
