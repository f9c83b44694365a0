#include "readable_file.h"

#include "status.h"

namespace terrace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

namespace {

IOStatus read_at(const FileReader& file, uint64_t offset, size_t n, Slice* result, char* scratch) {
  size_t read = 0;
  const Outcome outcome = file.read(offset, n, scratch, &read);
  *result = Slice(scratch, read);
  return status_of(outcome, file.name());
}

}  // namespace

IOStatus SequentialFile::Read(size_t n, const IOOptions&, Slice* result, char* scratch,
                              IODebugContext*) {
  IOStatus status = read_at(*file_, position_, n, result, scratch);
  position_ += result->size();
  return status;
}

IOStatus SequentialFile::Skip(uint64_t n) {
  position_ += n;
  return IOStatus::OK();
}

IOStatus RandomAccessFile::Read(uint64_t offset, size_t n, const IOOptions&, Slice* result,
                                char* scratch, IODebugContext*) const {
  return read_at(*file_, offset, n, result, scratch);
}

}  // namespace terrace
