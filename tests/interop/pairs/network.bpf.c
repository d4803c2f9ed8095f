// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Packets and names: addresses, interfaces, DNS, patterns that leave rows out, PCI ids.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct flow_key {
  __u8 address[16];
  __u16 port;
  __u8 protocol;
  __u8 padding;
  __u32 interface;
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, struct flow_key);
  __type(value, __u64);
} flow_bytes_total SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __uint(key_size, 4);
  __type(value, __u64);
} v4_packets_total SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __uint(key_size, 34);
  __type(value, __u64);
} queries_total SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, char[16]);
  __type(value, __u64);
} by_command SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 64);
  __uint(key_size, 9);
  __type(value, __u64);
} adapters SEC(".maps");

SEC("raw_tp/sched_process_hang")
int network_hang(struct bpf_raw_tracepoint_args *ctx) {
  struct flow_key key = {.port = ctx->args[0]};
  __u64 one = 1;
  bpf_map_update_elem(&flow_bytes_total, &key, &one, BPF_ANY);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
