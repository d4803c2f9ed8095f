#!/usr/bin/env python3
"""What the programs that come with jobscope cost: ns of each of their runs. Prints a table in Markdown.

The figures are the kernel's own (kernel.bpf_stats_enabled), less what a program that does nothing is charged. The trap
of a uprobe is not in them. As root: program_costs.py
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/runtime"))
import machine  # noqa: E402
from harness import environment, workload  # noqa: E402
from programs import PROGRAMS, Calls, Exporter, python_of  # noqa: E402

SWITCH = Path("/proc/sys/kernel/bpf_stats_enabled")

NOTHING = """
#include "jobscope.bpf.h"
COUNTER_MAP(nothing_total, BPF_MAP_TYPE_ARRAY, u32, 1, 0);
SEC("tp_btf/sys_enter")
int BPF_PROG(nothing) { return 0; }
char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""
NOTHING_CONFIG = "metrics:\n  counters:\n    - name: nothing_total\n      help: Nothing\n"


def work(*command, times=1, **options):
    def run():
        for _ in range(times):
            subprocess.run([str(c) for c in command], check=True, capture_output=True, **options)
    return run


def fight():
    """Two processes on one CPU."""
    cpu = str(min(os.sched_getaffinity(0)))
    hogs = [subprocess.Popen(["taskset", "-c", cpu, *workload("yield_spin")], env=environment(workload_ms=1500),
                             stdout=subprocess.DEVNULL) for _ in range(2)]
    for hog in hogs:
        hog.wait()


def costs(name, run, folder=PROGRAMS):
    """{program: (runs, ns)} while the work is done."""
    with Exporter(name, folder=folder) as exporter:
        before = exporter.scrape()
        run()
        after = exporter.scrape()
    names = {labels["id"]: labels["program"] for labels, _ in after.rows("ebpf_program_info")}
    found = {}
    for number, program in names.items():
        runs, seconds = ((after - before).sum(f"ebpf_program_{what}", id=number)
                         for what in ("run_count_total", "run_time_seconds"))
        if runs:
            found[program] = int(runs), seconds / runs * 1e9
    return found


def calls(name, *arguments, **options):
    """As one whose libraries are mapped before the exporter looks."""
    with Calls(*arguments, **options) as ready:
        return costs(name, ready.do)


def measure(folder):
    (folder / "nothing.bpf.c").write_text(NOTHING)
    (folder / "nothing.yaml").write_text(NOTHING_CONFIG)
    with Calls("syscalls", 200_003) as ready:
        floor = costs("nothing", ready.do, folder)["nothing"][1]
    print(f"A program that does nothing: {floor:.0f} ns, taken off below.\n")
    print("| program | of it | runs | ns |\n|---|---|---|---|")
    device = folder / "davinci0"
    os.mknod(device, 0o600 | 0o020000, os.makedev(1, 3))
    with machine.LoopDisk(folder) as disk:
        file = disk.directory / "file"
        file.write_bytes(bytes(16 << 20))
        disk.settle()
        reads = work(*workload("read_file", "direct", file, 10_007))
        again = work("sh", "-c", f"echo 1 >/proc/sys/vm/drop_caches; cat {file} >/dev/null", times=10)
        torch = python_of("pytorch")
        nvidia = torch.parents[1] / "lib/python3.11/site-packages/nvidia" if torch else folder
        library = {name: next(nvidia.glob(f"**/{name}.so.*"), None) for name in ("libcudart", "libnccl")}
        rows = {
            "io-latency": lambda n: costs(n, reads),
            "io-latency-classic": lambda n: costs(n, reads),
            "biolatency": lambda n: costs(n, reads),
            "page-cache": lambda n: costs(n, again),
            "runqlat": lambda n: costs(n, fight),
            "softirq-latency": lambda n: costs(n, fight),
            "timers": lambda n: calls(n, "timers", 211, 100_003),
            "cgroup-throttling": lambda n: costs(n, lambda: None),
            "syscalls-by-job": lambda n: calls(n, "syscalls", 200_003),
            "futex-waits": lambda n: costs(n, work(*workload("futex_pair", 0))),
            "exec": lambda n: costs(n, work(*workload("spawn_storm", 2, 2000, "/bin/true"))),
            "gpu-ioctls": lambda n: calls(n, "ioctls", device, 100_003),
            "tcp-connect-latency": lambda n: calls(n, "connects", 503, 503),
            "python-gc": lambda n: calls(n, "collections", 1009, 1009),
            "python-imports": lambda n: calls(n, "imports", "package", 1009),
            "cuda": lambda n: library["libcudart"] and calls(n, "cuda", library["libcudart"]),
            "nccl": lambda n: library["libnccl"] and calls(n, "nccl", library["libnccl"]),
            "pytorch-backward": lambda n: torch and calls(n, "backward", 503, python=torch),
        }
        for name, run in rows.items():
            for program, (runs, ns) in sorted((run(name) or {}).items()):
                print(f"| {name} | {program} | {runs} | {max(ns - floor, 0):.0f} |", flush=True)


def main():
    before = SWITCH.read_text()
    SWITCH.write_text("1")
    try:
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            measure(Path(folder))
    finally:
        SWITCH.write_text(before)


main()
