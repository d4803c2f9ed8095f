// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Execs of `true` in those cgroups that the configuration wants.
#include "jobscope.bpf.h"

COUNTER_MAP(wanted, BPF_MAP_TYPE_HASH, u64, 1024, 0);
COUNTER_MAP(wanted_execs_total, BPF_MAP_TYPE_HASH, u64, 1024, 0);

SEC("tracepoint/sched/sched_process_exec")
int on_exec(void *ctx) {
  char comm[16];
  bpf_get_current_comm(comm, sizeof(comm));
  u64 cgroup = current_cgroup();
  if (bpf_strncmp(comm, 5, "true") != 0 || !bpf_map_lookup_elem(&wanted, &cgroup)) return 0;
  increment(&wanted_execs_total, &cgroup, 1);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
