/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Why a thread does not run, found out at the moment it leaves its CPU, from what the kernel keeps
 * anyway: its state, and the registers it entered the kernel with, which hold the system call and
 * its arguments. No system call is traced. */
#pragma once

#include <asm/unistd.h>

#include "bpf/descriptors.bpf.h"
#include "bpf/files.bpf.h"
#include "bpf/session.bpf.h"

/* Accelerator drivers: one bit for each major number, from /proc/devices. */
#define MAJORS 512
const volatile __u64 accelerator_majors[MAJORS / 64] = {};

/* A field of a kernel struct known by its address alone. A helper call costs some 6 ns; since 6.2
 * (a35b9af4ec2c) the kernel takes our word for the type, and the field is one guarded load. Older
 * kernels refuse an object that only mentions this function: it is for objects of their own. */
#ifdef WITH_RDONLY_CAST
extern void *bpf_rdonly_cast(void *object, __u32 type) __ksym;
#define FIELD(pointer, field)                                                      \
  (((typeof(pointer))bpf_rdonly_cast((void *)(pointer),                            \
                                     bpf_core_type_id_kernel(typeof(*(pointer))))) \
       ->field)
#else
#define FIELD(pointer, field) BPF_CORE_READ(pointer, field)
#endif

/* Preallocated: written at a switch, where memory may not be had. User space puts an empty one in
 * its place when it has filled (src/bpf/inner_map.h). */
struct waits_map {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, struct wait_key);
  __type(value, struct wait_use);
} waits SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, 1);
  __type(key, u32);
  __array(values, struct waits_map);
} waits_now SEC(".maps") = {.values = {[0] = &waits}};

enum call {
  CALL_OTHER,
  CALL_READ,     /* (fd, …) */
  CALL_WRITE,    /* (fd, …) */
  CALL_SENDFILE, /* (out, in, …) */
  CALL_CONNECT,
  CALL_FSYNC, /* (fd) */
  CALL_SYNC,
  CALL_LOCK, /* flock, fcntl: (fd, …) */
  CALL_PATH, /* open, stat, rename …: no descriptor */
  CALL_POLL,
  CALL_POLL_2ND, /* (fds, n, …): no fds is a way to sleep */
  CALL_SELECT,   /* (n, …): the same */
  CALL_FUTEX,
  CALL_SLEEP,
  CALL_CHILD, /* wait for a child, or for it to exec (vfork) */
  CALL_IOCTL,
  CALL_MEMORY,
};

#define MAX_CALLS 512

