// What the running kernel is like, from its BTF.
#pragma once

#include <cstdint>
#include <optional>

namespace jobscope {

// Distance in bytes from a CPU's `struct rq` to its preempt_count, where that is a per-CPU variable
// (x86). Both lie in the section .data..percpu, whose layout is the same for each CPU.
std::optional<int64_t> preempt_count_from_runqueue();

}  // namespace jobscope
