#include "file_reader.h"

#include <utility>

namespace terrace {

Outcome FileReader::open(const std::shared_ptr<Mount>& mount, const std::string& name,
                         std::unique_ptr<FileReader>* reader) {
  TerraceReader* handle = nullptr;
  Outcome outcome = Outcome::of(terrace_fs_read(mount->fs(), slice_of(name), &handle));
  reader->reset(outcome.ok() ? new FileReader(mount, name, handle) : nullptr);
  return outcome;
}

FileReader::~FileReader() { terrace_reader_close(reader_); }

Outcome FileReader::read(uint64_t offset, size_t n, char* scratch, size_t* read) const {
  *read = 0;
  return Outcome::of(terrace_reader_read_at(reader_, offset, terrace_buffer(scratch, n), read));
}

Outcome FileReader::submit(uint64_t offset, size_t n, std::unique_ptr<PendingRead>* pending) const {
  TerracePendingRead* begun = nullptr;
  Outcome outcome = Outcome::of(terrace_reader_submit(reader_, offset, n, &begun));
  pending->reset(outcome.ok() ? new PendingRead(begun) : nullptr);
  return outcome;
}

Outcome PendingRead::wait(size_t n, char* scratch, size_t* read) {
  *read = 0;
  return Outcome::of(
      terrace_pending_read_wait(std::exchange(read_, nullptr), terrace_buffer(scratch, n), read));
}

}  // namespace terrace
