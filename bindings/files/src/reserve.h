// Reserve: space that is kept for the remaining work of a database when its drive is full.
//
// An engine writes files to open a database, to delete from it and to compact it. So new data is
// refused before the drive is full, by the purpose of a file:
//
//   a log          must leave the reserve, and as much again as all logs hold (logs.h): their
//                  entries are written once more, into tables
//   a flush        takes the space that the logs have left to it; beyond that it must leave the
//                  reserve
//   another table  takes all space, except a few zones that the drive keeps for flushes
//   a small file   takes all space: the manifest and the like
//   others         must leave the same as a log
//
// Deletes are written to logs, too. So a database that was refused must be able to use a part of
// the reserve after it was opened again: a mount, and the first log after a refusal, keep at most
// three quarters of the available space. Even if that happens often, most of the rest remains.
//
// The file system is asked for the bytes in logs. Because that looks at all files, a bound is kept:
// the last answer, and the bytes that writers may have added since. It is asked again when new data
// would exceed that bound.
//
// Any thread may use it.

#pragma once

#include <cstdint>
#include <mutex>

#include "terrace.h"

namespace terrace {

// Purpose of a file.
enum class Use { kLog, kFlush, kTable, kSmall, kOther };

class Reserve {
 public:
  // Keeps `bytes` of a file system, but never all available space.
  Reserve(const TerraceFs* fs, uint64_t bytes);

  // Whether a file may grow to `size` bytes, and take `more` of the available space.
  bool allows(Use use, uint64_t size, uint64_t more);

  // Notes that an engine begins to write a log.
  void log_begins();

  // Bytes available to new data.
  uint64_t free();

  // Bytes that a writer may request at once.
  uint64_t step() const { return step_; }

 private:
  uint64_t available() const;
  // Lets the reserve grow back, once there is space for it.
  void fit(uint64_t available);
  bool fits(Use use, uint64_t size, uint64_t more);
  bool fits_new(uint64_t left, uint64_t more);

  const TerraceFs* const fs_;
  const uint64_t wanted_;
  const uint64_t step_;
  std::mutex mutex_;
  // Bytes that new data may not use.
  uint64_t kept_ = 0;
  // Whether new data was refused, and no log has begun since.
  bool refused_ = false;
  // At least the bytes in logs.
  uint64_t in_logs_most_ = 0;
};

}  // namespace terrace
