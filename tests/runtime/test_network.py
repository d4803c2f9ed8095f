"""Bytes and retransmits against what was sent, and against the kernel's figures of the connection."""
import json
import time

import pytest

from harness import JOBSCOPE, Report, end_tree, finish, near, start, wait_until, workload

SENT, RECEIVED = 5_000_011, 3_000_017  # primes


@pytest.fixture
def serve(request):
    """serve(ADDRESS…, send, receive, inside=…) starts the peer outside of the job and returns its port."""
    servers = []

    def serve(*address, send=RECEIVED, receive=SENT, inside=list):
        server = start(inside(workload("net_transfer", "serve", *address, send, receive)))
        servers.append(server)
        return int(server.stdout.readline())

    yield serve
    for server in servers:
        end_tree(server)


def bytes_of(rows):
    """(in, out) of a class: the rows with an address, or the row of the whole class."""
    named = [row for row in rows if row["address"]] or rows
    return sum(row["bytes_in"] for row in named), sum(row["bytes_out"] for row in named)


def assert_moved(rows, received, sent):
    got, gave = bytes_of(rows)
    assert near(got, received, 0, 0.001) and near(gave, sent, 0, 0.001), rows


def test_loopback(run, serve):
    port = serve("tcp", "127.0.0.1", 0)
    result = run(workload("net_transfer", "client", "tcp", "127.0.0.1", port, SENT, RECEIVED))
    assert result.workload["received"] == RECEIVED
    assert_moved(result.report.network("loopback"), RECEIVED, SENT)
    assert not result.report.network("remote")


def test_unix_socket(run, serve, tmp_path):
    path = tmp_path / "socket"
    serve("unix", path)
    result = run(workload("net_transfer", "client", "unix", path, SENT, RECEIVED))
    assert result.workload["received"] == RECEIVED
    assert_moved(result.report.network("unix"), RECEIVED, SENT)


def test_remote(run, serve, two_networks):
    port = serve("tcp", "0.0.0.0", 0, inside=two_networks.for_peer)
    result = run(two_networks.for_job(
        workload("net_transfer", "client", "tcp", two_networks.PEER_ADDRESS, port, SENT, RECEIVED)))
    assert result.workload["received"] == RECEIVED
    rows = [r for r in result.report.network("remote") if two_networks.PEER_ADDRESS in (r["address"] or "")]
    assert len(rows) == 1, result.report["network"]
    assert_moved(rows, RECEIVED, SENT)


def retransmits(rows):
    named = [row for row in rows if row["address"]] or rows
    return sum(row["retransmits"] or 0 for row in named)


def test_retransmits_of_a_connect_without_answer(run, two_networks):
    result = run(two_networks.for_job(workload("tcp_connect", two_networks.SILENT_ADDRESS, 80)))
    assert result.workload["retransmits"] >= 1
    assert retransmits(result.report.network("remote")) == result.workload["retransmits"], result.report["network"]


def test_retransmits_on_a_broken_wire(serve, two_networks, tmp_path):
    port = serve("tcp", "0.0.0.0", 0, send=0, receive=100_003, inside=two_networks.for_peer)
    file = tmp_path / "report.json"
    client = workload("net_transfer", "client", "tcp", two_networks.PEER_ADDRESS, port, 100_003, 0, 10)
    process = start([JOBSCOPE, "run", "--json", file, "--", *two_networks.for_job(client)])
    try:
        established = two_networks.for_job(["ss", "-Htn", "state", "established", "dport", "=", f":{port}"])
        wait_until(lambda: process.poll() is not None or finish(start(established))[0].strip(), "the connection")
        time.sleep(0.2)
        two_networks.cut()
        time.sleep(0.7)
        two_networks.mend()
        out, _ = finish(process)
    finally:
        end_tree(process)
    kernel = json.loads(out.splitlines()[-1])["retransmits"]
    assert kernel >= 1, "the wire was not cut"
    rows = Report.read(file).network("remote")
    # The kernel counts segments, of which one packet to be sent again can hold a few.
    assert 1 <= retransmits(rows) <= kernel, (rows, kernel)


def test_no_network_no_rows(run):
    result = run(["/bin/true"])
    assert result.report["network"] == []
