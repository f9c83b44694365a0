#include "divided_file_system.h"

#include "configuration.h"

namespace terrace {

using rocksdb::FileAttributes;
using rocksdb::FileLock;
using rocksdb::FileOptions;
using rocksdb::FSDirectory;
using rocksdb::FSRandomAccessFile;
using rocksdb::FSRandomRWFile;
using rocksdb::FSSequentialFile;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Logger;
using rocksdb::MemoryMappedFileBuffer;

namespace {

// The outcome of a call for files of which one is on the drive and the other is not.
IOStatus divided(const std::string& one, const std::string& other) {
  return IOStatus::NotSupported(one, "expected a file on the same file system as " + other +
                                         ", found one on a drive and one on none");
}

}  // namespace

DividedFileSystem::Place DividedFileSystem::place_of(const std::string& path) const {
  const std::string whole = absolute(path);
  const bool is_below = whole.compare(0, prefix_.size(), prefix_) == 0;
  if (!is_below || (whole.size() > prefix_.size() && whole[prefix_.size()] != '/')) {
    return {target(), path, nullptr};
  }
  const std::string rest = whole.substr(prefix_.size());
  std::lock_guard<std::mutex> guard(mutex_);
  if (drive_ == nullptr) {
    // No file is found below one that is no directory.
    return {target(), "/dev/null" + whole, nullptr};
  }
  return {drive_.get(), rest.empty() ? "/" : rest, drive_};
}

void DividedFileSystem::end() {
  open_files_->sync();
  std::shared_ptr<rocksdb::FileSystem> drive;
  std::lock_guard<std::mutex> guard(mutex_);
  if (locks_.empty()) {
    // It is closed once the last file and the last call have ended.
    drive.swap(drive_);
  }
}

IOStatus DividedFileSystem::NewSequentialFile(const std::string& path, const FileOptions& options,
                                              std::unique_ptr<FSSequentialFile>* file,
                                              IODebugContext* debug) {
  const Place place = place_of(path);
  return place.system->NewSequentialFile(place.path, options, file, debug);
}

IOStatus DividedFileSystem::NewRandomAccessFile(const std::string& path,
                                                const FileOptions& options,
                                                std::unique_ptr<FSRandomAccessFile>* file,
                                                IODebugContext* debug) {
  const Place place = place_of(path);
  return place.system->NewRandomAccessFile(place.path, options, file, debug);
}

IOStatus DividedFileSystem::NewRandomRWFile(const std::string& path, const FileOptions& options,
                                            std::unique_ptr<FSRandomRWFile>* file,
                                            IODebugContext* debug) {
  const Place place = place_of(path);
  return place.system->NewRandomRWFile(place.path, options, file, debug);
}

IOStatus DividedFileSystem::NewMemoryMappedFileBuffer(
    const std::string& path, std::unique_ptr<MemoryMappedFileBuffer>* buffer) {
  const Place place = place_of(path);
  return place.system->NewMemoryMappedFileBuffer(place.path, buffer);
}

IOStatus DividedFileSystem::NewDirectory(const std::string& path, const IOOptions& options,
                                         std::unique_ptr<FSDirectory>* directory,
                                         IODebugContext* debug) {
  const Place place = place_of(path);
  return place.system->NewDirectory(place.path, options, directory, debug);
}

IOStatus DividedFileSystem::FileExists(const std::string& path, const IOOptions& options,
                                       IODebugContext* debug) {
  const Place place = place_of(path);
  return place.system->FileExists(place.path, options, debug);
}

IOStatus DividedFileSystem::GetChildren(const std::string& path, const IOOptions& options,
                                        std::vector<std::string>* children,
                                        IODebugContext* debug) {
  const Place place = place_of(path);
  return place.system->GetChildren(place.path, options, children, debug);
}

IOStatus DividedFileSystem::GetChildrenFileAttributes(const std::string& path,
                                                      const IOOptions& options,
                                                      std::vector<FileAttributes>* children,
                                                      IODebugContext* debug) {
  const Place place = place_of(path);
  return place.system->GetChildrenFileAttributes(place.path, options, children, debug);
}

IOStatus DividedFileSystem::CreateDir(const std::string& path, const IOOptions& options,
                                      IODebugContext* debug) {
  const Place place = place_of(path);
  return place.system->CreateDir(place.path, options, debug);
}

IOStatus DividedFileSystem::CreateDirIfMissing(const std::string& path, const IOOptions& options,
                                               IODebugContext* debug) {
  const Place place = place_of(path);
  return place.system->CreateDirIfMissing(place.path, options, debug);
}

IOStatus DividedFileSystem::DeleteDir(const std::string& path, const IOOptions& options,
                                      IODebugContext* debug) {
  const Place place = place_of(path);
  return place.system->DeleteDir(place.path, options, debug);
}

IOStatus DividedFileSystem::IsDirectory(const std::string& path, const IOOptions& options,
                                        bool* is, IODebugContext* debug) {
  const Place place = place_of(path);
  return place.system->IsDirectory(place.path, options, is, debug);
}

IOStatus DividedFileSystem::DeleteFile(const std::string& path, const IOOptions& options,
                                       IODebugContext* debug) {
  const Place place = place_of(path);
  return place.system->DeleteFile(place.path, options, debug);
}

IOStatus DividedFileSystem::Truncate(const std::string& path, size_t size,
                                     const IOOptions& options, IODebugContext* debug) {
  const Place place = place_of(path);
  return place.system->Truncate(place.path, size, options, debug);
}

IOStatus DividedFileSystem::GetFileSize(const std::string& path, const IOOptions& options,
                                        uint64_t* size, IODebugContext* debug) {
  const Place place = place_of(path);
  return place.system->GetFileSize(place.path, options, size, debug);
}

IOStatus DividedFileSystem::GetFileModificationTime(const std::string& path,
                                                    const IOOptions& options, uint64_t* time,
                                                    IODebugContext* debug) {
  const Place place = place_of(path);
  return place.system->GetFileModificationTime(place.path, options, time, debug);
}

IOStatus DividedFileSystem::NumFileLinks(const std::string& path, const IOOptions& options,
                                         uint64_t* count, IODebugContext* debug) {
  const Place place = place_of(path);
  return place.system->NumFileLinks(place.path, options, count, debug);
}

IOStatus DividedFileSystem::GetFreeSpace(const std::string& path, const IOOptions& options,
                                         uint64_t* free, IODebugContext* debug) {
  const Place place = place_of(path);
  return place.system->GetFreeSpace(place.path, options, free, debug);
}

IOStatus DividedFileSystem::NewWritableFile(const std::string& path, const FileOptions& options,
                                            std::unique_ptr<FSWritableFile>* file,
                                            IODebugContext* debug) {
  const Place place = place_of(path);
  IOStatus status = place.system->NewWritableFile(place.path, options, file, debug);
  if (status.ok() && place.drive != nullptr) {
    *file = open_files_->add(std::move(*file));
  }
  return status;
}

IOStatus DividedFileSystem::ReopenWritableFile(const std::string& path, const FileOptions& options,
                                               std::unique_ptr<FSWritableFile>* file,
                                               IODebugContext* debug) {
  const Place place = place_of(path);
  IOStatus status = place.system->ReopenWritableFile(place.path, options, file, debug);
  if (status.ok() && place.drive != nullptr) {
    *file = open_files_->add(std::move(*file));
  }
  return status;
}

IOStatus DividedFileSystem::ReuseWritableFile(const std::string& path, const std::string& old_path,
                                              const FileOptions& options,
                                              std::unique_ptr<FSWritableFile>* file,
                                              IODebugContext* debug) {
  const Place place = place_of(path), old_place = place_of(old_path);
  if (place.system != old_place.system) {
    return divided(path, old_path);
  }
  IOStatus status =
      place.system->ReuseWritableFile(place.path, old_place.path, options, file, debug);
  if (status.ok() && place.drive != nullptr) {
    *file = open_files_->add(std::move(*file));
  }
  return status;
}

IOStatus DividedFileSystem::RenameFile(const std::string& from, const std::string& to,
                                       const IOOptions& options, IODebugContext* debug) {
  const Place source = place_of(from), target = place_of(to);
  return source.system == target.system
             ? source.system->RenameFile(source.path, target.path, options, debug)
             : divided(from, to);
}

IOStatus DividedFileSystem::LinkFile(const std::string& from, const std::string& to,
                                     const IOOptions& options, IODebugContext* debug) {
  const Place source = place_of(from), target = place_of(to);
  return source.system == target.system
             ? source.system->LinkFile(source.path, target.path, options, debug)
             : divided(from, to);
}

IOStatus DividedFileSystem::AreFilesSame(const std::string& one, const std::string& other,
                                         const IOOptions& options, bool* same,
                                         IODebugContext* debug) {
  const Place first = place_of(one), second = place_of(other);
  if (first.system == second.system) {
    return first.system->AreFilesSame(first.path, second.path, options, same, debug);
  }
  *same = false;
  return IOStatus::OK();
}

IOStatus DividedFileSystem::LockFile(const std::string& path, const IOOptions& options,
                                     FileLock** lock, IODebugContext* debug) {
  const Place place = place_of(path);
  IOStatus status = place.system->LockFile(place.path, options, lock, debug);
  if (status.ok() && place.drive != nullptr) {
    std::lock_guard<std::mutex> guard(mutex_);
    locks_.emplace(*lock, place.drive);
  }
  return status;
}

IOStatus DividedFileSystem::UnlockFile(FileLock* lock, const IOOptions& options,
                                       IODebugContext* debug) {
  std::shared_ptr<rocksdb::FileSystem> drive;
  {
    std::lock_guard<std::mutex> guard(mutex_);
    if (const auto found = locks_.find(lock); found != locks_.end()) {
      drive = std::move(found->second);
      locks_.erase(found);
    }
  }
  return (drive != nullptr ? drive.get() : target())->UnlockFile(lock, options, debug);
}

IOStatus DividedFileSystem::NewLogger(const std::string& path, const IOOptions& options,
                                      std::shared_ptr<Logger>* logger, IODebugContext* debug) {
  // A logger of the drive writes by the calls of this object, so that its file is among the open.
  return place_of(path).drive != nullptr ? FileSystem::NewLogger(path, options, logger, debug)
                                         : target()->NewLogger(path, options, logger, debug);
}

IOStatus DividedFileSystem::GetAbsolutePath(const std::string& path, const IOOptions& options,
                                            std::string* found, IODebugContext* debug) {
  if (place_of(path).drive == nullptr) {
    return target()->GetAbsolutePath(path, options, found, debug);
  }
  *found = absolute(path);
  return IOStatus::OK();
}

}  // namespace terrace
