#include "src/cli/watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "src/base/clock.h"
#include "src/cli/command.h"
#include "src/cli/duration.h"
#include "src/model/findings.h"
#include "src/output/json_report.h"
#include "src/output/terminal.h"
#include "src/output/text_report.h"

namespace jobscope {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kLeastInterval = 10'000'000;  // ns
constexpr int kTick = 50;                        // ms between two drains while the job is young
constexpr int kSlowTick = 200;                   // and afterwards
constexpr uint64_t kYoung = 5 * kSecond;
constexpr int kRefreshEvery = 5;  // seconds; the first time after one

uint32_t usable_cpus(pid_t pid) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(pid, sizeof(set), &set) == 0)
    return static_cast<uint32_t>(CPU_COUNT(&set));
  return static_cast<uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

void describe_machine(JobRun& job) {
  utsname machine{};
  if (::uname(&machine) == 0) {
    job.host = machine.nodename;
    job.kernel = machine.release;
  }
}

Nanoseconds total_cpu(const Snapshot& snapshot) {
  Nanoseconds sum = 0;
  for (const ThreadUse& thread : snapshot.threads) sum += thread.cpu();
  return sum;
}

const ThreadUse* main_thread(const Snapshot& snapshot) {
  for (const ThreadUse& thread : snapshot.threads)
    if (thread.tid == snapshot.job.root_pid) return &thread;
  return nullptr;
}

// Two outputs in one file would leave one of them.
Result<> check_distinct(const WatchOptions& options) {
  std::map<std::filesystem::path, std::string> taken;
  for (const auto& [option, file] :
       {std::pair{"--report", options.report}, std::pair{"--json", options.json},
        std::pair{"--output", options.recording}}) {
    if (!file) continue;
    if (file->empty()) return fail(fmt::format("{} needs the name of a file", option));
    std::error_code error;
    const auto path = std::filesystem::weakly_canonical(*file, error);
    if (error || *file == "-" || std::filesystem::is_other(path, error)) continue;  // a device
    const auto [other, is_new] = taken.emplace(path, option);
    if (!is_new)
      return fail(fmt::format("{} and {} name the same file, {}", other->second, option, *file),
                  "give each a file of its own");
  }
  if (options.recording == "-")
    return fail("a recording cannot be written to standard output", "name a file");
  return {};
}

}  // namespace

void declare(CLI::App& app, WatchOptions& options) {
  app.add_option("--name", options.name, "name of the job in reports")->type_name("NAME");
  app.add_option("--report", options.report, "write the report to FILE instead of standard error")
      ->type_name("FILE");
  app.add_option("--json", options.json,
                 "write the report as JSON to FILE too (- is standard output)")
      ->type_name("FILE");
  app.add_option("-o,--output", options.recording, "record to FILE, for 'jobscope report'")
      ->type_name("FILE");
  app.add_option("--for", options.limit, "stop watching after this time (30s, 5m)")
      ->type_name("TIME");
  app.add_option("--interval", options.interval, "time between two rows of the recording")
      ->type_name("TIME")
      ->capture_default_str();
  app.add_flag("--progress", options.progress, "show a line of figures on the terminal meanwhile");
}

Result<WatchTimes> times_of(const WatchOptions& options) {
  WatchTimes times;
  if (options.limit) times.limit = TRY(parse_duration(*options.limit));
  times.interval = TRY(parse_duration(options.interval));
  if (times.interval < kLeastInterval)
    return fail("an interval of " + options.interval + " is too short", "give 10ms or more");
  return times;
}

Result<Results> Results::open(const WatchOptions& options, const Identity& owner) {
  TRY(check_distinct(options));
  Results results(owner);
  if (options.report) results.report_.emplace(TRY(OutputFile::create(*options.report, owner)));
  if (options.json) results.json_.emplace(TRY(OutputFile::create(*options.json, owner)));
  if (options.recording) {
    const ActingAs acting = TRY(ActingAs::take(owner));
    auto recording = Recording::create(*options.recording);
    if (recording)
      results.recording_.emplace(std::move(*recording));
    else if (recording.error().code == ENOSPC || recording.error().code == EDQUOT)
      results.recording_error_ = recording.error();
    else
      return tl::unexpected(recording.error());
  }
  return results;
}

void Results::interval(const Snapshot& snapshot) {
  if (!recording_ || recording_error_) return;
  const auto acting = ActingAs::take(owner_);
  if (const Result<> added = recording_->add_interval(snapshot); !added)
    recording_error_ = added.error();
}

bool Results::save(const Snapshot& snapshot) {
  const std::vector<Finding> findings = find(snapshot);
  const auto write = [](OutputFile& file, const std::string& bytes) -> Result<> {
    TRY(file.write(bytes));
    return file.commit();
  };
  const auto note = [&](const Result<>& done) {
    if (!done) errors_.push_back(done.error());
  };
  if (json_) note(write(*json_, json_report(snapshot, findings)));
  if (report_) note(write(*report_, text_report(snapshot, TextStyle{})));
  finish_recording(snapshot, findings);
  return errors_.empty();
}

void Results::tell(const Snapshot& snapshot) {
  if (!report_) to_stderr(text_report(snapshot, style_for(STDERR_FILENO)));
  for (const Error& error : errors_) print_error(error);
}

