// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Collectives and transfers asked of NCCL, as they are called: inside of a group, too. Bytes are
// those of the call's own count and type; what goes over the wires depends on the algorithm.
#define LOST nccl_lost_total
#include "jobscope.bpf.h"

struct call_key {
  u32 tgid;
  u32 operation;
};

COUNTER_MAP(nccl_calls_total, BPF_MAP_TYPE_HASH, struct call_key, 16384, BPF_F_NO_PREALLOC);
COUNTER_MAP(nccl_bytes_total, BPF_MAP_TYPE_HASH, struct call_key, 16384, BPF_F_NO_PREALLOC);
COUNTER_MAP(nccl_unknown_types_total, BPF_MAP_TYPE_PERCPU_ARRAY, u32, 1, 0);

enum operation {
  ALL_REDUCE,
  ALL_GATHER,
  REDUCE_SCATTER,
  BROADCAST,
  REDUCE,
  ALL_TO_ALL,
  GATHER,
  SCATTER,
  SEND,
  RECEIVE,
};

/* ncclDataType_t, nccl.h: int8, uint8, int32, uint32, int64, uint64, float16, float32, float64,
 * bfloat16, float8e4m3, float8e5m2. 0: not known. */
static __always_inline u32 size_of_type(u32 type) {
  switch (type) {
    case 0:
    case 1:
    case 10:
    case 11: return 1;
    case 6:
    case 9: return 2;
    case 2:
    case 3:
    case 7: return 4;
    case 4:
    case 5:
    case 8: return 8;
    default: return 0;
  }
}

static __always_inline int called(u32 operation, u64 count, u32 type) {
  struct call_key key = {.tgid = current_tgid(), .operation = operation};
  u32 size = size_of_type(type);
  increment(&nccl_calls_total, &key, 1);
  if (size)
    increment(&nccl_bytes_total, &key, count * size);
  else
    increment_only(&nccl_unknown_types_total, 1);
  return 0;
}

#define AT(function) SEC("uprobe/libnccl.so*:" #function)

/* (from, to, count, type …) */
#define COLLECTIVE(function, operation)                                                   \
  AT(function) int BPF_KPROBE(on_##function, void *from, void *to, u64 count, u32 type) { \
    return called(operation, count, type);                                                \
  }

COLLECTIVE(ncclAllReduce, ALL_REDUCE)
COLLECTIVE(ncclAllGather, ALL_GATHER)
COLLECTIVE(ncclReduceScatter, REDUCE_SCATTER)
COLLECTIVE(ncclBroadcast, BROADCAST) /* ncclBcast calls it */
COLLECTIVE(ncclReduce, REDUCE)
COLLECTIVE(ncclAlltoAll, ALL_TO_ALL)
COLLECTIVE(ncclGather, GATHER)
COLLECTIVE(ncclScatter, SCATTER)

/* (buffer, count, type …) */
#define TRANSFER(function, operation)                                             \
  AT(function) int BPF_KPROBE(on_##function, void *buffer, u64 count, u32 type) { \
    return called(operation, count, type);                                        \
  }

TRANSFER(ncclSend, SEND)
TRANSFER(ncclRecv, RECEIVE)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
