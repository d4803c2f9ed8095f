// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The record of any tracepoint as it is.
#include "src/trace/filter.bpf.h"

/* Of the tracepoint; set before load. */
const volatile __u32 fixed_size = 8; /* bytes up to the end of its last field */
const volatile __u32 dynamic_count = 0;
const volatile __u16 dynamic_at[TRACEPOINT_STRINGS] = {};   /* where its __data_loc fields lie */
const volatile __u16 dynamic_from[TRACEPOINT_STRINGS] = {}; /* what their offsets count from */

struct tracepoint_scratch {
  struct tracepoint_record record;
  char bytes[TRACEPOINT_MAX];
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct tracepoint_scratch);
} tracepoint_scratches SEC(".maps");

/* Where the dynamic part of the record ends. */
static __always_inline u32 end_of_record(void *ctx) {
  u32 end = fixed_size;
  for (int i = 0; i < TRACEPOINT_STRINGS && i < dynamic_count; i++) {
    u32 where = 0;
    bpf_probe_read_kernel(&where, sizeof(where), ctx + dynamic_at[i]);
    u32 its = dynamic_from[i] + (where & 0xFFFF) + (where >> 16);
    if (its > end) end = its;
  }
  return end;
}

SEC("tracepoint")
int on_tracepoint(void *ctx) {
  u32 zero = 0;
  struct tracepoint_scratch *s = bpf_map_lookup_elem(&tracepoint_scratches, &zero);
  if (!s) return 0;
  __builtin_memset(&s->record, 0, sizeof(s->record));
  if (!describe_current(&s->record.head)) return 0;
  u64 length = end_of_record(ctx);
  s->record.full = length;
  if (length > TRACEPOINT_MAX - 1) length = TRACEPOINT_MAX - 1;
  barrier_var(length); /* keep the bound in the register that the verifier looks at */
  length &= TRACEPOINT_MAX - 1;
  if (bpf_probe_read_kernel(s->bytes, length, ctx)) length = 0;
  s->record.length = length;
  s->record.head.event.type = TRACE_TRACEPOINT;
  s->record.head.at = bpf_ktime_get_ns();
  u32 size = sizeof(s->record) + length;
  s->record.head.event.size = size;
  if (size <= sizeof(*s)) tell(s, size);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
