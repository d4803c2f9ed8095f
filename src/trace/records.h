/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What the BPF programs of `trace` and `io-latency` send and keep; shared with user space. Fixed
 * widths, explicit padding. */
#pragma once

#include "bpf/request.h"
#include "bpf/thread.h"

/* NOLINTBEGIN(readability-identifier-naming): names of C, for the kernel side too */

/* Records of the ring; the numbers begin beyond those of bpf/thread.h, whose file names come
 * through the same ring. */
enum trace_record {
  TRACE_NEW_PROCESS = 100, /* struct new_process: for those who judge processes */
  TRACE_BLOCK,             /* struct block_record */
  TRACE_WAIT,              /* struct wait_record */
  TRACE_FORK,              /* struct process_record, and argv */
  TRACE_EXEC,
  TRACE_EXIT,
  TRACE_SIGNAL,     /* struct signal_record */
  TRACE_OOM,        /* struct oom_record */
  TRACE_TRACEPOINT, /* struct tracepoint_record, and the tracepoint's own bytes */
  TRACE_UPROBE,     /* struct uprobe_record */
};

/* What the map `verdicts` says of a process. */
enum verdict {
  VERDICT_UNKNOWN, /* not in the map: nobody has judged it yet */
  VERDICT_PASS,
  VERDICT_IGNORE,
};

struct trace_head {
  struct event event;
  __u64 at; /* CLOCK_MONOTONIC */
  __u32 pid, tid;
  char comm[16]; /* of the thread */
  __u32 verdict; /* of its process, when it was sent */
  __u32 cpu;
};

struct new_process {
  struct event event;
  __u32 pid;
  __u32 ppid; /* 0: not new, but with a new image */
};

struct block_record {
  struct trace_head head; /* of the thread that made the request; at: its end */
  __u64 start, issued;    /* issued 0: not known */
  __u64 sector;
  __u64 bytes;
  __u32 device;
  __u32 flags; /* request.cmd_flags */
  __u16 operation;
  __u16 unseen; /* nobody told its end: `at` is when that was found out */
  __s32 error;
};

#define KERNEL_FRAMES 16
#define USER_FRAMES 8

struct wait_record {
  struct trace_head head; /* at: the end of the wait */
  __u64 ns;
  struct wait_key wait; /* reason, detail and id, as bpf/thread.h has them */
  __u64 ip;             /* where user space entered the kernel */
  __u32 kernel_frames, user_frames;
  __u64 kernel[KERNEL_FRAMES];
  __u64 user[USER_FRAMES];
};

#define TRACE_ARGV_MAX 1024

struct process_record {
  struct trace_head head; /* fork: of the parent; else of the process */
  char child_comm[16];
  __u32 child;
  __u32 ppid;
  __s32 status; /* exit: as wait(2) gives it */
  __u32 argv_size;
  __u32 argv_full;
  __u32 pad;
  __u64 lifetime; /* exit: ns since its fork */
  __u64 cpu_ns;   /* exit: of all its threads */
};

struct signal_record {
  struct trace_head head; /* of the sender, or of whoever was current */
  char target_comm[16];
  __u32 target_pid, target_tid;
  __s32 signal;
  __s32 code;      /* si_code */
  __u32 by_kernel; /* the head is a bystander, or the target itself */
  __u32 group;     /* for the whole process */
  __u32 result;    /* TRACE_SIGNAL_… of linux/trace/events/signal.h */
  __u32 pad;
};

struct oom_record {
  struct trace_head head; /* of the task that found no memory */
  char victim_comm[16];
  __u32 victim;
  __u32 has_memory; /* 0: the kernel told only the pid (before 6.9) */
  __u64 anon_pages, file_pages, shmem_pages;
  __u64 cgroup; /* id of the memory cgroup whose limit was hit, 0: the machine's */
  __u64 limit;  /* pages */
};

#define TRACEPOINT_MAX 4096
#define TRACEPOINT_STRINGS 8

struct tracepoint_record {
  struct trace_head head;
  __u32 length; /* bytes that follow */
  __u32 full;   /* bytes there were */
};

#define UPROBE_ARGUMENTS 12
#define UPROBE_TEXT 256 /* bytes of one string, its end included */
#define UPROBE_TEXTS 6

/* Where an argument lies. */
enum uprobe_place {
  UPROBE_NOTHING,
  UPROBE_REGISTER, /* index: the n-th of the calling convention */
  UPROBE_STACK,    /* index: bytes above the stack pointer */
  UPROBE_RETURN,
};

struct uprobe_argument {
  __u8 place;
  __u8 text; /* 0: a number; n: the n-th string of the record, counted from 1 */
  __u16 index;
};

struct uprobe_record {
  struct trace_head head;
  __u64 values[UPROBE_ARGUMENTS];
  __s32 lengths[UPROBE_TEXTS];           /* with the end; less than 0: could not be read */
  char texts[UPROBE_TEXTS][UPROBE_TEXT]; /* only so many are sent as were asked for */
};

/* ---- io-latency ---- */

struct latency_key {
  __u32 device;
  __u32 operation;
  __u64 cgroup; /* with pid: to find the job by */
  __u32 pid;
  __u32 pad;
  char comm[16];
};

/* ---- reads of the processes that trace block is filtered to ---- */

struct read_calls {
  __u64 cached; /* no block request was made in them */
  __u64 device; /* at least one was */
};

/* NOLINTEND(readability-identifier-naming) */
