// jobscope programs: serves the metrics of people's own eBPF programs, as ebpf_exporter does.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>

#include "src/base/caller.h"
#include "src/base/caps.h"
#include "src/base/cgroup_tree.h"
#include "src/base/clock.h"
#include "src/base/notify.h"
#include "src/cli/command.h"
#include "src/cli/metrics_server.h"
#include "src/cli/programs_losses.h"
#include "src/cli/signals.h"
#include "src/jobs/job_finder.h"
#include "src/otlp/config.h"
#include "src/otlp/exporter.h"
#include "src/output/terminal.h"
#include "src/programs/births.h"
#include "src/programs/files.h"
#include "src/programs/machine_sources.h"
#include "src/programs/program_set.h"

namespace jobscope {
namespace {

namespace fs = std::filesystem;

constexpr int kBadInput = 2, kMissed = 1;
constexpr std::chrono::seconds kLastSpans{3};  // to send what is queued at the end
constexpr int kClockReadings = 3;
constexpr int kLogWait = 100;                         // ms, for room to write a line
constexpr size_t kLogLine = PIPE_BUF - 200;           // bytes: poll() promises room for PIPE_BUF
constexpr int kEventTick = 100, kLibraryTick = 5000;  // ms

struct ProgramsOptions {
  std::string folder, names;
  bool check = false, strict = false, debug = false, no_timestamps = false;
  size_t skip_cache = 0;
  size_t series = SeriesLimits().series, cached_keys = SeriesLimits().cached_keys;
  std::string keep = "needed";
  std::string btf_path;
  ServeOptions serve;
  std::string fresh_name;  // of `programs new`
};

// Where the programs that come with jobscope are: beside the binary in a build, else installed.
std::string shipped_folder() {
  std::error_code error;
  const fs::path binary = fs::read_symlink("/proc/self/exe", error);
  const fs::path beside = binary.parent_path() / "programs";
  if (fs::is_directory(beside, error)) return beside;
  return (binary.parent_path().parent_path() / "share/jobscope/programs").lexically_normal();
}

// Lines on stderr, from any thread. If nobody takes them (a full pipe, a stopped terminal) they are
// dropped and counted: serving goes on.
class Log {
 public:
  explicit Log(bool timestamps) : timestamps_(timestamps), state_(std::make_shared<State>()) {}
  void operator()(const std::string& line) const {
    const std::lock_guard lock(state_->mutex);
    pollfd to{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&to, 1, state_->dropped ? 0 : kLogWait) == 0) {
      ++state_->dropped;
      return;
    }
    if (const uint64_t dropped = std::exchange(state_->dropped, 0))
      write(fmt::format("{} line(s) were dropped here: nobody took them", dropped));
    write(line);
  }

 private:
  struct State {
    std::mutex mutex;
    uint64_t dropped = 0;
  };
  void write(const std::string& line) const {
    std::string text;
    if (timestamps_)
      text = fmt::format("{:%Y/%m/%d %H:%M:%S} ", fmt::localtime(std::time(nullptr)));
    text += printable(line, style_for(STDERR_FILENO));
    if (text.size() > kLogLine) {
      size_t end = kLogLine;
      while (end > 0 && (text[end] & 0xC0) == 0x80) --end;  // within a character
      text = text.substr(0, end) + " …";
    }
    to_stderr(text + "\n");
  }

  bool timestamps_;
  std::shared_ptr<State> state_;
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::string_view rest = list;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    if (!one.empty()) parts.emplace_back(one);
  }
  return parts;
}

// The capabilities that stay after everything is attached; empty: all.
Result<std::optional<std::vector<Capability>>> kept(const std::string& keep,
                                                    bool waits_for_libraries) {
  if (keep == "all") return std::nullopt;
  std::vector<Capability> list;
  if (keep == "none") return list;
  if (keep == "needed") {  // to read maps, to name symbols and other people's processes
    list = {CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG};
    if (waits_for_libraries) list.push_back(CAP_SYS_ADMIN);  // perf_event_open() of uprobes
    return list;
  }
  for (const std::string& name : split(keep)) {
    Capability value{};
    if (::cap_from_name(name.c_str(), &value) != 0)
      return fail(fmt::format("--capabilities.keep: there is no capability '{}'", name),
                  "as cap_bpf,cap_perfmon, or all, none, needed");
    list.push_back(value);
  }
  return list;
}

