#!/usr/bin/env python3
"""The real ebpf_exporter, built once from its Go module, into a cache outside the checkout.

    tests/interop/real_exporter.py      # prints where the program lies

It links libbpf, newer than Debian 12 has it: that one comes from the sources in the crate libbpf-sys.
"""
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

MODULE, VERSION = "github.com/cloudflare/ebpf_exporter/v2", "v2.5.1"
CRATE_VERSION = "1.5.1"  # the same libbpf that the module's go.mod names
MANIFEST = f"""[package]
name = "sources"
version = "0.0.0"
edition = "2021"
[dependencies]
libbpf-sys = "={CRATE_VERSION}"
"""


class Missing(Exception):
    """It cannot be built here; says what is needed."""


def cache():
    caches = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return Path(os.environ.get("JOBSCOPE_CACHE") or caches / "jobscope") / "ebpf_exporter"


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
        raise Missing(f"{' '.join(map(str, command[:3]))}: {' / '.join(last)}")
    return done.stdout.strip()


def need(program, words):
    if not shutil.which(program):
        raise Missing(f"{program} is not in PATH: {words}")


def build_libbpf(work):
    """libbpf.a and its headers, in work/out."""
    crate = work / "crate"
    (crate / "src").mkdir(parents=True)
    (crate / "src/lib.rs").touch()
    (crate / "Cargo.toml").write_text(MANIFEST)
    run("cargo", "vendor", "--quiet", "vendored", cwd=crate)
    out = work / "out"
    run("make", f"-j{min(2, os.cpu_count())}", "-C", crate / "vendored/libbpf-sys/libbpf/src", "BUILD_STATIC_ONLY=y",
        f"OBJDIR={work}/objects", f"DESTDIR={out}", "PREFIX=", "LIBDIR=/lib", "install", "install_uapi_headers")
    return out


def build(work):
    libbpf = build_libbpf(work)
    environment = dict(os.environ, CGO_ENABLED="1", CGO_CFLAGS=f"-O2 -I{libbpf}/include",
                       CGO_LDFLAGS=f"{libbpf}/lib/libbpf.a -lelf -lz", GOFLAGS="-trimpath -p=2")
    # Built in a copy of its sources, with its own go.mod and go.sum: all that it needs is pinned there by its authors.
    told = json.loads(run("go", "mod", "download", "-json", f"{MODULE}@{VERSION}", cwd=work))
    sources = work / "sources"
    shutil.copytree(told["Dir"], sources, copy_function=shutil.copyfile)
    run("chmod", "-R", "u+w", sources)
    run("go", "build", "-mod=readonly", "-o", work / "ebpf_exporter", "./cmd/ebpf_exporter", cwd=sources,
        env=environment)


def key():
    """What the program is made of."""
    compilers = run("go", "version") + run("cc", "-dumpfullversion") + os.uname().machine
    return hashlib.sha256((Path(__file__).read_text() + compilers).encode()).hexdigest()[:12]


def real_exporter():
    """The program. Raises Missing."""
    need("go", f"install Go 1.23 or newer to build {MODULE}")
    need("cargo", "install Rust's cargo, which fetches the crate libbpf-sys")
    need("cc", "run scripts/install_deps.sh")
    program = cache() / f"{VERSION}-{key()}" / "ebpf_exporter"
    if program.exists():
        return program
    print(f"building ebpf_exporter {VERSION}, once: some minutes", file=sys.stderr)
    work = program.parent.with_suffix(".making")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    build(work)
    program.parent.mkdir(exist_ok=True)
    (work / "ebpf_exporter").rename(program)
    shutil.rmtree(work, ignore_errors=True)
    return program


if __name__ == "__main__":
    try:
        print(real_exporter())
    except Missing as why:
        sys.exit(f"no ebpf_exporter to compare with: {why}")
