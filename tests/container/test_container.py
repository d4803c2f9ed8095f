"""jobscope in a container, with the privileges of the table in docs/containers.md and not one more.

    JOBSCOPE=build/jobscope /usr/bin/python3 -m pytest tests/container

A job of the machine is watched from within, and people's programs are scraped from another network.
"""
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "interop")]
import containers  # noqa: E402
import exporter  # noqa: E402
import exposition  # noqa: E402
import facts  # noqa: E402

NOBODY = 65534
LEAST = ("BPF", "PERFMON", "SYS_PTRACE", "DAC_READ_SEARCH", "SYSLOG")
DEFAULT_PROFILE = "/usr/share/containers/seccomp.json"
FORBIDDEN = "seccomp"
JOB = """
import threading
def spin():
    while True: sum(range(1000))
for _ in range(2): threading.Thread(target=spin, daemon=True).start()
spin()
"""


@pytest.fixture(scope="session")
def image():
    try:
        return containers.jobscope_image(exporter.JOBSCOPE)
    except containers.Missing as why:
        pytest.skip(str(why))


@pytest.fixture(scope="session")
def profile(tmp_path_factory):
    """The seccomp profile as docs/containers.md makes it."""
    file = tmp_path_factory.mktemp("seccomp") / "jobscope.json"
    file.write_bytes(subprocess.run(["jq", "-f", containers.ROOT / "deploy/docker/seccomp.jq", DEFAULT_PROFILE],
                                    check=True, capture_output=True).stdout)
    return file


@pytest.fixture
def contained(image, profile):
    """contained(WORDS, without=CAPABILITIES, options=...) runs jobscope to its end."""
    def run(*words, capabilities=LEAST, without=(), options=("--pid=host",), seccomp=True):
        command = options_of(capabilities, without, profile if seccomp else None)
        return containers.podman("run", "--rm", "--network=host", *command, *options, image, *words, timeout=120)

    return run


def options_of(capabilities, without=(), profile=None):
    kept = [name for name in capabilities if name not in without]
    return ["--cap-drop=ALL", *(f"--cap-add={name}" for name in kept),
            *([f"--security-opt=seccomp={profile}"] if profile else [])]


@pytest.fixture(scope="session")
def private_python(tmp_path_factory):
    """A Python in a folder that only its user may look into, as in people's home directories."""
    folder = Path("/var/tmp") / f"jobscope-private-{os.getpid()}"
    folder.mkdir()
    shutil.copy(Path("/usr/bin/python3").resolve(), folder / "python3")
    os.chown(folder, NOBODY, NOBODY)
    folder.chmod(0o700)
    yield folder / "python3"
    shutil.rmtree(folder)


def job(python):
    return subprocess.Popen([str(python), "-c", JOB], user=NOBODY, group=NOBODY, extra_groups=[],
                            stdin=subprocess.DEVNULL)


@pytest.fixture
def ordinary_job():
    process = job("/usr/bin/python3")
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def private_job(private_python):
    process = job(private_python)
    yield process
    process.kill()
    process.wait()


def said(done):
    return done.stdout + done.stderr


def test_check(contained):
    """BPF and PERFMON are enough for all that says where a job's time goes."""
    done = contained("check", capabilities=("BPF", "PERFMON"))
    assert done.returncode == 0, said(done)
    for probe in ("sched", "process", "net", "files", "fault", "blockio"):
        assert re.search(rf"^{probe} +ok ", done.stdout, re.M), done.stdout


@pytest.mark.parametrize("missing", ["BPF", "PERFMON"])
def test_without_a_capability_it_is_named(contained, missing):
    done = contained("check", without=[missing])
    assert done.returncode == 2
    assert f"CAP_{missing}" in said(done) and f"--cap-add={missing}" in said(done)


def test_without_the_pid_namespace_of_the_machine(contained):
    done = contained("check", options=())
    assert done.returncode == 2
    assert "--pid=host" in said(done)


def test_programs_go_on_without_it(contained):
    done = contained("programs", "--config.names", "runqlat", "--config.check", options=())
    assert done.returncode == 0, said(done)
    assert "--pid=host" in said(done)


def test_with_the_usual_seccomp_profile(contained):
    done = contained("check", seccomp=False)
    if done.returncode == 0:
        pytest.skip("the profile of this podman lets CAP_BPF call bpf()")
    assert FORBIDDEN in said(done)


