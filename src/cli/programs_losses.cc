#include "src/cli/programs_losses.h"

namespace jobscope {
namespace {

Sample sample(uint64_t value, Labels labels = {}) {
  return {std::move(labels), static_cast<double>(value)};
}

}  // namespace

std::vector<MetricFamily> losses_of(const CgroupTree* cgroups, const Births* births,
                                    const OtlpExporter* exporter) {
  std::vector<MetricFamily> families;
  if (cgroups)
    families.push_back({"jobscope_unknown_cgroups",
                        "Cgroups that could not be learnt or watched: they may have no name.",
                        MetricType::gauge,
                        {sample(cgroups->unwatched())},
                        {}});
  if (births)
    families.push_back({"jobscope_lost_births_total",
                        "Processes whose birth found no room: one that ended soon has no job.",
                        MetricType::counter,
                        {sample(births->lost())},
                        {}});
  if (!exporter) return families;
  const OtlpCounters counters = exporter->counters();
  families.push_back({"jobscope_exported_spans_total",
                      "Spans that the collector took.",
                      MetricType::counter,
                      {sample(counters.exported)},
                      {}});
  families.push_back({"jobscope_dropped_spans_total",
                      "Spans that the collector does not have.",
                      MetricType::counter,
                      {sample(counters.dropped_full, {{"reason", "queue_full"}}),
                       sample(counters.dropped_failed, {{"reason", "not_sent"}}),
                       sample(counters.dropped_rejected, {{"reason", "rejected"}})},
                      {}});
  return families;
}

}  // namespace jobscope
