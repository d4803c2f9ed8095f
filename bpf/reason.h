/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The reasons of the time identity: every nanosecond of a thread's life is in exactly one of them.
 * The order is the order of reports. The names (src/model/reason.cc) are stable; the numbers are
 * not: they live only between the BPF programs and the program that loaded them. */
#pragma once

enum reason {
  REASON_CPU_USER, /* the kernel side puts all on-CPU time here; user space splits it */
  REASON_CPU_SYSTEM,
  REASON_STOLEN,
  REASON_RUNQUEUE,
  REASON_THROTTLED,
  REASON_DISK_READ,
  REASON_DISK_WRITE,
  REASON_FSYNC,
  REASON_PAGE_FAULT,
  REASON_FILE_OTHER,
  REASON_REMOTE_FS,
  REASON_NET_RECV,
  REASON_NET_SEND,
  REASON_NET_CONNECT,
  REASON_POLL,
  REASON_PIPE,
  REASON_UNIX_SOCKET,
  REASON_FUTEX,
  REASON_GIL,
  REASON_BARRIER,
  REASON_SLEEP,
  REASON_WAIT_CHILD,
  REASON_ACCELERATOR,
  REASON_MEMORY,
  REASON_STOPPED,
  REASON_OTHER,
  REASON_COUNT,
};
