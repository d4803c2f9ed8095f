// One event of a trace, as it is shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace jobscope {

struct EventColumn {
  std::string heading;
  size_t width = 0;    // that most cells fit in; a longer one pushes the rest of its line on
  bool right = false;  // of numbers
  int drop = 0;        // on a narrow terminal columns go, the highest first; 0: never
};

struct EventLine {
  uint64_t at = 0;                 // CLOCK_MONOTONIC
  std::vector<std::string> cells;  // as many as there are columns; "" where nothing is known
  nlohmann::ordered_json fields;   // the same for programs; null where nothing is known
};

}  // namespace jobscope
