"""An emulated machine under another kernel. Its root is this machine's own, read-only, under a layer in
memory; one folder is shared for what goes in and comes out."""
import dataclasses
import lzma
import subprocess
import tempfile
import time
from pathlib import Path

import kernels

MODULES = ("virtio_pci", "virtio_blk", "virtiofs", "overlay", "ext4")
VIRTIOFSD = "/usr/lib/qemu/virtiofsd"


@dataclasses.dataclass
class Architecture:
    flavour: str  # of Debian's kernels
    qemu: list    # emulated: hardware virtualization may be there and hang
    console: str


ARCHITECTURES = {
    "amd64": Architecture("cloud-amd64", ["qemu-system-x86_64", "-cpu", "max"], "ttyS0"),
    "arm64": Architecture("cloud-arm64", ["qemu-system-aarch64", "-M", "virt", "-cpu", "max,pauth-impdef=on"],
                          "ttyAMA0"),
}

# The kernel's first program: brings the root together and hands it the script.
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
while read -r module; do insmod "/modules/$module"; done < /modules/order
mkdir -p /below /layer /root
mount -t virtiofs -o ro below /below
mount -t tmpfs -o size=70% layer /layer
mkdir /layer/upper /layer/work
mount -t overlay -o lowerdir=/below,upperdir=/layer/upper,workdir=/layer/work root /root
for place in proc sys dev; do mount --move /$place /root/$place; done
mkdir -p /root/mnt /root/dev/shm /root/dev/pts
mount -t virtiofs shared /root/mnt
mount -t tmpfs run /root/run
mount -t tmpfs tmp /root/tmp
mount -t tmpfs shm /root/dev/shm
mount -t devpts pts /root/dev/pts
mount -t bpf bpf /root/sys/fs/bpf
mount -t tracefs trace /root/sys/kernel/tracing
mount -t securityfs security /root/sys/kernel/security
ip link set lo up
chroot /root /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \\
  /bin/bash /mnt/guest.sh > /root/mnt/log 2>&1
echo $? > /root/mnt/rc
sync
poweroff -f
"""


def module_files(kernel):
    """The files of MODULES and all they need, in the order to load them."""
    files = []
    for module in MODULES:
        out = subprocess.run(["modprobe", "-d", kernel, "-S", kernel.name, "--show-depends", module],
                             capture_output=True, text=True).stdout
        for line in out.splitlines():
            verb, _, path = line.partition(" ")
            path = Path(path.split()[0])
            if verb == "insmod" and path not in files:
                files.append(path)
    return files


def unpacked(path):
    if path.suffix == ".xz":
        return lzma.decompress(path.read_bytes())
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dqc", path], check=True, capture_output=True).stdout
    return path.read_bytes()


def make_initrd(kernel, root, folder):
    tree = folder / "initrd.tree"
    for name in ("bin", "proc", "sys", "dev", "modules"):
        (tree / name).mkdir(parents=True)
    (tree / "bin/busybox").write_bytes((root / "bin/busybox").read_bytes())
    (tree / "bin/busybox").chmod(0o755)
    order = []
    for path in module_files(kernel):
        name = path.name.split(".ko")[0] + ".ko"
        (tree / "modules" / name).write_bytes(unpacked(path))
        order.append(name)
    (tree / "modules/order").write_text("".join(f"{name}\n" for name in order))
    (tree / "init").write_text(INIT)
    (tree / "init").chmod(0o755)
    initrd = folder / "initrd"
    subprocess.run(f"find . | cpio --quiet -o -H newc > {initrd}", shell=True, cwd=tree, check=True)
    return initrd


class Guest:
    """with Guest(kernel, shared) as guest: guest.run() → exit code of shared/guest.sh, None if it never came to it."""

    def __init__(self, kernel, shared, root=Path("/"), architecture="amd64", cpus=2, command_line="",
                 memory_mib=1536, disk_mib=128):
        self.kernel, self.shared, self.root = kernel, shared, root
        self.architecture = ARCHITECTURES[architecture]
        self.cpus, self.memory, self.disk_mib, self.command_line = cpus, memory_mib, disk_mib, command_line
        self.servers = []

    def __enter__(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="jobscope-guest-")
        self.folder = Path(self.scratch.name)
        (self.folder / "below").mkdir()
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.kill()
            server.wait()
        self.scratch.cleanup()

    def serve(self, name, source, cache, root=None):
        """A folder for the guest, by virtiofs; returns qemu's options for it."""
        socket = self.folder / f"{name}.socket"
        command = [VIRTIOFSD, f"--socket-path={socket}", "-o", f"source={source}", "-o", f"cache={cache}"]
        if root:  # in a mount namespace of its own, where the root lies there, read-only
            command = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" "$1" && mount -o remount,ro,bind "$1" && '
                       'shift && exec "$@"', root, source, *command]
        with open(self.folder / f"{name}.log", "w") as log:
            self.servers.append(subprocess.Popen(command, stdout=log, stderr=log))
        deadline = time.monotonic() + 10
        while not socket.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        return ["-chardev", f"socket,id={name},path={socket}",
                "-device", f"vhost-user-fs-pci,chardev={name},tag={name}"]

    def run(self, timeout=300):
        initrd = make_initrd(self.kernel, self.root, self.folder)
        disk = self.folder / "disk"
        with open(disk, "wb") as file:
            file.truncate(self.disk_mib << 20)
        command = [*self.architecture.qemu, "-accel", "tcg,thread=single", "-smp", str(self.cpus),
                   "-m", f"{self.memory}M", "-nodefaults", "-nographic", "-serial", "stdio", "-no-reboot",
                   "-object", f"memory-backend-memfd,id=memory,size={self.memory}M,share=on",
                   "-numa", "node,memdev=memory",
                   "-kernel", kernels.image(self.kernel), "-initrd", initrd,
                   "-append",
                   f"console={self.architecture.console} panic=-1 quiet mitigations=off {self.command_line}",
                   "-drive", f"file={disk},format=raw,if=virtio,cache=unsafe",
                   *self.serve("below", self.folder / "below", "always", root=self.root),
                   *self.serve("shared", self.shared, "none")]
        with open(self.shared / "console", "w") as console:
            try:
                subprocess.run(command, stdin=subprocess.DEVNULL, stdout=console, stderr=console, timeout=timeout)
            except subprocess.TimeoutExpired:
                pass
        rc = self.shared / "rc"
        return int(rc.read_text()) if rc.exists() and rc.read_text().strip() else None
