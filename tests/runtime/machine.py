"""Parts of the machine that a test makes for itself and always removes: disks, cgroups, networks, users."""
import itertools
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

CGROUPS = Path("/sys/fs/cgroup")
serial = itertools.count(1)


def unique_name():
    return f"jobscope-test-{os.getpid()}-{next(serial)}"


def call(*command, **options):
    """Runs a command to its end; returns its output, raises with its words when it fails."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise OSError(f"{' '.join(done.args)}: {done.stderr.strip()}")
    return done.stdout


def needs(*command, why):
    """Skips the test when a command that it needs does not work here."""
    try:
        return call(*command)
    except OSError as error:
        pytest.skip(f"{why}: {error}")


def file_system(path):
    return call("stat", "--file-system", "--format=%T", path).strip()


def kernel_has_function(name):
    """Whether BPF could trace or call it."""
    return f"FUNC '{name}'" in call("bpftool", "btf", "dump", "file", "/sys/kernel/btf/vmlinux", "format", "raw")


def character_devices():
    """The names of the drivers of character devices, from /proc/devices."""
    text = Path("/proc/devices").read_text().split("Block devices:")[0]
    return [line.split()[1] for line in text.splitlines()[1:] if line.strip()]


def make_file(path, size):
    """A file with blocks of its own, on the disk and out of the page cache."""
    block = os.urandom(1 << 20)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for _ in range(size >> 20):
        os.write(fd, block)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)
    return path


class LoopDisk:
    """ext4 on a loop device: .name (loop3), .directory, and the kernel's own counts of its requests."""

    def __init__(self, base, size=96 << 20):
        self.image = base / f"{unique_name()}.img"
        self.directory = base / f"{unique_name()}.mnt"
        self.size, self.device = size, None

    def __enter__(self):
        with open(self.image, "wb") as image:
            os.posix_fallocate(image.fileno(), 0, self.size)
        self.directory.mkdir()
        # Direct I/O: else its reads come from the page cache of the image and take no time.
        self.device = needs("losetup", "--find", "--show", "--direct-io=on", self.image,
                            why="no loop device").strip()
        try:
            # Nothing is left for a kernel thread to write later.
            call("mkfs.ext4", "-q", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0", self.device)
            call("mount", "-t", "ext4", "-o", "noatime", self.device, self.directory)
        except OSError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "--lazy", self.directory], capture_output=True)
        subprocess.run(["losetup", "--detach", self.device], capture_output=True)
        self.image.unlink(missing_ok=True)
        if not os.path.ismount(self.directory):
            self.directory.rmdir()

    @property
    def name(self):
        return Path(self.device).name

    def settle(self):
        """Brings all of it to the disk, so that nothing of before is written later."""
        call("sync", "--file-system", self.directory)
        call("sync", "--file-system", self.directory)

    def counts(self):
        """Completed so far, as /proc/diskstats has it."""
        for line in Path("/proc/diskstats").read_text().splitlines():
            fields = line.split()
            if fields[2] == self.name:
                figures = [int(f) for f in fields[3:]]
                return {"read": figures[0], "read_bytes": figures[2] * 512, "read_ms": figures[3],
                        "write": figures[4], "write_bytes": figures[6] * 512, "write_ms": figures[7]}
        raise AssertionError(f"{self.name} is not in /proc/diskstats")

    def since(self, before):
        return {key: value - before[key] for key, value in self.counts().items()}


