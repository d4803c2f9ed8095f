#include "src/model/findings_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>

namespace jobscope::rules {
namespace {

constexpr std::array kHandovers = {Reason::futex, Reason::poll, Reason::pipe, Reason::unix_socket};

bool is_loader_name(std::string_view name) {
  constexpr std::array<std::string_view, 3> kPrefixes = {"pt_data", "pt_pin_memory", "tf_data"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), [name](std::string_view prefix) {
    return name.substr(0, prefix.size()) == prefix;
  });
}

// Who hands work to the main thread: its children and threads that load data, or its own threads.
struct Handover {
  WakerGroup from;
  bool loader = false;
};

std::vector<Handover> handovers(const View& view) {
  std::map<std::tuple<bool, WakerGroup::Kind, std::string>, Handover> all;
  if (view.focus.main == nullptr) return {};
  for (const Reason reason : kHandovers)
    for (const auto& group : wakers_of(view.snapshot, view.processes, *view.focus.main, reason)) {
      using Kind = WakerGroup::Kind;
      if (group.kind != Kind::child && group.kind != Kind::own_thread) continue;
      const bool loader = group.kind == Kind::child || is_loader_name(group.name) ||
                          (group.unnamed && view.mindspore());
      auto& entry = all[{loader, group.kind, group.name}];
      const auto sofar = entry.from;
      entry = {group, loader};
      entry.from.wait += sofar.wait;
      entry.from.waits += sofar.waits;
      entry.from.threads = std::max(entry.from.threads, sofar.threads);
    }
  std::vector<Handover> result;
  result.reserve(all.size());
  for (auto& [key, entry] : all) result.push_back(std::move(entry));
  std::stable_sort(result.begin(), result.end(),
                   [](const Handover& a, const Handover& b) { return a.from.wait > b.from.wait; });
  return result;
}

// The group that these wakers are threads of; null if it cannot be told.
const ThreadGroup* group_of(const View& view, const WakerGroup& waker) {
  const bool child = waker.kind == WakerGroup::Kind::child;
  for (const auto& group : view.groups)
    if (child ? group.main && group.process == waker.name
              : !group.main &&
                    group.label.find(waker.unnamed ? "(unnamed)" : waker.name) != std::string::npos)
      return &group;
  return nullptr;
}

// What threads did with their time: "Python GIL 52 %, waiting for a CPU 29 %, on a CPU 18 %".
std::string use_of_time(const ThreadGroup& group) {
  std::vector<std::pair<Nanoseconds, std::string>> uses = {
      {group.cpu(), "on a CPU"},
      {part(group.parts, Reason::runqueue), std::string(label(Reason::runqueue))}};
  for (const auto& [reason, time] : blocked_reasons(group.parts))
    uses.emplace_back(time, std::string(label(reason)));
  std::stable_sort(uses.begin(), uses.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(3, uses.size()); ++i)
    if (const double share = share_of(uses[i].first, group.lifetime); share >= 0.01)
      text +=
          fmt::format("{}{} {}", text.empty() ? "" : ", ", uses[i].second, human_percent(share));
  return text;
}

}  // namespace

// Child processes or data-loading threads ended waits that were 10 % of the main thread's time.
// MindSpore's data workers have no names of their own: there, unnamed threads count as such.
Found loader_children(const View& view) {
  Nanoseconds time = 0;
  const Handover* most = nullptr;
  const auto all = handovers(view);
  for (const auto& handover : all)
    if (handover.loader) {
      time += handover.from.wait;
      if (most == nullptr) most = &handover;
    }
  if (most == nullptr || !view.matters(time, 0.1)) return {};
  Finding finding = about_main(view, "loader_children", time);
  const bool child = most->from.kind == WakerGroup::Kind::child;
  finding.text = fmt::format(
      "The main thread waited {} for {}.", view.main_words(time),
      child ? fmt::format("its child process{} {}", most->from.threads > 1 ? "es" : "",
                          most->from.name)
      : most->from.unnamed ? "unnamed threads of its own process, as MindSpore's data workers are"
                           : "its data-loading threads " + most->from.name);
  finding.evidence = {{"waits", human_count(most->from.waits)},
                      {"woken by", fmt::format("{} of {}", most->from.threads, most->from.name)}};
  finding.advice = "If they load data: give the loader more workers, or cheaper work.";
  if (const auto* group = group_of(view, most->from)) {
    const double cpu = share_of(group->cpu(), group->lifetime);
    const double queued = share_of(part(group->parts, Reason::runqueue), group->lifetime);
    Nanoseconds files = 0;
    for (size_t i = 0; i < kReasons; ++i)
      if (for_files(static_cast<Reason>(i))) files += group->parts[i];
    finding.evidence.emplace_back("their own time", use_of_time(*group));
    if (queued >= 0.2) {
      finding.text += " They in turn waited for a CPU " + human_percent(queued) + " of their time.";
      finding.advice = "More workers will not help before there are CPUs for them.";
    } else if (share_of(files, group->lifetime) >= 0.3) {
      finding.text += " They in turn waited for files " +
                      human_percent(share_of(files, group->lifetime)) + " of their time.";
      finding.advice = "Faster storage, fewer and larger files, or more workers to wait at once.";
    } else if (cpu >= 0.5) {
      finding.text += " They computed " + human_percent(cpu) + " of their time.";
      finding.advice =
          "More workers (DataLoader num_workers, MindSpore num_parallel_workers) while "
          "CPUs are free; else cheaper or cached transforms.";
    }
  }
  return finding;
}

