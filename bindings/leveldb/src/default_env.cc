// Replaces LevelDB's `Env::Default`, and has the function that makes an Env.
//
// The dynamic linker prefers this `Env::Default` to LevelDB's own, for the program and for LevelDB
// itself, if this library comes before LevelDB: by LD_PRELOAD, or in the order of linking. If the
// environment variable TERRACE_URI is set, it returns an Env on that file system; else LevelDB's.
// `Env::Default` cannot fail, so a URI that cannot be mounted ends the process. The mount stays
// until the process ends.

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "terrace/leveldb_env.h"
#include "terrace_env.h"

namespace terrace {

namespace {

using Default = leveldb::Env* (*)();

[[noreturn]] void die(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::_Exit(1);
}

// Whether an address is in this library.
bool is_here(void* address) {
  static const char here = 0;
  Dl_info of_address = {}, of_here = {};
  return dladdr(address, &of_address) != 0 && dladdr(&here, &of_here) != 0 &&
         of_address.dli_fbase == of_here.dli_fbase;
}

// LevelDB's own Env. LevelDB comes after this library or, with the other order of linking, before
// it.
leveldb::Env* ordinary_env() {
  for (void* where : {RTLD_NEXT, RTLD_DEFAULT}) {
    void* found = dlsym(where, "_ZN7leveldb3Env7DefaultEv");
    if (found != nullptr && !is_here(found)) {
      return reinterpret_cast<Default>(found)();
    }
  }
  die("leveldb::Env::Default: expected the one of LevelDB's library, found none");
}

leveldb::Env* default_env() {
  const char* uri = std::getenv("TERRACE_URI");
  if (uri == nullptr) {
    return ordinary_env();
  }
  std::string error;
  auto mount = Mount::open(uri, &error);
  if (mount == nullptr) {
    die("TERRACE_URI: " + error);
  }
  const char* info_logs = std::getenv("TERRACE_INFO_LOGS");
  return new TerraceEnv(ordinary_env(), std::move(mount), info_logs == nullptr ? "" : info_logs);
}

}  // namespace

leveldb::Status new_leveldb_env(const std::string& uri, leveldb::Env** env) {
  std::string error;
  auto mount = Mount::open(uri, &error);
  *env = mount ? new TerraceEnv(ordinary_env(), std::move(mount), "") : nullptr;
  return *env != nullptr ? leveldb::Status::OK() : leveldb::Status::IOError(error);
}

}  // namespace terrace

leveldb::Env* leveldb::Env::Default() {
  static Env* const chosen = terrace::default_env();
  return chosen;
}
