"""Starts a program that exports the metrics of eBPF programs, fills its maps and scrapes it."""
import http.client
import os
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import exposition

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = Path(os.environ.get("JOBSCOPE_INTEROP", ROOT / "build" / "interop"))
JOBSCOPE = Path(os.environ.get("JOBSCOPE", ROOT / "build" / "jobscope")).resolve()
SECONDS_TO_START = 60


class Failed(Exception):
    """The program ended, or does not answer; says what it wrote."""


def fresher(target, *sources):
    made = target.stat().st_mtime_ns if target.exists() else -1
    return all(made >= Path(source).stat().st_mtime_ns for source in sources)


def fill_tool():
    tool, source = BUILD / "fill", HERE / "fill.c"
    if not fresher(tool, source):
        BUILD.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-o", tool, source,
                        "-lbpf"], check=True)
    return tool


def compile_bpf(source, target):
    """A BPF object of C, as people build theirs."""
    if fresher(target, source):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    machine = subprocess.run(["cc", "-print-multiarch"], capture_output=True, text=True, check=True).stdout.strip()
    architecture = "arm64" if machine.startswith("aarch64") else "x86"
    done = subprocess.run(["clang", "-g", "-O2", "-Wall", "-fno-builtin", "-target", "bpf",
                           f"-D__TARGET_ARCH_{architecture}", "-isystem", f"/usr/include/{machine}",
                           "-c", source, "-o", target],
                          capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{source}:\n{done.stderr}")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Exporter:
    """`command` with ebpf_exporter's options, until the `with` ends."""

    def __init__(self, command, folder, names, *options):
        self.port = free_port()
        self.command = [*map(str, command), "--config.dir", str(folder), "--config.names", ",".join(names),
                        "--web.listen-address", f"127.0.0.1:{self.port}", *options]

    def __enter__(self):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=subprocess.STDOUT)
        try:
            self.wait_until_it_answers()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()

    def written(self):
        """What it wrote so far, to both outputs."""
        self.log.flush()
        self.log.seek(0)
        return self.log.read()

    def wait_until_it_answers(self):
        deadline = time.monotonic() + SECONDS_TO_START
        while True:
            if self.process.poll() is not None:
                last = "\n".join(self.written().splitlines()[-10:])
                raise Failed(f"{' '.join(self.command[:2])} ended with {self.process.returncode}:\n{last}")
            try:
                self.get("/")  # the port may be open long before anybody answers
                return
            except (OSError, http.client.HTTPException):
                if time.monotonic() > deadline:
                    raise Failed(f"{self.command[0]} does not answer:\n{self.written()}") from None
                time.sleep(0.02)

    def fill(self, lines, stopped=False):
        """Rows and runs, as fill.c describes them. If `stopped`, the program reads nothing meanwhile."""
        if stopped:
            self.process.send_signal(signal.SIGSTOP)
        try:
            done = subprocess.run([fill_tool(), str(self.process.pid)], input="\n".join(lines) + "\n",
                                  capture_output=True, text=True)
        finally:
            self.process.send_signal(signal.SIGCONT)
        if done.returncode:
            raise Failed(done.stderr.strip())

    def get(self, path, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def scrape(self):
        status, body = self.get("/metrics")
        text = body.decode()
        if status != 200:
            raise Failed(f"GET /metrics answers {status}:\n{text[:2000]}")
        return exposition.parse(text)


def checked(command, folder, names, *options):
    """The exit code and the words of --config.check."""
    done = subprocess.run([*map(str, command), "--config.dir", str(folder), "--config.names", ",".join(names),
                           "--config.check", *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=SECONDS_TO_START)
    return done.returncode, done.stdout
