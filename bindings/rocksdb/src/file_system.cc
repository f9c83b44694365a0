#include "file_system.h"

#include <ctime>

#include "names.h"
#include "readable_file.h"
#include "status.h"
#include "writable_file.h"

namespace terrace {

using rocksdb::FileLock;
using rocksdb::FileOptions;
using rocksdb::FSDirectory;
using rocksdb::FSRandomAccessFile;
using rocksdb::FSSequentialFile;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

namespace {

// A lock of a name within this process.
class NameLock : public FileLock {
 public:
  explicit NameLock(std::string name) : name(std::move(name)) {}
  const std::string name;
};

// A directory that is open. Names are durable as soon as they are made.
class Directory : public FSDirectory {
 public:
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Close(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
};

// A list that frees itself.
class Listing {
 public:
  Listing(const TerraceFs* fs, const std::string& prefix, IOStatus* status) {
    *status = status_of(terrace_fs_list(fs, slice_of(prefix), &listing_), prefix);
  }
  ~Listing() { terrace_listing_free(listing_); }
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;

  size_t size() const { return terrace_listing_len(listing_); }
  std::string name(size_t index) const {
    const TerraceSlice name = terrace_listing_at(listing_, index, nullptr);
    return std::string(reinterpret_cast<const char*>(name.data), name.len);
  }

