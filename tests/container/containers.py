"""podman as the tests use it: its own storage in the cache, and images made here, for there is no registry to ask."""
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "kernels"))
import kernels  # noqa: E402

BASE = "docker.io/library/debian:bookworm-slim"
IMAGE = "localhost/jobscope-test"
# runc takes part in hybrid hierarchies of cgroups; the limits are those that a container may set.
CONFIG = """[containers]
default_ulimits = ["nofile=20000:20000", "nproc=32768:32768"]
[engine]
cgroup_manager = "cgroupfs"
runtime = "runc"
events_logger = "file"
"""
TOOLS = ("podman", "buildah", "runc", "debootstrap")


class Missing(Exception):
    """Containers cannot be run here; says why."""


def cache():
    return kernels.cache().parent / "containers"


def environment():
    config = cache() / "containers.conf"
    config.parent.mkdir(parents=True, exist_ok=True)
    if not config.exists() or config.read_text() != CONFIG:
        config.write_text(CONFIG)
    return dict(os.environ, CONTAINERS_CONF=str(config))


def storage():
    return ["--root", str(cache() / "storage"), "--runroot", "/run/jobscope-containers"]


def podman(*words, **options):
    return subprocess.run(["podman", *storage(), *map(str, words)], env=environment(), stdin=subprocess.DEVNULL,
                          **{"capture_output": True, "text": True} | options)


def done(process):
    if process.returncode:
        raise Missing(f"{' '.join(process.args[:1])} {process.args[-1]}: {process.stderr.strip()[-500:]}")
    return process.stdout.strip()


def base_image():
    """Debian as its image of that name is, from the mirror that this machine's apt uses."""
    for tool in TOOLS:
        if not shutil.which(tool):
            raise Missing(f"{tool} is not installed: run scripts/install_deps.sh")
    if podman("image", "exists", BASE).returncode == 0:
        return
    with tempfile.TemporaryDirectory(dir=cache()) as folder:
        done(subprocess.run(["debootstrap", "--variant=minbase", "bookworm", f"{folder}/root", kernels.mirror()],
                            capture_output=True, text=True, stdin=subprocess.DEVNULL))
        archive = f"{folder}/root.tar"
        done(subprocess.run(["tar", "-C", f"{folder}/root", "-cf", archive, "."], capture_output=True, text=True))
        done(podman("import", "--quiet", archive, BASE))


def digest(folder):
    """Of all that lies in it."""
    whole = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        whole.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return whole.hexdigest()[:12]


def jobscope_image(program):
    """The image of deploy/docker/Dockerfile, whose first stage is replaced by what was built here: to build it a second
    time would take minutes."""
    base_image()
    dockerfile = ROOT / "deploy" / "docker" / "Dockerfile"
    with tempfile.TemporaryDirectory(dir=cache()) as name:
        folder = Path(name)
        done(subprocess.run(["cmake", "--install", program.parent, "--prefix", "/usr", "--strip"],
                            env=dict(os.environ, DESTDIR=str(folder / "installed")), capture_output=True, text=True))
        last_stage = dockerfile.read_text().split("\n\n", 1)[1].replace("--from=build /installed/", "installed/")
        (folder / "Dockerfile").write_text(last_stage)
        image = f"{IMAGE}:{digest(folder)}"
        if podman("image", "exists", image).returncode != 0:
            done(build(image, name))
    older = podman("images", "--format", "{{.Repository}}:{{.Tag}}", IMAGE).stdout.split()
    podman("rmi", *(name for name in older if name != image))
    return image


def whole_image(tag):
    """The image as people build it, from the checkout."""
    base_image()
    with tempfile.TemporaryDirectory(dir=cache()) as folder:
        files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                               capture_output=True, check=True).stdout
        subprocess.run(["tar", "--null", "-T", "-", "-cf", f"{folder}/source.tar"], cwd=ROOT, input=files, check=True)
        subprocess.run(["tar", "-C", folder, "-xf", f"{folder}/source.tar"], check=True)
        Path(folder, "source.tar").unlink()
        done(build(tag, folder, "--file", f"{folder}/deploy/docker/Dockerfile"))


def build(tag, folder, *options):
    return subprocess.run(["buildah", *storage(), "bud", "--isolation", "chroot", "--network", "host", "--pull-never",
                           "--layers", "--quiet", "--tag", tag, *options, folder], env=environment(),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)


if __name__ == "__main__":  # containers.py TAG: the image of the Dockerfile, all of it
    try:
        whole_image(sys.argv[1])
    except Missing as why:
        sys.exit(str(why))
