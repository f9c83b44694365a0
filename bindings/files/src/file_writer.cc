#include "file_writer.h"

#include <ctime>

#include "names.h"

namespace terrace {

namespace {

uint64_t now() { return static_cast<uint64_t>(std::time(nullptr)); }

TerraceFileOptions options_of(const std::string& name) {
  TerraceFileOptions options = {};
  options.modified = now();
  if (ends_with(name, ".log")) {
    options.kind = TERRACE_FILE_KIND_LOG;
    options.lifetime = kShortestLifetime;
  } else if (last_part(name).rfind("MANIFEST-", 0) == 0) {
    options.kind = TERRACE_FILE_KIND_LOG;
  } else if (ends_with(name, ".sst") || ends_with(name, ".blob") || ends_with(name, ".ldb")) {
    options.kind = TERRACE_FILE_KIND_TABLE;
  }
  return options;
}

}  // namespace

Outcome FileWriter::create(const std::shared_ptr<Mount>& mount, const std::string& name,
                           std::unique_ptr<FileWriter>* writer) {
  const TerraceFileOptions options = options_of(name);
  TerraceWriter* handle = nullptr;
  Outcome outcome =
      Outcome::of(terrace_fs_create(mount->fs(), slice_of(name), &options, &handle));
  writer->reset(outcome.ok() ? new FileWriter(mount, name, handle, options) : nullptr);
  return outcome;
}

Outcome FileWriter::append_to(const std::shared_ptr<Mount>& mount, const std::string& name,
                              std::unique_ptr<FileWriter>* writer) {
  TerraceWriter* handle = nullptr;
  Outcome outcome = Outcome::of(terrace_fs_append_to(mount->fs(), slice_of(name), &handle));
  if (outcome.not_found()) {
    return create(mount, name, writer);
  }
  writer->reset(outcome.ok() ? new FileWriter(mount, name, handle, options_of(name)) : nullptr);
  return outcome;
}

FileWriter::~FileWriter() { close(); }

Outcome FileWriter::append(const char* bytes, size_t n) {
  return Outcome::of(terrace_writer_append(writer_, terrace_bytes(bytes, n)));
}

Outcome FileWriter::flush() {
  return mount_->writes_logs_out() ? Outcome::of(terrace_writer_write_out(writer_)) : Outcome();
}

Outcome FileWriter::sync() { return Outcome::of(terrace_writer_sync(writer_)); }

Outcome FileWriter::close() {
  if (writer_ == nullptr) {
    return Outcome();
  }
  Outcome outcome = Outcome::of(terrace_writer_finish(writer_, now()));
  writer_ = nullptr;
  return outcome.not_found() ? Outcome() : outcome;
}

void FileWriter::set_lifetime(uint32_t lifetime) {
  if (writer_ == nullptr || lifetime == options_.lifetime || size() > 0) {
    return;
  }
  TerraceFileOptions options = options_;
  options.lifetime = lifetime;
  TerraceWriter* writer = nullptr;
  if (terrace_fs_create(mount_->fs(), slice_of(name_), &options, &writer) == TERRACE_CODE_OK) {
    terrace_writer_close(writer_);
    writer_ = writer;
    options_ = options;
  }
}

}  // namespace terrace
