#include "probes/sched/thread_table.h"

#include <algorithm>

#include "src/session/members.h"

namespace jobscope {
namespace {

std::string name_of(const thread& t) {
  return std::string(t.name, ::strnlen(t.name, sizeof(t.name)));
}

// The time since its last change of state, under what it does now.
void add_running(thread& t, std::map<uint32_t, uint64_t>& cores) {
  const uint64_t held = t.now > t.since ? t.now - t.since : 0;
  const uint64_t queued = t.state == THREAD_QUEUED ? held : std::min<uint64_t>(t.queued, held);
  switch (t.state) {
    case THREAD_ON_CPU:
      t.parts[REASON_CPU_USER] += held;
      if (held && t.cpu != ~uint32_t{0}) cores[t.cpu] += held;  // ~0: adopted while it ran
      break;
    default:
      t.parts[REASON_RUNQUEUE] += queued;
      t.parts[std::min<size_t>(t.reason, REASON_OTHER)] += held - queued;
  }
  t.since += held;
}

struct Ticks {
  double user = 0, system = 0;
  void add(const thread& t) {
    user += static_cast<double>(t.utime);
    system += static_cast<double>(t.stime);
  }
  double share() const { return user + system > 0 ? system / (user + system) : 0; }
};

void add_ended(thread& to, const thread& from) {
  for (size_t i = 0; i < REASON_COUNT; ++i) to.parts[i] += from.parts[i];
  to.since += from.since - from.start;  // the sum of lifetimes
  to.utime += from.utime;
  to.stime += from.stime;
  to.voluntary += from.voluntary;
  to.involuntary += from.involuntary;
  to.minor_faults += from.minor_faults;
  to.major_faults += from.major_faults;
  to.migrations += from.migrations;
  to.node_moves += from.node_moves;
  to.yields += from.yields;
  to.yield_queued += from.yield_queued;
  to.samples += from.samples;
  to.yield_samples += from.yield_samples;
}

}  // namespace

CpuSplit split_cpu(uint64_t cpu, uint64_t utime, uint64_t stime, double share) {
  if (utime + stime > 0)
    share = static_cast<double>(stime) / (static_cast<double>(utime) + static_cast<double>(stime));
  const auto system = std::min(cpu, static_cast<uint64_t>(static_cast<double>(cpu) * share));
  return {cpu - system, system};
}

ThreadTable::Kept ThreadTable::keep(const ThreadRecord& record) {
  Kept kept{record.head, {}, 1, record.ended};
  for (size_t cpu = 0; cpu < record.cores.size(); ++cpu)
    if (record.cores[cpu]) kept.cores[static_cast<uint32_t>(cpu)] = record.cores[cpu];
  if (!record.ended) add_running(kept.head, kept.cores);
  return kept;
}

void ThreadTable::add(const ThreadRecord& record) {
  const thread& t = record.head;
  const Id id{t.tid, t.process, t.start};
  if (!record.ended) {
    threads_.insert_or_assign(id, keep(record)).first->second.look = look_;
    living_.insert(id);
    return;
  }
  living_.erase(id);
  add_ended(all_ended_.head, t);
  all_ended_.threads += 1;
  if (ended_ >= kMaxEnded) {
    threads_.erase(id);
    fold(keep(record));
    return;
  }
  ++ended_;
  threads_.insert_or_assign(id, keep(record));
}

void ThreadTable::fold(const Kept& thread) {
  auto [found, is_new] = folded_.try_emplace({0, name_of(thread.head)}, thread);
  if (is_new) {
    found->second.head.pid = 0;
    found->second.head.tid = 0;
    return;
  }
  add_ended(found->second.head, thread.head);
  found->second.threads += 1;
  for (const auto& [cpu, ns] : thread.cores) found->second.cores[cpu] += ns;
}

// `share`: the kernel's of the CPU time, for a thread that no tick met.
ThreadUse ThreadTable::use_of(const Kept& kept, uint64_t clock_offset, double share) {
  const thread& t = kept.head;
  const CpuSplit cpu = split_cpu(t.parts[REASON_CPU_USER], t.utime, t.stime, share);
  ThreadUse use;
  use.pid = t.pid;
  use.tid = t.tid;
  use.name = name_of(t);
  use.start = t.start + clock_offset;
  use.lifetime = t.since - t.start;
  use.exited = kept.ended;
  use.threads = kept.threads;
  std::copy(std::begin(t.parts), std::end(t.parts), use.parts.begin());
  part(use.parts, Reason::cpu_user) = cpu.user;
  part(use.parts, Reason::cpu_system) = cpu.system;
  use.cores = kept.cores;
  use.migrations = t.migrations;
  use.node_moves = t.node_moves;
  use.voluntary = t.voluntary;
  use.involuntary = t.involuntary;
  use.yields = t.yields;
  use.yield_wait = t.yield_queued;
  use.samples = t.samples;
  use.yield_samples = t.yield_samples;
  use.minor_faults = t.minor_faults;
  use.major_faults = t.major_faults;
  return use;
}

void ThreadTable::write(uint64_t clock_offset, const ProcessNames& names,
                        std::vector<ThreadUse>& to) const {
  // The kernel's share of CPU time by process name, for threads that lived between two ticks.
  std::map<std::string, Ticks> ticks;
  const auto process_name = [&](const thread& t) { return names.name({t.pid, t.process}); };
  for (const auto& [id, kept] : threads_) ticks[process_name(kept.head)].add(kept.head);
  const auto write_one = [&](const Kept& kept) {
    to.push_back(use_of(kept, clock_offset, ticks[process_name(kept.head)].share()));
  };
  const size_t first = to.size();
  for (const auto& [id, kept] : threads_)
    if (kept.ended || kept.look == look_) write_one(kept);
  std::stable_sort(to.begin() + static_cast<ptrdiff_t>(first), to.end(),
                   [](const ThreadUse& a, const ThreadUse& b) {
                     return a.start != b.start ? a.start < b.start : a.tid < b.tid;
                   });
  for (const auto& [key, kept] : folded_) write_one(kept);
}

void ThreadTable::write_brief(uint64_t clock_offset, std::vector<ThreadUse>& to) const {
  Ticks all;
  all.add(all_ended_.head);
  for (const Id& id : living_) all.add(threads_.at(id).head);
  for (const Id& id : living_) to.push_back(use_of(threads_.at(id), clock_offset, all.share()));
  if (all_ended_.threads) to.push_back(use_of(all_ended_, clock_offset, all.share()));
}

}  // namespace jobscope
