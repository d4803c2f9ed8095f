#include "src/model/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <tuple>

#include "src/model/findings_rules.h"

namespace jobscope {
namespace rules {

View::View(const Snapshot& of)
    : snapshot(of),
      processes(of),
      focus(focus_of(of, processes)),
      totals(totals_of(of)),
      groups(thread_groups(of, processes)),
      busy(share_of(totals.cpu, of.job.elapsed)) {
  if (focus.main == nullptr) return;
  main = focus.main->parts;
  main_time = sum(main);
}

bool View::matters(Nanoseconds time, double least) const {
  return time >= kLeast && share_of_main(time) >= least;
}

std::string View::main_words(Nanoseconds time) const {
  return time_and_share(time, share_of_main(time));
}

bool View::mindspore() const {
  return std::any_of(groups.begin(), groups.end(), [](const ThreadGroup& group) {
    return group.label.find("ActorThread_") != std::string::npos ||
           group.label.find("KernelThread_") != std::string::npos;
  });
}

Finding about_main(const View& view, const char* id, Nanoseconds time) {
  return {id, view.share_of_main(time), kMainTime, {}, {}, {}};
}

std::string time_and_share(Nanoseconds time, double share) {
  return fmt::format("{} ({})", human_time(time), human_percent(share));
}

// An OOM kill; else a signal that ended the root process, save SIGINT and SIGQUIT from its own
// terminal; else a process that crashed or that an outsider killed.
Found killed(const View& view) {
  const auto& snapshot = view.snapshot;
  const bool failed = snapshot.job.signal || snapshot.job.exit_code.value_or(0) != 0;
  Finding finding{"killed", kUnknown, {}, {}, {}, {}};
  if (failed) finding.share = 1, finding.of = "how the job ended";
  const auto show = [&](uint32_t pid, const std::string& name) {
    finding.evidence.emplace_back("process", fmt::format("{} (pid {})", name, pid));
    if (const auto* process = view.processes.find(pid); process && process->peak_rss)
      finding.evidence.emplace_back("its memory peak", human_bytes(*process->peak_rss));
  };

  if (!snapshot.oom_kills.empty()) {
    const auto& first =
        *std::min_element(snapshot.oom_kills.begin(), snapshot.oom_kills.end(),
                          [](const OomKill& a, const OomKill& b) {
                            return std::tuple(a.at, a.pid) < std::tuple(b.at, b.pid);
                          });
    const std::string limit =
        first.limit ? "its memory limit of " + human_bytes(*first.limit) : "its memory limit";
    finding.text = fmt::format(
        "The OOM killer killed {} (pid {}): {}.", first.name, first.pid,
        first.cgroup.empty() ? "the machine ran out of memory" : "the cgroup was at " + limit);
    if (snapshot.oom_kills.size() > 1)
      finding.text += fmt::format(" {} more of the job's processes went the same way.",
                                  snapshot.oom_kills.size() - 1);
    show(first.pid, first.name);
    if (!first.cgroup.empty()) {
      finding.evidence.emplace_back("cgroup", first.cgroup);
      finding.evidence.emplace_back("limit", first.limit ? human_bytes(*first.limit) : "unknown");
    }
    finding.advice = first.cgroup.empty()
                         ? "Use less memory (smaller batches, fewer loader workers), or move other "
                           "jobs away from this machine."
                         : "Raise the limit, or use less memory: smaller batches, fewer loader "
                           "workers, less prefetch.";
    return finding;
  }

  const ProcessUse* victim = nullptr;
  int signal = 0;
  const auto* root = view.processes.find(snapshot.job.root_pid);
  if (snapshot.job.signal) {
    victim = root;
    signal = *snapshot.job.signal;
    const bool by_hand = signal == SIGINT || signal == SIGQUIT;
    if (by_hand && (!root || !root->killed_by || root->killed_by->name == "terminal")) return {};
  }
  for (const auto& process : snapshot.processes) {
    if (victim != nullptr || signal != 0) break;
    constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGSYS};
    if (!process.signal || process.processes != 1) continue;
    const bool crashed =
        std::find(kCrashes.begin(), kCrashes.end(), *process.signal) != kCrashes.end();
    const bool by_outsider = *process.signal == SIGKILL && process.killed_by &&
                             view.processes.find(process.killed_by->pid) == nullptr;
    if (crashed || by_outsider) victim = &process, signal = *process.signal;
  }
  if (signal == 0) return {};
  const uint32_t pid = victim != nullptr ? victim->pid : snapshot.job.root_pid;
  const std::string name = victim != nullptr ? victim->name : snapshot.job.name;
  const bool known = victim != nullptr && victim->killed_by.has_value();
  finding.text =
      fmt::format("{} (pid {}) was killed by {}, sent by {}.", name, pid, signal_name(signal),
                  known ? killer_name(*victim->killed_by) : "an unknown process");
  show(pid, name);
  finding.evidence.emplace_back("signal", signal_name(signal));
  if (signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT || signal == SIGILL)
    finding.advice =
        "A crash in native code: for a Python job, `python -X faulthandler` prints "
        "where.";
  return finding;
}

}  // namespace rules

std::string signal_name(int signal) {
  constexpr std::array<const char*, 32> kNames = {
      "",     "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1",
      "SEGV", "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN",
      "TTOU", "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "IO",   "PWR",  "SYS",
  };
  if (signal <= 0 || signal >= static_cast<int>(kNames.size()))
    return fmt::format("signal {}", signal);
  return fmt::format("SIG{}", kNames[static_cast<size_t>(signal)]);
}

std::string killer_name(const Killer& killer) {
  if (killer.name == "oom-killer") return "the OOM killer";
  if (killer.pid != 0) return fmt::format("{} (pid {})", killer.name, killer.pid);
  return "the " + (killer.name.empty() ? "kernel" : killer.name);
}

std::vector<Finding> find(const Snapshot& snapshot) {
  using namespace rules;
  // In the order of reports when shares are equal.
  constexpr Found (*kRules[])(const View&) = {
      killed,     throttled, lost_cpu,        stolen,      loader_children, storage,
      page_fault, swap,      memory,          gil,         barrier,         yield_spin,
      fork_storm, handoff,   single_threaded, accelerator, idle_wait,       stopped,
  };
  const View view(snapshot);
  std::vector<Finding> findings;
  for (const auto rule : kRules)
    if (auto finding = rule(view)) findings.push_back(std::move(*finding));
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return (a.share_known() ? a.share : -1) > (b.share_known() ? b.share : -1);
  });
  return findings;
}

}  // namespace jobscope
