// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The time identity: on CPU + waiting for a CPU + blocked, by reason = lifetime, for each thread.
#include "bpf/member.bpf.h"
#include "bpf/processes.bpf.h"
#include "bpf/waits.bpf.h"

const volatile __s64 preempt_count_from_rq = 0; /* x86: bytes; set before load */
const volatile __u8 may_allocate = 0;           /* memory may be had at a switch */

/* include/linux/preempt.h */
#define SOFTIRQ_OFFSET 0x00000100 /* serving one; more of SOFTIRQ_MASK is only "disabled" */
#define HARDIRQ_MASK 0x000f0000
#define NMI_MASK 0x00f00000

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1); /* by job; the number of jobs is set before load */
  __type(key, u32);
  __type(value, struct histogram);
} runqueues_us SEC(".maps");

/* User space puts an empty one in its place when it has filled (src/bpf/inner_map.h). */
struct wakers_map {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 4096);
  __type(key, struct waker_key);
  __type(value, struct waker_use);
} wakers SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, 1);
  __type(key, u32);
  __array(values, struct wakers_map);
} wakers_now SEC(".maps") = {.values = {[0] = &wakers}};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct unsent);
} unsents SEC(".maps");

#define RUNTIME_INF (~0ull)
#define QUOTA_PERIOD 10000000ull /* ns between two looks for a quota */
#define GROUP_DEPTH 8

/* Time that the CPUs of the task's groups were throttled so far; *any = a group has a quota. */
static __always_inline u64 throttled_time(struct task_struct *task, u8 *any) {
  u64 time = 0;
  *any = 0;
  struct task_group *group = task->sched_task_group;
  if (!bpf_core_field_exists(group->cfs_bandwidth.quota)) return 0;
  for (int i = 0; i < GROUP_DEPTH && group; i++) {
    if (group->cfs_bandwidth.quota != RUNTIME_INF) {
      *any = 1;
      time += group->cfs_bandwidth.throttled_time;
    }
    group = group->parent;
  }
  return time;
}

static __always_inline bool same_wait(const struct wait_key *a, const struct wait_key *b) {
  return a->reason == b->reason && a->detail == b->detail && a->id[0] == b->id[0] &&
         a->id[1] == b->id[1] && a->main_thread == b->main_thread;
}

static __noinline int write_named(struct named_wait *named) {
  if (!named || !named->use.count) return 0;
  u32 zero = 0;
  void *map = bpf_map_lookup_elem(&waits_now, &zero);
  if (!map) return 0;
  struct wait_key key = named->key;
  struct wait_use *use = bpf_map_lookup_elem(map, &key);
  if (!use) {
    const struct wait_use none = {};
    struct globals *g = globals();
    if (!bpf_map_update_elem(map, &key, &none, BPF_NOEXIST) && g)
      __sync_fetch_and_add(&g->wait_entries, 1);
    use = bpf_map_lookup_elem(map, &key); /* or another CPU was faster */
  }
  if (!use) {
    count_loss(LOST_WAITS);
    return 0;
  }
  __sync_fetch_and_add(&use->ns, named->use.ns);
  __sync_fetch_and_add(&use->count, named->use.count);
  return 0;
}

static __always_inline void charge_waker(struct thread *t, u64 blocked) {
  struct waker_key key = {};
  key.process = t->process;
  key.pid = t->pid;
  key.tid = t->waker_tid;
  key.waker_pid = t->waker_pid;
  key.reason = t->reason;
  t->waker_tid = 0;
  u32 zero = 0;
  void *map = bpf_map_lookup_elem(&wakers_now, &zero);
  if (!map) return;
  struct waker_use *use = bpf_map_lookup_elem(map, &key);
  if (!use) {
    struct waker_use none = {};
    __builtin_memcpy(none.name, t->waker, sizeof(none.name));
    struct globals *g = globals();
    if (!bpf_map_update_elem(map, &key, &none, BPF_NOEXIST) && g)
      __sync_fetch_and_add(&g->waker_entries, 1);
    use = bpf_map_lookup_elem(map, &key); /* or another CPU was faster */
  }
  if (!use) {
    count_loss(LOST_WAKERS);
    return;
  }
  __sync_fetch_and_add(&use->ns, blocked);
  __sync_fetch_and_add(&use->count, 1);
}

/* Remembers what a wait was for. */
static __always_inline void name_wait(struct thread *t, u64 blocked) {
  if (t->waker_tid) charge_waker(t, blocked);
  struct named_wait *named = &t->named[0];
  if (!same_wait(&t->wait, &named->key)) {
    named = &t->named[1];
    if (!same_wait(&t->wait, &named->key)) {
      if (!t->oldest_named) named = &t->named[0];
      write_named(named);
      named->key = t->wait;
      named->use.ns = 0;
      named->use.count = 0;
    }
    t->oldest_named = named == &t->named[0];
  } else {
    t->oldest_named = 1;
  }
  named->use.ns += blocked;
  named->use.count += 1;
}

/* Time on the CPU up to `now`. sum_exec_runtime leaves out interrupts and what a hypervisor took:
 * the difference is `stolen`. */
