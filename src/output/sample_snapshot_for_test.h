// Snapshots for the tests of reports and recordings.
#pragma once

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "src/model/findings.h"
#include "src/model/snapshot.h"

namespace jobscope::sample {

inline Histogram histogram(std::initializer_list<std::pair<size_t, uint64_t>> slots, uint64_t max,
                           uint64_t sum) {
  Histogram out;
  for (const auto& [slot, count] : slots) out.slots[slot] = count;
  out.max = max;
  out.sum = sum;
  return out;
}

// A thread with the given parts; its lifetime is their sum, as it always is.
inline ThreadUse thread(uint32_t pid, uint32_t tid, std::string name, Nanoseconds start,
                        std::initializer_list<std::pair<Reason, Nanoseconds>> parts) {
  ThreadUse out;
  out.pid = pid;
  out.tid = tid;
  out.name = std::move(name);
  out.start = start;
  for (const auto& [reason, ns] : parts) part(out.parts, reason) = ns;
  out.lifetime = sum(out.parts);
  return out;
}

inline ProcessUse process(uint32_t pid, uint32_t ppid, std::string name,
                          std::vector<std::string> argv, Nanoseconds start, Nanoseconds lifetime) {
  ProcessUse out;
  out.pid = pid;
  out.ppid = ppid;
  out.name = std::move(name);
  out.argv = std::move(argv);
  out.start = start;
  out.lifetime = lifetime;
  out.exited = true;
  return out;
}

// Every field of the model differs from its default somewhere in here, every optional is full in
// one place and empty in another, and texts hold what texts can hold.
inline Snapshot full() {
  Snapshot s;
  s.job = {.name = "lenet \"näive\"",
           .argv = {"python3", "train it.py", "--epochs=2", "", "tab\there", "\xff\xfe raw"},
           .exit_code = std::nullopt,
           .signal = 9,
           .attached = true,
           .started_unix_ns = 1'790'000'000'123'456'789,
           .start = 5'000'000'000,
           .elapsed = 20'000'000'000,
           .root_pid = 4100,
           .cpus = 2,
           .host = "node-7",
           .kernel = "6.1.0-18-cloud-amd64"};

  ThreadUse main = thread(4100, 4100, "python3", 5'000'000'000,
                          {{Reason::cpu_user, 7'000'000'000},
                           {Reason::cpu_system, 1'000'000'000},
                           {Reason::stolen, 250'000'000},
                           {Reason::runqueue, 750'000'000},
                           {Reason::throttled, 500'000'000},
                           {Reason::disk_read, 1'500'000'000},
                           {Reason::futex, 8'000'000'000},
                           {Reason::other, 1'000'000'000}});
  main.cores = {{0, 6'000'000'000}, {1, 2'000'000'000}, {130, 0}};
  main.migrations = 17;
  main.node_moves = 3;
  main.voluntary = 2003;
  main.involuntary = 101;
  main.yields = 2311;
  main.yield_wait = 1'999;
  main.samples = 392;
  main.yield_samples = 41;
  main.minor_faults = 150'001;
  main.major_faults = 23;
  ThreadUse folded = thread(4100, 4107, "grpc \xf0\x9f\x90\xa2", 5'100'000'000,
                            {{Reason::poll, 59'000'000'000}, {Reason::cpu_user, 1}});
  folded.exited = true;
  folded.threads = 3000;
  folded.cores = {{1, 1}};
  ThreadUse unborn;  // nothing is known of it but that it was there
  unborn.pid = 4100;
  unborn.tid = 4108;
  s.threads = {main, folded, unborn};

  ProcessUse root =
      process(4100, 4000, "python3", {"python3", "train it.py"}, 5'000'000'000, 20'000'000'000);
  root.signal = 9;
  root.killed_by = Killer{0, "oom-killer"};
  root.cpu = 8'000'000'001;
  root.peak_rss = 6'442'450'944;
  ProcessUse running = process(4200, 4100, "sh", {}, 6'000'000'000, 19'000'000'000);
  running.exited = false;
  running.argv_truncated = true;
  ProcessUse burst = process(4201, 4200, "true", {"/bin/true"}, 6'000'000'001, 9'999);
  burst.processes = 10'000;
  burst.exit_code = 0;
  burst.cpu = 4'000'000;
  ProcessUse failed = process(4202, 4200, "id\nname", {"id", "-u"}, 6'000'000'002, 1);
  failed.exit_code = 1;
  failed.killed_by = Killer{77, ""};
  s.processes = {root, running, burst, failed};

  s.oom_kills = {{4100, "python3", "/slurm/job_7", 6'442'450'944, 24'999'000'000},
                 {4202, "id", "", std::nullopt, 24'999'000'001}};

  BlockIo read{.device = "vda", .operation = "read", .count = 23, .bytes = 94'208, .sequential = 5};
  read.latency = histogram({{0, 1}, {7, 20}, {10, 1}, {31, 1}}, 5'000'000'000, 5'000'003'701);
  read.queue = histogram({{0, 23}}, 1, 4);
  read.device_time = histogram({{7, 21}, {10, 1}, {31, 1}}, 4'999'999'999, 5'000'003'697);
  BlockIo write_back{.device = "nvme0n1", .operation = "write", .charged = false, .count = 0};
  s.block_io = {read, write_back};

  s.files = {{"/data/set 1/images-idx3", 1'200'000'000, 900, 23, 1, 94'208, 0},
             {"/data/many", 300'000'000, 12, 0, 60'000, std::nullopt, 4096},
             {"/data/caf\xe9", 2, 1, 0, 1, std::nullopt, std::nullopt},
             {"", 1, 1, 0, 1, std::nullopt, std::nullopt}};
  s.network = {{PeerClass::loopback, "", 1000, 2000, 0},
               {PeerClass::unix_socket, "", 30, 40, std::nullopt},
               {PeerClass::remote, "[2001:db8::1]:443", 5'000'000'000, 7, 11}};
  s.waits = {{4100, "python3", true, Reason::futex, "libgomp.so.1", 8'000'000'000, 2000},
             {4200, "sh", false, Reason::wait_child, "", 5, 1}};
  s.wakers = {{4100, Reason::futex, 4100, 4107, "worker", 7'000'000'000, 1900},
              {4100, Reason::disk_read, 0, 0, "swapper/0", 1'500'000'000, 23}};
  s.runqueue = histogram({{0, 700}, {3, 1300}, {12, 104}}, 7777, 750'000);
  s.cgroup = CgroupUse{"/slurm/job_7", 500'000'000, 1.5, 6'442'450'944};
  s.tables = {{"faults",
               "Major faults by mapping",
               {"mapping", "faults"},
               {{"/usr/lib/libtorch.so", "20"}, {}, {"[heap]"}, {"a", "b", "c"}}},
              {"empty", "", {}, {}},
              {"faults", "A second table of that name", {"x"}, {{std::string("nul\0byte", 8)}}}};
  s.probes = {{"sched", ProbeStatus::State::ok, ""},
              {"net", ProbeStatus::State::degraded, "no CAP_NET_ADMIN: retransmits unknown"},
              {"blockio", ProbeStatus::State::unavailable, "no BTF"}};
  s.self = {120'000'000, 61'000'000, 20'971'520, 8'388'608, 3, {{"exec events", 2}, {"stacks", 1}}};
  return s;
}

inline std::vector<Finding> findings() {
  return {{"oom_killed",
           1,
           "the job",
           "The kernel killed python3: out of memory.",
           {{"limit", "6.0 GiB"}, {"peak", "6.0 GiB"}, {"peak", "again"}},
           "Ask for more memory."},
          {"spinning", 0.123456789, "CPU time", "Threads spin in sched_yield.", {}, ""}};
}

// A job as large as jobscope promises to cope with, deterministic.
inline Snapshot big(size_t threads, size_t processes) {
  Snapshot s = full();
  for (size_t i = 0; i < threads; ++i) {
    ThreadUse t = s.threads.front();
    t.tid = static_cast<uint32_t>(10'000 + i);
    t.name = "worker-" + std::to_string(i % 40);
    for (size_t r = 0; r < kReasons; r += 1 + i % 3) t.parts[r] += 1'000'003 * i + r;
    for (uint32_t cpu = 0; cpu < 16; ++cpu) t.cores[cpu] = 7'000'000 * i + cpu;
    t.lifetime = sum(t.parts);
    s.threads.push_back(std::move(t));
  }
  for (size_t i = 0; i < processes; ++i) {
    ProcessUse p = process(static_cast<uint32_t>(20'000 + i), 4100, "cc1plus",
                           {"/usr/lib/gcc/cc1plus", "-quiet", "-I", "/usr/include/python3.11",
                            "file" + std::to_string(i) + ".cc", "-o", "-"},
                           5'000'000'000 + i, 40'000'000 + i);
    p.exit_code = static_cast<int>(i % 3);
    p.cpu = 39'000'000;
    p.peak_rss = 90'000'000 + i;
    s.processes.push_back(std::move(p));
  }
  return s;
}

// Equality of the model, field by field. A field that is added to the model fails to compile here:
// add it to the recording too.
inline auto fields(const JobRun& x) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l] = x;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
}
inline auto fields(const ThreadUse& x) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = x;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s);
}
inline auto fields(const Killer& x) {
  const auto& [a, b] = x;
  return std::tie(a, b);
}
inline auto fields(const ProcessUse& x) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = x;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
}
inline auto fields(const OomKill& x) {
  const auto& [a, b, c, d, e] = x;
  return std::tie(a, b, c, d, e);
}
inline auto fields(const Histogram& x) {
  const auto& [a, b, c] = x;
  return std::tie(a, b, c);
}
inline auto fields(const BlockIo& x) {
  const auto& [a, b, c, d, e, f, g, h, i] = x;
  return std::tie(a, b, c, d, e, f, g, h, i);
}
inline auto fields(const FileUse& x) {
  const auto& [a, b, c, d, e, f, g] = x;
  return std::tie(a, b, c, d, e, f, g);
}
inline auto fields(const NetworkUse& x) {
  const auto& [a, b, c, d, e] = x;
  return std::tie(a, b, c, d, e);
}
inline auto fields(const WaitUse& x) {
  const auto& [a, b, c, d, e, f, g] = x;
  return std::tie(a, b, c, d, e, f, g);
}
inline auto fields(const WakerUse& x) {
  const auto& [a, b, c, d, e, f, g] = x;
  return std::tie(a, b, c, d, e, f, g);
}
inline auto fields(const Table& x) {
  const auto& [a, b, c, d] = x;
  return std::tie(a, b, c, d);
}
inline auto fields(const CgroupUse& x) {
  const auto& [a, b, c, d] = x;
  return std::tie(a, b, c, d);
}
inline auto fields(const ProbeStatus& x) {
  const auto& [a, b, c] = x;
  return std::tie(a, b, c);
}
inline auto fields(const SelfCost& x) {
  const auto& [a, b, c, d, e, f] = x;
  return std::tie(a, b, c, d, e, f);
}
inline auto fields(const Snapshot& x) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = x;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
}

template <class T>
bool same(const T& a, const T& b) {
  if constexpr (requires { fields(a); }) {
    return std::apply(
        [&](const auto&... left) {
          return std::apply([&](const auto&... right) { return (same(left, right) && ...); },
                            fields(b));
        },
        fields(a));
  } else if constexpr (requires { fields(a[0]); }) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& left, const auto& right) { return same(left, right); });
  } else if constexpr (requires {
                         a.has_value();
                         fields(*a);
                       }) {
    return a.has_value() == b.has_value() && (!a || same(*a, *b));
  } else {
    return a == b;
  }
}

}  // namespace jobscope::sample
