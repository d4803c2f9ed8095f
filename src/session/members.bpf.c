// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Who belongs to a job: children of members are members, from the moment they exist. Existing
// threads are adopted by the iterator, which also gives out what is known of the living.
#include "bpf/clock.bpf.h"
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

static __always_inline void init_thread(struct thread *t, struct task_struct *task, u32 job) {
  struct globals *g = globals();
  if (g) __sync_fetch_and_add(&g->threads, 1);
  t->job = job;
  t->pid = task->tgid;
  t->tid = task->pid;
  t->process = task->group_leader->start_time;
  t->wait.process = t->process;
  t->wait.pid = t->pid;
  t->wait.main_thread = t->pid == t->tid;
  t->cpu = -1;
  t->node = -1;
  t->ran = task->se.sum_exec_runtime;
  t->delay = task->sched_info.run_delay;
}

/* Not sched_process_fork: threads that the kernel makes for a process (io_uring's workers) are told
 * only here. In the context of the parent, before the child is first woken. */
SEC("tp_btf/task_newtask")
int BPF_PROG(on_fork, struct task_struct *child) {
  struct task_struct *parent = bpf_get_current_task_btf();
  if (child->flags & PF_KTHREAD) return 0;
  struct thread *p = member(parent);
  if (!p) return 0;
  struct thread *t = bpf_task_storage_get(&threads, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!t) {
    count_loss(LOST_THREADS);
    return 0;
  }
  init_thread(t, child, p->job);
  bool process = child->pid == child->tgid;
  t->ppid = process ? p->pid : p->ppid;
  t->has_quota = p->has_quota;
  t->reason = REASON_OTHER;
  t->state = THREAD_QUEUED;
  if (!process) return 0;
  // The child has its parent's memory, and so the same futexes at the same addresses.
  struct hints *from = bpf_task_storage_get(&process_hints, parent->group_leader, NULL, 0);
  if (!from) return 0;
  struct hints copy = *from;
  struct hints *to =
      bpf_task_storage_get(&process_hints, child, &copy, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!to) count_loss(LOST_THREADS);
  return 0;
}

// The root of a job that we start: a member from the moment it becomes the job's command.
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task) {
  u32 pid = task->tgid;
  u32 *job = bpf_map_lookup_elem(&roots, &pid);
  if (!job || bpf_task_storage_get(&threads, task, NULL, 0)) return 0;
  struct thread *t = bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!t) {
    count_loss(LOST_THREADS);
    return 0;
  }
  init_thread(t, task, *job);
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

static __always_inline struct thread *adopt(struct task_struct *task) {
  u32 pid = task->tgid;
  u32 *job = bpf_map_lookup_elem(&adoptions, &pid);
  struct thread *leader = NULL;
  if (!job) {  // made for a member while its fellows were being adopted
    leader = bpf_task_storage_get(&threads, task->group_leader, NULL, 0);
    if (!leader) return NULL;
  }
  /* One that is being made is for on_fork(), one that has ended is for nobody. */
  if (task_state(task) & (TASK_NEW | TASK_DEAD)) return NULL;
  struct thread *t = bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!t) {
    count_loss(LOST_THREADS);
    return NULL;
  }
  init_thread(t, task, job ? *job : leader->job);
  struct globals *g = globals();
  u64 now = bpf_ktime_get_ns() - (g ? g->clock_offset : 0);
  t->ppid = task->real_parent->tgid;
  t->attached = 1;
  if (task->on_cpu) {
    t->state = THREAD_ON_CPU;
    t->cpu = task->se.cfs_rq->rq->cpu;
  } else if (task->sched_info.last_queued) {
    t->state = THREAD_QUEUED;
    t->reason = REASON_RUNQUEUE;
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
  struct thread *t = bpf_task_storage_get(&threads, task, NULL, 0);
  if (!t) t = adopt(task);
  if (!t || t->state == THREAD_ENDED || !t->start) return 0;

  struct globals *g = globals();
  u64 now = bpf_ktime_get_ns() - (g ? g->clock_offset : 0);
  u64 queued = 0;
  u64 last_queued = task->sched_info.last_queued;
  if (t->state != THREAD_ON_CPU && last_queued) {
    queued = task->sched_info.run_delay - t->delay;
    if (last_queued < now) queued += now - last_queued;
  }
  t->now = now;
  t->queued = queued;
  copy_ledger(t, task);
  bpf_seq_write(ctx->meta->seq, t, sizeof(*t) + nr_cpus * sizeof(u64));
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
