#include "readable_file.h"

#include "status.h"

namespace terrace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

std::unique_ptr<OpenFile> OpenFile::open(const std::shared_ptr<Mount>& mount,
                                         const std::string& name, IOStatus* status) {
  TerraceReader* reader = nullptr;
  *status = status_of(terrace_fs_read(mount->fs(), slice_of(name), &reader), name);
  if (reader == nullptr) {
    return nullptr;
  }
  return std::unique_ptr<OpenFile>(new OpenFile(mount, name, reader));
}

OpenFile::~OpenFile() { terrace_reader_close(reader_); }

IOStatus OpenFile::read(uint64_t offset, size_t n, Slice* result, char* scratch) const {
  size_t read = 0;
  const TerraceCode code =
      terrace_reader_read_at(reader_, offset, terrace_buffer(scratch, n), &read);
  *result = Slice(scratch, read);
  return status_of(code, name_);
}

IOStatus SequentialFile::Read(size_t n, const IOOptions&, Slice* result, char* scratch,
                              IODebugContext*) {
  IOStatus status = file_->read(position_, n, result, scratch);
  position_ += result->size();
  return status;
}

IOStatus SequentialFile::Skip(uint64_t n) {
  position_ += n;
  return IOStatus::OK();
}

IOStatus RandomAccessFile::Read(uint64_t offset, size_t n, const IOOptions&, Slice* result,
                                char* scratch, IODebugContext*) const {
  return file_->read(offset, n, result, scratch);
}

}  // namespace terrace
