// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Values that are no plain counts, and events: of getpriority(0, N) of commands called
// `values_load`.
#include "jobscope.bpf.h"

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16);
  __type(key, u32);
  __type(value, s64);
} balance SEC(".maps");
COUNTER_MAP(spent_seconds_total, BPF_MAP_TYPE_PERCPU_ARRAY, u32, 1, 0);

struct {
  __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
  __uint(key_size, 4);
  __uint(value_size, 4);
} events_total SEC(".maps");

SEC("tracepoint/syscalls/sys_enter_getpriority")
int on_getpriority(struct {
  u64 head;
  long number;
  u64 which, who;
} * ctx) {
  char comm[16];
  bpf_get_current_comm(comm, sizeof(comm));
  if (bpf_strncmp(comm, 11, "values_load") != 0) return 0;
  u32 key = 7;
  set_value(&balance, &key, -(s64)ctx->who);
  increment_only(&spent_seconds_total, 1000000);
  u64 event[56] = {ctx->who % 3};
  bpf_perf_event_output(ctx, &events_total, BPF_F_CURRENT_CPU, event, sizeof(event));
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
