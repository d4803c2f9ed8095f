/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What the kernel side of the probe counts, by device, operation and job. */
#pragma once

#include "bpf/thread.h"

/* NOLINTBEGIN(readability-identifier-naming): names of C, for the kernel side too */

/* As the kernel's own statistics sort them: what is not a read, flush or discard is a write. */
enum block_operation {
  BLOCK_READ,
  BLOCK_WRITE,
  BLOCK_FLUSH, /* a request to empty the device's cache that carries no data */
  BLOCK_DISCARD,
  BLOCK_OPERATIONS,
};

struct block_key {
  __u32 job;    /* 0 if not charged */
  __u32 device; /* the disk: major << 20 | minor */
  __u16 operation;
  __u16 charged; /* 0: started by a thread of the kernel */
};

/* A request that is under way. Times are of CLOCK_MONOTONIC, ns. */
struct open_request {
  __u64 start;
  __u64 issued; /* last time the device got it; 0: not yet */
  __u64 stamp;  /* the kernel's own start of the request, when it was first issued */
  __u64 bytes;  /* done so far */
  __u64 length; /* of the whole, when it was last issued */
  struct block_key key;
  __u32 sequential;
  __u32 settled; /* its end was not told, and it has been counted: take it out */
  __u32 pad;
};

#define DISK_NAME_BYTES 32

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
