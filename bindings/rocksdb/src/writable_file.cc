#include "writable_file.h"

#include "status.h"

namespace terrace {

using rocksdb::Env;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

namespace {

// The hints of RocksDB, from short to extreme, as lifetimes of Terrace.
uint32_t lifetime_of(Env::WriteLifeTimeHint hint) {
  switch (hint) {
    case Env::WLTH_SHORT:
      return kShortestLifetime;
    case Env::WLTH_MEDIUM:
      return kShortestLifetime + 1;
    case Env::WLTH_LONG:
      return kShortestLifetime + 2;
    case Env::WLTH_EXTREME:
      return kShortestLifetime + 3;
    default:
      return 0;
  }
}

}  // namespace

IOStatus WritableFile::Append(const Slice& data, const IOOptions&, IODebugContext*) {
  return status_of(writer_->append(data.data(), data.size()), writer_->name());
}

IOStatus WritableFile::Flush(const IOOptions&, IODebugContext*) {
  return status_of(writer_->flush(), writer_->name());
}

IOStatus WritableFile::Sync(const IOOptions&, IODebugContext*) {
  return status_of(writer_->sync(), writer_->name());
}

IOStatus WritableFile::Truncate(uint64_t size, const IOOptions&, IODebugContext*) {
  return status_of(writer_->truncate(size), writer_->name());
}

IOStatus WritableFile::RangeSync(uint64_t, uint64_t, const IOOptions&, IODebugContext*) {
  return status_of(strict_bytes_per_sync_ ? writer_->sync() : writer_->write_out(),
                   writer_->name());
}

IOStatus WritableFile::Allocate(uint64_t, uint64_t, const IOOptions&, IODebugContext*) {
  return IOStatus::NotSupported(writer_->name(), "space is not set aside for a file");
}

IOStatus WritableFile::Close(const IOOptions&, IODebugContext*) {
  return status_of(writer_->close(), writer_->name());
}

void WritableFile::SetWriteLifeTimeHint(Env::WriteLifeTimeHint hint) {
  FSWritableFile::SetWriteLifeTimeHint(hint);
  writer_->set_lifetime(lifetime_of(hint));
}

void WritableFile::SetIOPriority(Env::IOPriority priority) {
  FSWritableFile::SetIOPriority(priority);
  if (priority != Env::IO_TOTAL) {
    // The recovery of a database has the priority of a flush.
    writer_->set_use(priority == Env::IO_HIGH ? Use::kFlush : Use::kTable);
  }
}

uint64_t WritableFile::GetFileSize(const IOOptions&, IODebugContext*) { return writer_->size(); }

}  // namespace terrace
