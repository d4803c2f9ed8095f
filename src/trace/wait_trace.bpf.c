// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Threads that waited longer than a bound. At a switch away only the time and the user stack are
// kept; the reason and the kernel stack are found out when the thread comes back, from the
// registers it entered the kernel with, and only if it was away for long.
#include "bpf/runnable.bpf.h"
#include "bpf/waits.bpf.h"
#include "src/trace/filter.bpf.h"

const volatile __u64 over_ns = 10000000; /* set before load */

struct away {
  u64 since; /* of the scheduler's clock; 0: it is on a CPU */
  u64 delay; /* sched_info.run_delay then */
  s64 state; /* 0: pushed off, or yielded */
  s64 user_bytes;
  u64 user[USER_FRAMES];
};

/* By thread. Preallocated: written at a switch, where memory may not be had. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 32768);
  __type(key, u32);
  __type(value, struct away);
} threads_away SEC(".maps");

struct wait_scratch {
  struct thread thread; /* for wait_reason(), which keeps there what it finds */
  struct wait_record record;
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct wait_scratch);
} wait_scratches SEC(".maps");

static const struct away nowhere = {};

static __always_inline void leave(void *ctx, struct task_struct *task, bool preempt) {
  u32 tid = task->pid;
  long state = task_state(task);
  if (state & TASK_DEAD) {
    bpf_map_delete_elem(&threads_away, &tid);
    return;
  }
  if (!passes(verdict_of(task->tgid)) || !has_wanted_comm(task)) return;
  struct away *away = bpf_map_lookup_elem(&threads_away, &tid);
  if (!away) {
    if (bpf_map_update_elem(&threads_away, &tid, &nowhere, BPF_NOEXIST)) count_loss(LOST_WAITS);
    away = bpf_map_lookup_elem(&threads_away, &tid);
    if (!away) return;
  }
  away->state = preempt ? 0 : state;
  away->delay = has_sched_info ? task->sched_info.run_delay : 0;
  away->user_bytes = bpf_get_stack(ctx, away->user, sizeof(away->user), BPF_F_USER_STACK);
  away->since = rq_clock(task);
}

static __always_inline void tell_wait(struct wait_scratch *s, struct task_struct *task,
                                      struct away *away, u64 ns, u32 verdict) {
  struct wait_record *r = &s->record;
  struct pt_regs *regs = user_regs(task);
  r->head.event.type = TRACE_WAIT;
  r->head.event.size = sizeof(*r);
  r->head.at = bpf_ktime_get_ns();
  r->head.pid = task->tgid;
  r->head.tid = task->pid;
  r->head.verdict = verdict;
  r->head.cpu = bpf_get_smp_processor_id();
  bpf_probe_read_kernel_str(r->head.comm, sizeof(r->head.comm), task->comm);
  r->ns = ns;
  r->wait = s->thread.wait;
  r->ip = REGS_IP(regs);
  s64 bytes = bpf_get_task_stack(task, r->kernel, sizeof(r->kernel), 0);
  r->kernel_frames = bytes > 0 ? bytes / sizeof(u64) : 0;
  __builtin_memcpy(r->user, away->user, sizeof(r->user));
  r->user_frames = away->user_bytes > 0 ? away->user_bytes / sizeof(u64) : 0;
  tell(r, sizeof(*r));
}

/* It was away, of that runnable for `queued`. */
static __always_inline void judge(struct task_struct *task, struct away *away, u64 blocked,
                                  u64 queued, u32 verdict) {
  u32 zero = 0;
  struct wait_scratch *s = bpf_map_lookup_elem(&wait_scratches, &zero);
  if (!s) return;
  __builtin_memset(&s->thread.wait, 0, sizeof(s->thread.wait));
  __builtin_memset(&s->thread.interrupted, 0, sizeof(s->thread.interrupted));
  __builtin_memset(&s->record, 0, sizeof(s->record));
  s->thread.io_inode = 0;
  if (blocked >= over_ns) {
    s->thread.wait.reason = wait_reason(&s->thread, task, away->state);
    tell_wait(s, task, away, blocked, verdict);
  }
  if (queued >= over_ns) {
    __builtin_memset(&s->thread.wait, 0, sizeof(s->thread.wait));
    s->thread.wait.reason = REASON_RUNQUEUE;
    tell_wait(s, task, away, queued, verdict);
  }
}

static __always_inline void enter(struct task_struct *task) {
  u32 tid = task->pid;
  struct away *away = bpf_map_lookup_elem(&threads_away, &tid);
  if (!away || !away->since) return;
  u64 now = rq_clock(task);
  u64 ns = now > away->since ? now - away->since : 0;
  away->since = 0;
  if (ns < over_ns) return;
  u64 queued = away->state ? 0 : ns;
  if (away->state && has_sched_info) { /* as in bpf/runnable.bpf.h */
    queued = task->sched_info.run_delay - away->delay;
    u64 last_queued = task->sched_info.last_queued;
    if (last_queued && last_queued < now) queued += now - last_queued;
    if (queued > ns) queued = ns;
  }
  judge(task, away, ns - queued, queued, verdict_of(task->tgid));
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next) {
  if (!(prev->flags & PF_KTHREAD)) leave(ctx, prev, preempt);
  if (!(next->flags & PF_KTHREAD)) enter(next);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
