// Lengths of time in Go's syntax, as files of the Prometheus world have them.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace jobscope {

// "1h", "1m30s", "1.5h", "100ms", "0". Empty if it is none.
std::optional<std::chrono::nanoseconds> parse_go_duration(std::string_view text);

}  // namespace jobscope
