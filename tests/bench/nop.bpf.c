// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Does nothing at each switch: what the kernel's own counting of run time costs.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("tp_btf/sched_switch")
int nop(void *ctx) { return 0; }

char LICENSE[] SEC("license") = "Dual BSD/GPL";
