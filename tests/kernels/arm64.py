"""jobscope and its workloads for another architecture, cross-compiled, and a Debian to run them in."""
import os
import subprocess
from pathlib import Path

import kernels

SOURCES = Path(__file__).resolve().parent.parent.parent
KERNEL = "6.12"
# To build with, then to run the guest's scripts.
PACKAGES = """
    libbpf-dev libboost1.81-dev libc6-dev libcap-dev libcli11-dev libcrypt-dev libelf-dev libexpected-dev
    libfmt-dev libgcc-12-dev libgomp1 libprotozero-dev libre2-dev libsqlite3-dev libssl-dev libstdc++-12-dev
    libyaml-cpp-dev nlohmann-json3-dev zlib1g-dev
    base-files bash busybox-static coreutils dash e2fsprogs gawk grep libcap2-bin mount procps python3 sed util-linux
""".split()


def root():
    """The Debian; what the packages' scripts would have done, as far as we need it."""
    folder = kernels.fetch_root("arm64", PACKAGES)
    for name, target in (("awk", "gawk"), ("sh", "dash")):
        if not os.path.lexists(folder / "usr/bin" / name):
            (folder / "usr/bin" / name).symlink_to(target)
    return folder


def build(folder, sysroot):
    """folder/jobscope and folder/workloads."""
    environment = {**os.environ, "JOBSCOPE_SYSROOT": str(sysroot)}

    def run(*command):
        subprocess.run([str(c) for c in command], check=True, cwd=SOURCES, env=environment, stdout=subprocess.DEVNULL)

    toolchain = SOURCES / "cmake/aarch64.cmake"
    run("scripts/configure.sh", folder, f"-DCMAKE_TOOLCHAIN_FILE={toolchain}", "-DBUILD_TESTING=OFF",
        "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O1")
    run("cmake", "--build", folder, "--parallel", os.cpu_count(), "--target", "jobscope")
    run("make", "-C", "tests/workloads", f"OUT={folder}/workloads",
        f"CC=aarch64-linux-gnu-gcc --sysroot={sysroot}")
