#include "reserve.h"

#include <algorithm>

#include "logs.h"

namespace terrace {

namespace {

// Bytes of a reserve that are requested at once, within these bounds.
constexpr uint64_t kSteps = 64;
constexpr uint64_t kStepLeast = 16 << 10, kStepMost = 256 << 10;

// Part of a reserve that is kept after new data was refused.
uint64_t most_of(uint64_t bytes) { return bytes - bytes / 4; }

// The most bytes of a table of the entries in logs.
uint64_t table_of(uint64_t in_logs) { return in_logs + in_logs / 8 + (64 << 10); }

}  // namespace

Reserve::Reserve(const TerraceFs* fs, uint64_t bytes)
    : fs_(fs), wanted_(bytes), step_(std::clamp(bytes / kSteps, kStepLeast, kStepMost)) {
  kept_ = std::min(wanted_, most_of(available()));
  in_logs_most_ = bytes_in_logs(fs_);
}

uint64_t Reserve::available() const {
  TerraceSpace space = {};
  return terrace_fs_space(fs_, &space) == TERRACE_CODE_OK ? space.available : 0;
}

void Reserve::fit(uint64_t available) {
  kept_ = std::min(wanted_, std::max(kept_, most_of(available)));
}

bool Reserve::fits(Use use, uint64_t size, uint64_t more) {
  const uint64_t left = available();
  fit(left);
  switch (use) {
    case Use::kSmall:
    case Use::kTable:
      return true;
    case Use::kFlush:
      return left >= kept_ + more || size <= table_of(bytes_in_logs(fs_));
    default:
      return fits_new(left, more);
  }
}

bool Reserve::fits_new(uint64_t left, uint64_t more) {
  const uint64_t needed = kept_ + 2 * more;
  if (left < needed) {
    return false;
  }
  if (left - needed < in_logs_most_) {
    in_logs_most_ = bytes_in_logs(fs_);
    if (left - needed < in_logs_most_) {
      return false;
    }
  }
  in_logs_most_ += more;
  return true;
}

bool Reserve::allows(Use use, uint64_t size, uint64_t more) {
  std::lock_guard<std::mutex> guard(mutex_);
  const bool allowed = fits(use, size, more);
  refused_ = refused_ || !allowed;
  return allowed;
}

void Reserve::log_begins() {
  std::lock_guard<std::mutex> guard(mutex_);
  if (refused_) {
    kept_ = std::min(kept_, most_of(available()));
    refused_ = false;
  }
}

uint64_t Reserve::free() {
  const uint64_t left = available(), in_logs = bytes_in_logs(fs_);
  std::lock_guard<std::mutex> guard(mutex_);
  fit(left);
  return left - std::min(left, kept_ + in_logs);
}

}  // namespace terrace
