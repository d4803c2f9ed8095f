#include "src/programs/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace jobscope {
namespace {

constexpr std::string_view kPrefix = "ebpf_exporter_";
constexpr std::string_view kOnlyKey("\0\0\0\0", 4);
constexpr int64_t kMostBuckets = 4096;
constexpr uint32_t kNowhere = ~0u;
constexpr uint64_t kChangesAfter = 10'000'000'000;   // ns: what may change is asked again
constexpr uint64_t kRetiredFor = 3'600'000'000'000;  // ns: a job without rows is forgotten
constexpr size_t kSpare = 1024;  // keys and series that are gone, before they are forgotten

Result<double> bucket_key(const std::string& text) {
  int64_t key = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), key);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    return fail(
        fmt::format("the bucket's key '{}' is no integer: its decoder should be 'uint'", text));
  return static_cast<double>(key);
}

double bound_of(BucketType type, int64_t key) {
  const auto number = static_cast<double>(key);
  if (type == BucketType::exp2) return std::exp2(number);
  if (type == BucketType::exp2zero) return key == 0 ? 0 : std::exp2(number - 1);
  return number;
}

// The keys of the buckets with their upper bounds, ascending.
Result<std::vector<std::pair<double, double>>> buckets_of(const HistogramConfig& config) {
  std::vector<std::pair<double, double>> buckets;
  if (config.type == BucketType::fixed) {
    if (config.keys.empty()) return fail("bucket_keys is empty");
    for (const double key : config.keys) buckets.emplace_back(key, key * config.multiplier);
    return buckets;
  }
  if (config.max <= config.min) return fail("bucket_max must be more than bucket_min");
  if (config.max - config.min >= kMostBuckets)
    return fail(fmt::format("more than {} buckets", kMostBuckets));
  for (int64_t key = config.min; key <= config.max; ++key)
    buckets.emplace_back(static_cast<double>(key), bound_of(config.type, key) * config.multiplier);
  return buckets;
}

std::optional<LabelConfig> process_label(const std::vector<LabelConfig>& labels) {
  for (const LabelConfig& label : labels)
    if (label.job == JobKey::process) return label;
  return std::nullopt;
}

// One text of several, such that others make another.
std::string joined(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) {
    const auto size = static_cast<uint32_t>(value.size());
    text.append(reinterpret_cast<const char*>(&size), sizeof(size)).append(value);
  }
  return text;
}

}  // namespace

Result<Series> Series::of_counter(const CounterConfig& config, const MapShape& shape,
                                  const DecoderSources& sources, SeriesLimits limits) {
  Series series;
  series.empty_ = {std::string(kPrefix) + config.name,
                   config.help,
                   config.gauge ? MetricType::gauge : MetricType::counter,
                   {},
                   {}};
  series.limits_ = limits;
  series.signed_ = config.gauge && shape.signed_value;
  series.multiplier_ = config.multiplier;
  series.labelled_ = !config.labels.empty();
  if (!config.gauge) series.process_ = process_label(config.labels);
  series.by_cpu_ = shape.per_cpu && series.labelled_ && config.labels.back().name == "cpu";
  uint32_t size = shape.key_size;
  if (series.by_cpu_) size = (config.labels.size() == 1 ? 0 : size) + sizeof(uint16_t);
  series.decoder_ = TRY(KeyDecoder::make(config.labels, size, sources));
  return series;
}

