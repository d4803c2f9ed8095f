// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// From when a request is given to the scheduler (or the driver, if there is none) to its end. A
// merged one vanishes in the one that it went into.
#define LOST bio_latency_lost_total
#include "jobscope.bpf.h"

#include "block.bpf.h"

#define MAX_BUCKET 27

struct latency_key {
  u32 device;
  u32 operation;
  u32 bucket;
};

STARTS_MAP(starts, u64, 10240);
/* Preallocated, for requests end in interrupts; shared, for per CPU that takes too much memory. */
COUNTER_MAP(bio_latency_seconds, BPF_MAP_TYPE_HASH, struct latency_key, 16384, 0);

SEC("raw_tp/block_rq_insert")
int on_insert(struct bpf_raw_tracepoint_args *ctx) {
  struct request *rq = REQUEST_OF(ctx);
  u64 id = (u64)rq;
  if (is_accounted(rq)) begin_time(&starts, &id);
  return 0;
}

SEC("raw_tp/block_rq_issue")
int on_issue(struct bpf_raw_tracepoint_args *ctx) {
  struct request *rq = REQUEST_OF(ctx);
  u64 id = (u64)rq;
  if (!is_accounted(rq)) return 0;
  u64 *queued = bpf_map_lookup_elem(&starts, &id);
  /* One from before the request was made is left over: its end was not seen. */
  if (!queued || *queued < BPF_CORE_READ(rq, start_time_ns)) begin_time(&starts, &id);
  return 0;
}

SEC("raw_tp/block_rq_merge")
int on_merge(struct bpf_raw_tracepoint_args *ctx) {
  u64 id = (u64)REQUEST_OF(ctx);
  bpf_map_delete_elem(&starts, &id);
  return 0;
}

SEC("raw_tp/block_rq_complete")
int on_complete(struct bpf_raw_tracepoint_args *ctx) {
  struct request *rq = (struct request *)TP_ARG(ctx, 0);
  u32 bytes = TP_ARG(ctx, 2);
  u64 id = (u64)rq, ns;
  if (!is_whole_end(rq, bytes) || !end_time(&starts, &id, &ns)) return 0;
  struct latency_key key = {.device = device_of(rq), .operation = operation_of(rq)};
  increment_exp2(&bio_latency_seconds, key, microseconds(ns), MAX_BUCKET);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
