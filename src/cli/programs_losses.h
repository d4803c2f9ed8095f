// What `jobscope programs` could not take, as metrics.
#pragma once

#include <vector>

#include "src/base/cgroup_tree.h"
#include "src/model/metric.h"
#include "src/otlp/exporter.h"
#include "src/programs/births.h"

namespace jobscope {

// Each may be null: it is not in use, and has no metrics. From any thread.
std::vector<MetricFamily> losses_of(const CgroupTree* cgroups, const Births* births,
                                    const OtlpExporter* exporter);

}  // namespace jobscope
