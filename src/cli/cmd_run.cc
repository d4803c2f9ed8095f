// jobscope run: runs a job under observation, then says where its time went.
#include <poll.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "src/base/caller.h"
#include "src/base/caps.h"
#include "src/base/clock.h"
#include "src/cli/command.h"
#include "src/cli/launch.h"
#include "src/cli/signals.h"
#include "src/cli/watch.h"
#include "src/jobs/job_name.h"

namespace jobscope {
namespace {

constexpr int kFailure = 125;  // as timeout and docker do
// To wait for the records of the root, and of threads that are still on their way out, ns.
constexpr uint64_t kLastRecords = 200'000'000, kStragglers = 20'000'000;

struct RunOptions {
  WatchOptions watch;
  bool as_root = false;
  std::vector<std::string> argv;
};

// Until the job has ended, or --for is over. Empty: the job goes on without us.
std::optional<ExitStatus> watch_job(Watch& watch, JobSignals& signals, Launch& launch) {
  for (;;) {
    watch.step([] {});
    while (const auto signal = signals.read()) {
      if (signals.handle(*signal, launch.pid()) != JobSignals::Action::reap) continue;
      if (const auto ended = signals.reap(launch.pid())) return ended;
    }
    if (const auto ended = signals.reap(launch.pid())) return ended;
    if (watch.over()) return std::nullopt;
  }
}

// A process is reaped a moment before its thread leaves its CPU for the last time.
void wait_for_last_records(Session& session, uint32_t root) {
  const uint64_t give_up = monotonic_now() + kLastRecords;
  while (!session.told_end_of(root) && monotonic_now() < give_up) {
    ::usleep(500);
    session.drain();
  }
  const uint64_t enough = monotonic_now() + kStragglers;  // what lives on does so for longer
  while (session.unfinished() > 0 && monotonic_now() < enough) ::usleep(500);
  session.drain();
}

// After --for: the job goes on, and we stay as its parent so that its exit code is ours too.
ExitStatus wait_unwatched(JobSignals& signals, Launch& launch) {
  for (;;) {
    if (const auto ended = signals.reap(launch.pid())) return *ended;
    pollfd readable{signals.fd(), POLLIN, 0};
    ::poll(&readable, 1, -1);
    while (const auto signal = signals.read()) signals.handle(*signal, launch.pid());
  }
}

Result<int> run(const RunOptions& options, const Invocation& invocation) {
  const SignalState signal_state = SignalState::now();
  const WatchTimes times = TRY(times_of(options.watch));
  TRY(check_watch_privileges(invocation.argv));
  const CallerSources sources = CallerSources::of_this_process();
  const Caller caller = options.as_root ? this_process(sources) : TRY(find_caller(sources));
  JobSignals signals = TRY(JobSignals::block_and_open(caller.id));
  Launch launch = TRY(Launch::prepare({options.argv, caller, signal_state}));
  std::optional<Results> results = TRY(Results::open(options.watch, caller.id));
  std::unique_ptr<Session> session = TRY(Session::open());
  Watch watch(*session, *results, times, options.watch.progress);
  watch.also_wait_for(signals.fd());
  watch.also_wait_for(launch.pidfd());

  JobRun job;
  job.argv = options.argv;
  job.name = options.watch.name.empty() ? job_name(options.argv) : options.watch.name;
  job.root_pid = static_cast<uint32_t>(launch.pid());
  TRY(session->adopt_at_exec(job.root_pid));
  TRY(become(caller.id, kept_capabilities(caller.id.uid)));
  watch.begin(std::move(job), static_cast<uint32_t>(launch.pid()));
  if (const Result<> released = launch.release(); !released) {
    print_error(released.error());
    return launch.failure()->exit_code;
  }

  const std::optional<ExitStatus> ended = watch_job(watch, signals, launch);
  if (ended) {
    if (const auto failure = launch.failure()) {
      print_error(failure->error);
      return failure->exit_code;
    }
    if (ended->signal)
      watch.job().signal = ended->signal;
    else
      watch.job().exit_code = ended->code;
    wait_for_last_records(*session, watch.job().root_pid);
  }
  const SnapshotPtr last = watch.end();
  results->save(*last);
  if (ended) JobSignals::let_go();
  results->tell(*last);
  results.reset();  // no destructor runs from here on
  session.reset();
  end_as(ended ? *ended : wait_unwatched(signals, launch));
}

std::function<Result<int>()> declare_run(CLI::App& app, const Invocation& invocation) {
  auto options = std::make_shared<RunOptions>();
  declare(app, options->watch);
  app.add_flag("--as-root", options->as_root, "under sudo: run the job as root, not as the caller");
  app.prefix_command();
  app.footer(
      "The job's output, signals and exit code pass through; the report goes to standard error.\n"
      "Exit code: the job's (128+N after signal N); 127: no such command; 126: it cannot be\n"
      "executed; 125: jobscope itself failed.");
  return [&app, options, invocation]() -> Result<int> {
    options->argv = app.remaining();
    if (!options->argv.empty() && options->argv.front() == "--")
      options->argv.erase(options->argv.begin());
    else if (!options->argv.empty() && options->argv.front().starts_with("-"))
      return fail("there is no option '" + options->argv.front() + "'",
                  "'jobscope run --help' lists the options");
    if (options->argv.empty())
      return fail("no command to run", "write: jobscope run -- CMD ARG...");
    return run(*options, invocation);
  };
}

}  // namespace

const Command run_command{"run", "run a job under observation, then say where its time went",
                          kFailure, declare_run};

}  // namespace jobscope
