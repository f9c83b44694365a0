#include "mount.h"

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <map>
#include <optional>
#include <sstream>

#include "outcome.h"

namespace terrace {

namespace {

constexpr char kScheme[] = "terrace://";

// Options in a URI.
struct Request {
  std::string path;
  TerraceOptions options = {};
  bool writes_logs_out = false;
  std::optional<uint64_t> reserve;
};

// The share of a drive that is kept, and its limit: half of a compaction of RocksDB's default size,
// and its memtables.
constexpr uint64_t kReserveShare = 16;
constexpr uint64_t kReserveMost = uint64_t{1} << 30;

// The bytes that are kept of a file system, unless the URI sets them.
uint64_t usual_reserve(const TerraceFs* fs) {
  TerraceSpace space = {};
  terrace_fs_space(fs, &space);
  return std::min(space.capacity / kReserveShare, kReserveMost);
}

// Reads a number; false if the text is none, or one that 64 bits do not hold.
bool parse_number(const std::string& text, uint64_t* bytes) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *bytes);
  return error == std::errc() && rest == end;
}

bool parse(const std::string& uri, Request* request, std::string* error) {
  if (uri.rfind(kScheme, 0) != 0) {
    *error = uri + ": expected terrace://PATH";
    return false;
  }
  const std::string rest = uri.substr(sizeof kScheme - 1);
  const size_t mark = rest.find('?');
  request->path = rest.substr(0, mark);
  if (mark == std::string::npos) {
    return true;
  }
  std::istringstream words(rest.substr(mark + 1));
  for (std::string word; std::getline(words, word, '&');) {
    if (word == "read_only") {
      request->options.read_only = 1;
    } else if (word == "unsynced") {
      request->options.unsynced = 1;
    } else if (word == "written") {
      request->writes_logs_out = true;
    } else if (uint64_t percent = 0; word.rfind("reclaim_below=", 0) == 0 &&
                                     parse_number(word.substr(14), &percent) && percent <= 100) {
      request->options.reclaim_below = static_cast<uint32_t>(percent);
    } else if (word.rfind("cache=", 0) == 0 &&
               parse_number(word.substr(6), &request->options.file_cache)) {
      continue;
    } else if (uint64_t bytes = 0;
               word.rfind("reserve=", 0) == 0 && parse_number(word.substr(8), &bytes)) {
      request->reserve = bytes;
    } else {
      *error = uri + ": expected read_only, unsynced, written, cache=BYTES, reserve=BYTES or " +
               "reclaim_below=PERCENT, found " + word;
      return false;
    }
  }
  return true;
}

// The mounts of this process by their URI, until they are closed. Never destroyed: a mount may end
// after main has.
struct Mounts {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<Mount>> by_uri;
  // One was closed.
  std::condition_variable closed;
};

Mounts& mounts() {
  static Mounts* all = new Mounts;
  return *all;
}

}  // namespace

std::shared_ptr<Mount> Mount::open(const std::string& uri, std::string* error) {
  Mounts& all = mounts();
  std::unique_lock<std::mutex> guard(all.mutex);
  for (auto found = all.by_uri.find(uri); found != all.by_uri.end();
       found = all.by_uri.find(uri)) {
    if (auto mounted = found->second.lock()) {
      return mounted;
    }
    // Its last user has gone, and closes it.
    all.closed.wait(guard);
  }
  Request request;
  if (!parse(uri, &request, error)) {
    return nullptr;
  }
  TerraceFs* fs = nullptr;
  if (terrace_fs_open(slice_of(request.path), &request.options, &fs) != TERRACE_CODE_OK) {
    *error = uri + ": " + terrace_error_message();
    return nullptr;
  }
  const auto close = [&all, uri](Mount* mount) {
    delete mount;
    std::lock_guard<std::mutex> guard(all.mutex);
    all.by_uri.erase(uri);
    all.closed.notify_all();
  };
  std::shared_ptr<Mount> mounted(
      new Mount(fs, request.writes_logs_out, request.reserve.value_or(usual_reserve(fs))), close);
  all.by_uri[uri] = mounted;
  return mounted;
}

Mount::~Mount() { terrace_fs_close(fs_); }

bool Mount::lock(const std::string& name) {
  std::lock_guard<std::mutex> guard(mutex_);
  return locked_.insert(name).second;
}

void Mount::unlock(const std::string& name) {
  std::lock_guard<std::mutex> guard(mutex_);
  locked_.erase(name);
}

}  // namespace terrace
