// The model: what a session knows about its job at one moment. Plain data, no behaviour.
//
// All counters are cumulative since the session began to watch. Times are nanoseconds; points in
// time are CLOCK_MONOTONIC. A value that nobody could measure is an empty optional, never 0.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/model/histogram.h"
#include "src/model/reason.h"

namespace jobscope {

using Nanoseconds = uint64_t;

// What was asked for and how it ended.
struct JobRun {
  std::string name;
  std::vector<std::string> argv;  // empty when attached
  std::optional<int> exit_code;   // of the root process; empty: still running, or a signal
  std::optional<int> signal;      // that ended the root process
  bool attached = false;          // true: watched from `start` on, not from its birth
  int64_t started_unix_ns = 0;    // wall clock at `start`
  Nanoseconds start = 0;
  Nanoseconds elapsed = 0;
  uint32_t root_pid = 0;  // 0: none (attached to a cgroup or a command)
  uint32_t cpus = 0;      // CPUs the job may use
  std::string host, kernel;
};

// One thread, from its first moment on a run queue to its last on a CPU.
// Identity: lifetime == sum of parts, to the nanosecond.
struct ThreadUse {
  uint32_t pid = 0, tid = 0;
  std::string name;  // its last name (comm)
  Nanoseconds start = 0;
  Nanoseconds lifetime = 0;
  bool exited = false;
  uint32_t threads = 1;  // > 1: this line is the sum of so many threads that were folded
  Parts parts{};         // indexed by Reason
  std::map<uint32_t, Nanoseconds> cores;  // CPU time by CPU; its sum is cpu_user + cpu_system
  uint64_t migrations = 0, node_moves = 0;
  uint64_t voluntary = 0, involuntary = 0;  // context switches, the kernel's own counts
  uint64_t yields = 0;                      // times it left a CPU by sched_yield
  Nanoseconds yield_wait = 0;               // of runqueue: after a sched_yield, so of its own will
  uint64_t samples = 0, yield_samples = 0;  // CPU samples, and those of them inside sched_yield
  uint64_t minor_faults = 0, major_faults = 0;

  Nanoseconds cpu() const {
    return part(parts, Reason::cpu_user) + part(parts, Reason::cpu_system);
  }
};

struct Killer {
  uint32_t pid = 0;  // 0: the kernel
  std::string name;  // comm of the sender; "kernel", "oom-killer", "terminal"
};

struct ProcessUse {
  uint32_t pid = 0, ppid = 0;
  std::string name;
  std::vector<std::string> argv;  // of its last exec; empty: never exec'd, or unknown
  bool argv_truncated = false;
  Nanoseconds start = 0;
  Nanoseconds lifetime = 0;
  bool exited = false;
  uint32_t processes = 1;  // > 1: the sum of so many short-lived processes of this name
  std::optional<int> exit_code, signal;
  std::optional<Killer> killed_by;
  Nanoseconds cpu = 0;
  std::optional<uint64_t> peak_rss;  // bytes
};

// An OOM kill of a process of the job.
struct OomKill {
  uint32_t pid = 0;
  std::string name;
  std::string cgroup;             // whose limit was hit; "" if the whole machine ran out
  std::optional<uint64_t> limit;  // bytes
  Nanoseconds at = 0;
};

// Requests to one device. charged == false: write-back and other work of the kernel's own threads
// on devices while the job ran, which no task can be charged with.
struct BlockIo {
  std::string device;     // "vda"
  std::string operation;  // read write flush discard
  bool charged = true;
  uint64_t count = 0, bytes = 0, sequential = 0;  // sequential: began where the last one ended
  Histogram latency, queue, device_time;          // µs: whole, before and after the device got it
};

struct FileUse {
  std::string path;  // "" if it could not be found out
  Nanoseconds wait = 0;
  uint64_t waits = 0;
  uint64_t faults = 0;  // of these waits: major page faults
  uint64_t files = 1;   // > 1: the sum of so many files of this directory
  std::optional<uint64_t> bytes_read, bytes_written;  // to and from the device, not the page cache
};

enum class PeerClass { loopback, unix_socket, remote };

struct NetworkUse {
  PeerClass peer = PeerClass::remote;
  std::string address;  // remote address; "" for a whole class
  uint64_t bytes_in = 0, bytes_out = 0;
  std::optional<uint64_t> retransmits;
};

// What threads of one process waited for, by name.
struct WaitUse {
  uint32_t pid = 0;
  std::string process;  // comm of that process
  bool main_thread = false;
  Reason reason{};
  std::string target;  // file, peer, futex owner library, child command, system call
  Nanoseconds wait = 0;
  uint64_t waits = 0;
};

// Who ended the waits of a process's main thread.
struct WakerUse {
  uint32_t pid = 0;
  Reason reason{};
  uint32_t waker_pid = 0, waker_tid = 0;
  std::string waker;  // its comm
  Nanoseconds wait = 0;
  uint64_t waits = 0;
};

// A table that a probe adds without the rest of the program knowing its shape.
struct Table {
  std::string name;   // key in JSON and in the recording, e.g. "faults"
  std::string title;  // heading of the report
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

// A ledger of the cgroup's own, over the time watched.
struct CgroupUse {
  std::string path;
  std::optional<Nanoseconds> throttled;
  std::optional<double> cpu_limit;       // CPUs; empty: none
  std::optional<uint64_t> memory_limit;  // bytes; empty: none
};

struct ProbeStatus {
  std::string name;
  enum class State { ok, degraded, unavailable } state = State::ok;
  std::string reason;  // empty when ok
};

// What jobscope itself cost, and what it lost.
struct SelfCost {
  Nanoseconds cpu = 0;
  std::optional<Nanoseconds> bpf;  // estimated from one run of many
  uint64_t rss = 0, map_bytes = 0;
  uint64_t events_lost = 0;
  std::map<std::string, uint64_t> lost;  // what: how many
};

struct Snapshot {
  JobRun job;
  std::vector<ThreadUse> threads;
  std::vector<ProcessUse> processes;
  std::vector<OomKill> oom_kills;
  std::vector<BlockIo> block_io;
  std::vector<FileUse> files;
  std::vector<NetworkUse> network;
  std::vector<WaitUse> waits;
  std::vector<WakerUse> wakers;
  Histogram runqueue;  // µs waited for a CPU, each time
  std::optional<CgroupUse> cgroup;
  std::vector<Table> tables;
  std::vector<ProbeStatus> probes;
  SelfCost self;
};

using SnapshotPtr = std::shared_ptr<const Snapshot>;

}  // namespace jobscope
