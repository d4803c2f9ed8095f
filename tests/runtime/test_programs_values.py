"""jobscope programs: values that are no plain counts, events, maps of cgroups, and types of the kernel from a file."""
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness import JOBSCOPE, PYTHON, ROOT, finish, start, wait_until
from machine import UnifiedCgroup, unique_name
from programs import OWN, Exporter, Programs

sys.path.append(str(ROOT / "tests" / "interop"))
import real_exporter  # noqa: E402

LOAD = """
import ctypes, sys
libc = ctypes.CDLL(None)
libc.prctl(15, b"values_load", 0, 0, 0)
for number in range(int(sys.argv[1])):
    libc.getpriority(0, number)
"""


def values_load(count):
    return [PYTHON, "-c", LOAD, str(count)]


def test_values_below_0_and_with_a_multiplier():
    with Programs("values") as exporter:
        subprocess.run(values_load(23), check=True)
        series = exporter.scrape()
        assert list(series.rows("balance")) == [({"account": "7"}, -11)]
        assert abs(series.sum("spent_seconds_total") - 0.023) < 1e-12


def test_events_count_by_their_labels():
    with Programs("values") as exporter:
        subprocess.run(values_load(23), check=True)
        series = exporter.scrape()
        assert {labels["rest"]: value for labels, value in series.rows("events_total")} == {"0": 8, "1": 8, "2": 7}
        assert exporter.value("dropped_perf_event_map_events_events_total") == 0


def test_events_that_are_counted_and_lost_are_all_that_there_were():
    """While the exporter stands still the buffers fill. The kernel tells what it lost with the next event that there
    is room for on the same CPU."""
    with Programs("values") as exporter:
        exporter.process.send_signal(signal.SIGSTOP)
        try:
            subprocess.run(values_load(10007), check=True)
        finally:
            exporter.process.send_signal(signal.SIGCONT)
        busy = [start(values_load(50021)) for _ in range(2)]
        for each in busy:
            finish(each)
        time.sleep(0.5)
        cpus = os.sched_getaffinity(0)
        for cpu in cpus:
            subprocess.run(["taskset", "-c", str(cpu), *values_load(1)], check=True)
        sent = 10007 + 2 * 50021 + len(cpus)
        lost = exporter.value("dropped_perf_event_map_events_events_total")
        assert lost > 0
        assert exporter.scrape().sum("events_total") + lost == sent


def execs(group, count):
    """Runs `true` so many times in a cgroup."""
    loop = 'i=0; while [ $i -lt "$1" ]; do /bin/true; i=$((i + 1)); done'
    subprocess.run(group.entered_by(["sh", "-c", loop, "sh", str(count)]), check=True)


def wanted():
    return UnifiedCgroup(f"jobscope-wanted-{unique_name()}")


