// What the running kernel has, asked of it and never derived from its version.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace jobscope {

bool has_task_storage();  // "task_storage": tracing programs can keep values on tasks (5.13)
// Why the kernel may have refused (EPERM) to make a map or to load a program, for the person who
// may change it; "" if that is not known. Before 5.11 their memory counts against RLIMIT_MEMLOCK.
std::string memlock_hint(int code);
// Room of the hashes that stand for it: threads, and processes.
constexpr uint32_t kMostTasks = 16384;
bool has_task_pt_regs();    // "task_pt_regs": and are told a task's registers (5.15)
bool has_socket_storage();  // "socket_storage": tracing programs can keep values on sockets (5.11)
bool has_sched_info();      // "sched_info": CONFIG_SCHED_INFO
// "switch_allocation": a program at sched_switch can make such a value, for it is allocated without
// sleeping and without waking anybody. Asked by what came later: kfree_nolock(), 6.18.
bool has_switch_allocation();

// Distance in bytes from a CPU's `struct rq` to its preempt_count, where that is a per-CPU variable
// (x86). Both lie in the section .data..percpu, whose layout is the same for each CPU. From the
// kernel's BTF, or from its symbols (for root).
std::optional<int64_t> preempt_count_from_runqueue();

}  // namespace jobscope
