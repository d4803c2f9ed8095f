#include "src/output/histogram_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace jobscope {
namespace {

constexpr size_t kMostBar = 40;

uint64_t lower_bound_of(size_t slot) { return slot == 0 ? 0 : uint64_t{1} << slot; }
uint64_t upper_bound_of(size_t slot) { return (uint64_t{2} << slot) - 1; }  // inclusive

std::string figures(double value) {
  if (value >= 100) return fmt::format("{:.0f}", value);
  return value >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

}  // namespace

std::string short_time(double us) {
  if (us < 999.5) return fmt::format("{:.0f} µs", us);
  if (us < 999'500) return figures(us / 1e3) + " ms";
  return figures(us / 1e6) + " s";
}

double quantile_us(const Histogram& histogram, SlotUnit unit, double q) {
  if (unit == SlotUnit::us) return histogram.quantile(q);
  Histogram ms = histogram;
  ms.max = histogram.max / 1000 + 1;  // its slot's values are cut to whole ms
  return std::min(ms.quantile(q) * 1000, static_cast<double>(histogram.max));
}

std::vector<std::string> histogram_lines(const Histogram& histogram, SlotUnit unit,
                                         const TextStyle& style) {
  const auto filled = [](uint64_t count) { return count > 0; };
  const auto& slots = histogram.slots;
  const auto first = std::ranges::find_if(slots, filled);
  if (first == slots.end()) return {};
  const auto last = std::find_if(slots.rbegin(), slots.rend(), filled).base();
  const uint64_t most = *std::ranges::max_element(slots);
  const std::string heading = unit == SlotUnit::us ? "µs" : "ms";

  constexpr size_t kBeforeBar = 33;
  const size_t width = std::max(style.width, kLeastWidth);
  const size_t cells = std::min(kMostBar, width > kBeforeBar + 2 ? width - kBeforeBar - 2 : 1);
  std::vector<std::string> lines{printable(fmt::format("{:>20} : count", heading), style)};
  for (auto slot = first; slot != last; ++slot) {
    const auto index = static_cast<size_t>(slot - slots.begin());
    const std::string range =
        index + 1 == Histogram::kSlots
            ? fmt::format("{} and more", lower_bound_of(index))
            : fmt::format("{} -> {}", lower_bound_of(index), upper_bound_of(index));
    const double share = static_cast<double>(*slot) / static_cast<double>(most);
    std::string line = fmt::format("{:>20} : {:<8}", range, *slot);
    if (*slot) line += " " + bar(share, cells, style);
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  const auto at = [&](double q) { return short_time(quantile_us(histogram, unit, q)); };
  lines.push_back(printable(
      fmt::format("  count {} · p50 {} · p99 {} · max {}", histogram.count(), at(0.5), at(0.99),
                  histogram.max < 1000 ? fmt::format("{} µs", histogram.max)
                                       : short_time(static_cast<double>(histogram.max))),
      style));
  return lines;
}

nlohmann::ordered_json histogram_json(const Histogram& histogram, SlotUnit unit) {
  using Json = nlohmann::ordered_json;
  const bool any = histogram.count() > 0;
  const bool us = unit == SlotUnit::us;
  const auto number = [&](uint64_t value) {
    return us ? Json(value) : Json(static_cast<double>(value) / 1000);
  };
  const auto quantile = [&](double q) {
    const double value = quantile_us(histogram, unit, q);
    return any ? Json(us ? std::round(value * 10) / 10 : std::round(value) / 1000) : Json(nullptr);
  };
  Json buckets = Json::object();
  for (size_t i = 0; i < Histogram::kSlots; ++i) {
    if (histogram.slots[i] == 0) continue;
    const bool last = i + 1 == Histogram::kSlots;
    buckets[last ? "+Inf" : std::to_string(upper_bound_of(i) + 1)] = histogram.slots[i];
  }
  Json out;
  out["count"] = histogram.count();
  out["p50"] = quantile(0.5);
  out["p99"] = quantile(0.99);
  out["max"] = any ? number(histogram.max) : Json(nullptr);
  out["sum"] = number(histogram.sum);
  out["buckets"] = std::move(buckets);
  return out;
}

}  // namespace jobscope
