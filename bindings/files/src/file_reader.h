// FileReader: a file that an engine reads. It holds the mount, and can still read a file that is
// removed meanwhile. Several threads may read at once.

#pragma once

#include <memory>
#include <string>

#include "mount.h"
#include "outcome.h"

namespace terrace {

// A read that has been begun. It is waited for once, or dropped.
class PendingRead {
 public:
  explicit PendingRead(TerracePendingRead* read) : read_(read) {}
  ~PendingRead() { terrace_pending_read_drop(read_); }
  PendingRead(const PendingRead&) = delete;
  PendingRead& operator=(const PendingRead&) = delete;

  // Waits, and puts at most `n` bytes, the number requested, into `scratch`.
  Outcome wait(size_t n, char* scratch, size_t* read);

 private:
  TerracePendingRead* read_;
};

class FileReader {
 public:
  // Opens a file; `*reader` is null if that fails.
  static Outcome open(const std::shared_ptr<Mount>& mount, const std::string& name,
                      std::unique_ptr<FileReader>* reader);
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  // Reads at most `n` bytes into `scratch`, fewer at the end of the file; `*read` says how many.
  Outcome read(uint64_t offset, size_t n, char* scratch, size_t* read) const;

  // Begins to read at most `n` bytes; `*pending` is null if that fails.
  Outcome submit(uint64_t offset, size_t n, std::unique_ptr<PendingRead>* pending) const;

  // Current size of the file in bytes.
  uint64_t size() const { return terrace_reader_size(reader_); }

  const std::string& name() const { return name_; }

 private:
  FileReader(std::shared_ptr<Mount> mount, std::string name, TerraceReader* reader)
      : mount_(std::move(mount)), name_(std::move(name)), reader_(reader) {}

  const std::shared_ptr<Mount> mount_;
  const std::string name_;
  TerraceReader* const reader_;
};

}  // namespace terrace
