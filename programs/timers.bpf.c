// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which functions the kernel's timers are started for.
#define LOST timer_lost_total
#include "jobscope.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct timer_list {
  void *function;
};
struct hrtimer {
  void *function; /* not const in all kernels: only read */
};
#pragma clang attribute pop

struct function_key {
  u64 function;
};

COUNTER_MAP(timer_starts_total, BPF_MAP_TYPE_PERCPU_HASH, struct function_key, 1024, 0);
COUNTER_MAP(hrtimer_starts_total, BPF_MAP_TYPE_PERCPU_HASH, struct function_key, 256, 0);

SEC("raw_tp/timer_start")
int on_timer(struct bpf_raw_tracepoint_args *ctx) {
  struct timer_list *timer = (void *)TP_ARG(ctx, 0);
  struct function_key key = {.function = (u64)BPF_CORE_READ(timer, function)};
  increment(&timer_starts_total, &key, 1);
  return 0;
}

SEC("raw_tp/hrtimer_start")
int on_hrtimer(struct bpf_raw_tracepoint_args *ctx) {
  struct hrtimer *timer = (void *)TP_ARG(ctx, 0);
  struct function_key key = {.function = (u64)BPF_CORE_READ(timer, function)};
  increment(&hrtimer_starts_total, &key, 1);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