// Cgroups and jobs, for several threads.
class Machine {
 public:
  // Without a unified hierarchy no cgroup has a name.
  // `numbers`: whether processes have the kernel's numbers here, else no process has a job.
  explicit Machine(bool numbers) : root_(unified_hierarchy()), numbers_(numbers) {
    if (root_.empty()) return;
    if (auto tree = CgroupTree::open(root_)) tree_ = std::move(*tree);
  }
  // With that of the hierarchy, as ebpf_exporter has it: "/sys/fs/cgroup/system.slice".
  std::string full_cgroup_path(uint64_t id) const {
    const std::string path = cgroup_path(id);
    return path.empty() ? path : root_ + (path == "/" ? "" : path);
  }
  std::optional<JobLabels> job(JobKey kind, uint64_t number) {
    const std::lock_guard lock(mutex_);
    if (kind == JobKey::cgroup) return finder_.of_cgroup(number);
    if (!numbers_) return std::nullopt;
    return finder_.of_process(static_cast<uint32_t>(number));
  }
  void born(uint32_t parent, uint32_t child) {
    const std::lock_guard lock(mutex_);
    finder_.born(parent, child);
  }
  // nullptr: there are none to know.
  CgroupTree* cgroups() { return tree_.get(); }
  const std::string& cgroup_root() const { return root_; }

 private:
  std::string cgroup_path(uint64_t id) const { return tree_ ? tree_->path(id) : std::string(); }
  JobFinder::Places places() {
    JobFinder::Places places;
    places.cgroup_path = [this](uint64_t id) { return cgroup_path(id); };
    return places;
  }

  const std::string root_;
  const bool numbers_;
  std::unique_ptr<CgroupTree> tree_;
  std::mutex mutex_;
  JobFinder finder_{places()};
};

// Of a configuration: the folder that a person names, else that of the programs that come along.
std::string folder_of(const std::string& name, const std::string& folder) {
  const std::string file = "/" + name + ".yaml", shipped = shipped_folder();
  std::error_code ignored;
  const bool other = !fs::exists(folder + file, ignored) && fs::exists(shipped + file, ignored);
  return other ? shipped : folder;
}

Result<std::vector<ProgramFiles>> read_files(const ProgramsOptions& options, const Log& log) {
  const std::vector<std::string> names = split(options.names);
  if (names.empty())
    return fail("no program is named", "give --config.names; 'jobscope programs list' shows some");
  std::vector<ProgramFiles> files;
  for (const std::string& name : names) {
    files.push_back(
        TRY(read_program_files(folder_of(name, options.folder), name, options.btf_path)));
    for (const std::string& warning : files.back().config.warnings) log(warning);
  }
  return files;
}

bool names_symbols(const std::vector<LabelConfig>& labels) {
  for (const LabelConfig& label : labels)
    for (const DecoderConfig& decoder : label.decoders)
      if (decoder.name == "ksym" || decoder.name == "kstack") return true;
  return false;
}

// Whether addresses of the kernel are to be named, which takes a capability.
bool names_symbols(const std::vector<ProgramFiles>& files) {
  const auto any = [](const auto& metrics) {
    return std::any_of(metrics.begin(), metrics.end(),
                       [](const auto& one) { return names_symbols(one.labels); });
  };
  return std::any_of(files.begin(), files.end(), [&](const ProgramFiles& one) {
    return any(one.config.counters) || any(one.config.histograms) || any(one.config.spans);
  });
}

// Where spans go, if a configuration has some; empty: nowhere.
Result<std::optional<OtlpConfig>> read_span_target(const std::vector<ProgramFiles>& files,
                                                   const Log& log) {
  const bool spans = std::any_of(files.begin(), files.end(),
                                 [](const auto& one) { return !one.config.spans.empty(); });
  if (!spans) return std::nullopt;
  OtlpConfig config = TRY(read_otlp_config(::getenv, "ebpf_exporter"));
  for (const std::string& warning : config.warnings) log(warning);
  if (!config.enabled) return std::nullopt;
  log("spans go to " + config.url);
  return config;
}

// What is not of the programs themselves: spans, births of processes, cgroups.
void add_families(const OtlpExporter* exporter, const Births* births, const CgroupTree* cgroups,
                  std::vector<MetricFamily>& families) {
  const auto add = [&](const char* name, const char* help, MetricType type, uint64_t value) {
    families.push_back({name, help, type, {{{}, static_cast<double>(value)}}, {}});
  };
  if (exporter)
    for (MetricFamily& family : otlp_metrics(exporter->counters()))
      families.push_back(std::move(family));
  if (births)
    add("jobscope_births_lost_total",
        "Processes whose birth there was no room for: those of them that lived too short to be "
        "looked at have no job.",
        MetricType::counter, births->lost());
  if (cgroups)
    add("jobscope_cgroups_unwatched",
        "Cgroups that could not be learnt or watched; their paths may be unknown.",
        MetricType::gauge, cgroups->unwatched());
}

void tell_manager(std::string_view message) {
  const char* socket = std::getenv("NOTIFY_SOCKET");
  (void)notify_service_manager(socket ? socket : "", message);
}

