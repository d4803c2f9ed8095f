// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Import statements for which CPython had to look, by package, and how long the outermost took. A
// module that is there already is none, and importlib.import_module() does not pass here. Needs a
// Python with USDT, as python-gc does.
#define LOST python_imports_lost_total
#include "jobscope.bpf.h"

#include <bpf/usdt.bpf.h>

#define MAX_BUCKET 27
#define NAME_BYTES 32

struct import_key {
  u32 tgid;
  char package[NAME_BYTES];
};

struct time_key {
  u32 tgid;
  u32 bucket;
};

struct nesting {
  u64 start;
  u64 depth;
};

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 8192);
  __type(key, u64);
  __type(value, struct nesting);
} nestings SEC(".maps");

COUNTER_MAP(python_imports_total, BPF_MAP_TYPE_HASH, struct import_key, 16384, BPF_F_NO_PREALLOC);
COUNTER_MAP(python_imports_failed_total, BPF_MAP_TYPE_HASH, struct import_key, 16384,
            BPF_F_NO_PREALLOC);
COUNTER_MAP(python_import_seconds, BPF_MAP_TYPE_HASH, struct time_key, 16384, BPF_F_NO_PREALLOC);

/* "torch.nn.modules" → "torch" */
static __always_inline void read_package(struct import_key *key, const char *name) {
  bpf_probe_read_user_str(key->package, sizeof(key->package), name);
  bool cut = false;
  for (int i = 0; i < NAME_BYTES; i++) {
    if (key->package[i] == '.') cut = true;
    if (cut) key->package[i] = 0;
  }
}

static __always_inline int begins(void) {
  u64 thread = bpf_get_current_pid_tgid();
  struct nesting *n = bpf_map_lookup_elem(&nestings, &thread);
  if (n) {
    n->depth += 1;
    return 0;
  }
  struct nesting first = {.start = bpf_ktime_get_ns(), .depth = 1};
  if (bpf_map_update_elem(&nestings, &thread, &first, BPF_ANY)) count_lost();
  return 0;
}

static __always_inline int ends(const char *name, int found) {
  u64 thread = bpf_get_current_pid_tgid();
  struct import_key key = {.tgid = thread >> 32};
  read_package(&key, name);
  if (found)
    increment(&python_imports_total, &key, 1);
  else
    increment(&python_imports_failed_total, &key, 1);
  struct nesting *n = bpf_map_lookup_elem(&nestings, &thread);
  if (!n) return 0;
  if (n->depth > 1) {
    n->depth -= 1;
    return 0;
  }
  u64 ns = bpf_ktime_get_ns() - n->start;
  bpf_map_delete_elem(&nestings, &thread);
  struct time_key time = {.tgid = thread >> 32};
  increment_exp2(&python_import_seconds, time, microseconds(ns), MAX_BUCKET);
  return 0;
}

#define ON_IMPORT(file, name)                           \
  SEC("usdt/" file ":python:import__find__load__start") \
  int BPF_USDT(on_start_##name) { return begins(); }    \
  SEC("usdt/" file ":python:import__find__load__done")  \
  int BPF_USDT(on_done_##name, const char *module, int found) { return ends(module, found); }

ON_IMPORT("python3*", program)
ON_IMPORT("libpython3*.so*", library)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
