// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Processes: their birth, what they run, their end.
#include "src/trace/filter.bpf.h"

struct process_scratch {
  struct process_record record;
  char argv[TRACE_ARGV_MAX];
};

/* Each program has its own: one that is preempted while it fills it must not find it changed. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct process_scratch);
} exec_scratch SEC(".maps");

static __always_inline bool begin(struct process_record *record, u32 type, u32 size) {
  if (!describe_current(&record->head)) return false;
  record->head.event.type = type;
  record->head.event.size = size;
  record->head.at = bpf_ktime_get_ns();
  return true;
}

SEC("tp_btf/task_newtask")
int BPF_PROG(on_fork, struct task_struct *child) {
  if (child->flags & PF_KTHREAD || child->pid != child->tgid) return 0;
  struct process_record record = {};
  if (!begin(&record, TRACE_FORK, sizeof(record))) return 0;
  record.child = child->tgid;
  bpf_probe_read_kernel_str(record.child_comm, sizeof(record.child_comm), child->comm);
  tell(&record, sizeof(record));
  return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task) {
  u32 zero = 0;
  struct process_scratch *s = bpf_map_lookup_elem(&exec_scratch, &zero);
  struct mm_struct *mm = task->mm;
  if (!s || !mm) return 0;
  __builtin_memset(&s->record, 0, sizeof(s->record));
  if (!begin(&s->record, TRACE_EXEC, 0)) return 0;
  s->record.ppid = task->real_parent->tgid;
  u64 start = mm->arg_start;
  u64 length = mm->arg_end - start;
  s->record.argv_full = length;
  if (length >= TRACE_ARGV_MAX) length = TRACE_ARGV_MAX - 1;
  barrier_var(length); /* keep the bound in the register that the verifier looks at */
  length &= TRACE_ARGV_MAX - 1;
  if (bpf_probe_read_user(s->argv, length, (void *)start)) length = 0;
  s->record.argv_size = length;
  u32 size = sizeof(s->record) + length;
  s->record.head.event.size = size;
  if (size <= sizeof(*s)) tell(s, size);
  return 0;
}

/* Of all threads: those that are gone, the last one, and the first if that is another. */
static __always_inline u64 cpu_of(struct task_struct *task) {
  u64 ns = task->signal->sum_sched_runtime + task->se.sum_exec_runtime;
  if (task->pid != task->tgid) ns += task->group_leader->se.sum_exec_runtime;
  return ns;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task) {
  if (task->signal->live.counter != 0) return 0;
  struct process_record record = {};
  if (!begin(&record, TRACE_EXIT, sizeof(record))) return 0;
  BPF_CORE_READ_INTO(&record.head.comm, task, group_leader, comm);
  record.ppid = task->real_parent->tgid;
  // kernel/exit.c, wait_task_zombie(): the group's code, or else the leader's.
  record.status = task->signal->flags & SIGNAL_GROUP_EXIT ? task->signal->group_exit_code
                                                          : task->group_leader->exit_code;
  record.lifetime = record.head.at - task->group_leader->start_time;
  record.cpu_ns = cpu_of(task);
  tell(&record, sizeof(record));
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