// Processes as they are born, if a program asks for their jobs; else, or if the kernel does not
// tell, nullptr: those that live too short are then of no job.
std::unique_ptr<Births> watch_births(const ProgramSet& programs, Machine& machine, const Log& log) {
  if (!programs.asks_for_jobs()) return nullptr;
  auto births =
      Births::watch([&machine](uint32_t parent, uint32_t child) { machine.born(parent, child); });
  if (births) return std::move(*births);
  log("jobs of short-lived processes are not known: " + births.error().what);
  return nullptr;
}

// Both clocks at one moment: of some readings the one that nothing came between.
ClockOffset read_clocks() {
  ClockOffset best;
  uint64_t least = ~uint64_t{0};
  for (int i = 0; i < kClockReadings; ++i) {
    const uint64_t before = monotonic_now(), unix_ns = read_clock(CLOCK_REALTIME),
                   after = monotonic_now();
    if (after - before >= least) continue;
    least = after - before;
    best = {unix_ns, before + least / 2};
  }
  return best;
}

// Until somebody wants us to end.
void serve(ProgramSet& programs, CgroupTree* cgroups, Births* births, JobSignals& signals) {
  std::vector<pollfd> polled = {{signals.fd(), POLLIN, 0},
                                {cgroups ? cgroups->fd() : -1, POLLIN, 0},
                                {births ? births->fd() : -1, POLLIN, 0}};
  for (const int fd : programs.event_fds()) polled.push_back({fd, POLLIN, 0});
  const bool events = polled.size() > 3;
  uint64_t next_look = 0;
  for (bool quit = false; !quit;) {
    ::poll(polled.data(), polled.size(), events ? kEventTick : kLibraryTick);
    while (const auto signal = signals.read())
      quit = signals.handle(*signal, 0) == JobSignals::Action::quit || quit;
    if (births) births->drain();
    const ClockOffset clocks = read_clocks();
    const uint64_t now = clocks.monotonic_ns;
    programs.drain(clocks);
    if (cgroups) programs.apply(cgroups->drain(now));
    if (now < next_look) continue;
    programs.look_for_libraries(now);
    next_look = now + uint64_t{kLibraryTick} * 1'000'000;
  }
}

Result<int> run_programs(const ProgramsOptions& options, const Invocation& invocation) {
  const Log log(!options.no_timestamps);
  TRY(kept(options.keep, false));  // a wrong name is told before there is more to do
  TRY(check_bpf_privileges(invocation.argv));
  JobSignals signals =
      TRY(JobSignals::block_and_open(this_process(CallerSources::of_this_process()).id));
  const bool numbers = !PrivilegeFacts::of_this_process(invocation.argv).pid_namespace;
  if (!numbers)
    log("this is a PID namespace: the jobs of processes are not known (start it with --pid=host)");
  Machine machine(numbers);
  MachineSources::Places places;
  places.cgroup_path = [&machine](uint64_t id) { return machine.full_cgroup_path(id); };
  places.job = [&machine](JobKey kind, uint64_t number) { return machine.job(kind, number); };
  const MachineSources sources(std::move(places));
  std::unique_ptr<OtlpExporter> exporter;
  std::unique_ptr<Births> births;
  std::unique_ptr<ProgramSet> programs;
  std::optional<MetricsServer> server;  // before there is anything to serve: what is wrong shows
  if (!options.check)
    server = TRY(MetricsServer::listen(
        options.serve,
        [&] {
          if (births) births->drain();  // first: whose the rows are of processes that came and went
          std::vector<MetricFamily> families = programs->read(monotonic_now());
          add_families(exporter.get(), births.get(), machine.cgroups(), families);
          return families;
        },
        log));
  const uint64_t started = monotonic_now();
  std::vector<ProgramFiles> files = TRY(read_files(options, log));
  if (names_symbols(files)) sources.learn_symbols();
  std::optional<OtlpConfig> span_target;
  if (!options.check) span_target = TRY(read_span_target(files, log));
  ProgramSet::Options set;
  set.btf_path = options.btf_path;
  set.limits = {options.series, options.cached_keys};
  set.log = log;
  if (numbers)
    set.is_there = [](uint32_t pid) {
      return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno != ESRCH;
    };
  if (span_target)
    set.send_span = [&exporter](const std::string& service, Span span) {
      exporter->send(service, std::move(span));
    };
  programs = TRY(ProgramSet::load(std::move(files), sources, std::move(set)));
  TRY(programs->begin_cgroups(machine.cgroups(), machine.cgroup_root()));
  if (!options.check && numbers) births = watch_births(*programs, machine, log);
  const std::vector<std::string> missed = programs->missed();
  for (const std::string& line : programs->doubts()) log(line);
  for (const std::string& line : missed) log("not attached: " + line);
  const bool well = missed.empty() && programs->doubts().empty();
  const std::string summary = well ? "all is well"
                                   : fmt::format("not attached: {}, doubtful: {}; see above",
                                                 missed.size(), programs->doubts().size());
  if (options.strict && !well) {
    log("--config.strict: " + summary);
    return kMissed;
  }
  const size_t count = split(options.names).size();
  log(fmt::format("{} {} loaded, in {} ms", count,
                  count == 1 ? "configuration is" : "configurations are",
                  (monotonic_now() - started) / 1'000'000));
  if (options.check) {
    log("--config.check: " + summary);
    return 0;
  }

  if (options.debug) server->page("/maps", [&programs] { return programs->describe_maps(); });
  if (const auto list = TRY(kept(options.keep, programs->waits_for_libraries())))
    TRY(drop_all_but(*list));
  // Threads have the capabilities of who starts them: from here on they may be started.
  if (span_target) exporter = TRY(OtlpExporter::start(std::move(*span_target), log));
  server->start();
  for (const std::string& address : server->addresses()) log("listening on " + address);
  tell_manager("READY=1");
  serve(*programs, machine.cgroups(), births.get(), signals);
  tell_manager("STOPPING=1");
  server->stop();
  if (exporter) exporter->stop(kLastSpans);
  JobSignals::let_go();
  return 0;
}

