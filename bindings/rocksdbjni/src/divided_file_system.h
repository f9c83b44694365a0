// DividedFileSystem: a FileSystem of RocksDB that has a drive of Terrace for the paths below one
// directory, the prefix, and the ordinary file system for all others.
//
// The prefix is the root of the drive, as the directory of a mount is. The ordinary file system
// never sees a path below it.
//
// A file cannot be moved or linked from one to the other: such a call returns NotSupported, and
// RocksDB copies instead where it has a use for that, as for a checkpoint or an ingest.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "open_files.h"
#include "rocksdb/file_system.h"

namespace terrace {

class DividedFileSystem : public rocksdb::FileSystemWrapper {
 public:
  DividedFileSystem(const std::shared_ptr<rocksdb::FileSystem>& ordinary,
                    std::shared_ptr<rocksdb::FileSystem> drive, std::string prefix)
      : rocksdb::FileSystemWrapper(ordinary), drive_(std::move(drive)),
        prefix_(std::move(prefix)) {}

  const char* Name() const override { return "TerraceDividedFileSystem"; }

  // For the end of the process, next to threads that may still write. Makes all bytes of files that
  // are written on the drive durable. If no database is open there, the drive is closed; paths
  // below the prefix name nothing from then on.
  void end();

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
  rocksdb::IOStatus NewRandomRWFile(const std::string& path, const rocksdb::FileOptions&,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* file,
                                    rocksdb::IODebugContext*) override;
  rocksdb::IOStatus NewMemoryMappedFileBuffer(
      const std::string& path, std::unique_ptr<rocksdb::MemoryMappedFileBuffer>* buffer) override;

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
  rocksdb::IOStatus NewLogger(const std::string& path, const rocksdb::IOOptions&,
                              std::shared_ptr<rocksdb::Logger>* logger,
                              rocksdb::IODebugContext*) override;
  rocksdb::IOStatus GetAbsolutePath(const std::string& path, const rocksdb::IOOptions&,
                                    std::string* found, rocksdb::IODebugContext*) override;
  rocksdb::IOStatus GetFreeSpace(const std::string& path, const rocksdb::IOOptions&,
                                 uint64_t* free, rocksdb::IODebugContext*) override;

  // No operation that is optional: reads that are begun early would have to be told apart.
  void SupportedOps(int64_t& supported) override { supported = 0; }

 private:
  // A path, and the file system that has it.
  struct Place {
    rocksdb::FileSystem* system;
    std::string path;
    // The drive, if it is that; it is not closed meanwhile.
    std::shared_ptr<rocksdb::FileSystem> drive;
  };
  Place place_of(const std::string& path) const;

  mutable std::mutex mutex_;
  // Null once it is closed.
  std::shared_ptr<rocksdb::FileSystem> drive_;
  const std::string prefix_;
  // Shared with the files themselves, which may be closed after this object.
  const std::shared_ptr<OpenFiles> open_files_ = std::make_shared<OpenFiles>();
  // Locks of the drive that are held, with the mutex: one for each open database. Each keeps the
  // drive.
  std::map<rocksdb::FileLock*, std::shared_ptr<rocksdb::FileSystem>> locks_;
};

}  // namespace terrace
