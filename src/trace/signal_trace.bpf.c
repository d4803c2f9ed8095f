// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Signals when they are sent.
#include "src/trace/filter.bpf.h"

#define SEND_SIG_NOINFO ((struct kernel_siginfo *)0) /* kill(2) without more; by a process */
#define SEND_SIG_PRIV ((struct kernel_siginfo *)1)   /* the kernel's own; linux/sched/signal.h */

SEC("tp_btf/signal_generate")
int BPF_PROG(on_signal, int signal, struct kernel_siginfo *info, struct task_struct *task,
             int group, int result) {
  struct signal_record record = {};
  bool sender = describe_current(&record.head);
  record.target_pid = task->tgid;
  record.target_tid = task->pid;
  if (!sender) { /* then its target may be of interest */
    u32 verdict = verdict_of(record.target_pid);
    if (!passes(verdict) || !has_wanted_comm(task)) return 0;
    record.head.verdict = verdict;
    bpf_get_current_comm(record.head.comm, sizeof(record.head.comm));
    record.head.cpu = bpf_get_smp_processor_id();
  }
  record.head.event.type = TRACE_SIGNAL;
  record.head.event.size = sizeof(record);
  record.head.at = bpf_ktime_get_ns();
  bpf_probe_read_kernel_str(record.target_comm, sizeof(record.target_comm), task->comm);
  record.signal = signal;
  record.group = group;
  record.result = result;
  record.by_kernel = info == SEND_SIG_PRIV;
  if (info != SEND_SIG_NOINFO && info != SEND_SIG_PRIV) {
    bpf_probe_read_kernel(&record.code, sizeof(record.code), &info->si_code);
    record.by_kernel = record.code > 0; /* SI_KERNEL, a fault, a timer, a child's end */
  }
  tell(&record, sizeof(record));
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
