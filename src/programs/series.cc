#include "src/programs/series.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <numeric>

namespace jobscope {
namespace {

constexpr std::string_view kPrefix = "ebpf_exporter_";
constexpr std::string_view kOnlyKey("\0\0\0\0", 4);
constexpr int64_t kMostBuckets = 4096;

using LabelValues = std::vector<std::string>;

// Calls f(key, value) for each row, or for each CPU of it.
template <class F>
Result<> for_each_value(const std::vector<LabelConfig>& labels, std::span<const MapRow> rows,
                        bool per_cpu, F f) {
  const bool by_cpu = per_cpu && !labels.empty() && labels.back().name == "cpu";
  for (const MapRow& row : rows) {
    if (!by_cpu) {
      TRY(f(row.key, std::accumulate(row.values.begin(), row.values.end(), uint64_t{0})));
      continue;
    }
    std::string key = labels.size() == 1 && row.key == kOnlyKey ? "" : row.key;
    for (size_t cpu = 0; cpu < row.values.size(); ++cpu) {
      const auto number = static_cast<uint16_t>(cpu);
      std::string with_cpu = key;
      with_cpu.append(reinterpret_cast<const char*>(&number), sizeof(number));
      TRY(f(with_cpu, row.values[cpu]));
    }
  }
  return {};
}

// Of a counter or a histogram.
template <class Config>
MetricFamily empty_family(const Config& config, MetricType type) {
  return {std::string(kPrefix) + config.name, config.help, type, {}, {}};
}

Labels named(const std::vector<LabelConfig>& labels, const LabelValues& values) {
  Labels named;
  for (size_t i = 0; i < values.size(); ++i) named.emplace_back(labels[i].name, values[i]);
  return named;
}

Result<int64_t> bucket_key(const std::string& text) {
  int64_t key = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), key);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    return fail(
        fmt::format("the bucket's key '{}' is no integer: its decoder should be 'uint'", text));
  return key;
}

// The keys of the buckets with their upper bounds, ascending, and the key whose value is the sum.
struct Buckets {
  std::vector<std::pair<int64_t, double>> bounds;
  int64_t sum_key = 0;
};

Result<Buckets> buckets_of(const HistogramConfig& config) {
  Buckets buckets;
  if (config.type == BucketType::fixed) {
    if (config.keys.empty()) return fail("bucket_keys is empty");
    for (const double key : config.keys)
      buckets.bounds.emplace_back(static_cast<int64_t>(key), key * config.multiplier);
    buckets.sum_key = buckets.bounds.back().first + 1;
    return buckets;
  }
  if (config.max <= config.min) return fail("bucket_max must be more than bucket_min");
  if (config.max - config.min >= kMostBuckets)
    return fail(fmt::format("more than {} buckets", kMostBuckets));
  for (int64_t key = config.min; key <= config.max; ++key) {
    const auto number = static_cast<double>(key);
    double bound = number;
    if (config.type == BucketType::exp2) bound = std::exp2(number);
    if (config.type == BucketType::exp2zero) bound = key == 0 ? 0 : std::exp2(number - 1);
    buckets.bounds.emplace_back(key, bound * config.multiplier);
  }
  buckets.sum_key = config.max + 1;
  return buckets;
}

HistogramSample histogram_sample(const HistogramConfig& config, const Buckets& buckets,
                                 const std::map<int64_t, uint64_t>& values) {
  HistogramSample sample;
  for (const auto& [key, bound] : buckets.bounds) {
    if (const auto found = values.find(key); found != values.end())
      sample.count += static_cast<double>(found->second);
    sample.buckets.emplace_back(bound, sample.count);
  }
  if (const auto sum = values.find(buckets.sum_key); sum != values.end())
    sample.sum = static_cast<double>(sum->second) * config.multiplier;
  return sample;
}

}  // namespace

Result<MetricFamily> counter_family(const CounterConfig& config, const KeyDecoder& decoder,
                                    std::span<const MapRow> rows, bool per_cpu) {
  MetricFamily family = empty_family(config, MetricType::counter);
  std::map<LabelValues, uint64_t> sums;
  TRY(for_each_value(config.labels, rows, per_cpu,
                     [&](const std::string& key, uint64_t value) -> Result<> {
                       if (config.labels.empty()) {
                         if (key == kOnlyKey) sums[{}] += value;
                         return {};
                       }
                       if (const auto values = TRY(decoder.decode(key))) sums[*values] += value;
                       return {};
                     }));
  for (const auto& [values, sum] : sums)
    family.samples.push_back({named(config.labels, values), static_cast<double>(sum)});
  return family;
}

Result<MetricFamily> histogram_family(const HistogramConfig& config, const KeyDecoder& decoder,
                                      std::span<const MapRow> rows, bool per_cpu) {
  MetricFamily family = empty_family(config, MetricType::histogram);
  const Buckets buckets = TRY(buckets_of(config));
  std::map<LabelValues, std::map<int64_t, uint64_t>> groups;
  TRY(for_each_value(config.labels, rows, per_cpu,
                     [&](const std::string& key, uint64_t value) -> Result<> {
                       auto values = TRY(decoder.decode(key));
                       if (!values) return {};
                       const int64_t bucket = TRY(bucket_key(values->back()));
                       values->pop_back();
                       groups[*values][bucket] += value;
                       return {};
                     }));
  for (const auto& [values, group] : groups) {
    family.histograms.push_back(histogram_sample(config, buckets, group));
    family.histograms.back().labels = named(config.labels, values);
  }
  return family;
}

}  // namespace jobscope
