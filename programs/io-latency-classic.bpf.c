// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// In the shape of the first MindSpore experiment: no labels, 1 us to 256 us.
#include "jobscope.bpf.h"

#include "io_latency.bpf.h"

#define MAX_BUCKET 8

COUNTER_MAP(io_latency_seconds, BPF_MAP_TYPE_PERCPU_ARRAY, u32, MAX_BUCKET + 2, 0);

static __always_inline void count_latency(struct request *rq, u64 us) {
  struct bucket_key key = {};
  increment_exp2(&io_latency_seconds, key, us, MAX_BUCKET);
}
