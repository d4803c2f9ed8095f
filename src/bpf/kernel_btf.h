// The running kernel's types.
#pragma once

#include <bpf/btf.h>

#include <string_view>

namespace jobscope {

// Parsed at the first call and kept; nullptr if the kernel has none. Not for several threads at
// once.
const btf* kernel_btf();

// Whether the environment asks to live as on a kernel that lacks a feature, so that what takes its
// place can be tried on any: JOBSCOPE_WITHOUT=task_storage,block_io_start names those of
// src/bpf/kernel.h, tracepoints and functions; and BPF programs of ours, which then never run.
bool is_masked(std::string_view feature);

// Whether the kernel has a function of this name that BPF can call or trace.
bool has_function(const char* name);

}  // namespace jobscope
