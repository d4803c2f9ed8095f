// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#define LOST syscalls_lost_total
#include "jobscope.bpf.h"

#define TS_COMPAT 0x0002 /* x86: in a 32-bit system call, whose numbers are others */

struct syscall_key {
  u32 tgid;
  u32 syscall;
};

COUNTER_MAP(syscalls_total, BPF_MAP_TYPE_PERCPU_HASH, struct syscall_key, 65536, BPF_F_NO_PREALLOC);
COUNTER_MAP(syscalls_32bit_total, BPF_MAP_TYPE_PERCPU_ARRAY, u32, 1, 0);

static __always_inline bool is_32bit(void) {
#if defined(__TARGET_ARCH_x86)
  struct task_struct *task = (struct task_struct *)bpf_get_current_task();
  return BPF_CORE_READ(task, thread_info.status) & TS_COMPAT;
#else
  return false;
#endif
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_enter, struct pt_regs *regs, long number) {
  if (is_32bit()) {
    increment_only(&syscalls_32bit_total, 1);
    return 0;
  }
  struct syscall_key key = {.tgid = current_tgid(), .syscall = number};
  increment(&syscalls_total, &key, 1);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
