#include "configuration.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <sstream>
#include <vector>

namespace terrace {

namespace {

// The value of a variable; empty if it is not set.
std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

}  // namespace

std::string absolute(const std::string& path) {
  std::string whole = path;
  char here[PATH_MAX];
  if ((path.empty() || path[0] != '/') && getcwd(here, sizeof here) != nullptr) {
    whole = std::string(here) + "/" + path;
  }
  std::vector<std::string> names;
  std::istringstream parts(whole);
  for (std::string part; std::getline(parts, part, '/');) {
    if (part == "..") {
      if (!names.empty()) {
        names.pop_back();
      }
    } else if (!part.empty() && part != ".") {
      names.push_back(part);
    }
  }
  std::string found;
  for (const std::string& name : names) {
    found += "/" + name;
  }
  return found.empty() ? "/" : found;
}

bool configure(Configuration* configuration, std::string* error) {
  configuration->drive = variable("TERRACE_DRIVE");
  const std::string prefix = variable("TERRACE_PREFIX");
  if (configuration->drive.empty()) {
    *error = "TERRACE_DRIVE: expected the path of a drive, found none";
    return false;
  }
  configuration->prefix = absolute(prefix);
  if (prefix.empty() || prefix[0] != '/' || configuration->prefix == "/") {
    *error = "TERRACE_PREFIX: expected the absolute path of a directory below the root, found " +
             (prefix.empty() ? std::string("none") : prefix);
    return false;
  }
  return true;
}

}  // namespace terrace
