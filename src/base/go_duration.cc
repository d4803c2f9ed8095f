#include "src/base/go_duration.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

namespace jobscope {

std::optional<std::chrono::nanoseconds> parse_go_duration(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"ns", 1},   {"us", 1e3},  {"µs", 1e3},
                                                            {"μs", 1e3}, {"ms", 1e6},  {"s", 1e9},
                                                            {"m", 60e9}, {"h", 3600e9}};
  if (text == "0") return std::chrono::nanoseconds(0);
  double sum = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + digits, number);
    if (digits == 0 || error != std::errc() || end != text.data() + digits) return std::nullopt;
    text.remove_prefix(digits);
    const size_t letters = std::min(text.find_first_of("0123456789."), text.size());
    const auto* unit = std::find_if(std::begin(kUnits), std::end(kUnits), [&](const auto& u) {
      return u.first == text.substr(0, letters);
    });
    if (unit == std::end(kUnits)) return std::nullopt;
    sum += number * unit->second;
    text.remove_prefix(letters);
  }
  if (sum >= 9.2e18) return std::nullopt;
  return std::chrono::nanoseconds(static_cast<int64_t>(std::llround(sum)));
}

}  // namespace jobscope
