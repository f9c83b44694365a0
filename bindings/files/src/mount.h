// Mount: a mounted file system of Terrace, until its last user ends.
//
// A device can be mounted once. Within a process, all users of the same URI share one mount; it
// ends with the last of them, a plug-in or an open file. A user that comes while it ends waits for
// the end, and mounts the device anew.

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "reserve.h"
#include "terrace.h"

namespace terrace {

class Mount {
 public:
  // Mounts the drive of the URI, or finds its mount; null, and the reason in `*error`, if that
  // fails. The URI is `terrace://PATH`, and after `?` options with `&` between them: `read_only`;
  // `unsynced`, which leaves flushes of an image in the host's memory; `written`, which writes each
  // append to a log to the drive at once; `cache=BYTES` for blocks that were written;
  // `reserve=BYTES`, which new data may not use (without it, a sixteenth of the drive, at most 1
  // GiB); `reclaim_below=PERCENT` of free zones, below which dead bytes are held at a tenth of
  // those in use (without it, 20).
  static std::shared_ptr<Mount> open(const std::string& uri, std::string* error);

  ~Mount();
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;

  const TerraceFs* fs() const { return fs_; }

  // Whether appends to logs are written to the drive at once.
  bool writes_logs_out() const { return writes_logs_out_; }

  // Space that new data may not use.
  Reserve& reserve() { return reserve_; }

  // Locks a name within this process; false if it is locked. The device itself excludes other
  // processes.
  bool lock(const std::string& name);
  void unlock(const std::string& name);

 private:
  Mount(TerraceFs* fs, bool writes_logs_out, uint64_t reserve)
      : fs_(fs), writes_logs_out_(writes_logs_out), reserve_(fs, reserve) {}

  TerraceFs* fs_;
  const bool writes_logs_out_;
  Reserve reserve_;
  std::mutex mutex_;
  std::set<std::string> locked_;
};

}  // namespace terrace
