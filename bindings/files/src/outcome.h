// Outcome: a code of the C API, and the message if the call failed. Each plug-in makes a status of
// its engine from it.

#pragma once

#include <string>
#include <utility>

#include "terrace.h"

namespace terrace {

struct Outcome {
  TerraceCode code = TERRACE_CODE_OK;
  std::string message;

  Outcome() = default;
  Outcome(TerraceCode code, std::string message) : code(code), message(std::move(message)) {}

  // The outcome of the last call of the C API in this thread.
  static Outcome of(TerraceCode code) {
    return code == TERRACE_CODE_OK ? Outcome() : Outcome(code, terrace_error_message());
  }

  bool ok() const { return code == TERRACE_CODE_OK; }
  bool not_found() const { return code == TERRACE_CODE_NOT_FOUND; }
};

// The slice of a text, for one call.
inline TerraceSlice slice_of(const std::string& text) {
  return terrace_bytes(text.data(), text.size());
}

}  // namespace terrace
