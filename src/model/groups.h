// What reports and findings share: the thread that a job's time is told by, groups of threads,
// sums of waits, and the words for figures.
//
// Pure functions of a Snapshot. No result depends on the order of the snapshot's vectors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/model/snapshot.h"

namespace jobscope {

// Figures for people, in three significant digits and without a locale. Text is UTF-8 ("µs").
std::string human_time(Nanoseconds time);  // "4.71 s", "12.0 ms", "3.40 µs", "5,412 s"
std::string human_bytes(uint64_t bytes);   // "512 B", "1.50 KiB", "23.4 GiB"
std::string human_count(uint64_t count);   // "412,345", "2.31 M"
std::string human_percent(double share);   // 0.384: "38 %", 0.031: "3.1 %", 0.0001: "<0.1 %"
std::string human_cores(double cores);     // "1.7", "<0.1"
// The nearest whole number; the largest there is for what lies above it, 0 for NaN and below 0.
uint64_t whole_number(double value);
// So many per second; 0 if no time has passed.
uint64_t per_second(uint64_t count, Nanoseconds time);
std::string human_micros(double micros);  // of a Histogram of µs
// part / whole; 0 if there is no whole.
double share_of(Nanoseconds part, Nanoseconds whole);

// The processes of a job by pid. Refers to the snapshot. Lines that fold many processes are left
// out; of two processes that had the same pid, the one that used more CPU is kept.
class ProcessIndex {
 public:
  explicit ProcessIndex(const Snapshot& snapshot);

  const ProcessUse* find(uint32_t pid) const;
  // Name of the process: its own, else that of its main thread; "" if neither is known.
  std::string_view name(uint32_t pid) const;
  // Its thread with tid == pid, if it has a line of its own.
  const ThreadUse* main_thread(uint32_t pid) const;
  // True if `pid` is a child of `ancestor`, or a child of its children, and so on.
  bool descends(uint32_t pid, uint32_t ancestor) const;
  // CPU time of the process and of all its descendants.
  Nanoseconds family_cpu(uint32_t pid) const;
  Nanoseconds cpu(uint32_t pid) const;
  std::vector<uint32_t> children(uint32_t pid) const;
  // Pids of processes whose parent is not part of the job.
  std::vector<uint32_t> tops() const;

 private:
  std::map<uint32_t, const ProcessUse*> processes_;
  std::map<uint32_t, const ThreadUse*> mains_;
  std::map<uint32_t, Nanoseconds> cpu_;
  std::multimap<uint32_t, uint32_t> children_;
};

// The main thread that a job's time is told by.
struct Focus {
  const ThreadUse* root = nullptr;  // main thread of the root process
  const ThreadUse* main = nullptr;  // the same; or, when the root process only starts others and
                                    // waits for them, that of the child with the most CPU
  bool launcher() const { return root != nullptr && root != main; }
};
Focus focus_of(const Snapshot& snapshot, const ProcessIndex& processes);

// Sums over all threads of a job.
struct JobTotals {
  bool cpu_known = false;  // false: neither threads nor processes were seen
  Nanoseconds cpu = 0, lifetime = 0;
  Parts parts{};
  std::map<uint32_t, Nanoseconds> cores;
  uint64_t threads = 0, processes = 0;
  uint64_t migrations = 0, node_moves = 0, voluntary = 0, involuntary = 0;
  uint64_t samples = 0, yield_samples = 0, yields = 0;
  Nanoseconds yield_wait = 0;
  uint64_t minor_faults = 0, major_faults = 0;
};
JobTotals totals_of(const Snapshot& snapshot);

// Processes, save the root process, that ended within a second of their start.
struct ShortLived {
  uint64_t count = 0;
  Nanoseconds cpu = 0;
  std::vector<std::pair<std::string, uint64_t>> commands;  // how many by name, most first
};
ShortLived short_lived(const Snapshot& snapshot);

// Threads of one name (numbers at its end do not count) in processes of one name.
struct ThreadGroup {
  std::string label;    // "python3 (main)", "ActorThread_*", "python3 (unnamed)"
  std::string process;  // name of their processes
  std::string stem;     // its stem
  bool main = false;    // the main threads of these processes
  uint64_t threads = 0;
  uint64_t idle = 0;  // of these: waited at least 98 % of their life in a way that may be idle
  Nanoseconds lifetime = 0;
  Parts parts{};
  std::map<uint32_t, Nanoseconds> cores;
  uint64_t yields = 0, samples = 0, yield_samples = 0;

  Nanoseconds cpu() const {
    return part(parts, Reason::cpu_user) + part(parts, Reason::cpu_system);
  }
};
// The groups, by CPU time, most first.
std::vector<ThreadGroup> thread_groups(const Snapshot& snapshot, const ProcessIndex& processes);
// "ActorThread_12": "ActorThread". A name of digits only is its own stem.
std::string_view name_stem(std::string_view name);
// How few cores hold 95 % of this CPU time.
size_t cores_used(const std::map<uint32_t, Nanoseconds>& cores);
// The reasons a thread was blocked for, by time, most first; those with no time are left out.
std::vector<std::pair<Reason, Nanoseconds>> blocked_reasons(const Parts& parts);

// Waits that need not cost anybody anything: a worker without work waits in just these.
constexpr bool may_be_idle(Reason reason) {
  return reason == Reason::futex || reason == Reason::poll || reason == Reason::pipe ||
         reason == Reason::unix_socket || reason == Reason::barrier || reason == Reason::sleep;
}
// Waits for files and disks.
constexpr bool for_files(Reason reason) {
  return reason >= Reason::disk_read && reason <= Reason::remote_fs;
}
constexpr bool for_network(Reason reason) {
  return reason >= Reason::net_recv && reason <= Reason::net_connect;
}

// The target as far as it tells a person something: "" for the number of a pipe that is gone.
std::string_view told_target(std::string_view target);

// Waits for one told target, summed over the processes of one name.
struct NamedWait {
  std::string process;
  bool main_thread = false;
  Reason reason{};
  std::string target;
  Nanoseconds wait = 0;
  uint64_t waits = 0;
};
// Those of main threads first; by time, most first. That a launcher waited for its children goes
// without saying and is left out.
std::vector<NamedWait> named_waits(const Snapshot& snapshot, const Focus& focus);

// Who ended the waits of a main thread, threads of one name together.
struct WakerGroup {
  enum class Kind { own_thread, child, other, kernel } kind = Kind::other;
  std::string name;      // "KernelThread_0", "pt_data_worker"; the stem and * if they differ
  bool unnamed = false;  // own threads that carry the name of the process
  Nanoseconds wait = 0;
  uint64_t waits = 0;
  size_t threads = 0;  // how many: threads of its own, or else processes
};
// By time, most first. Empty for waits that an interrupt ends (disks, network, timers): whoever ran
// just then is not the one that was waited for.
std::vector<WakerGroup> wakers_of(const Snapshot& snapshot, const ProcessIndex& processes,
                                  const ThreadUse& main, Reason reason);

}  // namespace jobscope
