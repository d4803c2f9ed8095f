/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What all BPF objects of a session share: the threads of the jobs, the ring of rare events and the
 * counters of what was lost. Of the maps declared in bpf/, those that src/bpf/shared_maps.cc names
 * exist once per session: the first object that is loaded creates one, the others are given it. */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/kernel_types.h"
#include "bpf/thread.h"

#define EVENTS_SIZE (4 << 20)

/* What the kernel has; set before load (src/bpf/skeleton.h). Where it lacks storage on tasks
 * (in tracing programs: a10787e6d58c, 5.13), the same maps are hashes by thread and by process id.
 * That kernel does not tell the type of the current task either, so its fields are read by helper.
 */
const volatile __u8 has_task_storage = 1;
const volatile __u8 has_task_pt_regs = 1; /* dd6e10fbd9fb, 5.15 */
const volatile __u8 has_sched_info = 1;   /* CONFIG_SCHED_INFO */

struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct thread); /* and the cores: user space sets the real size */
} threads SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct hints);
} process_hints SEC(".maps"); /* on the leader of each process */

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, EVENTS_SIZE);
} events SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, LOSSES);
  __type(key, u32);
  __type(value, u64);
} losses SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct globals);
} session_globals SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, COSTS);
  __type(key, u32);
  __type(value, struct cost);
} costs SEC(".maps");

/* Length of the tail of struct thread. */
const volatile __u32 nr_cpus = 1;

static __always_inline struct thread *thread_of(struct task_struct *task) {
  if (has_task_storage) return bpf_task_storage_get(&threads, task, NULL, 0);
  u32 tid = BPF_CORE_READ(task, pid);
  return bpf_map_lookup_elem(&threads, &tid);
}

static __always_inline struct thread *member(struct task_struct *task) {
  if (task->flags & PF_KTHREAD) return NULL;
  return thread_of(task);
}

/* The record of the process's first thread. */
static __always_inline struct thread *leader_of(struct task_struct *task) {
  if (has_task_storage) return bpf_task_storage_get(&threads, task->group_leader, NULL, 0);
  u32 tid = task->tgid;
  return bpf_map_lookup_elem(&threads, &tid);
}

/* Read its fields by BPF_CORE_READ. */
static __always_inline struct task_struct *current_task(void) {
  if (has_task_storage) return bpf_get_current_task_btf();
  return (struct task_struct *)bpf_get_current_task();
}

static __always_inline struct thread *current_member(void) {
  if (has_task_storage) return member(bpf_get_current_task_btf());
  u32 tid = bpf_get_current_pid_tgid();
  return bpf_map_lookup_elem(&threads, &tid);
}

static __always_inline struct hints *hints_of(struct task_struct *task) {
  if (has_task_storage) return bpf_task_storage_get(&process_hints, task->group_leader, NULL, 0);
  u32 pid = task->tgid;
  return bpf_map_lookup_elem(&process_hints, &pid);
}

static __always_inline void forget_hints(struct task_struct *task) {
  if (has_task_storage) {
    bpf_task_storage_delete(&process_hints, task);
    return;
  }
  u32 pid = task->tgid;
  bpf_map_delete_elem(&process_hints, &pid);
}

/* The registers with which a task entered the kernel: at the top of its kernel stack. Read them by
 * REG(). */
static __always_inline struct pt_regs *user_regs(struct task_struct *task) {
  if (has_task_pt_regs) return (struct pt_regs *)bpf_task_pt_regs(task);
  return BPF_CORE_READ(task, stack) + THREAD_SIZE - bpf_core_type_size(struct pt_regs);
}
#define REG(regs, field) (has_task_pt_regs ? (regs)->field : BPF_CORE_READ(regs, field))

/* The kernel's own counts of a thread, as of now, and its name. */
static __always_inline void copy_ledger(struct thread *t, struct task_struct *task) {
  t->utime = task->utime;
  t->stime = task->stime;
  t->voluntary = task->nvcsw;
  t->involuntary = task->nivcsw;
  t->minor_faults = task->min_flt;
  t->major_faults = task->maj_flt;
  bpf_probe_read_kernel(t->name, sizeof(t->name), task->comm);
}

static __always_inline void count_loss(u32 which) {
  u64 *lost = bpf_map_lookup_elem(&losses, &which);
  if (lost) *lost += 1;
}

/* Sends a record; wakes the reader only if told to or when the ring fills, since it looks by itself
 * some times a second. Returns false if there was no room (the caller counts it). */
static __always_inline bool send_and(bool wake, void *record, u32 size) {
  wake = wake || bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > EVENTS_SIZE / 4;
  u64 flags = wake ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
  return bpf_ringbuf_output(&events, record, size, flags) == 0;
}

static __always_inline bool send(void *record, u32 size) { return send_and(false, record, size); }

/* The time, if this run of a program is to be timed, else 0. */
static __always_inline u64 cost_begin(u32 which) {
  struct cost *cost = bpf_map_lookup_elem(&costs, &which);
  if (!cost) return 0;
  if (cost->left) {
    cost->left -= 1;
    return 0;
  }
  cost->left = COST_EVERY - 1;
  return bpf_ktime_get_ns();
}

static __always_inline void cost_end(u32 which, u64 begin) {
  if (!begin) return;
  struct cost *cost = bpf_map_lookup_elem(&costs, &which);
  if (!cost) return;
  cost->timed += 1;
  cost->ns += bpf_ktime_get_ns() - begin;
}

static __always_inline struct globals *globals(void) {
  u32 zero = 0;
  return bpf_map_lookup_elem(&session_globals, &zero);
}

static __always_inline u32 log2_slot(u64 value) {
  u32 slot = 0;
  u32 high = value >> 32;
  u32 v = value;
  if (high) return HISTOGRAM_SLOTS - 1;
  u32 r;
  r = (v > 0xFFFF) << 4;
  v >>= r;
  slot |= r;
  r = (v > 0xFF) << 3;
  v >>= r;
  slot |= r;
  r = (v > 0xF) << 2;
  v >>= r;
  slot |= r;
  r = (v > 0x3) << 1;
  v >>= r;
  slot |= r;
  slot |= v >> 1;
  return slot;
}

/* Adds one value to a histogram that only this CPU writes. */
static __always_inline void histogram_add(struct histogram *h, u64 value) {
  u64 slot = log2_slot(value);
  /* A bound that 6.1's verifier sees and clang does not take away. */
  asm volatile("%0 &= %1" : "+r"(slot) : "i"(HISTOGRAM_SLOTS - 1));
  h->slots[slot] += 1;
  h->sum += value;
  if (value > h->max) h->max = value;
}
