// SequentialFile and RandomAccessFile: files that RocksDB reads. Both read through Terrace, which
// may keep blocks that were written in its cache; RocksDB's own block cache comes first.

#pragma once

#include <memory>
#include <string>

#include "mount.h"
#include "rocksdb/file_system.h"
#include "terrace.h"

namespace terrace {

// A file that is open for reading.
class OpenFile {
 public:
  // Opens a file; null, and the reason in `*status`, if that fails.
  static std::unique_ptr<OpenFile> open(const std::shared_ptr<Mount>& mount,
                                        const std::string& name, rocksdb::IOStatus* status);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // Reads at most `n` bytes into `scratch`, fewer at the end of the file.
  rocksdb::IOStatus read(uint64_t offset, size_t n, rocksdb::Slice* result, char* scratch) const;

 private:
  OpenFile(std::shared_ptr<Mount> mount, std::string name, TerraceReader* reader)
      : mount_(std::move(mount)), name_(std::move(name)), reader_(reader) {}

  const std::shared_ptr<Mount> mount_;
  const std::string name_;
  TerraceReader* const reader_;
};

class SequentialFile : public rocksdb::FSSequentialFile {
 public:
  explicit SequentialFile(std::unique_ptr<OpenFile> file) : file_(std::move(file)) {}

  rocksdb::IOStatus Read(size_t n, const rocksdb::IOOptions&, rocksdb::Slice* result,
                         char* scratch, rocksdb::IODebugContext*) override;
  rocksdb::IOStatus Skip(uint64_t n) override;

 private:
  const std::unique_ptr<OpenFile> file_;
  uint64_t position_ = 0;
};

class RandomAccessFile : public rocksdb::FSRandomAccessFile {
 public:
  explicit RandomAccessFile(std::unique_ptr<OpenFile> file) : file_(std::move(file)) {}

  rocksdb::IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions&,
                         rocksdb::Slice* result, char* scratch,
                         rocksdb::IODebugContext*) const override;

 private:
  const std::unique_ptr<OpenFile> file_;
};

}  // namespace terrace
