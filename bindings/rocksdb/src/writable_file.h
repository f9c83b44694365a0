// WritableFile: a file that RocksDB writes. Its lifetime hint comes after the file is made and
// before its first byte; the empty file is then made anew with the hint.

#pragma once

#include <memory>

#include "file_writer.h"
#include "rocksdb/file_system.h"

namespace terrace {

class WritableFile : public rocksdb::FSWritableFile {
 public:
  WritableFile(std::unique_ptr<FileWriter> writer, const rocksdb::FileOptions& options)
      : rocksdb::FSWritableFile(options), writer_(std::move(writer)) {}

  using rocksdb::FSWritableFile::Append;
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions&,
                           rocksdb::IODebugContext*) override;
  rocksdb::IOStatus Flush(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override;
  rocksdb::IOStatus Sync(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override;
  rocksdb::IOStatus Close(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override;
  void SetWriteLifeTimeHint(rocksdb::Env::WriteLifeTimeHint hint) override;
  uint64_t GetFileSize(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override;

 private:
  const std::unique_ptr<FileWriter> writer_;
};

}  // namespace terrace
