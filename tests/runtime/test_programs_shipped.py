"""The programs that come with jobscope: known numbers in, the same numbers out, beside the kernel's own ledgers."""
import json
import os
import re
import shutil
import subprocess
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import machine
from harness import JOBSCOPE, end_tree, environment, finish, near, start, workload
from programs import OTHER, PROGRAMS, Calls, Exporter, python_of, shipped


def call(command, **options):
    subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL, **options)


def file_on(disk, size=16 << 20):
    file = disk.directory / "file"
    file.write_bytes(bytes(size))
    disk.settle()
    return file


@contextmanager
def difference(exporter):
    """What changed while the block ran; complete after it."""
    before, box = exporter.scrape(), {}
    yield box
    box["series"] = exporter.scrape() - before


def lost(series):
    return {name: value for (name, _), value in series.values.items()
            if name.startswith("ebpf_exporter_") and name.endswith("_lost_total") and value}


# ---- all of them ----

LINE = re.compile(r"# \S.{10,118}")


def test_each_has_a_line_that_says_what_it_is():
    assert len(shipped()) >= 20
    for name in shipped():
        first = (PROGRAMS / f"{name}.yaml").read_text().splitlines()[0]
        assert LINE.fullmatch(first), f"{name}.yaml begins with: {first}"


# On a kernel without the hook, or without a process that has the library mapped.
MAY_BE_UNATTACHED = re.compile(r"on_unthrottle|on_dirty_page|on_lookup|on_fault|(on|after)_(cuda|nccl)\w+|"
                               r"(on|after)_(execute|graph_run|gradient|data_wait)|on_(start|done)_(library|program)")


def test_all_at_once():
    names = [name for name in shipped() if name != "io-latency-classic"]  # has io-latency's name
    with Exporter(*names) as exporter:
        series = exporter.scrape()
        assert series.sum("decoder_errors_total") == 0
        assert {labels["name"] for labels, _ in series.rows("enabled_configs")} == set(names)
        unattached = exporter.unattached()
        assert {name for name in unattached if not MAY_BE_UNATTACHED.fullmatch(name)} == set()
        assert not lost(series)


# ---- block I/O ----

@pytest.mark.parametrize("name, metric", [("io-latency", "io_latency_seconds"), ("biolatency", "bio_latency_seconds")])
def test_23_reads_and_29_writes(loop_disk, name, metric):
    file = file_on(loop_disk)
    with Exporter(name) as exporter:
        with difference(exporter) as reads:
            before = loop_disk.counts()
            call(workload("read_file", "direct", file, 23))
            kernel = loop_disk.since(before)
        with difference(exporter) as writes:
            call(workload("write_file", "direct", file, 29))
    reads, writes = reads["series"], writes["series"]
    assert kernel["read"] == 23, "something else read this disk"
    assert reads.sum(f"{metric}_count", device=loop_disk.name, operation="read") == 23
    seconds = reads.sum(f"{metric}_sum", device=loop_disk.name, operation="read")
    if name == "io-latency":  # of the same two clock readings as the kernel's; both are cut, to us and to ms
        assert near(seconds * 1000, kernel["read_ms"], 1.1, 0), (seconds, kernel)
    else:  # without the time before a request is queued
        assert 0 < seconds * 1000 <= kernel["read_ms"] + 1.1, (seconds, kernel)
    # The journal may have had something to write of its own.
    assert 29 <= writes.sum(f"{metric}_count", device=loop_disk.name, operation="write") <= 29 + 12
    assert not lost(reads) and not lost(writes)


def test_writes_that_are_flushed(loop_disk):
    """Data and flushes of one request are several steps of the block layer, and one write in diskstats."""
    file = os.open(loop_disk.directory / "flushed", os.O_WRONLY | os.O_CREAT, 0o600)
    loop_disk.settle()
    with Exporter("io-latency") as exporter:
        with difference(exporter) as box:
            before = loop_disk.counts()
            for _ in range(23):
                os.write(file, bytes(4096))
                os.fsync(file)
            loop_disk.settle()
            kernel = loop_disk.since(before)
    os.close(file)
    series = box["series"]
    assert kernel["write"] >= 2 * 23  # the data, and the journal's
    assert series.sum("io_latency_seconds_count", device=loop_disk.name, operation="write") == kernel["write"]
    assert near(series.sum("io_latency_seconds_sum", device=loop_disk.name, operation="write") * 1000,
                kernel["write_ms"], 1.1 + kernel["write"] / 1000, 0)


