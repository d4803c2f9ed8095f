// From the rows of a program's map to the series of a metric, by ebpf_exporter's rules.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/model/metric.h"
#include "src/programs/config.h"
#include "src/programs/decoder.h"

namespace jobscope {

struct MapRow {
  std::string key;
  std::vector<uint64_t> values;  // one, or one for each CPU
};

// Both: rows that decode to the same labels are added together, those that a regexp does not match
// are left out. `decoder` is that of the metric's labels. A key of another size than its labels is
// an error.
//
// Without labels only the row with the key 0 (4 bytes) counts. A last label named `cpu` (2 bytes)
// in a map with a value for each CPU makes one series for each.
Result<MetricFamily> counter_family(const CounterConfig& config, const KeyDecoder& decoder,
                                    std::span<const MapRow> rows, bool per_cpu);

// The last label is the bucket's key, an integer. Cumulative buckets from the first to the last, 0
// where there is no row; the value of the key after the last is the sum. Keys outside are left out.
Result<MetricFamily> histogram_family(const HistogramConfig& config, const KeyDecoder& decoder,
                                      std::span<const MapRow> rows, bool per_cpu);

}  // namespace jobscope
