// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What CPU quotas took from cgroups: the kernel's own counts, those of cpu.stat, read from the
// tasks at each scrape. Nothing runs in between. Where there are kprobes, also how long each CPU
// stood still.
#define LOST cgroup_cpu_lost_total
#include "jobscope.bpf.h"

#define RUNTIME_INF (~0ull)
#define DEPTH 8
#define MAX_BUCKET 24

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct cfs_bandwidth___counts {
  u64 quota;
  int nr_periods;
  int nr_throttled;
  u64 throttled_time;
};

struct task_group___counts {
  struct cgroup_subsys_state css;
  struct task_group___counts *parent;
  struct cfs_bandwidth___counts cfs_bandwidth; /* with CONFIG_CFS_BANDWIDTH */
};

struct cfs_rq___throttled {
  u64 throttled_clock;
  struct task_group *tg;
};
#pragma clang attribute pop

/* In the hierarchy of the cpu controller; `name` is the last part of its path. */
struct group_key {
  u64 cgroup;
  char name[96];
};

struct throttle_key {
  u64 cgroup;
  u64 bucket;
};

/* LRU: groups that are gone make room. */
COUNTER_MAP(cgroup_cpu_periods_total, BPF_MAP_TYPE_LRU_HASH, struct group_key, 4096, 0);
COUNTER_MAP(cgroup_cpu_throttled_periods_total, BPF_MAP_TYPE_LRU_HASH, struct group_key, 4096, 0);
COUNTER_MAP(cgroup_cpu_throttled_nanoseconds_total, BPF_MAP_TYPE_LRU_HASH, struct group_key, 4096,
            0);
COUNTER_MAP(cgroup_cpu_throttle_seconds, BPF_MAP_TYPE_HASH, struct throttle_key, 8192, 0);

static __always_inline void note(struct task_group___counts *group) {
  struct group_key key = {};
  struct kernfs_node *node = BPF_CORE_READ(group, css.cgroup, kn);
  key.cgroup = BPF_CORE_READ(node, id);
  const char *name = BPF_CORE_READ(node, name);
  bpf_probe_read_kernel_str(key.name, sizeof(key.name), name);
  set_value(&cgroup_cpu_periods_total, &key, BPF_CORE_READ(group, cfs_bandwidth.nr_periods));
  set_value(&cgroup_cpu_throttled_periods_total, &key,
            BPF_CORE_READ(group, cfs_bandwidth.nr_throttled));
  set_value(&cgroup_cpu_throttled_nanoseconds_total, &key,
            BPF_CORE_READ(group, cfs_bandwidth.throttled_time));
}

SEC("iter/task")
int on_task(struct bpf_iter__task *ctx) {
  struct task_struct *task = ctx->task;
  if (!task) return 0;
  struct task_group___counts *group = (void *)BPF_CORE_READ(task, sched_task_group);
  if (!bpf_core_field_exists(group->cfs_bandwidth)) return 0;
  for (int i = 0; i < DEPTH && group; i++) {
    if (BPF_CORE_READ(group, cfs_bandwidth.quota) != RUNTIME_INF) note(group);
    group = BPF_CORE_READ(group, parent);
  }
  return 0;
}

/* The kernel is about to let the tasks of a group run again on one CPU. */
SEC("kprobe/unthrottle_cfs_rq")
int BPF_KPROBE(on_unthrottle, struct cfs_rq___throttled *cfs_rq) {
  u64 since = BPF_CORE_READ(cfs_rq, throttled_clock);
  u64 now = BPF_CORE_READ((struct cfs_rq *)cfs_rq, rq, clock);
  if (!since || now < since) return 0;
  struct task_group___counts *group = (void *)BPF_CORE_READ(cfs_rq, tg);
  struct throttle_key key = {.cgroup = BPF_CORE_READ(group, css.cgroup, kn, id)};
  increment_exp2(&cgroup_cpu_throttle_seconds, key, microseconds(now - since), MAX_BUCKET);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
