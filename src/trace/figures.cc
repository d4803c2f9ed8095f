#include "src/trace/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "src/base/text.h"
#include "src/trace/tracer_of.h"

namespace jobscope {
namespace {

std::string three_figures(double value) {
  if (value >= 99.95) return fmt::format("{:.0f}", value);
  return value >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

}  // namespace

std::string time_figure(uint64_t ns) {
  const auto value = static_cast<double>(ns);
  if (value < 999'500) return three_figures(value / 1e3) + " µs";
  if (value < 999'500'000) return three_figures(value / 1e6) + " ms";
  return three_figures(value / 1e9) + " s";
}

std::string bytes_figure(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return unit ? fmt::format("{:.1f} {}", value, kUnits[unit]) : fmt::format("{} B", bytes);
}

std::string signal_text(int signal) {
  if (const char* name = ::sigabbrev_np(signal)) return std::string("SIG") + name;
  if (signal >= 34 && signal <= 64) return fmt::format("SIGRTMIN+{}", signal - 34);
  return fmt::format("signal {}", signal);
}

std::vector<std::string> nearest_names(const std::string& wanted,
                                       const std::vector<std::string>& names, size_t most) {
  const size_t allowed = std::max<size_t>(2, wanted.size() / 4);
  std::vector<std::pair<size_t, std::string>> ranked;
  for (const std::string& name : names) {
    size_t rank = edits_between(wanted, name, allowed);
    if (rank > allowed) {
      const size_t at = wanted.size() < 3 ? std::string::npos : name.find(wanted);
      if (at == std::string::npos) continue;
      rank = allowed + 1 + (at ? 1000 : 0) + (name.size() - wanted.size());
    }
    ranked.emplace_back(rank, name);
  }
  std::ranges::sort(ranked);
  std::vector<std::string> nearest;
  for (const auto& [rank, name] : ranked)
    if (nearest.size() < most && (nearest.empty() || nearest.back() != name))
      nearest.push_back(name);
  return nearest;
}

nlohmann::ordered_json begin_fields(const char* type, const trace_head& head) {
  nlohmann::ordered_json fields;
  fields["type"] = type;
  fields["pid"] = head.pid;
  fields["tid"] = head.tid;
  fields["comm"] = text_of(head.comm);
  return fields;
}

}  // namespace jobscope
