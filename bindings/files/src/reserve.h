// Reserve: space that is kept for what a database must still do when its drive is full.
//
// An engine writes files to open a database, to delete from it and to compact it. So new data is
// refused before the drive is full, by what a file is for:
//
//   a log          must leave the reserve, and as much again as all logs hold (logs.h): their
//                  entries are written once more, into tables
//   a flush        takes what the logs have left to it; beyond that it must leave the reserve
//   another table  takes what there is, but for a few zones that the drive leaves to flushes
//   a small file   takes what there is: the manifest and the like
//   others         must leave what a log must leave
//
// Deletes are written to logs, too. So a database that was refused must be able to use a part of
// the reserve once it has been opened again: a mount, and the first log after a refusal, keep no
// more than three quarters of what is there. However often that happens, most of the rest is left.
//
// What logs hold is asked of the file system. Because that looks at all files, a bound is kept of
// it: what it was when it was asked for, and what writers may have added since. It is asked for
// again where new data would not fit beyond that bound.
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
  // Keeps so many bytes of a file system, but never all of what is there.
  Reserve(const TerraceFs* fs, uint64_t bytes);

  // Whether a file may grow to `size` bytes, and take `more` of what is there.
  bool allows(Use use, uint64_t size, uint64_t more);

  // An engine begins to write a log.
  void log_begins();

  // Bytes that are there for new data.
  uint64_t free();

  // Bytes that a writer may ask for at once.
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
  // Bytes that new data must leave.
  uint64_t kept_ = 0;
  // New data was refused, and no log has begun since.
  bool refused_ = false;
  // No less than the bytes in logs.
  uint64_t in_logs_most_ = 0;
};

}  // namespace terrace
