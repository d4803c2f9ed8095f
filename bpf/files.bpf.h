/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Files by (device, inode, generation), and their paths. A path is told once, when the file is
 * first met, while the kernel surely holds it: a job's files may be gone when somebody reads the
 * report. */
#pragma once

#include "bpf/session.bpf.h"

#define PATH_DEPTH 28
#define NAME_BYTES 256 /* NAME_MAX + 1 */

/* Preallocated: written at a switch, where memory may not be had. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, struct file_key);
  __type(value, struct file_use);
} files SEC(".maps");

struct name_scratch {
  struct file_name_head record;
  char names[FILE_NAME_MAX_BYTES + NAME_BYTES];
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct name_scratch);
} name_scratches SEC(".maps");

/* Appends the names from `dentry` up to `root_dentry` on `root_mnt` (or to the top of the file
 * system when `mnt` is NULL). */
static __always_inline void walk_up(struct name_scratch *s, struct dentry *dentry,
                                    struct vfsmount *mnt, struct dentry *root_dentry,
                                    struct vfsmount *root_mnt) {
  u32 length = 0;
  s->record.partial = 1;
  for (int i = 0; i < PATH_DEPTH; i++) {
    struct dentry *parent = BPF_CORE_READ(dentry, d_parent);
    if (mnt) {
      if (mnt == root_mnt && dentry == root_dentry) {
        s->record.partial = 0;
        break;
      }
      if (dentry == BPF_CORE_READ(mnt, mnt_root)) {
        struct mount *m = (void *)mnt - bpf_core_field_offset(struct mount, mnt);
        struct mount *up = BPF_CORE_READ(m, mnt_parent);
        if (up == m) {
          s->record.partial = 0;
          break;
        }
        dentry = BPF_CORE_READ(m, mnt_mountpoint);
        mnt = (void *)up + bpf_core_field_offset(struct mount, mnt);
        continue;
      }
    }
    if (parent == dentry || !parent) {
      s->record.partial = 0;
      break;
    }
    const unsigned char *name = BPF_CORE_READ(dentry, d_name.name);
    if (length >= FILE_NAME_MAX_BYTES) break;
    long n =
        bpf_probe_read_kernel_str(&s->names[length & (FILE_NAME_MAX_BYTES - 1)], NAME_BYTES, name);
    if (n <= 0) break;
    length += n;
    dentry = parent;
  }
  if (length > FILE_NAME_MAX_BYTES) length = FILE_NAME_MAX_BYTES;
  s->record.length = length;
}

static __always_inline struct name_scratch *begin_name(const struct file_key *key) {
  u32 zero = 0;
  struct name_scratch *s = bpf_map_lookup_elem(&name_scratches, &zero);
  if (!s) return NULL;
  s->record.event.type = EVENT_FILE_NAME;
  s->record.key = *key;
  s->record.in_file_system = 0;
  s->record.pad[0] = s->record.pad[1] = 0;
  return s;
}

static __always_inline void send_name(struct name_scratch *s) {
  u32 size = sizeof(s->record) + s->record.length;
  s->record.event.size = size;
  if (size > sizeof(*s)) return;
  if (!send(s, size)) count_loss(LOST_EVENTS);
}

/* The entry of a file, made (and its path told) if it is new. NULL if there is no room. */
static __always_inline struct file_use *new_file(const struct file_key *key, bool *is_new) {
  struct file_use zero = {};
  *is_new = false;
  struct file_use *use = bpf_map_lookup_elem(&files, key);
  if (use) return use;
  long error = bpf_map_update_elem(&files, key, &zero, BPF_NOEXIST);
  if (error == 0) *is_new = true;
  use = bpf_map_lookup_elem(&files, key);
  if (!use) count_loss(LOST_FILES);
  return use;
}

static __always_inline struct file_key key_of_inode(struct inode *inode, u32 job) {
  struct file_key key = {.job = job};
  key.inode = BPF_CORE_READ(inode, i_ino);
  key.device = BPF_CORE_READ(inode, i_sb, s_dev);
  key.generation = BPF_CORE_READ(inode, i_generation);
  return key;
}

static __always_inline bool is_noted(const struct thread *t, const struct file_key *key) {
  return t->io_inode == key->inode && t->io_device == key->device &&
         t->io_generation == key->generation;
}

/* The file that the next waits of a thread for the disk are for. */
static __always_inline void note_io(struct thread *t, const struct file_key *key) {
  t->io_inode = key->inode;
  t->io_device = key->device;
  t->io_generation = key->generation;
}

/* Meets an open file; `fs` is the task's fs_struct, whose root its path is told from. A global
 * function with plain numbers, so that the verifier looks at the long walk once and not at every
 * call; with no more than five, so that device and generation << 32 are one. */
__noinline int meet_file(u64 file_address, u64 fs_address, u64 inode, u64 device_and_generation,
                         u32 job) {
  struct file *file = (struct file *)file_address;
  struct fs_struct *fs = (struct fs_struct *)fs_address;
  struct file_key key = {.inode = inode,
                         .device = device_and_generation,
                         .generation = device_and_generation >> 32,
                         .job = job};
  bool is_new;
  new_file(&key, &is_new);
  if (!is_new) return 0;
  struct name_scratch *s = begin_name(&key);
  if (!s) return 0;
  struct vfsmount *root_mnt = BPF_CORE_READ(fs, root.mnt);
  struct dentry *root = BPF_CORE_READ(fs, root.dentry);
  walk_up(s, BPF_CORE_READ(file, f_path.dentry), BPF_CORE_READ(file, f_path.mnt), root, root_mnt);
  send_name(s);
  return 0;
}

/* Meets a file known by its inode only (a block request, a page fault). */
static __always_inline struct file_use *meet_inode(struct inode *inode,
                                                   const struct file_key *key) {
  bool is_new;
  struct file_use *use = new_file(key, &is_new);
  if (!is_new) return use;
  struct hlist_node *alias = BPF_CORE_READ(inode, i_dentry.first);
  if (!alias) return use;
  struct name_scratch *s = begin_name(key);
  if (!s) return use;
  struct dentry *dentry =
      (void *)alias - (bpf_core_field_exists(((struct dentry *)0)->d_u.d_alias)
                           ? bpf_core_field_offset(struct dentry, d_u.d_alias)
                           : bpf_core_field_offset(struct dentry___since_7_0, d_alias));
  s->record.in_file_system = 1;
  walk_up(s, dentry, NULL, NULL, NULL);
  send_name(s);
  return use;
}
