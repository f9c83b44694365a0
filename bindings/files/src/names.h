// Names of files and directories: an engine has paths, Terrace has texts.
//
// A directory is a text that ends with `/`: an empty file of that name says that it exists, and so
// does each file whose name begins with it. So a directory can be empty, and survives.

#pragma once

#include <string>

namespace terrace {

// The name of a path: absolute, without empty parts, without `.`, and without a `/` at the end.
std::string name_of(const std::string& path);

// The beginning of all names in the directory of a name.
std::string prefix_of(const std::string& name);

// Whether a name ends with `suffix`.
bool ends_with(const std::string& name, const std::string& suffix);

// The part of a name after the last `/`.
std::string last_part(const std::string& name);

}  // namespace terrace
