// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Pages that come into the page cache of files, leave it, and become dirty, by device of the file
// system; since 6.12 also how often reads and page faults looked into it. docs/programs.md says
// what cannot be known.
#define LOST page_cache_lost_total
#include "jobscope.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct trace_event_raw_mm_filemap_op_page_cache {
  u32 s_dev;
  unsigned char order; /* since 5.18; before, each page was told */
};
struct trace_event_raw_mm_filemap_op_page_cache_range {
  u32 s_dev;
};
struct trace_event_raw_mm_filemap_fault {
  u32 s_dev;
};
#pragma clang attribute pop

struct device_key {
  u32 device;
};

#define DEVICES 1024
COUNTER_MAP(page_cache_added_pages_total, BPF_MAP_TYPE_PERCPU_HASH, struct device_key, DEVICES, 0);
COUNTER_MAP(page_cache_removed_pages_total, BPF_MAP_TYPE_PERCPU_HASH, struct device_key, DEVICES,
            0);
COUNTER_MAP(page_cache_dirtied_total, BPF_MAP_TYPE_PERCPU_HASH, struct device_key, DEVICES, 0);
COUNTER_MAP(page_cache_lookups_total, BPF_MAP_TYPE_PERCPU_HASH, struct device_key, DEVICES, 0);
COUNTER_MAP(page_cache_faults_total, BPF_MAP_TYPE_PERCPU_HASH, struct device_key, DEVICES, 0);

static __always_inline void count(void *map, u32 dev, u64 by) {
  struct device_key key = {.device = device_number_of(dev)};
  increment(map, &key, by);
}

static __always_inline u64 pages_of(struct trace_event_raw_mm_filemap_op_page_cache *ctx) {
  return bpf_core_field_exists(ctx->order) ? 1ull << (ctx->order & 63) : 1;
}

SEC("tracepoint/filemap/mm_filemap_add_to_page_cache")
int on_add(struct trace_event_raw_mm_filemap_op_page_cache *ctx) {
  count(&page_cache_added_pages_total, ctx->s_dev, pages_of(ctx));
  return 0;
}

SEC("tracepoint/filemap/mm_filemap_delete_from_page_cache")
int on_delete(struct trace_event_raw_mm_filemap_op_page_cache *ctx) {
  count(&page_cache_removed_pages_total, ctx->s_dev, pages_of(ctx));
  return 0;
}

static __always_inline int dirtied(struct address_space *mapping) {
  if (mapping) count(&page_cache_dirtied_total, BPF_CORE_READ(mapping, host, i_sb, s_dev), 1);
  return 0;
}

SEC("raw_tp/writeback_dirty_folio")
int on_dirty(struct bpf_raw_tracepoint_args *ctx) {
  return dirtied((struct address_space *)TP_ARG(ctx, 1));
}

/* Its name before 5.18 (203a31516616). */
SEC("raw_tp/writeback_dirty_page")
int on_dirty_page(struct bpf_raw_tracepoint_args *ctx) {
  return dirtied((struct address_space *)TP_ARG(ctx, 1));
}

SEC("tracepoint/filemap/mm_filemap_get_pages")
int on_lookup(struct trace_event_raw_mm_filemap_op_page_cache_range *ctx) {
  if (bpf_core_field_exists(ctx->s_dev)) count(&page_cache_lookups_total, ctx->s_dev, 1);
  return 0;
}

SEC("tracepoint/filemap/mm_filemap_fault")
int on_fault(struct trace_event_raw_mm_filemap_fault *ctx) {
  if (bpf_core_field_exists(ctx->s_dev)) count(&page_cache_faults_total, ctx->s_dev, 1);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
