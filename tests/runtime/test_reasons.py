"""One workload per reason: at least 95 % of the wait that the workload had is under that reason."""
import subprocess

import pytest

import machine
from harness import MS, assert_identity, end_tree, environment, near, part, start, workload

# Reason, and a word more for a second way into the same wait.
WAITS = {
    "disk_read": ["read_file", "direct", "{big_file}"],
    "disk_read buffered": ["read_file", "buffered", "{big_file}"],
    "disk_write": ["write_file", "direct", "{big_file}"],
    "fsync": ["write_file", "fsync", "{new_file}"],
    "fsync fdatasync": ["write_file", "fdatasync", "{new_file}"],
    "page_fault": ["map_fault", "{big_file}"],
    "pipe": ["pipe_wait", "read"],
    "pipe write": ["pipe_wait", "write"],
    "unix_socket": ["unix_wait", "recv"],
    "unix_socket send": ["unix_wait", "send"],
    "net_recv": ["tcp_wait", "recv"],
    "net_send": ["tcp_wait", "send"],
    "net_connect": ["tcp_connect"],
    "poll": ["poll_wait", "epoll"],
    "poll poll": ["poll_wait", "poll"],
    "poll select": ["poll_wait", "select"],
    "futex": ["futex_pair"],
    "barrier": ["omp_barrier"],
    "sleep": ["sleep_wait", "nanosleep"],
    "sleep poll": ["sleep_wait", "poll"],
    "sleep select": ["sleep_wait", "select"],
    "wait_child": ["child_wait", "waitpid"],
    "wait_child waitid": ["child_wait", "waitid"],
    "stopped": ["stop_self"],
    "file_other": ["lock_wait", "flock", "{new_file}"],
    "file_other fcntl": ["lock_wait", "fcntl", "{new_file}"],
    "other": ["semaphore_wait"],
}


def surely_blocked(own, thread):
    """What the workload was blocked for at least. Its figure holds what interrupts and the hypervisor took, too.

    An idle virtual CPU wakes up late, and the kernel takes that steal time from the task that runs
    next: with short waits on a quiet machine it comes near the time on the CPU."""
    return own["blocked_ns"] - min(part(thread, "stolen"), own.get("span_on_cpu_ns", own["on_cpu_ns"]))


def assert_waited(result, reason, own=None, outside=5 * MS):
    """`outside`: what it may have waited for the same reason before and after its own measurement."""
    assert result.returncode == 0, result
    own = own or result.workload
    thread = result.report.thread(own["tid"])
    blocked = surely_blocked(own, thread)
    # On a busy machine most of a short wait is spent in the queue for a CPU.
    assert blocked > 0.01 * own["wait_ns"], f"the workload did not wait as it should: {own}"
    assert part(thread, reason) >= 0.95 * blocked, (own, thread)
    # And no more than it waited, by its own clock.
    assert part(thread, reason) <= 1.02 * own["wait_ns"] + outside, (own, thread)
    return thread


@pytest.mark.parametrize("case", WAITS)
def test_wait_is_under_its_reason(run, request, disk_directory, tmp_path, case):
    new_file = disk_directory / "new"
    places = {"{big_file}": lambda: request.getfixturevalue("big_file"), "{new_file}": lambda: new_file}
    command = workload(*[places[a]() if a in places else a for a in WAITS[case]])
    reason, *variant = case.split()
    result = run(command, env=environment(workload_ms=1000 if variant else 2000))
    assert_waited(result, reason)
    assert_identity(result.report)
    new_file.unlink(missing_ok=True)


@pytest.mark.parametrize("mode", ["user", "system"])
def test_cpu(run, mode):
    result = run(workload("spin", mode))
    thread = result.report.thread(result.workload["tid"])
    assert part(thread, f"cpu_{mode}") >= 0.95 * result.workload["span_on_cpu_ns"], thread
    assert_identity(result.report)


def test_runqueue(run):
    result = run(workload("hog"))
    thread, own = result.report.thread(result.workload["tid"]), result.workload
    assert own["span_run_delay_ns"] > 0.1 * own["span_ns"], "the rival did not compete"
    assert part(thread, "runqueue") >= 0.95 * own["run_delay_ns"], (thread, own)
    assert part(thread, "throttled") == 0
    assert_identity(result.report)


def test_throttled(run, cpu_group):
    cpu_group.limit_cpus(0.15)
    result = run(cpu_group.entered_by(workload("spin")))
    thread, own = result.report.thread(result.workload["tid"]), result.workload
    kernel = cpu_group.throttled_ns()
    assert kernel > 0.1 * own["span_ns"], "the quota did not hold it back"
    assert near(part(thread, "throttled"), kernel, 0, 0.05), (thread, kernel)
    assert near(part(thread, "runqueue", "throttled"), own["run_delay_ns"], MS, 0.02), (thread, own)
    assert_identity(result.report)


