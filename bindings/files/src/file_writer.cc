#include "file_writer.h"

#include <ctime>

#include "names.h"

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

// How far a file may go into the zones that are left to what frees space.
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
      use_(use_of(name_)) {}

Outcome FileWriter::create(const std::shared_ptr<Mount>& mount, const std::string& name,
                           std::unique_ptr<FileWriter>* writer) {
  std::unique_ptr<FileWriter> made(new FileWriter(mount, name));
  if (made->use_ == Use::kLog) {
    mount->reserve().log_begins(name, 0);
  }
  Outcome outcome = made->is_table() ? Outcome() : made->begin();
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
  if (outcome.ok() && found->use_ == Use::kLog) {
    mount->reserve().log_begins(name, found->size());
  }
  *writer = outcome.ok() ? std::move(found) : nullptr;
  return outcome;
}

FileWriter::~FileWriter() {
  if (writer_ != nullptr) {
    close();
  }
}

Outcome FileWriter::begin() {
  if (closed_) {
    return Outcome(TERRACE_CODE_INVALID, "expected a file that is open, found a closed one");
  }
  if (writer_ != nullptr) {
    return Outcome();
  }
  options_.urgent = urgency_of(use_);
  return Outcome::of(terrace_fs_create(mount_->fs(), slice_of(name_), &options_, &writer_));
}

Outcome FileWriter::append(const char* bytes, size_t n) {
  Outcome outcome = begin();
  if (outcome.ok() && n > allowed_) {
    const uint64_t more = n + mount_->reserve().step();
    if (!mount_->reserve().allows(use_, name_, size() + n, more)) {
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

Outcome FileWriter::flush() {
  return mount_->writes_logs_out() ? Outcome::of(terrace_writer_write_out(writer_)) : Outcome();
}

Outcome FileWriter::sync() {
  Outcome outcome = begin();
  return outcome.ok() ? Outcome::of(terrace_writer_sync(writer_)) : outcome;
}

Outcome FileWriter::close() {
  if (closed_) {
    return Outcome();
  }
  Outcome outcome = begin();
  closed_ = true;
  if (outcome.ok()) {
    outcome = Outcome::of(terrace_writer_finish(writer_, now()));
  }
  writer_ = nullptr;
  return outcome.not_found() ? Outcome() : outcome;
}

}  // namespace terrace
