// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A span of each getpriority() of a command called `layout_load`.
#include "jobscope.bpf.h"

struct span {
  u64 began;
  u64 duration;
  u64 who;
};

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 64 * 1024);
} calls SEC(".maps");

SEC("tracepoint/syscalls/sys_enter_getpriority")
int on_getpriority(struct trace_event_raw_sys_enter *ctx) {
  char comm[16] = {};
  bpf_get_current_comm(comm, sizeof(comm));
  if (bpf_strncmp(comm, 11, "layout_load") != 0) return 0;
  struct span span = {.began = bpf_ktime_get_ns(), .duration = 1000000, .who = ctx->args[1]};
  bpf_ringbuf_output(&calls, &span, sizeof(span), 0);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
