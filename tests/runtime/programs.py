"""Runs `jobscope programs`, asks it for its series, and says what two answers differ by.

$JOBSCOPE_EXPORTER names another exporter with the same flags (ebpf_exporter) to run in its place.
"""
import http.client
import json
import os
import re
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from harness import JOBSCOPE, PYTHON, end_tree, environment, finish, start, workload

PROGRAMS = JOBSCOPE.parent / "programs"
OWN = Path(__file__).with_name("programs")
OTHER = os.environ.get("JOBSCOPE_EXPORTER")
SERIES = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)",?')


def shipped():
    return sorted(path.stem for path in PROGRAMS.glob("*.yaml"))


class Series:
    """All series of one scrape, or the difference of two."""

    def __init__(self, values):
        self.values = values  # {(name, ((label, value), …)): number}

    @classmethod
    def parse(cls, text):
        values = {}
        for line in text.splitlines():
            if line.startswith("#") or not line.strip():
                continue
            name, labels, number = SERIES.match(line).groups()
            key = name, tuple(sorted(LABEL.findall(labels or "")))
            assert key not in values, f"{line} is there twice"
            values[key] = float(number)
        return cls(values)

    def __sub__(self, earlier):
        return Series({key: value - earlier.values.get(key, 0) for key, value in self.values.items()})

    def rows(self, name, /, **wanted):
        """(labels, value) of each series of this name (ebpf_exporter_… is put in front) that has these labels; a
        value may be a pattern, which is searched for."""
        for (found, labels), value in self.values.items():
            labels = dict(labels)
            if found == f"ebpf_exporter_{name}" and all(
                    want.search(labels.get(label, "")) if isinstance(want, re.Pattern) else labels.get(label) == want
                    for label, want in wanted.items()):
                yield labels, value

    def sum(self, name, /, **wanted):
        return sum(value for _, value in self.rows(name, **wanted))

    def names(self):
        return {name for name, _ in self.values}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Exporter:
    """An exporter that runs these programs as long as the `with` block."""

    def __init__(self, *names, folder=PROGRAMS):
        self.address = f"127.0.0.1:{free_port()}"
        self.command = [*([OTHER] if OTHER else [JOBSCOPE, "programs"]), "--config.dir", folder,
                        "--config.names", ",".join(names), "--web.listen-address", self.address]
        self.env = environment()

    def __enter__(self):
        self.process = start(self.command, stdout=subprocess.DEVNULL, env=self.env)
        end = time.monotonic() + 30
        while True:
            try:
                self.scrape()
                return self
            except (urllib.error.URLError, ConnectionError):
                if self.process.poll() is not None or time.monotonic() > end:
                    self.__exit__()
                    said = self.process.communicate()[1]
                    raise AssertionError(f"{self.command} does not serve: {said}") from None
                time.sleep(0.05)

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                end_tree(self.process)

    def scrape(self):
        with urllib.request.urlopen(f"http://{self.address}/metrics", timeout=20) as answer:
            return Series.parse(answer.read().decode())

    def unattached(self):
        """The names of programs that are loaded and not attached."""
        series = self.scrape()
        ids = {labels["id"] for labels, value in series.rows("ebpf_program_attached") if not value}
        return {labels["program"] for labels, _ in series.rows("ebpf_program_info") if labels["id"] in ids}


class Programs(Exporter):
    """The programs of tests/runtime/programs, or of another folder, with more options and environment."""

    def __init__(self, *names, folder=OWN, options=(), before=(), env=None):
        super().__init__(*names, folder=folder)
        self.command = [*before, *self.command, *options]
        self.env = environment(**(env or {}))

    def get(self, path, **headers):
        host, port = self.address.split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=20)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()

    def value(self, name, **labels):
        """Of a series that is no program's own; None if it is not there."""
        return self.scrape().values.get((name, tuple(sorted(labels.items()))))

    def end(self, timeout=20):
        """Asks it to end; what it wrote."""
        self.process.terminate()
        return finish(self.process, timeout)[1]


class Calls:
    """A workload `program_calls`, ready but not begun; .pid; do() has it work and gives what it says."""

    def __init__(self, what, *arguments, python=PYTHON, inside=list, env=None):
        command = [python, *workload("program_calls.py", what, *arguments)[1:]]
        options = {"env": env} if env else {}
        self.process = start(inside(command), stdin=subprocess.PIPE, **options)

    def __enter__(self):
        line = self.process.stdout.readline()
        assert line.startswith("{"), finish(self.process)
        self.pid = json.loads(line)["pid"]
        return self

    def do(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        while line and not line.startswith("{"):
            line = self.process.stdout.readline()
        assert line, finish(self.process)
        return json.loads(line)

    def __exit__(self, *_):
        try:
            finish(self.process, text="\n")
        except BrokenPipeError:
            end_tree(self.process)


def python_of(name):
    """The Python of an example's environment (scripts/python_env.sh), if it is made already, else None."""
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "jobscope")
    cache = Path(os.environ.get("JOBSCOPE_CACHE", home), "python")
    found = [stamp.parent for stamp in cache.glob(f"{name}-*/.complete")]
    return max(found, key=lambda path: path.stat().st_mtime) / "bin" / "python" if found else None
