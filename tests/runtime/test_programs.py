"""jobscope programs: hooks, what is read from types, jobs, limits, serving. The decoders and the series of
ebpf_exporter's configurations are in tests/conformance, the programs that come along in
test_programs_shipped.py."""
import ctypes
import fcntl
import gzip
import http.client
import os
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness import JOBSCOPE, PYTHON, end_tree, finish, start, wait_until
from programs import OWN as HERE
from programs import Programs
LOAD = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.prctl(15, b"layout_load", 0, 0, 0)
for number in range(int(sys.argv[1])):
    libc.getpriority(0, number)
"""


def rejected(*arguments):
    """What it says when it does not start."""
    process = start([JOBSCOPE, "programs", *arguments])
    _, err = finish(process, 60)
    return process.returncode, err


def layout_load(count):
    return [PYTHON, "-c", LOAD, str(count)]


@pytest.fixture
def library(tmp_path):
    """A library that no process has mapped yet, with a function `counted`."""
    source = tmp_path / "library.c"
    source.write_text("int counted(int n) { return n + 1; }\n")
    path = tmp_path / "libjobscope_test.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", path, source], check=True)
    return path


def test_every_hook_counts_what_happened_there(library):
    with Programs("hooks") as exporter:
        series = exporter.scrape()
        unattached = exporter.unattached()
        assert unattached == {"on_nothing", "on_library"}, unattached
        names = {labels["program"] for labels, _ in series.rows("ebpf_program_info")}
        assert "on_chosen_second" in names and "on_chosen_first" not in names
        assert series.sum("hook_runs_total", hook="SWITCH") > 0
        assert series.sum("hook_runs_total", hook="NOWHERE") == 0

        # A library that comes later: found within seconds, then every call counts.
        caller = start([PYTHON, "-c", "import ctypes, sys\nlibrary = ctypes.CDLL(sys.argv[1])\n"
                        "print('ready', flush=True)\nsys.stdin.readline()\n"
                        "for i in range(23): library.counted(i)", library], stdin=subprocess.PIPE)
        assert caller.stdout.readline() == "ready\n"
        wait_until(lambda: "on_library" not in exporter.unattached(), "the library to be found")
        before = exporter.scrape()
        finish(caller, text="\n")
        subprocess.run([PYTHON, "-c", "import gc\nfor i in range(29): gc.collect()"], check=True)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            for _ in range(31):
                udp.sendto(b"x", ("127.0.0.1", 9))
        difference = exporter.scrape() - before
        assert difference.sum("hook_runs_total", hook="LIBRARY") == 23
        assert difference.sum("hook_runs_total", hook="GC") >= 29
        assert difference.sum("hook_runs_total", hook="PACKET") >= 31
        wait_until(lambda: (exporter.scrape() - before).sum("hook_runs_total", hook="SAMPLE") > 0, "a sample")


def test_a_gauge_at_an_iterator_is_as_of_now():
    def threads_of(pid):
        return [value for _, value in exporter.scrape().rows("threads", tgid=str(pid))]

    with Programs("hooks") as exporter:
        child = start([PYTHON, "-c", "import threading, sys\n"
                       "for i in range(6): threading.Thread(target=sys.stdin.readline, daemon=True).start()\n"
                       "print('ready', flush=True)\nimport time\ntime.sleep(60)"], stdin=subprocess.PIPE)
        assert child.stdout.readline() == "ready\n"
        assert threads_of(child.pid) == [7]
        child.kill()
        child.wait()
        assert threads_of(child.pid) == []


def test_a_gauge_that_no_iterator_sets_stays():
    with Programs("hooks") as exporter:
        ctypes.CDLL(None).getppid()
        for _ in range(3):
            assert [value for _, value in exporter.scrape().rows("latest")] == [23]


def test_labels_come_from_the_type_of_the_key():
    with Programs("layout") as exporter:
        before = exporter.scrape()
        subprocess.run(layout_load(23), check=True)
        difference = exporter.scrape() - before
    rows = dict((labels["parity"], (labels, value)) for labels, value in difference.rows("mixed_total"))
    assert rows["EVEN"][1] == 12 and rows["ODD"][1] == 11
    assert rows["ODD"][0] == {"small": "7", "negative": "-23", "comm": "layout_load", "parity": "ODD",
                              "peer_port": "443"}
    assert difference.sum("numbers_total", number="22") == 1


def test_rows_of_a_job_add_together():
    with Programs("layout") as exporter:
        # jobscope itself has nothing to do with it: its command line is how the job is known.
        job = start([JOBSCOPE, "run", "--name", "prime", "--", "sh", "-c",
                     "for i in 1 2 3; do \"$@\"; done; read line", "sh", *layout_load(23)], stdin=subprocess.PIPE)
        wait_until(lambda: exporter.scrape().sum("sizes_count", job="prime") == 69, "69 calls of the job")
        rows = list(exporter.scrape().rows("sizes_count", job="prime"))
        assert len(rows) == 1, rows
        buckets = {labels["le"]: value for labels, value in exporter.scrape().rows("sizes_bucket", job="prime")}
        assert buckets == {"0": 18, "1": 36, "2": 54, "3": 69, "+Inf": 69}
        finish(job, text="\n")


def test_series_are_bounded_and_the_rest_is_counted():
    with Programs("layout", options=["--series.max", "100"]) as exporter:
        subprocess.run(layout_load(1009), check=True)
        series = exporter.scrape()
        assert len(list(series.rows("numbers_total"))) == 100
        dropped = {labels: value for (name, labels), value in series.values.items()
                   if name == "jobscope_programs_dropped_rows_total"}
        assert dropped[(("config", "layout"), ("metric", "numbers_total"))] >= 909


def test_new_writes_a_pair_that_works(tmp_path):
    made = subprocess.run([JOBSCOPE, "programs", "new", "opens"], cwd=tmp_path, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    again = subprocess.run([JOBSCOPE, "programs", "new", "opens"], cwd=tmp_path, capture_output=True, text=True)
    assert again.returncode == 2 and "is there already" in again.stderr
    with Programs("opens", folder=tmp_path) as exporter:
        before = exporter.scrape()
        subprocess.run([PYTHON, "-c", "for i in range(1009): open('/dev/null').close()"], check=True)
        assert (exporter.scrape() - before).sum("opens_total", comm="python3") >= 1009


def test_a_program_that_does_not_compile_shows_the_line(tmp_path):
    subprocess.run([JOBSCOPE, "programs", "new", "wrong"], cwd=tmp_path, check=True, capture_output=True)
    source = tmp_path / "wrong.bpf.c"
    source.write_text(source.read_text().replace("return 0;\n}", "return zero;\n}"))
    code, err = rejected("--config.dir", tmp_path, "--config.names", "wrong", "--config.check")
    assert code == 2
    assert re.search(r"wrong\.bpf\.c:\d+:\d+: error: use of undeclared identifier 'zero'", err), err


@pytest.mark.parametrize("damage", ["empty", "cut", "text", "without_types", "flipped"])
def test_a_damaged_object_is_one_clear_line(tmp_path, damage):
    shutil.copy(HERE / "layout.yaml", tmp_path)
    subprocess.run(["clang", "-g", "-O2", "-target", "bpf", "-D__TARGET_ARCH_x86", "-I", HERE.parents[2] / "programs",
                    "-I", HERE.parents[2], "-isystem", "/usr/include/x86_64-linux-gnu", "-c", HERE / "layout.bpf.c",
                    "-o", tmp_path / "layout.bpf.o"], check=True)
    path = tmp_path / "layout.bpf.o"
    whole = path.read_bytes()
    if damage == "without_types":
        subprocess.run(["llvm-objcopy-14", "--remove-section=.BTF", "--remove-section=.BTF.ext", path], check=True)
    else:
        path.write_bytes({"empty": b"", "cut": whole[:len(whole) // 2], "text": b"int main;\n" * 100,
                          "flipped": bytes(b ^ 0x55 if 300 <= i < 700 else b for i, b in enumerate(whole))}[damage])
    code, err = rejected("--config.dir", tmp_path, "--config.names", "layout", "--config.check", "--config.strict")
    assert code in (1, 2) and err.count("\n") <= 8, err
    assert "layout" in err


def test_objects_cut_anywhere_end_it_in_order(tmp_path):
    shutil.copy(HERE / "hooks.yaml", tmp_path)
    built = JOBSCOPE.parent / "programs" / "exec.bpf.o"
    (tmp_path / "hooks.bpf.o").write_bytes(b"")
    whole = built.read_bytes()
    for size in range(0, len(whole), max(len(whole) // 23, 1)):
        (tmp_path / "hooks.bpf.o").write_bytes(whole[:size])
        code, err = rejected("--config.dir", tmp_path, "--config.names", "hooks", "--config.check")
        assert code == 2 and err.startswith("jobscope: "), (size, code, err)


def test_check_and_strict(tmp_path):
    code, err = rejected("--config.dir", HERE, "--config.names", "layout", "--config.check", "--config.strict")
    assert code == 0 and "all is well" in err
    code, err = rejected("--config.dir", HERE, "--config.names", "hooks", "--config.check")
    assert code == 0 and "not attached: hooks:on_nothing" in err
    code, err = rejected("--config.dir", HERE, "--config.names", "hooks", "--config.check", "--config.strict")
    assert code == 1 and "--config.strict" in err


@pytest.mark.parametrize("arguments, says", [
    ([], "no program is named"),
    (["--config.names", "absent"], "absent.yaml: No such file or directory"),
    (["--config.names", "../hooks"], "'../hooks' is no name of a configuration"),
    (["--config.names", "layout", "--web.listen-address", "nowhere"], "nowhere"),
    (["--config.names", "layout", "--web.telemetry-path", "metrics"], "'metrics' is no path"),
    (["--config.names", "layout", "--capabilities.keep", "cap_nothing"], "no capability 'cap_nothing'"),
    (["--config.names", "layout", "--web.config.file", "/nonexistent"], "/nonexistent"),
    (["--config.names", "layout", "--series.max", "-1"], "--series.max"),
    (["--config.names", "layout,layout"], "named twice"),
    (["--bogus"], "--bogus"),
])
def test_bad_input_is_one_line(arguments, says):
    code, err = rejected("--config.dir", HERE, *arguments)
    assert code == 2 and says in err
    assert err.startswith("jobscope: ") and err.count("\n") == 1, err


def test_metrics_are_served_as_they_are_asked_for():
    with Programs("layout", options=["--debug"]) as exporter:
        subprocess.run(layout_load(23), check=True)
        status, headers, body = exporter.get("/metrics")
        assert status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4")
        status, headers, body = exporter.get("/metrics", Accept="application/openmetrics-text; version=1.0.0")
        assert headers["Content-Type"].startswith("application/openmetrics-text")
        assert body.endswith(b"# EOF\n")
        status, headers, body = exporter.get("/metrics", **{"Accept-Encoding": "gzip"})
        assert headers["Content-Encoding"] == "gzip"
        assert b"ebpf_exporter_mixed_total" in gzip.decompress(body)
        assert exporter.get("/healthz")[2] == b"ok\n"
        assert b"/metrics" in exporter.get("/")[2]
        assert re.search(rb"### Map: numbers_total\n\n```\n[0-9a-f]{16} -> 1\n", exporter.get("/maps")[2])
        assert exporter.get("/other")[0] == 404


def test_without_debug_maps_are_not_shown():
    with Programs("layout") as exporter:
        assert exporter.get("/maps")[0] == 404


def test_tls_and_passwords(tmp_path):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
                    tmp_path / "key.pem", "-out", tmp_path / "cert.pem"], check=True, capture_output=True)
    hashed = subprocess.run([PYTHON, "-W", "ignore", "-c",
                             "import crypt; print(crypt.crypt('open sesame', crypt.mksalt(crypt.METHOD_BLOWFISH, "
                             "rounds=16)))"], check=True, capture_output=True, text=True).stdout.strip()
    config = tmp_path / "web.yml"
    config.write_text(f"tls_server_config: {{cert_file: cert.pem, key_file: key.pem}}\n"
                      f"basic_auth_users: {{ann: '{hashed}'}}\n")
    exporter = Programs("layout", options=["--web.config.file", config])
    exporter.scrape = lambda: None  # not over TLS: wait here
    with exporter:
        host, port = exporter.address.split(":")
        trust = ssl.create_default_context(cafile=tmp_path / "cert.pem")

        def status(**headers):
            connection = http.client.HTTPSConnection(host, int(port), timeout=20, context=trust)
            try:
                connection.request("GET", "/metrics", headers=headers)
            except ConnectionRefusedError:
                return None
            return connection.getresponse().status

        wait_until(lambda: status(), "the server")
        assert status() == 401
        assert status(Authorization="Basic YW5uOm9wZW4gc2VzYW1l") == 200
        assert status(Authorization="Basic YW5uOnd3cm9uZw==") == 401


def test_many_addresses_and_sockets_of_systemd(tmp_path):
    path = tmp_path / "metrics.sock"
    with socket.create_server(("127.0.0.1", 0)) as passed:
        port = passed.getsockname()[1]
        command = [PYTHON, "-c", "import os, sys\nos.dup2(int(sys.argv[1]), 3)\nos.environ.update(LISTEN_FDS='1', "
                   "LISTEN_PID=str(os.getpid()))\nos.execv(sys.argv[2], sys.argv[2:])", str(passed.fileno())]
        exporter = Programs("layout", options=["--web.listen-address", f"unix://{path}", "--web.listen-address",
                                               "fd://0"], before=command)
        exporter.process_options = {"pass_fds": [passed.fileno()]}
        process = start(exporter.command, stdout=subprocess.DEVNULL, pass_fds=[passed.fileno()])
        try:
            wait_until(path.exists, "the socket file")
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            connection.request("GET", "/healthz")
            assert connection.getresponse().read() == b"ok\n"
            with socket.socket(socket.AF_UNIX) as unix:
                unix.connect(str(path))
                unix.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
                assert unix.makefile("rb").read().endswith(b"ok\n")
        finally:
            process.send_signal(signal.SIGTERM)
            finish(process)
    assert process.returncode == 0 and not path.exists()


def capabilities(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"CapEff:\s*([0-9a-f]+)", status).group(1), 16)


@pytest.mark.parametrize("keep, expected", [("none", 0), ("cap_bpf,cap_perfmon", (1 << 39) | (1 << 38)),
                                            ("all", None), (None, (1 << 39) | (1 << 38) | (1 << 19) | (1 << 2) | (1 << 34))])
def test_capabilities_are_given_up(keep, expected):
    with Programs("layout", options=["--capabilities.keep", keep] if keep else []) as exporter:
        wanted = capabilities(os.getpid()) if expected is None else expected & capabilities(os.getpid())
        tasks = [int(task) for task in os.listdir(f"/proc/{exporter.process.pid}/task")]
        assert all(capabilities(task) == wanted for task in tasks)
        if keep != "none":
            subprocess.run(layout_load(23), check=True)
            assert exporter.scrape().sum("numbers_total") >= 23


def test_it_ends_in_order_while_clients_hang():
    with Programs("layout") as exporter:
        host, port = exporter.address.split(":")
        hanging = [socket.create_connection((host, int(port))) for _ in range(23)]
        for each in hanging:
            each.sendall(b"GET /metrics HTTP/1.1\r\nHost: x")
        assert exporter.get("/healthz")[0] == 200
        exporter.process.send_signal(signal.SIGINT)
        assert exporter.process.wait(20) == 0
        for each in hanging:
            each.close()


def test_a_map_that_changes_while_it_is_read():
    """Keys come and go all the while: what is shown is what some call did, once each."""
    with Programs("layout") as exporter:
        busy = [start(layout_load(200_000)) for _ in range(2)]
        for _ in range(23):
            series = exporter.scrape()  # Series.parse() fails if one is there twice
            assert series.sum("mixed_total") >= 0
        for each in busy:
            each.kill()
            finish(each)


COUNTERS = """
#include "jobscope.bpf.h"
struct key { u32 a, bucket; };
#define COUNTS(name) struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 8); __type(key, struct key); \\
                              __type(value, u64); } name SEC(".maps");