static const volatile u8 calls[MAX_CALLS] = {
    [__NR_read] = CALL_READ,
    [__NR_pread64] = CALL_READ,
    [__NR_readv] = CALL_READ,
    [__NR_preadv] = CALL_READ,
    [__NR_preadv2] = CALL_READ,
    [__NR_recvfrom] = CALL_READ,
    [__NR_recvmsg] = CALL_READ,
    [__NR_recvmmsg] = CALL_READ,
    [__NR_accept] = CALL_READ,
    [__NR_accept4] = CALL_READ,
    [__NR_getdents64] = CALL_READ,
    [__NR_splice] = CALL_READ,
    [__NR_copy_file_range] = CALL_READ,
    [__NR_readahead] = CALL_READ,
    [__NR_fadvise64] = CALL_READ,
    [__NR_write] = CALL_WRITE,
    [__NR_pwrite64] = CALL_WRITE,
    [__NR_writev] = CALL_WRITE,
    [__NR_pwritev] = CALL_WRITE,
    [__NR_pwritev2] = CALL_WRITE,
    [__NR_sendto] = CALL_WRITE,
    [__NR_sendmsg] = CALL_WRITE,
    [__NR_sendmmsg] = CALL_WRITE,
    [__NR_ftruncate] = CALL_WRITE,
    [__NR_fallocate] = CALL_WRITE,
    [__NR_tee] = CALL_READ,
    [__NR_vmsplice] = CALL_WRITE,
    [__NR_sendfile] = CALL_SENDFILE,
    [__NR_connect] = CALL_CONNECT,
    [__NR_fsync] = CALL_FSYNC,
    [__NR_fdatasync] = CALL_FSYNC,
    [__NR_sync_file_range] = CALL_FSYNC,
    [__NR_syncfs] = CALL_FSYNC,
    [__NR_sync] = CALL_SYNC,
    [__NR_msync] = CALL_SYNC,
    [__NR_flock] = CALL_LOCK,
    [__NR_fcntl] = CALL_LOCK,
    [__NR_openat] = CALL_PATH,
    [__NR_openat2] = CALL_PATH,
    [__NR_newfstatat] = CALL_PATH,
    [__NR_statx] = CALL_PATH,
    [__NR_faccessat] = CALL_PATH,
    [__NR_faccessat2] = CALL_PATH,
    [__NR_readlinkat] = CALL_PATH,
    [__NR_renameat2] = CALL_PATH,
    [__NR_unlinkat] = CALL_PATH,
    [__NR_mkdirat] = CALL_PATH,
    [__NR_linkat] = CALL_PATH,
    [__NR_symlinkat] = CALL_PATH,
    [__NR_truncate] = CALL_PATH,
    [__NR_chdir] = CALL_PATH,
    [__NR_execve] = CALL_PATH,
    [__NR_execveat] = CALL_PATH,
    [__NR_fchmodat] = CALL_PATH,
    [__NR_fchownat] = CALL_PATH,
    [__NR_utimensat] = CALL_PATH,
    [__NR_statfs] = CALL_PATH,
    [__NR_getxattr] = CALL_PATH,
    [__NR_epoll_pwait] = CALL_POLL,
    [__NR_io_uring_enter] = CALL_POLL,
    [__NR_io_getevents] = CALL_POLL,
    [__NR_ppoll] = CALL_POLL_2ND,
    [__NR_pselect6] = CALL_SELECT,
    [__NR_futex] = CALL_FUTEX,
    [449 /* futex_waitv, 5.16 */] = CALL_FUTEX,
    [455 /* futex_wait, 6.7 */] = CALL_FUTEX,
    [441 /* epoll_pwait2, 5.11 */] = CALL_POLL,
    [__NR_nanosleep] = CALL_SLEEP,
    [__NR_clock_nanosleep] = CALL_SLEEP,
    [__NR_rt_sigsuspend] = CALL_SLEEP,
    [__NR_rt_sigtimedwait] = CALL_SLEEP,
    [__NR_wait4] = CALL_CHILD,
    [__NR_waitid] = CALL_CHILD,
    [__NR_clone] = CALL_CHILD,
    [__NR_clone3] = CALL_CHILD,
    [__NR_ioctl] = CALL_IOCTL,
    [__NR_mmap] = CALL_MEMORY,
    [__NR_munmap] = CALL_MEMORY,
    [__NR_mprotect] = CALL_MEMORY,
    [__NR_mremap] = CALL_MEMORY,
    [__NR_madvise] = CALL_MEMORY,
    [__NR_brk] = CALL_MEMORY,
    [__NR_mlock] = CALL_MEMORY,
    [__NR_munlock] = CALL_MEMORY,
    [__NR_mbind] = CALL_MEMORY,
    [__NR_move_pages] = CALL_MEMORY,
#if defined(__TARGET_ARCH_x86)
    [__NR_open] = CALL_PATH,
    [__NR_creat] = CALL_PATH,
    [__NR_stat] = CALL_PATH,
    [__NR_lstat] = CALL_PATH,
    [__NR_access] = CALL_PATH,
    [__NR_readlink] = CALL_PATH,
    [__NR_rename] = CALL_PATH,
    [__NR_renameat] = CALL_PATH,
    [__NR_unlink] = CALL_PATH,
    [__NR_mkdir] = CALL_PATH,
    [__NR_rmdir] = CALL_PATH,
    [__NR_link] = CALL_PATH,
    [__NR_symlink] = CALL_PATH,
    [__NR_chmod] = CALL_PATH,
    [__NR_chown] = CALL_PATH,
    [__NR_getdents] = CALL_READ,
    [__NR_epoll_wait] = CALL_POLL,
    [__NR_poll] = CALL_POLL_2ND,
    [__NR_select] = CALL_SELECT,
    [__NR_pause] = CALL_SLEEP,
    [__NR_vfork] = CALL_CHILD,
    [__NR_fork] = CALL_CHILD,
#endif
};

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10

