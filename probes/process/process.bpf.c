// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The processes of a job: what they ran, how they ended, and who ended them.
#include "bpf/oom.bpf.h"
#include "bpf/processes.bpf.h"

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task) {
  struct thread *t = member(task);
  if (!t) return 0;
  tell_exec(t, task, TELLER_EXEC);
  return 0;
}

// The last thread of a process exits.
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task) {
  struct thread *t = member(task);
  if (!t) return 0;
  if (t->exec_id != task->self_exec_id) {
    count_made_up(MADE_UP_EXEC);
    tell_exec(t, task, TELLER_EXIT);
  }
  if (task->signal->live.counter != 0) return 0;
  if (!has_task_storage) forget_hints(task);
  tell_end(t, leader_of(task), task);
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

/* `within`: a task of the cgroup whose limit was hit. */
static __always_inline int oom_kill(struct oom_event *event, u32 pid, struct task_struct *within) {
  event->event.type = EVENT_OOM_KILL;
  event->event.size = sizeof(*event);
  event->pid = pid;
  event->at = bpf_ktime_get_ns();
  find_full_cgroup(within, &event->cgroup, &event->limit);
  if (!send(event, sizeof(*event))) count_loss(LOST_EVENTS);
  return 0;
}

// 72ba14deb40a ("mm: update mark_victim tracepoints fields"), 6.9: the task; before: its pid.
SEC("tp_btf/mark_victim")
int BPF_PROG(on_oom_task, struct task_struct *task) {
  if (!thread_of(task)) return 0;
  struct oom_event event = {};
  BPF_CORE_READ_INTO(&event.name, task, group_leader, comm);
  return oom_kill(&event, task->tgid, task);
}

/* Whether that is one of ours, user space will know. The current task is the one that found no
 * memory: in the same cgroup as its victim, or the machine had none. */
SEC("tp_btf/mark_victim")
int BPF_PROG(on_oom_pid, int pid) {
  struct oom_event event = {};
  return oom_kill(&event, pid, current_task());
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
