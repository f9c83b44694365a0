#include "file_reader.h"

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

}  // namespace terrace
