#include "src/model/findings_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace jobscope::rules {
namespace {

// Threads that were ready to run for at least 10 % of the elapsed time. Those that were folded
// count as many as were ready at once, on average.
uint64_t count_busy(const Snapshot& snapshot) {
  double count = 0;
  for (const auto& thread : snapshot.threads) {
    const double ready =
        share_of(thread.cpu() + part(thread.parts, Reason::runqueue), snapshot.job.elapsed);
    count += thread.threads > 1 ? std::round(ready) : ready >= 0.1 ? 1 : 0;
  }
  return whole_number(count);
}

// The least time that others had the CPUs which a thread of the job waited for: while it waits, its
// CPU runs something, and no more of that than the CPU time of the job's other threads is the
// job's.
Nanoseconds surely_others(const View& view) {
  const auto held = [](const Parts& parts) {
    return part(parts, Reason::cpu_user) + part(parts, Reason::cpu_system) +
           part(parts, Reason::stolen);
  };
  const Nanoseconds all = held(view.totals.parts);
  Nanoseconds most = 0;
  for (const auto& thread : view.snapshot.threads) {
    const Nanoseconds waited = part(thread.parts, Reason::runqueue);
    const Nanoseconds own = all - std::min(all, held(thread.parts));
    if (thread.threads == 1 && waited > own) most = std::max(most, waited - own);
  }
  return most;
}

// Who had the CPUs that the job waited for, and what to do. The job itself if it kept 90 % of those
// it may use busy. Others if there is no other way to explain a wait, or if the job has no more
// busy threads than CPUs. Its own threads if they use, or want, all of the few CPUs they ran on; or
// if it has more busy threads than CPUs.
std::pair<std::string, std::string> who_had_cpus(const View& view) {
  constexpr const char* kFewer =
      "Fewer threads (OMP_NUM_THREADS, the framework's pools, loader workers), or more CPUs.";
  constexpr const char* kOthers =
      "See what else runs on these CPUs (`top`), and move it or give the job CPUs of its own.";
  const unsigned cpus = view.snapshot.job.cpus;
  const auto used = static_cast<double>(cores_used(view.totals.cores));
  const double wanted = share_of(view.totals.cpu + part(view.totals.parts, Reason::runqueue),
                                 view.snapshot.job.elapsed);
  const uint64_t busy_threads = count_busy(view.snapshot);
  const std::string threads =
      fmt::format("{} busy thread{}", human_count(busy_threads), busy_threads == 1 ? "" : "s");
  if (cpus > 0 && view.busy >= 0.9 * cpus)
    return {fmt::format("The job itself held the CPUs: {} on {} CPUs, {} of these kept busy.",
                        threads, cpus, human_cores(view.busy)),
            kFewer};
  const Nanoseconds others = surely_others(view);
  if (others >= kLeast && others >= view.snapshot.job.elapsed / 50)
    return {fmt::format("Other processes held the CPUs for at least {} of that: the job kept only "
                        "{} of {} busy.",
                        human_time(others), human_cores(view.busy),
                        cpus > 0 ? fmt::format("{} CPUs", cpus) : "its CPUs"),
            kOthers};
  if (cpus > 0 && used > 0 && used < cpus && (view.busy >= 0.9 * used || wanted > used))
    return {fmt::format("Its threads crowd on {:.0f} of the {} CPUs it may use.", used, cpus),
            "Look for threads pinned to the same cores (OMP_PROC_BIND, taskset, the framework's "
            "affinity settings)."};
  if (cpus > 0 && busy_threads <= cpus)
    return {fmt::format("Other processes held the CPUs: the job has only {} for {} CPUs.", threads,
                        cpus),
            kOthers};
  if (cpus > 0 && view.busy <= 0.55 * cpus)
    return {fmt::format("The job kept only {} of {} CPUs busy while its {} wanted them: other "
                        "processes held the rest, or the work came in bursts.",
                        human_cores(view.busy), cpus, threads),
            kOthers};
  return {fmt::format("The job has {} for {} CPUs: they were in each other's way.", threads,
                      cpus > 0 ? std::to_string(cpus) : "an unknown number of"),
          kFewer};
}

}  // namespace

// A CPU quota held the main thread back for 2 % of its time, or the cgroup's own ledger says
// 5 % of the elapsed time.
Found throttled(const View& view) {
  const auto& cgroup = view.snapshot.cgroup;
  const Nanoseconds ledger = cgroup ? cgroup->throttled.value_or(0) : 0;
  const Nanoseconds main = view.of_main(Reason::throttled);
  const Nanoseconds elapsed = view.snapshot.job.elapsed;
  const bool by_main = view.matters(main, 0.02);
  if (!by_main && (ledger < kLeast || share_of(ledger, elapsed) < 0.05)) return {};
  Finding finding = about_main(view, "throttled", main);
  if (!by_main) {
    finding.share = std::min(1.0, share_of(ledger, elapsed));
    finding.of = "the elapsed time";
  }
  const std::string quota = cgroup && cgroup->cpu_limit
                                ? fmt::format("The CPU quota of {:.2f} CPUs", *cgroup->cpu_limit)
                                : "A CPU quota";
  finding.text =
      by_main ? fmt::format("{} stopped the main thread for {}.", quota, view.main_words(main))
              : fmt::format("{} stopped the job for {}.", quota, human_time(ledger));
  finding.evidence = {
      {"all threads held back", human_time(part(view.totals.parts, Reason::throttled))},
      {"the cgroup's own count", cgroup && cgroup->throttled ? human_time(ledger) : "unknown"}};
  if (cgroup) finding.evidence.emplace_back("cgroup", cgroup->path);
  finding.advice =
      "Raise the quota, or run no more threads than it has CPUs (OMP_NUM_THREADS, "
      "loader workers): bursts of many threads use it up early in each period.";
  return finding;
}

