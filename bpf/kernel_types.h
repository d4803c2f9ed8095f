/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The kernel's structures, only with the fields we read. Names are the kernel's; offsets come from
 * the running kernel's BTF at load (CO-RE), so order and gaps here mean nothing. A field that some
 * supported kernel lacks stands in a flavour (NAME___why) with the kernel commit beside it. */
#pragma once

#include <linux/types.h>
#include <stdbool.h>

#ifndef NULL
#define NULL ((void *)0)
#endif

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
  int counter;
} atomic_t;

typedef struct {
  s64 counter;
} atomic_long_t;

struct hlist_node {
  struct hlist_node *next, **pprev;
};

struct hlist_head {
  struct hlist_node *first;
};

/* ---- tasks ---- */

struct sched_info {
  unsigned long long run_delay;
  unsigned long long last_arrival;
  unsigned long long last_queued;
};

struct rq {
  u64 nr_switches;
  u64 clock;
  int cpu;
};

struct cfs_rq {
  struct rq *rq; /* with CONFIG_FAIR_GROUP_SCHED */
};

struct sched_entity {
  u64 sum_exec_runtime;
  struct cfs_rq *cfs_rq; /* set for tasks of every class: set_task_rq() */
};

struct cfs_bandwidth {
  u64 quota; /* ~0: none */
  u64 throttled_time;
};

struct task_group {
  struct task_group *parent;
  struct cfs_bandwidth cfs_bandwidth;
};

struct upid {
  int nr;
};

struct pid {
  struct upid numbers[1];
};

struct signal_struct {
  atomic_t live; /* threads that have not begun to exit */
  int group_exit_code;
  unsigned int flags;
  unsigned long maxrss;                 /* pages */
  unsigned long long sum_sched_runtime; /* ns on a CPU of threads that are gone */
  unsigned long min_flt, maj_flt;
};

struct percpu_counter {
  s64 count;
};

struct mm_struct {
  struct {
    unsigned long arg_start, arg_end;
    unsigned long hiwater_rss; /* pages; brought up to date only now and then */
    /* by MM_FILEPAGES, MM_ANONPAGES, MM_SWAPENTS, MM_SHMEMPAGES */
    struct percpu_counter rss_stat[4];
  };
};

/* f1a7941243c1 ("mm: convert mm's rss stats into percpu_counter"), 6.2 */
struct mm_rss_stat___before_6_2 {
  atomic_long_t count[4];
};
struct mm_struct___before_6_2 {
  struct mm_rss_stat___before_6_2 rss_stat;
};

struct thread_info {
  u32 status;        /* x86: TS_COMPAT */
  u32 preempt_count; /* not x86 */
};

struct fs_struct;
struct files_struct;
struct css_set;

struct task_struct {
  struct thread_info thread_info;
  unsigned int __state; /* `state` before 5.14, see task_state() */
  void *stack;
  unsigned int flags;
  unsigned int on_rq, on_cpu; /* u8 in 7.x: only unsigned fields may differ in size */
  int exit_code;
  int pid, tgid;
  unsigned in_iowait : 1;
  struct sched_entity se;
  struct sched_info sched_info;
  struct task_group *sched_task_group;
  struct task_struct *group_leader;
  struct task_struct *real_parent;
  struct signal_struct *signal;
  struct mm_struct *mm;
  struct fs_struct *fs;
  struct files_struct *files;
  struct css_set *cgroups;
  u64 utime, stime;
  u64 start_time;
  u64 self_exec_id; /* counts execs; inherited */
  unsigned long nvcsw, nivcsw;
  unsigned long min_flt, maj_flt;
  char comm[16];
};

/* 2f064a59a11f ("sched: Change task_struct::state"), 5.14 */
struct task_struct___before_5_14 {
  long state;
};

struct seq_file;

struct bpf_iter_meta {
  struct seq_file *seq;
};

struct bpf_iter__bpf_map_elem {
  struct bpf_iter_meta *meta;
  void *key, *value;
};

struct bpf_iter__task {
  struct bpf_iter_meta *meta;
  struct task_struct *task;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
  unsigned long di, si, dx, cx, r8, r9, r10;
  unsigned long ax;
  unsigned long orig_ax; /* number of the system call, -1 outside of one */
  unsigned long ip, sp;
};
#define THREAD_SIZE 16384 /* asm/page_64_types.h; with KASAN more */
#define REGS_SYSCALL(r) ((long)REG(r, orig_ax))
#define REGS_ARG1(r) REG(r, di)
#define REGS_ARG2(r) REG(r, si)
#define REGS_IP(r) REG(r, ip)
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
  u64 regs[31];
  u64 sp, pc;
};
struct pt_regs {
  struct user_pt_regs user_regs;
  u64 orig_x0;
  s32 syscallno; /* -1 (NO_SYSCALL) outside of one */
};
#define THREAD_SIZE 16384 /* asm/memory.h, pages of 4 KiB */
#define REGS_SYSCALL(r) ((long)REG(r, syscallno))
#define REGS_ARG1(r) REG(r, orig_x0)
#define REGS_ARG2(r) REG(r, user_regs.regs[1])
#define REGS_IP(r) REG(r, user_regs.pc)
#define REGS_LINK(r) REG(r, user_regs.regs[30])
#endif

/* ---- files ---- */

struct qstr {
  u32 len;
  const unsigned char *name;
};

struct super_block {
  u32 s_dev;
  unsigned long s_magic;
};

