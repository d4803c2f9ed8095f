// People's own eBPF programs, loaded together, and their metrics.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/base/cgroup_tree.h"
#include "src/base/result.h"
#include "src/model/metric.h"
#include "src/programs/config.h"
#include "src/programs/decoder.h"
#include "src/programs/ended_processes.h"
#include "src/programs/event_counter.h"
#include "src/programs/map_rows.h"
#include "src/programs/program_object.h"
#include "src/programs/series.h"
#include "src/programs/span_source.h"

namespace jobscope {

// A configuration and the object that belongs to it.
struct ProgramFiles {
  ProgramConfig config;
  std::string path;    // of the configuration, for messages
  std::string object;  // the bytes of NAME.bpf.o
};

class ProgramSet {
 public:
  struct Options {
    std::string btf_path;
    SeriesLimits limits;
    std::function<void(const std::string&)> log;  // a line for the person who runs it
    // Whether a process or thread of this number exists. Empty: unknown, no row is taken out.
    std::function<bool(uint32_t)> is_there;
    SpanSource::Send send_span;  // empty: spans are not read
  };
  // Loads and attaches all. `sources` must outlive it. Errors: as ProgramObject::load, and a metric
  // without a map that can be read; each names its file.
  static Result<std::unique_ptr<ProgramSet>> load(std::vector<ProgramFiles> files,
                                                  const DecoderSources& sources, Options options);

  // "NAME:PROGRAM: why" of each program that is not attached.
  std::vector<std::string> missed() const;
  // What is doubtful in labels, though it works: also errors of layout that make a metric fail.
  const std::vector<std::string>& doubts() const { return doubts_; }

  // All below may be called from any thread.

  // Reads the maps. Those of a metric whose keys cannot be decoded are left out and counted.
  std::vector<MetricFamily> read(uint64_t now);
  // All rows as they are, for people: key in hexadecimal, labels, value.
  std::string describe_maps();
  // Whether labels ask for the jobs of processes.
  bool asks_for_jobs() const;
  // Enters the living cgroups into the maps that cgroup_id_map names, then what drain() of the tree
  // tells, from the thread that drains it. `root`: of the hierarchy; `tree`: nullptr if there is
  // none. An error: such a map is missing, or of another type.
  Result<> begin_cgroups(const CgroupTree* tree, const std::string& root);
  void apply(std::span<const CgroupTree::Event> events);
  // Takes what came through buffers of events. Call it some times a second.
  void drain(const ClockOffset& clocks);
  // Descriptors to poll for drain().
  std::vector<int> event_fds() const;
  // Looks for libraries that programs wait for. Call it every few seconds.
  void look_for_libraries(uint64_t now);
  bool waits_for_libraries() const;

 private:
  struct Metric;
  struct Loaded;
  ProgramSet() = default;
  Result<> add(ProgramFiles files, const DecoderSources& sources);
  Result<> add_counter(Loaded& loaded, CounterConfig config, const DecoderSources& sources);
  Result<> add_histogram(Loaded& loaded, HistogramConfig config, const DecoderSources& sources);
  Result<> add_span(Loaded& loaded, SpanConfig config, const DecoderSources& sources);
  Result<> read_metric(Metric& metric, uint64_t now, std::vector<MetricFamily>& families);
  void add_own_families(std::vector<MetricFamily>& families) const;
  void add_program_families(std::vector<MetricFamily>& families) const;
  void log_cgroups(Loaded& loaded);
  void log_error(Loaded& loaded, const std::string& metric, const Error& error);
  Result<> claim(const std::vector<std::string>& names, const std::string& whose);

  Options options_;
  std::vector<std::string> doubts_;
  std::map<std::string, std::string> claimed_;  // names of series, without the prefix → whose
  mutable std::mutex mutex_;                    // of all below
  std::vector<std::unique_ptr<Loaded>> loaded_;
  std::optional<EndedProcesses> ended_;

 public:
  ~ProgramSet();
};

}  // namespace jobscope
