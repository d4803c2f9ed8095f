/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The scheduler's clock, rq->clock: the kernel has just brought it up to date when it switches, so
 * reading it is one load (bpf_ktime_get_ns costs 15 to 35 ns), and run_delay, last_queued and
 * sum_exec_runtime are kept in it, so that our figures and the kernel's add up to the nanosecond.
 * kernel/sched/core.c: __schedule() calls update_rq_clock() before it picks the next task. */
#pragma once

#include "bpf/session.bpf.h"

/* The clock of the CPU that `task` is on. Found by its cfs_rq: the per-CPU variable `runqueues` has
 * an address only with CONFIG_KALLSYMS_ALL. */
static __always_inline u64 rq_clock(struct task_struct *task) { return task->se.cfs_rq->rq->clock; }

#define CLOCK_PERIOD 16000000ull /* ns between two comparisons */
#define CLOCK_SLEW 2000ull       /* ns it may be put forward in one */

/* Keeps the distance to CLOCK_MONOTONIC. A late reading makes it too long, never too short: follow
 * a shorter one at once, a longer one slowly. */
static __always_inline void compare_clocks(u64 now) {
  struct globals *g = globals();
  if (!g || now - g->clock_seen < CLOCK_PERIOD) return;
  g->clock_seen = now;
  u64 offset = bpf_ktime_get_ns() - now;
  s64 longer = (s64)(offset - g->clock_offset);
  if (longer > (s64)CLOCK_SLEW && g->clock_offset) offset = g->clock_offset + CLOCK_SLEW;
  g->clock_offset = offset;
}
