// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Programs that were started (successful execs), by job and name: also those that lived too briefly
// for any other monitor.
#define LOST execs_lost_total
#include "jobscope.bpf.h"

struct exec_key {
  u64 cgroup;
  char comm[16];
};

COUNTER_MAP(execs_total, BPF_MAP_TYPE_HASH, struct exec_key, 8192, BPF_F_NO_PREALLOC);

SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx) {
  struct exec_key key = {.cgroup = current_cgroup()};
  bpf_get_current_comm(key.comm, sizeof(key.comm));
  increment(&execs_total, &key, 1);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
