#include "terrace_files.h"

#include "status.h"

namespace terrace {

using leveldb::Slice;
using leveldb::Status;

namespace {

Status read_at(const FileReader& file, uint64_t offset, size_t n, Slice* result, char* scratch) {
  size_t read = 0;
  const Outcome outcome = file.read(offset, n, scratch, &read);
  *result = Slice(scratch, read);
  return status_of(outcome, file.name());
}

}  // namespace

Status SequentialFile::Read(size_t n, Slice* result, char* scratch) {
  Status status = read_at(*file_, position_, n, result, scratch);
  position_ += result->size();
  return status;
}

Status SequentialFile::Skip(uint64_t n) {
  // A read beyond the end of the file finds nothing.
  position_ += n;
  return Status::OK();
}

Status RandomAccessFile::Read(uint64_t offset, size_t n, Slice* result, char* scratch) const {
  return read_at(*file_, offset, n, result, scratch);
}

Status WritableFile::kept(const Outcome& outcome) {
  if (!outcome.ok()) {
    failed_ = status_of(outcome, file_->name());
  }
  return failed_;
}

Status WritableFile::Append(const Slice& data) {
  return failed_.ok() ? kept(file_->append(data.data(), data.size())) : failed_;
}

Status WritableFile::Flush() { return failed_.ok() ? kept(file_->flush()) : failed_; }

Status WritableFile::Sync() { return failed_.ok() ? kept(file_->sync()) : failed_; }

Status WritableFile::Close() {
  const Outcome outcome = file_->close();
  return failed_.ok() ? kept(outcome) : failed_;
}

}  // namespace terrace
