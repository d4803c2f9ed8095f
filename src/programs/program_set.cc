#include "src/programs/program_set.h"

#include <fmt/format.h>
#include <bpf/bpf.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "src/base/clock.h"
#include "src/programs/cgroup_id_map.h"
#include "src/programs/key_layout.h"

namespace jobscope {

namespace {

constexpr size_t kMostShown = 10'000;  // rows of a map, to people

// Metrics of our own that have ebpf_exporter's prefix.
constexpr std::string_view kOwnCounters[] = {
    "decoder_errors_total", "ebpf_program_run_time_seconds", "ebpf_program_run_count_total"};
constexpr std::string_view kOwnGauges[] = {"enabled_configs", "ebpf_program_info",
                                           "ebpf_program_attached"};

// The names that its series have in either format.
std::vector<std::string> names_of_counter(std::string name) {
  if (name.ends_with("_total")) return {std::move(name)};
  return {name, name + "_total"};  // in OpenMetrics
}

std::vector<std::string> names_of_histogram(const std::string& name) {
  return {name, name + "_bucket", name + "_sum", name + "_count"};
}

}  // namespace

// One metric and where its values come from.
struct ProgramSet::Metric {
  std::string name;
  std::vector<LabelConfig> labels;
  MetricType type = MetricType::counter;
  std::optional<MapRows> rows;  // of a map; else:
  std::unique_ptr<EventCounter> events;
  std::optional<Series> series;
  std::optional<Error> broken;  // its labels do not fit its map
  std::string last_error;       // logged once
};

struct ProgramSet::Loaded {
  ProgramConfig config;
  std::string path;
  std::unique_ptr<ProgramObject> object;
  std::vector<Metric> metrics;
  std::vector<std::unique_ptr<SpanSource>> spans;
  std::optional<CgroupIdMap> cgroups;
  bool cgroup_failed = false;  // and logged
  uint64_t decoder_errors = 0;
};

ProgramSet::~ProgramSet() = default;

Result<std::unique_ptr<ProgramSet>> ProgramSet::load(std::vector<ProgramFiles> files,
                                                     const DecoderSources& sources,
                                                     Options options) {
  std::unique_ptr<ProgramSet> set(new ProgramSet);
  set->options_ = std::move(options);
  if (set->options_.is_there) set->ended_.emplace(set->options_.is_there);
  const std::string ours = "jobscope's own";
  for (const std::string_view name : kOwnCounters)
    TRY(set->claim(names_of_counter(std::string(name)), ours));
  for (const std::string_view name : kOwnGauges) TRY(set->claim({std::string(name)}, ours));
  for (ProgramFiles& each : files) {
    const std::string path = each.path;
    if (const Result<> added = set->add(std::move(each), sources); !added)
      return tl::unexpected(added.error().context(path));
  }
  return set;
}

Result<> ProgramSet::add(ProgramFiles files, const DecoderSources& sources) {
  for (const auto& other : loaded_)
    if (other->config.name == files.config.name)
      return fail(fmt::format("the configuration '{}' is named twice", files.config.name));
  const std::string of = fmt::format("of configuration '{}'", files.config.name);
  for (const CounterConfig& counter : files.config.counters)
    TRY(claim(counter.gauge ? std::vector{counter.name} : names_of_counter(counter.name),
              fmt::format("{} '{}' {}", counter.gauge ? "gauge" : "counter", counter.name, of)));
  for (const HistogramConfig& histogram : files.config.histograms)
    TRY(claim(names_of_histogram(histogram.name),
              fmt::format("histogram '{}' {}", histogram.name, of)));
  auto loaded = std::make_unique<Loaded>();
  loaded->config = std::move(files.config);
  loaded->path = std::move(files.path);
  auto object = ProgramObject::load(loaded->config, files.object, options_.btf_path);
  if (!object) return tl::unexpected(object.error().context(loaded->config.name + ".bpf.o"));
  loaded->object = std::move(*object);
  const size_t doubts = doubts_.size();
  for (const CounterConfig& counter : loaded->config.counters)
    TRY(add_counter(*loaded, counter, sources));
  for (const HistogramConfig& histogram : loaded->config.histograms)
    TRY(add_histogram(*loaded, histogram, sources));
  for (const SpanConfig& span : loaded->config.spans) TRY(add_span(*loaded, span, sources));
  for (size_t i = doubts; i < doubts_.size(); ++i) doubts_[i] = loaded->path + ": " + doubts_[i];
  loaded_.push_back(std::move(loaded));
  return {};
}

// Two metrics with the same series are an answer that Prometheus refuses as a whole.
Result<> ProgramSet::claim(const std::vector<std::string>& names, const std::string& whose) {
  for (const std::string& name : names) {
    const auto [first, fresh] = claimed_.emplace(name, whose);
    if (!fresh)
      return fail(fmt::format("there would be two metrics ebpf_exporter_{}: {}, and {}", name,
                              first->second, whose),
                  "call one of the two otherwise, or run them apart");
  }
  return {};
}

namespace {

Result<const bpf_map*> map_of(const ProgramObject& object, const std::string& name) {
  const bpf_map* map = object.find_map(name);
  if (!map)
    return fail(
        fmt::format("the object has no map '{}', which the metric of this name needs", name));
  return map;
}

std::string in_one_line(const Error& error) {
  return error.hint.empty() ? error.what : fmt::format("{} ({})", error.what, error.hint);
}

MapShape shape_of(const ProgramObject& object, const bpf_map* map, const MapRows& rows) {
  return {rows.key_size(), rows.per_cpu(), object.has_signed_values(map)};
}

// The label `cpu` of a map with a value for each CPU is not in the key.
std::optional<LabelConfig> take_cpu(std::vector<LabelConfig>& labels, bool per_cpu) {
  if (!per_cpu || labels.empty() || labels.back().name != "cpu") return std::nullopt;
  LabelConfig cpu = std::move(labels.back());
  labels.pop_back();
  cpu.size = sizeof(uint16_t);
  if (cpu.decoders.empty()) cpu.decoders = {{"uint", {}, false, {}, false}};
  return cpu;
}

}  // namespace

Result<> ProgramSet::add_counter(Loaded& loaded, CounterConfig config,
                                 const DecoderSources& sources) {
  const std::string where = fmt::format("{} '{}'", config.gauge ? "gauge" : "counter", config.name);
  auto found = map_of(*loaded.object, config.name);
  if (!found) return tl::unexpected(found.error());
  const bpf_map* map = *found;
  Metric metric;
  metric.name = config.name;
  metric.type = config.gauge ? MetricType::gauge : MetricType::counter;
  Result<> laid_out;
  if (config.perf_event_array) {
    TRY(lay_out(config.labels, {}, where, doubts_));
    auto events =
        EventCounter::open(bpf_map__fd(map), config, sources, options_.limits, monotonic_now());
    if (!events) return tl::unexpected(events.error().context(where));
    metric.events = std::move(*events);
    metric.labels = config.labels;
    loaded.metrics.push_back(std::move(metric));
    return {};
  }
  auto rows = MapRows::of(bpf_map__fd(map));
  if (!rows) return tl::unexpected(rows.error().context(fmt::format("map '{}'", config.name)));
  const MapShape shape = shape_of(*loaded.object, map, *rows);
  metric.rows = std::move(*rows);
  const KeyType key = loaded.object->key_type(map);
  const auto cpu = take_cpu(config.labels, shape.per_cpu);
  if (!config.labels.empty() || (!cpu && is_struct(key)))
    laid_out = lay_out(config.labels, key, where, doubts_);
  if (cpu) {
    const bool alone = config.labels.empty();
    config.labels.push_back(*cpu);
    config.labels.back().offset = alone ? 0 : shape.key_size;
  }
  if (laid_out) {
    auto series = Series::of_counter(config, shape, sources, options_.limits);
    if (!series) return tl::unexpected(series.error().context(where));
    metric.series = std::move(*series);
  } else {
    metric.broken = laid_out.error();
    doubts_.push_back(in_one_line(*metric.broken));
  }
  metric.labels = config.labels;
  loaded.metrics.push_back(std::move(metric));
  return {};
}

Result<> ProgramSet::add_histogram(Loaded& loaded, HistogramConfig config,
                                   const DecoderSources& sources) {
  const std::string where = fmt::format("histogram '{}'", config.name);
  auto found = map_of(*loaded.object, config.name);
  if (!found) return tl::unexpected(found.error());
  auto rows = MapRows::of(bpf_map__fd(*found));
  if (!rows) return tl::unexpected(rows.error().context(fmt::format("map '{}'", config.name)));
  Metric metric;
  metric.name = config.name;
  metric.type = MetricType::histogram;
  const MapShape shape = shape_of(*loaded.object, *found, *rows);
  metric.rows = std::move(*rows);
  const Result<> laid_out = lay_out(config.labels, loaded.object->key_type(*found), where, doubts_);
  auto series = laid_out ? Series::of_histogram(config, shape, sources, options_.limits)
                         : tl::unexpected(laid_out.error());
  if (series) {
    metric.series = std::move(*series);
  } else {
    metric.broken = laid_out ? series.error().context(where) : series.error();
    doubts_.push_back(in_one_line(*metric.broken));
  }
  metric.labels = config.labels;
  loaded.metrics.push_back(std::move(metric));
  return {};
}

Result<> ProgramSet::add_span(Loaded& loaded, SpanConfig config, const DecoderSources& sources) {
  const std::string where = fmt::format("span '{}'", config.name);
  const bpf_map* map = loaded.object->find_map(config.ringbuf);
  if (!map)
    return fail(fmt::format("{}: the object has no ring buffer '{}'", where, config.ringbuf));
  TRY(lay_out(config.labels, {}, where, doubts_));
  if (!options_.send_span) return {};
  auto source =
      SpanSource::open(bpf_map__fd(map), loaded.config.name, config, sources, options_.send_span);
  if (!source) return tl::unexpected(source.error().context(where));
  loaded.spans.push_back(std::move(*source));
  return {};
}

std::vector<std::string> ProgramSet::missed() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> missed;
  for (const auto& loaded : loaded_)
    for (const ProgramState& program : loaded->object->programs())
      if (!program.attached)
        missed.push_back(fmt::format("{}:{}: {}", loaded->config.name, program.name, program.why));
  return missed;
}

