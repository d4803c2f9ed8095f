"""ebpf_exporter's options, which service files and manifests of people hold."""
import contextlib
import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

import exporter
from subject import ALL, BUILD, COMMAND, REAL

NAME = "builtin"
FOLDER = BUILD / next(case.group for case in ALL if case.name == NAME)


def running(*options):
    return exporter.Exporter(COMMAND, FOLDER, [NAME], *options)


def rows(process):
    case = next(case for case in ALL if case.name == NAME)
    process.fill(case.fill_lines())


def test_telemetry_path():
    with running("--web.telemetry-path", "/figures") as process:
        status, body = process.get("/figures")
        assert status == 200 and b"ebpf_exporter_enabled_configs" in body
        assert process.get("/metrics")[0] == 404 or b"ebpf_exporter_enabled" not in process.get("/metrics")[1]


def test_the_first_page_leads_to_the_metrics():
    with running() as process:
        status, body = process.get("/")
        assert status == 200
        assert b'href="/metrics"' in body


def test_debug_shows_the_maps():
    with running("--debug") as process:
        rows(process)
        status, body = process.get("/maps")
        assert status == 200
        assert NAME.encode() in body and b"3" in body
    with running() as process:
        status, body = process.get("/maps")
        assert status == 404 or b"###" not in body


@pytest.mark.parametrize("keep", ["all", "none", "cap_bpf,cap_perfmon"])
def test_capabilities(keep):
    with running("--capabilities.keep", keep) as process:
        rows(process)
        assert process.scrape().samples[f"ebpf_exporter_{NAME}", (("n", "1"),)] == 3
        status = open(f"/proc/{process.process.pid}/status").read()
        effective = int(next(line for line in status.splitlines() if line.startswith("CapEff")).split()[1], 16)
        of_bpf = 1 << 39
        assert bool(effective & of_bpf) == (keep != "none")
        if keep == "none":
            assert effective == 0
        if "," in keep:
            assert effective == of_bpf | 1 << 38


def test_symbols_are_known_without_capabilities():
    """What needs one is read before they are given up."""
    case = next(case for case in ALL if case.name == "ksym")
    with exporter.Exporter(COMMAND, BUILD / case.group, [case.name], "--capabilities.keep", "none") as process:
        process.fill(case.fill_lines())
        assert process.scrape().samples["ebpf_exporter_ksym", (("function", "do_exit"),)] == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_asked(number):
    with running() as process:
        process.process.send_signal(number)
        code = process.process.wait(10)
        assert code in (0, -number, 128 + number) or REAL


@contextlib.contextmanager
def counted_runs():
    """The kernel counts the runs of programs, for a moment."""
    switch = Path("/proc/sys/kernel/bpf_stats_enabled")
    before = switch.read_text()
    switch.write_text("1")
    try:
        yield
    finally:
        switch.write_text(before)


def test_runs_of_programs_while_the_kernel_counts_them():
    with exporter.Exporter(COMMAND, BUILD / "kernel", ["counted_by_bpf"]) as process:
        with counted_runs():
            process.fill(["run count_by_bpf 0 4711 5", "run count_by_bpf 0 4711 7"])
            samples = process.scrape().samples
        program, = (dict(labels)["id"] for name, labels in samples if name == "ebpf_exporter_ebpf_program_info")
        labels = (("id", program),)
        assert samples["ebpf_exporter_ebpf_program_run_count_total", labels] >= 0
        assert 0 <= samples["ebpf_exporter_ebpf_program_run_time_seconds", labels] < 1


def test_several_configurations():
    with exporter.Exporter(COMMAND, FOLDER, [NAME, "hash_map", "padding"]) as process:
        names = {labels[0][1] for name, labels in process.scrape().samples if name == "ebpf_exporter_enabled_configs"}
        assert names == {NAME, "hash_map", "padding"}


def test_log_without_timestamps():
    with running("--log.no-timestamps") as process:
        assert not any(line[:2] == "20" for line in process.written().splitlines())


@contextlib.contextmanager
def given_a_socket(*options, environment=None):
    """Started as systemd does it: descriptor 3 listens, $LISTEN_PID and $LISTEN_FDS say so."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        command = [*map(str, COMMAND), "--config.dir", str(FOLDER), "--config.names", NAME, *options]
        shell = f'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@" 3<&{listener.fileno()}'
        process = subprocess.Popen(["bash", "-c", shell, "-", *command], pass_fds=[listener.fileno()],
                                   env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield listener.getsockname()[1]
        finally:
            process.terminate()
            process.wait(10)


def test_a_socket_of_systemd():
    with given_a_socket("--web.listen-address", "fd://0") as port:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
            client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            assert client.recv(12).endswith(b"200")


def test_systemd_is_told_when_it_is_ready(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(str(tmp_path / "notify"))
        told.settimeout(20)
        os.environ["NOTIFY_SOCKET"] = str(tmp_path / "notify")
        try:
            with running():
                while b"READY=1" not in told.recv(1000):
                    pass  # a status
        finally:
            del os.environ["NOTIFY_SOCKET"]


def test_a_port_that_is_taken():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        address = "127.0.0.1:%d" % listener.getsockname()[1]
        done = subprocess.run([*map(str, COMMAND), "--config.dir", str(FOLDER), "--config.names", NAME,
                               "--web.listen-address", address], capture_output=True, text=True, timeout=20)
        assert done.returncode > 0
        assert address in done.stderr + done.stdout or "in use" in done.stderr + done.stdout
