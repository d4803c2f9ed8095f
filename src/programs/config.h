// The description of a person's own eBPF program: NAME.yaml, in ebpf_exporter's format (v2), and
// what we add to it (docs/programs.md).
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

// What a label's number says of the job that the row belongs to.
enum class JobKey { none, process, cgroup };

struct LabelConfig {
  std::string name;
  uint32_t size = 0;     // bytes of the key; 0: as the key's type says (src/programs/key_layout.h)
  uint32_t padding = 0;  // bytes after them
  std::vector<DecoderConfig> decoders;  // empty: as the key's type says
  JobKey job = JobKey::none;            // adds the job's labels; without decoders in its own place
  uint32_t offset = 0;                  // of the first byte in the key, once the layout is known
};

// A counter, or a gauge.
struct CounterConfig {
  std::string name, help;
  bool perf_event_array = false;
  std::chrono::nanoseconds flush_interval = std::chrono::hours(1);
  std::vector<LabelConfig> labels;  // none: of the key's type, if it is a struct
  bool gauge = false;
  double multiplier = 1;  // of the map's values
};

enum class BucketType { exp2, exp2zero, linear, fixed };

struct HistogramConfig {
  std::string name, help;
  BucketType type = BucketType::exp2;
  int64_t min = 0, max = 0;  // keys of the first and the last bucket
  std::vector<double> keys;  // of `fixed`
  double multiplier = 1;
  std::vector<LabelConfig> labels;  // the last one is the bucket's key; none: of the key's type
};

struct SpanConfig {
  std::string ringbuf, name, service;  // without a name: that of the ring buffer
  std::vector<LabelConfig> labels;
};

struct CgroupIdMapConfig {
  std::string name;
  bool cgroup_storage = false;  // else a hash
  std::vector<std::string> regexps;
};

// The label of a histogram's bounds, which no other label may be called.
constexpr std::string_view kBoundLabel = "le";

struct ProgramConfig {
  std::string name;
  std::vector<CounterConfig> counters;  // and gauges
  std::vector<HistogramConfig> histograms;
  std::vector<SpanConfig> spans;
  std::vector<std::string> kaddrs;
  std::optional<CgroupIdMapConfig> cgroup_id_map;
  // Of each list of BPF functions the first one that attaches is used.
  std::vector<std::vector<std::string>> alternatives;
  std::vector<std::string> warnings;  // keys that mean nothing, for the log
};

bool is_label_name(std::string_view name);

// `path` is for messages: "PATH:LINE: what is wrong". A file of v1 (2018 to 2022, BCC) is an error
// that says how to convert it.
Result<ProgramConfig> parse_program_config(const std::string& name, std::string_view yaml,
                                           const std::string& path);

}  // namespace jobscope