Result<Series> Series::of_histogram(const HistogramConfig& config, const MapShape& shape,
                                    const DecoderSources& sources, SeriesLimits limits) {
  Series series;
  series.empty_ = {std::string(kPrefix) + config.name, config.help, MetricType::histogram, {}, {}};
  series.limits_ = limits;
  series.labelled_ = true;
  series.process_ = process_label(config.labels);
  if (config.labels.empty() || config.labels.back().decoders.empty() ||
      config.labels.back().job != JobKey::none)
    return fail("the last label must be the bucket's key");
  series.decoder_ = TRY(KeyDecoder::make(config.labels, shape.key_size, sources));
  const std::vector<std::string>& names = series.decoder_.names();
  if (std::find(names.begin(), names.end() - 1, kBoundLabel) != names.end() - 1)
    return fail("a label of a histogram cannot be called 'le'",
                "that is the label of its buckets' bounds: choose another name");
  series.buckets_ = TRY(buckets_of(config));
  series.sum_key_ = series.buckets_.back().first + 1;
  series.multiplier_ = config.multiplier;
  return series;
}

void Series::begin(uint64_t now) {
  for (auto& [name, retired] : retired_)
    if (const auto group = index_.find(name);
        group != index_.end() && groups_[group->second].rows_in == reading_)
      retired.last = now_;
  const bool changed = !decoder_.lasting() && now - cached_since_ > kChangesAfter;
  if (changed || cache_.size() > 2 * rows_ + kSpare || groups_.size() > 2 * living_ + kSpare ||
      (groups_.size() >= limits_.series && living_ < groups_.size())) {
    forget();
    cached_since_ = now;
  }
  ++reading_;
  now_ = now;
  rows_ = living_ = 0;
  restore_retired();
}

void Series::restore_retired() {
  for (auto each = retired_.begin(); each != retired_.end();) {
    Retired& retired = each->second;
    const uint32_t number = group_of(retired.values);
    if (now_ - retired.last > kRetiredFor) {
      each = retired_.erase(each);
      continue;
    }
    if (number != kNowhere) {
      groups_[number].reading = reading_;
      groups_[number].counts = retired.counts;
      ++living_;
    }
    ++each;
  }
}

std::optional<uint32_t> Series::process_of(std::string_view key) const {
  uint64_t number = 0;
  if (!process_ || process_->size > sizeof(number) ||
      process_->offset + process_->size > key.size())
    return std::nullopt;
  key.copy(reinterpret_cast<char*>(&number), process_->size, process_->offset);
  return static_cast<uint32_t>(number);
}

Result<> Series::retire(std::string_view key, std::span<const uint64_t> values) {
  return add_row(key, values, process_ && process_->decoders.empty());
}

void Series::keep(const Group& group, uint32_t slot, uint64_t value) {
  Retired& retired = retired_[joined(group.values)];
  if (retired.counts.empty())
    retired = {group.values, std::vector<uint64_t>(group.counts.size()), 0};
  retired.counts[slot] += value;
  retired.last = now_;
}

void Series::forget() {
  cache_.clear();
  index_.clear();
  groups_.clear();
  sorted_.clear();
}

Result<> Series::add(std::string_view key, std::span<const uint64_t> values) {
  return add_row(key, values, false);
}

Result<> Series::add_row(std::string_view key, std::span<const uint64_t> values, bool last) {
  if (!labelled_ && key != kOnlyKey) return {};
  if (!by_cpu_)
    return add_value(key, std::accumulate(values.begin(), values.end(), uint64_t{0}), last);
  with_cpu_.assign(decoder_.size() == sizeof(uint16_t) ? key.substr(0, 0) : key);
  const size_t end = with_cpu_.size();
  for (size_t cpu = 0; cpu < values.size(); ++cpu) {
    const auto number = static_cast<uint16_t>(cpu);
    with_cpu_.resize(end);
    with_cpu_.append(reinterpret_cast<const char*>(&number), sizeof(number));
    TRY(add_value(with_cpu_, values[cpu], last));
  }
  return {};
}

