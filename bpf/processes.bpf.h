/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A process's exec and its end, as told to user space: at their tracepoints, and at a switch if the
 * tracepoint was missed. It can be: since 7.0 (a46023d5616e) a program at a tracepoint may be
 * preempted, and while it is, the kernel leaves out further runs of it on that CPU
 * (bpf_prog.active). What remains unknown: the end of a process whose leader left its CPU for the
 * last time before its fellows did, the arguments of an image that was gone before anybody looked.
 */
#pragma once

#include "bpf/session.bpf.h"

struct exec_scratch {
  struct exec_event record;
  char argv[ARGV_MAX];
};

/* Each program has its own: one that is preempted while it fills it must not find it changed. The
 * map is not shared between objects. */
enum teller {
  TELLER_EXEC,
  TELLER_EXIT,
  TELLER_SWITCH = 0, /* in another object */
  TELLERS = 2,
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, TELLERS);
  __type(key, u32);
  __type(value, struct exec_scratch);
} exec_scratches SEC(".maps");

#define WAKE_EVERY 10000000ull /* ns */

/* Whether to wake user space for an exec, so that it looks at the new image soon: not for each of a
 * storm of them. */
static __always_inline bool wake_is_due(void) {
  struct globals *g = globals();
  u64 now = bpf_ktime_get_ns();
  if (!g || now - g->last_wake < WAKE_EVERY) return false;
  g->last_wake = now;
  return true;
}

static __always_inline void count_made_up(u32 what) {
  struct globals *g = globals();
  if (g && what < MADE_UPS) __sync_fetch_and_add(&g->made_up[what], 1);
}

/* The current task has a new image. */
static __always_inline void tell_exec(struct thread *t, struct task_struct *task, u32 teller) {
  // An exec by another thread than the leader takes the leader's place and pid.
  t->tid = task->pid;
  t->process = task->group_leader->start_time;
  t->wait.process = t->process;
  t->wait.main_thread = 1;
  t->exec_id = task->self_exec_id;
  forget_hints(task);

  struct exec_scratch *s = bpf_map_lookup_elem(&exec_scratches, &teller);
  struct mm_struct *mm = task->mm;
  if (!s || !mm || mm->arg_end < mm->arg_start) { /* gone, or half made by an exec that fails */
    count_loss(LOST_EVENTS);
    return;
  }
  s->record.event.type = EVENT_EXEC;
  s->record.process = t->process;
  s->record.pid = t->pid;
  s->record.ppid = t->ppid;
  bpf_probe_read_kernel(s->record.name, sizeof(s->record.name), task->comm);
  s->record.maxrss = task->signal->maxrss;
  s->record.at = bpf_ktime_get_ns();
  u64 start = mm->arg_start;
  u64 length = mm->arg_end - start;
  s->record.argv_full = length;
  if (length >= ARGV_MAX) length = ARGV_MAX - 1;
  barrier_var(length);  // keep the bound in the register that the verifier looks at
  length &= ARGV_MAX - 1;
  if (bpf_probe_read_user(s->argv, length, (void *)start)) length = 0;
  s->record.argv_size = length;
  u32 size = sizeof(s->record) + length;
  s->record.event.size = size;
  if (size > sizeof(*s)) return;
  if (!send_and(wake_is_due(), s, size)) count_loss(LOST_EVENTS);
}

/* Peak of the memory image, pages. 0 where exit_mm() comes before the tracepoint (before 6.16). */
static __always_inline u64 peak_of_image(struct mm_struct *mm) {
  if (!mm) return 0;
  u64 peak = mm->hiwater_rss;
  s64 now = 0; /* may be less than 0: CPUs add their part of it in batches */
  if (bpf_core_field_exists(mm->rss_stat[0].count)) {
    now += mm->rss_stat[0].count;
    now += mm->rss_stat[1].count;
    now += mm->rss_stat[3].count;
  } else {
    struct mm_struct___before_6_2 *old = (void *)mm;
    now += BPF_CORE_READ(old, rss_stat.count[0].counter);
    now += BPF_CORE_READ(old, rss_stat.count[1].counter);
    now += BPF_CORE_READ(old, rss_stat.count[3].counter);
  }
  return now > 0 && now > (s64)peak ? now : peak;
}

/* The last thread of a process has ended; `leader` may be NULL. */
static __always_inline void tell_end(struct thread *t, struct thread *leader,
                                     struct task_struct *task) {
  struct process_event event = {};
  event.event.type = EVENT_PROCESS_END;
  event.event.size = sizeof(event);
  event.process = t->process;
  event.pid = t->pid;
  event.ppid = t->ppid;
  // kernel/exit.c, wait_task_zombie(): the group's code, or else the leader's.
  event.status = task->signal->flags & SIGNAL_GROUP_EXIT ? task->signal->group_exit_code
                                                         : task->group_leader->exit_code;
  if (leader) {
    leader->end_told = 1;
    event.killer_pid = leader->killer_pid;
    event.killer_signal = leader->killer_signal;
    __builtin_memcpy(event.killer, leader->killer, sizeof(event.killer));
  }
  BPF_CORE_READ_INTO(&event.name, task, group_leader, comm);
  event.maxrss = task->signal->maxrss;
  event.hiwater = peak_of_image(task->mm);
  event.at = bpf_ktime_get_ns();
  if (!send(&event, sizeof(event))) count_loss(LOST_EVENTS);
}
