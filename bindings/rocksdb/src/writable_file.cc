#include "writable_file.h"

#include <ctime>

#include "names.h"
#include "status.h"

namespace terrace {

using rocksdb::Env;
using rocksdb::FileOptions;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

namespace {

uint64_t now() { return static_cast<uint64_t>(std::time(nullptr)); }

// The lifetimes of Terrace begin with 1 for the shortest; 0 is unknown.
uint32_t lifetime_of(Env::WriteLifeTimeHint hint) {
  switch (hint) {
    case Env::WLTH_SHORT:
      return 1;
    case Env::WLTH_MEDIUM:
      return 2;
    case Env::WLTH_LONG:
      return 3;
    case Env::WLTH_EXTREME:
      return 4;
    default:
      return 0;
  }
}

TerraceFileOptions options_of(const std::string& name) {
  TerraceFileOptions options = {};
  options.modified = now();
  if (ends_with(name, ".log")) {
    options.kind = TERRACE_FILE_KIND_LOG;
    // That RocksDB calls write-ahead logs short-lived is known before it says so.
    options.lifetime = lifetime_of(Env::WLTH_SHORT);
  } else if (last_part(name).rfind("MANIFEST-", 0) == 0) {
    options.kind = TERRACE_FILE_KIND_LOG;
  } else if (ends_with(name, ".sst") || ends_with(name, ".blob")) {
    options.kind = TERRACE_FILE_KIND_TABLE;
  }
  return options;
}

}  // namespace

IOStatus WritableFile::create(const std::shared_ptr<Mount>& mount, const std::string& name,
                              const FileOptions& of_rocksdb,
                              std::unique_ptr<FSWritableFile>* file) {
  file->reset();
  const TerraceFileOptions options = options_of(name);
  TerraceWriter* writer = nullptr;
  const TerraceCode code = terrace_fs_create(mount->fs(), slice_of(name), &options, &writer);
  if (code == TERRACE_CODE_OK) {
    file->reset(new WritableFile(mount, name, writer, options, of_rocksdb));
  }
  return status_of(code, name);
}

IOStatus WritableFile::reopen(const std::shared_ptr<Mount>& mount, const std::string& name,
                              const FileOptions& of_rocksdb,
                              std::unique_ptr<FSWritableFile>* file) {
  file->reset();
  TerraceWriter* writer = nullptr;
  const TerraceCode code = terrace_fs_append_to(mount->fs(), slice_of(name), &writer);
  if (code == TERRACE_CODE_NOT_FOUND) {
    return create(mount, name, of_rocksdb, file);
  }
  if (code == TERRACE_CODE_OK) {
    file->reset(new WritableFile(mount, name, writer, options_of(name), of_rocksdb));
  }
  return status_of(code, name);
}

WritableFile::~WritableFile() { close().PermitUncheckedError(); }

IOStatus WritableFile::Append(const Slice& data, const IOOptions&, IODebugContext*) {
  return status_of(terrace_writer_append(writer_, terrace_bytes(data.data(), data.size())), name_);
}

IOStatus WritableFile::Flush(const IOOptions&, IODebugContext*) {
  // Readers see what was appended without it. What a sync has not covered may be lost with the
  // process, unless the mount says otherwise: each call would cost a block of the drive.
  if (mount_->writes_logs_out()) {
    return status_of(terrace_writer_write_out(writer_), name_);
  }
  return IOStatus::OK();
}

IOStatus WritableFile::Sync(const IOOptions&, IODebugContext*) {
  return status_of(terrace_writer_sync(writer_), name_);
}

IOStatus WritableFile::Close(const IOOptions&, IODebugContext*) { return close(); }

IOStatus WritableFile::close() {
  if (writer_ == nullptr) {
    return IOStatus::OK();
  }
  const TerraceCode code = terrace_writer_finish(writer_, now());
  writer_ = nullptr;
  // A file that was removed while it was written needs no end.
  return code == TERRACE_CODE_NOT_FOUND ? IOStatus::OK() : status_of(code, name_);
}

void WritableFile::SetWriteLifeTimeHint(Env::WriteLifeTimeHint hint) {
  FSWritableFile::SetWriteLifeTimeHint(hint);
  const uint32_t lifetime = lifetime_of(hint);
  if (writer_ == nullptr || lifetime == options_.lifetime || terrace_writer_size(writer_) > 0) {
    return;
  }
  TerraceFileOptions options = options_;
  options.lifetime = lifetime;
  TerraceWriter* writer = nullptr;
  // A hint may be lost; the file as it is will do.
  if (terrace_fs_create(mount_->fs(), slice_of(name_), &options, &writer) == TERRACE_CODE_OK) {
    terrace_writer_close(writer_);
    writer_ = writer;
    options_ = options;
  }
}

uint64_t WritableFile::GetFileSize(const IOOptions&, IODebugContext*) {
  return terrace_writer_size(writer_);
}

}  // namespace terrace
