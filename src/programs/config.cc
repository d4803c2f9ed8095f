#include "src/programs/config.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>

namespace jobscope {
namespace {

constexpr size_t kMostBytes = 1 << 20;
constexpr size_t kMostItems = 100'000;  // of all lists and maps, those that aliases repeat counted
constexpr uint32_t kMostKeyBytes = 1 << 16;  // of a label; the kernel's own limit of a key is less

std::string at(const std::string& path, const YAML::Mark& mark) {
  return mark.is_null() ? path : fmt::format("{}:{}", path, mark.line + 1);
}

// Reads nodes of one file; what it refuses is told with the line.
class Reader {
 public:
  Reader(const std::string& path, std::vector<std::string>& warnings)
      : path_(path), warnings_(warnings) {}

  tl::unexpected<Error> wrong(const YAML::Node& node, const std::string& what,
                              std::string hint = {}) const {
    return fail(at(path_, node.Mark()) + ": " + what, std::move(hint));
  }

  // `where` names the mapping in messages. Keys that are not among `known` become warnings.
  Result<> check_keys(const YAML::Node& map, const std::string& where,
                      std::initializer_list<std::string_view> known) {
    if (!map.IsMap()) return wrong(map, where + " must be a mapping (key: value)");
    std::set<std::string> seen;
    for (const auto& entry : map) {
      const std::string key = TRY(scalar(entry.first, "a key of " + where));
      if (!seen.insert(key).second)
        return wrong(entry.first, fmt::format("{} has '{}' twice", where, key));
      if (std::find(known.begin(), known.end(), key) == known.end())
        warnings_.push_back(at(path_, entry.first.Mark()) +
                            fmt::format(": '{}' of {} means nothing and is ignored", key, where));
    }
    return {};
  }

  Result<std::string> scalar(const YAML::Node& node, const std::string& what) const {
    if (!node.IsScalar()) return wrong(node, what + " must be plain text");
    return node.Scalar();
  }

  // "" if it is not there.
  Result<std::string> text(const YAML::Node& map, const char* key, const std::string& where) const {
    const YAML::Node node = map[key];
    if (!node || node.IsNull()) return std::string();
    return scalar(node, fmt::format("'{}' of {}", key, where));
  }

  Result<std::string> needed_text(const YAML::Node& map, const char* key,
                                  const std::string& where) const {
    std::string value = TRY(text(map, key, where));
    if (value.empty()) return wrong(map, fmt::format("{} has no {}", where, key));
    return value;
  }

  template <class T>
  Result<T> value(const YAML::Node& map, const char* key, T otherwise, const std::string& where,
                  const char* kind) const {
    const YAML::Node node = map[key];
    if (!node || node.IsNull()) return otherwise;
    T result{};
    if (!node.IsScalar() || !YAML::convert<T>::decode(node, result))
      return wrong(node, fmt::format("'{}' of {} must be {}", key, where, kind));
    return result;
  }

  // Empty if it is not there.
  Result<YAML::Node> list(const YAML::Node& map, const char* key, const std::string& where) {
    const YAML::Node node = map[key];
    if (!node || node.IsNull()) return YAML::Node(YAML::NodeType::Sequence);
    if (!node.IsSequence())
      return wrong(node, fmt::format("'{}' of {} must be a list", key, where));
    TRY(count_items(node));
    return node;
  }

  // Aliases make much out of little: what a file comes to is bounded, and not only its bytes.
  Result<> count_items(const YAML::Node& node) {
    items_ += node.size();
    if (items_ > kMostItems)
      return wrong(node, fmt::format("the file comes to more than {} items", kMostItems));
    return {};
  }

  Result<std::vector<std::string>> texts(const YAML::Node& map, const char* key,
                                         const std::string& where) {
    std::vector<std::string> found;
    for (const auto& item : TRY(list(map, key, where)))
      found.push_back(TRY(scalar(item, fmt::format("each of '{}' of {}", key, where))));
    return found;
  }

 private:
  const std::string& path_;
  std::vector<std::string>& warnings_;
  size_t items_ = 0;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// May begin with a digit: the names of metrics get something put in front.
bool is_name(std::string_view name) {
  const auto letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [&](char c) { return letter(c) || c == '_' || is_digit(c); });
}

class ConfigParser {
 public:
  ConfigParser(const std::string& path, ProgramConfig& config)
      : config_(config), reader_(path, config.warnings) {}

