// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Processes that the kernel kills for lack of memory.
#include "bpf/oom.bpf.h"
#include "src/trace/filter.bpf.h"

/* Pages of a kind, by the kernel's running sum: CPUs add their part in batches. A macro, for the
 * kind has to be a constant where the field is found. */
#define PAGES_OF(mm, kind)                                      \
  ({                                                            \
    s64 pages;                                                  \
    struct mm_struct___before_6_2 *old = (void *)(mm);          \
    if (bpf_core_field_exists((mm)->rss_stat[0].count))         \
      pages = BPF_CORE_READ(mm, rss_stat[kind].count);          \
    else                                                        \
      pages = BPF_CORE_READ(old, rss_stat.count[kind].counter); \
    pages > 0 ? pages : 0;                                      \
  })

/* `within`: a task of the cgroup whose limit was hit. */
static __always_inline int tell_oom(struct oom_record *record, struct task_struct *within) {
  u64 current = bpf_get_current_pid_tgid();
  record->head.event.type = TRACE_OOM;
  record->head.event.size = sizeof(*record);
  record->head.at = bpf_ktime_get_ns();
  record->head.pid = current >> 32;
  record->head.tid = current;
  bpf_get_current_comm(record->head.comm, sizeof(record->head.comm));
  record->head.cpu = bpf_get_smp_processor_id();
  find_full_cgroup(within, &record->cgroup, &record->limit);
  tell(record, sizeof(*record));
  return 0;
}

static __always_inline bool is_of_interest(struct oom_record *record) {
  record->head.verdict = verdict_of(record->victim);
  if (passes(record->head.verdict)) return true;
  record->head.verdict = verdict_of(bpf_get_current_pid_tgid() >> 32);
  return passes(record->head.verdict);
}

// 72ba14deb40a ("mm: update mark_victim tracepoints fields"), 6.9: the task; before: its pid.
SEC("tp_btf/mark_victim")
int BPF_PROG(on_oom_task, struct task_struct *task) {
  struct oom_record record = {};
  record.victim = BPF_CORE_READ(task, tgid);
  if (!is_of_interest(&record)) return 0;
  if (!has_wanted_comm(task) && !has_wanted_comm(current_task())) return 0;
  struct task_struct *leader = BPF_CORE_READ(task, group_leader);
  bpf_probe_read_kernel_str(record.victim_comm, sizeof(record.victim_comm), &leader->comm);
  struct mm_struct *mm = BPF_CORE_READ(task, mm);
  if (mm) {
    record.has_memory = 1;
    record.file_pages = PAGES_OF(mm, 0);
    record.anon_pages = PAGES_OF(mm, 1);
    record.shmem_pages = PAGES_OF(mm, 3);
  }
  return tell_oom(&record, task);
}

/* The current task is the one that found no memory: in the same cgroup as its victim, or the
 * machine had none. */
SEC("tp_btf/mark_victim")
int BPF_PROG(on_oom_pid, int pid) {
  struct oom_record record = {};
  record.victim = pid;
  if (!is_of_interest(&record) || !has_wanted_comm(current_task())) return 0;
  return tell_oom(&record, current_task());
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
