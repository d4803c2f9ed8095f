"""What only this machine can say: addresses of symbols, ids of cgroups, names of disks."""
import functools
import os
from pathlib import Path

CGROUP = "/jobscope-conformance"  # made for the tests


@functools.cache
def symbols():
    """Functions of the kernel itself, whose name is there once, by name."""
    found = {}
    for line in Path("/proc/kallsyms").read_text().splitlines():
        address, kind, name, *module = line.split()
        if kind in "tT" and not module:
            found.setdefault(name, []).append(int(address, 16))
    return {name: addresses[0] for name, addresses in found.items() if len(addresses) == 1}


def symbol(name):
    return symbols()[name]


def cgroup_root():
    """Where the unified hierarchy is mounted; beside those of v1 it is below `unified`."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(place)
    raise RuntimeError("no cgroup2 is mounted")


def cgroup_id(path):
    """The number of a cgroup is that of its directory."""
    return os.stat(cgroup_root() / path.strip("/")).st_ino


@functools.cache
def disk():
    """(name, major, minor) of the first block device."""
    lines = [line.split() for line in Path("/proc/partitions").read_text().splitlines()[2:]]
    major, minor, _, name = lines[0]
    return name, int(major), int(minor)


@functools.cache
def cpus():
    """All that the kernel may ever have."""
    last = Path("/sys/devices/system/cpu/possible").read_text().strip().rpartition("-")[2].rpartition(",")[2]
    return int(last) + 1


NUMBERS_OF_CALLS = {"x86_64": {"read": 0, "futex": 202}, "aarch64": {"read": 63, "futex": 98}}


class Facts(dict):
    """The names after a $ in rows and in expectations."""

    def __missing__(self, name):
        if name.startswith("nr_"):
            return NUMBERS_OF_CALLS[os.uname().machine][name[len("nr_"):]]
        name_of_disk, major, minor = disk()
        return {"disk": name_of_disk, "disk_major": major, "disk_minor": minor, "cgroup": CGROUP,
                "cgroup_root": cgroup_root()}[name]
