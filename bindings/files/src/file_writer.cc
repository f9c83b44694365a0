#include "file_writer.h"

#include <ctime>

#include "names.h"
#include "paths.h"

namespace terrace {

namespace {

uint64_t now() { return static_cast<uint64_t>(std::time(nullptr)); }

bool begins_with(const std::string& text, const std::string& prefix) {
  return text.rfind(prefix, 0) == 0;
}

// Whether an engine needs the file of this name, a small one, to open a database.
bool is_small(const std::string& name) {
  const std::string last = last_part(name);
  for (const char* prefix : {"MANIFEST-", "CURRENT", "OPTIONS-", "IDENTITY", "LOG"}) {
    if (begins_with(last, prefix)) {
      return true;
    }
  }
  return ends_with(last, ".dbtmp");
}

TerraceFileOptions options_of(const std::string& name) {
  TerraceFileOptions options = {};
  options.modified = now();
  if (ends_with(name, ".log")) {
    options.kind = TERRACE_FILE_KIND_LOG;
    options.lifetime = kShortestLifetime;
  } else if (begins_with(last_part(name), "MANIFEST-")) {
    options.kind = TERRACE_FILE_KIND_LOG;
  } else if (ends_with(name, ".sst") || ends_with(name, ".blob") || ends_with(name, ".ldb")) {
    options.kind = TERRACE_FILE_KIND_TABLE;
  }
  return options;
}

// How far a file may use the zones that are kept for freeing space.
uint32_t urgency_of(Use use) {
  switch (use) {
    case Use::kOther:
      return 0;
    case Use::kTable:
      return 1;
    default:
      return 2;
  }
}

Use use_of(const std::string& name) {
  if (ends_with(name, ".log")) {
    return Use::kLog;
  }
  if (is_small(name)) {
    return Use::kSmall;
  }
  return options_of(name).kind == TERRACE_FILE_KIND_TABLE ? Use::kTable : Use::kOther;
}

}  // namespace

FileWriter::FileWriter(std::shared_ptr<Mount> mount, std::string name)
    : mount_(std::move(mount)), name_(std::move(name)), options_(options_of(name_)),
      lifetime_(options_.lifetime), use_(use_of(name_)) {
  options_.urgent = urgency_of(use_);
}

Outcome FileWriter::create(const std::shared_ptr<Mount>& mount, const std::string& name,
                           std::unique_ptr<FileWriter>* writer) {
  std::unique_ptr<FileWriter> made(new FileWriter(mount, name));
  Outcome outcome = expect_no_directory(mount->fs(), name);
  if (outcome.ok()) {
    outcome = Outcome::of(
        terrace_fs_create(mount->fs(), slice_of(name), &made->options_, &made->writer_));
  }
  *writer = outcome.ok() ? std::move(made) : nullptr;
  return outcome;
}

Outcome FileWriter::append_to(const std::shared_ptr<Mount>& mount, const std::string& name,
                              std::unique_ptr<FileWriter>* writer) {
  std::unique_ptr<FileWriter> found(new FileWriter(mount, name));
  Outcome outcome =
      Outcome::of(terrace_fs_append_to(mount->fs(), slice_of(name), &found->writer_));
  if (outcome.not_found()) {
    return create(mount, name, writer);
  }
  found->placed_ = true;
  if (outcome.ok() && found->use_ == Use::kLog) {
    mount->reserve().log_begins();
  }
  *writer = outcome.ok() ? std::move(found) : nullptr;
  return outcome;
}

FileWriter::~FileWriter() { close(); }

void FileWriter::set_lifetime(uint32_t lifetime) {
  const bool is_log = ends_with(name_, ".log");
  if (is_log || is_table()) {
    lifetime_ = lifetime;
  }
  if (is_log) {
    use_ = lifetime == kShortestLifetime ? Use::kLog : Use::kOther;
  }
}

Outcome FileWriter::place() {
  if (placed_) {
    return Outcome();
  }
  placed_ = true;
  if (use_ == Use::kLog) {
    mount_->reserve().log_begins();
  }
  const uint32_t urgent = urgency_of(use_);
  return urgent == options_.urgent && lifetime_ == options_.lifetime
             ? Outcome()
             : Outcome::of(terrace_writer_place(writer_, lifetime_, urgent));
}

Outcome FileWriter::append(const char* bytes, size_t n) {
  if (writer_ == nullptr) {
    return Outcome(TERRACE_CODE_INVALID, "expected a file that is open, found a closed one");
  }
  Outcome outcome = place();
  if (outcome.ok() && n > allowed_) {
    const uint64_t more = n + mount_->reserve().step();
    if (!mount_->reserve().allows(use_, size() + n, more)) {
      return Outcome(TERRACE_CODE_NO_SPACE,
                     "expected space beside what is kept for the next opening, found none");
    }
    allowed_ = more;
  }
  if (!outcome.ok()) {
    return outcome;
  }
  allowed_ -= n;
  return Outcome::of(terrace_writer_append(writer_, terrace_bytes(bytes, n)));
}

Outcome FileWriter::flush() { return mount_->writes_logs_out() ? write_out() : Outcome(); }

Outcome FileWriter::sync() { return Outcome::of(terrace_writer_sync(writer_)); }

Outcome FileWriter::write_out() { return Outcome::of(terrace_writer_write_out(writer_)); }

Outcome FileWriter::truncate(uint64_t size) {
  return Outcome::of(terrace_writer_truncate(writer_, size));
}

Outcome FileWriter::close() {
  if (writer_ == nullptr) {
    return Outcome();
  }
  size_ = size();
  Outcome outcome = Outcome::of(terrace_writer_finish(writer_, now()));
  writer_ = nullptr;
  return outcome.not_found() ? Outcome() : outcome;
}

}  // namespace terrace
