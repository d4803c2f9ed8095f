#!/usr/bin/env python3
"""Runs jobscope under other kernels: run.py BUILD_FOLDER [KERNEL...], as in run.py build 6.1 7 arm64

Each kernel is Debian's, fetched once, and booted in an emulated machine, two at a time. The guests only run the
workloads; what they bring is judged here, by test_kernels.py. A kernel that the mirror lacks is skipped; fewer than
three is a failure, unless fewer were asked for. arm64 is one of that architecture, with jobscope cross-compiled.
"""
import concurrent.futures
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import arm64
import guest
import kernels

HERE = Path(__file__).resolve().parent
ALL = ("arm64", "5.10", "6.1", "6.12", "6.18", "7")
AT_ONCE = 2
LEAST = 3

# Each kernel runs on another kind of machine.
STATISTICS = "kernel/bpf_stats_enabled=1 kernel/unprivileged_bpf_disabled=2"
MACHINES = {
    "5.10": {"cpus": 1, "cgroups": "v1", "small_memlock": "yes"},
    "6.1": {"cpus": 4, "cgroups": "hybrid"},
    "6.12": {"cpus": 2, "cgroups": "v2", "command_line": "lockdown=integrity"},
    "6.18": {"cpus": 2, "cgroups": "v2", "sysctls": STATISTICS},
    "7": {"cpus": 2, "cgroups": "v2", "sysctls": STATISTICS},
}
ANY_MACHINE = {"cpus": 2, "cgroups": "v2"}


@dataclasses.dataclass
class Subject:
    """What one guest is made of."""
    kernel: Path
    build: Path
    machine: dict
    root: Path = Path("/")
    architecture: str = "amd64"


fetching = threading.Lock()


def make_subject(pattern, build):
    """Fetches and builds what it needs. Raises kernels.Missing."""
    with fetching:
        if pattern != "arm64":
            return Subject(kernels.fetch(pattern), build, MACHINES.get(pattern, ANY_MACHINE))
        kernel, root = kernels.fetch(arm64.KERNEL, guest.ARCHITECTURES["arm64"].flavour), arm64.root()
    arm64.build(build / "arm64", root)
    return Subject(kernel, build / "arm64", ANY_MACHINE, root, "arm64")


def prepare(subject, shared):
    """What the guest needs, in the folder it shares with us."""
    binaries = shared / "bin"
    shutil.copytree(subject.build / "workloads", binaries)
    shutil.copy(subject.build / "jobscope", binaries)
    shutil.copytree(subject.build / "programs", binaries / "programs")
    shutil.copy(HERE.parent / "workloads/gil_fight.py", binaries)
    for script in ("guest.sh", "workloads.sh"):
        shutil.copy(HERE / script, shared)
    settings = subject.machine
    (shared / "settings").write_text("".join(f"{name}='{value}'\n" for name, value in settings.items()))
    (shared / "wanted.json").write_text(json.dumps(settings))


def run_one(pattern, build, results):
    """Boots a kernel. Prints what came of it, and returns that: "ran", "skipped" or "failed"."""
    try:
        subject = make_subject(pattern, build)
    except (kernels.Missing, OSError) as error:
        print(f"skipped: {pattern}: {error}", flush=True)
        return "skipped"
    except subprocess.CalledProcessError as error:
        print(f"failed: {pattern}: {error}", flush=True)
        return "failed"
    name = subject.kernel.name
    shared = results / name
    shared.mkdir()
    prepare(subject, shared)
    began = time.monotonic()
    with guest.Guest(subject.kernel, shared, subject.root, subject.architecture, subject.machine["cpus"],
                     subject.machine.get("command_line", "")) as machine:
        rc = machine.run()
    took = time.monotonic() - began
    if rc is None:
        console = (shared / "console").read_text(errors="replace")[-3000:]
        print(f"failed: {name}: the guest did not come to its end ({took:.0f} s)\n{console}", flush=True)
        return "failed"
    print(f"ran: {name} ({took:.0f} s)", flush=True)
    return "ran"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, wanted = Path(sys.argv[1]).resolve(), sys.argv[2:] or ALL
    with tempfile.TemporaryDirectory(prefix="jobscope-kernels-") as folder:
        results = Path(os.environ.get("JOBSCOPE_KERNEL_RESULTS") or folder)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            ends = list(pool.map(lambda pattern: run_one(pattern, build, results), wanted))
        if ends.count("ran") < min(LEAST, len(wanted)):
            sys.exit(f"only {ends.count('ran')} of {len(wanted)} kernels ran")
        judged = subprocess.run([sys.executable, "-m", "pytest", "-q", HERE / "test_kernels.py"],
                                env={**os.environ, "JOBSCOPE_KERNEL_RESULTS": str(results)})
        sys.exit(judged.returncode or "failed" in ends)


if __name__ == "__main__":
    main()
