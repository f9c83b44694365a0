#include "info_logger.h"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <thread>

namespace terrace {

namespace {

// The time in UTC, and the thread.
std::string head() {
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const long long micros = duration_cast<microseconds>(since).count();
  const std::time_t seconds = static_cast<std::time_t>(micros / 1000000);
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  char date[32], text[96];
  std::strftime(date, sizeof date, "%Y/%m/%d-%H:%M:%S", &parts);
  std::snprintf(text, sizeof text, "%s.%06d %zx ", date, static_cast<int>(micros % 1000000),
                std::hash<std::thread::id>()(std::this_thread::get_id()));
  return text;
}

}  // namespace

void InfoLogger::Logv(const char* format, std::va_list arguments) {
  std::va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (length < 0) {
    return;
  }
  std::string message(static_cast<size_t>(length) + 1, '\0');
  std::vsnprintf(&message[0], message.size(), format, arguments);
  message.pop_back();
  if (message.empty() || message.back() != '\n') {
    message.push_back('\n');
  }
  const std::string line = head() + message;
  std::lock_guard<std::mutex> guard(mutex_);
  file_->append(line.data(), line.size());
}

}  // namespace terrace
