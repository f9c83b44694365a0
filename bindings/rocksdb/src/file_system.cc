#include "file_system.h"

#include <utility>

#include "logs.h"
#include "names.h"
#include "paths.h"
#include "readable_file.h"
#include "status.h"
#include "writable_file.h"

namespace terrace {

using rocksdb::ConfigOptions;
using rocksdb::FileLock;
using rocksdb::FileOptions;
using rocksdb::FSDirectory;
using rocksdb::FSRandomAccessFile;
using rocksdb::FSSequentialFile;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Status;

namespace {

// A lock of a name within this process.
class NameLock : public FileLock {
 public:
  explicit NameLock(std::string name) : name(std::move(name)) {}
  const std::string name;
};

// An open directory. Names are durable as soon as they are made.
class Directory : public FSDirectory {
 public:
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Close(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
};

// The status of a file that is opened for writing, and the file.
IOStatus writable(Outcome outcome, std::unique_ptr<FileWriter> writer, const std::string& name,
                  const FileOptions& options, std::unique_ptr<FSWritableFile>* file) {
  file->reset(writer ? new WritableFile(std::move(writer), options) : nullptr);
  return status_of(outcome, name);
}

}  // namespace

bool TerraceFileSystem::IsInstanceOf(const std::string& name) const {
  return name == "terrace" || rocksdb::FileSystem::IsInstanceOf(name);
}

Status TerraceFileSystem::GetOption(const ConfigOptions& config, const std::string& name,
                                    std::string* value) const {
  TerraceTraffic traffic = {};
  TerraceSpace space = {};
  Outcome outcome = Outcome::of(terrace_fs_traffic(mount_->fs(), &traffic));
  if (outcome.ok()) {
    outcome = Outcome::of(terrace_fs_space(mount_->fs(), &space));
  }
  if (!outcome.ok()) {
    return status_of(outcome, name);
  }
  const std::pair<const char*, uint64_t> counts[] = {
      {"reads", traffic.reads},
      {"read_bytes", traffic.read_bytes},
      {"writes", traffic.writes},
      {"written_bytes", traffic.written_bytes},
      {"flushes", traffic.flushes},
      {"zones_reset", traffic.zones_reset},
      {"zones_finished", traffic.zones_finished},
      {"journal_rolls", traffic.journal_rolls},
      {"reclaim_bytes", traffic.reclaim_bytes},
      {"reclaim_vain_bytes", traffic.reclaim_vain_bytes},
      {"capacity", space.capacity},
      {"free", space.free},
      {"live", space.live},
      {"dead", space.dead},
      {"available", space.available},
      {"in_logs", name == "in_logs" ? bytes_in_logs(mount_->fs()) : 0},
  };
  for (const auto& [known, count] : counts) {
    if (name == known) {
      *value = std::to_string(count);
      return Status::OK();
    }
  }
  TerraceParts parts = {};
  if (terrace_fs_parts(mount_->fs(), &parts) == TERRACE_CODE_OK) {
    const std::pair<const char*, const TerracePart*> all[] = {{"full", &parts.full},
                                                              {"writing", &parts.writing},
                                                              {"resting", &parts.resting},
                                                              {"emptying", &parts.emptying},
                                                              {"free", &parts.free}};
    for (const auto& [known, part] : all) {
      const std::pair<const char*, uint64_t> of_part[] = {{"_zones", part->zones},
                                                          {"_live", part->live},
                                                          {"_dead", part->dead},
                                                          {"_room", part->room}};
      for (const auto& [kind, count] : of_part) {
        if (name == std::string(known) + kind) {
          *value = std::to_string(count);
          return Status::OK();
        }
      }
    }
  }
  return rocksdb::FileSystem::GetOption(config, name, value);
}

IOStatus TerraceFileSystem::NewSequentialFile(const std::string& path, const FileOptions&,
                                              std::unique_ptr<FSSequentialFile>* file,
                                              IODebugContext*) {
  std::unique_ptr<FileReader> reader;
  const Outcome outcome = FileReader::open(mount_, name_of(path), &reader);
  file->reset(reader ? new SequentialFile(std::move(reader)) : nullptr);
  return status_of(outcome, path);
}

IOStatus TerraceFileSystem::NewRandomAccessFile(const std::string& path,
                                                const FileOptions& options,
                                                std::unique_ptr<FSRandomAccessFile>* file,
                                                IODebugContext*) {
  std::unique_ptr<FileReader> reader;
  const Outcome outcome = FileReader::open(mount_, name_of(path), &reader);
  file->reset(reader ? new RandomAccessFile(std::move(reader), options.use_mmap_reads) : nullptr);
  return status_of(outcome, path);
}

IOStatus TerraceFileSystem::NewWritableFile(const std::string& path, const FileOptions& options,
                                            std::unique_ptr<FSWritableFile>* file,
                                            IODebugContext*) {
  std::unique_ptr<FileWriter> writer;
  Outcome outcome = FileWriter::create(mount_, name_of(path), &writer);
  return writable(std::move(outcome), std::move(writer), path, options, file);
}

IOStatus TerraceFileSystem::ReopenWritableFile(const std::string& path,
                                               const FileOptions& options,
                                               std::unique_ptr<FSWritableFile>* file,
                                               IODebugContext*) {
  std::unique_ptr<FileWriter> writer;
  Outcome outcome = FileWriter::append_to(mount_, name_of(path), &writer);
  return writable(std::move(outcome), std::move(writer), path, options, file);
}

IOStatus TerraceFileSystem::ReuseWritableFile(const std::string& path,
                                              const std::string& old_path,
                                              const FileOptions& options,
                                              std::unique_ptr<FSWritableFile>* file,
                                              IODebugContext* debug) {
  // Zones are not written twice, so the old bytes are of no use.
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

IOStatus TerraceFileSystem::FileExists(const std::string& path, const IOOptions&,
                                       IODebugContext*) {
  const Outcome outcome = find_path(mount_->fs(), name_of(path));
  return outcome.not_found() ? IOStatus::NotFound(path) : status_of(outcome, path);
}

IOStatus TerraceFileSystem::GetChildren(const std::string& path, const IOOptions&,
                                        std::vector<std::string>* children, IODebugContext*) {
  const Outcome outcome = children_of(mount_->fs(), name_of(path), children);
  return outcome.not_found() ? IOStatus::NotFound(path, outcome.message)
                             : status_of(outcome, path);
}

IOStatus TerraceFileSystem::GetChildrenFileAttributes(
    const std::string& path, const IOOptions&, std::vector<rocksdb::FileAttributes>* children,
    IODebugContext*) {
  std::vector<Child> found;
  const Outcome outcome = children_of(mount_->fs(), name_of(path), &found);
  children->clear();
  for (Child& child : found) {
    children->push_back({std::move(child.name), child.size});
  }
  return outcome.not_found() ? IOStatus::NotFound(path, outcome.message)
                             : status_of(outcome, path);
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
  return status_of(make_directory(mount_->fs(), name_of(path)), path);
}

IOStatus TerraceFileSystem::DeleteDir(const std::string& path, const IOOptions&,
                                      IODebugContext*) {
  return status_of(remove_directory(mount_->fs(), name_of(path)), path);
}

IOStatus TerraceFileSystem::IsDirectory(const std::string& path, const IOOptions&, bool* is,
                                        IODebugContext*) {
  const std::string name = name_of(path);
  Outcome outcome = find_directory(mount_->fs(), name, is);
  if (outcome.ok() && !*is) {
    outcome = stat_file(mount_->fs(), name, nullptr);
  }
  return status_of(outcome, path);
}

IOStatus TerraceFileSystem::DeleteFile(const std::string& path, const IOOptions&,
                                       IODebugContext*) {
  return status_of(remove_file(mount_->fs(), name_of(path)), path);
}

IOStatus TerraceFileSystem::Truncate(const std::string& path, size_t size, const IOOptions&,
                                     IODebugContext*) {
  const std::string name = name_of(path);
  return status_of(Outcome::of(terrace_fs_truncate(mount_->fs(), slice_of(name), size)), path);
}

IOStatus TerraceFileSystem::GetFileSize(const std::string& path, const IOOptions&,
                                        uint64_t* size, IODebugContext*) {
  TerraceFileInfo info = {};
  const Outcome outcome = stat_file(mount_->fs(), name_of(path), &info);
  *size = info.size;
  return status_of(outcome, path);
}

IOStatus TerraceFileSystem::GetFileModificationTime(const std::string& path, const IOOptions&,
                                                    uint64_t* time, IODebugContext*) {
  TerraceFileInfo info = {};
  const Outcome outcome = stat_file(mount_->fs(), name_of(path), &info);
  *time = info.modified;
  return status_of(outcome, path);
}

IOStatus TerraceFileSystem::RenameFile(const std::string& from, const std::string& to,
                                       const IOOptions&, IODebugContext*) {
  return status_of(move_path(mount_->fs(), name_of(from), name_of(to)), from);
}

IOStatus TerraceFileSystem::LinkFile(const std::string& from, const std::string& to,
                                     const IOOptions&, IODebugContext*) {
  return status_of(link_file(mount_->fs(), name_of(from), name_of(to)), from);
}

IOStatus TerraceFileSystem::NumFileLinks(const std::string& path, const IOOptions&,
                                         uint64_t* count, IODebugContext*) {
  TerraceFileInfo info = {};
  const Outcome outcome = stat_file(mount_->fs(), name_of(path), &info);
  *count = info.links;
  return status_of(outcome, path);
}

IOStatus TerraceFileSystem::AreFilesSame(const std::string& one, const std::string& other,
                                         const IOOptions&, bool* same, IODebugContext*) {
  TerraceFileInfo first = {}, second = {};
  Outcome outcome = stat_file(mount_->fs(), name_of(one), &first);
  if (outcome.ok()) {
    outcome = stat_file(mount_->fs(), name_of(other), &second);
  }
  *same = outcome.ok() && first.id == second.id;
  return status_of(outcome, one);
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
  const Outcome outcome = Outcome::of(terrace_fs_space(mount_->fs(), &space));
  *free = outcome.ok() ? mount_->reserve().free() : 0;
  return status_of(outcome, path);
}

IOStatus TerraceFileSystem::Poll(std::vector<void*>& handles, size_t) {
  for (void* handle : handles) {
    static_cast<AsyncRead*>(handle)->poll();
  }
  return IOStatus::OK();
}

IOStatus TerraceFileSystem::AbortIO(std::vector<void*>& handles) {
  for (void* handle : handles) {
    static_cast<AsyncRead*>(handle)->abort();
  }
  return IOStatus::OK();
}

}  // namespace terrace
