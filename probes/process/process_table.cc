#include "probes/process/process_table.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "src/base/memory.h"

namespace jobscope {
namespace {

template <size_t N>
std::string text(const char (&chars)[N]) {
  return std::string(chars, ::strnlen(chars, N));
}

constexpr uint64_t kLateRecords = 1'000'000'000, kBrief = 1'000'000'000;  // ns

// rusage counts what a process was before its exec: a copy of its parent. So its peak is known if
// it grew beyond that, or if the kernel side could still look at its last image.
std::optional<uint64_t> peak_of(const process_event& event, uint64_t maxrss_at_exec) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  if (event.maxrss > maxrss_at_exec) return event.maxrss * page;
  if (event.hiwater) return event.hiwater * page;
  return std::nullopt;
}

std::optional<Killer> killer_of(const process_event& event, bool oom) {
  const auto signal = static_cast<uint32_t>(event.status & 0x7f);
  if (oom && signal == SIGKILL) return Killer{0, "oom-killer"};
  if (signal == 0 || event.killer_signal != signal) return std::nullopt;
  if (event.killer_pid) return Killer{event.killer_pid, text(event.killer)};
  const bool key = signal == SIGINT || signal == SIGQUIT || signal == SIGHUP;
  return Killer{0, key ? "terminal" : "kernel"};
}

}  // namespace

std::vector<std::string> split_argv(std::string_view bytes) {
  std::vector<std::string> argv;
  while (!bytes.empty()) {
    const size_t end = bytes.find('\0');
    argv.emplace_back(bytes.substr(0, end));
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
  }
  return argv;
}

void ProcessTable::begin_look(uint64_t now) {
  looked_at_ = now;
  for (const ProcessId& id : living_) {
    const auto found = processes_.find(id);
    if (found != processes_.end()) found->second.living.clear();
  }
  living_.clear();
}

void ProcessTable::thread(const ThreadRecord& record) {
  const struct thread& t = record.head;
  Process& process = processes_[{t.pid, t.process}];
  if (t.pid == t.tid || process.name.empty()) process.name = text(t.name);
  process.ppid = t.ppid;
  process.attached = process.attached || t.attached;
  const uint64_t cpu = t.parts[REASON_CPU_USER];
  if (!process.first || t.start < process.first) process.first = t.start;
  if (record.ended) {
    process.living.erase({t.tid, t.start});
    process.cpu += cpu;
    process.last = std::max<uint64_t>(process.last, t.since);
    return;
  }
  const uint64_t running = t.state == THREAD_ON_CPU && t.now > t.since ? t.now - t.since : 0;
  process.living[{t.tid, t.start}] = cpu + running;
  living_.insert({t.pid, t.process});
  process.last = std::max<uint64_t>({process.last, t.since, t.now});
}

void ProcessTable::exec(const exec_event& event, std::string_view argv) {
  Process& process = processes_[{event.pid, event.process}];
  process.ppid = event.ppid;
  process.name = text(event.name);
  process.argv = split_argv(argv);
  process.argv_truncated = event.argv_full > event.argv_size;
  process.maxrss_at_exec = event.maxrss;
  process.execed = event.at;
}

void ProcessTable::end(const process_event& event) {
  Process& process = processes_[{event.pid, event.process}];
  if (!process.ended) ++ended_;
  process.ended = true;
  last_end_ = std::max<uint64_t>(last_end_, event.at);
  process.ppid = event.ppid;
  process.name = text(event.name);
  process.event = event;
  if (ended_ > kMaxEnded + kMaxEnded / 10) fold();
}

std::optional<std::string> ProcessTable::oom_killed(uint32_t pid, uint64_t at) {
  const auto after = processes_.upper_bound({pid, at});
  if (after == processes_.begin()) return std::nullopt;
  auto& [id, process] = *std::prev(after);
  if (id.pid != pid || (process.ended && process.event.at < at)) return std::nullopt;
  process.oom = true;
  return process.name;
}

ProcessUse ProcessTable::use_of(const ProcessId& id, const Process& process,
                                uint64_t clock_offset) const {
  ProcessUse use;
  use.pid = id.pid;
  use.ppid = process.ppid;
  use.name = process.name;
  use.argv = process.argv;
  use.argv_truncated = process.argv_truncated;
  // Watched from its birth: since its start. Attached: since the watch began.
  use.start = process.attached ? process.first + clock_offset : id.start;
  // An ended one needs no clock: its end was told in CLOCK_MONOTONIC. If that was lost, it lived
  // at least until it was last heard of.
  uint64_t last = process.event.at;
  if (!process.ended)
    last = std::max(process.execed, process.last ? process.last + clock_offset : 0);
  use.lifetime = last > use.start ? last - use.start : 0;
  const bool unseen = process.living.empty() && process.execed < looked_at_;
  use.exited = process.ended || unseen;
  use.cpu = process.cpu;
  for (const auto& [tid, cpu] : process.living) use.cpu += cpu;
  if (!process.ended) {
    if (!unseen) use.peak_rss = peak_rss(id.pid);
    return use;
  }
  use.peak_rss = peak_of(process.event, process.maxrss_at_exec);
  const int status = process.event.status;
  if (WIFSIGNALED(status))
    use.signal = WTERMSIG(status);
  else
    use.exit_code = WEXITSTATUS(status);
  use.killed_by = killer_of(process.event, process.oom);
  return use;
}

void ProcessTable::fold() {
  fold(kBrief);
  fold(~uint64_t{0});
}

void ProcessTable::fold(uint64_t brief) {
  for (auto at = processes_.begin(); at != processes_.end() && ended_ > kMaxEnded;) {
    const Process& process = at->second;
    // The record of its last thread comes a moment after that of its end.
    const bool whole =
        process.ended && process.living.empty() && process.event.at + kLateRecords < last_end_;
    if (!whole || process.event.at - at->first.start > brief) {
      ++at;
      continue;
    }
    const ProcessUse one = use_of(at->first, process, 0);
    auto [sum, is_new] = folded_.try_emplace(one.name, one);
    if (is_new) {
      sum->second.pid = 0;
      sum->second.ppid = 0;
      sum->second.argv.clear();
      sum->second.argv_truncated = false;
      sum->second.exit_code.reset();
      sum->second.signal.reset();
      sum->second.killed_by.reset();
    } else {
      sum->second.processes += 1;
      sum->second.lifetime += one.lifetime;
      sum->second.cpu += one.cpu;
      if (one.peak_rss)
        sum->second.peak_rss = std::max(sum->second.peak_rss.value_or(0), *one.peak_rss);
    }
    at = processes_.erase(at);
    --ended_;
  }
}

void ProcessTable::write(uint64_t clock_offset, std::vector<ProcessUse>& to) {
  const size_t first = to.size();
  for (const auto& [id, process] : processes_) to.push_back(use_of(id, process, clock_offset));
  std::stable_sort(to.begin() + static_cast<ptrdiff_t>(first), to.end(),
                   [](const ProcessUse& a, const ProcessUse& b) {
                     return a.start != b.start ? a.start < b.start : a.pid < b.pid;
                   });
  for (const auto& [name, sum] : folded_) to.push_back(sum);
}

}  // namespace jobscope
