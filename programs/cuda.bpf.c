// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What programs ask of CUDA's runtime library. Names with _ptsz and _ptds are the same calls,
// compiled for a stream of each thread. Launches by cuBLAS and cuDNN do not pass here: they call
// the driver.
#define LOST cuda_lost_total
#include "jobscope.bpf.h"

#define KINDS 5 /* enum cudaMemcpyKind */
#define MAX_BUCKET 27

enum call { CALL_KERNEL, CALL_COOPERATIVE, CALL_GRAPH, CALL_HOST_FUNCTION };
enum wait { WAIT_STREAM, WAIT_DEVICE, WAIT_EVENT };

struct call_key {
  u32 tgid;
  u32 what; /* enum call, or the kind of a copy */
};

struct tgid_key {
  u32 tgid;
};

struct wait_key {
  u32 tgid;
  u32 wait;
  u32 bucket;
};

#define PROCESSES 2048

COUNTER_MAP(cuda_launches_total, BPF_MAP_TYPE_HASH, struct call_key, 4 * PROCESSES,
            BPF_F_NO_PREALLOC);
COUNTER_MAP(cuda_copies_total, BPF_MAP_TYPE_HASH, struct call_key, 4 * PROCESSES,
            BPF_F_NO_PREALLOC);
COUNTER_MAP(cuda_copied_bytes_total, BPF_MAP_TYPE_HASH, struct call_key, 4 * PROCESSES,
            BPF_F_NO_PREALLOC);
COUNTER_MAP(cuda_allocated_bytes_total, BPF_MAP_TYPE_HASH, struct tgid_key, PROCESSES,
            BPF_F_NO_PREALLOC);
COUNTER_MAP(cuda_wait_seconds, BPF_MAP_TYPE_HASH, struct wait_key, 8 * PROCESSES,
            BPF_F_NO_PREALLOC);
STARTS_LRU_MAP(starts, u64, 16384);

static __always_inline int launched(u32 what) {
  struct call_key key = {.tgid = current_tgid(), .what = what};
  increment(&cuda_launches_total, &key, 1);
  return 0;
}

static __always_inline int copied(u64 bytes, u32 kind) {
  struct call_key key = {.tgid = current_tgid(), .what = kind < KINDS ? kind : KINDS};
  increment(&cuda_copies_total, &key, 1);
  increment(&cuda_copied_bytes_total, &key, bytes);
  return 0;
}

static __always_inline int allocated(u64 bytes) {
  struct tgid_key key = {.tgid = current_tgid()};
  increment(&cuda_allocated_bytes_total, &key, bytes);
  return 0;
}

static __always_inline int wait_begins(void) {
  u64 thread = bpf_get_current_pid_tgid();
  begin_time(&starts, &thread);
  return 0;
}

static __always_inline int wait_ends(u32 wait) {
  u64 thread = bpf_get_current_pid_tgid(), ns;
  if (!end_time(&starts, &thread, &ns)) return 0;
  struct wait_key key = {.tgid = thread >> 32, .wait = wait};
  increment_exp2(&cuda_wait_seconds, key, microseconds(ns), MAX_BUCKET);
  return 0;
}

#define AT(function) SEC("uprobe/libcudart.so*:" #function)
#define AT_END(function) SEC("uretprobe/libcudart.so*:" #function)

#define LAUNCH(function, what) \
  AT(function) int BPF_KPROBE(on_##function) { return launched(what); }

/* Not __cudaLaunchKernel, which ends in cudaLaunchKernel. */
LAUNCH(cudaLaunchKernel, CALL_KERNEL)
LAUNCH(cudaLaunchKernel_ptsz, CALL_KERNEL)
LAUNCH(cudaLaunchKernelExC, CALL_KERNEL)
LAUNCH(cudaLaunchKernelExC_ptsz, CALL_KERNEL)
LAUNCH(cudaLaunchCooperativeKernel, CALL_COOPERATIVE)
LAUNCH(cudaLaunchCooperativeKernel_ptsz, CALL_COOPERATIVE)
LAUNCH(cudaGraphLaunch, CALL_GRAPH)
LAUNCH(cudaGraphLaunch_ptsz, CALL_GRAPH)
LAUNCH(cudaLaunchHostFunc, CALL_HOST_FUNCTION)
LAUNCH(cudaLaunchHostFunc_ptsz, CALL_HOST_FUNCTION)

/* (to, from, bytes, kind …) */
#define COPY(function)                                                                    \
  AT(function) int BPF_KPROBE(on_##function, void *to, void *from, u64 bytes, u32 kind) { \
    return copied(bytes, kind);                                                           \
  }

COPY(cudaMemcpy)
COPY(cudaMemcpy_ptds)
COPY(cudaMemcpyAsync)
COPY(cudaMemcpyAsync_ptsz)

/* (&pointer, bytes …) */
#define ALLOCATE(function) \
  AT(function) int BPF_KPROBE(on_##function, void *pointer, u64 bytes) { return allocated(bytes); }

ALLOCATE(cudaMalloc)
ALLOCATE(cudaMallocAsync)
ALLOCATE(cudaMallocAsync_ptsz)
ALLOCATE(cudaMallocManaged)

#define WAIT(function, wait)                                           \
  AT(function) int BPF_KPROBE(on_##function) { return wait_begins(); } \
  AT_END(function) int BPF_KRETPROBE(after_##function) { return wait_ends(wait); }

WAIT(cudaStreamSynchronize, WAIT_STREAM)
WAIT(cudaStreamSynchronize_ptsz, WAIT_STREAM)
WAIT(cudaDeviceSynchronize, WAIT_DEVICE)
WAIT(cudaEventSynchronize, WAIT_EVENT)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
