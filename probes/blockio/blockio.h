/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What the kernel side of the probe counts, by device, operation and job. */
#pragma once

#include "bpf/request.h"
#include "bpf/thread.h"

/* NOLINTBEGIN(readability-identifier-naming): names of C, for the kernel side too */

struct block_key {
  __u32 job;    /* 0 if not charged */
  __u32 device; /* the disk: major << 20 | minor */
  __u16 operation;
  __u16 charged; /* 0: started by a thread of the kernel */
};

/* Of requests that have ended. A flush whose turn in the device is not known, and a request that
 * failed before the device got it, are in `latency` alone. */
struct block_use {
  __u64 count;
  __u64 bytes;
  __u64 sequential;
  struct histogram latency;     /* µs */
  struct histogram queue;       /* µs */
  struct histogram device_time; /* µs */
  char name[DISK_NAME_BYTES];   /* of the disk; only in the copy of the CPU that met it first */
};

/* NOLINTEND(readability-identifier-naming) */