def test_tracepoints_need_tracefs(contained):
    without = contained("check")
    assert not re.search(r"^programs +ok .*\btracepoint\b", without.stdout, re.M), without.stdout
    done = contained("check", options=("--pid=host", "-v", "/sys/kernel/tracing:/sys/kernel/tracing:ro"))
    assert re.search(r"^programs +ok .*\btracepoint\b", done.stdout, re.M), done.stdout


def test_uprobes_need_sys_admin(contained):
    """Of the kernel's perf_uprobe; BPF and PERFMON do not stand in for it."""
    assert not re.search(r"^programs +ok .*\buprobe\b", contained("check").stdout, re.M)
    done = contained("check", capabilities=(*LEAST, "SYS_ADMIN"))
    assert re.search(r"^programs +ok .*\buprobe\b", done.stdout, re.M), done.stdout


def attach(contained, process, **options):
    done = contained("attach", "--pid", process.pid, "--for", "2s", **options)
    assert done.returncode == 0, said(done)
    assert "Main thread" in said(done)
    return said(done)


def test_a_job_of_the_machine(contained, ordinary_job):
    assert "Python GIL" in attach(contained, ordinary_job)


def test_names_of_other_peoples_waits_need_sys_ptrace(contained, ordinary_job):
    text = attach(contained, ordinary_job, without=["SYS_PTRACE"])
    assert "Python GIL" not in text and "futex" in text


def test_programs_in_private_folders_need_dac_read_search(contained, private_job):
    assert "Python GIL" in attach(contained, private_job)
    assert "Python GIL" not in attach(contained, private_job, without=["DAC_READ_SEARCH"])


def test_a_job_in_the_container(contained):
    done = contained("run", "--", "sh", "-c", "sleep 0.5", capabilities=("BPF", "PERFMON"))
    assert done.returncode == 0, said(done)
    assert "sleep" in said(done)


def test_the_programs_that_come_with_jobscope(contained):
    listed = contained("programs", "list").stdout
    assert re.search(r"^io-latency ", listed, re.M), listed
    done = contained("programs", "--config.names", "io-latency,runqlat", "--config.check")
    assert done.returncode == 0, said(done)


class Network:
    """A network namespace for a container, and a wire from ours to it."""
    OURS, THEIRS = "10.79.35.1", "10.79.35.2"

    def __enter__(self):
        self.name = f"jobscope{os.getpid()}"
        wire = self.name[:13]
        ip("netns", "add", self.name)
        ip("link", "add", wire, "type", "veth", "peer", "name", "wire", "netns", self.name)
        ip("address", "add", f"{self.OURS}/30", "dev", wire)
        ip("link", "set", wire, "up")
        for words in (("address", "add", f"{self.THEIRS}/30", "dev", "wire"), ("link", "set", "wire", "up"),
                      ("link", "set", "lo", "up")):
            ip("-n", self.name, *words)
        return self

    def __exit__(self, *_):
        ip("netns", "delete", self.name)


def ip(*words):
    subprocess.run(["ip", *words], check=True)


