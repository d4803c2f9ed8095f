/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What the kernel side keeps and sends; shared with user space. Fixed widths, explicit padding. */
#pragma once

#include <linux/types.h>

#include "bpf/reason.h"

/* ---- records of the ring `events`; each begins with this ---- */

enum event_type {
  EVENT_THREAD_END = 1, /* struct thread and its cores */
  EVENT_EXEC,           /* struct exec_event */
  EVENT_PROCESS_END,    /* struct process_event */
  EVENT_FILE_NAME,      /* struct file_name */
  EVENT_OOM_KILL,       /* struct oom_event */
};

struct event {
  __u32 type;
  __u32 size; /* of the whole record, bytes */
};

/* ---- one thread of a job: the value of the task storage `threads` ----
 * All times in `struct thread` are of the scheduler's clock (rq->clock, ns), not CLOCK_MONOTONIC.
 * Invariant: start + sum(parts) == since. It holds at every moment but inside one update, so a
 * reader on another CPU can tell a torn copy. */

enum thread_state {
  THREAD_ON_CPU,
  THREAD_QUEUED,  /* runnable, pushed off its CPU */
  THREAD_BLOCKED, /* or runnable since a while, and not yet on a CPU */
  THREAD_ENDED,
};

/* What is waited for. process and pid name the waiting process; the meaning of id and detail
 * depends on the reason: futex, gil, barrier: id[0] = address of the futex; files: id = inode,
 * device | generation << 32; network: id = peer's address (IPv4 as ::ffff:a.b.c.d), detail = its
 * port in host order; unix_socket: id[0] = peer's pid; pipe: id[0] = inode; accelerator: id[0] =
 * device number; other: detail = system call. wait_child has none: a shell waits for thousands. */
struct wait_key {
  __u64 process; /* start_time of the process's leader, ns: with pid, unique on this machine */
  __u32 pid;
  __u8 reason;
  __u8 main_thread;
  __u16 detail;
  __u64 id[2];
};

struct wait_use {
  __u64 ns;
  __u64 count;
};

/* A thread mostly alternates between one or two waits: it keeps them with it, and the map is
 * written only when a third one comes. */
#define NAMED_WAITS 2

struct named_wait {
  struct wait_key key;
  struct wait_use use;
};

/* Who ended the waits of a main thread. */
struct waker_key {
  __u64 process;
  __u32 pid;
  __u32 tid; /* of the waker */
  __u32 waker_pid;
  __u32 reason;
};

struct waker_use {
  __u64 ns;
  __u64 count;
  char name[16];
};

struct thread {
  struct event event; /* EVENT_THREAD_END: the record is sent as it is */
  __u64 start;        /* first time runnable; 0: has not run yet */
  __u64 since;        /* of the state it is in */
  __u64 parts[REASON_COUNT];
  __u64 ran;           /* of se.sum_exec_runtime, so much is in parts */
  __u64 delay;         /* sched_info.run_delay when it left its CPU; without: bpf/runnable.bpf.h */
  __u64 throttled;     /* throttled time of its task groups then */
  __u64 quota_checked; /* when has_quota was found out */
  __u8 state;
  __u8 reason;
  __u8 has_quota;
  __u8 attached;     /* was running when the watch began */
  __u8 oldest_named; /* index of the one to give up next */
  __u8 yielded;      /* left its CPU by sched_yield */
  __u8 end_told;     /* on leaders: EVENT_PROCESS_END was sent */
  __u8 pad1;
  __u32 cpu;
  __u32 node;
  __u32 job;
  struct wait_key wait;                 /* now, while blocked */
  struct named_wait named[NAMED_WAITS]; /* its last ones, not yet in the map `waits` */
  __u64 process;                        /* see struct wait_key */
  __u32 pid, tid, ppid;
  __u32 waker_pid, waker_tid; /* who woke this main thread */
  char waker[16];
  struct wait_key interrupted; /* the wait before it was stopped */
  __u64 io_inode; /* file of its last block request or fault, 0: none since it last slept */
  __u32 io_device, io_generation;
  __u32 killer_pid; /* on leaders: who sent the last signal that may end it, 0: the kernel */
  __u32 killer_signal;
  char killer[16];
  __u64 exec_id;      /* task_struct.self_exec_id of the last exec that was told */
  __u64 yield_queued; /* of REASON_RUNQUEUE: after a sched_yield, so of its own will */
  __u64 migrations, node_moves, yields, samples, yield_samples;
  __u32 pad;
  /* Filled in when the record is sent or dumped, from the task. */
  __u64 now;    /* dump only: the moment of the copy */
  __u64 queued; /* dump only: of the time since `since`, on a run queue */
  __u64 utime, stime;
  __u64 voluntary, involuntary;
  __u64 minor_faults, major_faults;
  char name[16];
  /* __u64 cores[]: CPU time by CPU, as many as there are CPUs, follow. */
};

