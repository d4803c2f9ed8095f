"""Fixtures of the runtime tests, and the check that nothing was skipped that should have run.

    /usr/bin/python3 -m pytest tests/runtime
$JOBSCOPE names the program (build/jobscope), $JOBSCOPE_WORKLOADS where the workloads are built (build/workloads).
They need root, a real kernel and a few seconds of two cores.
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import harness
import machine

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from skips import pytest_runtest_logreport, pytest_sessionfinish, pytest_terminal_summary  # noqa: E402,F401


def pytest_sessionstart(session):
    if session.config.option.collectonly:
        return
    if not os.access(harness.JOBSCOPE, os.X_OK):
        pytest.exit(f"{harness.JOBSCOPE} is not there; build it, or set JOBSCOPE", returncode=3)
    subprocess.run(["make", "-s", "-C", harness.WORKLOAD_SOURCES, f"OUT={harness.WORKLOADS}"], check=True)


@pytest.fixture
def run(tmp_path):
    """run(COMMAND, *OPTIONS) runs `jobscope run OPTIONS --json … -- COMMAND` to its end."""

    def run(command, *options, report=True, timeout=60, text=None, program=harness.JOBSCOPE, before=(), **popen):
        json_file = tmp_path / "report.json" if report else None
        json_options = ["--json", json_file] if report else []
        if text is not None:
            popen["stdin"] = subprocess.PIPE
        process = harness.start([*before, program, "run", *json_options, *options, "--", *command], **popen)
        out, err = harness.finish(process, timeout, text)
        return harness.Result(process.returncode, out, err, json_file)

    return run


@pytest.fixture(scope="session")
def disk_directory():
    """A directory on a real disk, not in memory."""
    asked_for = os.environ.get("JOBSCOPE_TEST_DIRECTORY")
    for base in (asked_for, tempfile.gettempdir(), harness.WORKLOADS.parent, "/var/tmp"):
        if base and os.path.isdir(base) and machine.file_system(base) not in ("tmpfs", "ramfs", "overlay"):
            directory = Path(tempfile.mkdtemp(prefix="jobscope-test-", dir=base))
            yield directory
            shutil.rmtree(directory, ignore_errors=True)
            return
    pytest.skip("no directory on a disk: set JOBSCOPE_TEST_DIRECTORY")


@pytest.fixture(scope="session")
def big_file(disk_directory):
    """256 MiB on a disk, written through, so that its pages can be dropped from the cache."""
    return machine.make_file(disk_directory / "big", 256 << 20)


@pytest.fixture(scope="session")
def loop_disk(disk_directory):
    """A block device with a file system that nobody else touches."""
    with machine.LoopDisk(disk_directory) as disk:
        yield disk


@pytest.fixture
def cpu_group():
    with machine.Cgroup("cpu") as group:
        yield group


@pytest.fixture
def memory_group():
    with machine.Cgroup("memory") as group:
        yield group


@pytest.fixture
def unified_group():
    with machine.UnifiedCgroup() as group:
        yield group


@pytest.fixture
def two_networks():
    with machine.TwoNetworks() as networks:
        yield networks
