/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* How long a thread that is not on a CPU has been runnable. The kernel's sched_info keeps that
 * (kernel/sched/stats.h); where it was built without CONFIG_SCHED_INFO, wake-ups tell it. Then
 * thread.delay is the moment of becoming runnable, 0 while it is not. */
#pragma once

#include "bpf/clock.bpf.h"

/* To be kept when a thread leaves its CPU, or is first met. */
static __always_inline u64 delay_of(struct task_struct *task, bool runnable, u64 now) {
  if (has_sched_info) return task->sched_info.run_delay;
  return runnable ? now : 0;
}

/* Of the time since then up to `now`, so much it was runnable. */
static __always_inline u64 queued_until(struct thread *t, struct task_struct *task, u64 now) {
  if (!has_sched_info) return t->delay && t->delay < now ? now - t->delay : 0;
  u64 queued = task->sched_info.run_delay - t->delay;
  u64 last_queued = task->sched_info.last_queued; /* not 0: the wait it is in; added at its end */
  if (last_queued && last_queued < now) queued += now - last_queued;
  return queued;
}

static __always_inline bool is_runnable(struct task_struct *task, long state) {
  return has_sched_info ? task->sched_info.last_queued : state == 0;
}

/* When a thread that is on a CPU came there, if we did not see it. */
static __always_inline u64 last_arrival(struct thread *t, struct task_struct *task, u64 now) {
  if (has_sched_info) return task->sched_info.last_arrival;
  u64 ran = task->se.sum_exec_runtime - t->ran;
  return ran < now ? now - ran : 0;
}
