// TerraceFileSystem: RocksDB's FileSystem on a file system of Terrace.
//
// Creation, rename, link, removal and truncation are durable when they return, so the sync of a
// directory has no work. A name that is made or moved replaces the file of that name at once. A
// directory is moved by one transaction. The device can be opened by one process; RocksDB's lock of
// a database is within this process.
//
// Not supported: files that are read and written at random, and memory-mapped buffers. The zones of
// the device do not allow them. A file that is to be read as memory is loaded whole.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mount.h"
#include "rocksdb/file_system.h"

namespace terrace {

class TerraceFileSystem : public rocksdb::FileSystem {
 public:
  TerraceFileSystem(std::string uri, std::shared_ptr<Mount> mount)
      : uri_(std::move(uri)), mount_(std::move(mount)) {}

  const char* Name() const override { return "TerraceFileSystem"; }
  bool IsInstanceOf(const std::string& name) const override;
  std::string GetId() const override { return uri_; }

  // Counts, as numbers in decimal: `reads`, `read_bytes`, `writes`, `written_bytes`, `flushes`,
  // `zones_reset`, `zones_finished`, `journal_rolls` and `reclaim_bytes` since the mount; and
  // `capacity`, `free`, `live`, `dead` and `available` bytes; and `in_logs`, the bytes of logs that are
  // still to be flushed.
  rocksdb::Status GetOption(const rocksdb::ConfigOptions& config, const std::string& name,
                            std::string* value) const override;

  rocksdb::IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions&,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                      rocksdb::IODebugContext*) override;
  rocksdb::IOStatus NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions&,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext*) override;
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions&,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext*) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions&,
                                       std::unique_ptr<rocksdb::FSWritableFile>* file,
                                       rocksdb::IODebugContext*) override;
  rocksdb::IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path,
                                      const rocksdb::FileOptions&,
                                      std::unique_ptr<rocksdb::FSWritableFile>* file,
                                      rocksdb::IODebugContext*) override;

  rocksdb::IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions&,
                                 std::unique_ptr<rocksdb::FSDirectory>* directory,
                                 rocksdb::IODebugContext*) override;
  rocksdb::IOStatus FileExists(const std::string& path, const rocksdb::IOOptions&,
                               rocksdb::IODebugContext*) override;
  rocksdb::IOStatus GetChildren(const std::string& path, const rocksdb::IOOptions&,
                                std::vector<std::string>* children,
                                rocksdb::IODebugContext*) override;
  rocksdb::IOStatus GetChildrenFileAttributes(const std::string& path, const rocksdb::IOOptions&,
                                              std::vector<rocksdb::FileAttributes>* children,
                                              rocksdb::IODebugContext*) override;
  rocksdb::IOStatus CreateDir(const std::string& path, const rocksdb::IOOptions&,
                              rocksdb::IODebugContext*) override;
  rocksdb::IOStatus CreateDirIfMissing(const std::string& path, const rocksdb::IOOptions&,
                                       rocksdb::IODebugContext*) override;
  rocksdb::IOStatus DeleteDir(const std::string& path, const rocksdb::IOOptions&,
                              rocksdb::IODebugContext*) override;
  rocksdb::IOStatus IsDirectory(const std::string& path, const rocksdb::IOOptions&, bool* is,
                                rocksdb::IODebugContext*) override;

  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions&,
                               rocksdb::IODebugContext*) override;
  rocksdb::IOStatus Truncate(const std::string& path, size_t size, const rocksdb::IOOptions&,
                             rocksdb::IODebugContext*) override;
  rocksdb::IOStatus GetFileSize(const std::string& path, const rocksdb::IOOptions&,
                                uint64_t* size, rocksdb::IODebugContext*) override;
  rocksdb::IOStatus GetFileModificationTime(const std::string& path, const rocksdb::IOOptions&,
                                            uint64_t* time, rocksdb::IODebugContext*) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions&, rocksdb::IODebugContext*) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                             const rocksdb::IOOptions&, rocksdb::IODebugContext*) override;
  rocksdb::IOStatus NumFileLinks(const std::string& path, const rocksdb::IOOptions&,
                                 uint64_t* count, rocksdb::IODebugContext*) override;
  rocksdb::IOStatus AreFilesSame(const std::string& one, const std::string& other,
                                 const rocksdb::IOOptions&, bool* same,
                                 rocksdb::IODebugContext*) override;

  rocksdb::IOStatus LockFile(const std::string& path, const rocksdb::IOOptions&,
                             rocksdb::FileLock** lock, rocksdb::IODebugContext*) override;
  rocksdb::IOStatus UnlockFile(rocksdb::FileLock* lock, const rocksdb::IOOptions&,
                               rocksdb::IODebugContext*) override;
  rocksdb::IOStatus GetTestDirectory(const rocksdb::IOOptions&, std::string* path,
                                     rocksdb::IODebugContext*) override;
  rocksdb::IOStatus GetAbsolutePath(const std::string& path, const rocksdb::IOOptions&,
                                    std::string* absolute, rocksdb::IODebugContext*) override;
  rocksdb::IOStatus GetFreeSpace(const std::string& path, const rocksdb::IOOptions&,
                                 uint64_t* free, rocksdb::IODebugContext*) override;

  // Waits for all reads that RandomAccessFile::ReadAsync has begun under these handles.
  rocksdb::IOStatus Poll(std::vector<void*>& handles, size_t) override;
  rocksdb::IOStatus AbortIO(std::vector<void*>& handles) override;

 private:
  const std::string uri_;
  const std::shared_ptr<Mount> mount_;
};

}  // namespace terrace
