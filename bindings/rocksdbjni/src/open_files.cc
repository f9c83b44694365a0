#include "open_files.h"

#include <utility>

namespace terrace {

using rocksdb::DataVerificationInfo;
using rocksdb::Env;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

using Guard = std::lock_guard<std::mutex>;

// One of the open files. RocksDB's wrapper does not hand on the I/O priority.
class OpenFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  OpenFile(std::unique_ptr<FSWritableFile> file, std::shared_ptr<OpenFiles> all)
      : rocksdb::FSWritableFileOwnerWrapper(std::move(file)), all_(std::move(all)) {}

  ~OpenFile() override { all_->remove(this); }

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    Guard guard(mutex_);
    return FSWritableFileWrapper::Append(data, options, debug);
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const DataVerificationInfo& verification, IODebugContext* debug) override {
    Guard guard(mutex_);
    return FSWritableFileWrapper::Append(data, options, verification, debug);
  }
  IOStatus Truncate(uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    Guard guard(mutex_);
    return FSWritableFileWrapper::Truncate(size, options, debug);
  }
  IOStatus Flush(const IOOptions& options, IODebugContext* debug) override {
    Guard guard(mutex_);
    return FSWritableFileWrapper::Flush(options, debug);
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    Guard guard(mutex_);
    return FSWritableFileWrapper::Sync(options, debug);
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    Guard guard(mutex_);
    return FSWritableFileWrapper::Fsync(options, debug);
  }
  IOStatus RangeSync(uint64_t offset, uint64_t n, const IOOptions& options,
                     IODebugContext* debug) override {
    Guard guard(mutex_);
    return FSWritableFileWrapper::RangeSync(offset, n, options, debug);
  }
  uint64_t GetFileSize(const IOOptions& options, IODebugContext* debug) override {
    Guard guard(mutex_);
    return FSWritableFileWrapper::GetFileSize(options, debug);
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    all_->remove(this);
    return FSWritableFileWrapper::Close(options, debug);
  }
  void SetIOPriority(Env::IOPriority priority) override { target()->SetIOPriority(priority); }
  Env::IOPriority GetIOPriority() override { return target()->GetIOPriority(); }

 private:
  std::mutex mutex_;
  const std::shared_ptr<OpenFiles> all_;
};

std::unique_ptr<FSWritableFile> OpenFiles::add(std::unique_ptr<FSWritableFile> file) {
  auto opened = std::make_unique<OpenFile>(std::move(file), shared_from_this());
  Guard guard(mutex_);
  files_.insert(opened.get());
  return opened;
}

void OpenFiles::remove(OpenFile* file) {
  Guard guard(mutex_);
  files_.erase(file);
}

void OpenFiles::sync() {
  Guard guard(mutex_);
  for (OpenFile* file : files_) {
    file->Sync(IOOptions(), nullptr);
  }
}

}  // namespace terrace