Result<int> list_shipped(const std::string& folder) {
  const auto found = list_programs(folder);
  if (found.empty()) return fail("there are no programs in " + folder);
  const TextStyle style = style_for(STDOUT_FILENO);
  size_t width = 0;
  for (const ProgramSummary& each : found) width = std::max(width, each.name.size());
  for (const ProgramSummary& each : found)
    fmt::print("{:{}}  {}\n", printable(each.name, style), width, printable(each.about, style));
  return 0;
}

std::function<Result<int>()> declare_programs(CLI::App& app, const Invocation& invocation) {
  auto options = std::make_shared<ProgramsOptions>();
  options->folder = shipped_folder();
  app.add_option(
         "--config.dir", options->folder,
         "folder of NAME.yaml and NAME.bpf.o (or .bpf.c); names that it does not have are of the "
         "programs that come with jobscope")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_option("--config.names", options->names, "names of configurations, a,b,c")
      ->type_name("NAMES");
  app.add_flag("--config.check", options->check, "load, attach, and end");
  app.add_flag("--config.strict", options->strict,
               "a program that cannot be attached is an error (exit code 1)");
  app.add_option("--config.skip-cache-size", options->skip_cache,
                 "keys that no regexp matched to remember; they are within --cache.keys")
      ->type_name("N");
  app.add_option("--series.max", options->series, "most series of one metric")
      ->type_name("N")
      ->check(CLI::Range(size_t{1}, size_t{10'000'000}))
      ->capture_default_str();
  app.add_option("--cache.keys", options->cached_keys, "keys of one metric to remember labels of")
      ->type_name("N")
      ->check(CLI::Range(size_t{0}, size_t{10'000'000}))
      ->capture_default_str();
  app.add_option("--capabilities.keep", options->keep,
                 "what to keep once all is attached: all, none, needed, or cap_bpf,…")
      ->type_name("LIST")
      ->capture_default_str();
  app.add_option("--btf.path", options->btf_path, "the kernel's types, if it does not bring them")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  declare(app, options->serve);
  app.add_flag("--debug", options->debug, "serve /maps, all maps as they are");
  app.add_flag("--log.no-timestamps", options->no_timestamps, "no time before lines of the log");
  auto* list = app.add_subcommand("list", "the programs of the folder, a line each");
  auto* fresh = app.add_subcommand("new", "write NAME.bpf.c and NAME.yaml, to start from");
  fresh->add_option("NAME", options->fresh_name)->required();
  app.require_subcommand(0, 1);
  app.footer(
      "Configurations of ebpf_exporter (v2) work unchanged. The programs that come with jobscope:\n"
      "  jobscope programs list\n"
      "  jobscope programs --config.names io-latency,runqlat\n"
      "Your own:\n"
      "  jobscope programs new mine && jobscope programs --config.dir . --config.names mine");
  return [options, invocation, list, fresh]() -> Result<int> {
    if (list->parsed()) return list_shipped(options->folder);
    if (fresh->parsed()) {
      TRY(write_new_program(".", options->fresh_name));
      fmt::print(
          "wrote {0}.bpf.c and {0}.yaml; try them with\n  jobscope programs --config.dir . "
          "--config.names {0}\n",
          options->fresh_name);
      return 0;
    }
    return run_programs(*options, invocation);
  };
}

}  // namespace

const Command programs_command{"programs",
                               "serve metrics of your own eBPF programs (ebpf_exporter)", kBadInput,
                               declare_programs};

}  // namespace jobscope
