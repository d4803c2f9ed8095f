"""What the guests of run.py brought home: the same sums and counts on each kernel. No durations: the guests are
emulated."""
import json
import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "runtime"))
from harness import MS, ON_CPU, Report, assert_identity, how_many, near, part  # noqa: E402

RESULTS = Path(os.environ["JOBSCOPE_KERNEL_RESULTS"])
GUESTS = sorted(p.name for p in RESULTS.iterdir() if (p / "rc").exists())

ONE_WAIT = {  # workload → reason
    "pipe_wait": "pipe", "unix_wait": "unix_socket", "poll_wait": "poll", "sleep_wait": "sleep",
    "child_wait": "wait_child", "lock_wait": "file_other", "futex_pair": "futex", "omp_barrier": "barrier",
    "stop_self": "stopped", "semaphore_wait": "other", "tcp_connect": "net_connect", "map_fault": "page_fault",
}


class Home:
    """What one guest brought."""

    def __init__(self, name):
        self.folder = RESULTS / name
        self.report = Report.read(self.folder / "report.json")
        lines = (self.folder / "own.jsonl").read_text().splitlines()
        self.own = [json.loads(line) for line in lines if line.startswith("{")]

    def text(self, name):
        return (self.folder / name).read_text()

    def lines(self, workload):
        found = [line for line in self.own if line["workload"] == workload]
        assert found, f"{workload} did not run: {self.text('stderr')[-2000:]}"
        return found


@pytest.fixture(scope="module", params=GUESTS)
def home(request):
    return Home(request.param)


def test_check_is_as_expected(home):
    table = [line.rstrip() for line in home.text("check.txt").splitlines()[1:]]
    series = ".".join(home.text("kernel").split(".")[:2])
    expected = HERE / "expected" / f"{series}.txt"
    assert table == expected.read_text().splitlines(), f"{expected} says otherwise"


def test_identity(home):
    assert_identity(home.report)


def test_nothing_was_lost(home):
    assert home.report["self"]["events_lost"] == 0, home.report["self"]


def test_recording_gives_the_same_report(home):
    assert home.text("again.txt") == home.text("report.txt")


def assert_waited(home, own, reason, outside=5 * MS):
    thread = home.report.thread(own["tid"])
    blocked = own["blocked_ns"] - min(part(thread, "stolen"), own["on_cpu_ns"])
    assert part(thread, reason) >= 0.9 * blocked, (own, thread)
    assert part(thread, reason) <= 1.02 * own["wait_ns"] + outside, (own, thread)


@pytest.mark.parametrize("workload", ONE_WAIT)
def test_wait_is_under_its_reason(home, workload):
    for own in home.lines(workload):
        assert_waited(home, own, ONE_WAIT[workload])


@pytest.mark.parametrize("workload", ["read_file", "write_file", "tcp_wait"])
def test_wait_is_under_the_reason_that_the_workload_says(home, workload):
    for own in home.lines(workload):
        assert_waited(home, own, own["reason"])


def test_gil(home):
    """To open a file is to give up the lock: up to 15 ms each time until it is had again."""
    for own in home.lines("gil_fight")[0]["threads"]:
        assert_waited(home, own, "gil", outside=150 * MS)


def test_schedstat(home):
    """On the CPU and waiting for one: what the thread read of the kernel near its end is the least."""
    for own in home.own:
        if "run_delay_ns" not in own:
            continue
        thread = home.report.thread(own["tid"])
        assert part(thread, *ON_CPU) >= 0.995 * own["on_cpu_ns"] - MS, (own, thread)
        assert near(part(thread, "runqueue", "throttled"), own["run_delay_ns"], 20 * MS, 0.05), (own, thread)


def test_a_sleep_goes_on_after_a_stop(home):
    own, = home.lines("interrupted_sleep")
    thread = home.report.thread(own["tid"])
    assert part(thread, "stopped") > 0 and part(thread, "sleep") > 0 and part(thread, "other") == 0, thread


def test_23_reads(home):
    reads = home.lines("diskstats")[0]["reads"]
    counted = home.report.block_io("vda", "read")
    assert reads >= 23 and counted["count"] >= 23 + home.lines("read_file")[1]["count"], counted


def test_waits_of_different_names(home):
    own, = home.lines("many_waits")
    named = [w for w in home.report["waits"] if w["pid"] == own["pid"] and w["reason"] == "futex"]
    assert 0.9 * 211 <= sum(w["waits"] for w in named) <= 211, named


def test_1008_children(home):
    own, = home.lines("spawn_storm")
    children = [p for p in home.report.processes_named("exit_with") if p["ppid"] != own["pid"]]
    codes = {}
    for child in children:
        codes[str(child["exit_code"])] = codes.get(str(child["exit_code"]), 0) + child.get("processes", 1)
    codes["7"] = codes.get("7", 1) - 1  # thread_exec's
    assert {code: count for code, count in codes.items() if count} == own["codes"], own


def test_short_threads(home):
    assert how_many(home.report.threads_named("blink"), "threads") == 211


def test_many_threads(home):
    assert how_many(home.report.threads_named("crowd"), "threads") == 307


def test_pid_reuse(home):
    own, = home.lines("pid_reuse")
    same = [p for p in home.report["processes"] if p["pid"] == own["reused"]]
    assert sorted(p["exit_code"] for p in same)[-7:] == list(range(11, 18)), same


def test_daemon_stays_a_member(home):
    daemon, = home.report.processes_named("orphan_daemon")
    assert daemon["exit_code"] == 42


def test_exec_in_a_thread(home):
    own, = home.lines("thread_exec")
    process = home.report.process(own["pid"])
    assert (process["name"], process["exit_code"]) == ("exit_with", 7), process


def test_who_killed_whom(home):
    own, = home.lines("kill_child")
    for process in (p for p in home.report["processes"] if p["ppid"] == own["pid"] and p["signal"] in (9, 15)):
        assert process["killed_by"]["pid"] == own["pid"], process
