// Files that LevelDB reads and writes.

#pragma once

#include <memory>

#include "file_reader.h"
#include "file_writer.h"
#include "leveldb/env.h"

namespace terrace {

class SequentialFile : public leveldb::SequentialFile {
 public:
  explicit SequentialFile(std::unique_ptr<FileReader> file) : file_(std::move(file)) {}

  leveldb::Status Read(size_t n, leveldb::Slice* result, char* scratch) override;
  leveldb::Status Skip(uint64_t n) override;

 private:
  const std::unique_ptr<FileReader> file_;
  uint64_t position_ = 0;
};

class RandomAccessFile : public leveldb::RandomAccessFile {
 public:
  explicit RandomAccessFile(std::unique_ptr<FileReader> file) : file_(std::move(file)) {}

  leveldb::Status Read(uint64_t offset, size_t n, leveldb::Slice* result,
                       char* scratch) const override;

 private:
  const std::unique_ptr<FileReader> file_;
};

// A file that is written. After a failed call, every other one fails with the same status. LevelDB
// goes on writing to a log after a failed append, and part of a record may be in it: later records
// could not be read again.
class WritableFile : public leveldb::WritableFile {
 public:
  explicit WritableFile(std::unique_ptr<FileWriter> file) : file_(std::move(file)) {}

  leveldb::Status Append(const leveldb::Slice& data) override;
  leveldb::Status Flush() override;
  leveldb::Status Sync() override;
  // Finishes the file even if an earlier call has failed.
  leveldb::Status Close() override;

 private:
  // The status of a call; it is kept if the call has failed.
  leveldb::Status kept(const Outcome& outcome);

  const std::unique_ptr<FileWriter> file_;
  leveldb::Status failed_;
};

}  // namespace terrace
