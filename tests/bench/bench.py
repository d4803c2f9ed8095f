#!/usr/bin/env python3
"""What jobscope costs a job, beside other tools. Prints one table in Markdown.

Step times of both LeNets, bare and under each tool, in turns: bare, tool, bare, tool … The figure is
the median step of a run over that of the bare run beside it; the interval is a bootstrap over pairs.
One run of a LeNet differs from the next by much more than jobscope costs. So there is a second
figure, from one long run that is watched for some seconds, left alone for as long, and so on: the
median step of a watched window over those of the two beside it.
Nanoseconds per switch come from the kernel's own count of BPF run time (kernel.bpf_stats_enabled),
less what an empty program is charged in the same run.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
FRAMEWORKS = {"mindspore": "lenet_mindspore.py", "pytorch": "lenet_pytorch.py"}


def note(text):
    print(text, file=sys.stderr, flush=True)


def python_of(name):
    return subprocess.run([TOP / "scripts/python_env.sh", name], check=True, stdout=subprocess.PIPE,
                          text=True).stdout.strip()


def py_spy():
    """The py-spy of a small environment of its own; None if it cannot be had."""
    cache = Path(os.environ.get("JOBSCOPE_CACHE", Path.home() / ".cache/jobscope"))
    program = cache / "py-spy/bin/py-spy"
    if not program.exists():
        commands = [["/usr/bin/python3", "-m", "venv", cache / "py-spy"],
                    [cache / "py-spy/bin/pip", "install", "-q", "py-spy==0.4.1"]]
        for command in commands:
            if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
                return None
    return program


WINDOW = 4  # seconds


class Job:
    """A LeNet that logs when each step ended, in seconds, and how long it took, in ms."""

    def __init__(self, name, steps, scratch):
        self.steps = steps
        self.python = python_of(name)
        self.log = scratch / f"{name}.steps"
        data = scratch / "digits"
        subprocess.run([self.python, TOP / "examples/digits.py", data], check=True,
                       stdout=subprocess.DEVNULL)
        self.program = [self.python, TOP / "examples" / FRAMEWORKS[name], "--data", data,
                        "--epochs", "100000", "--step-log", self.log]

    def logged(self):
        """(end, ms) of the steps so far, but the first ones, which compile."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [tuple(map(float, line.split())) for line in lines[self.steps // 5:] if " " in line]

    def start(self, prefix=(), steps=None):
        self.log.unlink(missing_ok=True)
        limit = ["--steps", str(steps)] if steps else []
        return subprocess.Popen([*map(str, prefix), *map(str, self.program), *limit],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def median_step(self, prefix=()):
        """Median step in ms of one run under `prefix`. A tool may fail at its end: the steps count."""
        self.start(prefix, self.steps).wait()
        steps = [ms for _, ms in self.logged()]
        if not steps:
            raise SystemExit(f"{self.program} made no steps under {prefix}")
        return statistics.median(steps)

    def median_between(self, begin, end):
        return statistics.median(ms for at, ms in self.logged() if begin < at - ms / 1e3 and at < end)

    def watched_in_turns(self, jobscope, windows):
        """Ratios of the median step of each watched window to those of its two neighbours."""
        report = self.log.with_suffix(".json")
        process = self.start()
        spans = []
        try:
            while not self.logged() and process.poll() is None:
                time.sleep(0.1)
            for _ in range(windows):
                time.sleep(WINDOW)
                subprocess.run([jobscope, "attach", "--pid", str(process.pid), "--for", f"{WINDOW}s",
                                "--report", "/dev/null", "--json", report], check=True)
                watched = json.loads(report.read_text())["job"]
                begin = watched["started_unix_ns"] / 1e9 - time.time() + time.monotonic()
                spans.append((begin, begin + watched["elapsed_ns"] / 1e9))
            time.sleep(WINDOW)
        finally:
            process.terminate()
            process.wait()
        ratios = []
        for begin, end in spans:
            bare = [self.median_between(begin - WINDOW, begin - 1),
                    self.median_between(end + 1, end + WINDOW)]
            ratios.append(self.median_between(begin, end) / statistics.mean(bare))
        return ratios


def interval(ratios):
    """95 % bootstrap interval of the median ratio."""
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(5000))
    return medians[125], medians[-126]


def compare(job, prefix, rounds):
    """Ratios under `prefix` to bare, a pair a round; which of the two comes first alternates."""
    ratios = []
    for index in range(rounds):
        if index % 2:
            with_tool = job.median_step(prefix)
            bare = job.median_step()
        else:
            bare = job.median_step()
            with_tool = job.median_step(prefix)
        ratios.append(with_tool / bare)
    return ratios


def percent(ratios):
    low, high = interval(ratios)
    return (f"{100 * (statistics.median(ratios) - 1):+.1f} % "
            f"({100 * (low - 1):+.1f} … {100 * (high - 1):+.1f})")


