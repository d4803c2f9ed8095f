// jobscope attach: watches what already runs, then says where its time went meanwhile.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "src/base/caller.h"
#include "src/base/caps.h"
#include "src/cli/command.h"
#include "src/cli/signals.h"
#include "src/cli/targets.h"
#include "src/cli/watch.h"

namespace jobscope {
namespace {

struct AttachOptions {
  WatchOptions watch;
  Target target;
};

constexpr int kTries = 20;
constexpr int kNotDone = 2;

// Adopts processes of the target that are not in `known`, which becomes those of now. True if there
// were any.
bool adopt_new(Session& session, const Target& target, std::vector<uint32_t>& known) {
  auto now = find_processes(target);
  if (!now) return false;
  std::ranges::sort(*now);
  std::vector<uint32_t> fresh;
  std::ranges::set_difference(*now, known, std::back_inserter(fresh));
  if (!fresh.empty()) (void)session.adopt(fresh);
  known = std::move(*now);
  return !fresh.empty();
}

Result<int> attach_to(const AttachOptions& options, const Invocation& invocation) {
  const Target& target = options.target;
  const WatchTimes times = TRY(times_of(options.watch));
  const std::vector<uint32_t> pids = TRY(find_processes(target));
  TRY(check_watch_privileges(invocation.argv));
  const Caller caller = TRY(find_caller(CallerSources::of_this_process()));
  JobSignals signals = TRY(JobSignals::block_and_open(caller.id));
  Results results = TRY(Results::open(options.watch, caller.id));
  std::unique_ptr<Session> session = TRY(Session::open());
  Watch watch(*session, results, times, options.watch.progress);
  watch.also_wait_for(signals.fd());

  JobRun job;
  job.name = options.watch.name.empty() ? target_name(target, pids) : options.watch.name;
  job.attached = true;
  job.root_pid = target.pid;
  TRY(session->adopt(pids));
  // Those forked while we were loading. From here on the kernel side sees each fork.
  std::vector<uint32_t> known = pids;
  std::ranges::sort(known);
  for (int tries = 0; tries < kTries && adopt_new(*session, target, known); ++tries) {
  }
  TRY(become(caller.id, kept_capabilities(caller.id.uid)));
  watch.begin(std::move(job), pids.front());

  bool quit = false;
  while (!quit && session->unfinished() > 0 && !watch.over()) {
    watch.step([&] {  // what came to a group or to a name by another way than a fork
      if (!target.pid) adopt_new(*session, target, known);
    });
    while (const auto signal = signals.read())
      quit = signals.handle(*signal, 0) == JobSignals::Action::quit || quit;
  }
  const SnapshotPtr last = watch.end();
  const bool saved = results.save(*last);
  JobSignals::let_go();
  results.tell(*last);
  return saved ? 0 : kNotDone;
}

std::function<Result<int>()> declare_attach(CLI::App& app, const Invocation& invocation) {
  auto options = std::make_shared<AttachOptions>();
  auto* target = app.add_option_group("target", "what to watch: exactly one of");
  target->add_option("-p,--pid", options->target.pid, "this process and all below it")
      ->check(CLI::Validator(
          [](const std::string& text) {
            const bool plain = !text.empty() && text.size() < 10 && text.front() != '0' &&
                               text.find_first_not_of("0123456789") == std::string::npos;
            return plain ? std::string() : "'" + text + "' is not the number of a process";
          },
          "PID"));
  target->add_option("--cgroup", options->target.cgroup, "all processes in a control group")
      ->type_name("PATH");
  target->add_option("--container", options->target.container, "all processes of a container")
      ->type_name("ID");
  target->add_option("--comm", options->target.comm, "processes of this name, and all below them")
      ->type_name("NAME");
  target->require_option(1);
  declare(app, options->watch);
  app.footer("Watches until Ctrl-C, until --for is over, or until no process is left.");
  return [options, invocation] { return attach_to(*options, invocation); };
}

}  // namespace

const Command attach_command{"attach", "watch what already runs, then say where its time went", 2,
                             declare_attach};

}  // namespace jobscope
