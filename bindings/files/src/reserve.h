// Reserve: space that is kept for what a database must still do when its drive is full.
//
// An engine writes files to open a database, to delete from it and to compact it. So new data is
// refused before the drive is full, by what a file is for:
//
//   a log          must leave the reserve, and as much again as all logs hold: their entries are
//                  written once more, into tables
//   a flush        takes what the logs have left to it; beyond that it must leave the reserve
//   another table  takes what there is, but for a few zones that the drive leaves to flushes
//   a small file   takes what there is: the manifest and the like
//   others         must leave what a log must leave
//
// Deletes are written to logs, too. So a database that was refused must be able to use a part of
// the reserve once it has been opened again: a mount, and the first log after a refusal, keep no
// more than three quarters of what is there. However often that happens, most of the rest is left.
//
// Any thread may use it.

#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "terrace.h"

namespace terrace {

// Purpose of a file.
enum class Use { kLog, kFlush, kTable, kSmall, kOther };

class Reserve {
 public:
  // Keeps so many bytes of a file system, but never all of what is there.
  Reserve(const TerraceFs* fs, uint64_t bytes);

  // Whether a file of this name may grow to `size` bytes, and take `more` of what is there.
  bool allows(Use use, const std::string& name, uint64_t size, uint64_t more);

  // A log begins, or is opened again with so many bytes in it.
  void log_begins(const std::string& name, uint64_t size);

  // A file is gone. A log that goes without a word is missed before anything is refused for it.
  void gone(const std::string& name);

  // Bytes that are there for new data.
  uint64_t free();

  // Bytes that a writer may ask for at once.
  uint64_t step() const { return step_; }

 private:
  uint64_t available() const;
  // Lets the reserve grow back, once there is space for it.
  void fit(uint64_t available);
  bool fits(Use use, uint64_t size, uint64_t more) const;
  // Bytes that a table of what the logs hold may have.
  uint64_t of_logs() const { return in_logs_ + in_logs_ / 8 + (64 << 10); }
  // Finds all logs, and what they hold.
  void count_logs();

  const TerraceFs* const fs_;
  const uint64_t wanted_;
  const uint64_t step_;
  std::mutex mutex_;
  // Bytes that new data must leave.
  uint64_t kept_ = 0;
  // New data was refused, and no log has begun since.
  bool refused_ = false;
  // Sizes of logs by their names, and their sum.
  std::map<std::string, uint64_t> logs_;
  uint64_t in_logs_ = 0;
};

}  // namespace terrace
