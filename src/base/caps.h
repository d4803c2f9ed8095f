// Linux capabilities of this process, and what watching a job needs of them.
//
// Capabilities belong to a thread: what these calls change holds for the calling thread and for
// those it starts later. Call them before there are others.
#pragma once

#include <sys/capability.h>
#include <sys/types.h>

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"

namespace jobscope {

using Capability = cap_value_t;

struct NeededCapability {
  Capability value;
  bool required;  // nothing can be watched without it
  std::string_view why;
};

// All that is kept while a job is watched. Tried with a copy that has file capabilities, run by an
// ordinary user (kernel 6.18, unprivileged_bpf_disabled=2, perf_event_paranoid=2): the first two
// load, attach and read tp_btf programs, task storage, ring buffers, the task iterator, cpu-clock
// samples with user and kernel stacks, and uprobes by BPF_TRACE_UPROBE_MULTI; one's own job can
// then be named without the others. Outside this list on purpose, and so for root only:
// CAP_SYS_ADMIN (uprobes by perf_event_open on that kernel, the run time of BPF programs
// (BPF_ENABLE_STATS), mounting tracefs) and CAP_SYSLOG (addresses in /proc/kallsyms).
inline constexpr std::array kWatchCapabilities = {
    NeededCapability{CAP_BPF, true, "create BPF maps and load BPF programs"},
    NeededCapability{CAP_PERFMON, true, "attach BPF programs to the scheduler, sample CPUs"},
    // readlink of /proc/PID/{exe,root,cwd,fd}, and /proc/PID/{maps,io} of other users' processes.
    NeededCapability{CAP_SYS_PTRACE, false, "name files and libraries of other users' processes"},
    // tracefs (mode 0700) for tracepoints by name; libraries and environ that others can't read.
    NeededCapability{CAP_DAC_READ_SEARCH, false,
                     "find tracepoints in tracefs, and read libraries and names of other users"},
};
// What is kept while a job is watched: the values of kWatchCapabilities; by root also those that it
// needs to pass signals on to a job that changed its user, and to finish files in directories of
// others.
std::vector<Capability> kept_capabilities(uid_t who);

// "CAP_BPF"; "CAP_63" for one that this library does not know.
std::string capability_name(Capability capability);

// True if it is effective.
bool has_capability(Capability capability);
// Those that are not effective, in the order of `wanted`.
std::vector<Capability> missing_of(std::span<const Capability> wanted);

// Makes permitted capabilities effective, or no longer effective. All or nothing.
Result<> raise(std::span<const Capability> list);
Result<> lower(std::span<const Capability> list);
// Gives up for good every capability outside `keep`; those inside become effective if they are
// permitted. Nothing stays inheritable or ambient. Programs that root executes get all back.
Result<> drop_all_but(std::span<const Capability> keep);

// What the message about missing privileges is made of.
struct PrivilegeFacts {
  std::string binary;             // path of the program itself
  std::vector<std::string> argv;  // as it was called; argv[0] is replaced by `binary`
  uid_t uid = 0;
  bool user_namespace = false;     // capabilities here are not the host's
  bool pid_namespace = false;      // process numbers here are not the kernel's
  bool no_new_privileges = false;  // neither sudo nor file capabilities work
  bool nosuid = false;             // file capabilities of the binary do not count
  static PrivilegeFacts of_this_process(std::span<const char* const> argv);
};
// One line what is missing, and as hint the exact commands that would help.
Error lacking_privileges(const PrivilegeFacts& facts);
// Nothing, if all that BPF programs require is effective; else lacking_privileges of this process.
Result<> check_bpf_privileges(std::span<const char* const> argv);
// The same, and that processes have the kernel's numbers here.
Result<> check_watch_privileges(std::span<const char* const> argv);

}  // namespace jobscope
