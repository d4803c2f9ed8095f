// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Values for each CPU: shown one by one or added, with and without other labels; lone numbers; an
// odd key.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#define MAP(kind, name, entries, key)  \
  struct {                             \
    __uint(type, BPF_MAP_TYPE_##kind); \
    __uint(max_entries, entries);      \
    __uint(key_size, key);             \
    __type(value, __u64);              \
  } name SEC(".maps")

MAP(PERCPU_HASH, ticks_by_cpu, 64, 4);
MAP(PERCPU_ARRAY, wakeups_total, 1, 4);
MAP(PERCPU_ARRAY, cpu_seconds, 1, 4);
MAP(PERCPU_ARRAY, softirqs_total, 10, 4);
MAP(LRU_PERCPU_HASH, recent_total, 64, 8);
MAP(ARRAY, boots_total, 1, 4);
MAP(HASH, of_a_cpu, 64, 6);
MAP(HASH, misfit_total, 64, 8);
MAP(PERCPU_HASH, runq_latency, 64, 8);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
