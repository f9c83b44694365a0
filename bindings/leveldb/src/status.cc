#include "status.h"

namespace terrace {

using leveldb::Status;

Status status_of(const Outcome& outcome, const std::string& name) {
  switch (outcome.code) {
    case TERRACE_CODE_OK:
      return Status::OK();
    case TERRACE_CODE_NOT_FOUND:
      return Status::NotFound(name, outcome.message);
    case TERRACE_CODE_CORRUPTION:
      return Status::Corruption(name, outcome.message);
    case TERRACE_CODE_UNSUPPORTED:
      return Status::NotSupported(name, outcome.message);
    case TERRACE_CODE_INVALID:
      return Status::InvalidArgument(name, outcome.message);
    default:
      // LevelDB has no status for a drive that is full; the message says it.
      return Status::IOError(name, outcome.message);
  }
}

}  // namespace terrace
