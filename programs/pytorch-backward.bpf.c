// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// PyTorch: the time of backward passes, on the thread that asks for them. A torch.compile adds one
// while it traces.
#define LOST pytorch_lost_total
#include "jobscope.bpf.h"

#define MAX_BUCKET 30

struct backward_key {
  u32 tgid;
  u32 bucket;
};

/* With the stack pointer: there are backward passes within others (checkpoints), and one that
 * throws an exception has no end. */
struct call {
  u64 thread;
  u64 stack;
};

STARTS_LRU_MAP(starts, struct call, 8192);
COUNTER_MAP(pytorch_backward_seconds, BPF_MAP_TYPE_HASH, struct backward_key, 16384,
            BPF_F_NO_PREALLOC);

/* torch::autograd::Engine::execute(…) */
#define EXECUTE                                                                                \
  "libtorch_cpu.so:_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at" \
  "6TensorESaIS9_EEbbbS7_"

#if defined(__TARGET_ARCH_x86)
#define RETURN_ADDRESS 8 /* bytes on the stack while it is called */
#else
#define RETURN_ADDRESS 0
#endif

SEC("uprobe/" EXECUTE)
int BPF_KPROBE(on_execute) {
  struct call call = {.thread = bpf_get_current_pid_tgid(), .stack = PT_REGS_SP(ctx)};
  begin_time(&starts, &call);
  return 0;
}

SEC("uretprobe/" EXECUTE)
int BPF_KRETPROBE(after_execute) {
  struct call call = {.thread = bpf_get_current_pid_tgid(),
                      .stack = PT_REGS_SP(ctx) - RETURN_ADDRESS};
  u64 ns;
  if (!end_time(&starts, &call, &ns)) return 0;
  struct backward_key key = {.tgid = call.thread >> 32};
  increment_exp2(&pytorch_backward_seconds, key, microseconds(ns), MAX_BUCKET);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
