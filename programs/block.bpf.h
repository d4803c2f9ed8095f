/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Block requests as /proc/diskstats counts them. Programs at raw tracepoints: one that a kernel
 * lacks fails to attach, not to load. */
#pragma once

#define REQ_OP_MASK 0xff
#define REQ_OP_FLUSH 2
#define REQ_OP_DISCARD 3
#define REQ_OP_PASSTHROUGH 32 /* and above: commands of drivers and of SCSI */

enum operation { OPERATION_READ, OPERATION_WRITE, OPERATION_DISCARD };

/* Before 5.11 (a54895fa057c) the queue stood in front of the request. */
typedef void (*btf_trace_block_rq_issue___of_queue)(void *, struct request_queue *,
                                                    struct request *);
#define REQUEST_OF(ctx)                                                                          \
  ((struct request *)(bpf_core_type_exists(btf_trace_block_rq_issue___of_queue) ? TP_ARG(ctx, 1) \
                                                                                : TP_ARG(ctx, 0)))

/* 5f89154e8e9e ("block: Use enum to define RQF_x bit indexes"), 6.11, gave the flags other bits.
 * The enum had no name at first; the member `features` is of the same release. */
enum rqf_flags {
  __RQF_FLUSH_SEQ,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct queue_limits {
  unsigned int features;
};
#pragma clang attribute pop

/* Data and flushes of one request are under way; its real end comes without this flag. */
static __always_inline bool in_flush_sequence(struct request *rq) {
  u32 bit = 4;
  if (bpf_core_enum_value_exists(enum rqf_flags, __RQF_FLUSH_SEQ))
    bit = bpf_core_enum_value(enum rqf_flags, __RQF_FLUSH_SEQ);
  else if (bpf_core_field_exists(((struct queue_limits *)0)->features))
    bit = 1;
  return BPF_CORE_READ(rq, rq_flags) >> bit & 1;
}

/* Neither a driver's command nor a flush that the block layer made itself. */
static __always_inline bool is_accounted(struct request *rq) {
  u32 op = BPF_CORE_READ(rq, cmd_flags) & REQ_OP_MASK;
  return op < REQ_OP_PASSTHROUGH && op != REQ_OP_FLUSH;
}

static __always_inline enum operation operation_of(struct request *rq) {
  u32 op = BPF_CORE_READ(rq, cmd_flags) & REQ_OP_MASK;
  if (op == REQ_OP_DISCARD) return OPERATION_DISCARD;
  return op & 1 ? OPERATION_WRITE : OPERATION_READ;
}

static __always_inline u32 device_of(struct request *rq) {
  struct request___before_5_17 *old = (void *)rq;
  struct gendisk *disk = bpf_core_field_exists(old->rq_disk) ? BPF_CORE_READ(old, rq_disk)
                                                             : BPF_CORE_READ(rq, q, disk);
  return device_number(BPF_CORE_READ(disk, major), BPF_CORE_READ(disk, first_minor));
}

/* At block_rq_complete(rq, error, bytes): whether this is the end of all of it. */
static __always_inline bool is_whole_end(struct request *rq, u32 bytes) {
  return bytes >= BPF_CORE_READ(rq, __data_len) && !in_flush_sequence(rq);
}
