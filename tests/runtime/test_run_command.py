"""`run` is not there, as far as the job and its caller can tell: exit codes, signals, terminals, descriptors."""
import json
import os
import signal
import time

import pytest

from harness import (JOBSCOPE, PYTHON, Report, assert_identity, end_tree, environment, finish, is_alive, part, start,
                     wait_until, workload)
from machine import call, needs
from terminal import Terminal


@pytest.mark.parametrize("command, code", [
    (["sh", "-c", "exit 0"], 0), (["sh", "-c", "exit 7"], 7), (["sh", "-c", "exit 255"], 255),
    (["sh", "-c", "kill -TERM $$"], 143), (["sh", "-c", "kill -KILL $$"], 137), (["sh", "-c", "kill -INT $$"], 130),
], ids=str)
def test_exit_code_is_the_jobs(run, command, code):
    result = run(command)
    assert result.returncode == code
    assert result.report["job"]["exit_code"] == (code if code < 128 or code == 255 else None)
    assert result.report["job"]["signal"] == (code - 128 if 128 < code < 255 else None)


def assert_one_line(text, *words):
    assert len(text.strip().splitlines()) == 1, text
    for word in words:
        assert str(word) in text, text


def test_missing_command(run):
    result = run(["/nonexistent/program"], report=False)
    assert result.returncode == 127
    assert "/nonexistent/program" in result.stderr
    assert run(["no_such_program_anywhere"], report=False).returncode == 127


def test_command_that_cannot_be_executed(run, tmp_path):
    file = tmp_path / "data"
    file.write_text("no program")
    assert run([file], report=False).returncode == 126
    result = run([tmp_path], report=False)
    assert result.returncode == 126
    assert str(tmp_path) in result.stderr


@pytest.mark.parametrize("options", [["--no-such-option"], ["--interval", "soon"], ["--for", "-3s"]], ids=str)
def test_bad_option(run, tmp_path, options):
    mark = tmp_path / "mark"
    result = run(["touch", mark], *options, report=False)
    assert result.returncode == 125
    assert_one_line(result.stderr)
    assert not mark.exists()


def test_no_command():
    process = start([JOBSCOPE, "run", "--"])
    _, err = finish(process)
    assert process.returncode == 125 and err.strip()


@pytest.mark.parametrize("option", ["--json", "-o", "--report"])
def test_output_that_cannot_be_written(run, tmp_path, option):
    """Said before the job starts, not after hours of it."""
    mark = tmp_path / "mark"
    result = run(["touch", mark], option, "/nonexistent/directory/file", report=False)
    assert result.returncode == 125
    assert_one_line(result.stderr, "/nonexistent/directory/file")
    assert not mark.exists()


def test_the_report_is_on_stderr_only(run):
    result = run(["sh", "-c", "echo out; echo err >&2"])
    assert result.stdout == "out\n"
    assert result.stderr.startswith("err\n") and len(result.stderr.splitlines()) > 5
    assert "\x1b" not in result.stderr
    assert any("jobscope" in line for line in result.stderr.strip().splitlines()[-2:])


def test_report_file(run, tmp_path):
    file = tmp_path / "report.txt"
    result = run(["sh", "-c", "echo err >&2"], "--report", file, "--progress")
    assert result.stderr == "err\n"
    assert len(file.read_text().splitlines()) > 5
    assert "\x1b" not in file.read_text()


def test_name(run):
    assert run(["true"], "--name", "a name").report["job"]["name"] == "a name"
    assert "true" in run(["true"]).report["job"]["name"]


def test_report_has_the_contract(run):
    report = run(["true"]).report
    assert report["schema"] == "jobscope.report/1"
    assert set(report["job"]) >= {"name", "argv", "exit_code", "signal", "elapsed_ns", "cpu_ns", "cpus"}
    assert report["job"]["argv"] == ["true"]
    assert report["job"]["cpus"] == len(os.sched_getaffinity(0))
    assert set(report["threads"][0]) >= {"pid", "tid", "name", "start_ns", "lifetime_ns", "exited", "parts", "cores",
                                         "migrations", "node_moves", "switches", "yields"}
    assert set(report["processes"][0]) >= {"pid", "ppid", "name", "argv", "start_ns", "lifetime_ns", "exit_code",
                                           "signal", "killed_by", "cpu_ns", "peak_rss_bytes"}
    assert set(report["self"]) >= {"cpu_ns", "bpf_ns", "rss_bytes", "map_bytes", "events_lost"}
    for key in ("block_io", "files", "network", "waits", "findings"):
        assert isinstance(report[key], list)
    now, first = time.clock_gettime_ns(time.CLOCK_MONOTONIC), report["threads"][0]["start_ns"]
    assert now - 60e9 < first < now