void ProgramSet::log_error(Loaded& loaded, const std::string& metric, const Error& error) {
  ++loaded.decoder_errors;
  for (Metric& each : loaded.metrics) {
    if (each.name != metric || each.last_error == error.what) continue;
    each.last_error = error.what;
    options_.log(fmt::format("{}: metric '{}': {}", loaded.path, metric, error.what));
  }
}

std::vector<MetricFamily> ProgramSet::read(uint64_t now) {
  const std::lock_guard lock(mutex_);
  std::vector<MetricFamily> families;
  if (ended_) ended_->begin(now);
  for (const auto& loaded : loaded_) {
    if (loaded->object->has_iterators()) {
      for (const Metric& metric : loaded->metrics)
        if (metric.type == MetricType::gauge && metric.rows &&
            loaded->object->is_of_iterators(metric.rows->id()))
          metric.rows->clear();  // what is gone has no row anew
      loaded->object->run_iterators();
    }
    for (Metric& metric : loaded->metrics)
      if (const Result<> done = read_metric(metric, now, families); !done)
        log_error(*loaded, metric.name, done.error());
  }
  add_own_families(families);
  add_program_families(families);
  return families;
}

namespace {

// Adds those that have other labels.
template <class Kind>
void add_series(std::vector<Kind> from, std::vector<Kind>& to) {
  std::set<Labels> known;
  for (const Kind& each : to) known.insert(each.labels);
  for (Kind& each : from)
    if (!known.contains(each.labels)) to.push_back(std::move(each));
}

// A metric may stand in two configurations; a scrape has each family, and each series, once.
void add_family(MetricFamily family, std::vector<MetricFamily>& families) {
  const auto same = std::find_if(families.begin(), families.end(),
                                 [&](const auto& other) { return other.name == family.name; });
  if (same == families.end()) {
    families.push_back(std::move(family));
    return;
  }
  add_series(std::move(family.samples), same->samples);
  add_series(std::move(family.histograms), same->histograms);
}

}  // namespace