// The main thread waited for a CPU for 5 % of its time, or all threads together for 20 % of the
// time they were ready to run.
Found lost_cpu(const View& view) {
  // A thread that yields goes to the run queue of its own will: that is yield_spin's.
  const Nanoseconds of_own_will = view.focus.main ? view.focus.main->yield_wait : 0;
  const Nanoseconds queued = view.of_main(Reason::runqueue);
  const Nanoseconds main = queued - std::min(queued, of_own_will);
  const Nanoseconds all_queued = part(view.totals.parts, Reason::runqueue);
  const Nanoseconds all = all_queued - std::min(all_queued, view.totals.yield_wait);
  const Nanoseconds ready = view.totals.cpu + all;
  const bool by_main = view.matters(main, 0.05);
  if (!by_main && (all < kLeast || share_of(all, ready) < 0.2)) return {};
  Finding finding = about_main(view, "lost_cpu", main);
  if (!by_main) {
    finding.share = share_of(all, ready);
    finding.of = "the time its threads were ready to run";
  }
  const auto [who, advice] = who_had_cpus(view);
  finding.text =
      by_main ? fmt::format("The main thread waited {} for a CPU. {}", view.main_words(main), who)
              : fmt::format("Threads waited {} for a CPU. {}",
                            time_and_share(all, share_of(all, ready)), who);
  finding.advice = advice;
  finding.evidence = {{"main thread", human_time(main)},
                      {"all threads", human_time(all)},
                      {"CPUs busy with the job", human_cores(view.busy)},
                      {"CPUs wanted", human_cores(share_of(ready, view.snapshot.job.elapsed))}};
  if (view.snapshot.runqueue.count() > 0)
    finding.evidence.emplace_back("99 % of the waits below",
                                  human_micros(view.snapshot.runqueue.quantile(0.99)));
  return finding;
}

namespace {

// Time of the main thread that went into yielding: in the call, and in the queue for a CPU after
// it.
Nanoseconds spin_of_main(const View& view) {
  if (!view.focus.main) return 0;
  const ThreadUse& main = *view.focus.main;
  const double share = std::min(1.0, share_of(main.yield_samples, main.samples));
  const Nanoseconds cpu = view.of_main(Reason::cpu_user) + view.of_main(Reason::cpu_system);
  return main.yield_wait + whole_number(share * static_cast<double>(cpu));
}

// What the main thread's spinning is for: those that have the CPU meanwhile.
std::string main_spins(const View& view, Nanoseconds spin) {
  std::string who;
  for (const auto& group : view.groups) {
    if (group.main || share_of(group.cpu(), view.totals.cpu) < 0.1) continue;
    who += (who.empty() ? "" : " and ") + group.label;
  }
  return fmt::format(
      "The main thread spent {} spinning: it calls sched_yield until other threads "
      "are ready{}.",
      view.main_words(spin), who.empty() ? "" : " (busy meanwhile: " + who + ")");
}

}  // namespace

