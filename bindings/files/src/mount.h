// Mount: a file system of Terrace that is mounted, for as long as somebody holds it.
//
// A device can be mounted once. Within a process, all who name the same URI share one mount; it
// ends with the last of them, be that a plug-in or a file that is still open.

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
  // Mounts what the URI names, or finds the mount of it; null, and the reason in `*error`, if that
  // fails. The URI is `terrace://PATH`, and behind `?` options with `&` between them: `read_only`;
  // `unsynced`, which leaves flushes of an image in the host's memory; `written`, which hands each
  // append to a log to the drive at once; `cache=BYTES` for blocks that were written;
  // `reserve=BYTES`, which new data leaves; without it a sixteenth of the drive, at most 1 GiB;
  // `reclaim_below=PERCENT` of zones that are free: then dead bytes are held at a tenth of those in
  // use; 20 without it.
  static std::shared_ptr<Mount> open(const std::string& uri, std::string* error);

  ~Mount();
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;

  const TerraceFs* fs() const { return fs_; }

  // Whether appends to logs are handed to the drive at once.
  bool writes_logs_out() const { return writes_logs_out_; }

  // Space that new data leaves.
  Reserve& reserve() { return reserve_; }

  // Locks a name within this process; false if it is locked. The device itself keeps other
  // processes out.
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
