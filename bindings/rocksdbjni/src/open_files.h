// OpenFiles: files of the drive that RocksDB has open for writing.
//
// A process may end without closing its databases, as many programs for the JVM do. On an ordinary
// file system, their writes without a sync survive that. So the open files are synced when the
// process ends. A file's calls exclude each other and that sync.

#pragma once

#include <memory>
#include <mutex>
#include <set>

#include "rocksdb/file_system.h"

namespace terrace {

class OpenFile;

class OpenFiles : public std::enable_shared_from_this<OpenFiles> {
 public:
  // The file, as one of these until it is closed.
  std::unique_ptr<rocksdb::FSWritableFile> add(std::unique_ptr<rocksdb::FSWritableFile> file);

  // Syncs all of them. A file that fails keeps none from its sync.
  void sync();

 private:
  friend class OpenFile;
  void remove(OpenFile* file);

  std::mutex mutex_;
  std::set<OpenFile*> files_;
};

}  // namespace terrace