  Result<> parse(const YAML::Node& root) {
    if (!root.IsMap())
      return reader_.wrong(root, "the file must be a mapping with 'metrics' or 'tracing'");
    if (root["programs"])
      return reader_.wrong(root["programs"],
                           "this is a configuration of ebpf_exporter v1, which BCC ran",
                           "write its C code into NAME.bpf.c (libbpf, CO-RE), and its metrics into "
                           "NAME.yaml under 'metrics': 'table' becomes 'name'");
    TRY(reader_.check_keys(
        root, "the file",
        {"name", "metrics", "tracing", "kaddrs", "cgroup_id_map", "alternatives"}));
    if (const YAML::Node metrics = root["metrics"]; metrics && !metrics.IsNull()) {
      const std::string where = "'metrics'";
      TRY(reader_.check_keys(metrics, where, {"counters", "gauges", "histograms"}));
      for (const auto& item : TRY(reader_.list(metrics, "counters", where))) TRY(counter(item));
      for (const auto& item : TRY(reader_.list(metrics, "gauges", where))) TRY(gauge(item));
      for (const auto& item : TRY(reader_.list(metrics, "histograms", where))) TRY(histogram(item));
    }
    if (const YAML::Node tracing = root["tracing"]; tracing && !tracing.IsNull()) {
      TRY(reader_.check_keys(tracing, "'tracing'", {"spans"}));
      for (const auto& item : TRY(reader_.list(tracing, "spans", "'tracing'"))) TRY(span(item));
    }
    config_.kaddrs = TRY(reader_.texts(root, "kaddrs", "the file"));
    if (const YAML::Node map = root["cgroup_id_map"]; map && !map.IsNull()) TRY(cgroup_id_map(map));
    for (const auto& item : TRY(reader_.list(root, "alternatives", "the file")))
      TRY(alternatives(item));
    if (config_.counters.empty() && config_.histograms.empty() && config_.spans.empty())
      return reader_.wrong(root, "there are no counters, gauges, histograms or spans");
    return {};
  }

 private:
  Result<std::string> metric_name(const YAML::Node& node, const char* kind) {
    std::string name = TRY(reader_.needed_text(node, "name", std::string("a ") + kind));
    if (!is_name(name))
      return reader_.wrong(node["name"],
                           fmt::format("'{}' is no name of a metric: letters, digits and _", name));
    if (!names_.insert(name).second)
      return reader_.wrong(node["name"], fmt::format("there are two metrics '{}'", name));
    return name;
  }

  Result<> counter(const YAML::Node& node) {
    TRY(reader_.check_keys(
        node, "a counter",
        {"name", "help", "perf_event_array", "flush_interval", "labels", "multiplier"}));
    CounterConfig counter;
    counter.name = TRY(metric_name(node, "counter"));
    const std::string where = "counter '" + counter.name + "'";
    counter.help = TRY(reader_.needed_text(node, "help", where));
    counter.perf_event_array =
        TRY(reader_.value(node, "perf_event_array", false, where, "true or false"));
    const std::string interval = TRY(reader_.text(node, "flush_interval", where));
    if (!interval.empty()) {
      const auto parsed = parse_go_duration(interval);
      if (!parsed || parsed->count() <= 0)
        return reader_.wrong(
            node["flush_interval"],
            fmt::format("'flush_interval' of {} must be a duration, as 10s or 1h", where));
      counter.flush_interval = *parsed;
    }
    counter.multiplier = TRY(multiplier(node, "multiplier", where));
    counter.labels = TRY(labels(node, where));
    config_.counters.push_back(std::move(counter));
    return {};
  }

  Result<> gauge(const YAML::Node& node) {
    TRY(reader_.check_keys(node, "a gauge", {"name", "help", "labels", "multiplier"}));
    CounterConfig gauge;
    gauge.gauge = true;
    gauge.name = TRY(metric_name(node, "gauge"));
    const std::string where = "gauge '" + gauge.name + "'";
    gauge.help = TRY(reader_.needed_text(node, "help", where));
    gauge.multiplier = TRY(multiplier(node, "multiplier", where));
    gauge.labels = TRY(labels(node, where));
    config_.counters.push_back(std::move(gauge));
    return {};
  }

