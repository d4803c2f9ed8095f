#include "src/model/findings_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

namespace jobscope::rules {
namespace {

struct Target {
  std::string name;
  Nanoseconds wait = 0;
  uint64_t waits = 0;
};

// What the main thread waited for by these reasons, by name, most first. Waits without a name are
// left out.
template <class Reasons>
std::vector<Target> main_targets(const View& view, Reasons reasons) {
  std::map<std::string_view, Target> targets;
  if (view.focus.main == nullptr) return {};
  for (const auto& use : view.snapshot.waits) {
    const std::string_view name = told_target(use.target);
    if (use.pid != view.focus.main->pid || !use.main_thread || name.empty() || !reasons(use.reason))
      continue;
    auto& target = targets[name];
    target.name = name;
    target.wait += use.wait;
    target.waits += use.waits;
  }
  std::vector<Target> result;
  result.reserve(targets.size());
  for (auto& [name, target] : targets) result.push_back(std::move(target));
  std::stable_sort(result.begin(), result.end(),
                   [](const Target& a, const Target& b) { return a.wait > b.wait; });
  return result;
}

bool on_storage(Reason reason) { return for_files(reason) && reason != Reason::page_fault; }
bool in_swap(std::string_view target) { return target.substr(0, 4) == "swap"; }

Nanoseconds of_main_if(const View& view, bool (*reasons)(Reason)) {
  Nanoseconds total = 0;
  for (size_t i = 0; i < kReasons; ++i)
    if (reasons(static_cast<Reason>(i))) total += view.main[i];
  return total;
}

}  // namespace

// The main thread waited for storage for 10 % of its time, or 5 % if it was for one file, that is
// if half of it or more had the same name. Page faults have their own rule.
Found storage(const View& view) {
  const Nanoseconds all = of_main_if(view, on_storage);
  const auto targets = main_targets(view, on_storage);
  const bool one = !targets.empty() && view.matters(targets[0].wait, 0.05) &&
                   share_of(targets[0].wait, all) >= 0.5;
  if (!one && !view.matters(all, 0.1)) return {};
  Finding finding = about_main(view, one ? "one_file" : "storage", one ? targets[0].wait : all);
  if (one) {
    finding.text = fmt::format("The main thread waited {} for one file: {}.",
                               view.main_words(targets[0].wait), targets[0].name);
    finding.evidence = {{"waits", human_count(targets[0].waits)}};
    if (targets[0].waits > 0)
      finding.evidence.emplace_back("each", human_time(targets[0].wait / targets[0].waits));
  } else {
    finding.text = fmt::format(
        "The main thread waited {} for files and disks, no single one of "
        "them above half of it.",
        view.main_words(all));
    for (size_t i = 0; i < std::min<size_t>(3, targets.size()); ++i)
      finding.evidence.emplace_back(targets[i].name, human_time(targets[i].wait));
  }
  Reason most = Reason::disk_read;
  for (size_t i = 0; i < kReasons; ++i) {
    const auto reason = static_cast<Reason>(i);
    if (!on_storage(reason) || view.main[i] == 0) continue;
    finding.evidence.emplace_back(label(reason), human_time(view.main[i]));
    if (view.main[i] > view.of_main(most)) most = reason;
  }
  if (most == Reason::disk_read || most == Reason::remote_fs)
    finding.advice =
        "Read ahead in other threads or processes, keep the data in memory, or on a "
        "faster disk.";
  if (most == Reason::fsync || most == Reason::disk_write)
    finding.advice =
        "Write checkpoints and logs from another thread, less often, or to a faster "
        "disk.";
  return finding;
}

// The main thread was blocked in major page faults for 5 % of its time, swap left out.
Found page_fault(const View& view) {
  Nanoseconds time = view.of_main(Reason::page_fault);
  std::vector<Target> files;
  for (auto& target : main_targets(view, [](Reason r) { return r == Reason::page_fault; })) {
    if (in_swap(target.name))
      time -= std::min(time, target.wait);
    else
      files.push_back(std::move(target));
  }
  if (!view.matters(time, 0.05)) return {};
  Finding finding = about_main(view, "page_fault", time);
  finding.text = fmt::format(
      "The main thread waited {} for pages of mapped files that were not in "
      "memory{}.",
      view.main_words(time), files.empty() ? "" : ", most of all " + files[0].name);
  for (size_t i = 0; i < std::min<size_t>(3, files.size()); ++i)
    finding.evidence.emplace_back(files[i].name, human_time(files[i].wait));
  finding.evidence.emplace_back("major faults", human_count(view.totals.major_faults));
  finding.advice =
      "A first run from a cold cache looks like this, and a second one does not. If "
      "it stays: more memory, or read the file ahead in one go.";
  return finding;
}

// Waits for swap were 2 % of the main thread's time.
Found swap(const View& view) {
  Nanoseconds time = 0;
  for (const auto& target : main_targets(view, blocked))
    if (in_swap(target.name)) time += target.wait;
  if (!view.matters(time, 0.02)) return {};
  Finding finding = about_main(view, "swap", time);
  finding.text = fmt::format("The main thread waited {} for its own memory to come back from swap.",
                             view.main_words(time));
  finding.evidence = {{"major faults", human_count(view.totals.major_faults)}};
  finding.advice =
      "The machine has too little memory for all that runs on it: use less, or move "
      "something away.";
  return finding;
}

// The main thread waited for memory to be freed for 3 % of its time.
Found memory(const View& view) {
  const Nanoseconds time = view.of_main(Reason::memory);
  if (!view.matters(time, 0.03)) return {};
  Finding finding = about_main(view, "memory", time);
  finding.text = fmt::format("The main thread waited {} for the kernel to free memory.",
                             view.main_words(time));
  const auto& cgroup = view.snapshot.cgroup;
  finding.evidence = {
      {"all threads", human_time(part(view.totals.parts, Reason::memory))},
      {"memory limit",
       cgroup && cgroup->memory_limit ? human_bytes(*cgroup->memory_limit) : "unknown"}};
  finding.advice =
      "The job is near its memory limit, or the machine near its end: raise the limit "
      "or use less.";
  return finding;
}

// The main thread spent half of its time asleep, or waiting for the network, for events that none
// of its own threads or children raised, or for a child that was not the loader.
Found idle_wait(const View& view) {
  std::vector<std::pair<Nanoseconds, Reason>> waits;
  Nanoseconds time = 0;
  for (const Reason reason : {Reason::sleep, Reason::net_recv, Reason::net_send,
                              Reason::net_connect, Reason::poll, Reason::wait_child}) {
    Nanoseconds wait = view.of_main(reason);
    if (reason == Reason::poll && view.focus.main != nullptr)
      for (const auto& group : wakers_of(view.snapshot, view.processes, *view.focus.main, reason))
        if (group.kind == WakerGroup::Kind::child || group.kind == WakerGroup::Kind::own_thread)
          wait -= std::min(wait, group.wait);
    if (wait > 0) waits.emplace_back(wait, reason);
    time += wait;
  }
  if (!view.matters(time, 0.5)) return {};
  std::stable_sort(waits.begin(), waits.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  Finding finding = about_main(view, "idle_wait", time);
  const Reason most = waits[0].second;
  const auto targets = main_targets(view, [most](Reason reason) { return reason == most; });
  finding.text =
      fmt::format("The main thread did not work for {}: mostly {}{}.", view.main_words(time),
                  label(most), targets.empty() ? "" : " (" + targets[0].name + ")");
  for (const auto& [wait, reason] : waits)
    finding.evidence.emplace_back(label(reason), human_time(wait));
  if (for_network(most))
    finding.advice = "Look at the other side: this job was ready and waited for its answer.";
  return finding;
}

// The main thread waited for an accelerator for 30 % of its time.
Found accelerator(const View& view) {
  const Nanoseconds time = view.of_main(Reason::accelerator);
  if (!view.matters(time, 0.3)) return {};
  Finding finding = about_main(view, "accelerator", time);
  finding.text = fmt::format(
      "The main thread waited {} for the accelerator: the device has the "
      "work, and this side keeps up with it.",
      view.main_words(time));
  for (const auto& target : main_targets(view, [](Reason r) { return r == Reason::accelerator; }))
    finding.evidence.emplace_back(target.name, human_time(target.wait));
  return finding;
}

// The main thread was stopped for 5 % of its time.
Found stopped(const View& view) {
  const Nanoseconds time = view.of_main(Reason::stopped);
  if (!view.matters(time, 0.05)) return {};
  Finding finding = about_main(view, "stopped", time);
  finding.text = fmt::format("The job was stopped for {}: by Ctrl-Z, SIGSTOP or a debugger.",
                             view.main_words(time));
  finding.evidence = {{"main thread stopped", human_time(time)}};
  return finding;
}

}  // namespace jobscope::rules
