// FileWriter: a file that an engine writes.
//
// The name decides how it is written. Write-ahead logs and manifests, which are synced often, are
// logs of Terrace: a sync is one write to the end of a zone. Tables and blobs are written once.
// Everything else is an ordinary file. A table is made by its first append, when all is known of
// it. An append fails with `TERRACE_CODE_NO_SPACE` where it would take what the mount keeps.

#pragma once

#include <memory>
#include <string>

#include "mount.h"
#include "outcome.h"
#include "reserve.h"

namespace terrace {

// The shortest lifetime that a file can be given. The next longer ones follow; 0 is unknown.
constexpr uint32_t kShortestLifetime = 1;

class FileWriter {
 public:
  // Makes an empty file in the place of another one of the name; `*writer` is null if that fails.
  static Outcome create(const std::shared_ptr<Mount>& mount, const std::string& name,
                        std::unique_ptr<FileWriter>* writer);

  // Opens a file for further appends, and makes it if there is none; `*writer` is null if that
  // fails.
  static Outcome append_to(const std::shared_ptr<Mount>& mount, const std::string& name,
                           std::unique_ptr<FileWriter>* writer);

  // Closes the file, if it was made and that has not been done.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  Outcome append(const char* bytes, size_t n);

  // Hands the bytes of a log to the drive, where the mount says so. Readers see what was appended
  // without it. What a sync has not covered may be lost with the process, unless the mount says
  // otherwise: each call would cost a block of the drive.
  Outcome flush();

  Outcome sync();

  // Finishes the file. A file that was removed while it was written needs no end. Nothing happens
  // the second time.
  Outcome close();

  // Gives a table a lifetime, before the first append. Other files have one by their names.
  void set_lifetime(uint32_t lifetime) {
    options_.lifetime = is_table() ? lifetime : options_.lifetime;
  }

  // Says what a table is for, before the first append.
  void set_use(Use use) { use_ = is_table() ? use : use_; }

  uint64_t size() const { return terrace_writer_size(writer_); }

  const std::string& name() const { return name_; }

 private:
  FileWriter(std::shared_ptr<Mount> mount, std::string name);

  bool is_table() const { return options_.kind == TERRACE_FILE_KIND_TABLE; }

  // Makes the file, if that has not been done.
  Outcome begin();

  const std::shared_ptr<Mount> mount_;
  const std::string name_;
  TerraceFileOptions options_ = {};
  Use use_ = Use::kOther;
  // Null before the file is made, and once it is closed.
  TerraceWriter* writer_ = nullptr;
  bool closed_ = false;
  // Bytes that may be appended before the reserve is asked again.
  uint64_t allowed_ = 0;
};

}  // namespace terrace
