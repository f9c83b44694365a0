#include "paths.h"

#include <ctime>

#include "listing.h"
#include "logs.h"
#include "names.h"

namespace terrace {

namespace {

// Whether there is a directory of this name, and the number of its names, including its own.
Outcome count(const TerraceFs* fs, const std::string& name, bool* exists, size_t* names) {
  Outcome outcome;
  const Listing listing(fs, prefix_of(name), &outcome);
  *names = listing.size();
  *exists = name == "/" || *names > 0;
  return outcome;
}

Outcome no_directory() {
  return Outcome(TERRACE_CODE_NOT_FOUND, "expected a directory, found none");
}

// Moves a directory; `missing` if there is none. A directory that it replaces must be empty.
Outcome move_directory(const TerraceFs* fs, const std::string& from, const std::string& to,
                       const Outcome& missing) {
  bool exists = false, in_the_way = false;
  size_t names = 0, others = 0;
  Outcome counted = count(fs, from, &exists, &names);
  if (!counted.ok() || !exists) {
    return counted.ok() ? missing : counted;
  }
  counted = count(fs, to, &in_the_way, &others);
  // An empty directory has at most its own name.
  const bool marked = stat_file(fs, prefix_of(to), nullptr).ok();
  if (!counted.ok() || others > (marked ? 1 : 0) || stat_file(fs, to, nullptr).ok()) {
    return counted.ok() ? Outcome(TERRACE_CODE_EXISTS, to + ": expected no files there, found some")
                        : counted;
  }
  return Outcome::of(
      terrace_fs_rename_all(fs, slice_of(prefix_of(from)), slice_of(prefix_of(to))));
}

}  // namespace

Outcome stat_file(const TerraceFs* fs, const std::string& name, TerraceFileInfo* info) {
  return Outcome::of(terrace_fs_stat(fs, slice_of(name), info));
}

Outcome find_path(const TerraceFs* fs, const std::string& name) {
  Outcome outcome = stat_file(fs, name, nullptr);
  if (!outcome.not_found()) {
    return outcome;
  }
  bool is = false;
  Outcome counted = find_directory(fs, name, &is);
  return counted.ok() && !is ? outcome : counted;
}

Outcome find_directory(const TerraceFs* fs, const std::string& name, bool* is) {
  size_t names = 0;
  return count(fs, name, is, &names);
}

Outcome children_of(const TerraceFs* fs, const std::string& name, std::vector<Child>* children) {
  children->clear();
  const std::string prefix = prefix_of(name);
  Outcome outcome;
  const Listing listing(fs, prefix, &outcome);
  if (!outcome.ok()) {
    return outcome;
  }
  if (listing.size() == 0 && prefix != "/") {
    return no_directory();
  }
  for (size_t index = 0; index < listing.size(); index++) {
    TerraceFileInfo info = {};
    const std::string rest = listing.name(index, &info).substr(prefix.size());
    const size_t end = rest.find('/');
    const std::string child = rest.substr(0, end);
    // The names are in order, but `a-b` lies between `a` and `a/c`.
    if (!child.empty() && (children->empty() || children->back().name != child)) {
      children->push_back({child, end == std::string::npos ? info.size : 0});
    }
  }
  return outcome;
}

Outcome children_of(const TerraceFs* fs, const std::string& name,
                    std::vector<std::string>* children) {
  std::vector<Child> found;
  const Outcome outcome = children_of(fs, name, &found);
  children->clear();
  for (Child& child : found) {
    children->push_back(std::move(child.name));
  }
  return outcome;
}

Outcome make_directory(const TerraceFs* fs, const std::string& name) {
  const std::string marker = prefix_of(name);
  if (marker == "/" || stat_file(fs, marker, nullptr).ok()) {
    return Outcome();
  }
  TerraceFileOptions options = {};
  options.modified = static_cast<uint64_t>(std::time(nullptr));
  TerraceWriter* writer = nullptr;
  Outcome outcome = Outcome::of(terrace_fs_create(fs, slice_of(marker), &options, &writer));
  return outcome.ok() ? Outcome::of(terrace_writer_finish(writer, options.modified)) : outcome;
}

Outcome remove_directory(const TerraceFs* fs, const std::string& name) {
  const std::string marker = prefix_of(name);
  bool exists = false;
  size_t names = 0;
  Outcome outcome = count(fs, name, &exists, &names);
  if (!outcome.ok()) {
    return outcome;
  }
  if (!exists) {
    return no_directory();
  }
  const bool marked = stat_file(fs, marker, nullptr).ok();
  if (names > (marked ? 1 : 0)) {
    return Outcome(TERRACE_CODE_EXISTS, "expected an empty directory, found files in it");
  }
  return marked ? remove_file(fs, marker) : Outcome();
}

Outcome remove_file(const TerraceFs* fs, const std::string& name) {
  const Outcome outcome = end_log_with(fs, name);
  return outcome.ok() ? Outcome::of(terrace_fs_remove(fs, slice_of(name))) : outcome;
}

Outcome expect_no_directory(const TerraceFs* fs, const std::string& name) {
  return name == "/" || stat_file(fs, prefix_of(name), nullptr).ok()
             ? Outcome(TERRACE_CODE_EXISTS, name + ": expected no directory, found one")
             : Outcome();
}

Outcome link_file(const TerraceFs* fs, const std::string& name, const std::string& further) {
  const Outcome outcome = expect_no_directory(fs, further);
  return outcome.ok() ? Outcome::of(terrace_fs_link(fs, slice_of(name), slice_of(further)))
                      : outcome;
}

Outcome move_path(const TerraceFs* fs, const std::string& from, const std::string& to) {
  TerraceFileInfo info = {};
  Outcome outcome = stat_file(fs, from, &info);
  if (outcome.not_found()) {
    return move_directory(fs, from, to, outcome);
  }
  TerraceFileInfo before = {};
  if (outcome.ok() && stat_file(fs, to, &before).ok() && before.id == info.id) {
    // Two names of one file: both stay.
    return outcome;
  }
  if (outcome.ok()) {
    outcome = expect_no_directory(fs, to);
  }
  if (outcome.ok()) {
    outcome = Outcome::of(terrace_fs_rename(fs, slice_of(from), slice_of(to)));
  }
  return outcome.ok() ? end_log(fs, to, info) : outcome;
}

}  // namespace terrace
