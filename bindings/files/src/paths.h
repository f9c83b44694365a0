// Paths: the calls of an ordinary file system that know directories, on the flat names of Terrace
// (see names.h). Each change is one transaction, and durable when the call returns.
//
// `TERRACE_CODE_NOT_FOUND` says that nothing has the name; `TERRACE_CODE_EXISTS`, that something is
// in the way.

#pragma once

#include <string>
#include <vector>

#include "outcome.h"

namespace terrace {

// Tells what is known of the file of a name. A directory is none.
Outcome stat_file(const TerraceFs* fs, const std::string& name, TerraceFileInfo* info);

// Succeeds if there is a file or a directory of this name.
Outcome find_path(const TerraceFs* fs, const std::string& name);

// Tells whether there is a directory of this name.
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

// Makes a directory, unless it is there already.
Outcome make_directory(const TerraceFs* fs, const std::string& name);

// Removes a directory, which must be empty.
Outcome remove_directory(const TerraceFs* fs, const std::string& name);

// Takes a name of a file away.
Outcome remove_file(const TerraceFs* fs, const std::string& name);

// Fails if a directory of this name was made.
Outcome expect_no_directory(const TerraceFs* fs, const std::string& name);

// Gives a file a further name.
Outcome link_file(const TerraceFs* fs, const std::string& name, const std::string& further);

// Moves a file, in the place of one that has the name; or a directory, in the place of an empty
// one. Nothing happens if both are names of one file.
Outcome move_path(const TerraceFs* fs, const std::string& from, const std::string& to);

}  // namespace terrace
