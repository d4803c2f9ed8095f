#!/usr/bin/python3
"""Four Python threads count in pure Python, so three of them always wait for the interpreter lock.

    gil_fight.py
Reason: gil. Prints, per thread, what the kernel booked: its span less on-CPU and run-queue time is
the wait.
"""

import json
import os
import threading
import time

DURATION_NS = int(os.environ.get("WORKLOAD_MS", "2000")) * 1_000_000


def ledger():
    """(monotonic, on-CPU, run-queue) of this thread, in ns."""
    # schedstat of a running thread is as old as the last tick; this brings it up to date.
    time.clock_gettime_ns(time.CLOCK_THREAD_CPUTIME_ID)
    with open("/proc/thread-self/schedstat", "rb", buffering=0) as file:
        on_cpu, run_delay = map(int, file.read().split()[:2])
    return time.monotonic_ns(), on_cpu, run_delay


def fight(start, results):
    start.wait()
    first = ledger()
    count = 0
    while time.monotonic_ns() - first[0] < DURATION_NS:
        for _ in range(1000):
            count += 1
    last = ledger()
    span, on_cpu, run_delay = (b - a for a, b in zip(first, last))
    results.append(
        {
            "tid": threading.get_native_id(),
            "count": count,
            "span_ns": span,
            "wait_ns": span - on_cpu,
            "blocked_ns": max(0, span - on_cpu - run_delay),
            "on_cpu_ns": last[1],
            "run_delay_ns": last[2],
        }
    )


def main():
    results = []
    start = threading.Barrier(4)
    threads = [threading.Thread(target=fight, args=(start, results)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(
        json.dumps(
            {
                "workload": "gil_fight",
                "reason": "gil",
                "pid": os.getpid(),
                "tid": os.getpid(),
                "threads": results,
            }
        )
    )


main()
