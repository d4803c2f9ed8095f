// Which processes have ended a while ago, so that their rows can go.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>

namespace jobscope {

// Asked once for each row of a reading. Not for use from several threads at once.
class EndedProcesses {
 public:
  // `is_there`: whether a process or thread of this number exists.
  explicit EndedProcesses(std::function<bool(uint32_t)> is_there)
      : is_there_(std::move(is_there)) {}

  // A reading begins. `now`: CLOCK_MONOTONIC, ns.
  void begin(uint64_t now);
  bool is_gone(uint32_t pid);
  // True if it has been gone for five minutes of readings: whoever scrapes has its last values.
  bool is_long_gone(uint32_t pid);

 private:
  struct Known {
    uint64_t gone_since = 0;  // ns; 0: it is there
    uint64_t reading = 0;
  };
  const Known& look(uint32_t pid);

  std::function<bool(uint32_t)> is_there_;
  uint64_t now_ = 0, reading_ = 0;
  std::unordered_map<uint32_t, Known> known_;
};

}  // namespace jobscope