def programs(but=()):
    """Run time and runs of the BPF programs by name, but for those with these ids; and all their ids.

    What an earlier run loaded stays for a moment after its end."""
    out = subprocess.run(["bpftool", "--json", "prog", "show"], check=True, stdout=subprocess.PIPE)
    shown = json.loads(out.stdout)
    return ({p["name"]: (p.get("run_time_ns", 0), p.get("run_cnt", 0))
             for p in shown if p.get("name") and p["id"] not in but}, {p["id"] for p in shown})


def per_switch(build, watched):
    """ns per run of on_switch, less an empty program's, and that: medians of short windows, for a
    hypervisor that takes the CPU meanwhile spoils a mean."""
    earlier = programs()[1]
    command = [build / "switches", "1000000000"]
    watched_command, other = (command, ["sleep", "60"]) if watched else (["sleep", "60"], command)
    nop = subprocess.Popen([build / "attach", build / "nop.bpf.o"], stderr=subprocess.DEVNULL)
    was_on = subprocess.run(["sysctl", "-n", "kernel.bpf_stats_enabled"], check=True,
                            stdout=subprocess.PIPE, text=True).stdout.strip()
    subprocess.run(["sysctl", "-qw", "kernel.bpf_stats_enabled=1"], check=True)
    watcher = subprocess.Popen([build / "jobscope", "run", "--report", "/dev/null", "--", *watched_command],
                               stdout=subprocess.DEVNULL)
    beside = subprocess.Popen(other)
    nets, floors = [], []
    try:
        deadline = time.monotonic() + 20
        while not {"on_switch", "nop"} <= programs(earlier)[0].keys() and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.5)
        before = programs(earlier)[0]
        for _ in range(40):
            time.sleep(0.1)
            after = programs(earlier)[0]
            own, floor = ((after[name][0] - before[name][0]) / max(after[name][1] - before[name][1], 1)
                          for name in ("on_switch", "nop"))
            nets.append(own - floor)
            floors.append(floor)
            before = after
    finally:
        for process in (watcher, beside, nop):
            process.terminate()
            process.wait()
        subprocess.run(["sysctl", "-qw", f"kernel.bpf_stats_enabled={was_on}"])
    return statistics.median(nets), statistics.median(floors)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--frameworks", nargs="*", default=list(FRAMEWORKS))
    parser.add_argument("--quick", action="store_true", help="jobscope only, three rounds")
    options = parser.parse_args()
    rounds = 3 if options.quick else options.rounds
    rows = []
    for watched, who, aim in ((True, "the job's threads", 100), (False, "others", 25)):
        costs = sorted(per_switch(options.build, watched) for _ in range(5))
        net, floor = costs[len(costs) // 2]
        rows.append((f"ns per switch, {who}", f"{net:.0f} ({costs[0][0]:.0f} … {costs[-1][0]:.0f}; aim {aim}; "
                                              f"an empty program, left out: {floor:.0f})"))
        note(f"{rows[-1][0]}: {rows[-1][1]}")

    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        report = scratch / "report.json"
        watch = [options.build / "jobscope", "run", "--report", "/dev/null", "--json", report, "--"]
        spy = None if options.quick else py_spy()
        for name in options.frameworks:
            steps = options.steps if name == "mindspore" else options.steps * 10
            job = Job(name, steps, scratch)
            job.median_step()
            ratios = compare(job, watch, rounds)
            own, used = json.loads(report.read_text())["self"], json.loads(report.read_text())["job"]
            rows.append((f"LeNet, {name}: step time under `jobscope run`", percent(ratios)))
            note(f"{rows[-1][0]}: {rows[-1][1]}")
            ratios = job.watched_in_turns(options.build / "jobscope", 5 * rounds)
            rows.append((f"LeNet, {name}: step time while watched, within one run", percent(ratios)))
            note(f"{rows[-1][0]}: {rows[-1][1]}")
            direct = own["cpu_ns"] + (own["bpf_ns"] or 0)
            rows.append((f"LeNet, {name}: CPU of jobscope, of the job's",
                         f"{100 * direct / used['cpu_ns']:.2f} % (BPF "
                         f"{100 * (own['bpf_ns'] or 0) / used['cpu_ns']:.2f} %, start included)"))
            note(f"{rows[-1][0]}: {rows[-1][1]}")
            if options.quick:
                continue
            others = {"strace -f -c": ["strace", "-f", "-c", "-o", "/dev/null"]}
            if spy:
                others["py-spy record"] = [spy, "record", "-o", scratch / "spy.svg", "--"]
            for tool, prefix in others.items():
                ratios = compare(job, prefix, 3)
                rows.append((f"LeNet, {name}: step time under `{tool}`", percent(ratios)))
                note(f"{rows[-1][0]}: {rows[-1][1]}")
    print("| what | figure |\n|---|---|")
    for what, figure in rows:
        print(f"| {what} | {figure} |")


if __name__ == "__main__":
    main()
