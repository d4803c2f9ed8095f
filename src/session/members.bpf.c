// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Who belongs to a job: children of members are members, from the moment they exist. Existing
// threads are adopted by the iterator, which also gives out what is known of the living.
#include "bpf/member.bpf.h"
#include "bpf/waits.bpf.h"

// Processes to adopt: pid of the process → job. Written by user space.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 65536);
  __type(key, u32);
  __type(value, u32);
} adoptions SEC(".maps");

__u32 adopted;  // threads adopted by the last walk

// Processes that become members at their next exec: pid → job. Written by user space.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 64);
  __type(key, u32);
  __type(value, u32);
} roots SEC(".maps");

// Without storage on tasks: what a new entry is filled with. Its values are as long as those of
// `threads`: user space sets their size.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct thread);
} blank SEC(".maps");

// A zeroed record for a task that has none yet; NULL, and the loss is counted, if there is no room.
static __always_inline struct thread *new_thread(struct task_struct *task) {
  struct thread *t = NULL;
  if (has_task_storage) {
    t = bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
  } else {
    u32 zero = 0, tid = task->pid;
    struct thread *empty = bpf_map_lookup_elem(&blank, &zero);
    if (empty) bpf_map_update_elem(&threads, &tid, empty, BPF_ANY);
    t = bpf_map_lookup_elem(&threads, &tid);
  }
  if (!t) count_loss(LOST_THREADS);
  return t;
}

// The child has its parent's memory, and so the same futexes at the same addresses.
static __always_inline void inherit_hints(struct task_struct *child) {
  u32 parent = bpf_get_current_pid_tgid() >> 32;
  struct hints *from = has_task_storage ? hints_of(bpf_get_current_task_btf())
                                        : bpf_map_lookup_elem(&process_hints, &parent);
  if (!from) return;
  struct hints copy = *from;
  if (has_task_storage) {
    if (!bpf_task_storage_get(&process_hints, child, &copy, BPF_LOCAL_STORAGE_GET_F_CREATE))
      count_loss(LOST_THREADS);
    return;
  }
  u32 pid = child->pid;
  bpf_map_update_elem(&process_hints, &pid, &copy, BPF_ANY);
}

/* Not sched_process_fork: threads that the kernel makes for a process (io_uring's workers) are told
 * only here. In the context of the parent, before the child is first woken. */
SEC("tp_btf/task_newtask")
int BPF_PROG(on_fork, struct task_struct *child) {
  if (child->flags & PF_KTHREAD) return 0;
  struct thread *p = current_member();
  if (!p) return 0;
  struct thread *t = new_thread(child);
  if (!t) return 0;
  init_child(t, child, p);
  if (child->pid == child->tgid) inherit_hints(child);
  return 0;
}

// A thread that is not the first one of its process, and execs, takes the first one's id.
static __always_inline void move_thread(u32 from, u32 to) {
  if (from == to) return;
  struct thread *t = bpf_map_lookup_elem(&threads, &from);
  if (!t) return;
  bpf_map_update_elem(&threads, &to, t, BPF_ANY);
  bpf_map_delete_elem(&threads, &from);
}

static __always_inline int adopt_root(struct task_struct *task) {
  u32 pid = task->tgid;
  u32 *job = bpf_map_lookup_elem(&roots, &pid);
  if (!job || thread_of(task)) return 0;
  struct thread *t = new_thread(task);
  if (!t) return 0;
  init_thread(t, task, *job);
  t->exec_id -= 1;  // so that this exec is told
  t->ppid = task->real_parent->tgid;
  t->state = THREAD_ON_CPU;
  t->cpu = bpf_get_smp_processor_id();
  t->node = bpf_get_numa_node_id();
  struct globals *g = globals();
  t->since = bpf_ktime_get_ns() - (g ? g->clock_offset : 0);
  barrier();
  t->start = t->since;  // from here on the switches count
  bpf_map_delete_elem(&roots, &pid);
  return 0;
}

// The root of a job that we start: a member from the moment it becomes the job's command.
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_root_exec, struct task_struct *task, int old_pid) {
  if (!has_task_storage) move_thread(old_pid, task->pid);
  return adopt_root(task);
}

// The kernel may leave out one program at a tracepoint (see bpf/processes.bpf.h), hardly both.
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_root_exec_again, struct task_struct *task) { return adopt_root(task); }

static __always_inline struct thread *adopt(struct task_struct *task) {
  u32 pid = task->tgid;
  u32 *job = bpf_map_lookup_elem(&adoptions, &pid);
  struct thread *leader = NULL;
  if (!job) {  // made for a member while its fellows were being adopted
    leader = leader_of(task);
    if (!leader) return NULL;
  }
  /* One that is being made is for on_fork(), one that has ended is for nobody. */
  if (task_state(task) & (TASK_NEW | TASK_DEAD)) return NULL;
  struct thread *t = new_thread(task);
  if (!t) return NULL;
  init_thread(t, task, job ? *job : leader->job);
  struct globals *g = globals();
  u64 now = bpf_ktime_get_ns() - (g ? g->clock_offset : 0);
  t->ppid = task->real_parent->tgid;
  t->attached = 1;
  if (task->on_cpu) {
    t->state = THREAD_ON_CPU;
    t->cpu = task->se.cfs_rq->rq->cpu;
  } else if (is_runnable(task, task_state(task))) {
    t->state = THREAD_QUEUED;
    t->reason = REASON_RUNQUEUE;
    t->delay = delay_of(task, true, now);
  } else {
    t->reason = wait_reason(t, task, task_state(task));
    t->wait.reason = t->reason;
    t->state = THREAD_BLOCKED;
  }
  __builtin_memset(t->parts, 0, sizeof(t->parts));
  t->since = now;
  barrier();
  t->start = now;  // from here on the switches count
  adopted += 1;
  return t;
}

// Attached for a moment at the start, so that the distance between the clocks is known before the
// first thread is watched.
SEC("tp_btf/sched_switch")
int BPF_PROG(on_any_switch, bool preempt, struct task_struct *prev) {
  struct globals *g = globals();
  if (!g) return 0;
  u64 now = rq_clock(prev);
  u64 offset = bpf_ktime_get_ns() - now;
  if (!g->clock_offset || offset < g->clock_offset) g->clock_offset = offset;
  u64 first = bpf_ktime_get_ns();
  u64 cost = bpf_ktime_get_ns() - first;
  if (!g->clock_cost || cost < g->clock_cost) g->clock_cost = cost;
  g->clock_seen = now;
  return 0;
}

SEC("iter/task")
int walk(struct bpf_iter__task *ctx) {
  struct task_struct *task = ctx->task;
  if (!task || task->flags & PF_KTHREAD) return 0;
  struct thread *t = thread_of(task);
  if (!t) t = adopt(task);
  if (!t || t->state == THREAD_ENDED || !t->start) return 0;

  struct globals *g = globals();
  u64 now = bpf_ktime_get_ns() - (g ? g->clock_offset : 0);
  t->now = now;
  t->queued = t->state == THREAD_ON_CPU ? 0 : queued_until(t, task, now);
  copy_ledger(t, task);
  bpf_seq_write(ctx->meta->seq, t, sizeof(*t) + nr_cpus * sizeof(u64));
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
