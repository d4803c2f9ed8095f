// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// As cgroups.bpf.c, with a mark in the storage of the cgroup itself.
#include "vmlinux.h"

#include "jobscope.bpf.h"

struct {
  __uint(type, BPF_MAP_TYPE_CGRP_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, u64);
} marked SEC(".maps");
COUNTER_MAP(marked_execs_total, BPF_MAP_TYPE_HASH, u64, 1024, 0);

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task) {
  char comm[16];
  bpf_get_current_comm(comm, sizeof(comm));
  u64 cgroup = current_cgroup();
  if (bpf_strncmp(comm, 5, "true") != 0) return 0;
  if (!bpf_cgrp_storage_get(&marked, task->cgroups->dfl_cgrp, NULL, 0)) return 0;
  increment(&marked_execs_total, &cgroup, 1);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
