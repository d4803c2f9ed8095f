"""What the guests of run.py brought home: the same sums and counts on each kernel. No durations: the guests are
emulated."""
import json
import os
import re
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "runtime")]
import kernels  # noqa: E402
from harness import MS, ON_CPU, Report, assert_identity, how_many, near, part  # noqa: E402
from programs import Series  # noqa: E402

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
        self.machine = dict(line.split(" ", 1) for line in self.text("machine").splitlines())
        self.machine = {name: value.strip() for name, value in self.machine.items()}

    def text(self, name):
        return (self.folder / name).read_text()

    def lines(self, workload):
        found = [line for line in self.own if line["workload"] == workload]
        assert found, f"{workload} did not run: {self.text('stderr')[-2000:]}"
        return found


@pytest.fixture(scope="module", params=GUESTS)
def home(request):
    return Home(request.param)


def expected_table(architecture, kernel):
    """Of the kernel's series, or of the newest one before it."""
    tables = [t for t in (HERE / "expected" / architecture).glob("*.txt")
              if kernels.order(t.stem) <= kernels.order(kernel)]
    return max(tables, key=lambda t: kernels.order(t.stem))


def test_the_machine_is_the_one_that_was_wanted(home):
    wanted, machine = json.loads(home.text("wanted.json")), home.machine
    assert int(machine["cpus"]) == wanted["cpus"]
    assert machine["cgroups"] == {"v1": "cgroup", "hybrid": "cgroup cgroup2", "v2": "cgroup2"}[wanted["cgroups"]]
    assert machine["lockdown"] == ("integrity" if "lockdown" in wanted.get("command_line", "") else "none")
    assert machine["bpf_stats"] == ("1" if "bpf_stats_enabled=1" in wanted.get("sysctls", "") else "0")
    assert machine["unprivileged_bpf_disabled"] == "2"


def test_check_is_as_expected(home):
    table = [line.rstrip() for line in home.text("check.txt").splitlines()[1:]]
    expected = expected_table(home.machine["architecture"], home.machine["kernel"])
    assert table == expected.read_text().splitlines(), f"{expected} says otherwise"


def test_identity(home):
    assert_identity(home.report)


def test_nothing_was_lost(home):
    lost = home.report["self"]["lost"]
    if int(home.machine["kernel"].split(".")[0]) >= 7:  # docs/kernels.md: preemption at tracepoints
        for harmless in ("on_file_fault", "on_exit"):
            lost.pop(f"at most, runs of the BPF program {harmless}", None)
    assert lost == {}


def test_recording_gives_the_same_report(home):
    assert home.text("again.txt") == home.text("report.txt")


# Known only after a look at what the process has mapped, which takes its time in a guest.
LOOKED_UP = ("gil", "barrier")


def assert_waited(home, own, reason, outside=50 * MS):
    thread = home.report.thread(own["tid"])
    blocked = own["blocked_ns"] - min(part(thread, "stolen"), own["on_cpu_ns"])
    assert part(thread, reason) >= (0.6 if reason in LOOKED_UP else 0.9) * blocked, (own, thread)
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
        # Between its look and its end it may wait once more.
        assert -MS <= part(thread, "runqueue", "throttled") - 0.995 * own["run_delay_ns"] <= 300 * MS, (own, thread)


def test_a_sleep_goes_on_after_a_stop(home):
    own, = home.lines("interrupted_sleep")
    thread = home.report.thread(own["tid"])
    assert part(thread, "stopped") > 0 and part(thread, "sleep") > 0, thread
    assert part(thread, "other") < 0.1 * part(thread, "sleep"), thread


def test_23_reads(home):
    reads = home.lines("diskstats")[0]["reads"]
    counted = home.report.block_io("vda", "read")
    assert reads >= 23 and counted["count"] >= 23 + home.lines("read_file")[1]["count"], counted


def test_waits_of_different_names(home):
    own, = home.lines("many_waits")
    named = [w for w in home.report["waits"] if w["pid"] == own["pid"] and w["reason"] == "futex"]
    # In a slow guest the 20 us may be over before the thread sleeps: then it does not wait at all.
    slept = min(own["voluntary"], 211)
    assert slept > 23 and 0.9 * slept <= sum(w["waits"] for w in named) <= 211, (own, named)


def test_every_child(home):
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
    for child, signal in (("killed", 9), ("terminated", 15)):
        process = home.report.process(own[child])
        assert (process["signal"], process["killed_by"]["pid"]) == (signal, own["pid"]), process
    assert home.report.process(own["finished"])["exit_code"] == 3
    assert home.report.process(own["fallen"])["signal"] == 11


def test_exit_codes(home):
    probes_ok = not [line for line in home.text("check.txt").splitlines()
                     if line.split()[1] in ("degraded", "unavailable") and not line.startswith("programs")]
    codes = {name: home.text(f"{name}.rc").strip() for name in ("check", "run", "report", "attach", "user")}
    assert codes == {"check": "0" if probes_ok else "1", "run": "0", "report": "0", "attach": "0", "user": "0"}