struct inode {
  unsigned short i_mode;
  u32 i_rdev;
  unsigned long i_ino;
  u32 i_generation;
  struct super_block *i_sb;
  struct hlist_head i_dentry;
};

struct dentry {
  struct dentry *d_parent;
  struct qstr d_name;
  struct inode *d_inode;
  union {
    struct hlist_node d_alias;
  } d_u;
};

/* In 7.x the union has no name. */
struct dentry___since_7_0 {
  struct hlist_node d_alias;
};

struct vfsmount {
  struct dentry *mnt_root;
};

struct mount {
  struct mount *mnt_parent;
  struct dentry *mnt_mountpoint;
  struct vfsmount mnt;
};

struct path {
  struct vfsmount *mnt;
  struct dentry *dentry;
};

struct file {
  struct path f_path;
  struct inode *f_inode;
  void *private_data;
};

struct fdtable {
  unsigned int max_fds;
  struct file **fd;
};

struct files_struct {
  struct fdtable *fdt;
};

struct fs_struct {
  struct path root;
};

/* ---- sockets ---- */

struct in6_addr {
  union {
    u8 u6_addr8[16];
    u32 u6_addr32[4];
  } in6_u;
};

struct sock_common {
  unsigned short skc_family;
  unsigned char skc_state; /* TCP_… */
  u32 skc_daddr;
  u32 skc_rcv_saddr;
  __be16 skc_dport;
  u16 skc_num;
  struct in6_addr skc_v6_daddr; /* both only with CONFIG_IPV6 */
  struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
  struct sock_common __sk_common;
  u16 sk_type;
  u16 sk_protocol;
  int sk_err;
  struct pid *sk_peer_pid;
};

struct socket {
  struct sock *sk;
};

struct tcp_sock {
  u32 total_retrans; /* segments, as in TCP_INFO */
};

/* ---- block requests ---- */

struct gendisk {
  int major;
  int first_minor;
  char disk_name[32];
};

struct request_queue {
  struct gendisk *disk; /* d152c682f03c, 5.15; before: request.rq_disk */
};

struct bio_vec;

struct bvec_iter {
  unsigned int bi_size; /* bytes that are still to do */
  unsigned int bi_idx;  /* of bi_io_vec */
};

struct block_device {
  u32 bd_dev;
};

/* 309dca309fc3 ("block: store a block_device pointer in struct bio"), 5.12 */
struct bio___before_5_12 {
  struct gendisk *bi_disk;
  unsigned char bi_partno;
};

struct bio {
  struct bio *bi_next;
  struct block_device *bi_bdev;
  unsigned int bi_opf;
  unsigned short bi_flags;
  struct bvec_iter bi_iter;
  struct bio_vec *bi_io_vec;
};

enum mq_rq_state { MQ_RQ_IDLE, MQ_RQ_IN_FLIGHT, MQ_RQ_COMPLETE };

struct request {
  struct request_queue *q;
  unsigned int cmd_flags;
  unsigned int rq_flags;
  unsigned int __data_len; /* bytes that are still to do */
  u64 __sector;
  enum mq_rq_state state;
  u64 start_time_ns; /* set soon after block_io_start; not where the queue keeps no statistics */
  struct bio *bio;
};

/* f3fa33acca9f ("block: remove the ->rq_disk field in struct request"), 5.17 */
struct request___before_5_17 {
  struct gendisk *rq_disk;
};

/* ---- pages ---- */

struct address_space {
  struct inode *host;
};

struct page {
  unsigned long compound_head;   /* bit 0: a tail page; the rest: its head */
  struct address_space *mapping; /* low bits: what kind it is, see page_inode() */
};

/* Since 7.0 the same place is called so, and may hold a mask that makes a tail's address its
 * head's. */
struct page___since_7_0 {
  unsigned long compound_info;
};

struct bio_vec {
  struct page *bv_page;
};

/* ---- memory cgroups ---- */

struct page_counter {
  atomic_long_t usage; /* pages */
  unsigned long max;
  struct page_counter *parent;
};

struct kernfs_node {
  const char *name;
  u64 id;
};

struct cgroup {
  struct kernfs_node *kn;
};

struct cgroup_subsys_state {
  struct cgroup *cgroup;
  struct cgroup_subsys_state *parent;
};

struct mem_cgroup {
  struct cgroup_subsys_state css;
  struct page_counter memory;
};

enum cgroup_subsys_id {
  memory_cgrp_id = 4, /* the running kernel's value comes from its BTF */
};

struct css_set {
  struct cgroup_subsys_state *subsys[16];
  struct cgroup *dfl_cgrp; /* in the unified hierarchy */
};

/* ---- signals ---- */

struct kernel_siginfo {
  int si_code;
};

struct linux_binprm;

/* ---- records of tracepoints, in SEC("tracepoint/…") ---- */

struct trace_event_raw_sys_enter {
  long id;
  unsigned long args[6];
};

struct trace_event_raw_sys_exit {
  long id;
  long ret;
};

#pragma clang attribute pop

#define PF_KTHREAD 0x00200000
#define TASK_STOPPED 0x0004
#define TASK_TRACED 0x0008
#define TASK_DEAD 0x0080
#define TASK_NEW 0x0800    /* not yet woken for the first time */
#define TASK_FROZEN 0x8000 /* f5d39b020809, 6.1 */
#define SIGNAL_GROUP_EXIT 0x00000004
