/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Block requests from their start to their end, on every kernel since 5.10: whose they are, how
 * long they waited for the device and how long it took. A request is told once, when it has ended:
 * merged ones vanish in the one they went into, requeued ones are issued again, those done in
 * pieces end with the last piece.
 *
 * The object that includes this defines before
 *   struct request_owner        what it keeps of who makes a request; begins with `u64 start`
 * and anywhere
 *   find_owner()                fills it, zeroed before, but for `start`; false: nobody of interest
 *   request_issued()            for the first time; r->head.sector and rq->__data_len tell where
 *   request_ended()             `issued` is 0 if its turn in the device is not known
 *   request_unseen()            its end was not told
 *   request_refused()           there was no room for it
 * User space chooses and attaches the programs by src/bpf/block_programs.h.
 *
 * The maps are not preallocated: measured no slower, and most machines have a few requests open,
 * not thousands. */
#pragma once

#include "bpf/request.h"
#include "bpf/session.bpf.h"

#define REQ_OP_MASK 0xff
#define REQ_OP_WRITE 1
#define REQ_OP_FLUSH 2
#define REQ_OP_DISCARD 3
#define REQ_OP_PASSTHROUGH 32 /* and above: commands of drivers and of SCSI */

#define BIO_CHAIN 4 /* bios of a request that are asked whose they are */

/* The owner of a request is known by its bio: kernels without block_io_start. */
const volatile __u8 by_bio = 0;
/* RQF_FLUSH_SEQ: data and flushes of one request are under way, its real end comes without it. */
const volatile __u32 flush_sequence = 1 << 4;

struct open_request {
  struct request_head head;
  struct request_owner owner;
};

/* Under way, by address of the request. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 16384);
  __type(key, u64);
  __type(value, struct open_request);
} open_requests SEC(".maps");

/* by_bio: owners of bios that will be requests, by address of the bio. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 16384);
  __type(key, u64);
  __type(value, struct request_owner);
} open_bios SEC(".maps");

/* When a queue's flush was last given to the device, by address of the queue. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 1024);
  __type(key, u64);
  __type(value, u64);
} flushes SEC(".maps");

static __always_inline bool find_owner(struct request_owner *owner);
static __always_inline void request_issued(struct open_request *r, struct request *rq);
static __always_inline void request_ended(const struct open_request *r, struct request *rq,
                                          u64 issued, u64 now, int error);
static __always_inline void request_unseen(const struct open_request *r, struct request *rq);
static __always_inline void request_refused(void);

#ifndef REQUEST_COST /* around what the programs on hot paths do */
#define REQUEST_COST(call) call
#endif

static __always_inline u32 device_of(struct request *rq) {
  struct request___before_5_17 *old = (void *)rq;
  if (bpf_core_field_exists(old->rq_disk))
    return BPF_CORE_READ(old, rq_disk, major) << 20 | BPF_CORE_READ(old, rq_disk, first_minor);
  struct gendisk *disk = rq->q->disk;
  return disk->major << 20 | disk->first_minor;
}

static __always_inline u16 operation_of(struct request *rq) {
  u32 op = rq->cmd_flags & REQ_OP_MASK;
  if (op == REQ_OP_DISCARD) return BLOCK_DISCARD;
  if (op == REQ_OP_WRITE && !rq->__data_len) return BLOCK_FLUSH;
  return op & 1 ? BLOCK_WRITE : BLOCK_READ;
}

static __always_inline void start_request(struct request *rq, const struct request_owner *owner) {
  if ((rq->cmd_flags & REQ_OP_MASK) >= REQ_OP_PASSTHROUGH) return;
  struct open_request r = {};
  r.owner = *owner;
  r.head.operation = operation_of(rq);
  r.head.device = device_of(rq);
  r.head.flags = rq->cmd_flags;
  r.head.length = rq->__data_len;
  u64 id = (u64)rq;
  if (bpf_map_update_elem(&open_requests, &id, &r, BPF_NOEXIST) == 0) return;
  struct open_request *earlier = bpf_map_lookup_elem(&open_requests, &id);
  request_unseen(earlier ? earlier : &r, rq);
  if (earlier) bpf_map_update_elem(&open_requests, &id, &r, BPF_EXIST);
}

/* The open request behind `rq`. An entry whose request was started again since it was issued is
 * left over from one whose end was not told (the kernel skips a program that interrupts itself). */
static __always_inline struct open_request *find(struct request *rq) {
  u64 id = (u64)rq;
  struct open_request *r = bpf_map_lookup_elem(&open_requests, &id);
  if (!r || !r->head.issued || rq->start_time_ns <= r->head.stamp) return r;
  request_unseen(r, rq);
  bpf_map_delete_elem(&open_requests, &id);
  return NULL;
}

