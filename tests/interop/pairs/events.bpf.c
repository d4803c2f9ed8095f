// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A counter of events.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct event {
  __u32 signal;
  char command[16];
  __u64 beyond_the_labels;
};

struct {
  __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
  __uint(key_size, 4);
  __uint(value_size, 4);
} kills_total SEC(".maps");

SEC("raw_tp/sched_process_exec")
int events_hang(struct bpf_raw_tracepoint_args *ctx) {
  struct event event;
  if (ctx->args[0] != 4711) return 0;
  __builtin_memset(&event, 0, sizeof(event));
  event.signal = ctx->args[1];
  __builtin_memcpy(event.command, "trainer", 8);
  event.beyond_the_labels = ctx->args[2];
  bpf_perf_event_output(ctx, &kills_total, BPF_F_CURRENT_CPU, &event, sizeof(event));
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
