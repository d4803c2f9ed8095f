"""What already runs, watched from now on: by pid, by name, by cgroup, by container."""
import json
import os
import secrets
import signal
import time
from pathlib import Path

import pytest

from harness import (JOBSCOPE, Report, assert_identity, end_tree, environment, finish, is_alive, part, start,
                     wait_until, workload)
from machine import CGROUPS


@pytest.fixture
def job():
    """job(COMMAND) starts something that is there before jobscope, and is ended after the test."""
    jobs = []

    def job(command, ms=15000):
        jobs.append(start(command, env=environment(workload_ms=ms)))
        return jobs[-1]

    yield job
    for each in jobs:
        end_tree(each)


@pytest.fixture
def attach(tmp_path):
    def attach(*options, timeout=40):
        file = tmp_path / "attach.json"
        process = start([JOBSCOPE, "attach", *options, "--json", file])
        out, err = finish(process, timeout)
        assert process.returncode == 0, err
        assert len(err.splitlines()) > 5 or len(out.splitlines()) > 5
        report = Report.read(file)
        assert_identity(report)
        return report

    return attach


def settled(process, name):
    """Waits until the child of `start` has become the program, and its first sleep has begun."""
    wait_until(lambda: open(f"/proc/{process.pid}/comm").read().strip() == name, name)
    time.sleep(0.2)
    return process


def assert_watched(report, pid, reason):
    thread = report.thread(pid)
    assert part(thread, reason) >= 0.95 * thread["lifetime_ns"], thread
    assert not thread["exited"]
    assert thread["lifetime_ns"] <= report["job"]["elapsed_ns"] * 1.02
    assert report.process(pid)["exit_code"] is None


def test_by_pid(job, attach):
    sleeper = settled(job(workload("sleep_wait")), "sleep_wait")
    report = attach("--pid", sleeper.pid, "--for", "1s")
    assert_watched(report, sleeper.pid, "sleep")
    assert len(report["processes"]) == 1
    assert is_alive(sleeper.pid)


def test_all_of_the_tree_and_what_it_starts_later(job, attach):
    parent = settled(job(workload("child_wait")), "child_wait")
    report = attach("--pid", parent.pid, "--for", "1500ms")
    children = [p for p in report["processes"] if p["ppid"] == parent.pid]
    assert len(children) >= 3
    assert sum(p["exit_code"] == 0 for p in children) >= 2
    assert_watched(report, parent.pid, "wait_child")


def test_threads_that_were_there_before(job, attach):
    pair = settled(job(workload("futex_pair")), "futex_pair")
    report = attach("--pid", pair.pid, "--for", "1s")
    threads = [t for t in report["threads"] if t["pid"] == pair.pid]
    assert len(threads) == 2
    main = report.thread(pair.pid)
    assert part(main, "futex") >= 0.8 * main["lifetime_ns"], main
    (partner,) = [t for t in threads if t["tid"] != pair.pid]
    assert part(partner, "sleep") >= 0.8 * partner["lifetime_ns"], partner


def test_a_wait_that_began_before_and_ends_after(job, attach):
    sleeper = settled(job(["sleep", "30"]), "sleep")
    report = attach("--pid", sleeper.pid, "--for", "1s")
    assert_watched(report, sleeper.pid, "sleep")


def test_a_thread_that_never_leaves_its_core(job, attach):
    spinner = settled(job(workload("spin")), "spin")
    report = attach("--pid", spinner.pid, "--for", "1s")
    thread = report.thread(spinner.pid)
    assert part(thread, "cpu_user", "cpu_system", "stolen", "runqueue") >= 0.99 * thread["lifetime_ns"], thread
    assert part(thread, "cpu_user") > 0


def test_by_name(job, attach):
    sleepers = [settled(job(workload("sleep_wait")), "sleep_wait") for _ in range(3)]
    report = attach("--comm", "sleep_wait", "--for", "1s")
    assert {s.pid for s in sleepers} == {p["pid"] for p in report["processes"]}


def test_by_cgroup(job, attach, cpu_group):
    inside = settled(job(cpu_group.entered_by(workload("sleep_wait"))), "sleep_wait")
    settled(job(workload("sleep_wait")), "sleep_wait")
    report = attach("--cgroup", cpu_group.path, "--for", "1s")
    assert_watched(report, inside.pid, "sleep")
    assert [p["pid"] for p in report["processes"]] == [inside.pid]


@pytest.fixture
def container():
    """A cgroup in every hierarchy, named as dockerd names that of a container; yields (id, procs files)."""
    identity = secrets.token_hex(32)
    hierarchies = [p for p in (CGROUPS, *CGROUPS.iterdir()) if (p / "cgroup.procs").exists()]
    parents = [(h / "docker", not (h / "docker").exists()) for h in hierarchies if h.name != "cpuset"]
    try:
        for parent, _ in parents:
            (parent / identity).mkdir(parents=True)
        yield identity, [parent / identity / "cgroup.procs" for parent, _ in parents]
    finally:
        for parent, new in parents:
            wait_until(lambda: not (parent / identity / "cgroup.procs").read_text(), "the end of the container")
            (parent / identity).rmdir()
            if new:
                parent.rmdir()


