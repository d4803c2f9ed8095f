/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Block requests that are under way, as the kernel side keeps them; shared with user space. */
#pragma once

#include <linux/types.h>

/* NOLINTBEGIN(readability-identifier-naming): names of C, for the kernel side too */

/* As the kernel's own statistics sort them: what is not a read, flush or discard is a write. */
enum block_operation {
  BLOCK_READ,
  BLOCK_WRITE,
  BLOCK_FLUSH, /* a request to empty the device's cache that carries no data */
  BLOCK_DISCARD,
  BLOCK_OPERATIONS,
};

#define DISK_NAME_BYTES 32

/* A request that is under way: the head of the values of the map `open_requests`. Times are of
 * CLOCK_MONOTONIC, ns. */
struct request_head {
  __u64 issued; /* last time the device got it; 0: not yet */
  __u64 stamp;  /* the kernel's own start of the request, when it was first issued */
  __u64 bytes;  /* done so far */
  __u64 length; /* of the whole, when it was last issued */
  __u64 sector; /* its first, when it was first issued */
  __u32 device; /* the disk: major << 20 | minor */
  __u32 flags;  /* request.cmd_flags when it was started */
  __u16 operation;
  __u16 settled; /* its end was not told, and it has been counted: take it out */
  __u32 pad;
};

/* NOLINTEND(readability-identifier-naming) */
