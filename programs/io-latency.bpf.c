// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#define LOST io_latency_lost_total
#include "jobscope.bpf.h"

#include "io_latency.bpf.h"

#define MAX_BUCKET 27

struct latency_key {
  u32 device;
  u32 operation;
  u32 bucket;
};

/* Preallocated, for requests end in interrupts; shared, for per CPU that takes too much memory. */
COUNTER_MAP(io_latency_seconds, BPF_MAP_TYPE_HASH, struct latency_key, 16384, 0);

static __always_inline void count_latency(struct request *rq, u64 us) {
  struct latency_key key = {.device = device_of(rq), .operation = operation_of(rq)};
  increment_exp2(&io_latency_seconds, key, us, MAX_BUCKET);
}