 private:
  TerraceListing* listing_ = nullptr;
};

}  // namespace

bool TerraceFileSystem::IsInstanceOf(const std::string& name) const {
  return name == "terrace" || rocksdb::FileSystem::IsInstanceOf(name);
}

IOStatus TerraceFileSystem::NewSequentialFile(const std::string& path, const FileOptions&,
                                              std::unique_ptr<FSSequentialFile>* file,
                                              IODebugContext*) {
  IOStatus status;
  auto open = OpenFile::open(mount_, name_of(path), &status);
  file->reset(open ? new SequentialFile(std::move(open)) : nullptr);
  return status;
}

IOStatus TerraceFileSystem::NewRandomAccessFile(const std::string& path, const FileOptions&,
                                                std::unique_ptr<FSRandomAccessFile>* file,
                                                IODebugContext*) {
  IOStatus status;
  auto open = OpenFile::open(mount_, name_of(path), &status);
  file->reset(open ? new RandomAccessFile(std::move(open)) : nullptr);
  return status;
}

IOStatus TerraceFileSystem::NewWritableFile(const std::string& path, const FileOptions& options,
                                            std::unique_ptr<FSWritableFile>* file,
                                            IODebugContext*) {
  return WritableFile::create(mount_, name_of(path), options, file);
}

IOStatus TerraceFileSystem::ReopenWritableFile(const std::string& path,
                                               const FileOptions& options,
                                               std::unique_ptr<FSWritableFile>* file,
                                               IODebugContext*) {
  return WritableFile::reopen(mount_, name_of(path), options, file);
}

IOStatus TerraceFileSystem::ReuseWritableFile(const std::string& path,
                                              const std::string& old_path,
                                              const FileOptions& options,
                                              std::unique_ptr<FSWritableFile>* file,
                                              IODebugContext* debug) {
  // Zones are not written twice, so nothing is gained by the old bytes.
  IOStatus status = DeleteFile(old_path, IOOptions(), debug);
  return status.ok() ? NewWritableFile(path, options, file, debug) : status;
}

IOStatus TerraceFileSystem::NewDirectory(const std::string& path, const IOOptions& options,
                                         std::unique_ptr<FSDirectory>* directory,
                                         IODebugContext* debug) {
  directory->reset();
  bool is = false;
  IOStatus status = IsDirectory(path, options, &is, debug);
  if (status.ok() && !is) {
    status = IOStatus::PathNotFound(path, "expected a directory, found none");
  }
  if (status.ok()) {
    directory->reset(new Directory);
  }
  return status;
}

IOStatus TerraceFileSystem::stat(const std::string& name, TerraceFileInfo* info) const {
  return status_of(terrace_fs_stat(mount_->fs(), slice_of(name), info), name);
}

IOStatus TerraceFileSystem::count(const std::string& name, bool* exists, size_t* names) const {
  IOStatus status;
  const Listing listing(mount_->fs(), prefix_of(name), &status);
  *names = listing.size();
  *exists = name == "/" || *names > 0;
  return status;
}

IOStatus TerraceFileSystem::FileExists(const std::string& path, const IOOptions& options,
                                       IODebugContext* debug) {
  TerraceFileInfo info;
  IOStatus status = stat(name_of(path), &info);
  if (!status.IsPathNotFound()) {
    return status;
  }
  bool is = false;
  status = IsDirectory(path, options, &is, debug);
  return status.ok() && !is ? IOStatus::NotFound(path) : status;
}

IOStatus TerraceFileSystem::GetChildren(const std::string& path, const IOOptions&,
                                        std::vector<std::string>* children, IODebugContext*) {
  children->clear();
  const std::string prefix = prefix_of(name_of(path));
  IOStatus status;
  const Listing listing(mount_->fs(), prefix, &status);
  if (!status.ok()) {
    return status;
  }
  if (listing.size() == 0 && prefix != "/") {
    return IOStatus::NotFound(path, "expected a directory, found none");
  }
  for (size_t index = 0; index < listing.size(); index++) {
    const std::string rest = listing.name(index).substr(prefix.size());
    const std::string child = rest.substr(0, rest.find('/'));
    // The names are in order, but `a-b` lies between `a` and `a/c`.
    if (!child.empty() && (children->empty() || children->back() != child)) {
      children->push_back(child);
    }
  }
  return IOStatus::OK();
}

IOStatus TerraceFileSystem::CreateDir(const std::string& path, const IOOptions& options,
                                      IODebugContext* debug) {
  IOStatus status = FileExists(path, options, debug);
  if (!status.IsNotFound()) {
    return status.ok() ? IOStatus::IOError(path, "expected no such directory, found one") : status;
  }
  return CreateDirIfMissing(path, options, debug);
}

IOStatus TerraceFileSystem::CreateDirIfMissing(const std::string& path, const IOOptions&,
                                               IODebugContext*) {
  const std::string marker = prefix_of(name_of(path));
  TerraceFileInfo info;
  if (marker == "/" || stat(marker, &info).ok()) {
    return IOStatus::OK();
  }
  TerraceFileOptions options = {};
  options.modified = static_cast<uint64_t>(std::time(nullptr));
  TerraceWriter* writer = nullptr;
  const TerraceCode code = terrace_fs_create(mount_->fs(), slice_of(marker), &options, &writer);
  if (code != TERRACE_CODE_OK) {
    return status_of(code, marker);
  }
  return status_of(terrace_writer_finish(writer, options.modified), marker);
}

IOStatus TerraceFileSystem::DeleteDir(const std::string& path, const IOOptions&,
                                      IODebugContext*) {
  const std::string name = name_of(path), marker = prefix_of(name);
  bool exists = false;
  size_t names = 0;
  IOStatus status = count(name, &exists, &names);
  if (!status.ok()) {
    return status;
  }
  if (!exists) {
    return IOStatus::PathNotFound(path, "expected a directory, found none");
  }
  TerraceFileInfo info;
  const bool marked = stat(marker, &info).ok();
  if (names > (marked ? 1 : 0)) {
    return IOStatus::IOError(path, "expected an empty directory, found files in it");
  }
  return marked ? status_of(terrace_fs_remove(mount_->fs(), slice_of(marker)), marker)
                : IOStatus::OK();
}

IOStatus TerraceFileSystem::IsDirectory(const std::string& path, const IOOptions&, bool* is,
                                        IODebugContext*) {
  size_t names = 0;
  return count(name_of(path), is, &names);
}

IOStatus TerraceFileSystem::DeleteFile(const std::string& path, const IOOptions&,
                                       IODebugContext*) {
  const std::string name = name_of(path);
  return status_of(terrace_fs_remove(mount_->fs(), slice_of(name)), name);
}

IOStatus TerraceFileSystem::Truncate(const std::string& path, size_t size, const IOOptions&,
                                     IODebugContext*) {
  const std::string name = name_of(path);
  return status_of(terrace_fs_truncate(mount_->fs(), slice_of(name), size), name);
}

IOStatus TerraceFileSystem::GetFileSize(const std::string& path, const IOOptions&,
                                        uint64_t* size, IODebugContext*) {
  TerraceFileInfo info = {};
  IOStatus status = stat(name_of(path), &info);
  *size = info.size;
  return status;
}

IOStatus TerraceFileSystem::GetFileModificationTime(const std::string& path, const IOOptions&,
                                                    uint64_t* time, IODebugContext*) {
  TerraceFileInfo info = {};
  IOStatus status = stat(name_of(path), &info);
  *time = info.modified;
  return status;
}

IOStatus TerraceFileSystem::RenameFile(const std::string& from, const std::string& to,
                                       const IOOptions&, IODebugContext*) {
  const std::string old_name = name_of(from), new_name = name_of(to);
  TerraceFileInfo info;
  IOStatus status = stat(old_name, &info);
  if (!status.IsPathNotFound()) {
    return status.ok() ? status_of(terrace_fs_rename(mount_->fs(), slice_of(old_name),
                                                     slice_of(new_name)),
                                   old_name)
                       : status;
  }
  // Perhaps it is a directory. One that is in the way must be empty.
  bool exists = false, in_the_way = false;
  size_t names = 0, others = 0;
  IOStatus counted = count(old_name, &exists, &names);
  if (!counted.ok() || !exists) {
    return counted.ok() ? status : counted;
  }
  counted = count(new_name, &in_the_way, &others);
  if (!counted.ok() || others > 1) {
    return counted.ok() ? IOStatus::IOError(to, "expected no files there, found some") : counted;
  }
  const std::string old_prefix = prefix_of(old_name), new_prefix = prefix_of(new_name);
  return status_of(
      terrace_fs_rename_all(mount_->fs(), slice_of(old_prefix), slice_of(new_prefix)), old_name);
}

IOStatus TerraceFileSystem::LinkFile(const std::string& from, const std::string& to,
                                     const IOOptions&, IODebugContext*) {
  const std::string name = name_of(from), further = name_of(to);
  return status_of(terrace_fs_link(mount_->fs(), slice_of(name), slice_of(further)), name);
}

IOStatus TerraceFileSystem::NumFileLinks(const std::string& path, const IOOptions&,
                                         uint64_t* count, IODebugContext*) {
  TerraceFileInfo info = {};
  IOStatus status = stat(name_of(path), &info);
  *count = info.links;
  return status;
}

IOStatus TerraceFileSystem::AreFilesSame(const std::string& one, const std::string& other,
                                         const IOOptions&, bool* same, IODebugContext*) {
  TerraceFileInfo first = {}, second = {};
  IOStatus status = stat(name_of(one), &first);
  if (status.ok()) {
    status = stat(name_of(other), &second);
  }
  *same = status.ok() && first.id == second.id;
  return status;
}

IOStatus TerraceFileSystem::LockFile(const std::string& path, const IOOptions&, FileLock** lock,
                                     IODebugContext*) {
  *lock = nullptr;
  const std::string name = name_of(path);
  if (!mount_->lock(name)) {
    return IOStatus::IOError(path, "expected no holder of the lock, found one in this process");
  }
  *lock = new NameLock(name);
  return IOStatus::OK();
}

IOStatus TerraceFileSystem::UnlockFile(FileLock* lock, const IOOptions&, IODebugContext*) {
  auto* held = static_cast<NameLock*>(lock);
  mount_->unlock(held->name);
  delete held;
  return IOStatus::OK();
}

IOStatus TerraceFileSystem::GetTestDirectory(const IOOptions& options, std::string* path,
                                             IODebugContext* debug) {
  *path = "/rocksdbtest";
  return CreateDirIfMissing(*path, options, debug);
}

IOStatus TerraceFileSystem::GetAbsolutePath(const std::string& path, const IOOptions&,
                                            std::string* absolute, IODebugContext*) {
  *absolute = name_of(path);
  return IOStatus::OK();
}

IOStatus TerraceFileSystem::GetFreeSpace(const std::string& path, const IOOptions&,
                                         uint64_t* free, IODebugContext*) {
  TerraceSpace space = {};
  IOStatus status = status_of(terrace_fs_space(mount_->fs(), &space), path);
  *free = space.available;
  return status;
}

}  // namespace terrace
