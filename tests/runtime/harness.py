"""Runs jobscope on a known workload and hands back what both said about it."""
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
JOBSCOPE = Path(os.environ.get("JOBSCOPE", ROOT / "build" / "jobscope")).resolve()
WORKLOAD_SOURCES = ROOT / "tests" / "workloads"
WORKLOADS = Path(os.environ.get("JOBSCOPE_WORKLOADS", ROOT / "build" / "workloads")).resolve()
PYTHON = "/usr/bin/python3"
MS = 1_000_000
ON_CPU = ("cpu_user", "cpu_system")


def workload(name, *arguments):
    """The command of a workload."""
    start = [PYTHON, str(WORKLOAD_SOURCES / name)] if name.endswith(".py") else [str(WORKLOADS / name)]
    return start + [str(a) for a in arguments]


def last_json_line(text):
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    return None


class Report:
    """The JSON report, and the questions that tests ask of it."""

    def __init__(self, content):
        self.content = content

    @classmethod
    def read(cls, path):
        return cls(json.loads(Path(path).read_text()))

    def __getitem__(self, key):
        return self.content[key]

    def thread(self, tid):
        found = [t for t in self["threads"] if t["tid"] == tid]
        assert found, f"thread {tid} is not in the report"
        assert len(found) == 1, f"thread {tid} is there {len(found)} times"
        return found[0]

    def process(self, pid):
        found = [p for p in self["processes"] if p["pid"] == pid]
        assert found, f"process {pid} is not in the report"
        assert len(found) == 1, f"process {pid} is there {len(found)} times"
        return found[0]

    def threads_named(self, name):
        return [t for t in self["threads"] if t["name"] == name]

    def processes_named(self, name):
        return [p for p in self["processes"] if p["name"] == name]

    def block_io(self, device, operation, charged=True):
        found = [io for io in self["block_io"]
                 if (Path(io["device"]).name, io["operation"], io["charged"]) == (device, operation, charged)]
        assert len(found) <= 1
        return found[0] if found else None

    def network(self, peer_class):
        return [n for n in self["network"] if n["class"] == peer_class]


def how_many(rows, folded):
    """The number of threads or processes in rows, of which one can stand for many."""
    return sum(row.get(folded, 1) for row in rows)


def part(thread, *reasons):
    return sum(thread["parts"].get(reason, 0) for reason in reasons)


def near(a, b, absolute_ns, share):
    """Whether |a - b| is within the larger of an absolute and a relative tolerance."""
    return abs(a - b) <= max(absolute_ns, share * max(a, b))


def assert_identity(report):
    """The rule of all rules: for every thread, lifetime = the sum of the parts."""
    assert report["threads"]
    for thread in report["threads"]:
        total = sum(thread["parts"].values())
        count = thread.get("threads", 1)
        assert all(ns > 0 for ns in thread["parts"].values()), thread
        assert near(thread["lifetime_ns"], total, MS * count, 0.001), (
            f"thread {thread['tid']} ({thread['name']}): lifetime {thread['lifetime_ns']}, parts {total}: {thread}")
        on_cpu = part(thread, *ON_CPU)
        assert near(sum(thread["cores"].values()), on_cpu, MS * count, 0.005), f"cores and CPU time differ: {thread}"


def assert_ledger(report, kernel):
    """The same figures as the kernel told the workload `ledger` of its child, a zombie by then."""
    main = report.thread(kernel["pid"])
    assert main["exited"]
    assert near(part(main, *ON_CPU), kernel["on_cpu_ns"], MS, 0.005), (main, kernel)
    assert near(part(main, "runqueue", "throttled"), kernel["run_delay_ns"], MS, 0.005), (main, kernel)
    assert main["lifetime_ns"] <= kernel["elapsed_ns"] + MS, (main, kernel)

    job = kernel["children_cpu_ns"] + kernel["self_cpu_ns"]
    assert near(report["job"]["cpu_ns"], job, 10 * MS, 0.01), (report["job"], kernel)
    process = report.process(kernel["pid"])
    of_the_process = sum(part(t, *ON_CPU) for t in report["threads"] if t["pid"] == kernel["pid"])
    assert near(process["cpu_ns"], of_the_process, MS, 0.005), process


def shell_code(returncode):
    """What a shell says of it: after SIGINT jobscope ends by that signal itself, so that loops around it stop, too."""
    return returncode if returncode >= 0 else 128 - returncode


class Result:
    def __init__(self, returncode, stdout, stderr, json_file):
        self.returncode = shell_code(returncode)
        self.stdout, self.stderr = stdout, stderr
        self.report = None
        if json_file and json_file.exists() and json_file.stat().st_size:
            self.report = Report.read(json_file)
        self.workload = last_json_line(stdout)

    def __repr__(self):
        return f"rc {self.returncode}\n--- stdout\n{self.stdout[-2000:]}\n--- stderr\n{self.stderr[-4000:]}"


def descendants(pid):
    """The process and all below it, as far as /proc still says so."""
    children = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
        except OSError:
            continue
        parent = int(stat[stat.rindex(")") + 2:].split()[1])
        children.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for each in found:
        found += children.get(each, [])
    return found


def end_tree(process):
    """Ends a process that a test started, and all that it started."""
    if process.poll() is None:
        for pid in descendants(process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    process.wait()


def environment(workload_ms=None, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SUDO_", "GOMP_", "OMP_"))}
    if workload_ms is not None:
        env["WORKLOAD_MS"] = str(workload_ms)
    env.update(more)
    return env


def start(command, **options):
    """Starts a command in a session of its own, so that no terminal of ours has a part in it."""
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    options.setdefault("env", environment())
    return subprocess.Popen([str(c) for c in command], start_new_session=True, text=True, errors="replace", **options)


def finish(process, timeout=60, text=None):
    """Its (stdout, stderr); ends it, and fails the test, when it takes too long."""
    try:
        return process.communicate(text, timeout=timeout)
    except subprocess.TimeoutExpired:
        end_tree(process)
        out, err = process.communicate()
        raise AssertionError(f"{process.args} did not end in {timeout} s\n{out[-1000:]}\n{err[-3000:]}") from None


def wait_until(condition, what, timeout=30):
    """Polls until the condition gives something true, and returns that."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited {timeout} s in vain for {what}")


def is_alive(pid):
    """Whether it is there and no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat[stat.rindex(")") + 2] not in "ZX"


def stable(text):
    """A text report without colour and without spaces at line ends."""
    return "\n".join(line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", text).strip().splitlines())
