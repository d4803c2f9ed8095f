/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What the kernel side keeps of requests that are under way. The maps are not preallocated:
 * measured no slower, and most machines have a few requests open, not thousands. */
#pragma once

#include "bpf/session.bpf.h"
#include "probes/blockio/blockio.h"

struct owner {
  u64 start; /* CLOCK_MONOTONIC, like all */
  u32 job;
  u32 charged;
};

/* Under way, by address of the request. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 16384);
  __type(key, u64);
  __type(value, struct open_request);
} open_requests SEC(".maps");

/* by_bio: owners of bios that will be requests, by address of the bio. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 16384);
  __type(key, u64);
  __type(value, struct owner);
} open_bios SEC(".maps");

/* Where the last request ended: sector. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 1024);
  __type(key, struct block_key);
  __type(value, u64);
} positions SEC(".maps");

/* When a queue's flush was last given to the device, by address of the queue. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 1024);
  __type(key, u64);
  __type(value, u64);
} flushes SEC(".maps");