def compiled(name, folder):
    """The pair, as people bring it who compile for themselves."""
    shutil.copy(OWN / f"{name}.yaml", folder)
    multiarch = subprocess.run(["gcc", "-print-multiarch"], check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run(["clang", "-g", "-O2", "-target", "bpf", "-D__TARGET_ARCH_x86", "-I", ROOT / "programs", "-I", ROOT,
                    "-isystem", f"/usr/include/{multiarch}", "-c", OWN / f"{name}.bpf.c", "-o",
                    folder / f"{name}.bpf.o"], check=True)
    return folder


def real_ebpf_exporter(name, folder):
    """The real one, if it has been built (`make interop`)."""
    found = sorted(real_exporter.cache().glob("v*/ebpf_exporter"))
    if not found:
        pytest.skip("the real ebpf_exporter has not been built")
    exporter = Exporter(name, folder=folder)
    exporter.command = [found[-1], *exporter.command[exporter.command.index("--config.dir"):]]
    return exporter


class Counts:
    """What an exporter of cgroups.yaml says of cgroups."""

    def __init__(self, exporter):
        self.exporter = exporter

    def is_wanted(self, group):
        return self.exporter.scrape().sum("wanted", cgroup=str(group.path)) == 1

    def of(self, group):
        return self.exporter.scrape().sum("wanted_execs_total", cgroup=str(group.path))


def test_a_map_of_cgroups_follows_those_that_come_and_go():
    with wanted() as first, UnifiedCgroup() as other, Programs("cgroups") as exporter:
        counts = Counts(exporter)
        assert counts.is_wanted(first) and not counts.is_wanted(other)
        execs(first, 23)
        execs(other, 19)
        with wanted() as later:
            wait_until(lambda: counts.is_wanted(later), "the cgroup that was made later")
            execs(later, 29)
            assert counts.of(later) == 29
        wait_until(lambda: not counts.is_wanted(later), "the cgroup to be taken out")
        assert counts.of(first) == 23 and counts.of(other) == 0
        # It is gone, and what was counted there has its name still.
        assert counts.of(later) == 29
        assert exporter.scrape().sum("wanted_execs_total") == 52
        assert exporter.value("jobscope_programs_cgroup_failures_total", config="cgroups") == 0


def test_the_same_map_of_cgroups_under_the_real_ebpf_exporter(tmp_path):
    """Cgroups that were there before it; on this machine it does not enter later ones (docs/ebpf_exporter.md)."""
    with wanted() as first, UnifiedCgroup() as other, \
            real_ebpf_exporter("cgroups", compiled("cgroups", tmp_path)) as exporter:
        counts = Counts(exporter)
        wait_until(lambda: counts.is_wanted(first), "the cgroup")
        execs(first, 23)
        execs(other, 19)
        assert counts.of(first) == 23 and counts.of(other) == 0


def test_a_map_of_cgroups_that_is_full_is_told(tmp_path):
    source = tmp_path / "cgroups.bpf.c"
    source.write_text((OWN / "cgroups.bpf.c").read_text().replace(
        "COUNTER_MAP(wanted, BPF_MAP_TYPE_HASH, u64, 1024, 0)", "COUNTER_MAP(wanted, BPF_MAP_TYPE_HASH, u64, 1, 0)"))
    shutil.copy(OWN / "cgroups.yaml", tmp_path)
    with wanted(), wanted(), wanted(), Programs("cgroups", folder=tmp_path) as exporter:
        assert exporter.value("jobscope_programs_cgroup_failures_total", config="cgroups") == 2
        said = exporter.end()
        assert said.count("'cgroup_id_map': /jobscope-wanted-") == 1 and "Argument list too long" in said, said


def test_storage_of_cgroups_is_marked_as_they_come():
    def counted(group):
        return exporter.scrape().sum("marked_execs_total", cgroup=str(group.path))

    with ExitStack() as stack:
        first, other = stack.enter_context(wanted()), stack.enter_context(UnifiedCgroup())
        exporter = stack.enter_context(Programs("cgroup_storage"))
        execs(first, 23)
        execs(other, 19)
        assert counted(first) == 23 and counted(other) == 0
        with wanted() as later:
            def marked():
                execs(later, 1)
                return counted(later)

            wait_until(marked, "the cgroup that was made later")
            before = counted(later)
            execs(later, 29)
            assert counted(later) - before == 29
        assert exporter.scrape().sum("marked_execs_total") == 23 + before + 29
        assert counted(later) == before + 29


def test_types_of_the_kernel_from_a_file(tmp_path):
    """Of a program that includes vmlinux.h, and reads a struct."""
    def check(path):
        process = start([JOBSCOPE, "programs", "--config.dir", OWN, "--config.names", "cgroup_storage",
                         "--config.check", "--config.strict", "--btf.path", path])
        said = finish(process)[1]
        return process.returncode, said

    copy = tmp_path / "vmlinux"
    shutil.copy("/sys/kernel/btf/vmlinux", copy)
    for path in (Path("/sys/kernel/btf/vmlinux"), copy):
        code, said = check(path)
        assert code == 0 and "all is well" in said, said
    copy.write_bytes(b"no types at all")
    code, said = check(copy)
    assert code == 2 and said.count("\n") <= 3, said
