// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Block requests from their start to their end: whose they are, how long they waited for the device
// and how long it took. A request is counted once, when it has ended: merged ones vanish in the one
// they went into, requeued ones are issued again, those done in pieces end with the last piece.
#include "bpf/session.bpf.h"
#include "probes/blockio/requests.bpf.h"

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

/* Per CPU: 170 ns for an ended request against 220 ns with shared counters and atomics (measured),
 * and no line that CPUs take from each other. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 1024);
  __type(key, struct block_key);
  __type(value, struct block_use);
} block_uses SEC(".maps");

static const struct block_use none = {};

/* Whose request the current task makes. False: of a process that is not watched. */
static __always_inline bool find_owner(struct owner *owner) {
  if (!(BPF_CORE_READ(current_task(), flags) & PF_KTHREAD)) {
    struct thread *t = current_member();
    if (!t) return false;
    owner->job = t->job;
    owner->charged = 1;
  }
  owner->start = bpf_ktime_get_ns();
  return true;
}

static __always_inline u32 device_of(struct request *rq) {
  struct request___before_5_17 *old = (void *)rq;
  if (bpf_core_field_exists(old->rq_disk))
    return BPF_CORE_READ(old, rq_disk, major) << 20 | BPF_CORE_READ(old, rq_disk, first_minor);
  struct gendisk *disk = rq->q->disk;
  return disk->major << 20 | disk->first_minor;
}

static __always_inline void read_name(struct block_use *use, struct request *rq) {
  struct request___before_5_17 *old = (void *)rq;
  if (bpf_core_field_exists(old->rq_disk))
    BPF_CORE_READ_STR_INTO(&use->name, old, rq_disk, disk_name);
  else
    BPF_CORE_READ_STR_INTO(&use->name, rq, q, disk, disk_name);
}

static __always_inline u16 operation_of(struct request *rq) {
  u32 op = rq->cmd_flags & REQ_OP_MASK;
  if (op == REQ_OP_DISCARD) return BLOCK_DISCARD;
  if (op == REQ_OP_WRITE && !rq->__data_len) return BLOCK_FLUSH;
  return op & 1 ? BLOCK_WRITE : BLOCK_READ;
}

static __always_inline struct block_use *use_of(const struct block_key *key, struct request *rq) {
  struct block_use *use = bpf_map_lookup_elem(&block_uses, key);
  if (use) return use;
  bpf_map_update_elem(&block_uses, key, &none, BPF_NOEXIST);
  use = bpf_map_lookup_elem(&block_uses, key);
  if (use)
    read_name(use, rq);
  else
    count_loss(LOST_REQUESTS);
  return use;
}

/* A request whose end nobody told: an interrupt came while no BPF program may run, or the program
 * would have interrupted itself. It is counted, without its times. */
static __always_inline void count_unseen(struct open_request *r, struct request *rq) {
  count_loss(LOST_REQUESTS);
  struct block_key key = r->key;
  struct block_use *use = use_of(&key, rq);
  if (!use) return;
  use->count += 1;
  use->bytes += r->length;
  use->sequential += r->sequential;
}

static __always_inline void start_request(struct request *rq, const struct owner *owner) {
  if ((rq->cmd_flags & REQ_OP_MASK) >= REQ_OP_PASSTHROUGH) return;
  struct open_request r = {};
  r.start = owner->start;
  r.key.job = owner->job;
  r.key.charged = owner->charged;
  r.key.operation = operation_of(rq);
  r.key.device = device_of(rq);
  r.length = rq->__data_len;
  u64 id = (u64)rq;
  if (bpf_map_update_elem(&open_requests, &id, &r, BPF_NOEXIST) == 0) return;
  struct open_request *earlier = bpf_map_lookup_elem(&open_requests, &id);
  count_unseen(earlier ? earlier : &r, rq);
  if (earlier) bpf_map_update_elem(&open_requests, &id, &r, BPF_EXIST);
}

/* The open request behind `rq`. An entry whose request was started again since it was issued is
 * left over from one whose end was not told (the kernel skips a program that interrupts itself). */
