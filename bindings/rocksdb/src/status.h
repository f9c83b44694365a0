// Outcomes as statuses of RocksDB.

#pragma once

#include <string>

#include "outcome.h"
#include "rocksdb/io_status.h"

namespace terrace {

// The status of a call for `name`.
rocksdb::IOStatus status_of(const Outcome& outcome, const std::string& name);

}  // namespace terrace
