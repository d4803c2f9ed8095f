// Log2 histograms as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "src/model/histogram.h"
#include "src/output/terminal.h"

namespace jobscope {

// In what a histogram's slots are; its sum and max are in µs always.
enum class SlotUnit { us, ms };

// The value below which a share of all lies, in µs: right to within its slot, never above the max.
double quantile_us(const Histogram& histogram, SlotUnit unit, double q);

// A line for each slot from the first to the last that is not empty, with a bar, under a heading;
// then count, p50, p99 and max. Nothing for an empty histogram.
std::vector<std::string> histogram_lines(const Histogram& histogram, SlotUnit unit,
                                         const TextStyle& style);

// {"count", "p50", "p99", "max", "sum", "buckets": {exclusive upper bound: count}} in that unit, as
// docs/reports.md has it.
nlohmann::ordered_json histogram_json(const Histogram& histogram, SlotUnit unit);

// "431 µs", "1.23 ms", "2.5 s": three figures.
std::string short_time(double us);

}  // namespace jobscope