/* ---- processes ---- */

#define ARGV_MAX 4096

struct exec_event {
  struct event event;
  __u64 process;
  __u32 pid, ppid;
  char name[16];
  __u32 argv_size; /* bytes that follow, NUL-separated */
  __u32 argv_full; /* bytes there were */
  __u64 maxrss;    /* pages, before: an exec'd process starts with its parent's peak */
  __u64 at;        /* CLOCK_MONOTONIC */
};

struct process_event {
  struct event event;
  __u64 process;
  __u32 pid, ppid;
  __s32 status; /* as wait(2) gives it */
  __u32 killer_pid, killer_signal;
  char killer[16];
  char name[16];
  __u32 pad;
  __u64 maxrss;  /* pages: rusage's, of all its images */
  __u64 hiwater; /* pages: of its last image; 0 if the kernel has let go of it before we look */
  __u64 at;      /* CLOCK_MONOTONIC */
};

struct oom_event {
  struct event event;
  __u32 pid;
  char name[16]; /* "": the kernel did not tell (before 6.9), and the process may be no member */
  __u32 pad;
  __u64 cgroup; /* id of the memory cgroup whose limit was hit, 0: none, the machine's */
  __u64 limit;  /* bytes */
  __u64 at;     /* CLOCK_MONOTONIC */
};

/* ---- files ---- */

struct file_key {
  __u64 inode;
  __u32 device;     /* as the kernel writes it: major << 20 | minor */
  __u32 generation; /* of the inode: a later file may have the same number */
  __u32 job;
  __u32 pad;
};

struct file_use {
  __u64 bytes_read, bytes_written; /* to and from the device */
};

#define FILE_NAME_MAX_BYTES 1024

/* Before the file's path as its components, last first, each ending in NUL. */
struct file_name_head {
  struct event event;
  struct file_key key;
  __u32 length;        /* bytes of names */
  __u8 partial;        /* the path is longer than could be told */
  __u8 in_file_system; /* 1: from the file system's root, 0: from the process's root */
  __u8 pad[2];
};

/* ---- counters ---- */

enum loss {
  LOST_THREAD_RECORDS, /* ring full: the thread's time is in the sum `unsent` */
  LOST_EVENTS,         /* ring full: exec, end of a process, name of a file, OOM kill */
  LOST_THREADS,        /* no memory for a new thread's storage: it is not watched */
  LOST_WAITS,          /* map full: the wait is in its thread's parts, but has no name */
  LOST_WAKERS,         /* map full: the wait is in its thread's parts, but not who ended it */
  LOST_FILES,          /* map full: bytes without a file */
  LOST_REQUESTS,       /* map full: block request without its times */
  LOST_PEERS,          /* map full: bytes in their class, without an address */
  LOSSES,
};

/* Sum of the threads whose record could not be sent, per CPU. */
struct unsent {
  __u64 threads;
  __u64 parts[REASON_COUNT];
};

/* See bpf/processes.bpf.h. */
enum made_up {
  MADE_UP_FORK,
  MADE_UP_EXEC,
  MADE_UP_EXIT,
  MADE_UPS,
};

/* One per session, shared by all its BPF objects. */
struct globals {
  __u64 clock_offset;      /* CLOCK_MONOTONIC - rq->clock */
  __u64 clock_seen;        /* rq->clock when it was last compared */
  __u64 clock_cost;        /* ns between two readings of the clock, one after the other */
  __s64 threads;           /* members that have not left their CPU for the last time */
  __u64 wait_entries;      /* put into the map `waits` so far */
  __u64 waker_entries;     /* put into the map `wakers` so far */
  __u64 made_up[MADE_UPS]; /* what was found out at the next switch because a program missed it */
  __u64 last_wake; /* CLOCK_MONOTONIC: when the reader of the ring was last woken for an exec */
};

/* Run time of the programs on hot paths, per CPU: one run of COST_EVERY is timed. */
enum costly {
  COST_SWITCH,
  COST_WAKING,
  COST_BLOCK,
  COST_NET,
  COSTS,
};
#define COST_EVERY 61 /* a prime, so that it does not march with a pattern of the job */

struct cost {
  __u64 left; /* runs until the next timed one; of switches always 0: see switch_cost_begin() */
  __u64 timed;
  __u64 ns; /* of the timed ones, the clock's own cost included */
};

/* Where the futexes of a process lie; written by user space. */
struct hints {
  __u64 gil_start, gil_end;       /* CPython's _PyRuntime */
  __u64 omp_start[2], omp_end[2]; /* code of OpenMP runtimes */
};

/* ---- histograms: slot i > 0 holds [2^i, 2^(i+1)), slot 0 holds 0 and 1 ---- */

#define HISTOGRAM_SLOTS 32

struct histogram {
  __u64 slots[HISTOGRAM_SLOTS];
  __u64 max;
  __u64 sum;
};
