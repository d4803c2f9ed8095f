// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// From the first SYN of a connection of ours to its being established, or to its failure.
#define LOST tcp_connects_lost_total
#include "jobscope.bpf.h"

#define TCP_SYN_SENT 2
#define TCP_CLOSE 7
#define MAX_BUCKET 27

struct connect_key {
  u64 cgroup;
  u32 family;
  u32 bucket;
};

struct failure_key {
  u64 cgroup;
  u32 family;
  u32 error;
};

STARTS_MAP(starts, u64, 16384);
COUNTER_MAP(tcp_connect_latency_seconds, BPF_MAP_TYPE_HASH, struct connect_key, 8192, 0);
COUNTER_MAP(tcp_connects_failed_total, BPF_MAP_TYPE_HASH, struct failure_key, 4096, 0);

SEC("raw_tp/inet_sock_set_state")
int on_state(struct bpf_raw_tracepoint_args *ctx) {
  struct sock *sk = (void *)TP_ARG(ctx, 0);
  u32 from = TP_ARG(ctx, 1), to = TP_ARG(ctx, 2);
  u64 id = (u64)sk, ns;
  if (to == TCP_SYN_SENT) {
    begin_time(&starts, &id);
    return 0;
  }
  if (from != TCP_SYN_SENT || !end_time(&starts, &id, &ns)) return 0;
  u64 cgroup = cgroup_of_socket(sk);
  u32 family = BPF_CORE_READ(sk, __sk_common.skc_family);
  if (to == TCP_CLOSE) {
    struct failure_key key = {
        .cgroup = cgroup, .family = family, .error = BPF_CORE_READ(sk, sk_err)};
    increment(&tcp_connects_failed_total, &key, 1);
    return 0;
  }
  struct connect_key key = {.cgroup = cgroup, .family = family};
  increment_exp2(&tcp_connect_latency_seconds, key, microseconds(ns), MAX_BUCKET);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
