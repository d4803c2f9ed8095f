// The clocks. Only commands read them; everything below is given the time.
#pragma once

#include <ctime>

#include <cstdint>

namespace jobscope {

inline uint64_t read_clock(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}
inline uint64_t monotonic_now() { return read_clock(CLOCK_MONOTONIC); }

}  // namespace jobscope
