// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// TCP segments sent again, as RetransSegs of /proc/net/snmp counts them (there by network
// namespace).
#define LOST tcp_retransmits_lost_total
#include "jobscope.bpf.h"

#define TCP_SYN_RECV 3

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sk_buff {
  char cb[48];
};
struct tcp_skb_cb {
  u16 tcp_gso_segs;
};
#pragma clang attribute pop

struct retransmit_key {
  u64 cgroup;
  u32 family;
  u32 state;
};

COUNTER_MAP(tcp_retransmits_total, BPF_MAP_TYPE_HASH, struct retransmit_key, 4096, 0);

static __always_inline void count(struct sock *sk, u32 state, u64 segments) {
  struct retransmit_key key = {.cgroup = cgroup_of_socket(sk),
                               .family = BPF_CORE_READ(sk, __sk_common.skc_family),
                               .state = state};
  increment(&tcp_retransmits_total, &key, segments);
}

SEC("raw_tp/tcp_retransmit_skb")
int on_retransmit(struct bpf_raw_tracepoint_args *ctx) {
  struct sock *sk = (void *)TP_ARG(ctx, 0);
  void *skb = (void *)TP_ARG(ctx, 1);
  struct tcp_skb_cb *control = skb + bpf_core_field_offset(struct sk_buff, cb);
  u16 segments = BPF_CORE_READ(control, tcp_gso_segs);
  count(sk, BPF_CORE_READ(sk, __sk_common.skc_state), segments ?: 1);
  return 0;
}

/* Of a connection that somebody makes to us: the socket is the listening one. */
SEC("raw_tp/tcp_retransmit_synack")
int on_retransmit_synack(struct bpf_raw_tracepoint_args *ctx) {
  count((void *)TP_ARG(ctx, 0), TCP_SYN_RECV, 1);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
