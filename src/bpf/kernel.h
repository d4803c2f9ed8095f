// What the running kernel is like, from its BTF.
#pragma once

#include <cstdint>
#include <optional>

namespace jobscope {

// Whether BPF programs can keep values on tasks (5.11); and whether they are told a task's
// registers (5.15). Asked of the kernel once.
bool has_task_storage();
// Room of the hashes that stand for it: threads, and processes.
constexpr uint32_t kMostTasks = 16384;
bool has_task_pt_regs();

// Distance in bytes from a CPU's `struct rq` to its preempt_count, where that is a per-CPU variable
// (x86). Both lie in the section .data..percpu, whose layout is the same for each CPU.
std::optional<int64_t> preempt_count_from_runqueue();

}  // namespace jobscope
