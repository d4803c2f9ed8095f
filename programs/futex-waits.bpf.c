// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Calls that wait on a futex: locks, conditions, thread pools, Python's GIL. By how they ended.
#define LOST futex_waits_lost_total
#include "jobscope.bpf.h"

/* linux/futex.h */
#define FUTEX_WAIT 0
#define FUTEX_LOCK_PI 6
#define FUTEX_WAIT_BITSET 9
#define FUTEX_WAIT_REQUEUE_PI 11
#define FUTEX_LOCK_PI2 13
#define FUTEX_CMD_MASK 0x7f

#define EINTR 4
#define EAGAIN 11
#define ETIMEDOUT 110
#define ERESTARTSYS 512
#define ERESTART_RESTARTBLOCK 516

#define MAX_BUCKET 27

enum end { END_WOKEN, END_TIMED_OUT, END_CHANGED, END_INTERRUPTED, END_OTHER };

struct wait_key {
  u64 cgroup;
  u32 end;
  u32 bucket;
};

STARTS_MAP(starts, u64, 32768);
COUNTER_MAP(futex_wait_seconds, BPF_MAP_TYPE_PERCPU_HASH, struct wait_key, 8192, BPF_F_NO_PREALLOC);

SEC("tracepoint/syscalls/sys_enter_futex")
int on_enter(struct trace_event_raw_sys_enter *ctx) {
  u32 command = ctx->args[1] & FUTEX_CMD_MASK;
  switch (command) {
    case FUTEX_WAIT:
    case FUTEX_LOCK_PI:
    case FUTEX_WAIT_BITSET:
    case FUTEX_WAIT_REQUEUE_PI:
    case FUTEX_LOCK_PI2: break;
    default: return 0;
  }
  u64 thread = bpf_get_current_pid_tgid();
  begin_time(&starts, &thread);
  return 0;
}

static __always_inline u32 end_of(long result) {
  if (!result) return END_WOKEN;
  if (result == -ETIMEDOUT) return END_TIMED_OUT;
  if (result == -EAGAIN) return END_CHANGED;
  if (result == -EINTR || (result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK))
    return END_INTERRUPTED;
  return END_OTHER;
}

SEC("tracepoint/syscalls/sys_exit_futex")
int on_exit(struct trace_event_raw_sys_exit *ctx) {
  u64 thread = bpf_get_current_pid_tgid(), ns;
  if (!end_time(&starts, &thread, &ns)) return 0;
  struct wait_key key = {.cgroup = current_cgroup(), .end = end_of(ctx->ret)};
  increment_exp2(&futex_wait_seconds, key, microseconds(ns), MAX_BUCKET);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
