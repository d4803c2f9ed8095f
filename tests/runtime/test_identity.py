"""On CPU + waiting for a CPU + blocked = lifetime, and the same as the kernel's own ledgers say."""
import json

import pytest

from harness import MS, ON_CPU, assert_identity, assert_ledger, environment, near, part, workload

# Each stresses another side of the switch: never leaving, always leaving, sharing a core, exiting with much to free.
CASES = {
    "never switches": ["spin"],
    "in the kernel": ["spin", "system"],
    "shares a core": ["hog"],
    "switches all the time": ["futex_pair", 0, 100000],
    "yields all the time": ["yield_spin"],
    "sleeps": ["sleep_wait"],
    "waits for children": ["child_wait"],
    "stands still": ["stop_self"],
    "exit takes long": ["touch_memory", 384],
    "short threads": ["short_threads"],
    "many threads": ["many_threads", 300],
    "python threads": ["gil_fight.py"],
    "reads the disk": ["read_file", "direct", "{big_file}"],
}


@pytest.mark.parametrize("case", CASES)
def test_agrees_with_the_kernels_ledgers(run, tmp_path, request, case):
    command = [request.getfixturevalue("big_file") if a == "{big_file}" else a for a in CASES[case]]
    ledger_file = tmp_path / "ledger"
    result = run(workload("ledger", ledger_file, *workload(*command)), env=environment(workload_ms=1000))
    assert result.returncode == 0, result
    assert_identity(result.report)
    assert_ledger(result.report, json.loads(ledger_file.read_text()))


@pytest.mark.parametrize("command", [["spin"], ["pipe_wait"], ["futex_pair", 0, 100000]], ids=lambda c: c[0])
def test_agrees_with_what_the_workload_read_at_its_end(run, tmp_path, command):
    """schedstat by the thread itself is a lower bound: its exit comes after. As a zombie it has all: the upper one."""
    ledger_file = tmp_path / "ledger"
    result = run(workload("ledger", ledger_file, *workload(*command)), env=environment(workload_ms=1000))
    kernel = json.loads(ledger_file.read_text())
    own, thread = result.workload, result.report.thread(result.workload["tid"])
    for ours, first, last in ((part(thread, *ON_CPU), own["on_cpu_ns"], kernel["on_cpu_ns"]),
                              (part(thread, "runqueue", "throttled"), own["run_delay_ns"], kernel["run_delay_ns"])):
        tolerance = max(MS, 0.005 * last)
        assert first - tolerance <= ours <= last + tolerance, (thread, own, kernel)


@pytest.mark.parametrize("command", [["sleep_wait"], ["hog"], ["read_file", "direct", "{big_file}", 2003]],
                         ids=lambda c: c[0])
def test_switches_are_those_that_the_kernel_counted(run, tmp_path, request, command):
    command = [request.getfixturevalue("big_file") if a == "{big_file}" else a for a in command]
    ledger_file = tmp_path / "ledger"
    result = run(workload("ledger", ledger_file, *workload(*command)), env=environment(workload_ms=1000))
    own, thread = result.workload, result.report.thread(result.workload["tid"])
    # Between the workload's look and its end lie its last write and its exit.
    for kind in ("voluntary", "involuntary"):
        assert own[kind] <= thread["switches"][kind] <= own[kind] + 10, (own, thread)


def test_user_and_system_time_are_told_apart(run):
    for mode, reason in (("user", "cpu_user"), ("system", "cpu_system")):
        result = run(workload("spin", mode), env=environment(workload_ms=1000))
        thread = result.report.thread(result.workload["tid"])
        assert part(thread, reason) >= 0.95 * part(thread, *ON_CPU), thread


def test_cores_are_the_cores_it_ran_on(run):
    result = run(workload("hog"), env=environment(workload_ms=1000))
    thread = result.report.thread(result.workload["tid"])
    core = str(result.workload["core"])
    # Before it bound itself it may have run elsewhere for a moment.
    assert thread["cores"][core] >= 0.95 * sum(thread["cores"].values()), thread


def test_threads_that_end_are_told_from_those_that_live(run):
    result = run(workload("orphan", "leave"))
    report = result.report
    assert report.thread(result.workload["pid"])["exited"]
    assert report.thread(result.workload["daemon"])["name"] == "orphan_daemon"
    assert_identity(report)
