/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* All that a program of one's own has to include: the kernel's types (bpf/kernel_types.h), libbpf's
 * helpers, counters and histograms in the form that NAME.yaml expects.
 *
 *     #define LOST my_program_lost_total   // optional: a counter of what found no room in a map
 *     #include "jobscope.bpf.h"
 *
 * A map is shown as the metric of its name; values are u64. See docs/programs.md. */
#pragma once

#ifdef __VMLINUX_H__ /* vmlinux.h is included already: its types */
#include <stdbool.h>
#ifndef NULL
#define NULL ((void *)0)
#endif
#else
#define __VMLINUX_H__ /* bpf_tracing.h: registers have the kernel's names, as in kernel_types.h */
#include <linux/bpf.h>
#include "bpf/kernel_types.h"
#endif

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* ---- counters ---- */

/* Preallocated maps (flags 0) may be written everywhere. BPF_F_NO_PREALLOC saves memory where few
 * of many entries are used, but not at a switch, in an interrupt or in an NMI: there a burst of new
 * keys finds no memory, and is lost. */
#define COUNTER_MAP(name, map_type, key_type, entries, flags) \
  struct {                                                    \
    __uint(type, map_type);                                   \
    __uint(map_flags, flags);                                 \
    __uint(max_entries, entries);                             \
    __type(key, key_type);                                    \
    __type(value, u64);                                       \
  } name SEC(".maps")

#ifdef LOST
COUNTER_MAP(LOST, BPF_MAP_TYPE_PERCPU_ARRAY, u32, 1, 0);
#endif

/* An event that could not be counted where it belongs. */
static __always_inline void count_lost(void) {
#ifdef LOST
  u32 zero = 0;
  u64 *lost = bpf_map_lookup_elem(&LOST, &zero);
  if (lost) __sync_fetch_and_add(lost, 1);
#endif
}

/* Rounded to the nearest, so that a sum of many is not too small. */
static __always_inline u64 microseconds(u64 ns) { return (ns + 500) / 1000; }

static const u64 none_yet = 0;

/* The value of a key, made if it is new; NULL, and counted as lost, if the map is full. */
static __always_inline u64 *value_of(void *map, const void *key) {
  u64 *value = bpf_map_lookup_elem(map, key);
  if (value) return value;
  bpf_map_update_elem(map, key, &none_yet, BPF_NOEXIST);
  value = bpf_map_lookup_elem(map, key); /* or another CPU was faster */
  if (!value) count_lost();
  return value;
}

/* Atomic in per-CPU maps, too: a program may interrupt another one on the same CPU. There it costs
 * some 5 ns, since no other CPU has the cache line. */
static __always_inline void increment(void *map, const void *key, u64 by) {
  u64 *value = value_of(map, key);
  if (value) __sync_fetch_and_add(value, by);
}

/* A counter without labels: the one of key 0. */
static __always_inline void increment_only(void *map, u64 by) {
  u32 zero = 0;
  increment(map, &zero, by);
}

/* A gauge. */
static __always_inline void set_value(void *map, const void *key, u64 value) {
  if (bpf_map_update_elem(map, key, &value, BPF_ANY)) count_lost();
}

/* ---- histograms ----
 * The last member of the key is the bucket. Bucket number k holds what is at most le(k) and more
 * than le(k - 1): le is 2^k for exp2, 0 and 2^(k-1) for exp2zero, k for linear. The number is held
 * within what NAME.yaml names (0 … max) before anything is counted, so the last bucket has
 * all that is larger: `_count` is its cumulative value. The sum stands in number max + 1. */

static __always_inline u32 floor_log2(u64 value) {
  u32 slot = 0;
#pragma unroll
  for (int shift = 32; shift; shift >>= 1) {
    if (value >> shift) {
      value >>= shift;
      slot += shift;
    }
  }
  return slot;
}

/* The least k with value <= 2^k. */
static __always_inline u32 ceil_log2(u64 value) {
  return value > 1 ? floor_log2(value - 1) + 1 : 0;
}

static __always_inline u32 exp2_bucket(u64 value) { return ceil_log2(value); }
static __always_inline u32 exp2zero_bucket(u64 value) { return value ? ceil_log2(value) + 1 : 0; }
static __always_inline u64 linear_bucket(u64 value, u64 width) {
  return value / width + (value % width != 0);
}

/* Counts `value` in bucket number `number`. `key` is a variable, a struct with a member `bucket`;
 * it is changed. */
#define increment_bucket(map, key, number, value, max) \
  do {                                                 \
    u64 number_ = (number);                            \
    u64 value_ = (value);                              \
    (key).bucket = number_ > (max) ? (max) : number_;  \
    increment(map, &(key), 1);                         \
    (key).bucket = (max) + 1;                          \
    if (value_) increment(map, &(key), value_);        \
  } while (0)

#define increment_exp2(map, key, value, max) \
  increment_bucket(map, key, exp2_bucket(value), value, max)
#define increment_exp2zero(map, key, value, max) \
  increment_bucket(map, key, exp2zero_bucket(value), value, max)
/* The sum is in units of `width`, as the buckets are; bucket_multiplier makes them what they mean.
 */