Result<> ProgramSet::read_metric(Metric& metric, uint64_t now,
                                 std::vector<MetricFamily>& families) {
  if (metric.broken) return tl::unexpected(*metric.broken);
  if (metric.events) {
    metric.events->drain(now);
    add_family(metric.events->family(), families);
    return {};
  }
  Series& series = *metric.series;
  series.begin(now);
  std::vector<std::string> retired;  // keys of processes that ended: nobody writes them any more
  const bool retires = ended_ && metric.rows->can_remove();
  Result<> done = metric.rows->for_each(
      [&](std::string_view key, std::span<const uint64_t> values) -> Result<> {
        const auto process = retires ? series.process_of(key) : std::nullopt;
        const bool goes = process && (series.keeps_sums() ? ended_->is_gone(*process)
                                                          : ended_->is_long_gone(*process));
        if (!goes) return series.add(key, values);
        TRY(series.retire(key, values));
        retired.emplace_back(key);
        return {};
      });
  // After an error, too: what their jobs keep must not be read once more.
  for (const std::string& key : retired) metric.rows->remove(key);
  TRY(std::move(done));
  add_family(series.family(), families);
  return {};
}

void ProgramSet::add_own_families(std::vector<MetricFamily>& families) const {
  MetricFamily enabled{"ebpf_exporter_enabled_configs",
                       "Configurations that are loaded.",
                       MetricType::gauge,
                       {},
                       {}};
  MetricFamily errors{"ebpf_exporter_decoder_errors_total",
                      "Times that a metric could not be read because keys could not be decoded.",
                      MetricType::counter,
                      {},
                      {}};
  MetricFamily dropped{"jobscope_programs_dropped_rows_total",
                       "Rows of maps left out of a metric because it has too many series.",
                       MetricType::counter,
                       {},
                       {}};
  MetricFamily spans{"jobscope_programs_spans_total",
                     "Spans that came through ring buffers.",
                     MetricType::counter,
                     {},
                     {}};
  MetricFamily cgroups{"jobscope_programs_cgroup_failures_total",
                       "Cgroups that could not be entered into the map of cgroup_id_map, or taken "
                       "out of it.",
                       MetricType::counter,
                       {},
                       {}};
  for (const auto& loaded : loaded_) {
    const std::string& name = loaded->config.name;
    if (loaded->cgroups)
      cgroups.samples.push_back(
          {{{"config", name}}, static_cast<double>(loaded->cgroups->failures())});
    enabled.samples.push_back({{{"name", name}}, 1});
    uint64_t event_errors = 0;
    for (const auto& span : loaded->spans) {
      event_errors += span->errors();
      spans.samples.push_back(
          {{{"config", name}, {"span", span->name()}}, static_cast<double>(span->sent())});
    }
    for (const Metric& metric : loaded->metrics) {
      uint64_t rows = metric.series ? metric.series->dropped_rows() : 0;
      if (metric.events) {
        event_errors += metric.events->errors();
        rows = metric.events->dropped_rows();
        families.push_back({"dropped_perf_event_map_events_" + metric.name,
                            "Events that the kernel had no room for.",
                            MetricType::counter,
                            {{{}, static_cast<double>(metric.events->lost())}},
                            {}});
      }
      dropped.samples.push_back(
          {{{"config", name}, {"metric", metric.name}}, static_cast<double>(rows)});
    }
    errors.samples.push_back(
        {{{"config", name}}, static_cast<double>(loaded->decoder_errors + event_errors)});
  }
  families.push_back(std::move(enabled));
  families.push_back(std::move(errors));
  families.push_back(std::move(dropped));
  families.push_back(std::move(spans));
  if (!cgroups.samples.empty()) families.push_back(std::move(cgroups));
}

