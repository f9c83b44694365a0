// Outcomes as statuses of LevelDB.

#pragma once

#include <string>

#include "leveldb/status.h"
#include "outcome.h"

namespace terrace {

// The status of a call for `name`.
leveldb::Status status_of(const Outcome& outcome, const std::string& name);

}  // namespace terrace
