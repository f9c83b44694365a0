// The Env that the preloaded object returns: RocksDB's own, with a file system that is divided
// between the drive and the host. It lives as long as the process.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "configuration.h"
#include "divided_file_system.h"
#include "file_system.h"
#include "rocksdb/env.h"

namespace {

terrace::DividedFileSystem* divided = nullptr;

[[noreturn]] void fail(const std::string& reason) {
  std::fprintf(stderr, "libterrace_rocksdbjni: %s\n", reason.c_str());
  _exit(1);
}

}  // namespace

// Mounts the drive, and makes the Env. Ends the process if the drive cannot be mounted. Called
// once, while Env::Default() returns RocksDB's own Env.
extern "C" __attribute__((visibility("default"))) rocksdb::Env* terrace_rocksdbjni_env() {
  terrace::Configuration configuration;
  std::string error;
  if (!terrace::configure(&configuration, &error)) {
    fail(error);
  }
  const std::string uri = "terrace://" + configuration.drive;
  auto mount = terrace::Mount::open(uri, &error);
  if (mount == nullptr) {
    fail("TERRACE_DRIVE: " + error);
  }
  auto drive = std::make_shared<terrace::TerraceFileSystem>(uri, std::move(mount));
  auto both = std::make_shared<terrace::DividedFileSystem>(
      rocksdb::Env::Default()->GetFileSystem(), std::move(drive), configuration.prefix);
  divided = both.get();
  std::atexit([] { divided->end(); });
  return rocksdb::NewCompositeEnv(std::move(both)).release();
}
