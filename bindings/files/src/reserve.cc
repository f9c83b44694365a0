#include "reserve.h"

#include <algorithm>

#include "names.h"
#include "outcome.h"

namespace terrace {

namespace {

// Of a reserve, so much is asked for at once, within these bounds.
constexpr uint64_t kSteps = 64;
constexpr uint64_t kStepLeast = 16 << 10, kStepMost = 256 << 10;

// What is kept of so many bytes once new data was refused.
uint64_t most_of(uint64_t bytes) { return bytes - bytes / 4; }

// Whether a name is that of a log that is still to be flushed.
bool is_log(const std::string& name) {
  return ends_with(name, ".log") && name.find("/archive/") == std::string::npos;
}

}  // namespace

Reserve::Reserve(const TerraceFs* fs, uint64_t bytes)
    : fs_(fs), wanted_(bytes), step_(std::clamp(bytes / kSteps, kStepLeast, kStepMost)) {
  kept_ = std::min(wanted_, most_of(available()));
  count_logs();
}

uint64_t Reserve::available() const {
  TerraceSpace space = {};
  return terrace_fs_space(fs_, &space) == TERRACE_CODE_OK ? space.available : 0;
}

void Reserve::fit(uint64_t available) {
  kept_ = std::min(wanted_, std::max(kept_, most_of(available)));
}

bool Reserve::fits(Use use, uint64_t size, uint64_t more) const {
  const uint64_t left = available();
  switch (use) {
    case Use::kSmall:
    case Use::kTable:
      return true;
    case Use::kFlush:
      return size <= of_logs() || left >= kept_ + more;
    default:
      return left >= kept_ + in_logs_ + 2 * more;
  }
}

bool Reserve::allows(Use use, const std::string& name, uint64_t size, uint64_t more) {
  std::lock_guard<std::mutex> guard(mutex_);
  fit(available());
  bool allowed = fits(use, size, more);
  if (!allowed) {
    count_logs();
    allowed = fits(use, size, more);
  }
  if (!allowed) {
    refused_ = true;
  } else if (use == Use::kLog && is_log(name)) {
    uint64_t& before = logs_[name];
    in_logs_ += size + more - before;
    before = size + more;
  }
  return allowed;
}

void Reserve::log_begins(const std::string& name, uint64_t size) {
  std::lock_guard<std::mutex> guard(mutex_);
  if (refused_) {
    kept_ = std::min(kept_, most_of(available()));
    refused_ = false;
  }
  uint64_t& before = logs_[name];
  in_logs_ += size - before;
  before = size;
}

void Reserve::gone(const std::string& name) {
  std::lock_guard<std::mutex> guard(mutex_);
  const auto found = logs_.find(name);
  if (found != logs_.end()) {
    in_logs_ -= found->second;
    logs_.erase(found);
  }
}

void Reserve::count_logs() {
  TerraceListing* listing = nullptr;
  if (terrace_fs_list(fs_, terrace_none(), &listing) != TERRACE_CODE_OK) {
    return;
  }
  logs_.clear();
  in_logs_ = 0;
  for (size_t index = 0; index < terrace_listing_len(listing); index++) {
    TerraceFileInfo info = {};
    const TerraceSlice found = terrace_listing_at(listing, index, &info);
    const std::string name(reinterpret_cast<const char*>(found.data), found.len);
    if (is_log(name)) {
      logs_[name] = info.size;
      in_logs_ += info.size;
    }
  }
  terrace_listing_free(listing);
}

uint64_t Reserve::free() {
  const uint64_t left = available();
  std::lock_guard<std::mutex> guard(mutex_);
  fit(left);
  return left - std::min(left, kept_ + in_logs_);
}

}  // namespace terrace
