// The running kernel's types.
#pragma once

#include <bpf/btf.h>

namespace jobscope {

// Parsed at the first call and kept; nullptr if the kernel has none. Not for several threads at
// once.
const btf* kernel_btf();

// Whether the kernel has a function of this name that BPF can call or trace.
bool has_function(const char* name);

}  // namespace jobscope
