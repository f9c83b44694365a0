#include "terrace_env.h"

#include "info_logger.h"
#include "names.h"
#include "paths.h"
#include "status.h"
#include "terrace_files.h"

namespace terrace {

using leveldb::Status;

namespace {

// A lock of a name within this process.
class NameLock : public leveldb::FileLock {
 public:
  explicit NameLock(std::string name) : name(std::move(name)) {}
  const std::string name;
};

}  // namespace

Status TerraceEnv::NewSequentialFile(const std::string& path, leveldb::SequentialFile** file) {
  std::unique_ptr<FileReader> reader;
  const Outcome outcome = FileReader::open(mount_, name_of(path), &reader);
  *file = reader ? new SequentialFile(std::move(reader)) : nullptr;
  return status_of(outcome, path);
}

Status TerraceEnv::NewRandomAccessFile(const std::string& path,
                                       leveldb::RandomAccessFile** file) {
  std::unique_ptr<FileReader> reader;
  const Outcome outcome = FileReader::open(mount_, name_of(path), &reader);
  *file = reader ? new RandomAccessFile(std::move(reader)) : nullptr;
  return status_of(outcome, path);
}

Status TerraceEnv::NewWritableFile(const std::string& path, leveldb::WritableFile** file) {
  std::unique_ptr<FileWriter> writer;
  const Outcome outcome = FileWriter::create(mount_, name_of(path), &writer);
  *file = writer ? new WritableFile(std::move(writer)) : nullptr;
  return status_of(outcome, path);
}

Status TerraceEnv::NewAppendableFile(const std::string& path, leveldb::WritableFile** file) {
  std::unique_ptr<FileWriter> writer;
  const Outcome outcome = FileWriter::append_to(mount_, name_of(path), &writer);
  *file = writer ? new WritableFile(std::move(writer)) : nullptr;
  return status_of(outcome, path);
}

bool TerraceEnv::FileExists(const std::string& path) {
  return find_path(mount_->fs(), name_of(path)).ok();
}

Status TerraceEnv::GetChildren(const std::string& path, std::vector<std::string>* children) {
  return status_of(children_of(mount_->fs(), name_of(path), children), path);
}

Status TerraceEnv::RemoveFile(const std::string& path) {
  return status_of(remove_file(mount_->fs(), name_of(path)), path);
}

Status TerraceEnv::CreateDir(const std::string& path) {
  const Outcome found = find_path(mount_->fs(), name_of(path));
  if (found.ok()) {
    return Status::IOError(path, "expected no file and no directory of this name, found one");
  }
  return status_of(found.not_found() ? make_directory(mount_->fs(), name_of(path)) : found, path);
}

Status TerraceEnv::RemoveDir(const std::string& path) {
  return status_of(remove_directory(mount_->fs(), name_of(path)), path);
}

Status TerraceEnv::GetFileSize(const std::string& path, uint64_t* size) {
  TerraceFileInfo info = {};
  const Outcome outcome = stat_file(mount_->fs(), name_of(path), &info);
  *size = info.size;
  return status_of(outcome, path);
}

Status TerraceEnv::RenameFile(const std::string& from, const std::string& to) {
  return status_of(move_path(mount_->fs(), name_of(from), name_of(to)), from);
}

Status TerraceEnv::LockFile(const std::string& path, leveldb::FileLock** lock) {
  const std::string name = name_of(path);
  *lock = mount_->lock(name) ? new NameLock(name) : nullptr;
  return *lock != nullptr ? Status::OK()
                          : Status::IOError(path,
                                            "expected no holder of the lock, found one in this "
                                            "process");
}

Status TerraceEnv::UnlockFile(leveldb::FileLock* lock) {
  const std::unique_ptr<NameLock> held(static_cast<NameLock*>(lock));
  mount_->unlock(held->name);
  return Status::OK();
}

Status TerraceEnv::GetTestDirectory(std::string* path) {
  *path = "/leveldbtest";
  return status_of(make_directory(mount_->fs(), *path), *path);
}

Status TerraceEnv::NewLogger(const std::string& path, leveldb::Logger** logger) {
  if (!info_logs_.empty()) {
    // One file for each database: `/a/db/LOG` becomes `a_db_LOG`.
    std::string name = name_of(path).substr(1);
    for (char& letter : name) {
      letter = letter == '/' ? '_' : letter;
    }
    const std::string ordinary = info_logs_ + "/" + name;
    if (target()->FileExists(ordinary)) {
      target()->RenameFile(ordinary, ordinary + ".old");
    }
    return target()->NewLogger(ordinary, logger);
  }
  std::unique_ptr<FileWriter> writer;
  const Outcome outcome = FileWriter::create(mount_, name_of(path), &writer);
  *logger = writer ? new InfoLogger(std::move(writer)) : nullptr;
  return status_of(outcome, path);
}

}  // namespace terrace
