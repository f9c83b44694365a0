#include "status.h"

namespace terrace {

using rocksdb::IOStatus;

IOStatus status_of(const Outcome& outcome, const std::string& name) {
  if (outcome.ok()) {
    return IOStatus::OK();
  }
  const std::string& message = outcome.message;
  switch (outcome.code) {
    // RocksDB stops its background work at these and goes on once there is space.
    case TERRACE_CODE_NO_SPACE:
    case TERRACE_CODE_HOST_FULL:
      return IOStatus::NoSpace(name, message);
    case TERRACE_CODE_CORRUPTION:
      return IOStatus::Corruption(name, message);
    case TERRACE_CODE_NOT_FOUND:
      return IOStatus::PathNotFound(name, message);
    case TERRACE_CODE_IN_USE:
      return IOStatus::Busy(name, message);
    case TERRACE_CODE_UNSUPPORTED:
      return IOStatus::NotSupported(name, message);
    case TERRACE_CODE_INVALID:
      return IOStatus::InvalidArgument(name, message);
    default:
      return IOStatus::IOError(name, message);
  }
}

}  // namespace terrace
