// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// CPython's garbage collection, where it was built with USDT (Debian's is, pyenv's are not). What
// reference counting frees does not pass here.
#define LOST python_gc_lost_total
#include "jobscope.bpf.h"

#include <bpf/usdt.bpf.h>

#define MAX_BUCKET 24

struct begun {
  u64 start;
  u32 generation;
  u32 none;
};

struct gc_key {
  u32 tgid;
  u32 generation;
  u32 bucket;
};

struct tgid_key {
  u32 tgid;
};

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 8192);
  __type(key, u64);
  __type(value, struct begun);
} begun SEC(".maps");

COUNTER_MAP(python_gc_seconds, BPF_MAP_TYPE_HASH, struct gc_key, 32768, BPF_F_NO_PREALLOC);
COUNTER_MAP(python_gc_collected_total, BPF_MAP_TYPE_HASH, struct tgid_key, 4096, BPF_F_NO_PREALLOC);

static __always_inline int begins(u32 generation) {
  u64 thread = bpf_get_current_pid_tgid();
  struct begun b = {.start = bpf_ktime_get_ns(), .generation = generation};
  if (bpf_map_update_elem(&begun, &thread, &b, BPF_ANY)) count_lost();
  return 0;
}

static __always_inline int ends(long collected) {
  u64 thread = bpf_get_current_pid_tgid();
  struct begun *b = bpf_map_lookup_elem(&begun, &thread);
  if (!b) return 0;
  u64 ns = bpf_ktime_get_ns() - b->start;
  struct gc_key key = {.tgid = thread >> 32, .generation = b->generation};
  bpf_map_delete_elem(&begun, &thread);
  increment_exp2(&python_gc_seconds, key, microseconds(ns), MAX_BUCKET);
  struct tgid_key process = {.tgid = thread >> 32};
  if (collected > 0) increment(&python_gc_collected_total, &process, collected);
  return 0;
}

/* The interpreter is the program itself, or in a library. */
#define ON_GC(file, name)                                                      \
  SEC("usdt/" file ":python:gc__start")                                        \
  int BPF_USDT(on_start_##name, int generation) { return begins(generation); } \
  SEC("usdt/" file ":python:gc__done")                                         \
  int BPF_USDT(on_done_##name, long collected) { return ends(collected); }

ON_GC("python3*", program)
ON_GC("libpython3*.so*", library)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
