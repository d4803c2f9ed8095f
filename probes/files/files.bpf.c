// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Bytes that files moved from and to their devices, and which file a thread's I/O is for: looked
// up once per block request, in the context of the thread that made it.
#include <asm/unistd.h>

#include "bpf/waits.bpf.h"

#define REQ_OP_MASK 0xff
#define REQ_OP_READ 0
#define REQ_OP_WRITE 1

#define PAGE_MAPPING_FLAGS 3 /* anonymous, movable, KSM: not a file; linux/page-flags.h */

/* The file whose page cache a request's first page belongs to; NULL for direct I/O. */
static __always_inline struct inode *page_inode(struct page *page) {
  u64 head = BPF_CORE_READ(page, compound_head);
  if (head & 1) page = (struct page *)(head - 1);
  u64 mapping = (u64)BPF_CORE_READ(page, mapping);
  if (!mapping || mapping & PAGE_MAPPING_FLAGS) return NULL;
  return BPF_CORE_READ((struct address_space *)mapping, host);
}

/* The file of the read or write call that the task is in. */
static __always_inline struct inode *call_inode(struct task_struct *task) {
  struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
  long call = REGS_SYSCALL(regs);
  if (call < 0 || call >= MAX_CALLS) return NULL;
  u8 class = calls[call & (MAX_CALLS - 1)];
  if (class != CALL_READ && class != CALL_WRITE) return NULL;
  struct file *file = file_of(task, REGS_ARG1(regs));
  return file ? BPF_CORE_READ(file, f_inode) : NULL;
}

static __always_inline int request_starts(struct request *rq) {
  u32 operation = rq->cmd_flags & REQ_OP_MASK;
  if (operation != REQ_OP_READ && operation != REQ_OP_WRITE) return 0;
  struct task_struct *task = bpf_get_current_task_btf();
  struct thread *t = member(task);
  struct inode *inode = page_inode(BPF_CORE_READ(rq, bio, bi_io_vec, bv_page));
  if (!inode && t) inode = call_inode(task);
  if (!inode) return 0;
  struct file_key key = {};
  key.inode = BPF_CORE_READ(inode, i_ino);
  key.device = BPF_CORE_READ(inode, i_sb, s_dev);
  struct file_use *use;
  if (t) {
    key.job = t->job;
    use = meet_inode(inode, &key);
    t->io_inode = key.inode;
    t->io_device = key.device;
  } else {  // write-back of a file that the job has met
    use = bpf_map_lookup_elem(&files, &key);
  }
  if (!use) return 0;
  u64 *bytes = operation == REQ_OP_READ ? &use->bytes_read : &use->bytes_written;
  __sync_fetch_and_add(bytes, rq->__data_len);
  return 0;
}

SEC("tp_btf/block_io_start")  // 6.5, 5a80bd075f3b
int BPF_PROG(on_io_start, struct request *rq) { return request_starts(rq); }

SEC("tp_btf/block_rq_issue")  // the nearest thing before: may run in another task's context
int BPF_PROG(on_issue, struct request *rq) { return request_starts(rq); }

char LICENSE[] SEC("license") = "Dual BSD/GPL";
