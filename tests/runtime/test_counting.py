"""Known numbers in, the same numbers out. The numbers are prime where that is possible, so that no chance hides."""
from harness import MS, assert_identity, environment, how_many, part, workload


def test_23_reads(run, loop_disk):
    file = loop_disk.directory / "reads"
    file.write_bytes(bytes(4 << 20))
    loop_disk.settle()
    before = loop_disk.counts()
    result = run(workload("read_file", "direct", file, 23))
    assert loop_disk.since(before)["read"] == 23, "something else read this disk"
    reads = result.report.block_io(loop_disk.name, "read")
    assert (reads["count"], reads["bytes"]) == (23, 23 * 4096)


def codes_of(processes):
    codes = {}
    for process in processes:
        codes[process["exit_code"]] = codes.get(process["exit_code"], 0) + process.get("processes", 1)
    return codes


def test_10000_children_of_8_parents(run):
    result = run(workload("spawn_storm", 8, 10000, "/bin/true"), timeout=120)
    assert result.workload["codes"]["0"] == 10000
    report = result.report
    assert report["self"]["events_lost"] == 0
    assert codes_of(report.processes_named("true")) == {0: 10000}
    assert how_many(report["processes"], "processes") == 10000 + 8 + 1
    assert how_many(report["threads"], "threads") == 10000 + 8 + 1
    assert_identity(report)


def test_exit_code_of_each_child(run):
    result = run(workload("spawn_storm", 8, 8 * 7 * 41, *workload("exit_with")))
    expected = {int(code): count for code, count in result.workload["codes"].items()}
    assert expected == {code: 8 * 41 for code in range(7)}
    assert codes_of(result.report.processes_named("exit_with")) == expected


def test_1009_threads_of_50_microseconds(run):
    result = run(workload("short_threads", 1009))
    report = result.report
    blinks = report.threads_named("blink")
    assert how_many(blinks, "threads") == 1009
    assert how_many(report["threads"], "threads") == 1010
    on_cpu = sum(part(t, "cpu_user", "cpu_system") for t in report["threads"])
    # What the process used before its exec is not the job's.
    assert on_cpu >= result.workload["process_cpu_ns"] - MS
    assert_identity(report)


def test_20011_waits_of_different_names(run):
    """More than the kernel's map has room for: it is emptied in time, and nothing is lost on the way."""
    result = run(workload("many_waits", 20011))
    report = result.report
    named = [w for w in report["waits"] if w["reason"] == "futex" and w["pid"] == result.workload["pid"]]
    assert 0.99 * 20011 <= sum(w["waits"] for w in named) <= 20011, named
    assert sum(w["wait_ns"] for w in named) == part(report.thread(result.workload["tid"]), "futex"), named
    assert report["self"]["events_lost"] == 0


def test_wakers_of_5003_short_threads(run):
    """Each ends one wait of the main thread: more wakers than the kernel's map has room for."""
    result = run(workload("short_threads", 5003))
    report = result.report
    wakers = [w for w in report["wakers"] if w["reason"] == "futex"]
    named = sum(w["waits"] for w in report["waits"] if w["reason"] == "futex" and w["main_thread"])
    assert named > 1000, "the main thread did not wait for its threads"
    assert 0.95 * named <= sum(w["waits"] for w in wakers) <= named, (named, len(wakers))
    assert report["self"]["events_lost"] == 0


def test_3000_threads_at_once(run):
    result = run(workload("many_threads", 3000))
    report = result.report
    assert how_many(report.threads_named("crowd"), "threads") == 3000
    assert how_many(report["threads"], "threads") == 3001
    assert report["self"]["events_lost"] == 0
    assert_identity(report)


def test_pid_reuse(run):
    """Seven children had the same pid, one after the other: seven processes, none mixed up with another."""
    result = run(workload("pid_reuse"))
    own, report = result.workload, result.report
    assert own["count"] == 7, "could not make the kernel use the pid again"
    same = [p for p in report["processes"] if p["pid"] == own["reused"]]
    assert sorted(p["exit_code"] for p in same) == list(range(11, 18))
    assert len([t for t in report["threads"] if t["tid"] == own["reused"]]) == 7
    assert how_many(report["processes"], "processes") == own["children"] + 1
    for earlier, later in zip(sorted(same, key=lambda p: p["start_ns"]), sorted(same, key=lambda p: p["start_ns"])[1:]):
        assert earlier["start_ns"] + earlier["lifetime_ns"] <= later["start_ns"]
    assert_identity(report)


def test_exec_in_a_thread(run):
    """The thread takes over the id of the main one: one process, with the code of the new program."""
    result = run(workload("thread_exec", *workload("exit_with", 5)))
    report, pid = result.report, result.workload["pid"]
    assert result.returncode == 5
    assert report.process(pid)["exit_code"] == 5
    assert report.process(pid)["name"] == "exit_with"
    assert how_many(report["processes"], "processes") == 1
    assert how_many(report["threads"], "threads") == 2
    assert_identity(report)


def test_daemon_stays_a_member(run):
    """setsid and two forks, its parent gone: it is still one of the job, with all its CPU time."""
    result = run(workload("orphan"))
    own, report = result.workload, result.report
    daemon = report.process(own["daemon"])
    assert (daemon["exit_code"], daemon["name"]) == (42, "orphan_daemon")
    assert daemon["cpu_ns"] >= own["daemon_cpu_ns"]
    assert report.process(own["middle"])["exit_code"] == 7
    assert how_many(report["processes"], "processes") == 3
    assert_identity(report)


def test_daemon_that_outlives_the_job(run):
    result = run(workload("orphan", "leave"))
    assert result.returncode == 0
    daemon = result.report.process(result.workload["daemon"])
    assert daemon["name"] == "orphan_daemon"
    assert daemon["exit_code"] in (None, 42)  # jobscope may have waited for it, or not


def test_101_migrations(run):
    result = run(workload("migrate", 101))
    own, thread = result.workload, result.report.thread(result.workload["tid"])
    # The kernel may also move it when it is born, when it execs, and when it first binds itself.
    assert 101 <= thread["migrations"] <= 101 + 5, (own, thread)
    assert sum(ns > 0 for ns in thread["cores"].values()) >= 2


def test_major_faults_are_those_that_the_kernel_counted(run, big_file):
    result = run(workload("map_fault", big_file), env=environment(workload_ms=500))
    own, thread = result.workload, result.report.thread(result.workload["tid"])
    # It may have had a few more for its own program, before it looked.
    assert own["major_faults"] <= thread["faults"]["major"] <= own["major_faults"] + 50, (own, thread)


def test_names_and_command_lines(run):
    words = ["a b", "", "ä", "--", "-x"]
    result = run(["/bin/sh", "-c", "exec /bin/true \"$@\"", "sh", *words])
    assert result.report["job"]["argv"][-5:] == words
    true = result.report.processes_named("true")
    assert len(true) == 1 and true[0]["argv"] == ["/bin/true", *words]


def test_nothing_is_counted_twice(run):
    """A chain of shells: each process once, each with its parent."""
    result = run(["sh", "-c", "sh -c 'sh -c \"/bin/true; exit 3\"; exit 2'; exit 1"])
    assert result.returncode == 1
    chain = sorted(result.report["processes"], key=lambda p: p["start_ns"])
    assert [(p["name"], p["exit_code"]) for p in chain] == [("sh", 1), ("sh", 2), ("sh", 3), ("true", 0)]
    assert [p["ppid"] for p in chain[1:]] == [p["pid"] for p in chain[:-1]]
    assert len(set((t["tid"], t["start_ns"]) for t in result.report["threads"])) == 4
