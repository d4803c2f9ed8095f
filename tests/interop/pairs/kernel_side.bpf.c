// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What only the kernel knows the names of: symbols, stacks, system calls, cgroups.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#define DEPTH 8

struct stack_key {
  __u64 addresses[DEPTH];
  __u64 call;
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, struct stack_key);
  __type(value, __u64);
} stacks_total SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, __u64);
  __type(value, __u64);
} functions_total SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
  __uint(max_entries, 1024);
  __type(key, __u64);
  __type(value, __u64);
} by_cgroup SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 64);
  __uint(key_size, 8);
  __type(value, __u64);
} raw_ids SEC(".maps");

const volatile __u64 kaddr_do_exit = 0;
const volatile __u64 kaddr_schedule = 0;

SEC("raw_tp/sched_process_exec")
int kernel_side_hang(struct bpf_raw_tracepoint_args *ctx) {
  __u64 key = kaddr_do_exit, value = 151;
  if (ctx->args[0] != 4711) return 0;
  bpf_map_update_elem(&functions_total, &key, &value, BPF_ANY);
  key = kaddr_schedule;
  value = 157;
  bpf_map_update_elem(&functions_total, &key, &value, BPF_ANY);
  return 0;
}

SEC("raw_tp/no_such_tracepoint_here")
int kernel_side_nowhere(void *ctx) { return 0; }

char LICENSE[] SEC("license") = "Dual BSD/GPL";
