// Memory of processes, as /proc tells it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace jobscope {

// Bytes of memory that a process had resident at most, since its last exec (VmHWM, proc(5)). Not
// rusage's ru_maxrss: that one begins with the peak of whoever forked it. Empty if it is gone.
std::optional<uint64_t> peak_rss(uint32_t pid, const std::string& proc = "/proc");

}  // namespace jobscope
