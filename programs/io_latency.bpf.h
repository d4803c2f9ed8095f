/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The latency of each request from when it was made to its end, as the kernel itself accounts it:
 * its start stands in the request, so there is one program, and nothing to remember in between. */
#pragma once

#include "block.bpf.h"

COUNTER_MAP(io_latency_untimed_total, BPF_MAP_TYPE_PERCPU_ARRAY, u32, 1, 0);

static __always_inline void count_latency(struct request *rq, u64 us);

SEC("raw_tp/block_rq_complete")
int on_complete(struct bpf_raw_tracepoint_args *ctx) {
  u64 now = bpf_ktime_get_ns();
  struct request *rq = (struct request *)TP_ARG(ctx, 0);
  u32 bytes = TP_ARG(ctx, 2);
  if (!is_accounted(rq) || !is_whole_end(rq, bytes)) return 0;
  u64 start = BPF_CORE_READ(rq, start_time_ns);
  if (!start) {
    increment_only(&io_latency_untimed_total, 1);
    return 0;
  }
  count_latency(rq, now > start ? microseconds(now - start) : 0);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