void Results::finish_recording(const Snapshot& snapshot, const std::vector<Finding>& findings) {
  if (!recording_) {
    if (recording_error_) errors_.push_back(recording_error_->context("there is no recording"));
    return;
  }
  // After a failed row the end may still find room, and it matters more.
  const auto acting = ActingAs::take(owner_);
  if (const Result<> done = recording_->finish(snapshot, findings); !done)
    errors_.push_back(done.error().context("the recording is not complete"));
  else if (recording_error_)
    errors_.push_back(recording_error_->context("the recording lacks some intervals"));
}

Watch::Watch(Session& session, Results& results, const WatchTimes& times, bool progress)
    : session_(&session),
      results_(&results),
      times_(times),
      progress_(progress && ::isatty(STDERR_FILENO)) {
  also_wait_for(session.events_fd());
}

void Watch::begin(JobRun job, uint32_t member) {
  job_ = std::move(job);
  member_ = member;
  job_.start = monotonic_now();
  job_.started_unix_ns = static_cast<int64_t>(read_clock(CLOCK_REALTIME));
  job_.cpus = usable_cpus(static_cast<pid_t>(member_));
  describe_machine(job_);
  look_at_cgroup();
  next_second_ = job_.start + kSecond;
  next_interval_ = job_.start + times_.interval;
  last_at_ = job_.start;
}

void Watch::step(const std::function<void()>& every_second) {
  const uint64_t before = monotonic_now();
  const bool young = before - job_.start < kYoung;
  uint64_t wait = static_cast<uint64_t>(young ? kTick : kSlowTick) * 1'000'000;
  const auto until = [&](uint64_t due) {
    if (due) wait = std::min(wait, due > before ? due - before : 0);
  };
  until(session_->due());
  if (times_.limit) until(job_.start + times_.limit);
  if (results_->wants_intervals()) until(next_interval_);
  std::vector<pollfd> polled;
  for (const int fd : fds_) polled.push_back({fd, POLLIN, 0});
  ::poll(polled.data(), polled.size(), static_cast<int>((wait + 999'999) / 1'000'000));
  session_->drain();
  const uint64_t now = monotonic_now();
  job_.elapsed = now - job_.start;
  const bool second = now >= next_second_;
  const bool row = results_->wants_intervals() && now >= next_interval_;
  if (second) {
    next_second_ = now + kSecond;
    look_at_cgroup();
    every_second();
    if (--refresh_in_ <= 0) {
      session_->refresh();
      refresh_in_ = kRefreshEvery;
    }
  }
  if (row)
    next_interval_ += (now - next_interval_) / times_.interval * times_.interval + times_.interval;
  if (!row && !(second && progress_)) return;
  const SnapshotPtr snapshot = session_->glance(job_);
  if (row) results_->interval(*snapshot);
  if (second && progress_) show_progress(*snapshot);
}

bool Watch::over() const { return times_.limit && monotonic_now() - job_.start >= times_.limit; }

SnapshotPtr Watch::end() {
  if (progress_shown_ && stderr_takes_text()) to_stderr("\r\033[K");
  look_at_cgroup();
  auto snapshot = std::make_shared<Snapshot>(*session_->look(job_));
  note_end(*snapshot);
  if (place_) {
    CgroupUse use;
    use.path = place_->path();
    use.cpu_limit = cgroup_.cpu_limit;
    use.memory_limit = cgroup_.memory_limit;
    if (cgroup_.throttled_ns) {
      const uint64_t before = cgroup_at_start_.throttled_ns.value_or(0);
      use.throttled = *cgroup_.throttled_ns - std::min(before, *cgroup_.throttled_ns);
    }
    snapshot->cgroup = std::move(use);
  }
  return snapshot;
}

// `run` knows how the job ended from wait(2), `attach` as the kernel side told it.
void Watch::note_end(Snapshot& snapshot) {
  JobRun& job = snapshot.job;
  if (!job.root_pid || job.exit_code || job.signal) return;
  for (const ProcessUse& process : snapshot.processes) {
    if (process.pid != job.root_pid || !process.exited) continue;
    job.exit_code = process.exit_code;
    job.signal = process.signal;
  }
}

// The group of the process that stands for the job; if that is gone, the one it was in.
void Watch::look_at_cgroup() {
  auto place = cgroup_of(member_);
  if (!place) place = place_;
  if (!place) return;
  cgroup_ = read_cgroup(*place);
  if (place_ != place) {
    place_ = std::move(place);
    cgroup_at_start_ = cgroup_;
  }
}

void Watch::show_progress(const Snapshot& snapshot) {
  const Nanoseconds cpu = total_cpu(snapshot);
  const double seconds = static_cast<double>(job_.elapsed) / 1e9;
  const double span = static_cast<double>(job_.elapsed + job_.start - last_at_);
  const double busy = span > 0 ? static_cast<double>(cpu - std::min(cpu, last_cpu_)) / span : 0;
  last_cpu_ = cpu;
  last_at_ = job_.elapsed + job_.start;
  std::string line = fmt::format("{:.0f} s · {:.1f} of {} cores busy · {} threads", seconds, busy,
                                 job_.cpus, session_->living());
  if (const ThreadUse* main = main_thread(snapshot); main && main->lifetime > 0) {
    const auto top = std::max_element(main->parts.begin(), main->parts.end());
    const auto reason = static_cast<Reason>(top - main->parts.begin());
    line += fmt::format(" · main thread: {} {:.0f} %", label(reason),
                        100.0 * static_cast<double>(*top) / static_cast<double>(main->lifetime));
  }
  if (!stderr_takes_text()) return;
  const TextStyle style = style_for(STDERR_FILENO);
  to_stderr("\r" + shorten(printable(line, style), style.width - 1, style) + "\033[K");
  progress_shown_ = true;
}

}  // namespace jobscope
