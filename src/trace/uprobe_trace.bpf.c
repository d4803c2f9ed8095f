// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Calls of a function of user space, or its returns, with their arguments.
#include "src/trace/filter.bpf.h"

const volatile struct uprobe_argument arguments[UPROBE_ARGUMENTS] = {};
const volatile __u32 texts = 0; /* strings among them */

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct uprobe_record);
} uprobe_scratches SEC(".maps");

#if defined(__TARGET_ARCH_x86)
#define REGISTERS 6
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs___all {
  unsigned long di, si, dx, cx, r8, r9, ax, sp;
};
#pragma clang attribute pop
#elif defined(__TARGET_ARCH_arm64)
#define REGISTERS 8
#endif

static __always_inline u64 register_of(void *ctx, u32 index) {
#if defined(__TARGET_ARCH_x86)
  struct pt_regs___all *regs = ctx;
  switch (index) {
    case 0: return BPF_CORE_READ(regs, di);
    case 1: return BPF_CORE_READ(regs, si);
    case 2: return BPF_CORE_READ(regs, dx);
    case 3: return BPF_CORE_READ(regs, cx);
    case 4: return BPF_CORE_READ(regs, r8);
    default: return BPF_CORE_READ(regs, r9);
  }
#else
  struct pt_regs *regs = ctx;
  u64 value = 0;
  bpf_probe_read_kernel(&value, sizeof(value), &regs->user_regs.regs[index & 7]);
  return value;
#endif
}

static __always_inline u64 stack_pointer(void *ctx) {
#if defined(__TARGET_ARCH_x86)
  return BPF_CORE_READ((struct pt_regs___all *)ctx, sp);
#else
  return BPF_CORE_READ((struct pt_regs *)ctx, user_regs.sp);
#endif
}

static __always_inline u64 returned(void *ctx) {
#if defined(__TARGET_ARCH_x86)
  return BPF_CORE_READ((struct pt_regs___all *)ctx, ax);
#else
  return register_of(ctx, 0);
#endif
}

static __always_inline u64 value_of(void *ctx, u8 place, u16 index) {
  u64 value = 0;
  if (place == UPROBE_REGISTER) return register_of(ctx, index);
  if (place == UPROBE_RETURN) return returned(ctx);
  bpf_probe_read_user(&value, sizeof(value), (void *)(stack_pointer(ctx) + index));
  return value;
}

SEC("uprobe")
int on_call(void *ctx) {
  u32 zero = 0;
  struct uprobe_record *r = bpf_map_lookup_elem(&uprobe_scratches, &zero);
  if (!r) return 0;
  __builtin_memset(&r->head, 0, sizeof(r->head));
  if (!describe_current(&r->head)) return 0;
  for (int i = 0; i < UPROBE_ARGUMENTS; i++) {
    if (arguments[i].place == UPROBE_NOTHING) break;
    u64 value = value_of(ctx, arguments[i].place, arguments[i].index);
    r->values[i] = value;
    u32 text = arguments[i].text - 1;
    if (arguments[i].text && text < UPROBE_TEXTS)
      r->lengths[text] = bpf_probe_read_user_str(r->texts[text], UPROBE_TEXT, (const void *)value);
  }
  r->head.event.type = TRACE_UPROBE;
  r->head.at = bpf_ktime_get_ns();
  u32 size = sizeof(*r) - (UPROBE_TEXTS - texts) * UPROBE_TEXT;
  r->head.event.size = size;
  if (size <= sizeof(*r)) tell(r, size);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
