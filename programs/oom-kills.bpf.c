// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Processes that the kernel killed because there was no memory. Before 6.9 (72ba14deb40a, also in
// stable kernels since 2024) it tells only their pid: the cgroup is then that of the task which
// found no memory, and the name is empty.
#define LOST oom_kills_lost_total
#include "jobscope.bpf.h"

typedef void (*btf_trace_mark_victim___of_task)(void *, struct task_struct *, u32);

struct victim_key {
  u64 cgroup;
  char comm[16];
};

COUNTER_MAP(oom_kills_total, BPF_MAP_TYPE_HASH, struct victim_key, 1024, 0);

SEC("raw_tp/mark_victim")
int on_victim(struct bpf_raw_tracepoint_args *ctx) {
  struct victim_key key = {};
  if (bpf_core_type_exists(btf_trace_mark_victim___of_task)) {
    struct task_struct *task = (void *)TP_ARG(ctx, 0);
    key.cgroup = cgroup_of(task);
    BPF_CORE_READ_STR_INTO(&key.comm, task, comm);
  } else {
    key.cgroup = current_cgroup();
  }
  increment(&oom_kills_total, &key, 1);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
