// Jobs as a session would have seen them, for tests of findings and reports. Built by hand: every
// thread keeps the identity (its parts make up its lifetime), and what CPU time it has lies on
// cores.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>

#include "src/model/snapshot.h"

namespace jobscope::sample_jobs {

inline Nanoseconds seconds(double s) { return static_cast<Nanoseconds>(std::llround(s * 1e9)); }

struct Life {
  uint32_t pid = 0, tid = 0;
  std::string name;
  double start = 0, life = 0;  // seconds
};

// A thread that spent its life as `parts` say, in seconds, and the rest of it as `rest` says. Its
// CPU time is spread over `cores` in equal parts.
inline ThreadUse thread(const Life& life, std::initializer_list<std::pair<Reason, double>> parts,
                        Reason rest, std::initializer_list<uint32_t> cores = {0, 1}) {
  ThreadUse use;
  use.pid = life.pid;
  use.tid = life.tid;
  use.name = life.name;
  use.start = seconds(1000 + life.start);
  use.lifetime = seconds(life.life);
  use.exited = true;
  use.voluntary = 20;
  use.involuntary = 3;
  use.minor_faults = 84;
  for (const auto& [reason, time] : parts) part(use.parts, reason) += seconds(time);
  part(use.parts, rest) += use.lifetime - sum(use.parts);
  Nanoseconds left = use.cpu();
  size_t more = cores.size();
  for (const uint32_t core : cores) {
    const Nanoseconds here = left / more--;
    if (here > 0) use.cores[core] = here;
    left -= here;
  }
  return use;
}

inline ProcessUse process(uint32_t pid, uint32_t ppid, std::string name,
                          std::vector<std::string> argv, double life, double cpu,
                          std::optional<uint64_t> peak_rss, std::optional<int> exit_code = 0) {
  ProcessUse use;
  use.pid = pid;
  use.ppid = ppid;
  use.name = std::move(name);
  use.argv = std::move(argv);
  use.start = seconds(1000);
  use.lifetime = seconds(life);
  use.exited = true;
  use.exit_code = exit_code;
  use.cpu = seconds(cpu);
  use.peak_rss = peak_rss;
  return use;
}

// A histogram of (value, how many).
inline Histogram histogram(std::initializer_list<std::pair<uint64_t, uint64_t>> values) {
  Histogram h;
  for (const auto& [value, count] : values) {
    size_t slot = 0;
    while (slot + 1 < Histogram::kSlots && value >> (slot + 1)) ++slot;
    h.slots[slot] += count;
    h.sum += value * count;
    h.max = std::max(h.max, value);
  }
  return h;
}

inline std::vector<ProbeStatus> all_probes() {
  using enum ProbeStatus::State;
  return {{"blockio", ok, ""}, {"fault", ok, ""},   {"files", ok, ""},
          {"net", ok, ""},     {"process", ok, ""}, {"sched", ok, ""}};
}

constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

// LeNet on MindSpore, graph mode, two cores: 224 steps of 48 ms after 4.9 s of import and compile.
// The pool's threads spin by sched_yield before they sleep; the data workers have no names.
inline Snapshot lenet() {
  using enum Reason;
  Snapshot s;
  s.job.name = "lenet";
  s.job.argv = {"python3", "examples/lenet_mindspore.py"};
  s.job.exit_code = 0;
  s.job.started_unix_ns = 1'767'225'600'000'000'000;
  s.job.start = seconds(1000);
  s.job.elapsed = seconds(15.7);
  s.job.root_pid = 4711;
  s.job.cpus = 2;
  s.job.host = "node7";
  s.job.kernel = "6.18.5";

  const uint32_t pid = 4711;
  ThreadUse main = thread({pid, pid, "python3", 0, 15.66},
                          {{cpu_user, 5.61},
                           {cpu_system, 0.83},
                           {stolen, 0.11},
                           {runqueue, 1.32},
                           {page_fault, 0.64},
                           {disk_read, 0.31},
                           {sleep, 0.05},
                           {pipe, 0.021},
                           {wait_child, 0.018},
                           {file_other, 0.004}},
                          futex);
  main.voluntary = 183'204, main.involuntary = 21'940, main.migrations = 9'320;
  main.minor_faults = 241'870, main.major_faults = 1'106;
  main.yields = 212, main.samples = 315, main.yield_samples = 0;
  s.threads.push_back(main);

  ThreadUse kernel =
      thread({pid, 4760, "KernelThread_0", 4.6, 11.05},
             {{cpu_user, 6.68}, {cpu_system, 1.54}, {stolen, 0.07}, {runqueue, 1.21}}, futex);
  kernel.voluntary = 131'400, kernel.involuntary = 30'112, kernel.migrations = 22'871;
  kernel.yields = 287'312, kernel.samples = 403, kernel.yield_samples = 121,
  kernel.minor_faults = 8'112;
  s.threads.push_back(kernel);
  ThreadUse actor =
      thread({pid, 4759, "ActorThread_0", 4.6, 11.05},
             {{cpu_user, 3.74}, {cpu_system, 1.93}, {stolen, 0.05}, {runqueue, 2.27}}, futex);
  actor.voluntary = 140'233, actor.involuntary = 25'871, actor.migrations = 25'402;
  actor.yields = 227'845, actor.samples = 278, actor.yield_samples = 143,
  actor.minor_faults = 2'400;
  s.threads.push_back(actor);
  for (const char* name : {"infer_queue", "launch_queue", "resize_queue"})
    s.threads.push_back(
        thread({pid, 4757 + static_cast<uint32_t>(s.threads.size() + 1), name, 4.6, 11.05},
               {{cpu_user, 0.0004}, {runqueue, 0.0001}}, futex));
  for (uint32_t i = 0; i < 25; ++i) {  // data workers: 8 of them decode and shuffle
    const bool works = i < 8;
    ThreadUse worker = thread({pid, 4770 + i, "python3", 5.1, 10.52},
                              {{cpu_user, works ? 0.081 : 0.002},
                               {cpu_system, works ? 0.022 : 0.001},
                               {runqueue, works ? 0.096 : 0.002},
                               {file_other, i == 0 ? 0.003 : 0}},
                              futex);
    worker.voluntary = works ? 1'790 : 224, worker.involuntary = works ? 90 : 2;
    worker.migrations = works ? 410 : 40, worker.samples = works ? 5 : 0, worker.minor_faults = 160;
    s.threads.push_back(worker);
  }
  for (uint32_t i = 0; i < 2; ++i)  // of OpenBLAS and of the compiler
    s.threads.push_back(
        thread({pid, 4712 + i, "python3", 0.9 + i, 14.7 - i}, {{cpu_user, 0.003}}, futex));

  s.processes = {process(pid, 4700, "python3", s.job.argv, 15.66, 21.3, 1187 * kMiB),
                 process(4714, pid, "uname", {"uname", "-p"}, 0.002, 0.001, 2 * kMiB),
                 process(4715, pid, "sh", {"sh", "-c", "ldconfig -p"}, 0.008, 0.002, 2 * kMiB),
                 process(4716, 4715, "ldconfig", {"ldconfig", "-p"}, 0.006, 0.004, 3 * kMiB)};
  s.threads.push_back(thread({4714, 4714, "uname", 0.4, 0.002}, {{cpu_user, 0.001}}, runqueue));
  s.threads.push_back(thread({4715, 4715, "sh", 0.6, 0.008}, {{cpu_user, 0.002}}, wait_child));
  s.threads.push_back(thread({4716, 4716, "ldconfig", 0.6, 0.006}, {{cpu_user, 0.004}}, runqueue));

  s.block_io.push_back({"vda", "read", true, 2'017, 431 * kMiB, 1'377,
                        histogram({{90, 60}, {260, 1'180}, {900, 701}, {5'200, 71}, {11'870, 5}}),
                        histogram({{4, 1'900}, {80, 117}}),
                        histogram({{85, 60}, {250, 1'180}, {880, 701}, {5'100, 71}, {11'700, 5}})});
  s.block_io.push_back({"vda", "write", false, 61, 3 * kMiB, 12,
                        histogram({{700, 50}, {2'900, 11}}), histogram({{5, 61}}),
                        histogram({{690, 50}, {2'890, 11}})});
  const std::string lib = "/opt/venv/lib/python3.11/site-packages/mindspore/";
  s.files = {
      {lib + "lib/libmindspore_ops_cpu.so", seconds(0.291), 402, 388, 1, {}, {}},
      {lib + "lib/libmindspore_frontend.so", seconds(0.204), 301, 296, 1, {}, {}},
      {lib + "_c_dataengine.cpython-311-x86_64-linux-gnu.so", seconds(0.142), 214, 205, 1, {}, {}},
      {lib + "lib/libdnnl.so.3", seconds(0.118), 160, 155, 1, {}, {}},
      {lib + "train", seconds(0.093), 420, 0, 131, {}, {}},
      {"data/mnist/train/train-images-idx3-ubyte", seconds(0.031), 24, 0, 1, {}, {}},
      {"data/mnist/train/train-labels-idx1-ubyte", seconds(0.003), 2, 0, 1, {}, {}},
      {"/opt/venv/lib/python3.11/site-packages/numpy", seconds(0.072), 240, 62, 88, {}, {}}};
  const auto wait = [&](bool of_main, Reason reason, std::string target, double time,
                        uint64_t waits) {
    s.waits.push_back({pid, "python3", of_main, reason, std::move(target), seconds(time), waits});
  };
  wait(true, futex, "anonymous memory", 5.87, 171'200);
  wait(true, futex, "heap", 0.81, 8'904);
  wait(true, page_fault, lib + "lib/libmindspore_ops_cpu.so", 0.287, 388);
  wait(true, page_fault, lib + "lib/libmindspore_frontend.so", 0.201, 296);
  wait(true, disk_read, lib + "train", 0.093, 420);
  wait(true, sleep, "", 0.05, 5);
  wait(true, pipe, "pipe:[88121]", 0.021, 6);
  wait(true, wait_child, "sh ×2", 0.018, 3);
  wait(false, futex, "anonymous memory", 241.3, 120'310);
  wait(false, futex, "heap", 62.2, 98'120);
  wait(false, futex, "libopenblas64_p-r0.so", 13.7, 1);
  wait(false, file_other, "data/mnist/train/train-images-idx3-ubyte", 0.003, 3);
  const auto wake = [&](uint32_t tid, std::string name, double time, uint64_t waits) {
    s.wakers.push_back({pid, futex, pid, tid, std::move(name), seconds(time), waits});
  };
  wake(4760, "KernelThread_0", 5.42, 152'310);
  wake(4759, "ActorThread_0", 0.93, 24'806);
  wake(4771, "python3", 0.27, 1'402);
  wake(4772, "python3", 0.06, 611);
  s.wakers.push_back({pid, pipe, 4716, 4716, "ldconfig", seconds(0.015), 4});
  s.runqueue = histogram(
      {{1, 310'000}, {6, 214'000}, {40, 61'000}, {800, 6'100}, {3'100, 820}, {12'400, 3}});
  s.probes = all_probes();
  s.self = {seconds(0.061), seconds(0.094), 14 * kMiB + 200 * kKiB, 6 * kMiB, 0, {}};
  return s;
}

// PyTorch with a DataLoader of two workers that cannot keep up, on eight cores.
inline Snapshot loader() {
  using enum Reason;
  Snapshot s;
  s.job.name = "python3";
  s.job.argv = {"python3", "train.py", "--data", "/data/imagenet 100", "--workers=2"};
  s.job.exit_code = 0;
  s.job.started_unix_ns = 1'767'229'200'000'000'000;
  s.job.start = seconds(1000);
  s.job.elapsed = seconds(63.2);
  s.job.root_pid = 500;
  s.job.cpus = 8;
  s.job.host = "node7";
  s.job.kernel = "6.12.9";
  ThreadUse main = thread({500, 500, "python3", 0, 63.1},
                          {{cpu_user, 18.2},
                           {cpu_system, 1.9},
                           {runqueue, 0.12},
                           {futex, 2.1},
                           {barrier, 0.4},
                           {disk_read, 0.9},
                           {unix_socket, 0.31}},
                          poll, {0, 1, 2});
  main.voluntary = 4'120, main.involuntary = 880, main.migrations = 210,
  main.minor_faults = 512'000;
  main.major_faults = 310, main.samples = 985;
  s.threads.push_back(main);
  for (uint32_t i = 0; i < 3; ++i)
    s.threads.push_back(thread({500, 510 + i, "python3", 2, 61},
                               {{cpu_user, 14.9}, {runqueue, 0.05}}, barrier, {3 + i}));
  for (uint32_t i = 0; i < 2; ++i) {
    const uint32_t pid = 520 + i;
    ThreadUse worker = thread({pid, pid, "pt_data_worker", 3, 60},
                              {{cpu_user, 52.2}, {cpu_system, 3.1}, {runqueue, 0.21}, {poll, 0.4}},
                              disk_read, {6 + i});
    worker.voluntary = 9'310, worker.involuntary = 3'010, worker.migrations = 12;
    worker.minor_faults = 91'020, worker.samples = 2'709;
    s.threads.push_back(worker);
    s.threads.push_back(thread({pid, pid + 10, "pt_data_worker", 3.1, 59.9},
                               {{cpu_user, 0.41}, {cpu_system, 0.22}, {pipe, 0.05}}, futex,
                               {6 + i}));
    s.processes.push_back(process(pid, 500, "pt_data_worker", s.job.argv, 60, 55.9, 801 * kMiB));
  }
  s.processes.push_back(process(500, 499, "python3", s.job.argv, 63.1, 64.9, 2305 * kMiB));
  s.waits = {{500, "python3", true, poll, "", seconds(38.6), 1'250},
             {500, "python3", true, futex, "libtorch_cpu.so", seconds(2.0), 3'110},
             {500, "python3", true, disk_read, "/data/imagenet 100/index.json", seconds(0.71), 61},
             {500, "python3", true, unix_socket, "pt_data_worker (pid 520)", seconds(0.31), 1'220},
             {500, "python3", false, barrier, "libgomp-24e2ab19.so.1.0.0", seconds(138), 7'204},
             {520, "pt_data_worker", true, disk_read, "/data/imagenet 100/shard-000.tar",
              seconds(3.2), 901},
             {521, "pt_data_worker", true, disk_read, "/data/imagenet 100/shard-000.tar",
              seconds(3.3), 922},
             {520, "pt_data_worker", false, futex, "anonymous memory", seconds(59.1), 1'300},
             {521, "pt_data_worker", false, futex, "anonymous memory", seconds(59.2), 1'301}};
  s.wakers = {{500, poll, 520, 530, "pt_data_worker", seconds(18.9), 610},
              {500, poll, 521, 531, "pt_data_worker", seconds(19.4), 640},
              {500, futex, 500, 511, "python3", seconds(1.7), 3'000},
              {500, unix_socket, 520, 520, "pt_data_worker", seconds(0.3), 1'220}};
  s.block_io = {{"nvme0n1", "read", true, 28'310, 3 * kGiB, 24'011,
                 histogram({{70, 20'000}, {140, 8'000}, {1'100, 310}}), histogram({{3, 28'310}}),
                 histogram({{67, 20'000}, {137, 8'000}, {1'097, 310}})},
                {"nvme0n1", "write", true, 12, 240 * kMiB, 10, histogram({{2'100, 12}}),
                 histogram({{900, 12}}), histogram({{1'200, 12}})},
                {"nvme0n1", "flush", true, 3, 0, 0, histogram({{4'100, 3}}), histogram({{10, 3}}),
                 histogram({{4'090, 3}})}};
  s.files = {{"/data/imagenet 100/shard-000.tar", seconds(6.5), 1'823, 0, 1, 2 * kGiB, {}},
             {"/data/imagenet 100/index.json", seconds(0.71), 61, 0, 1, 41 * kMiB, {}},
             {"", seconds(0.02), 3, 0, 1, {}, {}}};
  s.network = {{PeerClass::unix_socket, "", 4'900'000, 4'900'000, {}},
               {PeerClass::remote, "", 1'310 * kMiB, 12 * kMiB, 23},
               {PeerClass::remote, "10.2.0.9:443", 1'300 * kMiB, 11 * kMiB, 23},
               {PeerClass::remote, "[fd00::17]:6006", 10 * kMiB, 1 * kMiB, 0}};
  s.runqueue = histogram({{2, 21'000}, {12, 3'000}, {110, 41}, {1'900, 2}});
  s.tables = {{"faults",
               "Major faults by mapping",
               {"mapping", "faults", "time"},
               {{"libtorch_cpu.so", "212", "190 ms"}, {"libtorch_python.so", "98", "71.0 ms"}}}};
  s.probes = all_probes();
  s.probes[2] = {"files", ProbeStatus::State::degraded,
                 "bytes per file need the block_io_start hook"};
  s.self = {seconds(0.12), seconds(0.05), 15 * kMiB, 6 * kMiB, 0, {}};
  return s;
}

// 10,000 runs of /bin/true by eight shells, most of them folded.
inline Snapshot fork_storm() {
  using enum Reason;
  Snapshot s;
  s.job.name = "forks";
  s.job.argv = {"bash", "-c", "for i in 1 2 3 4 5 6 7 8; do burst & done; wait"};
  s.job.exit_code = 0;
  s.job.started_unix_ns = 1'767'229'200'000'000'000;
  s.job.start = seconds(1000);
  s.job.elapsed = seconds(8.4);
  s.job.root_pid = 900;
  s.job.cpus = 4;
  s.job.host = "ci";
  s.job.kernel = "6.1.0";
  s.threads.push_back(
      thread({900, 900, "bash", 0, 8.39}, {{cpu_user, 0.004}, {cpu_system, 0.005}}, wait_child));
  s.processes.push_back(process(900, 1, "bash", s.job.argv, 8.39, 0.009, 4 * kMiB));
  for (uint32_t i = 1; i <= 8; ++i) {
    s.threads.push_back(thread({900 + i, 900 + i, "bash", 0.01, 8.3},
                               {{cpu_user, 0.31}, {cpu_system, 0.92}, {runqueue, 2.4}}, wait_child,
                               {0, 1, 2, 3}));
    s.threads.back().voluntary = 2'600;
    s.processes.push_back(process(900 + i, 900, "bash", {}, 8.3, 1.23, 4 * kMiB));
  }
  ThreadUse folded = thread({0, 0, "true", 0.02, 24.3}, {{cpu_user, 4.4}, {cpu_system, 9.3}},
                            runqueue, {0, 1, 2, 3});
  folded.threads = 10'000;
  folded.minor_faults = 910'000;
  s.threads.push_back(folded);
  ProcessUse truths = process(0, 0, "true", {"/bin/true"}, 24.3, 13.7, 2 * kMiB);
  truths.processes = 10'000;
  s.processes.push_back(truths);
  for (uint32_t i = 1; i <= 8; ++i)
    s.waits.push_back({900 + i, "bash", true, wait_child, "true ×1250", seconds(4.6), 1'250});
  s.waits.push_back({900, "bash", true, wait_child, "bash ×8", seconds(8.381), 9});
  s.runqueue = histogram({{3, 9'000}, {700, 9'000}, {4'000, 2'000}});
  s.probes = all_probes();
  s.self = {seconds(0.31), seconds(0.22), 17 * kMiB, 9 * kMiB, 0, {}};
  return s;
}

// A training job that reached the memory limit of its container after three minutes.
inline Snapshot out_of_memory() {
  using enum Reason;
  Snapshot s;
  s.job.name = "resnet50-finetune";
  s.job.argv = {"/opt/conda/bin/python3", "-m", "trainer.main",
                "--config=/workspace/configs/a_very_long_name_of_a_configuration.yaml"};
  s.job.signal = 9;
  s.job.started_unix_ns = 1'767'229'200'000'000'000;
  s.job.start = seconds(1000);
  s.job.elapsed = seconds(183.4);
  s.job.root_pid = 17;
  s.job.cpus = 16;
  s.job.host = "gpu-14";
  s.job.kernel = "5.15.0-97-generic";
  s.threads.push_back(thread({17, 17, "python3", 0, 183.3},
                             {{cpu_user, 88},
                              {cpu_system, 12},
                              {runqueue, 3.1},
                              {throttled, 31.4},
                              {memory, 11.2},
                              {disk_read, 9.1},
                              {accelerator, 0.4}},
                             futex, {2, 3}));
  for (uint32_t i = 0; i < 15; ++i)
    s.threads.push_back(thread({17, 30 + i, "pt_autograd_" + std::to_string(i), 4, 179},
                               {{cpu_user, 7.1}, {runqueue, 0.8}, {throttled, 5.2}}, futex,
                               {2, 3}));
  s.processes.push_back(process(17, 1, "python3", s.job.argv, 183.3, 206.5, 8156 * kMiB, {}));
  s.processes[0].signal = 9;
  s.processes[0].killed_by = Killer{0, "oom-killer"};
  const std::string cgroup =
      "/kubepods/burstable/pod3e61b2a4-96f5-4b6c-9f0a-0c1d7f1c2a10/"
      "a8f5f167f44f4964e6c998dee827110c8f5f167f44f4964e6c998dee827110c1";
  s.oom_kills = {{17, "python3", cgroup, 8 * kGiB, seconds(1183.3)}};
  s.cgroup = CgroupUse{cgroup, seconds(102), 2.0, 8 * kGiB};
  s.waits = {
      {17, "python3", true, memory, "", seconds(11.2), 4'110},
      {17, "python3", true, disk_read, "/workspace/cache/features.arrow", seconds(8.7), 2'901}};
  s.files = {{"/workspace/cache/features.arrow", seconds(8.7), 2'901, 0, 1, {}, {}}};
  s.runqueue = histogram({{5, 90'000}, {2'100, 2'000}});
  s.probes = all_probes();
  s.probes[0] = {"blockio", ProbeStatus::State::unavailable,
                 "no tracepoint block_rq_issue (tracefs is not mounted)"};
  s.self = {seconds(0.4), {}, 15 * kMiB, 6 * kMiB, 12, {{"oom", 0}, {"exit", 9}, {"signal", 3}}};
  return s;
}

// /bin/true: three milliseconds.
inline Snapshot empty() {
  Snapshot s;
  s.job.name = "true";
  s.job.argv = {"true"};
  s.job.exit_code = 0;
  s.job.elapsed = seconds(0.003);
  s.job.root_pid = 77;
  s.job.cpus = 2;
  s.threads.push_back(thread({77, 77, "true", 0, 0.0021},
                             {{Reason::cpu_user, 0.0009}, {Reason::cpu_system, 0.0008}},
                             Reason::runqueue, {1}));
  s.processes.push_back(process(77, 76, "true", {"true"}, 0.0021, 0.0017, 2 * kMiB));
  s.runqueue = histogram({{90, 2}});
  s.probes = all_probes();
  s.self = {seconds(0.021), {}, 13 * kMiB, 6 * kMiB, 0, {}};
  return s;
}

// A server with 3,000 threads on a machine of 128 cores, watched for 30 s.
inline Snapshot many_threads() {
  using enum Reason;
  Snapshot s;
  s.job.name = "tritonserver";
  s.job.attached = true;
  s.job.started_unix_ns = 1'767'229'200'000'000'000;
  s.job.elapsed = seconds(30);
  s.job.root_pid = 2'000;
  s.job.cpus = 128;
  s.job.host = "inference-2";
  s.job.kernel = "6.8.0";
  s.threads.push_back(
      thread({2'000, 2'000, "tritonserver", 0, 30}, {{cpu_user, 0.002}}, futex, {0}));
  for (uint32_t i = 1; i < 3'000; ++i) {
    const char* kind = i % 10 == 0 ? "grpc-worker-" : i % 3 == 0 ? "infer" : "http:";
    const double busy = i % 10 == 0 ? 0.8 : i % 3 == 0 ? 0.25 : 0.001;
    s.threads.push_back(thread({2'000, 2'000 + i, kind + std::to_string(i), 0, 30},
                               {{cpu_user, busy}, {cpu_system, busy / 10}, {runqueue, busy / 4}},
                               i % 10 == 0 ? poll : futex, {i % 96, (i * 7) % 96}));
    s.threads.back().exited = false;
    s.threads.back().migrations = i % 50;
    s.threads.back().node_moves = i % 3;
  }
  s.threads[0].exited = false;
  s.processes.push_back(process(2'000, 1, "tritonserver", {}, 30, 500, 41 * kGiB, {}));
  s.processes[0].exited = false;
  for (int i = 0; i < 9; ++i)
    s.network.push_back({PeerClass::remote, "10.0.3." + std::to_string(i) + ":51000",
                         (9 - static_cast<uint64_t>(i)) * 100 * kMiB, 7 * kMiB,
                         static_cast<uint64_t>(i)});
  s.network.push_back({PeerClass::loopback, "", 20 * kMiB, 20 * kMiB, {}});
  s.waits = {
      {2'000, "tritonserver", true, futex, "libc.so.6", seconds(29.9), 1},
      {2'000, "tritonserver", false, poll, "", seconds(8'700), 512'000},
      {2'000, "tritonserver", false, futex, "anonymous memory", seconds(79'000), 91'000},
      {2'000, "tritonserver", false, disk_read, "/models/llama/1/model.plan", seconds(1.4), 77}};
  s.runqueue = histogram({{1, 400'000}, {9, 100'000}, {300, 900}, {9'000, 4}});
  s.probes = all_probes();
  s.self = {seconds(0.9), seconds(0.3), 21 * kMiB, 12 * kMiB, 0, {}};
  return s;
}

}  // namespace jobscope::sample_jobs