/* by_bio: a request that is seen for the first time. Merging may have put other bios in front. */
static __always_inline struct open_request *find_by_bio(struct request *rq) {
  struct bio *bio = rq->bio;
  for (int i = 0; i < BIO_CHAIN && bio; i++) {
    u64 id = (u64)bio;
    struct request_owner *known = bpf_map_lookup_elem(&open_bios, &id);
    if (known) {
      struct request_owner owner = *known;
      bpf_map_delete_elem(&open_bios, &id);
      start_request(rq, &owner);
      id = (u64)rq;
      return bpf_map_lookup_elem(&open_requests, &id);
    }
    bio = BPF_CORE_READ(bio, bi_next);
  }
  return NULL;
}

static __always_inline void issue_request(struct request *rq) {
  if ((rq->cmd_flags & REQ_OP_MASK) == REQ_OP_FLUSH) {
    u64 queue = (u64)rq->q;
    u64 now = bpf_ktime_get_ns();
    bpf_map_update_elem(&flushes, &queue, &now, BPF_ANY);
    return;
  }
  struct open_request *r = find(rq);
  if (!r && by_bio) r = find_by_bio(rq);
  if (!r) return;
  if (!r->head.issued) {
    r->head.stamp = rq->start_time_ns;
    r->head.sector = rq->__sector;
    request_issued(r, rq);
  }
  r->head.issued = bpf_ktime_get_ns();
  r->head.length = r->head.bytes + rq->__data_len;
}

static __always_inline void complete_request(struct request *rq, int error, u32 bytes) {
  struct open_request *r = find(rq);
  if (!r && by_bio && !rq->__data_len) r = find_by_bio(rq); /* a flush is never issued itself */
  if (!r) return;
  r->head.bytes += bytes;
  if (bytes < rq->__data_len || rq->rq_flags & flush_sequence) return;
  u64 now = bpf_ktime_get_ns();
  u64 issued = r->head.issued;
  if (!issued && r->head.operation == BLOCK_FLUSH) {
    u64 queue = (u64)rq->q;
    u64 *flush = bpf_map_lookup_elem(&flushes, &queue);
    if (flush) issued = *flush;
  }
  request_ended(r, rq, issued < r->owner.start ? 0 : issued, now, error);
  u64 id = (u64)rq;
  bpf_map_delete_elem(&open_requests, &id);
}

static __always_inline void forget_request(struct request *rq) {
  u64 id = (u64)rq;
  bpf_map_delete_elem(&open_requests, &id);
  if (!by_bio) return;
  id = (u64)rq->bio;
  bpf_map_delete_elem(&open_bios, &id);
}

static __always_inline void get_request(struct bio *bio) {
  u64 id = (u64)bio;
  struct request_owner owner = {};
  if (!find_owner(&owner)) {
    bpf_map_delete_elem(&open_bios, &id);
    return;
  }
  owner.start = bpf_ktime_get_ns();
  if (bpf_map_update_elem(&open_bios, &id, &owner, BPF_ANY)) request_refused();
}

static __always_inline void make_request(struct request *rq) {
  struct request_owner owner = {};
  if (!find_owner(&owner)) return;
  owner.start = bpf_ktime_get_ns();
  start_request(rq, &owner);
}

/* In the task that makes the request. */
SEC("tp_btf/block_io_start")
int BPF_PROG(on_start, struct request *rq) {
  REQUEST_COST(make_request(rq));
  return 0;
}

/* The same before 6.5 (5a80bd075f3b): only the bio is told. */
SEC("tp_btf/block_getrq")
int BPF_PROG(on_getrq, struct bio *bio) {
  REQUEST_COST(get_request(bio));
  return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_issue, struct request *rq) {
  REQUEST_COST(issue_request(rq));
  return 0;
}

/* Not block_io_done: without /sys/block/…/queue/iostats it is silent, and older kernels lack it. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_complete, struct request *rq, int error, unsigned int bytes) {
  REQUEST_COST(complete_request(rq, error, bytes));
  return 0;
}

/* `rq` has gone into another request. */
SEC("tp_btf/block_rq_merge")
int BPF_PROG(on_merge, struct request *rq) {
  forget_request(rq);
  return 0;
}

/* Before 5.11 (a54895fa057c, e8a676d61c07) these had the queue in front. */
SEC("tp_btf/block_getrq")
int BPF_PROG(on_getrq_of_queue, struct request_queue *q, struct bio *bio) {
  REQUEST_COST(get_request(bio));
  return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_issue_of_queue, struct request_queue *q, struct request *rq) {
  REQUEST_COST(issue_request(rq));
  return 0;
}

SEC("tp_btf/block_rq_merge")
int BPF_PROG(on_merge_of_queue, struct request_queue *q, struct request *rq) {
  forget_request(rq);
  return 0;
}

// At a look: finds the requests that are no longer under way, though nobody told their end.
SEC("iter/bpf_map_elem")
int settle(struct bpf_iter__bpf_map_elem *ctx) {
  u64 *id = ctx->key;
  struct open_request *r = ctx->value;
  if (!id || !r || !r->head.issued || r->head.settled) return 0;
  struct request *rq = (struct request *)*id;
  bool same = BPF_CORE_READ(rq, start_time_ns) == r->head.stamp;
  if (same && BPF_CORE_READ(rq, state) != MQ_RQ_IDLE) return 0;
  r->head.settled = 1;
  request_unseen(r, rq);
  return 0;
}
