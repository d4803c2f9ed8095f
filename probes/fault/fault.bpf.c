// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which file a page fault waits for: the kernel tells when a fault on a mapped file does not find
// its page at once.
#include "bpf/files.bpf.h"

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(on_file_fault, struct address_space *mapping) {
  struct thread *t = current_member();
  if (!t) return 0;
  struct inode *inode = BPF_CORE_READ(mapping, host);
  struct file_key key = key_of_inode(inode, t->job);
  if (is_noted(t, &key)) return 0;
  meet_inode(inode, &key);
  note_io(t, &key);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
