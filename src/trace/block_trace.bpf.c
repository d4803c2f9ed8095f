// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Each block request when it has ended, and, for those that a trace is filtered to, how many reads
// needed none.
#include <asm/unistd.h>

#include "bpf/descriptors.bpf.h"
#include "src/trace/filter.bpf.h"

struct request_owner {
  u64 start;
  u32 pid, tid;
  u32 verdict;
  u32 cpu;
  char comm[16];
};
#include "bpf/requests.bpf.h"

const volatile __u32 wanted_device = 0; /* 0: any */
const volatile __u8 count_reads = 0;    /* on_call_end is attached */

/* By process. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 65536);
  __type(key, u32);
  __type(value, struct read_calls);
} reads SEC(".maps");

/* Threads that made a request in the read they are in. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 65536);
  __type(key, u32);
  __type(value, u8);
} reading_device SEC(".maps");

static __always_inline bool is_read(long call) {
  return call == __NR_read || call == __NR_pread64 || call == __NR_readv || call == __NR_preadv ||
         call == __NR_preadv2;
}

static __always_inline bool find_owner(struct request_owner *owner) {
  struct trace_head head = {};
  if (!describe_current(&head)) return false;
  owner->pid = head.pid;
  owner->tid = head.tid;
  owner->verdict = head.verdict;
  owner->cpu = head.cpu;
  __builtin_memcpy(owner->comm, head.comm, sizeof(owner->comm));
  if (count_reads) {
    struct pt_regs *regs = user_regs(current_task());
    u8 yes = 1;
    if (is_read(REGS_SYSCALL(regs)) && !(BPF_CORE_READ(current_task(), flags) & PF_KTHREAD))
      bpf_map_update_elem(&reading_device, &owner->tid, &yes, BPF_ANY);
  }
  return true;
}

static __always_inline void tell_request(const struct open_request *r, u64 issued, u64 now,
                                         u64 bytes, int error, bool unseen) {
  if (wanted_device && r->head.device != wanted_device) return;
  struct block_record record = {};
  record.head.event.type = TRACE_BLOCK;
  record.head.event.size = sizeof(record);
  record.head.at = now;
  record.head.pid = r->owner.pid;
  record.head.tid = r->owner.tid;
  record.head.verdict = r->owner.verdict;
  record.head.cpu = r->owner.cpu;
  __builtin_memcpy(record.head.comm, r->owner.comm, sizeof(record.head.comm));
  record.start = r->owner.start;
  record.issued = issued;
  record.sector = r->head.sector;
  record.bytes = bytes;
  record.device = r->head.device;
  record.flags = r->head.flags;
  record.operation = r->head.operation;
  record.unseen = unseen;
  record.error = error;
  tell(&record, sizeof(record));
}

static __always_inline void request_ended(const struct open_request *r, struct request *rq,
                                          u64 issued, u64 now, int error) {
  tell_request(r, issued, now, r->head.bytes, error, false);
}

static __always_inline void request_unseen(const struct open_request *r, struct request *rq) {
  tell_request(r, 0, bpf_ktime_get_ns(), r->head.length, 0, true);
}

static __always_inline void request_refused(void) { count_loss(LOST_REQUESTS); }
static __always_inline void request_issued(struct open_request *r, struct request *rq) {}

/* A file whose data the page cache holds. */
static __always_inline bool has_pages(struct task_struct *task, u32 fd) {
  struct file *file = file_of(task, fd);
  if (!file) return false;
  struct inode *inode = BPF_CORE_READ(file, f_inode);
  if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFREG) return false;
  unsigned long magic = BPF_CORE_READ(inode, i_sb, s_magic);
  return !is_remote_fs(magic) && !is_made_up_fs(magic);
}

static __always_inline void count_read(u32 pid, bool from_device) {
  struct read_calls *calls = bpf_map_lookup_elem(&reads, &pid);
  if (!calls) {
    struct read_calls zero = {};
    bpf_map_update_elem(&reads, &pid, &zero, BPF_NOEXIST);
    calls = bpf_map_lookup_elem(&reads, &pid);
  }
  if (calls) __sync_fetch_and_add(from_device ? &calls->device : &calls->cached, 1);
}

/* The end of a system call: only a read that gave something counts. */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_call_end, struct pt_regs *regs, long result) {
  if (!is_read(REGS_SYSCALL(regs))) return 0;
  u64 id = bpf_get_current_pid_tgid();
  u32 pid = id >> 32, tid = id;
  if (!passes(verdict_of(pid)) || !has_wanted_comm(current_task())) return 0;
  u8 *device = bpf_map_lookup_elem(&reading_device, &tid);
  bool from_device = device != NULL;
  if (from_device) bpf_map_delete_elem(&reading_device, &tid);
  if (result > 0 && has_pages(current_task(), REGS_ARG1(regs))) count_read(pid, from_device);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