static __always_inline struct open_request *find(struct request *rq) {
  u64 id = (u64)rq;
  struct open_request *r = bpf_map_lookup_elem(&open_requests, &id);
  if (!r || !r->issued || rq->start_time_ns <= r->stamp) return r;
  count_unseen(r, rq);
  bpf_map_delete_elem(&open_requests, &id);
  return NULL;
}

/* by_bio: a request that is seen for the first time. Merging may have put other bios in front. */
static __always_inline struct open_request *find_by_bio(struct request *rq) {
  struct bio *bio = rq->bio;
  for (int i = 0; i < BIO_CHAIN && bio; i++) {
    u64 id = (u64)bio;
    struct owner *known = bpf_map_lookup_elem(&open_bios, &id);
    if (known) {
      struct owner owner = *known;
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
  if (!r->issued) {
    r->stamp = rq->start_time_ns;
    u64 first = rq->__sector;
    u64 end = first + (rq->__data_len >> 9);
    u64 *position = bpf_map_lookup_elem(&positions, &r->key);
    if (position) {
      r->sequential = *position == first;
      *position = end;
    } else {
      bpf_map_update_elem(&positions, &r->key, &end, BPF_ANY);
    }
  }
  r->issued = bpf_ktime_get_ns();
  r->length = r->bytes + rq->__data_len;
}

static __always_inline void count(const struct open_request *r, struct request *rq) {
  struct block_use *use = use_of(&r->key, rq);
  if (!use) return;
  u64 now = bpf_ktime_get_ns();
  u64 start = r->start;
  u64 issued = r->issued;
  if (!issued && r->key.operation == BLOCK_FLUSH) {
    u64 queue = (u64)rq->q;
    u64 *flush = bpf_map_lookup_elem(&flushes, &queue);
    if (flush) issued = *flush;
  }
  use->count += 1;
  use->bytes += r->bytes;
  use->sequential += r->sequential;
  histogram_add(&use->latency, (now - start) / 1000);
  if (issued < start) return;
  histogram_add(&use->queue, (issued - start) / 1000);
  histogram_add(&use->device_time, (now - issued) / 1000);
}

static __always_inline void complete_request(struct request *rq, u32 bytes) {
  struct open_request *r = find(rq);
  if (!r && by_bio && !rq->__data_len) r = find_by_bio(rq); /* a flush is never issued itself */
  if (!r) return;
  r->bytes += bytes;
  if (bytes < rq->__data_len || rq->rq_flags & flush_sequence) return;
  count(r, rq);
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
  struct owner owner = {};
  if (!find_owner(&owner))
    bpf_map_delete_elem(&open_bios, &id);
  else if (bpf_map_update_elem(&open_bios, &id, &owner, BPF_ANY))
    count_loss(LOST_REQUESTS);
}

static __always_inline void make_request(struct request *rq) {
  struct owner owner = {};
  if (find_owner(&owner)) start_request(rq, &owner);
}

#define COUNT_COST(call)                \
  do {                                  \
    u64 begin = cost_begin(COST_BLOCK); \
    call;                               \
    cost_end(COST_BLOCK, begin);        \
  } while (0)

/* In the task that makes the request. */
SEC("tp_btf/block_io_start")
int BPF_PROG(on_start, struct request *rq) {
  COUNT_COST(make_request(rq));
  return 0;
}

/* The same before 6.5 (5a80bd075f3b): only the bio is told. */
SEC("tp_btf/block_getrq")
int BPF_PROG(on_getrq, struct bio *bio) {
  COUNT_COST(get_request(bio));
  return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_issue, struct request *rq) {
  COUNT_COST(issue_request(rq));
  return 0;
}

/* Not block_io_done: without /sys/block/…/queue/iostats it is silent, and older kernels lack it. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_complete, struct request *rq, int error, unsigned int bytes) {
  COUNT_COST(complete_request(rq, bytes));
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
  COUNT_COST(get_request(bio));
  return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_issue_of_queue, struct request_queue *q, struct request *rq) {
  COUNT_COST(issue_request(rq));
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
  if (!id || !r || !r->issued || r->settled) return 0;
  struct request *rq = (struct request *)*id;
  bool same = BPF_CORE_READ(rq, start_time_ns) == r->stamp;
  if (same && BPF_CORE_READ(rq, state) != MQ_RQ_IDLE) return 0;
  r->settled = 1;
  count_unseen(r, rq);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
