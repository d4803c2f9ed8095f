// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The same programs for kernels that have bpf_rdonly_cast(): see FIELD in bpf/waits.bpf.h.
#define WITH_RDONLY_CAST
#include "probes/sched/sched.bpf.c"
