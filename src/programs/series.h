// From the rows of a program's map to the series of a metric, by ebpf_exporter's rules.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/base/result.h"
#include "src/model/metric.h"
#include "src/programs/config.h"
#include "src/programs/decoder.h"

namespace jobscope {

// What the kernel says of a map.
struct MapShape {
  uint32_t key_size = 0;      // bytes
  bool per_cpu = false;       // a value for each CPU
  bool signed_value = false;  // of a gauge
};

struct SeriesLimits {
  size_t series = 50'000;        // of one metric; rows of others are counted as dropped
  size_t cached_keys = 200'000;  // whose labels are remembered
};

// The series of one metric. Rows that decode to the same labels are added together, those that a
// regexp does not match are left out.
//
// A counter or gauge without labels: only the row with the key 0 (4 bytes) counts. A last label
// named `cpu` (2 bytes) in a map with a value for each CPU makes one series for each.
//
// A histogram's last label is the bucket's key, an integer. Its buckets are cumulative, from the
// first to the last, 0 where there is no row; the value of the key after the last is the sum. Keys
// outside are left out.
//
// Rows of processes that have ended are retired by whoever reads the map: of labels with `job` in
// the process's place the job keeps their sum, for an hour after its last row.
//
// What keys decode to is remembered between readings, in bounded memory; that of decoders whose
// answer may change, for some seconds. Not for use from several threads at once.
class Series {
 public:
  // `config`'s labels are laid out; `sources` must outlive it.
  static Result<Series> of_counter(const CounterConfig& config, const MapShape& shape,
                                   const DecoderSources& sources, SeriesLimits limits = {});
  static Result<Series> of_histogram(const HistogramConfig& config, const MapShape& shape,
                                     const DecoderSources& sources, SeriesLimits limits = {});

  // A reading of the map begins: all values are 0. `now`: CLOCK_MONOTONIC, ns.
  void begin(uint64_t now);
  // A row; `values`: one, or one for each CPU. An error is one of the key: it cannot be decoded.
  Result<> add(std::string_view key, std::span<const uint64_t> values);
  // The process that a row is of, by its label with `job`; empty if there is no such label.
  std::optional<uint32_t> process_of(std::string_view key) const;
  // Whether the job keeps what a process did when its rows go: the process itself is no label.
  bool keeps_sums() const { return process_ && process_->decoders.empty() && !by_cpu_; }
  // The row is to be taken out of the map: as add(), and its job keeps the value for readings to
  // come if the process itself is no label.
  Result<> retire(std::string_view key, std::span<const uint64_t> values);
  // What was added since begin(), in the order of the labels.
  MetricFamily family();

  // Rows that were left out because there are too many series, in all readings.
  uint64_t dropped_rows() const { return dropped_rows_; }
  size_t cached_keys() const { return cache_.size(); }

 private:
  struct Row {              // where a key's value goes
    uint32_t series, slot;  // or kNowhere
  };
  struct Group {
    std::vector<std::string> values;
    uint32_t reading = 0;          // the last one that had it
    uint32_t rows_in = 0;          // the last one that had rows of it
    std::vector<uint64_t> counts;  // of a counter one; of a histogram its buckets, then the sum
  };
  struct Hash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the library's name
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  template <class V>
  using ByText = std::unordered_map<std::string, V, Hash, std::equal_to<>>;

  Series() = default;
  struct Retired {
    std::vector<std::string> values;
    std::vector<uint64_t> counts;  // as of a group
    uint64_t last = 0;             // ns: when there was a row of it
  };
  // `last`: the row is to go, and its job keeps the value.
  Result<> add_row(std::string_view key, std::span<const uint64_t> values, bool last);
  Result<> add_value(std::string_view key, uint64_t value, bool last);
  void keep(const Group& group, uint32_t slot, uint64_t value);
  void restore_retired();
  Result<Row> decode(std::string_view key);
  uint32_t group_of(std::vector<std::string> values);
  void sort_groups();
  void forget();
  HistogramSample histogram_sample(const Group& group) const;

  MetricFamily empty_;  // name, help and type
  KeyDecoder decoder_;
  SeriesLimits limits_;
  bool labelled_ = false, by_cpu_ = false, signed_ = false;
  std::optional<LabelConfig> process_;              // the label with `job`
  std::vector<std::pair<double, double>> buckets_;  // key and upper bound
  double sum_key_ = 0, multiplier_ = 1;

  uint32_t reading_ = 0;
  uint64_t now_ = 0;           // ns: of the reading
  uint64_t cached_since_ = 0;  // ns
  size_t rows_ = 0;            // of the current reading
  size_t living_ = 0;          // groups of the current reading
  ByText<Row> cache_;          // by key
  ByText<uint32_t> index_;     // of groups, by their values
  ByText<Retired> retired_;    // the same
  std::vector<Group> groups_;
  std::vector<uint32_t> sorted_;  // groups in the order of their values
  std::string with_cpu_;
  uint64_t dropped_rows_ = 0;
};

}  // namespace jobscope