  Result<> alternatives(const YAML::Node& node) {
    if (!node.IsSequence() || node.size() < 2)
      return reader_.wrong(node,
                           "each of 'alternatives' must be a list of two BPF functions or "
                           "more, the best first");
    std::vector<std::string> names;
    for (const auto& item : node) {
      names.push_back(TRY(reader_.scalar(item, "each name of 'alternatives'")));
      if (!in_alternatives_.insert(names.back()).second)
        return reader_.wrong(item, fmt::format("'{}' is twice among 'alternatives'", names.back()));
    }
    config_.alternatives.push_back(std::move(names));
    return {};
  }

  Result<> histogram(const YAML::Node& node) {
    TRY(reader_.check_keys(node, "a histogram",
                           {"name", "help", "bucket_type", "bucket_min", "bucket_max",
                            "bucket_keys", "bucket_multiplier", "labels"}));
    HistogramConfig histogram;
    histogram.name = TRY(metric_name(node, "histogram"));
    const std::string where = "histogram '" + histogram.name + "'";
    histogram.help = TRY(reader_.needed_text(node, "help", where));
    histogram.type = TRY(bucket_type(node, where));
    constexpr const char* kWhole = "a whole number";
    histogram.min = TRY(reader_.value<int64_t>(node, "bucket_min", 0, where, kWhole));
    histogram.max = TRY(reader_.value<int64_t>(node, "bucket_max", 0, where, kWhole));
    for (const auto& item : TRY(reader_.list(node, "bucket_keys", where))) {
      double key = 0;
      if (!item.IsScalar() || !YAML::convert<double>::decode(item, key) || !std::isfinite(key))
        return reader_.wrong(item,
                             fmt::format("each of 'bucket_keys' of {} must be a number", where));
      histogram.keys.push_back(key);
    }
    histogram.multiplier = TRY(multiplier(node, "bucket_multiplier", where));
    histogram.labels = TRY(labels(node, where));
    for (size_t i = 0; i + 1 < histogram.labels.size(); ++i)  // the last is no label: the bucket
      if (histogram.labels[i].name == kBoundLabel)
        return reader_.wrong(node["labels"], where + " has a label 'le'",
                             "that is the label of its buckets' bounds: choose another name");
    config_.histograms.push_back(std::move(histogram));
    return {};
  }

  // 0 means 1, as in ebpf_exporter.
  Result<double> multiplier(const YAML::Node& node, const char* key,
                            const std::string& where) const {
    const double value = TRY(reader_.value<double>(node, key, 1, where, "a number"));
    if (!std::isfinite(value))
      return reader_.wrong(node[key], fmt::format("'{}' of {} must be a number", key, where));
    return value == 0 ? 1 : value;
  }

  Result<BucketType> bucket_type(const YAML::Node& node, const std::string& where) const {
    const std::string type = TRY(reader_.needed_text(node, "bucket_type", where));
    if (type == "exp2") return BucketType::exp2;
    if (type == "exp2zero") return BucketType::exp2zero;
    if (type == "linear") return BucketType::linear;
    if (type == "fixed") return BucketType::fixed;
    return reader_.wrong(node["bucket_type"],
                         fmt::format("'bucket_type' of {} is '{}'", where, type),
                         "it is one of exp2, exp2zero, linear, fixed");
  }

  Result<> span(const YAML::Node& node) {
    TRY(reader_.check_keys(node, "a span", {"ringbuf", "name", "service", "labels"}));
    SpanConfig span;
    span.ringbuf = TRY(reader_.needed_text(node, "ringbuf", "a span"));
    span.name = TRY(reader_.text(node, "name", "a span"));
    if (span.name.empty()) span.name = span.ringbuf;
    const std::string where = "span '" + span.name + "'";
    span.service = TRY(reader_.text(node, "service", where));
    span.labels = TRY(labels(node, where));
    config_.spans.push_back(std::move(span));
    return {};
  }

  Result<> cgroup_id_map(const YAML::Node& node) {
    const std::string where = "'cgroup_id_map'";
    TRY(reader_.check_keys(node, where, {"name", "type", "regexps"}));
    CgroupIdMapConfig map;
    map.name = TRY(reader_.needed_text(node, "name", where));
    const std::string type = TRY(reader_.text(node, "type", where));
    if (!type.empty() && type != "hash" && type != "cgrp_storage")
      return reader_.wrong(node["type"], fmt::format("'type' of {} is '{}'", where, type),
                           "it is hash or cgrp_storage");
    map.cgroup_storage = type == "cgrp_storage";
    map.regexps = TRY(reader_.texts(node, "regexps", where));
    config_.cgroup_id_map = std::move(map);
    return {};
  }