@pytest.fixture(scope="module")
def network():
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("no network namespaces")
    with Network() as wire:
        yield wire


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The pairs of tests/interop, compiled: what a person would mount."""
    folder = tmp_path_factory.mktemp("programs")
    for source in sorted((exporter.HERE / "pairs").glob("*.bpf.c")):
        name = source.name.removesuffix(".bpf.c")
        exporter.compile_bpf(source, folder / f"{name}.bpf.o")
        shutil.copy(source.with_name(f"{name}.yaml"), folder)
    return folder


def scraped(network):
    connection = http.client.HTTPConnection(network.THEIRS, 9435, timeout=5)
    connection.request("GET", "/metrics")
    answer = connection.getresponse()
    assert answer.status == 200
    return exposition.parse(answer.read().decode())


def served(image, profile, network, programs, *options, without=()):
    """What is scraped at port 9435 of a container, and what it logged; then it is stopped as an orchestrator does."""
    name = f"jobscope-test-{os.getpid()}"
    names = ",".join(sorted(path.name.removesuffix(".yaml") for path in programs.glob("*.yaml")))
    done = containers.podman("run", "--detach", "--name", name, f"--network=ns:/run/netns/{network.name}", "--pid=host",
                             *options_of(LEAST, without, profile), "-v", f"{programs}:/programs:ro", *options, image,
                             "programs", "--config.dir", "/programs", "--config.names", names)
    try:
        assert done.returncode == 0, done.stderr
        deadline = time.monotonic() + 30
        while True:
            try:
                exposed = scraped(network)
                break
            except OSError:
                assert time.monotonic() < deadline, said(containers.podman("logs", name))
                time.sleep(0.1)
        fill(name)
        return scraped(network)
    finally:
        logs = said(containers.podman("logs", name))
        containers.podman("kill", "--signal", "TERM", name)
        code = containers.podman("wait", name).stdout.strip()
        containers.podman("rm", "--force", name)
    assert code == "0", logs
    return exposed


def fill(name):
    """Rows into the maps of the process, which has a number on the machine."""
    import rows
    pid = containers.podman("inspect", "--format", "{{.State.Pid}}", name).stdout.strip()
    lines = [line for file in sorted((exporter.HERE / "pairs").glob("*.rows")) for line in rows.read(file)]
    subprocess.run([exporter.fill_tool(), pid], input="\n".join(lines) + "\n", text=True, check=True)


CGROUPS = ("-v", "/sys/fs/cgroup:/sys/fs/cgroup:ro")


def test_programs_are_scraped_from_outside(image, profile, network, programs):
    exposed = served(image, profile, network, programs, *CGROUPS)
    values = exposed.samples
    assert values["ebpf_exporter_boots_total", ()] == 281
    assert values["ebpf_exporter_functions_total", (("function", "do_exit"),)] == 151
    assert values["ebpf_exporter_by_cgroup", (("cgroup", str(facts.cgroup_root())),)] == 360
    disk, _, _ = facts.disk()
    assert values["ebpf_exporter_failed_total", (("device", disk), ("error", "EIO"))] == 59


def test_symbols_need_syslog(image, profile, network, programs):
    if Path("/proc/sys/kernel/kptr_restrict").read_text().strip() == "0" and \
            int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) <= 1:
        pytest.skip("this kernel shows its addresses to everybody")
    kaddrs = [path for path in programs.glob("*.yaml") if "kaddrs" in path.read_text()]
    assert kaddrs
    names = kaddrs[0].name.removesuffix(".yaml")
    done = containers.podman("run", "--rm", "--network=host", "--pid=host", *options_of(LEAST, ["SYSLOG"], profile),
                             "-v", f"{programs}:/programs:ro", image, "programs", "--config.dir", "/programs",
                             "--config.names", names, "--config.check", timeout=60)
    assert done.returncode != 0
    assert "CAP_SYSLOG" in said(done), said(done)


def watching(word):
    """Processes called jobscope with this word in their command that have given up CAP_SYSLOG, as they do when all
    is attached."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if word.encode() in (entry / "cmdline").read_bytes() and (entry / "comm").read_text() == "jobscope\n":
                capabilities = int(re.search(r"CapEff:\s*(\w+)", (entry / "status").read_text()).group(1), 16)
                if not capabilities >> 34 & 1:
                    found.append(entry.name)
        except OSError:  # not a process, or gone
            pass
    return found


def test_the_experiment_in_a_container(image, profile, tmp_path):
    """Each block I/O of a job that runs outside, seen from within as it happens, and its histogram."""
    disk = Path("/var/tmp") / f"jobscope-read-{os.getpid()}"
    disk.write_bytes(os.urandom(1 << 20))
    os.sync()

    def begin(*words):
        command = ["podman", *containers.storage(), "run", "--rm", "--network=host", "--pid=host",
                   *options_of(LEAST, profile=profile), image, *words, "--comm", "container_job", "--json"]
        return subprocess.Popen([str(word) for word in command], env=containers.environment(),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    traced, latency = begin("trace", "block", "--count", "23", "--for", "60s"), begin("io-latency", "20", "1")
    try:
        deadline = time.monotonic() + 60
        while len(watching("container_job")) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        subprocess.run(["python3", "-c", """
import ctypes, mmap, os, sys
ctypes.CDLL(None).prctl(15, b"container_job", 0, 0, 0)
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
room = mmap.mmap(-1, 4096)
for i in range(23): os.preadv(fd, [room], i * 4096)
""", disk], check=True)
        out, err = traced.communicate(timeout=60)
        assert traced.returncode == 0 and out.count("container_job") == 23, out + err
        out, err = latency.communicate(timeout=60)
        assert latency.returncode == 0, err
        round_, = [json.loads(line) for line in out.splitlines()]
        assert sum(h["latency_us"]["count"] for h in round_["histograms"]) == 23, out
    finally:
        for process in (traced, latency):
            process.kill()
            process.wait()
        disk.unlink()
