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

// Lists the files and directories in a directory, by the last part of their names.
Outcome children_of(const TerraceFs* fs, const std::string& name,
                    std::vector<std::string>* children);

// Makes a directory, unless it is there already.
Outcome make_directory(const TerraceFs* fs, const std::string& name);

// Removes a directory, which must be empty.
Outcome remove_directory(const TerraceFs* fs, const std::string& name);

Outcome remove_file(const TerraceFs* fs, const std::string& name);

// Moves a file, in the place of one that has the name; or a directory, in the place of an empty
// one.
Outcome move_path(const TerraceFs* fs, const std::string& from, const std::string& to);

}  // namespace terrace