def test_gil(run):
    result = run(workload("gil_fight.py"))
    for own in result.workload["threads"]:
        # To open a file is to give up the lock: up to 15 ms each time until it is had again.
        assert_waited(result, "gil", own, outside=150 * MS)
    assert_identity(result.report)


@pytest.mark.parametrize("how", ["nanosleep", "poll"])
def test_a_sleep_goes_on_after_a_stop(run, how):
    """After SIGCONT the kernel restarts the call as restart_syscall: still a sleep."""
    result = run(workload("interrupted_sleep", how))
    thread = result.report.thread(result.workload["tid"])
    assert near(part(thread, "sleep", "stopped"), result.workload["wait_ns"], 5 * MS, 0.01), thread
    assert near(part(thread, "stopped"), 500 * MS, 100 * MS, 0), thread
    assert part(thread, "other") == 0, thread
    assert_identity(result.report)


def test_futex_is_not_gil_nor_barrier(run):
    result = run(workload("futex_pair"), env=environment(workload_ms=500))
    for thread in result.report["threads"]:
        assert part(thread, "gil", "barrier") == 0, thread


def test_memory(run, memory_group):
    """A page fault that waits for the cgroup to have memory again, not for a disk."""
    if memory_group.version != 1:
        pytest.skip("only cgroup v1 can make a task wait for memory")
    memory_group.limit_memory(16 << 20)
    memory_group.write("memory.oom_control", 1)
    result = run(workload("memory_wait", memory_group.path, 128 << 20))
    assert_waited(result, "memory")
    assert_identity(result.report)


@pytest.fixture
def slow_mount(tmp_path):
    directory = tmp_path / "remote"
    directory.mkdir()
    server = start(workload("fuse_server", directory))
    try:
        ready = server.stdout.readline()
        if ready != "ready\n":
            pytest.skip(f"no FUSE: {server.stderr.read()}")
        yield directory
    finally:
        subprocess.run(["umount", "--lazy", directory], capture_output=True)
        end_tree(server)


def test_remote_fs(run, slow_mount):
    result = run(workload("read_file", "buffered", slow_mount / "slow"))
    assert_waited(result, "remote_fs")
    assert_identity(result.report)


def test_net_connect_to_a_silent_host(run, two_networks):
    result = run(two_networks.for_job(workload("tcp_connect", two_networks.SILENT_ADDRESS, 80)))
    assert_waited(result, "net_connect")


def test_accelerator():
    drivers = ("nvidia", "davinci", "kfd", "accel")
    devices = [d for d in machine.character_devices() if d.startswith(drivers)]
    pytest.skip("no accelerator" if not devices else f"no workload yet for {devices}")


def test_yields_are_counted(run):
    result = run(workload("yield_spin"))
    thread, own = result.report.thread(result.workload["tid"]), result.workload
    # A yield is seen when the other one gets the core by it, and nearly all switches of this
    # workload are such. A push off the core on the way out of the call looks the same.
    assert 0.9 * own["involuntary"] <= thread["yields"] <= 1.001 * own["count"], (thread, own)


def target_of(report, reason):
    waits = [w for w in report["waits"] if w["reason"] == reason]
    assert waits, report["waits"]
    return max(waits, key=lambda w: w["wait_ns"])["target"] or ""


def test_other_names_its_system_call(run):
    result = run(workload("semaphore_wait"), env=environment(workload_ms=500))
    assert "semtimedop" in target_of(result.report, "other")


def test_futex_names_its_owner(run):
    result = run(workload("futex_pair"), env=environment(workload_ms=500))
    assert "futex_pair" in target_of(result.report, "futex")


def test_file_wait_names_the_file(run, big_file):
    result = run(workload("read_file", "direct", big_file), env=environment(workload_ms=1000))
    thread = result.report.thread(result.workload["tid"])
    files = [f for f in result.report["files"] if f["path"] == str(big_file)]
    assert len(files) == 1, result.report["files"]
    assert near(files[0]["wait_ns"], part(thread, "disk_read"), 5 * MS, 0.05), files
    # A read whose disk answers before the thread is off its CPU is no wait: the kernel's count of switches says so.
    assert files[0]["waits"] <= result.workload["count"] + 20, (files, result.workload)
    assert near(files[0]["waits"], thread["switches"]["voluntary"], 20, 0.05), (files, thread)


def test_page_faults_name_the_file(run, big_file):
    result = run(workload("map_fault", big_file), env=environment(workload_ms=1000))
    thread = result.report.thread(result.workload["tid"])
    files = [f for f in result.report["files"] if f["path"] == str(big_file)]
    assert files and files[0]["wait_ns"] >= 0.9 * part(thread, "page_fault"), result.report["files"]


def test_lock_wait_names_the_file(run, tmp_path):
    result = run(workload("lock_wait", "flock", tmp_path / "lock"), env=environment(workload_ms=500))
    assert str(tmp_path / "lock") in target_of(result.report, "file_other")