COUNTS(x) COUNTS(x_count) COUNTS(x_total) COUNTS(enabled_configs)
SEC("tracepoint/syscalls/sys_enter_getpriority")
int on_getpriority(void *ctx) { return 0; }
char LICENSE[] SEC("license") = "GPL";
"""


def plain(kind, name, label="a"):
    labels = ", ".join(f"{{name: {each}, size: 4, decoders: [{{name: uint}}]}}" for each in (label, "bucket"))
    buckets = "bucket_type: linear, bucket_min: 0, bucket_max: 2, " if kind == "histograms" else ""
    return f"metrics: {{{kind}: [{{name: {name}, help: h, {buckets}labels: [{labels}]}}]}}\n"


@pytest.mark.parametrize("first, second, says", [
    (plain("counters", "x"), plain("counters", "x"), "two metrics ebpf_exporter_x:"),
    (plain("counters", "x"), plain("gauges", "x"), "two metrics ebpf_exporter_x:"),
    (plain("counters", "x"), plain("counters", "x_total"), "two metrics ebpf_exporter_x_total:"),
    (plain("histograms", "x"), plain("counters", "x_count"), "two metrics ebpf_exporter_x_count:"),
    (plain("counters", "x"), plain("gauges", "enabled_configs"), "two metrics ebpf_exporter_enabled_configs:"),
    (plain("histograms", "x", label="le"), None, "a label 'le'"),
    (plain("counters", "x", label="9a"), None, "'9a' is no name of a label"),
])
def test_metrics_that_prometheus_would_refuse_are_told_at_the_start(tmp_path, first, second, says):
    names = []
    for name, config in ("first", first), ("second", second):
        if config:
            (tmp_path / f"{name}.yaml").write_text(config)
            (tmp_path / f"{name}.bpf.c").write_text(COUNTERS)
            names.append(name)
    code, err = rejected("--config.dir", tmp_path, "--config.names", ",".join(names), "--config.check")
    assert code == 2 and says in err, err
    assert err.startswith("jobscope: ") and err.count("\n") == 1, err


def test_an_object_that_libbpf_fails_on_when_it_loads_is_one_clear_line(tmp_path):
    """Bits are flipped at random, always the same: none may end jobscope otherwise than in order."""
    name = "biolatency"
    whole = (JOBSCOPE.parent / "programs" / f"{name}.bpf.o").read_bytes()
    shutil.copy(HERE.parents[2] / "programs" / f"{name}.yaml", tmp_path)
    dice = random.Random(5)  # two of these ended it
    for _ in range(101):
        bytes_ = bytearray(whole)
        for _ in range(dice.choice([1, 4, 16, 64])):
            bytes_[dice.randrange(len(whole))] ^= 1 << dice.randrange(8)
        (tmp_path / f"{name}.bpf.o").write_bytes(bytes_)
        code, err = rejected("--config.dir", tmp_path, "--config.names", name, "--config.check")
        assert code in (0, 2), (code, err)
        assert code == 0 or err.startswith("jobscope: "), (code, err)


def test_a_compiler_that_hangs_is_ended_with_us(tmp_path):
    subprocess.run([JOBSCOPE, "programs", "new", "hangs"], cwd=tmp_path, check=True, capture_output=True)
    source = tmp_path / "hangs.bpf.c"
    source.write_text('#include "never.h"\n' + source.read_text())
    os.mkfifo(tmp_path / "never.h")
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    def clang():
        found = subprocess.run(["pgrep", "-f", f"clang.*{source}"], capture_output=True, text=True)
        return found.stdout.split()

    for ending in signal.SIGTERM, signal.SIGKILL:
        process = start([JOBSCOPE, "programs", "--config.dir", tmp_path, "--config.names", "hangs", "--config.check"],
                        env={**os.environ, "TMPDIR": str(scratch)})
        wait_until(clang, "clang")
        process.send_signal(ending)
        _, err = finish(process, 20)
        wait_until(lambda: not clang(), "clang to end")
        if ending == signal.SIGTERM:
            assert process.returncode == 2 and "was broken off" in err and err.count("\n") == 1, err
            assert not list(scratch.iterdir())


SPANS = """
#include "jobscope.bpf.h"
struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 1 << 22); } spans SEC(".maps");
SEC("tracepoint/syscalls/sys_enter_getpriority")
int on_getpriority(struct { u64 head; long number; u64 which, who; } *ctx) {
  if (ctx->who < 1000000) return 0;
  for (int i = 0; i < 64; ++i) {
    u64 *span = bpf_ringbuf_reserve(&spans, sizeof(*span), 0);
    if (!span) return 0;
    *span = ctx->who;
    bpf_ringbuf_submit(span, 0);
  }
  return 0;
}
char LICENSE[] SEC("license") = "GPL";
"""


def test_a_flood_of_spans_holds_nothing_up(tmp_path, monkeypatch):
    """They come faster than they are read, to a collector that is not there."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    (tmp_path / "flood.bpf.c").write_text(SPANS)
    (tmp_path / "flood.yaml").write_text(
        "tracing: {spans: [{ringbuf: spans, name: s, labels: [{name: n, size: 8, decoders: [{name: uint}]}]}]}\n")
    with Programs("flood", folder=tmp_path) as exporter:
        flood = start([PYTHON, "-c", "import ctypes\nlibc = ctypes.CDLL(None)\n"
                       "while True: libc.getpriority(0, 1000000)"])
        try:
            def spans():
                return {name: value for (name, _), value in exporter.scrape().values.items()
                        if name == "jobscope_programs_spans_total"}["jobscope_programs_spans_total"]
            wait_until(lambda: spans() > 100_000, "spans")
            before = spans()
            wait_until(lambda: spans() > before, "more spans")
            exporter.process.send_signal(signal.SIGTERM)
            assert exporter.process.wait(15) == 0
        finally:
            flood.kill()
            finish(flood)


def test_a_log_that_nobody_reads_holds_nothing_up():
    ours, theirs = os.pipe()
    fcntl.fcntl(theirs, 1031, 4096)  # F_SETPIPE_SZ
    os.write(theirs, b"x" * 4096)  # it is full
    exporter = Programs("layout")
    process = start(exporter.command, stdout=subprocess.DEVNULL, stderr=theirs)
    try:
        def served():
            try:
                return exporter.get("/metrics")[0] == 200
            except OSError:
                return False
        wait_until(served, "the server")
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0
    finally:
        end_tree(process)
        os.close(ours)
        os.close(theirs)
