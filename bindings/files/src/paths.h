// Paths: the calls of an ordinary file system that know directories, on the flat names of Terrace
// (see names.h). Each change is one transaction, and durable when the call returns.
//
// `TERRACE_CODE_NOT_FOUND` means that the name is not in use; `TERRACE_CODE_EXISTS`, that another
// file or directory has it.

#pragma once

#include <string>
#include <vector>

#include "outcome.h"

namespace terrace {

// Information about the file of a name. A directory is none.
Outcome stat_file(const TerraceFs* fs, const std::string& name, TerraceFileInfo* info);

// Succeeds if there is a file or a directory of this name.
Outcome find_path(const TerraceFs* fs, const std::string& name);

// Whether there is a directory of this name.
Outcome find_directory(const TerraceFs* fs, const std::string& name, bool* is);

// A file or a directory, by the last part of its name. A directory has no bytes.
struct Child {
  std::string name;
  uint64_t size;
};

// Lists the files and directories in a directory, as they are at one moment.
Outcome children_of(const TerraceFs* fs, const std::string& name, std::vector<Child>* children);
// The same without sizes.
Outcome children_of(const TerraceFs* fs, const std::string& name,
                    std::vector<std::string>* children);

// Makes a directory, unless it exists.
Outcome make_directory(const TerraceFs* fs, const std::string& name);

// Removes a directory, which must be empty.
Outcome remove_directory(const TerraceFs* fs, const std::string& name);

// Removes a name of a file.
Outcome remove_file(const TerraceFs* fs, const std::string& name);

// Fails if a directory of this name was made.
Outcome expect_no_directory(const TerraceFs* fs, const std::string& name);

// Gives a file a further name.
Outcome link_file(const TerraceFs* fs, const std::string& name, const std::string& further);

// Moves a file, and replaces one that has the name; or a directory, and replaces an empty one. No
// effect if both are names of one file.
Outcome move_path(const TerraceFs* fs, const std::string& from, const std::string& to);

}  // namespace terrace
