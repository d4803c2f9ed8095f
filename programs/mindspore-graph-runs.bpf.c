// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// MindSpore: the runs of compiled graphs, the gradients in PyNative mode, and how long training
// waits for its data. Symbols of 2.10; of versions without them there is nothing.
#define LOST mindspore_lost_total
#include "jobscope.bpf.h"

#define MAX_BUCKET 30

struct run_key {
  u32 tgid;
  u32 bucket;
};

/* By thread and program, since they lie within each other. */
struct start_key {
  u64 thread;
  u64 what;
};

enum what { GRAPH_RUN, GRADIENT, DATA_WAIT };

STARTS_LRU_MAP(starts, struct start_key, 8192);
#define ROWS 16384
COUNTER_MAP(mindspore_graph_run_seconds, BPF_MAP_TYPE_HASH, struct run_key, ROWS,
            BPF_F_NO_PREALLOC);
COUNTER_MAP(mindspore_gradient_seconds, BPF_MAP_TYPE_HASH, struct run_key, ROWS, BPF_F_NO_PREALLOC);
COUNTER_MAP(mindspore_data_wait_seconds, BPF_MAP_TYPE_HASH, struct run_key, ROWS,
            BPF_F_NO_PREALLOC);

static __always_inline int begins(u64 what) {
  struct start_key key = {.thread = bpf_get_current_pid_tgid(), .what = what};
  begin_time(&starts, &key);
  return 0;
}

static __always_inline int ends(void *map, u64 what) {
  struct start_key start = {.thread = bpf_get_current_pid_tgid(), .what = what};
  u64 ns;
  if (!end_time(&starts, &start, &ns)) return 0;
  struct run_key key = {.tgid = current_tgid()};
  increment_exp2(map, key, microseconds(ns), MAX_BUCKET);
  return 0;
}

#define TIMED(name, where, what, map)                                     \
  SEC("uprobe/" where) int BPF_KPROBE(on_##name) { return begins(what); } \
  SEC("uretprobe/" where) int BPF_KRETPROBE(after_##name) { return ends(map, what); }

/* mindspore::runtime::GraphScheduler::Run(ActorSet*, …) */
TIMED(graph_run,
      "libmindspore_ms_backend.so:"
      "_ZN9mindspore7runtime14GraphScheduler3RunEPNS0_8ActorSetERKSt6vectorIS4_ISt10shared_ptrINS_"
      "6tensor6TensorEESaIS8_EESaISA_EERKNS_9VectorRefENS0_22GraphExecutionStrategyE",
      GRAPH_RUN, &mindspore_graph_run_seconds)
/* mindspore::pynative::PyNativeExecutor::RunGrad(…) */
TIMED(
    gradient,
    "libmindspore_pynative.so:"
    "_ZNK9mindspore8pynative16PyNativeExecutor7RunGradERKSt10shared_ptrINS_4prim13GradOperationEER"
    "KN8pybind116objectESB_SB_SB_RKNS8_4argsE",
    GRADIENT, &mindspore_gradient_seconds)
/* mindspore::dataset::TreeAdapter::GetNext(TensorRow*): once more at the end of each epoch */
TIMED(data_wait, "_c_dataengine*.so:_ZN9mindspore7dataset11TreeAdapter7GetNextEPNS0_9TensorRowE",
      DATA_WAIT, &mindspore_data_wait_seconds)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
