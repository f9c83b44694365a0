// WritableFile: a file that RocksDB writes. RocksDB sets a table's lifetime and its I/O priority
// after the file is made and before its first byte.
//
// Only the I/O priority distinguishes a flush from a compaction. While writes are stalled, both
// have the same one; then a flush without a log may take the kept space.

#pragma once

#include <memory>

#include "file_writer.h"
#include "rocksdb/file_system.h"

namespace terrace {

class WritableFile : public rocksdb::FSWritableFile {
 public:
  WritableFile(std::unique_ptr<FileWriter> writer, const rocksdb::FileOptions& options)
      : rocksdb::FSWritableFile(options), writer_(std::move(writer)) {
    // Neither of a flush nor of a compaction, until RocksDB says so: a copy, or an ingest. A log
    // also is a copy until RocksDB sets its lifetime.
    writer_->set_use(Use::kOther);
    writer_->set_lifetime(0);
  }

  using rocksdb::FSWritableFile::Append;
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions&,
                           rocksdb::IODebugContext*) override;
  rocksdb::IOStatus Flush(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override;
  rocksdb::IOStatus Sync(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override;
  // Called for a file that was reopened, to delete it piece by piece. It cannot be made longer.
  rocksdb::IOStatus Truncate(uint64_t size, const rocksdb::IOOptions&,
                             rocksdb::IODebugContext*) override;
  // Writes out the bytes of a log to the drive; those of other files go there as they come.
  rocksdb::IOStatus RangeSync(uint64_t offset, uint64_t n, const rocksdb::IOOptions&,
                              rocksdb::IODebugContext*) override;
  // Not supported: it has no meaning on a zone.
  rocksdb::IOStatus Allocate(uint64_t offset, uint64_t n, const rocksdb::IOOptions&,
                             rocksdb::IODebugContext*) override;
  rocksdb::IOStatus Close(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override;
  void SetWriteLifeTimeHint(rocksdb::Env::WriteLifeTimeHint hint) override;
  void SetIOPriority(rocksdb::Env::IOPriority priority) override;
  uint64_t GetFileSize(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override;

 private:
  const std::unique_ptr<FileWriter> writer_;
};

}  // namespace terrace
