// Prototypes of the running kernel's tracepoints, from its BTF.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace jobscope {

// The arguments of a raw tracepoint ("sched_switch"): for each, the name of the struct it points
// to, or "" if it is a plain value. Empty if the kernel has no such tracepoint (or
// JOBSCOPE_WITHOUT says so: src/bpf/kernel_btf.h).
std::optional<std::vector<std::string>> tracepoint_arguments(const std::string& name);

}  // namespace jobscope
