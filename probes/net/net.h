/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What the kernel side of the probe counts, by job and peer. */
#pragma once

#include "bpf/thread.h"

/* NOLINTBEGIN(readability-identifier-naming): names of C, for the kernel side too */

enum peer_class {
  PEER_UNIX,
  PEER_LOOPBACK,
  PEER_REMOTE,
  PEER_CLASSES,
};

/* A class as a whole: all of unix and loopback, and of remote what found no room among the peers.
 */
struct class_key {
  __u32 job;
  __u32 peer_class;
};

/* A remote address. */
struct peer_key {
  __u32 job;
  __u32 family;     /* AF_INET, AF_INET6; 0: not known, the socket is not connected */
  __u32 address[4]; /* in network order; IPv4 in the first word */
};

struct peer_use {
  __u64 bytes_in;
  __u64 bytes_out;
  __u64 retransmits; /* TCP segments */
};

/* NOLINTEND(readability-identifier-naming) */
