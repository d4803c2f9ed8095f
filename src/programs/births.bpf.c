// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Tells each new process, but not threads.
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/birth.h"
#include "bpf/kernel_types.h"

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 256 * 1024);
} births SEC(".maps");

unsigned long long lost = 0;

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_birth, struct task_struct *parent, struct task_struct *child) {
  if (child->pid != child->tgid) return 0;
  struct birth birth = {.parent = parent->tgid, .child = child->tgid};
  if (bpf_ringbuf_output(&births, &birth, sizeof(birth), 0)) __sync_fetch_and_add(&lost, 1);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
