// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// One program of each type that people bring; each says that it ran. program_types.cc loads them
// one by one and goes where they are attached.
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

const volatile __u32 watched_tid = 0;
__u32 runs;

static __always_inline int ran(void) {
  if ((__u32)bpf_get_current_pid_tgid() == watched_tid) runs += 1;
  return 0;
}

SEC("tracepoint/task/task_rename")
int on_tracepoint(void *ctx) { return ran(); }

SEC("raw_tp/task_rename")
int on_raw_tp(void *ctx) { return ran(); }

SEC("tp_btf/task_rename")
int on_tp_btf(void *ctx) { return ran(); }

SEC("kprobe/security_task_getpgid")
int on_kprobe(void *ctx) { return ran(); }

SEC("kretprobe/security_task_getpgid")
int on_kretprobe(void *ctx) { return ran(); }

SEC("kprobe.multi/security_task_getpgid")
int on_kprobe_multi(void *ctx) { return ran(); }

SEC("fentry/security_task_getpgid")
int on_fentry(void *ctx) { return ran(); }

SEC("fexit/security_task_getpgid")
int on_fexit(void *ctx) { return ran(); }

SEC("fmod_ret/security_task_getpgid")
int on_fmod_ret(void *ctx) { return ran(); }

SEC("lsm/task_getpgid")
int on_lsm(void *ctx) { return ran(); }

SEC("uprobe")
int on_uprobe(void *ctx) { return ran(); }

SEC("uretprobe")
int on_uretprobe(void *ctx) { return ran(); }

SEC("perf_event")
int on_perf_event(void *ctx) { return ran(); }

SEC("iter/task")
int on_iter(void *ctx) { return ran(); }

char LICENSE[] SEC("license") = "Dual BSD/GPL";
