// Errors of the C API as statuses of RocksDB.

#pragma once

#include <string>

#include "rocksdb/io_status.h"
#include "terrace.h"

namespace terrace {

// The slice of a text, for one call.
inline TerraceSlice slice_of(const std::string& text) {
  return terrace_bytes(text.data(), text.size());
}

// The status of a call that was about `name`, with the message of the calling thread.
rocksdb::IOStatus status_of(TerraceCode code, const std::string& name);

}  // namespace terrace
