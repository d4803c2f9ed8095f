// Metrics of this process, by the names that Prometheus's client libraries gave them.
#pragma once

#include <string>
#include <vector>

#include "src/model/metric.h"

namespace jobscope {

// process_cpu_seconds_total, process_resident_memory_bytes and so on, and jobscope_build_info.
// `proc` is where /proc/self is looked for; what it does not tell is left out.
std::vector<MetricFamily> self_metrics(const std::string& proc = "/proc");

}  // namespace jobscope