def test_stdin_and_stdout_pass_through(run):
    text = "".join(f"line {i}\n" for i in range(150_000))
    result = run(["cat"], text=text)
    assert result.stdout == text


def test_closed_stdin():
    command = ["sh", "-c", 'exec "$@" <&-', "sh", JOBSCOPE, "run", "--",
               "sh", "-c", "readlink /proc/$$/fd/0 || echo closed"]
    process = start(command)
    out, err = finish(process)
    assert process.returncode == 0
    assert out in ("closed\n", "/dev/null\n")
    assert len(err.splitlines()) > 5


def test_closed_stdout_and_stderr(tmp_path):
    file, mark = tmp_path / "report.json", tmp_path / "mark"
    process = start(["sh", "-c", 'exec "$@" >&- 2>&-', "sh", JOBSCOPE, "run", "--json", file, "--",
                     "sh", "-c", f"echo word >{mark}; exit 6"])
    finish(process)
    assert process.returncode == 6
    assert mark.read_text() == "word\n"
    assert json.loads(file.read_text())["job"]["exit_code"] == 6


def test_reader_that_goes_away():
    """`jobscope run -- yes | head -1`: the job gets the SIGPIPE, as without us."""
    process = start(["bash", "-c", f"{JOBSCOPE} run -- yes 2>/dev/null | head -1; echo ${{PIPESTATUS[0]}}"])
    out, _ = finish(process)
    assert out.splitlines() == ["y", "141"]


def test_a_megabyte_of_arguments(run):
    arguments = [chr(ord("a") + i) * 100_000 for i in range(11)]
    result = run([PYTHON, "-c", "import sys; print(sum(map(len, sys.argv[1:])))", *arguments])
    assert (result.returncode, result.stdout) == (0, "1100000\n")
    assert result.report["job"]["argv"][:2] == [PYTHON, "-c"]


# What a process can see of how it was started. Its session and its place in it belong to the terminal tests.
SEE = """
import os, re
print(sorted(os.environ.items()), os.getcwd(), os.umask(0), os.nice(0), sorted(os.sched_getaffinity(0)))
print(sorted(fd for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")))
print(open("/proc/self/limits").read(), open("/proc/self/oom_score_adj").read(), open("/proc/self/cgroup").read())
print(re.findall(r"^(?:Sig(?:Blk|Ign|Cgt)|Cap\\w+|Uid|Gid|Groups|NoNewPrivs|Seccomp|Umask):.*$",
                 open("/proc/self/status").read(), re.M))
print(os.getuid(), os.geteuid(), open("/proc/self/timerslack_ns").read(), os.sched_getscheduler(0))
"""


def test_nothing_is_changed_in_the_job(run):
    bare, _ = finish(start([PYTHON, "-c", SEE]))
    assert run([PYTHON, "-c", SEE]).stdout == bare


def test_signals_that_the_caller_ignores_stay_ignored(run):
    code = "import signal; print([s for s in (1, 2, 3, 15) if signal.getsignal(s) == signal.SIG_IGN])"
    caller = ["sh", "-c", "trap '' HUP QUIT; exec \"$@\"", "sh"]
    out, _ = finish(start([*caller, JOBSCOPE, "run", "--", PYTHON, "-c", code]))
    assert out == "[1, 3]\n"