def test_a_quota_of_cpu_time(home):
    own = home.lines("spin")[-1]
    stat = dict(line.split() for line in home.text("cpu.stat").splitlines())
    throttled = int(stat["throttled_usec"]) * 1000 if "throttled_usec" in stat else int(stat["throttled_time"])
    ours = part(home.report.thread(own["tid"]), "throttled")
    # The group's figure ends with its last period; the thread may have waited for a CPU in it, too.
    assert 0.5 * throttled <= ours <= throttled + 20 * MS, (ours, throttled)


def test_who_died_of_a_limit_of_memory(home):
    kill, = home.report["oom_kills"]
    victim, = [p for p in home.report.processes_named("touch_memory") if p["signal"] == 9]
    assert kill["pid"] == victim["pid"], (kill, victim)
    assert home.text("memory_group").strip().endswith(kill["cgroup"]), kill
    assert kill["limit_bytes"] == 64 << 20, kill


def test_an_ordinary_user_with_file_capabilities(home):
    report = Report.read(home.folder / "user.json")
    assert how_many(report.threads_named("blink"), "threads") == 23
    lacks = {probe["name"]: probe["reason"] for probe in report["probes"] if probe["state"] != "ok"}
    # Debian has a level of its own, 3, that asks for more to sample CPUs.
    assert "perf_event_paranoid is 3" in lacks.pop("sched"), report["probes"]
    assert set(lacks) <= {"fault"}, report["probes"]
    assert_identity(report)


def test_memory_of_maps_that_counts_against_a_limit(home):
    """Before 5.11: an ordinary user is told which limit it is."""
    if "small_memlock" in json.loads(home.text("wanted.json")):
        assert "ulimit -l" in home.text("user.check")


def test_a_job_that_ran_already(home):
    thread, = Report.read(home.folder / "attach.json")["threads"]
    assert thread["tid"] == int(home.text("attach.pid")) and part(thread, "sleep") >= 0.8 * 1000 * MS, thread


def json_lines(home, name):
    return [json.loads(line) for line in home.text(name).splitlines()]


def test_block_io_as_it_happens(home):
    lines = [line for line in json_lines(home, "block.jsonl") if line["type"] != "lost"]
    assert len(lines) == 23, home.text("block.err")
    assert {(line["comm"], line["operation"]) for line in lines} == {("read_file", "read")}
    reads, = [h for r in json_lines(home, "latency.jsonl") for h in r["histograms"] if h["operation"] == "read"]
    assert reads["latency_us"]["count"] == 23, home.text("latency.err")


def test_processes_and_waits_as_they_happen(home):
    exits = [line for line in json_lines(home, "process.jsonl") if line.get("type") == "exit"]
    assert [line["code"] for line in exits] == [3] * 7, home.text("process.err")
    sleeps = [line for line in json_lines(home, "wait.jsonl") if (line["type"], line.get("reason")) == ("wait", "sleep")]
    assert len(sleeps) >= 7 and all(line["ns"] >= 5 * MS for line in sleeps), home.text("wait.err")
    assert home.text("point.rc").strip() == "0", home.text("point.err")


# Programs that come with jobscope and have nothing to attach to: no such hook in this kernel, or no such library in
# a guest. USDT in a library needs BPF cookies (5.15).
NO_HOOK = re.compile(r"page-cache:on_(dirty|dirty_page|lookup|fault)|python-(gc|imports):on_(start|done)_library|"
                     r"(cuda|nccl|mindspore-graph-runs|pytorch-backward|python-gc|python-imports):\w+: no process has .*")


def test_programs_load(home):
    lines = home.text("programs.check").splitlines()
    assert [line for line in lines if line.startswith("rc ")] == ["rc 0"] * 2, lines
    missed = [line.removeprefix("not attached: ") for line in lines if line.startswith("not attached: ")]
    assert not [line for line in missed if not NO_HOOK.match(line)], missed


def test_programs_count_what_is_known(home):
    before, between, after = (Series.parse(home.text(f"programs.{when}")) for when in ("before", "between", "after"))
    series = after - before
    said = home.text("programs.own") + home.text("programs.log")
    assert not series.sum("decoder_errors_total"), said
    # The first part does nothing else on the disk.
    for metric in ("io_latency_seconds", "bio_latency_seconds"):
        assert (between - before).sum(f"{metric}_count", device="vda", operation="read") == 23, said
    assert series.sum("execs_total", comm="exit_with") == 101, said
    pages = (16 << 20) // 4096
    added = (after - between).sum("page_cache_added_pages_total", device="vda")
    assert pages <= added <= pages + 8, (added, said)  # what the file system needs to find them is not of the file
    assert series.sum("oom_kills_total") == 3, said
    quota = dict(line.split() for line in home.text("programs.stat").splitlines())
    assert after.sum("cgroup_cpu_throttled_periods_total", name="slow") >= int(quota["nr_throttled"]) > 0, said
    assert series.sum("cgroup_cpu_throttle_seconds_count") > 0, said  # guests have kprobes
    for histogram in ("run_queue_latency_seconds", "softirq_service_seconds", "futex_wait_seconds"):
        assert series.sum(f"{histogram}_count") > 0, (histogram, said)
    for counter in ("timer_starts_total", "hrtimer_starts_total", "syscalls_total"):
        assert series.sum(counter) > 0, (counter, said)
    assert not [(name, value) for (name, _), value in after.values.items() if name.endswith("_lost_total") and value]