// 5 % of the CPU samples (100 at least) lay in sched_yield. Without samples: 10,000 yields, 1,000
// per CPU second, and the share is not known.
Found yield_spin(const View& view) {
  const auto& totals = view.totals;
  const double cpu_seconds = 1e-9 * static_cast<double>(totals.cpu);
  const double share = std::min(1.0, share_of(totals.yield_samples, totals.samples));
  const auto time = whole_number(share * static_cast<double>(totals.cpu));
  const bool sampled = totals.samples >= 100;
  if (sampled ? share < 0.05 || time < kLeast
              : totals.yields < 10'000 || static_cast<double>(totals.yields) < 1000 * cpu_seconds)
    return {};
  Finding finding{"yield_spin", kUnknown, kCpuTime, {}, {}, {}};
  if (sampled) finding.share = share;
  const Nanoseconds main_spin = spin_of_main(view);
  const bool by_main = view.matters(main_spin, 0.1);
  if (by_main) finding = about_main(view, "yield_spin", main_spin);
  std::vector<std::pair<uint64_t, const ThreadGroup*>> spinners;
  uint64_t all = 0;
  for (const auto& group : view.groups) {
    const uint64_t weight = sampled ? group.yield_samples : group.yields;
    if (weight > 0) spinners.emplace_back(weight, &group);
    all += weight;
  }
  std::stable_sort(spinners.begin(), spinners.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string who;
  for (size_t i = 0; i < std::min<size_t>(2, spinners.size()); ++i)
    if (const double part = share_of(spinners[i].first, all); i == 0 || part >= 0.1)
      who += fmt::format("{}{} ({})", i > 0 ? " and " : "", spinners[i].second->label,
                         human_percent(part));
  finding.text =
      sampled
          ? fmt::format(
                "About {} of CPU went into spinning: threads without work call sched_yield over "
                "and over. Most of it: {}.",
                time_and_share(time, share), who)
          : fmt::format(
                "Threads without work call sched_yield over and over, {} times. Most of "
                "them: {}.",
                human_count(totals.yields), who);
  if (by_main) finding.text = main_spins(view, main_spin) + " " + finding.text;
  finding.evidence = {{"times a CPU was given up by sched_yield", human_count(totals.yields)}};
  finding.evidence.emplace_back("CPU samples in sched_yield",
                                sampled ? fmt::format("{} of {}", human_count(totals.yield_samples),
                                                      human_count(totals.samples))
                                        : "unknown");
  finding.advice = view.mindspore()
                       ? "MindSpore's pools spin before they sleep: try fewer threads, "
                         "mindspore.runtime.dispatch_threads_num(N), and compare."
                       : "Fewer threads in that pool spin less; or let them sleep, for OpenMP with "
                         "OMP_WAIT_POLICY=passive.";
  return finding;
}

// 100 processes lived less than 1 s, 10 of them per second, and used 5 % of the job's CPU; or
// 1,000.
Found fork_storm(const View& view) {
  const auto brief = short_lived(view.snapshot);
  const uint64_t rate = per_second(brief.count, view.snapshot.job.elapsed);
  const double share = share_of(brief.cpu, view.totals.cpu);
  if (brief.count < 1000 && (brief.count < 100 || rate < 10 || share < 0.05)) return {};
  Finding finding{"fork_storm", std::min(1.0, share), kCpuTime, {}, {}, {}};
  const auto& [name, count] = brief.commands.front();
  finding.text = fmt::format(
      "{} processes lived less than a second and used {} of CPU. Most of "
      "them: {} ({}).",
      human_count(brief.count), time_and_share(brief.cpu, share), name, human_count(count));
  finding.evidence = {{"per second", human_count(rate)},
                      {"CPU of each", human_time(brief.cpu / brief.count)}};
  finding.advice =
      "Monitors that sample do not see these. Do the work in one process that stays, "
      "or call the command less often.";
  return finding;
}

// Interrupts and the hypervisor took 2 % of the main thread's time, or of all threads' CPU time.
Found stolen(const View& view) {
  const Nanoseconds main = view.of_main(Reason::stolen);
  const Nanoseconds all = part(view.totals.parts, Reason::stolen);
  const Nanoseconds held = all + view.totals.cpu;
  const bool by_main = view.matters(main, 0.02);
  if (!by_main && (all < kLeast || share_of(all, held) < 0.02)) return {};
  Finding finding = about_main(view, "stolen", main);
  if (!by_main) finding.share = share_of(all, held), finding.of = "the time its threads held a CPU";
  finding.text =
      fmt::format("Interrupts and the hypervisor took {} from {} while it held a CPU.",
                  by_main ? view.main_words(main) : time_and_share(all, share_of(all, held)),
                  by_main ? "the main thread" : "the job");
  finding.evidence = {{"main thread", human_time(main)}, {"all threads", human_time(all)}};
  finding.advice =
      "In a virtual machine: `vmstat 1`, column st, says if the host is overcommitted. "
      "Else see /proc/interrupts for busy devices.";
  return finding;
}

// The main thread computed 70 % of its time, at most 1.3 CPUs were busy, and 40 % of the CPUs or
// more had nothing to do. Not told when it waits for an accelerator: that does the work then.
Found single_threaded(const View& view) {
  const unsigned cpus = view.snapshot.job.cpus;
  const Nanoseconds time = view.of_main(Reason::cpu_user) + view.of_main(Reason::cpu_system);
  if (cpus < 2 || !view.matters(time, 0.7) || view.busy > 1.3 || view.busy > 0.6 * cpus ||
      view.share_of_main(view.of_main(Reason::accelerator)) > 0.01)
    return {};
  Finding finding = about_main(view, "single_threaded", time);
  finding.text = fmt::format(
      "One thread does the work: the main thread computed {} while {} of {} "
      "CPUs were busy.",
      view.main_words(time), human_cores(view.busy), cpus);
  finding.evidence = {
      {"CPU of the main thread", human_time(time)},
      {"CPU of all other threads", human_time(view.totals.cpu - std::min(time, view.totals.cpu))}};
  finding.advice =
      "Let the framework use more threads, or move loading and preprocessing to "
      "workers. If an accelerator computes, this may be the thread that feeds it.";
  return finding;
}

}  // namespace jobscope::rules