  Result<std::vector<LabelConfig>> labels(const YAML::Node& node, const std::string& of) {
    std::vector<LabelConfig> found;
    std::set<std::string> names;
    for (const auto& item : TRY(reader_.list(node, "labels", of))) {
      TRY(reader_.check_keys(item, "a label of " + of,
                             {"name", "size", "padding", "decoders", "job"}));
      LabelConfig label;
      label.name = TRY(reader_.needed_text(item, "name", "a label of " + of));
      const std::string where = fmt::format("label '{}' of {}", label.name, of);
      if (!is_label_name(label.name))
        return reader_.wrong(item["name"], fmt::format("'{}' is no name of a label", label.name));
      if (!names.insert(label.name).second)
        return reader_.wrong(item["name"], fmt::format("{} has two labels '{}'", of, label.name));
      label.size = TRY(bytes(item, "size", where));
      label.padding = TRY(bytes(item, "padding", where));
      if (item["size"] && label.size == 0)
        return reader_.wrong(item["size"], where +
                                               " has the size 0: leave 'size' out to have it "
                                               "taken from the key's type");
      for (const auto& one : TRY(reader_.list(item, "decoders", where)))
        label.decoders.push_back(TRY(decoder(one, where)));
      label.job = TRY(job_key(item, where));
      found.push_back(std::move(label));
    }
    return found;
  }

  Result<JobKey> job_key(const YAML::Node& node, const std::string& where) const {
    const std::string job = TRY(reader_.text(node, "job", where));
    if (job.empty()) return JobKey::none;
    if (job == "pid" || job == "tgid") return JobKey::process;
    if (job == "cgroup_id") return JobKey::cgroup;
    return reader_.wrong(node["job"], fmt::format("'job' of {} is '{}'", where, job),
                         "it is one of pid, tgid, cgroup_id");
  }

  Result<uint32_t> bytes(const YAML::Node& node, const char* key, const std::string& where) const {
    const auto value = TRY(reader_.value<int64_t>(node, key, 0, where, "a number of bytes"));
    if (value < 0 || value > kMostKeyBytes)
      return reader_.wrong(node[key], fmt::format("'{}' of {} is {}: it must be from 0 to {}", key,
                                                  where, value, kMostKeyBytes));
    return static_cast<uint32_t>(value);
  }

  Result<DecoderConfig> decoder(const YAML::Node& node, const std::string& of) {
    const std::string where = "a decoder of " + of;
    TRY(reader_.check_keys(node, where, {"name", "static_map", "regexps", "allow_unknown"}));
    DecoderConfig decoder;
    decoder.name = TRY(reader_.needed_text(node, "name", where));
    decoder.allow_unknown =
        TRY(reader_.value(node, "allow_unknown", false, where, "true or false"));
    decoder.regexps = TRY(reader_.texts(node, "regexps", where));
    const YAML::Node map = node["static_map"];
    if (!map || map.IsNull()) return decoder;
    if (!map.IsMap()) return reader_.wrong(map, "'static_map' of " + where + " must be a mapping");
    TRY(reader_.count_items(map));
    decoder.has_static_map = true;
    for (const auto& entry : map)
      decoder.static_map[TRY(reader_.scalar(entry.first, "a key of 'static_map'"))] =
          TRY(reader_.scalar(entry.second, "a value of 'static_map'"));
    return decoder;
  }

  ProgramConfig& config_;
  Reader reader_;
  std::set<std::string> names_, in_alternatives_;
};

}  // namespace

bool is_label_name(std::string_view name) {
  return is_name(name) && !is_digit(name.front()) && !name.starts_with("__");
}

Result<ProgramConfig> parse_program_config(const std::string& name, std::string_view yaml,
                                           const std::string& path) {
  if (yaml.size() > kMostBytes)
    return fail(
        fmt::format("{}: the file has {} bytes, more than {}", path, yaml.size(), kMostBytes));
  ProgramConfig config;
  config.name = name;
  try {  // yaml-cpp's exceptions end here
    TRY(ConfigParser(path, config).parse(YAML::Load(std::string(yaml))));
  } catch (const YAML::Exception& error) {
    return fail(at(path, error.mark) + ": " + error.msg);
  }
  return config;
}

}  // namespace jobscope
