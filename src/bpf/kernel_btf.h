// The running kernel's types.
#pragma once

#include <bpf/btf.h>

namespace jobscope {

// Parsed at the first call and kept; nullptr if the kernel has none. Not for several threads at
// once.
const btf* kernel_btf();

}  // namespace jobscope
