// Configuration: the environment variables of the preloaded object.

#pragma once

#include <string>

namespace terrace {

struct Configuration {
  // The drive, as in a URI after `terrace://`.
  std::string drive;
  // The directory that the drive stands for: an absolute path, without a `/` at its end.
  std::string prefix;
};

// Reads `TERRACE_DRIVE` and `TERRACE_PREFIX`; false, and the reason in `*error`, if one is not set
// or the prefix is no absolute path of a directory below the root.
bool configure(Configuration* configuration, std::string* error);

// The path from the root, without empty parts, `.` and `..`. A relative one begins at the directory
// in which the process runs. Links of the host are not followed.
std::string absolute(const std::string& path);

}  // namespace terrace
