#include "readable_file.h"

#include <algorithm>

#include "status.h"

namespace terrace {

using rocksdb::FSReadRequest;
using rocksdb::IODebugContext;
using rocksdb::IOHandleDeleter;
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
  if (scratch == nullptr && mapped_) {
    const Outcome& outcome = load();
    const size_t begin = std::min<uint64_t>(offset, whole_.size());
    *result = Slice(whole_.data() + begin, std::min(n, whole_.size() - begin));
    return status_of(outcome, file_->name());
  }
  return read_at(*file_, offset, n, result, scratch);
}

const Outcome& RandomAccessFile::load() const {
  std::call_once(once_, [this] {
    whole_.resize(file_->size());
    size_t read = 0;
    loaded_ = file_->read(0, whole_.size(), &whole_[0], &read);
    whole_.resize(loaded_.ok() ? read : 0);
  });
  return loaded_;
}

IOStatus RandomAccessFile::ReadAsync(FSReadRequest& request, const IOOptions&,
                                     ReadCallback callback, void* argument, void** handle,
                                     IOHandleDeleter* destroy, IODebugContext*) {
  std::unique_ptr<PendingRead> read;
  const Outcome outcome = file_->submit(request.offset, request.len, &read);
  if (!outcome.ok()) {
    return status_of(outcome, file_->name());
  }
  *handle = new AsyncRead(std::move(read), file_->name(), request, std::move(callback), argument);
  *destroy = [](void* begun) { delete static_cast<AsyncRead*>(begun); };
  return IOStatus::OK();
}

AsyncRead::AsyncRead(std::unique_ptr<PendingRead> read, std::string name,
                     const FSReadRequest& request, ReadCallback callback, void* argument)
    : read_(std::move(read)), name_(std::move(name)), offset_(request.offset), len_(request.len),
      scratch_(request.scratch), callback_(std::move(callback)), argument_(argument) {}

void AsyncRead::poll() {
  if (read_ == nullptr) {
    return;
  }
  size_t found = 0;
  FSReadRequest done;
  done.offset = offset_;
  done.len = len_;
  done.scratch = scratch_;
  done.status = status_of(read_->wait(len_, scratch_, &found), name_);
  done.result = Slice(scratch_, found);
  read_.reset();
  callback_(done, argument_);
}

}  // namespace terrace
