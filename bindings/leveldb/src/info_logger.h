// InfoLogger: LevelDB's info log, as a file next to the data. A message is one line with the time
// and a number for the thread. Messages can be read at once, and are durable when the log is
// closed. A message that finds no space is lost.

#pragma once

#include <cstdarg>
#include <memory>
#include <mutex>

#include "file_writer.h"
#include "leveldb/env.h"

namespace terrace {

class InfoLogger : public leveldb::Logger {
 public:
  explicit InfoLogger(std::unique_ptr<FileWriter> file) : file_(std::move(file)) {}

  void Logv(const char* format, std::va_list arguments) override;

 private:
  std::mutex mutex_;
  const std::unique_ptr<FileWriter> file_;
};

}  // namespace terrace