def test_classic_counts_what_the_first_experiment_lost(loop_disk):
    """Latencies of 256 us and more were in no bucket and not in _count. Here they are in both. The counts lie between
    two of io-latency, which is asked before and after."""
    file = file_on(loop_disk)
    with Exporter("io-latency") as full, Exporter("io-latency-classic") as classic:
        with difference(full) as outer, difference(classic) as inner, difference(full) as innermost:
            call(["dd", f"if={file}", "of=/dev/null", "bs=1M", "count=13", "iflag=direct"], stderr=subprocess.DEVNULL)
    outer, inner, innermost = (box["series"] for box in (outer, inner, innermost))
    name = "io_latency_seconds"
    slow = innermost.sum(f"{name}_count") - innermost.sum(f"{name}_bucket", le="0.000256")
    assert slow > 0, "all requests took less than 256 us"
    count = inner.sum(f"{name}_count")
    assert innermost.sum(f"{name}_count") <= count <= outer.sum(f"{name}_count")
    assert inner.sum(f"{name}_bucket", le="+Inf") == inner.sum(f"{name}_bucket", le="0.000256") == count
    assert innermost.sum(f"{name}_bucket", le="0.000128") <= inner.sum(f"{name}_bucket", le="0.000128")
    bounds = [labels["le"] for labels, _ in inner.rows(f"{name}_bucket")]
    assert [float(bound) for bound in bounds] == [2 ** i * 1e-6 for i in range(9)] + [float("inf")]