#define ANON_INODE_FS_MAGIC 0x09041934 /* eventfd, epoll, signalfd …; linux/magic.h */

#define TS_COMPAT 0x0002 /* x86: in a 32-bit system call, whose numbers are others */

static __always_inline long task_state(struct task_struct *task) {
  if (bpf_core_field_exists(task->__state)) return task->__state;
  return BPF_CORE_READ((struct task_struct___before_5_14 *)task, state);
}

static __always_inline u8 wait_on_socket(struct thread *t, struct file *file, u8 reason) {
  struct socket *socket = FIELD(file, private_data);
  struct sock *sk = FIELD(socket, sk);
  u16 family = FIELD(sk, __sk_common.skc_family);
  if (family == AF_UNIX) {
    struct pid *peer = FIELD(sk, sk_peer_pid);
    if (peer) t->wait.id[0] = FIELD(peer, numbers[0].nr);
    return REASON_UNIX_SOCKET;
  }
  if (family == AF_INET) {
    u64 address = FIELD(sk, __sk_common.skc_daddr);
    t->wait.id[1] = address << 32 | 0xFFFF0000;  // ::ffff:a.b.c.d, as it lies in memory
  } else if (family == AF_INET6) {
    if (bpf_core_field_exists(((struct sock_common *)0)->skc_v6_daddr))
      BPF_CORE_READ_INTO(&t->wait.id, sk, __sk_common.skc_v6_daddr);
  } else {
    return REASON_OTHER;
  }
  t->wait.detail = bpf_ntohs(FIELD(sk, __sk_common.skc_dport));
  return reason;
}

/* A wait inside a call on a descriptor: `on_disk` if the file is a regular one and the kernel waits
 * for its device, `on_socket` if it is a socket. */
static __always_inline u8 wait_on_file(struct thread *t, struct task_struct *task, u32 fd,
                                       u8 on_disk, u8 on_socket, bool io_wait) {
  struct file *file = file_of(task, fd);
  if (!file) return REASON_OTHER;
  struct inode *inode = FIELD(file, f_inode);
  u32 mode = FIELD(inode, i_mode) & S_IFMT;
  if (mode == S_IFSOCK) return wait_on_socket(t, file, on_socket);
  if (mode == S_IFIFO) {
    t->wait.id[0] = FIELD(inode, i_ino);
    return REASON_PIPE;
  }
  if (mode == S_IFCHR) {
    u32 device = FIELD(inode, i_rdev);
    u32 major = device >> 20;
    t->wait.id[0] = device;
    if (major < MAJORS && (accelerator_majors[major / 64] >> (major % 64) & 1))
      return REASON_ACCELERATOR;
    return on_disk == REASON_DISK_READ && !io_wait ? REASON_POLL : REASON_OTHER;
  }
  struct super_block *sb = FIELD(inode, i_sb);
  unsigned long magic = FIELD(sb, s_magic);
  if (magic == ANON_INODE_FS_MAGIC) return REASON_POLL;
  u64 number = FIELD(inode, i_ino);
  u64 device = FIELD(sb, s_dev) | (u64)FIELD(inode, i_generation) << 32;
  t->wait.id[0] = number;
  t->wait.id[1] = device;
  meet_file((u64)file, (u64)BPF_CORE_READ(task, fs), number, device, t->job);
  if (is_remote_fs(magic)) return REASON_REMOTE_FS;
  return io_wait || on_disk == REASON_FSYNC ? on_disk : REASON_FILE_OTHER;
}

/* Waits for the disk in a call that names no descriptor, or in no call at all. The file is the one
 * of the thread's last block request, if it made one since it last slept. */
static __always_inline u8 wait_on_io(struct thread *t, u8 reason) {
  t->wait.id[0] = t->io_inode;
  t->wait.id[1] = t->io_inode ? t->io_device | (u64)t->io_generation << 32 : 0;
  return reason;
}

static __always_inline bool is_openmp(const struct hints *h, u64 code) {
  return (code >= h->omp_start[0] && code < h->omp_end[0]) ||
         (code >= h->omp_start[1] && code < h->omp_end[1]);
}