static __always_inline void charge_cpu(struct thread *t, u64 exec, u64 now) {
  u64 held = now - t->since;
  u64 ran = exec - t->ran;
  if (ran > held) ran = held;  // its figure is stale when the watch begins
  t->ran = exec;
  t->parts[REASON_CPU_USER] += ran;
  t->parts[REASON_STOLEN] += held - ran;
  u64 *cores = (u64 *)(t + 1);
  u32 cpu = t->cpu;
  if (cpu < nr_cpus) cores[cpu] += ran;
  t->since = now;
}

/* It came on a CPU at `now`, after having been runnable for `queued` of the time away. */
static __always_inline void arrive(struct thread *t, struct task_struct *task, u64 now,
                                   u64 queued) {
  u64 since = t->since;
  bool first = !t->start;
  if (first) {                             /* it was born when it was first queued */
    if (t->state != THREAD_QUEUED) return; /* not born: being adopted at this moment */
    since = now > queued ? now - queued : now;
    t->start = since;
  }
  if (now < since) now = since;
  u64 away = now - since;
  if (t->state == THREAD_QUEUED || queued > away) queued = away;
  u64 throttled = 0;
  if (t->has_quota && queued && !first) {
    u8 any;
    throttled = throttled_time(task, &any) - t->throttled;
    if (throttled > queued) throttled = queued;
    t->parts[REASON_THROTTLED] += throttled;
  }
  t->parts[REASON_RUNQUEUE] += queued - throttled;
  u64 blocked = away - queued; /* if it was not, nothing is left, unless we did not see it leave */
  bool waited = t->state == THREAD_BLOCKED;
  t->parts[waited && t->reason < REASON_COUNT ? t->reason : REASON_OTHER] += blocked;
  t->since = now; /* soon after its parts: until then a copy is torn */
  t->state = THREAD_ON_CPU;
  if (t->yielded) t->yield_queued += queued - throttled;
  t->yielded = 0;
  if (waited) name_wait(t, blocked);

  u32 cpu = bpf_get_smp_processor_id();
  if (cpu != t->cpu) {
    u32 node = bpf_get_numa_node_id();
    if (t->cpu != (u32)-1) {
      t->migrations += 1;
      if (node != t->node && t->node != (u32)-1) t->node_moves += 1;
    }
    t->cpu = cpu;
    t->node = node;
  }
  u32 job = t->job;
  struct histogram *j = bpf_map_lookup_elem(&runqueues_us, &job);
  if (j) histogram_add(j, (queued - throttled) / 1000);
}

static __always_inline void keep_unsent(struct thread *t) {
  count_loss(LOST_THREAD_RECORDS);
  u32 zero = 0;
  struct unsent *sum = bpf_map_lookup_elem(&unsents, &zero);
  if (!sum) return;
  sum->threads += 1;
  for (int i = 0; i < REASON_COUNT; i++) sum->parts[i] += t->parts[i];
}

static __always_inline void end_thread(struct thread *t, struct task_struct *task) {
  if (t->wait.main_thread && !t->end_told && task->signal->live.counter == 0) {
    count_made_up(MADE_UP_EXIT);
    tell_end(t, t, task);
  }
  t->state = THREAD_ENDED;
  copy_ledger(t, task);
  u32 size = sizeof(*t) + nr_cpus * sizeof(u64);
  t->event.type = EVENT_THREAD_END;
  t->event.size = size;
  if (!send(t, size)) keep_unsent(t);
  struct globals *g = globals();
  if (g) __sync_fetch_and_add(&g->threads, -1); /* after the record: at 0 all have been sent */
  if (has_task_storage) return;                 /* that goes with the task */
  u32 tid = task->pid;
  bpf_map_delete_elem(&threads, &tid);
}

/* Unless it is still in that call: then it is to be told in time. */
static __noinline void tell_missed_exec(struct thread *t, struct task_struct *task) {
  struct pt_regs *regs = user_regs(task);
  long call = REGS_SYSCALL(regs);
  if (call == __NR_execve || call == __NR_execveat || is_compat_call(task)) return;
  count_made_up(MADE_UP_EXEC);
  tell_exec(t, task, TELLER_SWITCH);
}

static __always_inline void leave(struct thread *t, struct task_struct *task, bool preempt) {
  u64 now = rq_clock(task);
  /* Its arrival was not seen: it was being attached, or this program did not run then. Some kernels
   * run no BPF program while certain tasks, like a guarded init, are current. */
  if (t->state != THREAD_ON_CPU) {
    u64 arrival = last_arrival(t, task, now);
    arrive(t, task, arrival, queued_until(t, task, arrival));
  }
  if (!t->start) return;  // being adopted at this moment
  if (now < t->since) now = t->since;
  charge_cpu(t, task->se.sum_exec_runtime, now);
  if (t->exec_id != task->self_exec_id) tell_missed_exec(t, task);
  long state = task_state(task);
  t->delay = delay_of(task, preempt || state == 0, now);
  if (t->has_quota || now - t->quota_checked > QUOTA_PERIOD) {
    t->quota_checked = now;
    t->throttled = throttled_time(task, &t->has_quota);
  }
  if (preempt || state == 0) {
    t->state = THREAD_QUEUED;
    t->reason = REASON_RUNQUEUE;
    if (!preempt) {
      struct pt_regs *regs = user_regs(task);
      t->yielded = REGS_SYSCALL(regs) == __NR_sched_yield;
      t->yields += t->yielded;
    }
    return;
  }
  if (state & TASK_DEAD) {
    end_thread(t, task);
    return;
  }
  t->reason = wait_reason(t, task, state);
  t->wait.reason = t->reason;
  t->io_inode = 0;
  t->state = THREAD_BLOCKED;
  compare_clocks(now);
}

