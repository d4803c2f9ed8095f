/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* How a task becomes a member of a job. */
#pragma once

#include "bpf/runnable.bpf.h"

/* Fills the zeroed record of a task. */
static __always_inline void init_thread(struct thread *t, struct task_struct *task, u32 job) {
  struct globals *g = globals();
  if (g) __sync_fetch_and_add(&g->threads, 1);
  t->job = job;
  t->pid = task->tgid;
  t->tid = task->pid;
  t->process = task->group_leader->start_time;
  t->exec_id = task->self_exec_id;
  t->wait.process = t->process;
  t->wait.pid = t->pid;
  t->wait.main_thread = t->pid == t->tid;
  t->cpu = -1;
  t->node = -1;
  t->ran = task->se.sum_exec_runtime;
  t->delay = delay_of(task, false, 0);
}

/* The same for the child of a member, before it first runs. */
static __always_inline void init_child(struct thread *t, struct task_struct *child,
                                       const struct thread *parent) {
  init_thread(t, child, parent->job);
  t->ppid = child->pid == child->tgid ? parent->pid : parent->ppid;
  t->has_quota = parent->has_quota;
  t->reason = REASON_OTHER;
  t->state = THREAD_QUEUED;
}
