// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A span for each getpriority(0, N) of commands called `spans_load`: from now on, for N
// microseconds.
#include "jobscope.bpf.h"

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 18);
} calls SEC(".maps");

struct span {
  u8 trace_id[16], span_id[8], parent_span_id[8];
  u64 span_monotonic_timestamp_ns, span_duration_ns;
  char span_name[8];
  u32 number, pad;
};

SEC("tracepoint/syscalls/sys_enter_getpriority")
int on_getpriority(struct {
  u64 head;
  long number;
  u64 which, who;
} * ctx) {
  char comm[16];
  bpf_get_current_comm(comm, sizeof(comm));
  if (bpf_strncmp(comm, 10, "spans_load") != 0) return 0;
  struct span *span = bpf_ringbuf_reserve(&calls, sizeof(*span), 0);
  if (!span) return 0;
  __builtin_memset(span, 0, sizeof(*span));
  u32 number = ctx->who;
  span->trace_id[0] = 0xab;
  span->trace_id[15] = number;
  span->span_id[7] = number + 1;
  if (number % 2) span->parent_span_id[7] = 1;
  span->span_monotonic_timestamp_ns = bpf_ktime_get_ns();
  span->span_duration_ns = number * 1000ULL;
  __builtin_memcpy(span->span_name, "call", 5);
  span->number = number;
  bpf_ringbuf_submit(span, 0);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
