// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Soft interrupts: from the first raise to the start (latency), and from there to the end
// (service).
#include "jobscope.bpf.h"

#define KINDS 10
#define MAX_BUCKET 24

struct times {
  u64 raised;
  u64 entered;
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, KINDS);
  __type(key, u32);
  __type(value, struct times);
} times SEC(".maps");

struct kind_key {
  u32 kind;
  u32 bucket;
};

COUNTER_MAP(softirq_entry_latency_seconds, BPF_MAP_TYPE_PERCPU_HASH, struct kind_key, 512, 0);
COUNTER_MAP(softirq_service_seconds, BPF_MAP_TYPE_PERCPU_HASH, struct kind_key, 512, 0);

static __always_inline void count(void *map, u32 kind, u64 ns) {
  struct kind_key key = {.kind = kind};
  increment_exp2(map, key, microseconds(ns), MAX_BUCKET);
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(on_raise, unsigned int kind) {
  struct times *t = bpf_map_lookup_elem(&times, &kind);
  if (t && !t->raised) t->raised = bpf_ktime_get_ns();
  return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_entry, unsigned int kind) {
  struct times *t = bpf_map_lookup_elem(&times, &kind);
  if (!t) return 0;
  u64 now = bpf_ktime_get_ns();
  u64 raised = t->raised;
  t->raised = 0;
  t->entered = now;
  if (raised) count(&softirq_entry_latency_seconds, kind, now > raised ? now - raised : 0);
  return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_exit, unsigned int kind) {
  struct times *t = bpf_map_lookup_elem(&times, &kind);
  if (!t || !t->entered) return 0;
  u64 now = bpf_ktime_get_ns();
  u64 entered = t->entered;
  t->entered = 0;
  count(&softirq_service_seconds, kind, now > entered ? now - entered : 0);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
