// TerraceEnv: LevelDB's Env on a file system of Terrace.
//
// All names of files are names on the drive, and a relative one begins at its root. Creation,
// rename and removal are durable when they return. A name that is made or moved replaces the file
// of that name at once. The device can be opened by one process; the lock of a database is within
// this process. Threads and time are those of the Env below.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "leveldb/env.h"
#include "mount.h"

namespace terrace {

class TerraceEnv : public leveldb::EnvWrapper {
 public:
  // Info logs go to files of Env `below`, in the directory `info_logs`; if that is empty, to the
  // drive, next to the data.
  TerraceEnv(leveldb::Env* below, std::shared_ptr<Mount> mount, std::string info_logs)
      : leveldb::EnvWrapper(below), mount_(std::move(mount)), info_logs_(std::move(info_logs)) {}

  leveldb::Status NewSequentialFile(const std::string& path,
                                    leveldb::SequentialFile** file) override;
  leveldb::Status NewRandomAccessFile(const std::string& path,
                                      leveldb::RandomAccessFile** file) override;
  leveldb::Status NewWritableFile(const std::string& path, leveldb::WritableFile** file) override;
  leveldb::Status NewAppendableFile(const std::string& path,
                                    leveldb::WritableFile** file) override;

  bool FileExists(const std::string& path) override;
  leveldb::Status GetChildren(const std::string& path,
                              std::vector<std::string>* children) override;
  leveldb::Status RemoveFile(const std::string& path) override;
  leveldb::Status CreateDir(const std::string& path) override;
  leveldb::Status RemoveDir(const std::string& path) override;
  leveldb::Status GetFileSize(const std::string& path, uint64_t* size) override;
  leveldb::Status RenameFile(const std::string& from, const std::string& to) override;

  leveldb::Status LockFile(const std::string& path, leveldb::FileLock** lock) override;
  leveldb::Status UnlockFile(leveldb::FileLock* lock) override;
  leveldb::Status GetTestDirectory(std::string* path) override;
  leveldb::Status NewLogger(const std::string& path, leveldb::Logger** logger) override;

 private:
  const std::shared_ptr<Mount> mount_;
  const std::string info_logs_;
};

}  // namespace terrace
