// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// How long tasks that can run wait for a CPU. The kernel keeps when a task was queued (sched_info),
// so the switch tells all: no wake-up is traced. It is what /proc/PID/schedstat adds up as
// run_delay.
#include "jobscope.bpf.h"

#define MAX_BUCKET 26

COUNTER_MAP(run_queue_latency_seconds, BPF_MAP_TYPE_PERCPU_ARRAY, u32, MAX_BUCKET + 2, 0);

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next) {
  u64 queued = next->sched_info.last_queued;
  if (!queued) return 0;                /* the idle task, or one that was not waiting */
  u64 now = next->se.cfs_rq->rq->clock; /* the clock that last_queued is in */
  u64 ns = now > queued ? now - queued : 0;
  struct bucket_key key = {};
  increment_exp2(&run_queue_latency_seconds, key, microseconds(ns), MAX_BUCKET);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