Result<> Series::add_value(std::string_view key, uint64_t value, bool last) {
  ++rows_;
  auto known = cache_.find(key);
  Row row{};
  if (known != cache_.end()) {
    row = known->second;
    if (last) cache_.erase(known);
  } else {
    row = TRY(decode(key));
    if (!last && row.series != kNowhere && cache_.size() < limits_.cached_keys)
      cache_.emplace(std::string(key), row);
  }
  if (row.slot == kNowhere) return {};
  Group& group = groups_[row.series];
  if (group.reading != reading_) {
    group.reading = reading_;
    std::fill(group.counts.begin(), group.counts.end(), 0);
    ++living_;
  }
  group.rows_in = reading_;
  group.counts[row.slot] += value;
  if (last) keep(group, row.slot, value);
  return {};
}

// Labels that may not have a series of their own are not remembered: another may go.
Result<Series::Row> Series::decode(std::string_view key) {
  constexpr Row kSkipped{0, kNowhere}, kDropped{kNowhere, kNowhere};
  auto values = TRY(decoder_.decode(key));
  if (!values) return kSkipped;
  uint32_t slot = 0;
  if (!buckets_.empty()) {
    const double bucket = TRY(bucket_key(values->back()));
    values->pop_back();
    const auto found = std::find_if(buckets_.begin(), buckets_.end(),
                                    [&](const auto& b) { return b.first == bucket; });
    slot = static_cast<uint32_t>(found - buckets_.begin());
    if (found == buckets_.end() && bucket != sum_key_) ++slot;  // the one that nobody reads
  }
  const uint32_t group = group_of(std::move(*values));
  if (group != kNowhere) return Row{group, slot};
  ++dropped_rows_;
  return kDropped;
}

uint32_t Series::group_of(std::vector<std::string> values) {
  const std::string name = joined(values);
  if (const auto found = index_.find(name); found != index_.end()) return found->second;
  if (groups_.size() >= limits_.series) return kNowhere;
  const auto number = static_cast<uint32_t>(groups_.size());
  const size_t slots = buckets_.empty() ? 1 : buckets_.size() + 2;
  groups_.push_back({std::move(values), reading_ - 1, 0, std::vector<uint64_t>(slots)});
  index_.emplace(name, number);
  return number;
}

void Series::sort_groups() {
  if (sorted_.size() == groups_.size()) return;
  sorted_.resize(groups_.size());
  std::iota(sorted_.begin(), sorted_.end(), 0);
  std::sort(sorted_.begin(), sorted_.end(),
            [this](uint32_t a, uint32_t b) { return groups_[a].values < groups_[b].values; });
}

HistogramSample Series::histogram_sample(const Group& group) const {
  HistogramSample sample;
  uint64_t count = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    count += group.counts[i];
    sample.buckets.emplace_back(buckets_[i].second, static_cast<double>(count));
  }
  std::sort(sample.buckets.begin(), sample.buckets.end());  // `fixed` keys come in any order
  // One of each bound: numbers too large or too small for a double are the same.
  const auto repeated =
      std::unique(sample.buckets.rbegin(), sample.buckets.rend(),
                  [](const auto& a, const auto& b) { return a.first == b.first; });
  sample.buckets.erase(sample.buckets.begin(), repeated.base());
  sample.count = static_cast<double>(count);
  sample.sum = static_cast<double>(group.counts[buckets_.size()]) * multiplier_;
  return sample;
}

MetricFamily Series::family() {
  sort_groups();
  MetricFamily family = empty_;
  const std::vector<std::string>& names = decoder_.names();
  for (const uint32_t number : sorted_) {
    const Group& group = groups_[number];
    if (group.reading != reading_) continue;
    Labels labels;
    labels.reserve(group.values.size());
    for (size_t i = 0; i < group.values.size(); ++i) labels.emplace_back(names[i], group.values[i]);
    if (!buckets_.empty()) {
      family.histograms.push_back(histogram_sample(group));
      family.histograms.back().labels = std::move(labels);
      continue;
    }
    const uint64_t count = group.counts[0];
    const double value =
        signed_ ? static_cast<double>(static_cast<int64_t>(count)) : static_cast<double>(count);
    family.samples.push_back({std::move(labels), value * multiplier_});
  }
  return family;
}

}  // namespace jobscope
