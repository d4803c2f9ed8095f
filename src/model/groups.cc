#include "src/model/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace jobscope {
namespace {

std::string three_digits(double value) {
  if (value < 0.9995) return fmt::format("{:.3g}", value);
  if (value < 9.995) return fmt::format("{:.2f}", value);
  if (value < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

std::string with_separators(uint64_t value) {
  std::string digits = std::to_string(value);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

// Programs that only start others. The kernel keeps 15 characters of a name.
constexpr std::string_view kLaunchers[] = {
    "sh",      "bash",     "dash",       "zsh",       "env",         "timeout", "nohup",
    "nice",    "time",     "xargs",      "parallel",  "make",        "sudo",    "su",
    "numactl", "taskset",  "tini",       "dumb-init", "docker-init", "conda",   "uv",
    "poetry",  "torchrun", "accelerate", "deepspeed", "horovodrun",  "msrun",   "mpirun",
    "mpiexec", "orterun",  "prterun",    "srun",      "slurmstepd",  "ray",
};
constexpr std::string_view kLauncherModules[] = {
    "torch.distributed.run",     "torch.distributed.launch",       "accelerate.commands.launch",
    "deepspeed.launcher.runner", "mindspore.parallel.cluster.run",
};

bool is_launcher_name(const ProcessUse* process, std::string_view comm) {
  if (std::find(std::begin(kLaunchers), std::end(kLaunchers), comm) != std::end(kLaunchers))
    return true;
  if (process == nullptr) return false;
  for (const auto& module : kLauncherModules)
    if (std::find(process->argv.begin(), process->argv.end(), module) != process->argv.end())
      return true;
  return false;
}

// True if this main thread did nothing but wait for what it started: at least 90 % of its life in
// waits, and these mostly for children, or in a program known to only start others.
bool only_waits(const ThreadUse& main, const ProcessUse* process) {
  const Nanoseconds life = sum(main.parts);
  const Nanoseconds child = part(main.parts, Reason::wait_child);
  Nanoseconds waits = child;
  for (Reason reason : {Reason::futex, Reason::poll, Reason::pipe, Reason::sleep})
    waits += part(main.parts, reason);
  if (life == 0 || share_of(waits, life) < 0.9) return false;
  return share_of(child, life) >= 0.5 || is_launcher_name(process, main.name);
}

// The one of these processes whose family used the most CPU and that has a main thread; 0 if none.
uint32_t busiest(const std::vector<uint32_t>& pids, const ProcessIndex& processes) {
  uint32_t best = 0;
  Nanoseconds most = 0;
  for (const uint32_t pid : pids) {
    if (processes.main_thread(pid) == nullptr) continue;
    const Nanoseconds cpu = processes.family_cpu(pid);
    if (best == 0 || cpu > most) best = pid, most = cpu;
  }
  return best;
}

bool ended_by_interrupt(Reason reason) {
  return for_files(reason) || for_network(reason) || reason == Reason::sleep ||
         reason == Reason::accelerator || reason == Reason::memory;
}

// A name for many: the name itself if they all have it, else what they share and a star.
class CommonName {
 public:
  void add(std::string_view name) {
    if (empty_) {
      name_ = name;
      empty_ = false;
      return;
    }
    if (name == name_) return;
    const auto end = std::mismatch(name_.begin(), name_.end(), name.begin(), name.end()).first;
    name_.resize(static_cast<size_t>(end - name_.begin()));
    differ_ = true;
  }
  // `stem` is what all of them begin with; separators after it stay, digits do not.
  std::string text(std::string_view stem) const {
    if (!differ_) return name_;
    std::string shared = name_;
    while (shared.size() > stem.size() && shared.back() >= '0' && shared.back() <= '9')
      shared.pop_back();
    return shared + "*";
  }

 private:
  std::string name_;
  bool empty_ = true, differ_ = false;
};

}  // namespace

double share_of(Nanoseconds part, Nanoseconds whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

uint64_t whole_number(double value) {
  if (!(value > 0)) return 0;
  // 2^64 itself is out of range; the double below it is not.
  return value < 18446744073709551615.0 ? static_cast<uint64_t>(std::round(value)) : UINT64_MAX;
}

uint64_t per_second(uint64_t count, Nanoseconds time) {
  if (time == 0) return 0;
  return whole_number(1e9 * static_cast<double>(count) / static_cast<double>(time));
}

std::string human_micros(double micros) { return human_time(whole_number(1000 * micros)); }

std::string human_time(Nanoseconds time) {
  const auto value = static_cast<double>(time);
  if (time == 0) return "0 s";
  if (value < 999.5e3) return three_digits(value / 1e3) + " µs";
  if (value < 999.5e6) return three_digits(value / 1e6) + " ms";
  if (value < 999.5e9) return three_digits(value / 1e9) + " s";
  return with_separators(whole_number(value / 1e9)) + " s";
}

std::string human_bytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1023.5 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return fmt::format("{} {}", three_digits(value), kUnits[unit]);
}

std::string human_count(uint64_t count) {
  const auto value = static_cast<double>(count);
  if (count < 1'000'000) return with_separators(count);
  if (value < 999.5e6) return three_digits(value / 1e6) + " M";
  if (value < 999.5e9) return three_digits(value / 1e9) + " G";
  return three_digits(value / 1e12) + " T";
}

std::string human_percent(double share) {
  const double percent = 100 * share;
  if (!(percent > 0)) return "0 %";
  if (percent < 0.05) return "<0.1 %";
  return percent < 9.95 ? fmt::format("{:.1f} %", percent) : fmt::format("{:.0f} %", percent);
}

std::string human_cores(double cores) {
  if (cores > 0 && cores < 0.05) return "<0.1";
  return fmt::format("{:.1f}", cores);
}

ProcessIndex::ProcessIndex(const Snapshot& snapshot) {
  for (const auto& process : snapshot.processes) {
    if (process.processes != 1 || process.pid == 0) continue;
    const auto key = [](const ProcessUse& p) { return std::tuple(p.cpu, p.lifetime, p.start); };
    auto& slot = processes_[process.pid];
    if (slot == nullptr || key(process) > key(*slot)) slot = &process;
  }
  for (const auto& thread : snapshot.threads) {
    if (thread.pid == 0) continue;
    cpu_[thread.pid] += thread.cpu();
    if (thread.threads != 1 || thread.pid != thread.tid) continue;
    const auto key = [](const ThreadUse& t) { return std::tuple(t.lifetime, t.start); };
    auto& slot = mains_[thread.pid];
    if (slot == nullptr || key(thread) > key(*slot)) slot = &thread;
  }
  for (const auto& [pid, process] : processes_) {
    cpu_.try_emplace(pid, process->cpu);
    if (process->ppid != pid) children_.emplace(process->ppid, pid);
  }
}

const ProcessUse* ProcessIndex::find(uint32_t pid) const {
  const auto found = processes_.find(pid);
  return found == processes_.end() ? nullptr : found->second;
}

const ThreadUse* ProcessIndex::main_thread(uint32_t pid) const {
  const auto found = mains_.find(pid);
  return found == mains_.end() ? nullptr : found->second;
}

std::string_view ProcessIndex::name(uint32_t pid) const {
  if (const auto* process = find(pid); process != nullptr && !process->name.empty())
    return process->name;
  const auto* main = main_thread(pid);
  return main == nullptr ? std::string_view() : main->name;
}

bool ProcessIndex::descends(uint32_t pid, uint32_t ancestor) const {
  std::set<uint32_t> seen;  // pids are used again: the chain of parents may be a circle
  while (seen.insert(pid).second) {
    const auto* process = find(pid);
    if (process == nullptr) return false;
    if (process->ppid == ancestor) return true;
    pid = process->ppid;
  }
  return false;
}

Nanoseconds ProcessIndex::cpu(uint32_t pid) const {
  const auto found = cpu_.find(pid);
  return found == cpu_.end() ? 0 : found->second;
}

std::vector<uint32_t> ProcessIndex::children(uint32_t pid) const {
  std::vector<uint32_t> pids;
  const auto [begin, end] = children_.equal_range(pid);
  for (auto it = begin; it != end; ++it) pids.push_back(it->second);
  return pids;
}

Nanoseconds ProcessIndex::family_cpu(uint32_t pid) const {
  Nanoseconds total = 0;
  std::set<uint32_t> seen{pid};
  for (std::vector<uint32_t> todo{pid}; !todo.empty();) {
    const uint32_t next = todo.back();
    todo.pop_back();
    total += cpu(next);
    for (const uint32_t child : children(next))
      if (seen.insert(child).second) todo.push_back(child);
  }
  return total;
}

std::vector<uint32_t> ProcessIndex::tops() const {
  std::vector<uint32_t> pids;
  for (const auto& [pid, process] : processes_)
    if (find(process->ppid) == nullptr) pids.push_back(pid);
  for (const auto& [pid, main] : mains_)
    if (find(pid) == nullptr) pids.push_back(pid);
  return pids;
}

Focus focus_of(const Snapshot& snapshot, const ProcessIndex& processes) {
  Focus focus;
  uint32_t pid = snapshot.job.root_pid;
  if (pid != 0) focus.root = processes.main_thread(pid);
  if (focus.root == nullptr) pid = busiest(processes.tops(), processes);
  std::set<uint32_t> seen;
  while (pid != 0 && seen.insert(pid).second) {
    focus.main = processes.main_thread(pid);
    if (!only_waits(*focus.main, processes.find(pid))) break;
    const uint32_t child = busiest(processes.children(pid), processes);
    if (child == 0 || processes.family_cpu(child) <= processes.cpu(pid)) break;
    pid = child;
  }
  return focus;
}

JobTotals totals_of(const Snapshot& snapshot) {
  JobTotals totals;
  for (const auto& thread : snapshot.threads) {
    totals.threads += thread.threads;
    totals.cpu += thread.cpu();
    totals.lifetime += sum(thread.parts);
    add(totals.parts, thread.parts);
    for (const auto& [core, time] : thread.cores) totals.cores[core] += time;
    totals.migrations += thread.migrations;
    totals.node_moves += thread.node_moves;
    totals.voluntary += thread.voluntary;
    totals.involuntary += thread.involuntary;
    totals.samples += thread.samples;
    totals.yield_samples += thread.yield_samples;
    totals.yields += thread.yields;
    totals.yield_wait += thread.yield_wait;
    totals.minor_faults += thread.minor_faults;
    totals.major_faults += thread.major_faults;
  }
  for (const auto& process : snapshot.processes) {
    totals.processes += process.processes;
    if (snapshot.threads.empty()) totals.cpu += process.cpu;
  }
  totals.cpu_known = !snapshot.threads.empty() || !snapshot.processes.empty();
  return totals;
}

ShortLived short_lived(const Snapshot& snapshot) {
  constexpr Nanoseconds kShortLife = 1'000'000'000;
  ShortLived sums;
  std::map<std::string_view, uint64_t> commands;
  for (const auto& process : snapshot.processes) {
    const bool folded = process.processes > 1;  // only short-lived ones are
    if (!process.exited || (!folded && process.lifetime >= kShortLife) ||
        (!folded && process.pid == snapshot.job.root_pid))
      continue;
    sums.count += process.processes;
    sums.cpu += process.cpu;
    commands[process.name] += process.processes;
  }
  sums.commands.assign(commands.begin(), commands.end());
  std::stable_sort(sums.commands.begin(), sums.commands.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return sums;
}

std::string_view name_stem(std::string_view name) {
  constexpr std::string_view kNumber = "0123456789", kSeparators = "_-:./# ";
  const std::string_view all = name;
  if (name.empty() || kNumber.find(name.back()) == std::string_view::npos) return all;
  while (!name.empty() && (kNumber.find(name.back()) != std::string_view::npos ||
                           kSeparators.find(name.back()) != std::string_view::npos))
    name.remove_suffix(1);
  return name.empty() ? all : name;
}

std::vector<ThreadGroup> thread_groups(const Snapshot& snapshot, const ProcessIndex& processes) {
  enum class Kind { main, unnamed, named };
  struct Names {
    CommonName process, thread;
  };
  using Key = std::tuple<std::string, std::string, Kind>;  // stems of process and thread
  std::map<Key, std::pair<ThreadGroup, Names>> groups;
  for (const auto& thread : snapshot.threads) {
    const std::string_view known = processes.name(thread.pid);
    const std::string_view process = known.empty() ? std::string_view(thread.name) : known;
    const bool main = thread.threads == 1 && thread.pid == thread.tid && thread.pid != 0;
    const Kind kind = main                                       ? Kind::main
                      : !known.empty() && thread.name == process ? Kind::unnamed
                                                                 : Kind::named;
    const std::string_view name = kind == Kind::named ? std::string_view(thread.name) : process;
    auto& [group, names] =
        groups[Key(std::string(name_stem(process)), std::string(name_stem(name)), kind)];
    names.process.add(process);
    names.thread.add(name);
    group.main = main;
    group.threads += thread.threads;
    group.lifetime += sum(thread.parts);
    add(group.parts, thread.parts);
    for (const auto& [core, time] : thread.cores) group.cores[core] += time;
    group.yields += thread.yields;
    group.samples += thread.samples;
    group.yield_samples += thread.yield_samples;
    Nanoseconds idle = 0;
    for (const auto& [reason, time] : blocked_reasons(thread.parts))
      if (may_be_idle(reason)) idle += time;
    if (share_of(idle, sum(thread.parts)) >= 0.98) group.idle += thread.threads;
  }

  std::set<std::string> threaded;  // kinds of process that have more than main threads
  for (const auto& [key, entry] : groups)
    if (std::get<2>(key) == Kind::named) threaded.insert(std::get<0>(key));
  std::vector<ThreadGroup> result;
  for (auto& [key, entry] : groups) {
    const auto& [process_stem, thread_stem, kind] = key;
    auto& [group, names] = entry;
    group.process = names.process.text(process_stem);
    group.stem = process_stem;
    const std::string name = names.thread.text(thread_stem);
    if (kind == Kind::main) group.label = group.process + " (main)";
    if (kind == Kind::unnamed) group.label = group.process + " (unnamed)";
    if (kind == Kind::named)
      group.label =
          threaded.size() > 1 && name != group.process ? group.process + "/" + name : name;
    result.push_back(std::move(group));
  }
  std::sort(result.begin(), result.end(), [](const ThreadGroup& a, const ThreadGroup& b) {
    const auto key = [](const ThreadGroup& g) {
      return std::tuple(~g.cpu(), ~part(g.parts, Reason::runqueue), ~g.lifetime, g.label, g.main);
    };
    return key(a) < key(b);
  });
  return result;
}

size_t cores_used(const std::map<uint32_t, Nanoseconds>& cores) {
  std::vector<Nanoseconds> times;
  Nanoseconds total = 0;
  for (const auto& [core, time] : cores) {
    times.push_back(time);
    total += time;
  }
  std::sort(times.rbegin(), times.rend());
  size_t used = 0;
  for (Nanoseconds held = 0; used < times.size() && share_of(held, total) < 0.95; ++used)
    held += times[used];
  return total == 0 ? 0 : used;
}

std::vector<std::pair<Reason, Nanoseconds>> blocked_reasons(const Parts& parts) {
  std::vector<std::pair<Reason, Nanoseconds>> reasons;
  for (size_t i = 0; i < kReasons; ++i)
    if (const auto reason = static_cast<Reason>(i); blocked(reason) && parts[i] > 0)
      reasons.emplace_back(reason, parts[i]);
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return reasons;
}

std::string_view told_target(std::string_view target) {
  return target.substr(0, 6) == "pipe:[" ? std::string_view() : target;
}

std::vector<NamedWait> named_waits(const Snapshot& snapshot, const Focus& focus) {
  using Key = std::tuple<bool, std::string_view, Reason, std::string_view>;
  std::map<Key, NamedWait> sums;
  for (const auto& use : snapshot.waits) {
    if (focus.launcher() && use.pid == focus.root->pid && use.reason == Reason::wait_child)
      continue;
    const std::string_view target = told_target(use.target);
    auto& total = sums[Key(use.main_thread, use.process, use.reason, target)];
    total.process = use.process;
    total.main_thread = use.main_thread;
    total.reason = use.reason;
    total.target = target;
    total.wait += use.wait;
    total.waits += use.waits;
  }
  std::vector<NamedWait> result;
  result.reserve(sums.size());
  for (auto& [key, total] : sums) result.push_back(std::move(total));
  std::stable_sort(result.begin(), result.end(), [](const NamedWait& a, const NamedWait& b) {
    return std::tuple(!a.main_thread, ~a.wait) < std::tuple(!b.main_thread, ~b.wait);
  });
  return result;
}

std::vector<WakerGroup> wakers_of(const Snapshot& snapshot, const ProcessIndex& processes,
                                  const ThreadUse& main, Reason reason) {
  using Kind = WakerGroup::Kind;
  if (ended_by_interrupt(reason)) return {};
  struct Entry {
    WakerGroup group;
    CommonName names;
    std::set<std::pair<uint32_t, uint32_t>> threads;
  };
  std::map<std::tuple<Kind, bool, std::string>, Entry> groups;
  for (const auto& use : snapshot.wakers) {
    if (use.pid != main.pid || use.reason != reason) continue;
    Kind kind = Kind::other;
    if (use.waker_pid == 0)
      kind = Kind::kernel;
    else if (use.waker_pid == main.pid)
      kind = Kind::own_thread;
    else if (processes.descends(use.waker_pid, main.pid))
      kind = Kind::child;
    std::string_view name = use.waker;
    if (kind == Kind::child || kind == Kind::other)
      if (const auto process = processes.name(use.waker_pid); !process.empty()) name = process;
    const bool unnamed = kind == Kind::own_thread && name == processes.name(main.pid);
    auto& entry = groups[{kind, unnamed, std::string(name_stem(name))}];
    entry.names.add(name);
    entry.threads.emplace(use.waker_pid, kind == Kind::own_thread ? use.waker_tid : 0);
    entry.group.kind = kind;
    entry.group.unnamed = unnamed;
    entry.group.wait += use.wait;
    entry.group.waits += use.waits;
  }
  std::vector<WakerGroup> result;
  for (auto& [key, entry] : groups) {
    entry.group.name = entry.names.text(std::get<2>(key));
    entry.group.threads = entry.threads.size();
    result.push_back(std::move(entry.group));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const WakerGroup& a, const WakerGroup& b) { return a.wait > b.wait; });
  return result;
}

}  // namespace jobscope
