// WritableFile: a file that RocksDB writes.
//
// The name decides how it is written. Write-ahead logs and manifests, which are synced often, are
// logs of Terrace: a sync is one write to the end of a zone. Tables and blobs are written once.
// Everything else is an ordinary file. RocksDB's lifetime hint comes after the file is made and
// before its first byte; the empty file is then made anew with the hint.

#pragma once

#include <memory>
#include <string>

#include "mount.h"
#include "rocksdb/file_system.h"
#include "terrace.h"

namespace terrace {

class WritableFile : public rocksdb::FSWritableFile {
 public:
  // Makes an empty file in the place of another one of the name.
  static rocksdb::IOStatus create(const std::shared_ptr<Mount>& mount, const std::string& name,
                                  const rocksdb::FileOptions& options,
                                  std::unique_ptr<rocksdb::FSWritableFile>* file);

  // Opens a file for further appends, and makes it if there is none.
  static rocksdb::IOStatus reopen(const std::shared_ptr<Mount>& mount, const std::string& name,
                                  const rocksdb::FileOptions& options,
                                  std::unique_ptr<rocksdb::FSWritableFile>* file);

  ~WritableFile() override;

  using rocksdb::FSWritableFile::Append;
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions&,
                           rocksdb::IODebugContext*) override;
  rocksdb::IOStatus Flush(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override;
  rocksdb::IOStatus Sync(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override;
  rocksdb::IOStatus Close(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override;
  void SetWriteLifeTimeHint(rocksdb::Env::WriteLifeTimeHint hint) override;
  uint64_t GetFileSize(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override;

 private:
  WritableFile(std::shared_ptr<Mount> mount, std::string name, TerraceWriter* writer,
               TerraceFileOptions options, const rocksdb::FileOptions& of_rocksdb)
      : rocksdb::FSWritableFile(of_rocksdb),
        mount_(std::move(mount)),
        name_(std::move(name)),
        writer_(writer),
        options_(options) {}

  rocksdb::IOStatus close();

  const std::shared_ptr<Mount> mount_;
  const std::string name_;
  // Null once the file is closed.
  TerraceWriter* writer_;
  TerraceFileOptions options_;
};

}  // namespace terrace
