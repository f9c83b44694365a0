// FileWriter: a file that an engine writes.
//
// The name decides how a file is written. Write-ahead logs and manifests, which are synced often,
// are logs of Terrace: a sync is one write to the end of a zone. Tables and blobs are written once.
// All others are ordinary files. A file exists from the start; the first append places a table or a
// log, because all facts are known then. An append fails with `TERRACE_CODE_NO_SPACE` if it would
// take space that the mount keeps.

#pragma once

#include <memory>
#include <string>

#include "logs.h"
#include "mount.h"
#include "outcome.h"
#include "reserve.h"

namespace terrace {

class FileWriter {
 public:
  // Makes an empty file, and replaces another one of the name; `*writer` is null if that fails.
  static Outcome create(const std::shared_ptr<Mount>& mount, const std::string& name,
                        std::unique_ptr<FileWriter>* writer);

  // Opens a file for further appends, and makes it if there is none; `*writer` is null if that
  // fails. A finished file is copied by the first append, and not before.
  static Outcome append_to(const std::shared_ptr<Mount>& mount, const std::string& name,
                           std::unique_ptr<FileWriter>* writer);

  // Closes the file, if that has not been done.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  Outcome append(const char* bytes, size_t n);

  // Writes out the bytes of a log to the drive, if the mount says so. Readers see appended bytes
  // without it. Bytes after the last sync may be lost with the process, unless the mount says
  // otherwise: each call would cost a block of the drive.
  Outcome flush();

  Outcome sync();

  // Writes out the bytes of a log to the drive, durable or not.
  Outcome write_out();

  // Cuts the file to its first `size` bytes, durably and without a copy; it cannot be made longer.
  Outcome truncate(uint64_t size);

  // Finishes the file. A file that was removed while it was written needs no end. A second call has
  // no effect.
  Outcome close();

  // Gives a table or a log a lifetime, before the first append: 0 if it is not known. Other files
  // have one by their names. A log of the shortest lifetime is one that an engine has still to
  // flush.
  void set_lifetime(uint32_t lifetime);

  // Sets the purpose of a table, before the first append.
  void set_use(Use use) { use_ = is_table() ? use : use_; }

  // Bytes of the file; once it is closed, those at its close.
  uint64_t size() const { return writer_ == nullptr ? size_ : terrace_writer_size(writer_); }

  const std::string& name() const { return name_; }

 private:
  FileWriter(std::shared_ptr<Mount> mount, std::string name);

  bool is_table() const { return options_.kind == TERRACE_FILE_KIND_TABLE; }

  // Places the file, with the first append.
  Outcome place();

  const std::shared_ptr<Mount> mount_;
  const std::string name_;
  // As it was created.
  TerraceFileOptions options_ = {};
  uint32_t lifetime_ = 0;
  Use use_ = Use::kOther;
  bool placed_ = false;
  // Null once the file is closed.
  TerraceWriter* writer_ = nullptr;
  uint64_t size_ = 0;
  // Bytes that may be appended before the next request to the reserve.
  uint64_t allowed_ = 0;
};

}  // namespace terrace