# A job that counts the signals it gets, and ends by itself a while after the first.
COUNT = """
import signal, sys, time
seen = []
for s in (1, 2, 3, 15): signal.signal(s, lambda n, f: seen.append(n))
print("ready", flush=True)
while not seen: time.sleep(0.02)
time.sleep(0.3)
print("seen", seen, flush=True)
sys.exit(5)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT], ids=str)
def test_signals_are_passed_on_once(tmp_path, number):
    file = tmp_path / "report.json"
    process = start([JOBSCOPE, "run", "--json", file, "--", PYTHON, "-c", COUNT])
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    out, err = finish(process)
    assert (out, process.returncode) == (f"seen [{int(number)}]\n", 5)
    assert json.loads(file.read_text())["job"]["exit_code"] == 5
    assert len(err.splitlines()) > 5


def test_a_signal_that_ends_the_job(tmp_path):
    process = start([JOBSCOPE, "run", "--", *workload("die_by", "wait")])
    process.stdout.readline()
    process.terminate()
    _, err = finish(process)
    assert process.returncode == 128 + signal.SIGTERM
    assert len(err.splitlines()) > 5


def terminal_environment(**more):
    return environment(TERM="xterm", PS1="shell> ", **more)


def pid_shown_by(terminal):
    """The pid in the line that the workload die_by prints."""
    terminal.wait_for('"pid":')
    return int(terminal.wait_for("}"))


def test_ctrl_c_stops_the_job_and_still_reports(tmp_path):
    file = tmp_path / "report.json"
    with Terminal([JOBSCOPE, "run", "--json", file, "--", *workload("die_by", "wait")], terminal_environment()) as t:
        pid = pid_shown_by(t)
        t.type("\x03")
        assert t.finish() == 130
        assert len(t.output.splitlines()) > 5
    report = Report.read(file)
    assert report["job"]["signal"] == signal.SIGINT
    assert report.process(pid)["signal"] == signal.SIGINT


def test_ctrl_c_reaches_the_job_once():
    with Terminal([JOBSCOPE, "run", "--", PYTHON, "-c", COUNT], terminal_environment()) as t:
        t.wait_for("ready")
        t.type("\x03")
        t.wait_for("seen [2]")
        assert t.finish() == 5


def test_a_job_that_ignores_ctrl_c(tmp_path):
    mark = tmp_path / "mark"
    job = ["sh", "-c", f"trap '' INT; echo ready; sleep 1; echo done >{mark}; exit 3"]
    with Terminal([JOBSCOPE, "run", "--", *job], terminal_environment()) as t:
        t.wait_for("ready")
        t.type("\x03")
        t.type("\x03")
        assert t.finish() == 3
        assert len(t.output.splitlines()) > 5
    assert mark.read_text() == "done\n"


def state_of(pid):
    stat = open(f"/proc/{pid}/stat").read()
    return stat[stat.rindex(")") + 2]


def test_job_control(tmp_path):
    """Ctrl-Z, fg, Ctrl-Z, bg, fg and Ctrl-C in a real shell."""
    file = tmp_path / "report.json"
    command = " ".join(str(c) for c in [JOBSCOPE, "run", "--json", file, "--", *workload("die_by", "wait")])
    with Terminal(["bash", "--norc", "--noprofile", "-i"], terminal_environment()) as t:
        t.wait_for("shell> ")
        t.type(command + "\n")
        pid = pid_shown_by(t)
        for resume in ("fg", "bg"):
            t.type("\x1a")
            t.wait_for("Stopped")
            t.wait_for("shell> ")
            wait_until(lambda: state_of(pid) == "T", "the job to stop")
            time.sleep(0.3)
            t.type(f"{resume}\n")
            wait_until(lambda: state_of(pid) == "S", "the job to go on")
        t.type("fg\n")
        t.wait_for("run")
        time.sleep(0.3)
        t.type("\x03")
        t.wait_for("shell> ")
        t.type("echo code=$?\n")
        t.wait_for("code=130")
        t.type("exit\n")
        t.finish()
    report = Report.read(file)
    thread = report.thread(pid)
    assert part(thread, "stopped") > 0.5 * 2 * 300e6, thread
    assert_identity(report)


def test_a_job_reads_from_the_terminal():
    with Terminal([JOBSCOPE, "run", "--", "sh", "-c", "read word; echo got $word; tty; stty size"],
                  terminal_environment()) as t:
        t.type("hello\n")
        t.wait_for("got hello")
        t.wait_for("/dev/pts/")
        t.wait_for("40 100")
        assert t.finish() == 0


def test_window_size_changes_reach_the_job():
    code = ("import os, signal, time\nhit = []\nsignal.signal(signal.SIGWINCH, lambda n, f: hit.append(n))\n"
            "print('ready', flush=True)\nwhile not hit: time.sleep(0.02)\nprint(os.get_terminal_size().columns)")
    with Terminal([JOBSCOPE, "run", "--", PYTHON, "-c", code], terminal_environment()) as t:
        t.wait_for("ready")
        t.resize(77)
        t.wait_for("77")
        assert t.finish() == 0


def test_colour_only_on_a_terminal_and_never_with_no_color():
    for env, coloured in ((terminal_environment(), True), (terminal_environment(NO_COLOR="1"), False)):
        with Terminal([JOBSCOPE, "run", "--", "true"], env) as t:
            assert t.finish() == 0
            assert ("\x1b[" in t.output) == coloured


def test_report_fits_the_terminal():
    for columns in (60, 100):
        with Terminal([JOBSCOPE, "run", "--", *workload("many_threads", 20)],
                      terminal_environment(NO_COLOR="1"), columns) as t:
            assert t.finish() == 0
            lines = [line.rstrip() for line in t.output.splitlines() if not line.startswith("{")]
            assert len(lines) > 5
            assert max(len(line) for line in lines) <= columns


# Counts to 150 with a sleep each, then says so in a file.
LONG_JOB = ("import os, sys, time\nprint(os.getpid(), flush=True)\nfor i in range(150): time.sleep(0.01)\n"
            "open(sys.argv[1], 'w').write('done')")


def test_jobscope_killed_in_mid_run(tmp_path):
    """The job comes first: it finishes untouched."""
    mark = tmp_path / "mark"
    pins = sorted(os.listdir("/sys/fs/bpf")) if os.path.isdir("/sys/fs/bpf") else []
    process = start([JOBSCOPE, "run", "--json", tmp_path / "json", "--", PYTHON, "-c", LONG_JOB, mark])
    job = int(process.stdout.readline())
    process.kill()
    process.wait()
    assert is_alive(job), "the job died with jobscope"
    wait_until(lambda: not is_alive(job), "the end of the job")
    assert mark.read_text() == "done"
    process.communicate()
    assert (sorted(os.listdir("/sys/fs/bpf")) if os.path.isdir("/sys/fs/bpf") else []) == pins


@pytest.fixture
def tiny_disk(tmp_path):
    directory = tmp_path / "tiny"
    directory.mkdir()
    needs("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", directory, why="no tmpfs")
    yield directory
    call("umount", directory)


@pytest.mark.parametrize("full", ["from the start", "later"])
def test_disk_full_at_the_recording(run, tiny_disk, full):
    if full == "from the start":
        try:
            (tiny_disk / "ballast").write_bytes(bytes(1 << 20))
        except OSError:
            pass
    job = ["sh", "-c", '"$@"; exit 4', "sh", *workload("spawn_storm", 8, 8 * 7 * 41, *workload("exit_with"))]
    result = run(job, "-o", tiny_disk / "r.jobscope")
    assert result.returncode == 4
    assert result.workload["children"] == 8 * 7 * 41
    assert result.report["job"]["exit_code"] == 4
    assert str(tiny_disk / "r.jobscope") in result.stderr
    assert "full" in result.stderr.lower() or "no space" in result.stderr.lower()


def test_progress_on_a_terminal(tmp_path):
    for options, shown in (["--progress"], True), ([], False):
        command = [JOBSCOPE, "run", *options, "--interval", "200ms", "--report", tmp_path / "r", "--", "sleep", "1"]
        with Terminal(command, terminal_environment()) as t:
            t.finish()
            assert bool(t.output.strip()) == shown


def test_many_runs_at_once(tmp_path):
    """Two sessions do not see each other's jobs."""
    files = [tmp_path / f"{i}.json" for i in range(3)]
    processes = [start([JOBSCOPE, "run", "--json", f, "--", *workload("spawn_storm", 1, 101 + i, "/bin/true")])
                 for i, f in enumerate(files)]
    try:
        for i, (process, file) in enumerate(zip(processes, files)):
            finish(process)
            report = Report.read(file)
            assert len(report.processes_named("true")) == 101 + i
    finally:
        for process in processes:
            end_tree(process)