void ProgramSet::add_program_families(std::vector<MetricFamily>& families) const {
  const auto family = [](const char* name, const char* help, MetricType type) {
    return MetricFamily{name, help, type, {}, {}};
  };
  MetricFamily info = family("ebpf_exporter_ebpf_program_info",
                             "The programs and what the kernel calls them.", MetricType::gauge);
  MetricFamily attached = family("ebpf_exporter_ebpf_program_attached",
                                 "Whether a program is attached.", MetricType::gauge);
  MetricFamily time =
      family("ebpf_exporter_ebpf_program_run_time_seconds",
             "Time that a program ran, while kernel.bpf_stats_enabled is on.", MetricType::counter);
  MetricFamily runs =
      family("ebpf_exporter_ebpf_program_run_count_total",
             "Runs of a program, while kernel.bpf_stats_enabled is on.", MetricType::counter);
  MetricFamily left_out =
      family("jobscope_program_skipped_runs_total",
             "Runs that the kernel left out because the program would have interrupted itself.",
             MetricType::counter);
  MetricFamily unavailable =
      family("jobscope_program_unavailable",
             "Programs that this kernel did not take; the log says why.", MetricType::gauge);
  std::ifstream file("/proc/sys/kernel/bpf_stats_enabled");
  const bool counts_runs = file.get() == '1';
  for (const auto& loaded : loaded_) {
    for (const ProgramState& program : loaded->object->programs()) {
      const std::string& config = loaded->config.name;
      if (!program.id) {
        unavailable.samples.push_back({{{"config", config}, {"program", program.name}}, 1});
        continue;
      }
      const Labels id = {{"id", std::to_string(program.id)}};
      info.samples.push_back(
          {{{"config", config}, {"program", program.name}, {"tag", program.tag}, id[0]}, 1});
      attached.samples.push_back({id, program.attached ? 1.0 : 0.0});
      left_out.samples.push_back({id, static_cast<double>(program.left_out)});
      if (!counts_runs) continue;
      time.samples.push_back({id, static_cast<double>(program.run_time) / 1e9});
      runs.samples.push_back({id, static_cast<double>(program.runs)});
    }
  }
  for (MetricFamily* each : {&info, &attached, &time, &runs, &left_out, &unavailable})
    families.push_back(std::move(*each));
}

