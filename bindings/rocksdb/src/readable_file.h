// SequentialFile and RandomAccessFile: files that RocksDB reads. Both read through Terrace, which
// may keep blocks that were written in its cache; RocksDB's own block cache comes first.
//
// AsyncRead: a read that RandomAccessFile::ReadAsync has begun. RocksDB polls it, or aborts it, and
// then destroys it. Its callback runs in the poll, and never runs once it is aborted.

#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "file_reader.h"
#include "rocksdb/file_system.h"

namespace terrace {

// The callback of a read, as the version of RocksDB declares it.
template <class Method>
struct CallbackOf;
template <class Callback>
struct CallbackOf<rocksdb::IOStatus (rocksdb::FSRandomAccessFile::*)(
    rocksdb::FSReadRequest&, const rocksdb::IOOptions&, Callback, void*, void**,
    rocksdb::IOHandleDeleter*, rocksdb::IODebugContext*)> {
  using type = Callback;
};
using ReadCallback = CallbackOf<decltype(&rocksdb::FSRandomAccessFile::ReadAsync)>::type;

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
  // `mapped`: RocksDB wants the file as memory, and reads it without its own buffer.
  RandomAccessFile(std::unique_ptr<FileReader> file, bool mapped)
      : file_(std::move(file)), mapped_(mapped) {}

  // Without `scratch`, the result lies in the memory of this object. The first such read loads the
  // whole file.
  rocksdb::IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions&,
                         rocksdb::Slice* result, char* scratch,
                         rocksdb::IODebugContext*) const override;

  rocksdb::IOStatus ReadAsync(rocksdb::FSReadRequest& request, const rocksdb::IOOptions&,
                              ReadCallback callback, void* argument, void** handle,
                              rocksdb::IOHandleDeleter* destroy,
                              rocksdb::IODebugContext*) override;

 private:
  // Loads the file, once, and returns the status.
  const Outcome& load() const;

  const std::unique_ptr<FileReader> file_;
  const bool mapped_;
  mutable std::once_flag once_;
  mutable Outcome loaded_;
  mutable std::string whole_;
};

class AsyncRead {
 public:
  AsyncRead(std::unique_ptr<PendingRead> read, std::string name,
            const rocksdb::FSReadRequest& request, ReadCallback callback, void* argument);

  // Waits for the bytes and calls back; a second call has no effect.
  void poll();

  // Aborts the read.
  void abort() { read_.reset(); }

 private:
  std::unique_ptr<PendingRead> read_;
  const std::string name_;
  const uint64_t offset_;
  const size_t len_;
  char* const scratch_;
  const ReadCallback callback_;
  void* const argument_;
};

}  // namespace terrace
