// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// One program at each kind of hook that `jobscope programs` attaches by itself.
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

enum hook { SWITCH, SAMPLE, LIBRARY, GC, PACKET, NOWHERE, CHOSEN };

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16);
  __type(key, enum hook);
  __type(value, u64);
} hook_runs_total SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __type(key, u32);
  __type(value, s64);
} threads SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16);
  __type(key, enum hook);
  __type(value, u64);
} latest SEC(".maps");

static int count(enum hook hook) {
  u64 one = 1, *runs = bpf_map_lookup_elem(&hook_runs_total, &hook);
  if (runs)
    __sync_fetch_and_add(runs, 1);
  else
    bpf_map_update_elem(&hook_runs_total, &hook, &one, BPF_ANY);
  return 0;
}

SEC("fentry/no_such_function | kprobe/no_such_function | tp_btf/sched_switch")
int on_switch(void *ctx) { return count(SWITCH); }

SEC("perf_event/type=1,config=0,frequency=99")
int on_sample(void *ctx) { return count(SAMPLE); }

SEC("uprobe/libjobscope_test.so:counted")
int on_library(void *ctx) { return count(LIBRARY); }

SEC("usdt/python3.11:python:gc__start")
int on_gc(struct pt_regs *ctx) { return count(GC); }

SEC("xdp/lo")
int on_packet(struct xdp_md *ctx) {
  count(PACKET);
  return XDP_PASS;
}

SEC("raw_tp/no_such_tracepoint")
int on_nothing(void *ctx) { return count(NOWHERE); }

// In `alternatives`: the first cannot be attached.
SEC("raw_tp/neither_this_one")
int on_chosen_first(void *ctx) { return count(NOWHERE); }

SEC("tracepoint/syscalls/sys_enter_getppid")
int on_chosen_second(void *ctx) {
  enum hook hook = CHOSEN;
  u64 value = 23;
  bpf_map_update_elem(&latest, &hook, &value, BPF_ANY);
  return count(CHOSEN);
}

SEC("iter/task")
int each_task(struct bpf_iter__task *ctx) {
  struct task_struct *task = ctx->task;
  if (!task) return 0;
  u32 tgid = task->tgid;
  s64 one = 1, *known = bpf_map_lookup_elem(&threads, &tgid);
  if (known)
    *known += 1;
  else
    bpf_map_update_elem(&threads, &tgid, &one, BPF_ANY);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";