std::string ProgramSet::describe_maps() {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& loaded : loaded_) {
    text += fmt::format("## Config: {}\n\n", loaded->config.name);
    for (Metric& metric : loaded->metrics) {
      if (!metric.rows) continue;
      text += fmt::format("### Map: {}\n\n```\n", metric.name);
      size_t shown = 0;
      const Result<> done = metric.rows->for_each(
          [&](std::string_view key, std::span<const uint64_t> values) -> Result<> {
            if (++shown > kMostShown) return fail(fmt::format("… more than {} rows", kMostShown));
            for (const char byte : key)
              text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
            text += fmt::format(" -> {}\n", fmt::join(values, " "));
            return {};
          });
      if (!done) text += done.error().what + "\n";
      text += "```\n\n";
    }
  }
  return text;
}

bool ProgramSet::asks_for_jobs() const {
  const std::lock_guard lock(mutex_);
  for (const auto& loaded : loaded_)
    for (const Metric& metric : loaded->metrics)
      for (const LabelConfig& label : metric.labels)
        if (label.job == JobKey::process) return true;
  return false;
}

Result<> ProgramSet::begin_cgroups(const CgroupTree* tree, const std::string& root) {
  const std::lock_guard lock(mutex_);
  for (const auto& loaded : loaded_) {
    if (!loaded->config.cgroup_id_map) continue;
    const CgroupIdMapConfig& config = *loaded->config.cgroup_id_map;
    const std::string where = loaded->path + ": 'cgroup_id_map'";
    const bpf_map* map = loaded->object->find_map(config.name);
    if (!map) return fail(fmt::format("{}: the object has no map '{}'", where, config.name));
    if (!tree) return fail(where + ": there is no unified hierarchy of cgroups");
    auto made = CgroupIdMap::make(config, bpf_map__fd(map), root);
    if (!made) return tl::unexpected(made.error().context(where));
    loaded->cgroups.emplace(std::move(*made)).begin(*tree);
    log_cgroups(*loaded);
  }
  return {};
}

void ProgramSet::apply(std::span<const CgroupTree::Event> events) {
  if (events.empty()) return;
  const std::lock_guard lock(mutex_);
  for (const auto& loaded : loaded_) {
    if (!loaded->cgroups) continue;
    loaded->cgroups->apply(events);
    log_cgroups(*loaded);
  }
}

void ProgramSet::log_cgroups(Loaded& loaded) {
  const std::string& failure = loaded.cgroups->last_failure();
  if (failure.empty() || loaded.cgroup_failed) return;
  loaded.cgroup_failed = true;
  options_.log(
      fmt::format("{}: 'cgroup_id_map': {}; further ones are only counted", loaded.path, failure));
}

void ProgramSet::drain(const ClockOffset& clocks) {
  const std::lock_guard lock(mutex_);
  for (const auto& loaded : loaded_) {
    for (Metric& metric : loaded->metrics)
      if (metric.events) metric.events->drain(clocks.monotonic_ns);
    for (const auto& span : loaded->spans) span->drain(clocks);
  }
}

std::vector<int> ProgramSet::event_fds() const {
  const std::lock_guard lock(mutex_);
  std::vector<int> fds;
  for (const auto& loaded : loaded_) {
    for (const Metric& metric : loaded->metrics)
      if (metric.events) fds.push_back(metric.events->fd());
    for (const auto& span : loaded->spans) fds.push_back(span->fd());
  }
  return fds;
}

bool ProgramSet::waits_for_libraries() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(loaded_.begin(), loaded_.end(),
                     [](const auto& loaded) { return loaded->object->waits_for_libraries(); });
}

void ProgramSet::look_for_libraries(uint64_t now) {
  const std::lock_guard lock(mutex_);
  for (const auto& loaded : loaded_) {
    if (!loaded->object->waits_for_libraries()) continue;
    for (const std::string& program : loaded->object->look_for_libraries(now))
      options_.log(fmt::format("{}: program '{}' is attached now", loaded->path, program));
  }
}

}  // namespace jobscope
