// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Calls into the drivers of accelerators: NVIDIA, Ascend (davinci), AMD (kfd), Habana and others
// that use DRM or accel. Known by the major number of the device where that is fixed, else by its
// name.
#define LOST gpu_ioctls_lost_total
#include "jobscope.bpf.h"

/* Documentation/admin-guide/devices.txt */
#define MAJOR_NVIDIA 195
#define MAJOR_DRM 226
#define MAJOR_ACCEL 261

#define S_IFMT 0170000
#define S_IFCHR 0020000

#define NAME_BYTES 24
#define MAX_BUCKET 27

struct call {
  u64 start;
  u64 cgroup;
  char device[NAME_BYTES];
};

struct ioctl_key {
  u64 cgroup;
  char device[NAME_BYTES];
  u64 request;
};

struct time_key {
  u64 cgroup;
  char device[NAME_BYTES];
  u64 bucket;
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 8192);
  __type(key, u64);
  __type(value, struct call);
} calls SEC(".maps");

COUNTER_MAP(gpu_ioctls_total, BPF_MAP_TYPE_HASH, struct ioctl_key, 8192, BPF_F_NO_PREALLOC);
COUNTER_MAP(gpu_ioctl_seconds, BPF_MAP_TYPE_HASH, struct time_key, 16384, BPF_F_NO_PREALLOC);

#define BEGINS(name, with) begins(name, with, sizeof(with) - 1)

static __always_inline bool begins(const char *name, const char *with, u32 length) {
  for (u32 i = 0; i < length; i++)
    if (name[i] != with[i]) return false;
  return true;
}

static __always_inline bool is_accelerator(u32 major, const char *name) {
  if (major == MAJOR_NVIDIA || major == MAJOR_DRM || major == MAJOR_ACCEL) return true;
  return BEGINS(name, "nvidia") || BEGINS(name, "davinci") || BEGINS(name, "devmm_svm") ||
         BEGINS(name, "hisi_hdc") || BEGINS(name, "kfd");
}

SEC("tracepoint/syscalls/sys_enter_ioctl")
int on_enter(struct trace_event_raw_sys_enter *ctx) {
  struct file *file = file_of_descriptor(ctx->args[0]);
  if (!file) return 0;
  struct inode *inode = BPF_CORE_READ(file, f_inode);
  if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFCHR) return 0;
  struct call call = {};
  const unsigned char *name = BPF_CORE_READ(file, f_path.dentry, d_name.name);
  bpf_probe_read_kernel_str(call.device, sizeof(call.device), name);
  if (!is_accelerator(BPF_CORE_READ(inode, i_rdev) >> 20, call.device)) return 0;
  call.cgroup = current_cgroup();
  struct ioctl_key key = {.cgroup = call.cgroup, .request = (u32)ctx->args[1]};
  __builtin_memcpy(key.device, call.device, sizeof(key.device));
  increment(&gpu_ioctls_total, &key, 1);
  call.start = bpf_ktime_get_ns();
  u64 thread = bpf_get_current_pid_tgid();
  if (bpf_map_update_elem(&calls, &thread, &call, BPF_ANY)) count_lost();
  return 0;
}

SEC("tracepoint/syscalls/sys_exit_ioctl")
int on_exit(struct trace_event_raw_sys_exit *ctx) {
  u64 thread = bpf_get_current_pid_tgid();
  struct call *call = bpf_map_lookup_elem(&calls, &thread);
  if (!call) return 0;
  u64 ns = bpf_ktime_get_ns() - call->start;
  struct time_key key = {.cgroup = call->cgroup};
  __builtin_memcpy(key.device, call->device, sizeof(key.device));
  bpf_map_delete_elem(&calls, &thread);
  increment_exp2(&gpu_ioctl_seconds, key, microseconds(ns), MAX_BUCKET);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