#define increment_linear(map, key, value, width, max) \
  increment_bucket(map, key, linear_bucket(value, width), (value) / (width), max)

/* The key of a histogram without labels. */
struct bucket_key {
  u32 bucket;
};

/* ---- whose it is: for labels with `job: tgid` and `job: cgroup_id` ---- */

static __always_inline u32 current_tgid(void) { return bpf_get_current_pid_tgid() >> 32; }

/* In the unified hierarchy (cgroup v2), whose root it is where only v1 is used. */
static __always_inline u64 current_cgroup(void) { return bpf_get_current_cgroup_id(); }

static __always_inline u64 cgroup_of(struct task_struct *task) {
  return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sock_cgroup_data___since_5_15 {
  struct cgroup *cgroup; /* with CONFIG_SOCK_CGROUP_DATA */
};
struct sock___since_5_15 {
  struct sock_cgroup_data___since_5_15 sk_cgrp_data;
};
struct sock_cgroup_data___before_5_15 {
  u64 val; /* a pointer, unless its lowest bits are set */
};
struct sock___before_5_15 {
  struct sock_cgroup_data___before_5_15 sk_cgrp_data;
};
#pragma clang attribute pop

/* The cgroup that a socket was made in; 0: not known. */
static __always_inline u64 cgroup_of_socket(const struct sock *sk) {
  const struct sock___since_5_15 *newer = (const void *)sk; /* 8520e224f547 */
  const struct sock___before_5_15 *older = (const void *)sk;
  if (bpf_core_field_exists(newer->sk_cgrp_data.cgroup))
    return BPF_CORE_READ(newer, sk_cgrp_data.cgroup, kn, id);
  if (!bpf_core_field_exists(older->sk_cgrp_data.val)) return 0;
  u64 value = BPF_CORE_READ(older, sk_cgrp_data.val);
  return value & 3 ? 0 : BPF_CORE_READ((struct cgroup *)value, kn, id);
}

/* ---- times from a begin to an end ----
 * STARTS_MAP for what surely ends: when it is full, the next are counted as lost. Where an end may
 * never come (a function that throws an exception), STARTS_LRU_MAP: the oldest make room, unseen.
 */

#define STARTS_OF_TYPE(name, map_type, key_type, entries) \
  struct {                                                \
    __uint(type, map_type);                               \
    __uint(max_entries, entries);                         \
    __type(key, key_type);                                \
    __type(value, u64);                                   \
  } name SEC(".maps")
#define STARTS_MAP(name, key_type, entries) \
  STARTS_OF_TYPE(name, BPF_MAP_TYPE_HASH, key_type, entries)
#define STARTS_LRU_MAP(name, key_type, entries) \
  STARTS_OF_TYPE(name, BPF_MAP_TYPE_LRU_HASH, key_type, entries)

static __always_inline void begin_time(void *starts, const void *key) {
  u64 now = bpf_ktime_get_ns();
  if (bpf_map_update_elem(starts, key, &now, BPF_ANY)) count_lost();
}

/* True, and the time since begin_time(), if that was seen. */
static __always_inline bool end_time(void *starts, const void *key, u64 *ns) {
  u64 *start = bpf_map_lookup_elem(starts, key);
  if (!start) return false;
  u64 began = *start;
  bpf_map_delete_elem(starts, key);
  u64 now = bpf_ktime_get_ns();
  *ns = now > began ? now - began : 0;
  return true;
}

/* ---- tracepoints whose arguments changed ----
 *     typedef void (*btf_trace_NAME___WHY)(void *, its arguments …);
 *     if (bpf_core_type_exists(btf_trace_NAME___WHY)) …
 * is true where the kernel's tracepoint NAME has just these. In SEC("raw_tp/NAME") the arguments
 * are read by number; not by an index, which clang would make into arithmetic that the kernel
 * refuses. */
#define TP_ARG(ctx, n)                                                                          \
  ({                                                                                            \
    u64 argument_;                                                                              \
    asm volatile("%0 = *(u64 *)(%1 + %2)" : "=r"(argument_) : "r"(ctx), "i"((n)*8) : "memory"); \
    argument_;                                                                                  \
  })

/* ---- devices and files ---- */

/* What the decoder `majorminor` reads: the kernel's new_encode_dev(). */
static __always_inline u32 device_number(u32 major, u32 minor) {
  return (minor & 0xff) | major << 8 | (minor & ~0xffu) << 12;
}
static __always_inline u32 device_number_of(u32 dev /* dev_t */) {
  return device_number(dev >> 20, dev & 0xfffff);
}

/* The open file behind a descriptor of the current process; NULL if there is none. */
static __always_inline struct file *file_of_descriptor(u32 fd) {
  struct task_struct *task = (struct task_struct *)bpf_get_current_task();
  struct fdtable *table = BPF_CORE_READ(task, files, fdt);
  if (!table || fd >= BPF_CORE_READ(table, max_fds)) return NULL;
  struct file **files = BPF_CORE_READ(table, fd);
  struct file *file = NULL;
  bpf_probe_read_kernel(&file, sizeof(file), files + fd);
  return file;
}
