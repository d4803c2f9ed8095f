// Figures and names of events as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace jobscope {

// ns → µs, to the ns.
inline double microseconds(uint64_t ns) { return static_cast<double>(ns) / 1000; }

// "431 µs", "1.23 ms", "2.50 s": three figures.
std::string time_figure(uint64_t ns);
// "512 B", "4.0 KiB", "1.5 GiB"
std::string bytes_figure(uint64_t bytes);

// "SIGTERM"; "signal 70" for one without a name here.
std::string signal_text(int signal);

// Those of `names` that are most like what was asked for, the nearest first: one that begins with
// it, has it inside, or is a few letters away. At most `most`; none if none is near.
std::vector<std::string> nearest_names(const std::string& wanted,
                                       const std::vector<std::string>& names, size_t most = 5);

}  // namespace jobscope
