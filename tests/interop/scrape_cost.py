#!/usr/bin/env python3
"""What a scrape of 10,000 series costs the real ebpf_exporter and jobscope.

    sudo tests/interop/scrape_cost.py [--rounds N] [--ebpf-exporter PROGRAM]

Both run at the same time and are scraped in turns, so that whatever else the machine does meets both. The figure is
the CPU time of the process (/proc/PID/stat) for each scrape; only the ratio means something on another machine.
"""
import argparse
import os
import sys
from pathlib import Path

import exporter
import real_exporter

KEYS = 10_000
SOURCE = """#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct key {
  __u32 pid;
  char command[16];
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, struct key);
  __type(value, __u64);
} scrape_cost_total SEC(".maps");

char LICENSE[] SEC("license") = "GPL";
"""
CONFIG = """metrics:
  counters:
    - name: scrape_cost_total
      help: Ten thousand rows
      labels:
        - {name: pid, size: 4, decoders: [{name: uint}]}
        - {name: command, size: 16, decoders: [{name: string}]}
"""
# As a plain client asks, and as Prometheus does.
WAYS = {"text": {}, "text, compressed": {"Accept": "text/plain;version=0.0.4", "Accept-Encoding": "gzip"}}


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(pid):
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def lines():
    for n in range(KEYS):
        command = f"worker-{n % 100}".encode().ljust(16, b"\0")
        yield f"row scrape_cost_total {n.to_bytes(4, sys.byteorder).hex()}{command.hex()} {n + 1}"


def measure(both, headers, rounds):
    """CPU seconds for each scrape, of each."""
    for running in both:
        running.get("/metrics", **headers)  # what is remembered from now on
    before = [cpu_seconds(running.process.pid) for running in both]
    for _ in range(rounds):
        for running in both:
            status, body = running.get("/metrics", **headers)
            assert status == 200 and len(body) > 2 * KEYS, (status, len(body))
    return [(cpu_seconds(running.process.pid) - at_first) / rounds for running, at_first in zip(both, before)]


def main():
    parser = argparse.ArgumentParser(description="CPU time of a scrape: ebpf_exporter and jobscope.")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--ebpf-exporter", metavar="PROGRAM")
    arguments = parser.parse_args()
    try:
        program = arguments.ebpf_exporter or real_exporter.real_exporter()
    except real_exporter.Missing as why:
        print(f"skipped, since there is no ebpf_exporter to compare with: {why}")
        return
    folder = exporter.BUILD / "scrape_cost"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "scrape_cost.bpf.c"
    source.write_text(SOURCE)
    (folder / "scrape_cost.yaml").write_text(CONFIG)
    exporter.compile_bpf(source, folder / "scrape_cost.bpf.o")
    names = ["scrape_cost"]
    with exporter.Exporter([program], folder, names) as real, \
            exporter.Exporter([exporter.JOBSCOPE, "programs"], folder, names) as ours:
        rows = list(lines())
        for running in (real, ours):
            running.fill(rows)
        print(f"{KEYS} series, {arguments.rounds} scrapes of each, in turns")
        for way, headers in WAYS.items():
            theirs, mine = measure((real, ours), headers, arguments.rounds)
            print(f"{way:17}  ebpf_exporter {1000 * theirs:6.2f} ms   jobscope {1000 * mine:6.2f} ms   "
                  f"ratio {theirs / mine if mine else float('inf'):.1f}")
        print(f"resident memory    ebpf_exporter {resident_mib(real.process.pid):6.1f} MiB  "
              f"jobscope {resident_mib(ours.process.pid):6.1f} MiB")


if __name__ == "__main__":
    main()