def test_pages_of_5003(loop_disk):
    """Written, dropped and read again: as many pages as the file has."""
    file, pages = loop_disk.directory / "pages", 5003
    loop_disk.settle()
    with Exporter("page-cache") as exporter:
        with difference(exporter) as written:
            file.write_bytes(bytes(pages * 4096))
        loop_disk.settle()
        with difference(exporter) as dropped:
            call(["dd", f"of={file}", "oflag=nocache", "conv=notrunc", "count=0"], stderr=subprocess.DEVNULL)
        with difference(exporter) as read:
            call(["dd", f"if={file}", "of=/dev/null", "bs=64k"], stderr=subprocess.DEVNULL)
        unattached = exporter.unattached()
    written, dropped, read = (box["series"] for box in (written, dropped, read))
    device = {"device": loop_disk.name}
    assert written.sum("page_cache_added_pages_total", **device) == pages
    assert 1 <= written.sum("page_cache_dirtied_total", **device) <= pages + 16  # folios, and the inode's
    assert dropped.sum("page_cache_removed_pages_total", **device) == pages
    assert read.sum("page_cache_added_pages_total", **device) == pages
    assert read.sum("page_cache_removed_pages_total", **device) == 0
    if "on_lookup" not in unattached:
        assert read.sum("page_cache_lookups_total", **device) >= -(-pages * 4096 // 65536)
    assert not lost(read)


# ---- scheduler ----

def schedstat(pid):
    """(ns on a CPU, ns in a run queue, times on a CPU)"""
    return [int(n) for n in Path(f"/proc/{pid}/schedstat").read_text().split()]


def context_switches():
    return int(re.search(r"^ctxt (\d+)$", Path("/proc/stat").read_text(), re.M)[1])


def test_run_queue_latency():
    """Two processes that fight for one CPU make most of the waits. The kernel's counts of these two are below those of
    the whole machine, which are below its count of all switches."""
    cpu = str(min(os.sched_getaffinity(0)))
    with Exporter("runqlat") as exporter, ExitStack() as stack:
        hogs = [start(["taskset", "-c", cpu, *workload("yield_spin")], env=environment(workload_ms=4000))
                for _ in range(2)]
        stack.callback(lambda: [finish(hog) for hog in hogs])
        time.sleep(0.5)
        switches = context_switches()
        before = exporter.scrape()
        ledgers = [schedstat(hog.pid) for hog in hogs]
        time.sleep(1)
        ledgers = [[b - a for a, b in zip(old, schedstat(hog.pid))] for old, hog in zip(ledgers, hogs)]
        series = exporter.scrape() - before
        switches = context_switches() - switches
    waited, count = sum(ledger[1] for ledger in ledgers), sum(ledger[2] for ledger in ledgers)
    assert count > 1000, ledgers
    # A little is out of sight: what is switched to from tasks during which the kernel runs no BPF program.
    assert 0.97 * count <= series.sum("run_queue_latency_seconds_count") <= switches
    # Each is cut to whole us.
    least = 0.97 * waited / 1e9 - series.sum("run_queue_latency_seconds_count") / 1e6
    assert series.sum("run_queue_latency_seconds_sum") >= least


def softirqs():
    """{kind: how often they ran}"""
    lines = [line.split() for line in Path("/proc/softirqs").read_text().splitlines()[1:]]
    return {words[0].rstrip(":").lower(): sum(map(int, words[1:])) for words in lines}


def test_soft_interrupts():
    """Between what /proc/softirqs counted inside and outside of the two scrapes."""
    with Exporter("softirq-latency") as exporter:
        outer = softirqs()
        before = exporter.scrape()
        inner = softirqs()
        call(workload("spin"), env=environment(workload_ms=1500))
        inner = {kind: count - inner[kind] for kind, count in softirqs().items()}
        series = exporter.scrape() - before
        outer = {kind: count - outer[kind] for kind, count in softirqs().items()}
    for kind in ("timer", "sched", "rcu"):
        service = series.sum("softirq_service_seconds_count", kind=kind)
        latency = series.sum("softirq_entry_latency_seconds_count", kind=kind)
        # A little is out of sight, as in the test above.
        assert 0.9 * inner[kind] - 5 <= service <= outer[kind], (kind, inner[kind], service, outer[kind])
        assert 0.9 * inner[kind] - 5 <= latency <= outer[kind] + 5, (kind, inner[kind], latency, outer[kind])
    assert sum(inner.values()) > 20, inner


def test_timers_by_function():
    with Exporter("timers") as exporter, Calls("timers", 211, 10007) as calls:
        with difference(exporter) as box:
            calls.do()
    series = box["series"]
    # Others on this machine may have connections that are kept alive, and alarms.
    assert 211 <= series.sum("timer_starts_total", function="tcp_keepalive_timer") <= 211 + 40
    assert 10007 <= series.sum("hrtimer_starts_total", function="it_real_fn") <= 10007 + 40
    assert not lost(series)


def test_throttled_time_of_a_quota(cpu_group):
    cpu_group.limit_cpus(0.2)
    hog = start(cpu_group.entered_by(workload("spin")), env=environment(workload_ms=2500))
    try:
        with Exporter("cgroup-throttling") as exporter:
            time.sleep(0.8)
            least = cpu_group.throttled_ns()
            series = exporter.scrape()
            most = cpu_group.throttled_ns()
    finally:
        finish(hog)
    group = {"name": cpu_group.path.name}
    assert least > 0, "the quota did not throttle"
    # cpu.stat of cgroup v2 is in whole us.
    assert least - 1000 <= series.sum("cgroup_cpu_throttled_nanoseconds_total", **group) <= most + 1000
    throttled = series.sum("cgroup_cpu_throttled_periods_total", **group)
    assert 1 <= throttled <= series.sum("cgroup_cpu_periods_total", **group)
    assert not lost(series)


# ---- system calls and processes ----

def in_group(group):
    """The labels of what is in a cgroup: its path, or its number where an exporter knows no other name."""
    return {"cgroup": re.compile(f"({re.escape(group.path.name)}|:{group.path.stat().st_ino})$")}


ours_only = pytest.mark.skipif(bool(OTHER), reason="another exporter knows no jobs")


def under_run(command):
    return [JOBSCOPE, "run", "--name", "prime", "--", *command]


@ours_only
def test_10007_system_calls_of_a_job():
    """The job is a tree of processes, in a cgroup with others."""
    with Exporter("syscalls-by-job") as exporter:
        with Calls("syscalls", 10007, inside=under_run) as calls, difference(exporter) as box:
            calls.do()
    series = box["series"]
    assert series.sum("syscalls_total", syscall="getpgid", job="prime") == 10007
    assert series.sum("syscalls_total", syscall="write", job="prime") >= 1
    assert not lost(series)


@ours_only
def test_job_of_a_container():
    """By the id at the end of its cgroup's path."""
    container = f"{os.getpid():064x}"
    with machine.UnifiedCgroup(f"docker-{container}.scope") as group, Exporter("syscalls-by-job") as exporter:
        with Calls("syscalls", 10007, inside=group.entered_by) as calls, difference(exporter) as box:
            calls.do()
        rows = list(box["series"].rows("syscalls_total", syscall="getpgid", job=container[:12]))
    assert [value for _, value in rows] == [10007]


@ours_only
def test_job_of_a_process():
    """By what Slurm says in its environment."""
    slurm = {"SLURM_JOB_ID": "4711", "SLURM_JOB_NAME": "lenet", "SLURM_PROCID": "3"}
    series, mine, _ = counted("python-gc", Calls("collections", 23, env=environment(**slurm)))
    rows = [(labels["job"], labels["index"], value) for labels, value in series.rows("python_gc_seconds_count", **mine)]
    assert rows == [("lenet", "3", 23)]


def test_waits_on_futexes_by_their_end(unified_group):
    with Exporter("futex-waits") as exporter:
        with Calls("futexes", 10007, 211, 23, inside=unified_group.entered_by) as calls, difference(exporter) as box:
            calls.do()
    series, group = box["series"], in_group(unified_group)
    counts = {end: series.sum("futex_wait_seconds_count", end=end, **group)
              for end in ("changed", "timed_out", "interrupted", "woken", "other")}
    assert counts == {"changed": 10007, "timed_out": 211, "interrupted": 23, "woken": 0, "other": 0}
    # Each of the 211 waited for at least 1 ms.
    assert series.sum("futex_wait_seconds_sum", end="timed_out", **group) >= 0.211
    assert series.sum("futex_wait_seconds_bucket", end="timed_out", le="0.000512", **group) == 0
    assert not lost(series)


def test_1009_execs_of_one_program(disk_directory):
    program = disk_directory / "js_exec_true"
    shutil.copy("/bin/true", program)
    with Exporter("exec") as exporter:
        with difference(exporter) as box:
            call(workload("spawn_storm", 1, 1009, program))
    assert box["series"].sum("execs_total", comm="js_exec_true") == 1009
    assert box["series"].sum("execs_total", comm="spawn_storm") >= 1
    assert not lost(box["series"])


def test_7_oom_kills(memory_group):
    memory_group.limit_memory(32 << 20)
    before = memory_group.oom_kills()
    with Exporter("oom-kills") as exporter:
        with difference(exporter) as box:
            for _ in range(7):
                subprocess.run(memory_group.entered_by(workload("touch_memory", 256)), capture_output=True)
    assert memory_group.oom_kills() - before == 7
    assert box["series"].sum("oom_kills_total", comm="touch_memory") == 7
    assert not lost(box["series"])


def test_ioctls_of_an_accelerator(unified_group, tmp_path):
    """A device of that name, though it is /dev/null's driver behind it; /dev/null itself is none."""
    device = tmp_path / "davinci7"
    try:
        os.mknod(device, 0o600 | 0o020000, os.makedev(1, 3))
        device.read_bytes()
    except OSError as error:
        pytest.skip(f"cannot make a device: {error}")
    with Exporter("gpu-ioctls") as exporter:
        with Calls("ioctls", device, 10007, inside=unified_group.entered_by) as calls, difference(exporter) as box:
            calls.do()
    series, group = box["series"], in_group(unified_group)
    assert series.sum("gpu_ioctls_total", **group) == 10007
    assert series.sum("gpu_ioctls_total", device="davinci7", request=str(0x4601), **group) == 10007
    assert series.sum("gpu_ioctl_seconds_count", device="davinci7", **group) == 10007
    assert not lost(series)


# ---- network ----

def test_retransmits_of_a_connect_without_answer(two_networks, unified_group):
    with Exporter("tcp-retransmits") as exporter:
        with difference(exporter) as box:
            job = two_networks.for_job(workload("tcp_connect", two_networks.SILENT_ADDRESS, 80))
            done = subprocess.run(unified_group.entered_by(job), capture_output=True, text=True, check=True,
                                  env=environment(workload_ms=3500))
    kernel = json.loads(done.stdout)["retransmits"]
    assert kernel >= 1
    mine = box["series"].sum("tcp_retransmits_total", family="ipv4", state="syn_sent", **in_group(unified_group))
    assert mine == kernel
    assert not lost(box["series"])


def test_segments_sent_again_on_a_broken_wire(two_networks, unified_group):
    """RetransSegs of the network namespace, in which nothing else is sent."""
    def segments():
        lines = [line.split() for line in two_networks.in_job("cat", "/proc/net/snmp").splitlines()
                 if line.startswith("Tcp:")]
        return int(dict(zip(*lines))["RetransSegs"])

    server = start(two_networks.for_peer(workload("net_transfer", "serve", "tcp", "0.0.0.0", 0, 0, 100_003)))
    client = None
    try:
        port = int(server.stdout.readline())
        with Exporter("tcp-retransmits") as exporter:
            with difference(exporter) as box:
                before = segments()
                client = start(unified_group.entered_by(two_networks.for_job(
                    workload("net_transfer", "client", "tcp", two_networks.PEER_ADDRESS, port, 100_003, 0, 10))))
                time.sleep(0.4)
                two_networks.cut()
                time.sleep(0.9)
                two_networks.mend()
                finish(client)
                kernel = segments() - before
    finally:
        for process in (client, server):
            if process:
                end_tree(process)
    assert kernel >= 1, "the wire was not cut"
    assert box["series"].sum("tcp_retransmits_total", family="ipv4", **in_group(unified_group)) == kernel


def test_23_connections_and_29_refused(unified_group):
    with Exporter("tcp-connect-latency") as exporter:
        with Calls("connects", 23, 29, inside=unified_group.entered_by) as calls, difference(exporter) as box:
            assert calls.do()["refused"] == 29
    series, group = box["series"], in_group(unified_group)
    assert series.sum("tcp_connect_latency_seconds_count", family="ipv4", **group) == 23
    assert series.sum("tcp_connects_failed_total", **group) == 29
    assert series.sum("tcp_connects_failed_total", family="ipv4", error="refused", **group) == 29
    assert not lost(series)


# ---- user space: the workload has its libraries mapped before the exporter looks for them ----

def library(name):
    python = python_of("pytorch")
    found = sorted(python.parents[1].glob(f"lib/python3*/site-packages/nvidia/**/{name}.so.*")) if python else []
    if not found:
        pytest.skip(f"no {name}: scripts/python_env.sh pytorch brings it")
    return found[0]


def counted(program, calls):
    """The difference of the series of a program, while the workload works, and what it says."""
    with calls, Exporter(program) as exporter:
        with difference(exporter) as box:
            said = calls.do()
    assert not lost(box["series"])
    return box["series"], {"pid": str(calls.pid)}, said


def test_cuda():
    series, mine, _ = counted("cuda", Calls("cuda", library("libcudart")))
    assert series.sum("cuda_launches_total", what="kernel", **mine) == series.sum("cuda_launches_total", **mine) == 23
    copies = {"host_to_device": (29, 10_007), "device_to_host": (31, 1009)}
    for kind, (count, size) in copies.items():
        assert series.sum("cuda_copies_total", kind=kind, **mine) == count
        assert series.sum("cuda_copied_bytes_total", kind=kind, **mine) == count * size
    assert series.sum("cuda_copies_total", **mine) == 29 + 31
    assert series.sum("cuda_allocated_bytes_total", **mine) == 7 * 100_003
    assert series.sum("cuda_wait_seconds_count", **{"for": "stream"}, **mine) == 37
    assert series.sum("cuda_wait_seconds_count", **{"for": "device"}, **mine) == 41


def test_nccl():
    series, mine, _ = counted("nccl", Calls("nccl", library("libnccl")))
    expected = {"all_reduce": (23, 4), "all_gather": (29, 2), "reduce_scatter": (31, 8), "broadcast": (37, 1),
                "send": (41, 4), "receive": (43, 8)}
    for operation, (count, size) in expected.items():
        assert series.sum("nccl_calls_total", operation=operation, **mine) == count, operation
        assert series.sum("nccl_bytes_total", operation=operation, **mine) == count * 1009 * size, operation
    assert series.sum("nccl_calls_total", **mine) == sum(count for count, _ in expected.values())
    assert series.sum("nccl_unknown_types_total") == 0


def test_garbage_collections_of_python():
    series, mine, said = counted("python-gc", Calls("collections", 23, 29, 31))
    for generation, count in ((0, 23), (1, 29), (2, 31)):
        assert series.sum("python_gc_seconds_count", generation=str(generation), **mine) == count
    assert said["freed"] >= 31
    assert series.sum("python_gc_collected_total", **mine) == said["freed"]
    assert series.sum("python_gc_seconds_sum", **mine) > 0


def test_imports_of_python():
    series, mine, _ = counted("python-imports", Calls("imports", "jobscope_test_package", 23))
    # The package itself comes with its first module, and is one, too.
    assert series.sum("python_imports_total", package="jobscope_test_package", **mine) == 1 + 23
    assert series.sum("python_imports_failed_total", package="jobscope_test_package", **mine) == 1
    assert series.sum("python_import_seconds_count", **mine) == 23 + 1


def test_23_backward_passes_of_pytorch():
    python = python_of("pytorch")
    if not python:
        pytest.skip("no PyTorch: scripts/python_env.sh pytorch")
    series, mine, _ = counted("pytorch-backward", Calls("backward", 23, python=python))
    assert series.sum("pytorch_backward_seconds_count", **mine) == 23
    assert series.sum("pytorch_backward_seconds_sum", **mine) > 0


def test_23_graph_runs_of_mindspore():
    python = python_of("mindspore")
    if not python:
        pytest.skip("no MindSpore: scripts/python_env.sh mindspore")
    series, mine, said = counted("mindspore-graph-runs", Calls("graph_runs", 23, 29, python=python))
    assert series.sum("mindspore_graph_run_seconds_count", **mine) == 23
    assert said["batches"] == 29
    assert series.sum("mindspore_data_wait_seconds_count", **mine) == 29 + 1  # and the end