def test_ctrl_c_stops_a_loop_around_it():
    """`for x in …; do jobscope run -- …; done` in a script: Ctrl-C ends the loop, as it does without jobscope."""
    loop = 'for i in 1 2 3; do "$@"; done; echo survived'
    job = [JOBSCOPE, "run", "--", *workload("die_by", "wait")]
    with Terminal(["bash", "-c", loop, "bash", *job], terminal_environment()) as t:
        pid_shown_by(t)
        t.type("\x03")
        assert t.finish() == 130
        assert "survived" not in t.output and t.output.count('"pid"') == 0


def test_signal_to_the_whole_group_is_not_doubled():
    """A shell's `kill %1`, sudo, Slurm: they signal all of a group, so the job has it already."""
    process = start([JOBSCOPE, "run", "--", PYTHON, "-c", COUNT])
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGTERM)  # `start` made it the leader of a group of its own
    out, _ = finish(process)
    assert (out, process.returncode) == ("seen [15]\n", 5)


def test_jobscope_in_jobscope(run, tmp_path):
    inner = tmp_path / "inner.json"
    result = run([JOBSCOPE, "run", "--json", inner, "--", *workload("exit_with", 9)])
    assert result.returncode == 9
    assert len(result.report.processes_named("exit_with")) == 1
    assert len(Report.read(inner).processes_named("exit_with")) == 1


