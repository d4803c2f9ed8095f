// Lengths of time as people write them.
#pragma once

#include <cstdint>
#include <string>

#include "src/base/result.h"

namespace jobscope {

// "30s", "1.5m", "500ms", "2h", "10" (seconds) → nanoseconds; more than 0, at most a year.
Result<uint64_t> parse_duration(const std::string& text);

}  // namespace jobscope
