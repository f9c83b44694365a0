#include "names.h"

#include <sstream>

namespace terrace {

std::string name_of(const std::string& path) {
  std::string name;
  std::istringstream parts(path);
  for (std::string part; std::getline(parts, part, '/');) {
    if (!part.empty() && part != ".") {
      name += "/" + part;
    }
  }
  return name.empty() ? "/" : name;
}

std::string prefix_of(const std::string& name) { return name == "/" ? name : name + "/"; }

bool ends_with(const std::string& name, const std::string& suffix) {
  return name.size() >= suffix.size() &&
         name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
}

std::string last_part(const std::string& name) { return name.substr(name.rfind('/') + 1); }

}  // namespace terrace
