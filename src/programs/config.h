// The description of a person's own eBPF program: NAME.yaml, in ebpf_exporter's format (v2).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/go_duration.h"
#include "src/base/result.h"

namespace jobscope {

struct DecoderConfig {
  std::string name;
  std::map<std::string, std::string> static_map;
  bool has_static_map = false;
  std::vector<std::string> regexps;
  bool allow_unknown = false;
};

struct LabelConfig {
  std::string name;
  uint32_t size = 0;     // bytes of the key
  uint32_t padding = 0;  // bytes after them
  std::vector<DecoderConfig> decoders;
};

struct CounterConfig {
  std::string name, help;
  bool perf_event_array = false;
  std::chrono::nanoseconds flush_interval = std::chrono::hours(1);
  std::vector<LabelConfig> labels;
};

enum class BucketType { exp2, exp2zero, linear, fixed };

struct HistogramConfig {
  std::string name, help;
  BucketType type = BucketType::exp2;
  int64_t min = 0, max = 0;  // keys of the first and the last bucket
  std::vector<double> keys;  // of `fixed`
  double multiplier = 1;
  std::vector<LabelConfig> labels;  // the last one is the bucket's key
};

struct SpanConfig {
  std::string ringbuf, name, service;
  std::vector<LabelConfig> labels;
};

struct CgroupIdMapConfig {
  std::string name;
  bool cgroup_storage = false;  // else a hash
  std::vector<std::string> regexps;
};

struct ProgramConfig {
  std::string name;
  std::vector<CounterConfig> counters;
  std::vector<HistogramConfig> histograms;
  std::vector<SpanConfig> spans;
  std::vector<std::string> kaddrs;
  std::optional<CgroupIdMapConfig> cgroup_id_map;
  std::vector<std::string> warnings;  // keys that mean nothing, for the log
};

// `path` is for messages: "PATH:LINE: what is wrong". A file of v1 (2018 to 2022, BCC) is an error
// that says how to convert it.
Result<ProgramConfig> parse_program_config(const std::string& name, std::string_view yaml,
                                           const std::string& path);

}  // namespace jobscope
