// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A key of many kinds of members, written by system calls of commands called `layout_load`.
#include "jobscope.bpf.h"

enum parity { EVEN, ODD };

struct mixed {
  u8 small;
  s32 negative;  // after three bytes of padding
  char comm[16];
  enum parity parity;
  struct {
    u16 port;
  } peer;
  u8 pad[2];
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 64);
  __type(key, struct mixed);
  __type(value, u64);
} mixed_total SEC(".maps");

struct sized {
  u32 tgid;
  u32 bucket;
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 4096);
  __type(key, struct sized);
  __type(value, u64);
} sizes SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 4096);
  __type(key, u64);
  __type(value, u64);
} numbers_total SEC(".maps");

static const u64 none = 0;

static void add(void *map, const void *key) {
  u64 *value = bpf_map_lookup_elem(map, key);
  if (!value) {
    bpf_map_update_elem(map, key, &none, BPF_NOEXIST);
    value = bpf_map_lookup_elem(map, key);
  }
  if (value) __sync_fetch_and_add(value, 1);
}

// getpriority(which, who): `who` is the number that is counted.
SEC("tracepoint/syscalls/sys_enter_getpriority")
int on_getpriority(struct {
  u64 head;
  long number;
  u64 which, who;
} * ctx) {
  struct mixed key = {};
  bpf_get_current_comm(key.comm, sizeof(key.comm));
  if (bpf_strncmp(key.comm, 11, "layout_load") != 0) return 0;
  u64 number = ctx->who;
  key.small = 7;
  key.negative = -23;
  key.parity = number & 1 ? ODD : EVEN;
  key.peer.port = 443;
  add(&mixed_total, &key);
  struct sized size = {.tgid = bpf_get_current_pid_tgid() >> 32, .bucket = number & 3};
  add(&sizes, &size);
  add(&numbers_total, &number);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
