"""Debian's cloud kernels, and a root for machines of another architecture: each is fetched once, into a cache
outside the checkout."""
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


def mirror():
    """The mirror of Debian that this machine's apt uses; others than Debian have their files beside it."""
    folder = Path("/etc/apt/sources.list.d")
    sources = [Path("/etc/apt/sources.list"), *sorted(folder.glob("*.list")), *sorted(folder.glob("*.sources"))]
    for source in sources:
        text = re.sub(r"(?m)^\s*#.*", "", source.read_text()) if source.exists() else ""
        for address in re.findall(r"https?://\S+", text):
            if re.search(r"/debian/?$", address):
                return address
    raise Missing("apt has no mirror of Debian in /etc/apt/sources.list*")


class Apt:
    """An apt of its own, whose state lies in the cache: the machine's is not touched. It believes that nothing is
    installed."""

    def __init__(self, architecture, suites=SUITES):
        directory = cache() / f"apt-{architecture}-{suites[-1]}"
        for folder in ("lists/partial", "cache/archives/partial"):
            (directory / folder).mkdir(parents=True, exist_ok=True)
        (directory / "status").touch()
        address = mirror()
        (directory / "sources.list").write_text(
            "".join(f"deb [signed-by={KEYRING}] {address} {suite} main\n" for suite in suites))
        self.archives = directory / "cache/archives"
        self.options = [f"-oDir::Etc::SourceList={directory}/sources.list", "-oDir::Etc::SourceParts=-",
                        f"-oDir::State={directory}", f"-oDir::State::Lists={directory}/lists",
                        f"-oDir::State::Status={directory}/status", f"-oDir::Cache={directory}/cache",
                        f"-oAPT::Architecture={architecture}", f"-oAPT::Architectures={architecture}",
                        "-oAcquire::Languages=none"]
        # A suite that the mirror no longer has fails; the others are there.
        self.run("apt-get", "update", check=False)

    def run(self, program, *arguments, check=True, **options):
        done = subprocess.run([program, *self.options, *arguments], capture_output=True, text=True, **options)
        if check and done.returncode:
            raise Missing(f"{program} {arguments[0]}: {done.stderr.strip().splitlines()[-1:]}")
        return done.stdout

    def newest(self, pattern, flavour):
        """(version, packages) of the newest kernel that fits."""
        names = self.run("apt-cache", "search", "--names-only",
                         rf"^linux-(image|binary)-{re.escape(pattern)}\..*-{flavour}$")
        found = {}
        for line in names.splitlines():
            name = line.split()[0]
            kind, version = re.match(r"linux-(image|binary)-(.*)", name).groups()
            if "unsigned" not in version:
                found.setdefault(version, set()).add(kind)
        if not found:
            raise Missing(f"{mirror()} has no kernel {pattern} ({flavour})")
        version = max(found, key=order)
        # Since 6.17 the kernel and its modules are packages of their own.
        packages = ["binary", "modules"] if "binary" in found[version] else ["image"]
        return version, [f"linux-{kind}-{version}" for kind in packages]

    def download(self, packages):
        """The files of the packages and of all that they depend on."""
        self.run("apt-get", "install", "--yes", "--no-install-recommends", "--download-only", *packages)
        return sorted(self.archives.glob("*.deb"))

    def clean(self):
        self.run("apt-get", "clean")


def made_once(name, make):
    """The folder of the cache that make(folder) fills; complete or not there."""
    folder, making = cache() / name, cache() / f"{name}.making"
    if (folder / "complete").exists():
        return folder
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    make(making)
    (making / "complete").touch()
    shutil.rmtree(folder, ignore_errors=True)
    making.rename(folder)
    return folder


def unpack_kernel(apt, version, packages, folder):
    for package in packages:
        apt.run("apt-get", "download", package, cwd=folder)
        archive, = folder.glob(f"{package}_*.deb")
        subprocess.run(["dpkg-deb", "--extract", archive, folder], check=True)
        archive.unlink()
    if not (folder / "lib").exists():
        (folder / "lib").symlink_to("usr/lib")
    subprocess.run(["depmod", "-b", folder, version], check=True, stderr=subprocess.DEVNULL)  # warns of absent lists


def fetch(pattern, flavour="cloud-amd64"):
    """The folder of the newest kernel that is `pattern` or begins with it and a dot: boot/vmlinuz-VERSION and
    lib/modules/VERSION. One of the cache is new enough. Raises Missing."""
    here = [p for p in cache().glob(f"{pattern}.*-{flavour}") if (p / "complete").exists()]
    if here:
        return max(here, key=lambda p: order(p.name))
    apt = Apt(flavour.rpartition("-")[2])
    version, packages = apt.newest(pattern, flavour)
    return made_once(version, lambda folder: unpack_kernel(apt, version, packages, folder))


def image(folder):
    """The kernel itself."""
    places = [folder / f"boot/vmlinuz-{folder.name}", folder / f"usr/lib/modules/{folder.name}/vmlinuz"]
    return next(place for place in places if place.exists())


def fetch_root(architecture, packages):
    """A Debian 12 of another architecture, with these packages, unpacked but not configured: enough to build for it,
    and to run programs in. Made anew when the list changes. Raises Missing."""
    def make(root):
        for name in ("bin", "sbin", "lib"):
            (root / "usr" / name).mkdir(parents=True)
            (root / name).symlink_to(f"usr/{name}")
        apt = Apt(architecture, ("bookworm",))
        for archive in apt.download(packages):
            unpack = f"dpkg-deb --fsys-tarfile '{archive}' | tar -x --keep-directory-symlink -C '{root}'"
            subprocess.run(["bash", "-o", "pipefail", "-c", unpack], check=True)
        apt.clean()
        (root / "wanted").write_text("\n".join(packages))

    name = f"root-{architecture}"
    wanted = cache() / name / "wanted"
    if wanted.exists() and wanted.read_text() != "\n".join(packages):
        shutil.rmtree(cache() / name)
    return made_once(name, make)
