/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Whom a trace is about, decided in the kernel so that the others cost little: processes that user
 * space has judged, with their children, and a name. */
#pragma once

#include "bpf/session.bpf.h"
#include "src/trace/records.h"

/* Set before load. */
const volatile __u8 by_process = 0;       /* only those that `verdicts` lets pass */
const volatile __u8 pass_unknown = 0;     /* and those not judged yet: user space will see */
const volatile __u64 wanted_comm[2] = {}; /* of the thread or its process; zeros: any */

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 65536);
  __type(key, u32);
  __type(value, u32);
} verdicts SEC(".maps");

static __always_inline u32 verdict_of(u32 pid) {
  if (!by_process) return VERDICT_PASS;
  u32 *verdict = bpf_map_lookup_elem(&verdicts, &pid);
  return verdict ? *verdict : VERDICT_UNKNOWN;
}

static __always_inline bool passes(u32 verdict) {
  return verdict == VERDICT_PASS || (pass_unknown && verdict == VERDICT_UNKNOWN);
}

union comm {
  char text[16];
  u64 words[2];
};

static __always_inline bool is_wanted(const union comm *comm) {
  return comm->words[0] == wanted_comm[0] && comm->words[1] == wanted_comm[1];
}

/* The name of a task, or of its process, is the wanted one. */
static __always_inline bool has_wanted_comm(struct task_struct *task) {
  if (!wanted_comm[0]) return true;
  union comm comm = {};
  bpf_probe_read_kernel_str(comm.text, sizeof(comm.text), &task->comm);
  if (is_wanted(&comm)) return true;
  struct task_struct *leader = BPF_CORE_READ(task, group_leader);
  union comm of_process = {};
  bpf_probe_read_kernel_str(of_process.text, sizeof(of_process.text), &leader->comm);
  return is_wanted(&of_process);
}

/* Whether the current task is of interest, and what is known of it. The record is zeroed. */
static __always_inline bool describe_current(struct trace_head *head) {
  u64 id = bpf_get_current_pid_tgid();
  head->pid = id >> 32;
  head->tid = id;
  head->verdict = verdict_of(head->pid);
  if (!passes(head->verdict) || !has_wanted_comm(current_task())) return false;
  bpf_get_current_comm(head->comm, sizeof(head->comm));
  head->cpu = bpf_get_smp_processor_id();
  return true;
}

/* Sends a record; the ring wakes the reader when that has read all before. */
static __always_inline void tell(void *record, u32 size) {
  if (bpf_ringbuf_output(&events, record, size, 0)) count_loss(LOST_EVENTS);
}

static __always_inline void tell_new(u32 pid, u32 ppid) {
  struct new_process record = {};
  record.event.type = TRACE_NEW_PROCESS;
  record.event.size = sizeof(record);
  record.pid = pid;
  record.ppid = ppid;
  tell(&record, sizeof(record));
}

/* ---- children of those that pass, pass; set before load ---- */

const volatile __u8 tell_processes = 0; /* each new process and image is told: to be judged */

SEC("tp_btf/task_newtask")
int BPF_PROG(follow_fork, struct task_struct *child) {
  if (child->flags & PF_KTHREAD || child->pid != child->tgid) return 0;
  u32 parent = bpf_get_current_pid_tgid() >> 32, pid = child->tgid;
  if (by_process) {
    u32 *verdict = bpf_map_lookup_elem(&verdicts, &parent);
    u32 copy = verdict ? *verdict : VERDICT_UNKNOWN;
    if (copy && bpf_map_update_elem(&verdicts, &pid, &copy, BPF_ANY)) count_loss(LOST_THREADS);
  }
  if (tell_processes) tell_new(pid, parent);
  return 0;
}

/* A process that was ignored may become a job's by what it runs. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(follow_exec, struct task_struct *task) {
  u32 pid = task->tgid;
  if (by_process && pass_unknown) {
    u32 *verdict = bpf_map_lookup_elem(&verdicts, &pid);
    if (verdict && *verdict == VERDICT_PASS) return 0;
    if (verdict) bpf_map_delete_elem(&verdicts, &pid);
  }
  if (tell_processes) tell_new(pid, 0);
  return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(follow_exit, struct task_struct *task) {
  if (task->signal->live.counter != 0) return 0;
  u32 pid = task->tgid;
  bpf_map_delete_elem(&verdicts, &pid);
  return 0;
}
