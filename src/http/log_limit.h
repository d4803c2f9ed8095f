// A log that a flood of errors does not drown.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace jobscope {

// Passes on so many lines a minute; tells afterwards how many it left out. For use from several
// threads; the callback is called by one at a time.
class LogLimit {
 public:
  explicit LogLimit(std::function<void(std::string)> log) : log_(std::move(log)) {}
  void operator()(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;
  std::function<void(std::string)> log_;
  std::mutex mutex_;
  Clock::time_point since_;
  unsigned told_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace jobscope
