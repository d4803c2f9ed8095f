"""Debian's cloud kernels: each is fetched once, into a cache outside the checkout."""
import os
import re
import shutil
import subprocess
from pathlib import Path

SUITES = ("bullseye", "bookworm", "trixie", "trixie-backports")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Missing(Exception):
    """The mirror has no such kernel, or there is no mirror."""


def cache():
    base = os.environ.get("JOBSCOPE_CACHE") or Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "jobscope"
    return Path(base) / "kernels"


def order(version):
    """For sorting: 6.12 is newer than 6.1."""
    return [int(part) if part.isdigit() else part for part in re.findall(r"\d+|[a-z]+", version)]


def cached(pattern):
    """The newest kernel of the cache that is `pattern` or begins with it and a dot; None."""
    found = [p for p in cache().glob(f"{pattern}.*") if (p / "complete").exists()]
    return max(found, key=lambda p: order(p.name), default=None)


def mirror():
    """The mirror that this machine's apt uses."""
    sources = [*Path("/etc/apt/sources.list.d").glob("*.sources"), *Path("/etc/apt/sources.list.d").glob("*.list"),
               Path("/etc/apt/sources.list")]
    for source in sources:
        if source.exists():
            for address in re.findall(r"https?://\S+", re.sub(r"(?m)^#.*", "", source.read_text())):
                if "security" not in address:
                    return address
    raise Missing("this machine has no mirror of Debian")


class Apt:
    """An apt of its own, whose state lies in the cache: the machine's is not touched."""

    def __init__(self, directory):
        self.directory = directory
        for folder in ("lists/partial", "cache/archives/partial"):
            (directory / folder).mkdir(parents=True, exist_ok=True)
        address = mirror()
        (directory / "sources.list").write_text(
            "".join(f"deb [signed-by={KEYRING}] {address} {suite} main\n" for suite in SUITES))
        self.options = [f"-oDir::Etc::SourceList={directory}/sources.list", "-oDir::Etc::SourceParts=-",
                        f"-oDir::State::Lists={directory}/lists", f"-oDir::Cache={directory}/cache"]
        # A suite that the mirror no longer has fails; the others are there.
        self.run("apt-get", "update", check=False)

    def run(self, program, *arguments, check=True, **options):
        done = subprocess.run([program, *self.options, *arguments], capture_output=True, text=True, **options)
        if check and done.returncode:
            raise Missing(f"{program} {arguments[0]}: {done.stderr.strip().splitlines()[-1:]}")
        return done.stdout

    def newest(self, pattern):
        """(version, packages) of the newest kernel that fits."""
        names = self.run("apt-cache", "search", "--names-only",
                         rf"^linux-(image|binary)-{re.escape(pattern)}\..*-cloud-amd64$")
        found = {}
        for line in names.splitlines():
            name = line.split()[0]
            kind, version = re.match(r"linux-(image|binary)-(.*)", name).groups()
            if "unsigned" not in version:
                found.setdefault(version, set()).add(kind)
        if not found:
            raise Missing(f"{mirror()} has no cloud kernel {pattern}")
        version = max(found, key=order)
        # Since 6.17 the kernel and its modules are packages of their own.
        packages = ["binary", "modules"] if "binary" in found[version] else ["image"]
        return version, [f"linux-{kind}-{version}" for kind in packages]


def fetch(pattern):
    """The folder of a kernel: boot/vmlinuz-VERSION and lib/modules/VERSION. Raises Missing."""
    here = cached(pattern)
    if here:
        return here
    cache().mkdir(parents=True, exist_ok=True)
    apt = Apt(cache() / "apt")
    version, packages = apt.newest(pattern)
    folder, making = cache() / version, cache() / f"{version}.making"
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir()
    for package in packages:
        apt.run("apt-get", "download", package, cwd=making)
        archive, = making.glob(f"{package}_*.deb")
        subprocess.run(["dpkg-deb", "--extract", archive, making], check=True)
        archive.unlink()
    if not (making / "lib").exists():
        (making / "lib").symlink_to("usr/lib")
    subprocess.run(["depmod", "-b", making, version], check=True)
    (making / "complete").touch()
    shutil.rmtree(folder, ignore_errors=True)
    making.rename(folder)
    return folder


def image(folder):
    """The kernel itself."""
    places = [folder / f"boot/vmlinuz-{folder.name}", folder / f"usr/lib/modules/{folder.name}/vmlinuz"]
    return next(place for place in places if place.exists())
