// FileWriter: a file that an engine writes.
//
// The name decides how it is written. Write-ahead logs and manifests, which are synced often, are
// logs of Terrace: a sync is one write to the end of a zone. Tables and blobs are written once.
// Everything else is an ordinary file.

#pragma once

#include <memory>
#include <string>

#include "mount.h"
#include "outcome.h"

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

  // Closes the file, if that has not been done.
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

  // Gives the file a lifetime, if it is empty: it is then made anew. A lifetime may be lost, and
  // the file as it is will do.
  void set_lifetime(uint32_t lifetime);

  uint64_t size() const { return terrace_writer_size(writer_); }

  const std::string& name() const { return name_; }

 private:
  FileWriter(std::shared_ptr<Mount> mount, std::string name, TerraceWriter* writer,
             TerraceFileOptions options)
      : mount_(std::move(mount)), name_(std::move(name)), writer_(writer), options_(options) {}

  const std::shared_ptr<Mount> mount_;
  const std::string name_;
  // Null once the file is closed.
  TerraceWriter* writer_;
  TerraceFileOptions options_;
};

}  // namespace terrace
