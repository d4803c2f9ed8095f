"""How processes end, and by whose hand; what they used."""
import json
import os
import signal

import pytest

from harness import JOBSCOPE, MS, Report, assert_identity, finish, near, start, workload


def test_who_killed_whom(run):
    result = run(workload("kill_child"))
    own, report = result.workload, result.report
    by_parent = {"pid": own["pid"], "name": "kill_child"}
    killed, terminated = report.process(own["killed"]), report.process(own["terminated"])
    assert (killed["signal"], killed["exit_code"], killed["killed_by"]) == (signal.SIGKILL, None, by_parent)
    assert (terminated["signal"], terminated["exit_code"], terminated["killed_by"]) == (signal.SIGTERM, None, by_parent)
    finished = report.process(own["finished"])
    assert (finished["signal"], finished["exit_code"], finished["killed_by"]) == (None, 3, None)
    fallen = report.process(own["fallen"])
    assert (fallen["signal"], fallen["exit_code"]) == (signal.SIGSEGV, None)
    # A fault of its own is nobody's deed, at most the kernel's.
    assert fallen["killed_by"] is None or fallen["killed_by"]["pid"] in (0, own["fallen"])
    assert report.process(own["pid"])["exit_code"] == 0


@pytest.mark.parametrize("how, number", [("segv", signal.SIGSEGV), ("abort", signal.SIGABRT)])
def test_signal_of_the_job(run, how, number):
    result = run(workload("die_by", how))
    assert result.returncode == 128 + number
    assert (result.report["job"]["signal"], result.report["job"]["exit_code"]) == (number, None)
    assert result.report.process(result.workload["pid"])["signal"] == number
    assert_identity(result.report)


def test_killed_from_outside_the_job(tmp_path):
    file = tmp_path / "report.json"
    process = start([JOBSCOPE, "run", "--json", file, "--", *workload("die_by", "wait")])
    pid = json.loads(process.stdout.readline())["pid"]
    os.kill(pid, signal.SIGTERM)
    out, err = finish(process)
    assert process.returncode == 128 + signal.SIGTERM
    killer = Report.read(file).process(pid)["killed_by"]
    assert killer["pid"] == os.getpid()
    # The report says so in words, too.
    assert str(os.getpid()) in err and "TERM" in err, err


def test_oom_kill_in_a_cgroup(run, memory_group):
    memory_group.limit_memory(32 << 20)
    result = run(memory_group.entered_by(workload("touch_memory", 256)))
    report = result.report
    assert result.returncode == 128 + signal.SIGKILL
    victims = report["oom_kills"]
    assert len(victims) == 1, victims
    assert victims[0]["name"] == "touch_memory"
    assert victims[0]["limit_bytes"] == 32 << 20
    assert memory_group.path.name in victims[0]["cgroup"]
    process = report.process(victims[0]["pid"])
    assert process["signal"] == signal.SIGKILL
    assert "oom" in process["killed_by"]["name"].lower()
    assert "out of memory" in result.stderr.lower() or "oom" in result.stderr.lower()


def test_peak_memory(run, tmp_path):
    ledger_file = tmp_path / "ledger"
    result = run(workload("ledger", ledger_file, *workload("touch_memory", 101)))
    kernel = json.loads(ledger_file.read_text())
    peak = result.report.process(kernel["pid"])["peak_rss_bytes"]
    assert near(peak, kernel["peak_rss_bytes"], 1 << 20, 0.02), (peak, kernel)
    assert peak >= 101 << 20


def test_cpu_time_of_each_child(run, tmp_path):
    ledger_file = tmp_path / "ledger"
    result = run(["sh", "-c", '"$@"; exit 0', "sh", *workload("ledger", ledger_file, *workload("spin"))],
                 env={**os.environ, "WORKLOAD_MS": "500"})
    kernel = json.loads(ledger_file.read_text())
    process = result.report.process(kernel["pid"])
    assert near(process["cpu_ns"], kernel["children_cpu_ns"], MS, 0.005), (process, kernel)
    assert process["lifetime_ns"] <= kernel["elapsed_ns"] + MS
    assert process["ppid"] == kernel["self_pid"]


def test_a_process_that_still_runs(run):
    result = run(["sh", "-c", "sleep 5 >/dev/null 2>&1 & echo $!"])
    pid = int(result.stdout.split()[0])
    try:
        assert result.returncode == 0
        process = result.report.process(pid)
        assert (process["exit_code"], process["signal"]) == (None, None)
        assert process["name"] == "sleep"
        assert_identity(result.report)
    finally:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def test_zombies_are_ended_processes(run):
    """A child that its parent never waits for has ended all the same."""
    code = "import os, time\npid = os.fork()\nif pid == 0: os._exit(9)\ntime.sleep(0.3)\nprint(pid)"
    result = run(["/usr/bin/python3", "-c", code])
    assert result.report.process(int(result.stdout))["exit_code"] == 9