// Named threads of its own process ended waits that were 10 % of the main thread's time.
Found handoff(const View& view) {
  for (const auto& handover : handovers(view)) {
    const auto& from = handover.from;
    if (handover.loader || !view.matters(from.wait, 0.1) || from.waits == 0) continue;
    Finding finding = about_main(view, "handoff", from.wait);
    const Nanoseconds each = from.wait / from.waits;
    const std::string who = from.unnamed ? fmt::format("{} unnamed thread{} of its own",
                                                       from.threads, from.threads > 1 ? "s" : "")
                                         : from.name;
    finding.text =
        fmt::format("The main thread waited {} for {}, {} times, {} each.",
                    view.main_words(from.wait), who, human_count(from.waits), human_time(each));
    if (const auto* group = group_of(view, from))
      finding.text +=
          fmt::format(" {} own time: {}.", from.threads > 1 ? "Their" : "Its", use_of_time(*group));
    finding.evidence.emplace_back("waits per second",
                                  human_count(per_second(from.waits, view.main_time)));
    // Below 1 ms a wait costs as much as the work it waits for.
    if (each < 1'000'000)
      finding.advice =
          "The work is handed over in small pieces. Larger batches, or a smaller pool "
          "of threads, make fewer of them.";
    return finding;
  }
  return {};
}

// The main thread waited for the GIL for 5 % of its time; or two threads or more did, and it was 20
// % of their time.
Found gil(const View& view) {
  const Nanoseconds main = view.of_main(Reason::gil);
  const bool by_main = view.matters(main, 0.05);
  Nanoseconds waited = 0, lived = 0;
  uint64_t threads = 0;
  for (const auto& thread : view.snapshot.threads)
    if (share_of(part(thread.parts, Reason::gil), sum(thread.parts)) >= 0.05) {
      waited += part(thread.parts, Reason::gil);
      lived += sum(thread.parts);
      threads += thread.threads;
    }
  if (!by_main && (threads < 2 || waited < kLeast || share_of(waited, lived) < 0.2)) return {};
  Finding finding = about_main(view, "gil", main);
  if (!by_main) {
    finding.share = share_of(waited, lived);
    finding.of = fmt::format("the time of {} Python threads", threads);
  }
  finding.text = by_main ? fmt::format("The main thread waited {} for Python's global lock (GIL).",
                                       view.main_words(main))
                         : fmt::format(
                               "{} threads waited {} for Python's global lock (GIL): only "
                               "one of them can run at a time.",
                               threads, time_and_share(waited, share_of(waited, lived)));
  finding.evidence = {{"threads that waited for it", human_count(threads)},
                      {"together", human_time(waited)}};
  finding.advice =
      "Move Python work to processes (DataLoader workers, multiprocessing), or into "
      "native code that releases the lock.";
  return finding;
}

// The main thread waited at OpenMP barriers for 5 % of its time, or the threads that met at them
// for 20 % of theirs while another thread of the same process computed for half of its time: else
// they were idle together. The slow one is the one that computed most; it is named if that was 1.3
// times as long as the median of the others.
Found barrier(const View& view) {
  std::map<uint32_t, Nanoseconds> by_process;
  for (const auto& thread : view.snapshot.threads)
    if (part(thread.parts, Reason::barrier) > 0)
      by_process[thread.pid] += part(thread.parts, Reason::barrier);
  if (by_process.empty()) return {};
  const uint32_t pid = std::max_element(by_process.begin(), by_process.end(), [](auto& a, auto& b) {
                         return a.second < b.second;
                       })->first;
  std::vector<const ThreadUse*> team;
  Nanoseconds waited = 0, lived = 0;
  for (const auto& thread : view.snapshot.threads) {
    const bool waits = part(thread.parts, Reason::barrier) > 0;
    if (thread.pid != pid || (!waits && thread.pid != thread.tid)) continue;
    team.push_back(&thread);
    waited += part(thread.parts, Reason::barrier);
    lived += sum(thread.parts);
  }
  std::sort(team.begin(), team.end(), [](const ThreadUse* a, const ThreadUse* b) {
    return std::tuple(a->cpu(), ~a->tid) > std::tuple(b->cpu(), ~b->tid);
  });
  const ThreadUse& slow = *team[0];
  const Nanoseconds main = view.of_main(Reason::barrier);
  const bool by_main = view.matters(main, 0.05);
  if (!by_main && (waited < kLeast || share_of(waited, lived) < 0.2 ||
                   share_of(slow.cpu(), sum(slow.parts)) < 0.5))
    return {};
  Finding finding = about_main(view, "barrier", main);
  if (!by_main) {
    finding.share = share_of(waited, lived);
    finding.of = "the time of the OpenMP threads";
  }
  finding.text =
      by_main ? fmt::format("The main thread waited {} at OpenMP barriers.", view.main_words(main))
              : fmt::format("OpenMP threads waited {} at barriers.",
                            time_and_share(waited, share_of(waited, lived)));
  finding.evidence = {{"threads", human_count(team.size())}, {"together", human_time(waited)}};
  if (team.size() < 2) return finding;
  const Nanoseconds median = team[1 + (team.size() - 1) / 2]->cpu();
  if (static_cast<double>(slow.cpu()) < 1.3 * static_cast<double>(median)) return finding;
  const bool is_main = slow.tid == slow.pid;
  finding.text +=
      fmt::format(" The slow one is {}: {} of CPU, the others {} (median).",
                  is_main ? "the main thread" : fmt::format("{} (tid {})", slow.name, slow.tid),
                  human_time(slow.cpu()), human_time(median));
  finding.advice = is_main ? "The main thread works alone between the parallel parts: fewer OpenMP "
                             "threads (OMP_NUM_THREADS) lose little."
                           : "Work is shared unevenly: try OMP_SCHEDULE=dynamic, or look for "
                             "something else on that thread's core.";
  return finding;
}

}  // namespace jobscope::rules
