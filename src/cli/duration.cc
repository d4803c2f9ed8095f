#include "src/cli/duration.h"

#include <array>
#include <charconv>
#include <string_view>

namespace jobscope {
namespace {

struct Unit {
  std::string_view name;
  double ns;
};
constexpr std::array<Unit, 7> kUnits{
    {{"", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}}};
constexpr double kMost = 366 * 86400e9;

}  // namespace

Result<uint64_t> parse_duration(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  for (const Unit& known : kUnits) {
    if (error != std::errc() || unit != known.name) continue;
    const double ns = value * known.ns;
    if (ns >= 1 && ns <= kMost) return static_cast<uint64_t>(ns);
  }
  return fail("'" + text + "' is not a length of time", "write it as 30s, 1.5m, 500ms or 2h");
}

}  // namespace jobscope
