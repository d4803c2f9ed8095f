/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What a descriptor stands for: its file, and what kind of file system that lies on. */
#pragma once

#include "bpf/session.bpf.h"

#define S_IFMT 0170000
#define S_IFSOCK 0140000
#define S_IFIFO 0010000
#define S_IFCHR 0020000
#define S_IFBLK 0060000
#define S_IFREG 0100000

/* File systems whose server is elsewhere (or in a daemon): linux/magic.h and the file systems'. */
static __always_inline bool is_remote_fs(unsigned long magic) {
  switch (magic) {
    case 0x6969:     /* nfs */
    case 0xFF534D42: /* cifs */
    case 0xFE534D42: /* smb2 */
    case 0x00C36400: /* ceph */
    case 0x65735546: /* fuse: and virtiofs, gcsfuse, s3fs, … */
    case 0x01021997: /* 9p */
    case 0x0BD00BD0: /* lustre */
    case 0x47504653: /* gpfs */
    case 0x19830326: /* beegfs */
    case 0x5346414F: /* afs */ return true;
    default: return false;
  }
}

/* Those that make up what is read from them: linux/magic.h. */
static __always_inline bool is_made_up_fs(unsigned long magic) {
  switch (magic) {
    case 0x9fa0:     /* proc */
    case 0x62656572: /* sysfs */
    case 0x64626720: /* debugfs */
    case 0x74726163: /* tracefs */
    case 0x27e0eb:   /* cgroup */
    case 0x63677270: /* cgroup2 */
    case 0x73636673: /* securityfs */
    case 0xf97cff8c: /* selinux */
    case 0xcafe4a11: /* bpf */
    case 0x62656570: /* configfs */
    case 0x65735543: /* fusectl */
    case 0x6e736673: /* nsfs */ return true;
    default: return false;
  }
}

static __always_inline struct file *file_of(struct task_struct *task, u32 fd) {
  struct fdtable *table;
  u32 max;
  struct file **files;
  if (has_task_storage) {
    struct files_struct *open = task->files;
    if (!open) return NULL;
    table = open->fdt;
    if (!table) return NULL;
    max = table->max_fds;
    files = table->fd;
  } else { /* `task` may be known by its address alone */
    table = BPF_CORE_READ(task, files, fdt);
    max = BPF_CORE_READ(table, max_fds);
    files = BPF_CORE_READ(table, fd);
  }
  if (fd >= max) return NULL;
  struct file *file = NULL;
  bpf_probe_read_kernel(&file, sizeof(file), files + fd);
  return file;
}