static __always_inline u8 wait_on_futex(struct thread *t, struct task_struct *task,
                                        struct pt_regs *regs) {
  u64 address = REGS_ARG1(regs);
  t->wait.id[0] = address;
  struct hints *h = hints_of(task);
  if (!h) return REASON_FUTEX;
  if (address >= h->gil_start && address < h->gil_end) return REASON_GIL;
  if (is_openmp(h, REGS_IP(regs))) return REASON_BARRIER;
#ifdef REGS_LINK /* the runtime calls libc's syscall() there */
  if (is_openmp(h, REGS_LINK(regs))) return REASON_BARRIER;
#endif
  return REASON_FUTEX;
}

static __always_inline bool is_compat_call(struct task_struct *task) {
#if defined(__TARGET_ARCH_x86)
  return task->thread_info.status & TS_COMPAT;
#else
  return false;
#endif
}

/* The reason of a blocked task; fills t->wait. */
static __always_inline u8 wait_reason(struct thread *t, struct task_struct *task, long state) {
  bool stopped = state & (TASK_STOPPED | TASK_TRACED | TASK_FROZEN);
  struct pt_regs *regs = user_regs(task);
  long call = REGS_SYSCALL(regs);
  if (stopped) {
    if (t->wait.reason != REASON_STOPPED) t->interrupted = t->wait;
  } else if (call == __NR_restart_syscall) { /* after a signal: it waits on as it did before */
    if (t->wait.reason == REASON_STOPPED) t->wait = t->interrupted;
    if (t->wait.reason) return t->wait.reason;
  }
  t->wait.detail = 0;
  t->wait.id[0] = 0;
  t->wait.id[1] = 0;
  if (stopped) return REASON_STOPPED;
  bool io_wait = BPF_CORE_READ_BITFIELD(task, in_iowait);
  if (call < 0) return io_wait ? wait_on_io(t, REASON_PAGE_FAULT) : REASON_MEMORY;
  if (is_compat_call(task)) return io_wait ? REASON_DISK_READ : REASON_OTHER;
  u8 class = call < MAX_CALLS ? calls[call & (MAX_CALLS - 1)] : CALL_OTHER;
  u32 fd = REGS_ARG1(regs);
  u8 on_disk = REASON_OTHER, on_socket = REASON_OTHER;
  switch (class) {
    case CALL_FUTEX: return wait_on_futex(t, task, regs);
    case CALL_POLL: return REASON_POLL;
    case CALL_POLL_2ND: return REGS_ARG2(regs) ? REASON_POLL : REASON_SLEEP;
    case CALL_SELECT: return fd ? REASON_POLL : REASON_SLEEP;
    case CALL_SYNC: return REASON_FSYNC;
    case CALL_PATH: return wait_on_io(t, io_wait ? REASON_DISK_READ : REASON_FILE_OTHER);
    case CALL_SLEEP: return REASON_SLEEP;
    case CALL_CHILD: return REASON_WAIT_CHILD;
    case CALL_MEMORY: return io_wait ? wait_on_io(t, REASON_PAGE_FAULT) : REASON_MEMORY;
    case CALL_READ:
      on_disk = REASON_DISK_READ;
      on_socket = REASON_NET_RECV;
      break;
    case CALL_WRITE:
      on_disk = REASON_DISK_WRITE;
      on_socket = REASON_NET_SEND;
      break;
    case CALL_SENDFILE:
      if (io_wait) fd = REGS_ARG2(regs);
      on_disk = io_wait ? REASON_DISK_READ : REASON_DISK_WRITE;
      on_socket = REASON_NET_SEND;
      break;
    case CALL_CONNECT: on_socket = REASON_NET_CONNECT; break;
    case CALL_FSYNC: on_disk = REASON_FSYNC; break;
    case CALL_LOCK: on_disk = REASON_FILE_OTHER; break;
    case CALL_IOCTL: break;
    default: t->wait.detail = call; return io_wait ? wait_on_io(t, REASON_DISK_READ) : REASON_OTHER;
  }
  return wait_on_file(t, task, fd, on_disk, on_socket, io_wait);
}