class Cgroup:
    """A cgroup of our own for one controller, v1 or v2."""

    def __init__(self, controller):
        self.controller = controller

    def __enter__(self):
        v1 = CGROUPS / self.controller
        v2 = CGROUPS / "cgroup.controllers"
        if (v1 / "cgroup.procs").exists():
            self.version, parent = 1, v1
        elif v2.exists() and self.controller in v2.read_text().split():
            self.version, parent = 2, CGROUPS
            if self.controller not in (CGROUPS / "cgroup.subtree_control").read_text().split():
                (CGROUPS / "cgroup.subtree_control").write_text(f"+{self.controller}")
        else:
            pytest.skip(f"no cgroup controller {self.controller}")
        self.path = parent / unique_name()
        try:
            self.path.mkdir()
        except OSError as error:
            pytest.skip(f"cannot make a cgroup: {error}")
        return self

    def __exit__(self, *_):
        for _ in range(100):
            for pid in (self.path / "cgroup.procs").read_text().split():
                os.kill(int(pid), signal.SIGKILL)  # only ours are in there
            try:
                self.path.rmdir()
                return
            except OSError:
                time.sleep(0.05)

    def write(self, file, value):
        (self.path / file).write_text(str(value))

    def entered_by(self, command):
        """The command, started inside this cgroup."""
        return ["sh", "-c", f"echo 0 >{self.path}/cgroup.procs && exec \"$@\"", "sh", *command]

    def limit_cpus(self, cpus):
        if self.version == 1:
            self.write("cpu.cfs_period_us", 100000)
            self.write("cpu.cfs_quota_us", int(cpus * 100000))
        else:
            self.write("cpu.max", f"{int(cpus * 100000)} 100000")

    def oom_kills(self):
        """Processes that the kernel killed in here because there was no memory."""
        text = (self.path / ("memory.oom_control" if self.version == 1 else "memory.events")).read_text()
        return int(dict(line.split() for line in text.splitlines())["oom_kill"])

    def throttled_ns(self):
        for line in (self.path / "cpu.stat").read_text().splitlines():
            key, value = line.split()
            if key == "throttled_time":
                return int(value)
            if key == "throttled_usec":
                return int(value) * 1000
        return 0

    def limit_memory(self, size):
        self.write("memory.limit_in_bytes" if self.version == 1 else "memory.max", size)
        if self.version == 2 and (self.path / "memory.swap.max").exists():
            self.write("memory.swap.max", 0)


class UnifiedCgroup(Cgroup):
    """One of cgroup v2, whatever controllers it has there: what the kernel's BPF helpers call a task's cgroup."""

    def __init__(self, name=None):
        super().__init__(None)
        self.name = name or unique_name()

    def __enter__(self):
        parents = [p for p in (CGROUPS, CGROUPS / "unified") if (p / "cgroup.controllers").exists()]
        if not parents:
            pytest.skip("no cgroup v2")
        self.version, self.path = 2, parents[0] / self.name
        self.path.mkdir()
        return self


class TwoNetworks:
    """Two network namespaces, one for the job and one for its peer, joined by a wire.

    Each lives as long as a process of ours that holds it, so nothing is left when we are killed.
    """

    JOB_ADDRESS, PEER_ADDRESS, SILENT_ADDRESS = "10.77.77.1", "10.77.77.2", "10.77.77.3"
    NOBODY = "02:00:00:00:77:77"

    def __enter__(self):
        needs("unshare", "--net", "true", why="no network namespaces")
        self.holders = [subprocess.Popen(["unshare", "--net", "setpriv", "--pdeathsig", "KILL", "sleep", "infinity"])
                        for _ in range(2)]
        job, peer = (holder.pid for holder in self.holders)
        try:
            ours = os.readlink("/proc/self/ns/net")
            for pid in (job, peer):
                while os.readlink(f"/proc/{pid}/ns/net") == ours:
                    time.sleep(0.01)
            self.in_job("ip", "link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", str(peer))
            for side, address in ((self.in_job, self.JOB_ADDRESS), (self.in_peer, self.PEER_ADDRESS)):
                side("ip", "link", "set", "lo", "up")
                side("ip", "address", "add", f"{address}/24", "dev", "wire")
                side("ip", "link", "set", "wire", "up")
            # Frames to this address go out, and nobody on the wire takes them.
            self.point(self.SILENT_ADDRESS, self.NOBODY)
        except OSError as error:
            self.__exit__()
            pytest.skip(f"no pair of networks: {error}")
        link = json.loads(self.in_peer("ip", "-json", "link", "show", "wire"))
        self.peer_hardware = link[0]["address"]
        return self

    def __exit__(self, *_):
        for holder in self.holders:
            holder.kill()
            holder.wait()

    @staticmethod
    def _enter(holder):
        return ["nsenter", f"--net=/proc/{holder.pid}/ns/net", "--"]

    def for_job(self, command):
        return [*self._enter(self.holders[0]), *command]

    def for_peer(self, command):
        return [*self._enter(self.holders[1]), *command]

    def in_job(self, *command):
        return call(*self.for_job(command))

    def in_peer(self, *command):
        return call(*self.for_peer(command))

    def point(self, address, hardware):
        """Makes the job's side send frames for an address to that hardware address."""
        self.in_job("ip", "neighbour", "replace", address, "lladdr", hardware, "nud", "permanent", "dev", "wire")

    def cut(self):
        self.point(self.PEER_ADDRESS, self.NOBODY)

    def mend(self):
        self.point(self.PEER_ADDRESS, self.peer_hardware)
