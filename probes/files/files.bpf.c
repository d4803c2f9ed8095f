// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Bytes that files moved from and to their devices, and which file a thread's I/O is for: looked
// up once per bio, in the context of the thread that makes it.
#include <asm/unistd.h>

#include "bpf/waits.bpf.h"

#define REQ_OP_MASK 0xff
#define REQ_OP_READ 0
#define REQ_OP_WRITE 1

#define BIO_CLONED 1 /* linux/blk_types.h */

#define TMPFS_MAGIC 0x01021994 /* linux/magic.h */
#define HUGETLBFS_MAGIC 0x958458f6

#define PAGE_MAPPING_FLAGS 3 /* anonymous, movable, KSM: not a file; linux/page-flags.h */

#define LEAST_MASK 0xffffffff00000000ull /* above the addresses of all struct pages */

/* The first page of the folio that a page is in. */
static __always_inline struct page *head_of(struct page *page) {
  struct page___since_7_0 *newer = (void *)page;
  u64 info = bpf_core_field_exists(page->compound_head) ? BPF_CORE_READ(page, compound_head)
                                                        : BPF_CORE_READ(newer, compound_info);
  if (!(info & 1)) return page;
  return (struct page *)(info >= LEAST_MASK ? (u64)page & info : info - 1);
}

/* The file whose page cache the first page of a bio belongs to; NULL for direct I/O. */
static __always_inline struct inode *page_inode(struct bio *bio) {
  struct bio_vec *first = (void *)BPF_CORE_READ(bio, bi_io_vec) +
                          (u64)bio->bi_iter.bi_idx * bpf_core_type_size(struct bio_vec);
  struct page *page = BPF_CORE_READ(first, bv_page);
  page = head_of(page);
  u64 mapping = (u64)BPF_CORE_READ(page, mapping);
  if (!mapping || mapping & PAGE_MAPPING_FLAGS) return NULL;
  return BPF_CORE_READ((struct address_space *)mapping, host);
}

/* The file of the read or write call that the task is in. */
static __always_inline struct inode *call_inode(struct task_struct *task) {
  struct pt_regs *regs = user_regs(task);
  long call = REGS_SYSCALL(regs);
  if (call < 0 || call >= MAX_CALLS) return NULL;
  u8 class = calls[call & (MAX_CALLS - 1)];
  if (class != CALL_READ && class != CALL_WRITE) return NULL;
  struct file *file = file_of(task, REGS_ARG1(regs));
  return file ? BPF_CORE_READ(file, f_inode) : NULL;
}

static __always_inline u32 device_of_bio(struct bio *bio) {
  if (bpf_core_field_exists(bio->bi_bdev)) return BPF_CORE_READ(bio, bi_bdev, bd_dev);
  struct bio___before_5_12 *old = (void *)bio;
  return BPF_CORE_READ(old, bi_disk, major) << 20 |
         (BPF_CORE_READ(old, bi_disk, first_minor) + BPF_CORE_READ(old, bi_partno));
}

/* Whether the bio comes from the file's own file system (or device), and not from a device below
 * that passes its pages on, as loop and dm do. File systems over several devices have a number that
 * is no device's: of theirs, all that are not copies. */
static __always_inline bool is_from_file(struct bio *bio, struct inode *inode) {
  bool device_file = (BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFBLK;
  u32 home = device_file ? BPF_CORE_READ(inode, i_rdev) : BPF_CORE_READ(inode, i_sb, s_dev);
  if (home >> 20) return device_of_bio(bio) == home;
  unsigned long magic = BPF_CORE_READ(inode, i_sb, s_magic);
  if (magic == TMPFS_MAGIC || magic == HUGETLBFS_MAGIC) return false; /* memory to read into */
  return !(bio->bi_flags & 1 << BIO_CLONED);
}

/* The file that a bio is for. `t`: the member that makes it, NULL: a thread of the kernel. */
static __always_inline struct inode *file_of_bio(struct bio *bio, struct task_struct *task,
                                                 struct thread *t) {
  struct inode *inode = page_inode(bio);
  if (inode && is_from_file(bio, inode)) return inode;
  inode = t ? call_inode(task) : NULL;
  return inode && is_from_file(bio, inode) ? inode : NULL;
}

static __always_inline void count_bio(struct bio *bio) {
  u32 operation = bio->bi_opf & REQ_OP_MASK;
  if (operation != REQ_OP_READ && operation != REQ_OP_WRITE) return;
  struct task_struct *task = current_task();
  struct thread *t = current_member();
  if (!t && !(BPF_CORE_READ(task, flags) & PF_KTHREAD)) return;
  struct inode *inode = file_of_bio(bio, task, t);
  if (!inode) return;
  struct file_key key = key_of_inode(inode, t ? t->job : 0);
  struct file_use *use;
  if (t) {
    use = meet_inode(inode, &key);
    note_io(t, &key);
  } else {  // write-back of a file that the job has met
    use = bpf_map_lookup_elem(&files, &key);
  }
  if (!use) return;
  u64 *bytes = operation == REQ_OP_READ ? &use->bytes_read : &use->bytes_written;
  __sync_fetch_and_add(bytes, bio->bi_iter.bi_size);
}

/* A bio is handed to the block layer; once for each, before it is split or merged. */
SEC("tp_btf/block_bio_queue")
int BPF_PROG(on_bio, struct bio *bio) {
  u64 begin = cost_begin(COST_BLOCK);
  count_bio(bio);
  cost_end(COST_BLOCK, begin);
  return 0;
}

/* Before 5.11 (e8a676d61c07) it had the queue in front. */
SEC("tp_btf/block_bio_queue")
int BPF_PROG(on_bio_of_queue, struct request_queue *q, struct bio *bio) {
  count_bio(bio);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
