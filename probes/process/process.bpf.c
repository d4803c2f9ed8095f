// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The processes of a job: what they ran, how they ended, and who ended them.
#include "bpf/session.bpf.h"

struct exec_scratch {
  struct exec_event record;
  char argv[ARGV_MAX];
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
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

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task) {
  struct thread *t = member(task);
  if (!t) return 0;
  // An exec by another thread than the leader takes the leader's place and pid.
  t->tid = task->pid;
  t->process = task->group_leader->start_time;
  t->wait.process = t->process;
  t->wait.main_thread = 1;
  forget_hints(task);

  u32 zero = 0;
  struct exec_scratch *s = bpf_map_lookup_elem(&exec_scratches, &zero);
  if (!s) return 0;
  s->record.event.type = EVENT_EXEC;
  s->record.process = t->process;
  s->record.pid = t->pid;
  s->record.ppid = t->ppid;
  bpf_probe_read_kernel(s->record.name, sizeof(s->record.name), task->comm);
  s->record.maxrss = task->signal->maxrss;
  s->record.at = bpf_ktime_get_ns();
  u64 start = task->mm->arg_start;
  u64 length = task->mm->arg_end - start;
  s->record.argv_full = length;
  if (length >= ARGV_MAX) length = ARGV_MAX - 1;
  barrier_var(length);  // keep the bound in the register that the verifier looks at
  length &= ARGV_MAX - 1;
  if (bpf_probe_read_user(s->argv, length, (void *)start)) length = 0;
  s->record.argv_size = length;
  u32 size = sizeof(s->record) + length;
  s->record.event.size = size;
  if (size > sizeof(*s)) return 0;
  if (!send_and(wake_is_due(), s, size)) count_loss(LOST_EVENTS);
  return 0;
}

/* Peak of the memory image, pages. 0 where exit_mm() comes before the tracepoint (before 6.16). */
static __always_inline u64 peak_of_image(struct mm_struct *mm) {
  if (!mm) return 0;
  u64 peak = mm->hiwater_rss, now = 0;
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
  return now > peak ? now : peak;
}

// The last thread of a process exits.
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task) {
  struct thread *t = member(task);
  if (!t || task->signal->live.counter != 0) return 0;
  struct process_event event = {};
  event.event.type = EVENT_PROCESS_END;
  event.event.size = sizeof(event);
  event.process = t->process;
  event.pid = t->pid;
  event.ppid = t->ppid;
  // kernel/exit.c, wait_task_zombie(): the group's code, or else the leader's.
  event.status = task->signal->flags & SIGNAL_GROUP_EXIT ? task->signal->group_exit_code
                                                         : task->group_leader->exit_code;
  if (!has_task_storage) forget_hints(task);
  struct thread *leader = leader_of(task);
  if (leader) {
    event.killer_pid = leader->killer_pid;
    event.killer_signal = leader->killer_signal;
    __builtin_memcpy(event.killer, leader->killer, sizeof(event.killer));
  }
  BPF_CORE_READ_INTO(&event.name, task, group_leader, comm);
  event.maxrss = task->signal->maxrss;
  event.hiwater = peak_of_image(task->mm);
  event.at = bpf_ktime_get_ns();
  if (!send(&event, sizeof(event))) count_loss(LOST_EVENTS);
  return 0;
}

#define SEND_SIG_PRIV ((struct kernel_siginfo *)1) /* the kernel's own; linux/sched/signal.h */
#define DELIVERED 0                                /* TRACE_SIGNAL_DELIVERED */
#define SIGCHLD 17
#define SIGCONT 18
#define SIGURG 23
#define SIGWINCH 28

SEC("tp_btf/signal_generate")
int BPF_PROG(on_signal, int signal, struct kernel_siginfo *info, struct task_struct *task,
             int group, int result) {
  if (signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH ||
      result != DELIVERED)
    return 0;
  struct thread *t = leader_of(task);
  if (!t) return 0;
  t->killer_signal = signal;
  t->killer_pid = 0;
  t->killer[0] = 0;
  if (info == SEND_SIG_PRIV) return 0;
  int code = 0;
  if (info) bpf_probe_read_kernel(&code, sizeof(code), &info->si_code);
  if (code > 0) return 0;  // SI_KERNEL, or a fault of its own
  t->killer_pid = bpf_get_current_pid_tgid() >> 32;
  BPF_CORE_READ_INTO(&t->killer, current_task(), group_leader, comm);
  return 0;
}

#define CGROUP_DEPTH 12
#define PAGE_COUNTER_SLACK 64 /* pages: usage is charged in batches */

/* The memory cgroup over `task` that is full, the nearest one. */
static __always_inline void find_full_cgroup(struct task_struct *task, struct oom_event *event) {
  int id = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
  struct css_set *set = BPF_CORE_READ(task, cgroups);
  struct cgroup_subsys_state *css = NULL;
  bpf_probe_read_kernel(&css, sizeof(css), &set->subsys[id]);
  for (int i = 0; i < CGROUP_DEPTH && css; i++) {
    struct mem_cgroup *group = (void *)css - bpf_core_field_offset(struct mem_cgroup, css);
    u64 usage = BPF_CORE_READ(group, memory.usage.counter);
    u64 max = BPF_CORE_READ(group, memory.max);
    if (usage + PAGE_COUNTER_SLACK >= max) {
      event->cgroup = BPF_CORE_READ(css, cgroup, kn, id);
      event->limit = max;
      return;
    }
    css = BPF_CORE_READ(css, parent);
  }
}

static __always_inline int oom_kill(struct task_struct *task, u32 pid) {
  struct oom_event event = {};
  event.event.type = EVENT_OOM_KILL;
  event.event.size = sizeof(event);
  event.pid = pid;
  event.at = bpf_ktime_get_ns();
  if (task) {
    BPF_CORE_READ_INTO(&event.name, task, group_leader, comm);
    if (bpf_core_type_exists(struct mem_cgroup)) find_full_cgroup(task, &event);
  }
  if (!send(&event, sizeof(event))) count_loss(LOST_EVENTS);
  return 0;
}

// 72ba14deb40a ("mm: update mark_victim tracepoints fields"), 6.9: the task; before: its pid.
SEC("tp_btf/mark_victim")
int BPF_PROG(on_oom_task, struct task_struct *task) {
  if (!thread_of(task)) return 0;
  return oom_kill(task, task->tgid);
}

SEC("tp_btf/mark_victim")
int BPF_PROG(on_oom_pid, int pid) { return oom_kill(NULL, pid); }

char LICENSE[] SEC("license") = "Dual BSD/GPL";
