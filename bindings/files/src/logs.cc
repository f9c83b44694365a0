#include "logs.h"

#include "listing.h"
#include "names.h"

namespace terrace {

namespace {

// Whether a log in the directory of this name, other than the one with this id, is being written.
bool is_written_next_to(const TerraceFs* fs, const std::string& name, uint64_t id) {
  Outcome outcome;
  const std::string directory = name.substr(0, name.size() - last_part(name).size());
  const Listing listing(fs, directory, &outcome);
  for (size_t index = 0; index < listing.size(); index++) {
    TerraceFileInfo info = {};
    const std::string other = listing.name(index, &info);
    const bool is_direct = other.find('/', directory.size()) == std::string::npos;
    if (is_direct && info.id != id && info.finished == 0 && is_live_log(info)) {
      return true;
    }
  }
  return false;
}

}  // namespace

uint64_t bytes_in_logs(const TerraceFs* fs) {
  uint64_t bytes = 0;
  terrace_fs_bytes_of_lifetime(fs, kShortestLifetime, &bytes);
  return bytes;
}

bool is_live_log(const TerraceFileInfo& info) {
  return info.kind != TERRACE_FILE_KIND_TABLE && info.lifetime == kShortestLifetime;
}

Outcome end_log(const TerraceFs* fs, const std::string& name, const TerraceFileInfo& info) {
  return is_live_log(info) ? Outcome::of(terrace_fs_set_lifetime(fs, slice_of(name), 0))
                           : Outcome();
}

Outcome end_log_with(const TerraceFs* fs, const std::string& name) {
  TerraceFileInfo info = {};
  const Outcome outcome = Outcome::of(terrace_fs_stat(fs, slice_of(name), &info));
  if (!outcome.ok() || info.links < 2 || !is_live_log(info) ||
      !is_written_next_to(fs, name, info.id)) {
    return outcome;
  }
  return end_log(fs, name, info);
}

}  // namespace terrace
