// Registers the file system with RocksDB, for every URI that begins with `terrace://`, when the
// shared object is loaded: by the linker, or by LD_PRELOAD into any program.

#include <memory>
#include <string>

#include "file_system.h"
#include "rocksdb/utilities/object_registry.h"

namespace {

using rocksdb::FileSystem;
using rocksdb::ObjectLibrary;

const bool registered = [] {
  ObjectLibrary::Default()->AddFactory<FileSystem>(
      ObjectLibrary::PatternEntry("terrace", false).AddSeparator("://", false),
      [](const std::string& uri, std::unique_ptr<FileSystem>* guard, std::string* error) {
        auto mount = terrace::Mount::open(uri, error);
        guard->reset(mount ? new terrace::TerraceFileSystem(uri, std::move(mount)) : nullptr);
        return guard->get();
      });
  return true;
}();

}  // namespace
