// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Requests of disks: structs with padding, names of devices, errors and histograms of each kind.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct request_key {
  __u32 device;
  __u8 operation;
  __u8 padding[3];
  __u64 bucket;
};

struct error_key {
  __u32 device;
  __u32 error;
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, struct request_key);
  __type(value, __u64);
} request_latency_seconds SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 1024);
  __type(key, struct request_key);
  __type(value, __u64);
} size_bytes SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 12);
  __type(key, __u32);
  __type(value, __u64);
} queue_depth SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 64);
  __type(key, __u64);
  __type(value, __u64);
} slow_ms SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, struct error_key);
  __type(value, __u64);
} failed_total SEC(".maps");

// Keeps the types of the keys in the object's BTF, as a program that counts does.
SEC("raw_tp/sched_process_hang")
int storage_hang(struct bpf_raw_tracepoint_args *ctx) {
  struct request_key key = {.device = ctx->args[0], .operation = 1};
  __u64 one = 1;
  bpf_map_update_elem(&request_latency_seconds, &key, &one, BPF_ANY);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
