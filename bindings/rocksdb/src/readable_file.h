// SequentialFile and RandomAccessFile: files that RocksDB reads. Both read through Terrace, which
// may keep blocks that were written in its cache; RocksDB's own block cache comes first.

#pragma once

#include <memory>

#include "file_reader.h"
#include "rocksdb/file_system.h"

namespace terrace {

class SequentialFile : public rocksdb::FSSequentialFile {
 public:
  explicit SequentialFile(std::unique_ptr<FileReader> file) : file_(std::move(file)) {}

  rocksdb::IOStatus Read(size_t n, const rocksdb::IOOptions&, rocksdb::Slice* result,
                         char* scratch, rocksdb::IODebugContext*) override;
  rocksdb::IOStatus Skip(uint64_t n) override;

 private:
  const std::unique_ptr<FileReader> file_;
  uint64_t position_ = 0;
};

class RandomAccessFile : public rocksdb::FSRandomAccessFile {
 public:
  explicit RandomAccessFile(std::unique_ptr<FileReader> file) : file_(std::move(file)) {}

  rocksdb::IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions&,
                         rocksdb::Slice* result, char* scratch,
                         rocksdb::IODebugContext*) const override;

 private:
  const std::unique_ptr<FileReader> file_;
};

}  // namespace terrace