def test_check():
    process = start([JOBSCOPE, "check"])
    out, _ = finish(process)
    assert process.returncode == 0
    for probe in ("sched", "process", "blockio", "files", "net"):
        assert probe in out


def test_signals_reach_a_job_that_changed_its_user(tmp_path):
    """Root may signal anybody; jobscope gives up its privileges, but not that one."""
    process = start([JOBSCOPE, "run", "--report", "/dev/null", "--", "setpriv", "--reuid=65534", "--clear-groups",
                     "sh", "-c", f"echo ready; exec sleep 20"])
    assert process.stdout.readline() == "ready\n"
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    finish(process)
    assert process.returncode == 128 + signal.SIGTERM
    assert time.monotonic() - began < 15


def test_an_alarm_that_was_set_before_ends_the_job_as_it_would_without_us():
    process = start([PYTHON, "-c", "import os, signal, sys; signal.alarm(2); os.execv(sys.argv[1], sys.argv[1:])",
                     JOBSCOPE, "run", "--report", "/dev/null", "--", "sleep", "20"])
    finish(process)
    assert process.returncode == 128 + signal.SIGALRM


def test_files_in_a_directory_of_somebody_else(run, tmp_path):
    folder = tmp_path / "theirs"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    result = run(["true"], "--json", folder / "j", "--report", folder / "r", report=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert sorted(p.name for p in folder.iterdir()) == ["j", "r"]


def test_nothing_is_left_of_outputs_that_failed(run, tiny_disk):
    with open(tiny_disk / "fill", "wb", buffering=0) as fill:
        try:
            while fill.write(bytes(4096)):
                pass
        except OSError:
            pass
    result = run(["true"], "--json", tiny_disk / "j", "--report", "/dev/null", report=False)
    assert result.returncode == 0 and "No space left" in result.stderr
    assert [p.name for p in tiny_disk.iterdir()] == ["fill"]


@pytest.mark.parametrize("name, code", [("missing", 127), ("no_program", 126)])
def test_a_run_that_never_starts_leaves_an_earlier_recording_alone(run, tmp_path, name, code):
    (tmp_path / "no_program").touch(0o644)
    file, command = tmp_path / "kept", [tmp_path / name]
    assert run(["true"], "-o", file, report=False).returncode == 0
    before = file.read_bytes()
    assert run(command, "-o", file, report=False).returncode == code
    assert file.read_bytes() == before
    assert run(command, "-o", tmp_path / "new", report=False).returncode == code
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("options, words", [
    (["--json", "{}/x", "--report", "{}/./x"], "name the same file"),
    (["-o", "{}/x", "--report", "{}/x"], "name the same file"),
    (["-o", "-"], "standard output"),
    (["-o", ""], "needs the name of a file"),
    (["--json", ""], "needs the name of a file"),
    (["--for", ""], "is not a length of time"),
    (["--interval", "1us"], "too short"),
])
def test_options_that_cannot_be_meant(run, tmp_path, options, words):
    result = run(["true"], *[o.format(tmp_path) for o in options], report=False)
    assert result.returncode == 125
    assert_one_line(result.stderr, words)
    assert not list(tmp_path.glob("x*"))


def test_errors_bring_nothing_to_the_terminal_but_text(run):
    result = run(["true"], "--for", "\x1b[31m\n\xff", report=False)
    assert result.returncode == 125
    assert "\x1b" not in result.stderr and len(result.stderr.splitlines()) == 1


def test_a_report_gets_through_a_slow_reader_of_a_pipe_that_does_not_block(run):
    """A job may make its standard error non-blocking, and it is ours too."""
    process = start([JOBSCOPE, "run", "--", PYTHON, "-c",
                     "import os; os.set_blocking(2, False)\n"
                     "try:\n  while True: os.write(2, b'x' * 4096)\nexcept BlockingIOError: pass"])
    time.sleep(2)
    _, err = finish(process)
    assert process.returncode == 0
    assert "jobscope" in err.splitlines()[-1] or "nothing lost" in err
