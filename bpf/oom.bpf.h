/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Whose limit of memory was hit. */
#pragma once

#include "bpf/session.bpf.h"

#define CGROUP_DEPTH 12
#define PAGE_COUNTER_SLACK 64 /* pages: usage is charged in batches */

/* The memory cgroup over `task` that is full, the nearest one: its id and limit. Both stay as they
 * are if there is none. */
static __always_inline void find_full_cgroup(struct task_struct *task, __u64 *cgroup,
                                             __u64 *limit) {
  if (!bpf_core_type_exists(struct mem_cgroup)) return;
  int id = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
  struct css_set *set = BPF_CORE_READ(task, cgroups);
  struct cgroup_subsys_state *css = NULL;
  bpf_probe_read_kernel(&css, sizeof(css), &set->subsys[id]);
  for (int i = 0; i < CGROUP_DEPTH && css; i++) {
    struct mem_cgroup *group = (void *)css - bpf_core_field_offset(struct mem_cgroup, css);
    u64 usage = BPF_CORE_READ(group, memory.usage.counter);
    u64 max = BPF_CORE_READ(group, memory.max);
    if (usage + PAGE_COUNTER_SLACK >= max) {
      *cgroup = BPF_CORE_READ(css, cgroup, kn, id);
      *limit = max;
      return;
    }
    css = BPF_CORE_READ(css, parent);
  }
}
