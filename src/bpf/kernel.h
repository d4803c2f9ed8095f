// What the running kernel has, asked of it and never derived from its version.
#pragma once

#include <cstdint>
#include <optional>

namespace jobscope {

bool has_task_storage();  // "task_storage": BPF programs can keep values on tasks (5.11)
// Room of the hashes that stand for it: threads, and processes.
constexpr uint32_t kMostTasks = 16384;
bool has_task_pt_regs();    // "task_pt_regs": and are told a task's registers (5.15)
bool has_socket_storage();  // "socket_storage": tracing programs can keep values on sockets (5.11)
bool has_sched_info();      // "sched_info": CONFIG_SCHED_INFO
// "switch_allocation": memory may be had in a program at sched_switch: kmalloc_nolock() and
// kfree_nolock(), 6.18.
bool has_switch_allocation();

// Distance in bytes from a CPU's `struct rq` to its preempt_count, where that is a per-CPU variable
// (x86). Both lie in the section .data..percpu, whose layout is the same for each CPU. From the
// kernel's BTF, or from its symbols (for root).
std::optional<int64_t> preempt_count_from_runqueue();

}  // namespace jobscope
