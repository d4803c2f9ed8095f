// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Latency of the machine's block requests, in log2 histograms of µs, for a round.
#include "src/trace/filter.bpf.h"

struct request_owner {
  u64 start;
  u64 cgroup;
  u32 pid;
  u32 pad;
  char comm[16];
};
#include "bpf/requests.bpf.h"

/* What the histograms are apart by; set before load. */
const volatile __u8 by_device = 0, by_operation = 0, by_comm = 0, by_pid = 0;
const volatile __u32 wanted_device = 0; /* 0: any */
const volatile __u32 unit_ns = 1000;    /* of the slots; sum and max are in µs always */

/* User space puts an empty one in its place at the end of a round (src/bpf/inner_map.h). */
struct latencies_map {
  __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 10240);
  __type(key, struct latency_key);
  __type(value, struct histogram);
} latencies SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, 1);
  __type(key, u32);
  __array(values, struct latencies_map);
} latencies_now SEC(".maps") = {.values = {[0] = &latencies}};

static const struct histogram none = {};

static __always_inline bool find_owner(struct request_owner *owner) {
  owner->pid = bpf_get_current_pid_tgid() >> 32;
  if (!passes(verdict_of(owner->pid)) || !has_wanted_comm(current_task())) return false;
  if (by_comm) bpf_get_current_comm(owner->comm, sizeof(owner->comm));
  if (by_pid) owner->cgroup = bpf_get_current_cgroup_id();
  return true;
}

static __always_inline bool is_wanted_device(const struct open_request *r) {
  return !wanted_device || r->head.device == wanted_device;
}

static __always_inline void request_ended(const struct open_request *r, struct request *rq,
                                          u64 issued, u64 now, int error) {
  if (!is_wanted_device(r)) return;
  struct latency_key key = {};
  if (by_device) key.device = r->head.device;
  if (by_operation) key.operation = r->head.operation;
  if (by_pid) {
    key.pid = r->owner.pid;
    key.cgroup = r->owner.cgroup;
  }
  if (by_comm) __builtin_memcpy(key.comm, r->owner.comm, sizeof(key.comm));
  u32 zero = 0;
  void *map = bpf_map_lookup_elem(&latencies_now, &zero);
  if (!map) return;
  struct histogram *h = bpf_map_lookup_elem(map, &key);
  if (!h) {
    bpf_map_update_elem(map, &key, &none, BPF_NOEXIST);
    h = bpf_map_lookup_elem(map, &key);
  }
  if (!h) {
    count_loss(LOST_REQUESTS);
    return;
  }
  u64 us = (now - r->owner.start) / 1000;
  u64 slot = log2_slot((now - r->owner.start) / unit_ns);
  /* A bound that 6.1's verifier sees and clang does not take away. */
  asm volatile("%0 &= %1" : "+r"(slot) : "i"(HISTOGRAM_SLOTS - 1));
  h->slots[slot] += 1;
  h->sum += us;
  if (us > h->max) h->max = us;
}

static __always_inline void request_unseen(const struct open_request *r, struct request *rq) {
  if (is_wanted_device(r)) count_loss(LOST_REQUESTS);
}

static __always_inline void request_refused(void) { count_loss(LOST_REQUESTS); }
static __always_inline void request_issued(struct open_request *r, struct request *rq) {}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