static __always_inline void enter(struct thread *t, struct task_struct *task) {
  u64 now = rq_clock(task);
  arrive(t, task, now, queued_until(t, task, now));
}

/* A child of a member whose birth was missed (see bpf/processes.bpf.h) runs for the first time. It
 * gets no hints: its image is looked at when it execs. Not that of a process that
 * has ended since, nor one that was made its maker's sibling (CLONE_PARENT). */
static __always_inline struct thread *adopt_newborn(struct task_struct *task) {
  if (!may_allocate || !has_task_storage || task->flags & PF_KTHREAD) return NULL;
  bool process = task->pid == task->tgid;
  struct thread *parent = thread_of(process ? task->real_parent : task->group_leader);
  if (!parent) return NULL;
  struct thread *t = bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!t) {
    count_loss(LOST_THREADS);
    return NULL;
  }
  count_made_up(MADE_UP_FORK);
  init_child(t, task, parent);
  return t;
}

/* As cost_begin(), but by the CPU's own count of switches, for here even a map is dear. The count
 * is scattered (by the golden ratio), so that no pattern of the job goes with it. */
static __always_inline u64 switch_cost_begin(struct task_struct *task) {
  u32 scattered = (u32)task->se.cfs_rq->rq->nr_switches * 0x9E3779B1u;
  return scattered < 0xFFFFFFFFu / COST_EVERY ? bpf_ktime_get_ns() : 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next) {
  u64 begin = switch_cost_begin(prev);
  struct thread *t = member(prev);
  if (t) leave(t, prev, preempt);
  t = member(next);
  if (!t && !next->se.sum_exec_runtime) t = adopt_newborn(next);
  if (t) enter(t, next);
  cost_end(COST_SWITCH, begin);
  return 0;
}

/* Only where there is no sched_info. The run queue's lock is held, its clock is fresh. */
static __always_inline int became_runnable(struct task_struct *task) {
  struct thread *t = member(task);
  if (t && t->state != THREAD_ON_CPU && !t->delay) t->delay = rq_clock(task);
  return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task) { return became_runnable(task); }

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_first_wakeup, struct task_struct *task) { return became_runnable(task); }

/* Waits that another thread ends, by a call of its own. */
static __always_inline bool ended_by_thread(u8 reason) {
  return reason == REASON_POLL || reason == REASON_PIPE || reason == REASON_UNIX_SOCKET ||
         reason == REASON_FUTEX || reason == REASON_GIL || reason == REASON_BARRIER;
}

/* True in an interrupt: the current task is a bystander then. x86 keeps its preempt_count in a
 * per-CPU variable without an address for BPF; its distance from the CPU's struct rq is known. */
static __always_inline bool in_interrupt(struct task_struct *current) {
#if defined(__TARGET_ARCH_x86)
  u32 count = 0;
  bpf_probe_read_kernel(&count, sizeof(count),
                        (void *)BPF_CORE_READ(current, se.cfs_rq, rq) + preempt_count_from_rq);
#else
  u32 count = BPF_CORE_READ(current, thread_info.preempt_count);
#endif
  return count & (HARDIRQ_MASK | NMI_MASK | SOFTIRQ_OFFSET);
}

static __always_inline void note_waker(struct task_struct *task) {
  struct thread *t = member(task);
  if (!t || t->state != THREAD_BLOCKED || !ended_by_thread(t->reason)) return;
  if (in_interrupt(current_task())) return;
  u64 waker = bpf_get_current_pid_tgid();
  t->waker_pid = waker >> 32;
  t->waker_tid = waker;
  bpf_get_current_comm(t->waker, sizeof(t->waker));
}

// Who ends the waits of main threads: "main waits for KernelThread_0", "for pt_data_worker".
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task) {
  u64 begin = cost_begin(COST_WAKING);
  if (task->pid == task->tgid) note_waker(task);
  cost_end(COST_WAKING, begin);
  return 0;
}

// A few times a second on each CPU: how much of the CPU time is spent in sched_yield.
SEC("perf_event")
int on_sample(void *ctx) {
  struct thread *t = current_member();
  if (!t) return 0;
  t->samples += 1;
  struct pt_regs *regs = user_regs(current_task());
  if (REGS_SYSCALL(regs) == __NR_sched_yield) t->yield_samples += 1;
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
