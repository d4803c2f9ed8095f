#!/usr/bin/env python3
"""Runs jobscope under other kernels: run.py BUILD_FOLDER [KERNEL...], as in run.py build 6.1 7

Each kernel is Debian's, fetched once, and booted in an emulated machine, two at a time. The guests only run the
workloads; what they bring is judged here, by test_kernels.py. A kernel that the mirror lacks is skipped; fewer than
three is a failure, unless fewer were asked for.
"""
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import guest
import kernels

HERE = Path(__file__).resolve().parent
ALL = ("5.10", "6.1", "6.12", "6.18", "7")
AT_ONCE = 2
LEAST = 3


def prepare(build, shared):
    """What the guest needs, in the folder it shares with us."""
    binaries = shared / "bin"
    shutil.copytree(build / "workloads", binaries)
    shutil.copy(build / "jobscope", binaries)
    shutil.copy(HERE.parent / "workloads/gil_fight.py", binaries)
    for script in ("guest.sh", "workloads.sh"):
        shutil.copy(HERE / script, shared)


def run_one(build, kernel, results):
    """Boots a kernel; returns what to print of it."""
    shared = results / kernel.name
    shared.mkdir()
    prepare(build, shared)
    began = time.monotonic()
    with guest.Guest(kernel, shared) as machine:
        rc = machine.run()
    took = f"{time.monotonic() - began:.0f} s"
    if rc is None:
        return False, f"{kernel.name}: the guest did not come to its end ({took})\n{(shared / 'console').read_text()[-3000:]}"
    return True, f"{kernel.name}: ran ({took})"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, wanted = Path(sys.argv[1]).resolve(), sys.argv[2:] or ALL
    found = []
    for pattern in wanted:
        try:
            found.append(kernels.fetch(pattern))
        except (kernels.Missing, OSError, subprocess.CalledProcessError) as error:
            print(f"skipped: {pattern}: {error}", flush=True)
    if len(found) < min(LEAST, len(wanted)):
        sys.exit(f"only {len(found)} of {len(wanted)} kernels could be had")
    with tempfile.TemporaryDirectory(prefix="jobscope-kernels-") as folder:
        results = Path(os.environ.get("JOBSCOPE_KERNEL_RESULTS") or folder)
        all_ran = True
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for ran, words in pool.map(lambda kernel: run_one(build, kernel, results), found):
                print(words, flush=True)
                all_ran = all_ran and ran
        judged = subprocess.run([sys.executable, "-m", "pytest", "-q", HERE / "test_kernels.py"],
                                env={**os.environ, "JOBSCOPE_KERNEL_RESULTS": str(results)})
        sys.exit(judged.returncode or not all_ran)


if __name__ == "__main__":
    main()