def test_by_container(attach, container):
    identity, groups = container
    enter = "; ".join(f"echo 0 >{g}" for g in groups)
    command = ["sh", "-c", f'{enter}; exec "$@"', "sh", *workload("sleep_wait")]
    inside = start(command, env=environment(workload_ms=15000))
    try:
        settled(inside, "sleep_wait")
        assert_watched(attach("--container", identity[:12], "--for", "1s"), inside.pid, "sleep")
        assert_watched(attach("--container", identity, "--for", "1s"), inside.pid, "sleep")
    finally:
        end_tree(inside)


def watching(process):
    """Waits until jobscope has its BPF programs, and a moment more."""
    def has_programs():
        descriptors = Path(f"/proc/{process.pid}/fd")
        return process.poll() is not None or any("bpf" in os.readlink(fd) for fd in descriptors.iterdir())

    wait_until(has_programs, "the BPF programs")
    time.sleep(1)
    return process


def test_ctrl_c_ends_the_watch_and_not_the_job(job, tmp_path):
    sleeper = settled(job(workload("sleep_wait"), ms=4000), "sleep_wait")
    file = tmp_path / "attach.json"
    process = watching(start([JOBSCOPE, "attach", "--pid", sleeper.pid, "--json", file]))
    process.send_signal(signal.SIGINT)
    finish(process)
    assert process.returncode == 0
    assert_watched(Report.read(file), sleeper.pid, "sleep")
    out, _ = finish(sleeper)
    assert sleeper.returncode == 0 and json.loads(out)["workload"] == "sleep_wait"


def test_it_ends_with_the_job(job, attach):
    sleeper = settled(job(workload("sleep_wait"), ms=3000), "sleep_wait")
    report = attach("--pid", sleeper.pid, "--for", "500s")
    assert report.process(sleeper.pid)["exit_code"] == 0
    assert report.thread(sleeper.pid)["exited"]


def test_killed_watcher_does_no_harm(job):
    sleeper = settled(job(workload("sleep_wait"), ms=4000), "sleep_wait")
    process = watching(start([JOBSCOPE, "attach", "--pid", sleeper.pid]))
    process.kill()
    process.communicate()
    out, _ = finish(sleeper)
    assert sleeper.returncode == 0 and json.loads(out)["count"] > 0


def free_pid():
    pid = int(open("/proc/sys/kernel/pid_max").read()) - 1
    while os.path.exists(f"/proc/{pid}"):
        pid -= 1
    return pid


@pytest.mark.parametrize("options", [
    ["--pid", "{free}"], ["--pid", "word"], ["--pid", "0"], ["--comm", "no such name"],
    ["--cgroup", "/no/such/group"], ["--container", "0123456789ab"], []], ids=str)
def test_nothing_to_attach_to(options):
    options = [free_pid() if o == "{free}" else o for o in options]
    process = start([JOBSCOPE, "attach", *options, "--for", "1s"])
    out, err = finish(process)
    assert process.returncode not in (0, -signal.SIGSEGV, -signal.SIGABRT)
    assert len(err.strip().splitlines()) == 1, err


def test_a_name_with_a_newline_hides_nobody(job, attach):
    process = job(["/usr/bin/python3", "-c",
                   "import ctypes, os, time\n"
                   "if os.fork() == 0:\n"
                   "  ctypes.CDLL(None).prctl(15, b'a\\nb', 0, 0, 0)\n"
                   "  if os.fork() == 0:\n"
                   "    while True: pass\n"
                   "  time.sleep(20)\n"
                   "time.sleep(20)"])
    time.sleep(1)
    report = attach("--pid", str(process.pid), "--for", "1s")
    assert len(report["processes"]) == 3
    assert report["job"]["cpu_ns"] > 500_000_000


def test_how_the_job_ended_is_told(job, attach):
    process = job(["sh", "-c", "sleep 2; exit 3"])
    report = attach("--pid", str(process.pid))
    assert report["job"]["exit_code"] == 3


@pytest.mark.parametrize("options", [["--pid", "2"], ["--comm", "kthreadd"], ["--comm", ""], ["--pid", "0"],
                                     ["--pid", "-1"], ["--pid", "010"], ["--container", "/"]])
def test_what_cannot_be_attached_to(options):
    process = start([JOBSCOPE, "attach", *options, "--for", "1s"])
    out, err = finish(process)
    assert process.returncode == 2 and not out
    assert len(err.splitlines()) == 1 and len(err) < 200, err
