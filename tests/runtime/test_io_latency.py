"""jobscope io-latency: each request once, in the right round, under the right name."""
import json
import re
import subprocess
import time

import pytest

from harness import JOBSCOPE, finish, start, workload
from tracing import READS, Watch, made, refuse, run


def rounds(out):
    return [json.loads(line) for line in out.splitlines()]


def histograms(out, **wanted):
    found = [h for r in rounds(out) for h in r["histograms"]]
    return [h for h in found if all(h[key] == value for key, value in wanted.items())]


def lost_requests(out):
    return sum(r["lost"].get("block requests", 0) for r in rounds(out))


def test_each_request_is_in_exactly_one_round_and_agrees_with_diskstats(loop_disk):
    file = made(loop_disk)
    with Watch("io-latency", "0.05", "--json", "-d", "-o", "-c", "--device", loop_disk.device) as watch:
        before = loop_disk.counts()
        run(workload("read_file", "direct", file, 4001))
        kernel = loop_disk.since(before)
        out, _ = watch.finish()
    reads = [h["latency_us"] for h in histograms(out, device=loop_disk.name, operation="read", comm="read_file")]
    assert sum(h["count"] for h in reads) + lost_requests(out) == kernel["read"] == 4001
    assert len(reads) > 1, "the reads took several rounds"
    for h in reads:
        assert sum(h["buckets"].values()) == h["count"] and h["p50"] <= h["p99"] <= h["max"]
        # The largest is in the last bucket that is not empty.
        top = max(int(k) for k in h["buckets"])
        assert top / 2 <= h["max"] < top or h["max"] < top == 2
    # The kernel's sum is in whole ms and starts a little before ours.
    ours = sum(h["sum"] for h in reads) / 1000
    assert ours - 1 <= kernel["read_ms"] <= ours * 1.1 + 4001 / 1000 * 2 + 5, (ours, kernel)


def test_the_count_of_a_device_rises_by_exactly_what_was_read(loop_disk):
    file = made(loop_disk)
    with Watch("io-latency", "--json", "--by-device") as watch:
        run(workload("read_file", "direct", file, READS))
        out, _ = watch.finish()
    assert len(rounds(out)) == 1
    found = histograms(out, device=loop_disk.name)
    assert found[0]["latency_us"]["count"] + lost_requests(out) == READS


def test_ctrl_c_prints_the_round_that_is_under_way(loop_disk):
    file = made(loop_disk)
    with Watch("io-latency", "1000", "--comm", "read_file", "-m") as watch:
        run(workload("read_file", "direct", file, READS))
        out, _ = watch.finish()
    assert re.search(r"^\d\d:\d\d:\d\d$", out, re.M) and f"count {READS} ·" in out and " ms : count" in out, out


@pytest.mark.parametrize("arguments,count", [(["0.05", "3"], 3), (["50ms", "1"], 1), (["0"], 1), (["0", "5"], 1)])
def test_it_ends_by_itself_after_so_many_rounds(arguments, count):
    with Watch("io-latency", *arguments, "--json") as watch:
        out, _ = watch.finish(interrupt=False)
    assert len(rounds(out)) == count


@pytest.mark.parametrize("arguments", [["0.05"], ["0.05", "0"], ["0.05", "-1"]])
def test_it_goes_on_until_ctrl_c(arguments):
    with Watch("io-latency", *arguments, "--json", "--comm", "nobody") as watch:
        time.sleep(0.5)
        assert watch.process.poll() is None
        out, _ = watch.finish()
    assert len(rounds(out)) > 2 and all(r["histograms"] == [] for r in rounds(out))


def test_a_round_without_io_says_so():
    with Watch("io-latency", "0.1", "2", "--comm", "nobody") as watch:
        out, _ = watch.finish(interrupt=False)
    assert out.count("no block I/O\n") == 2


def test_a_job_is_told_from_others(loop_disk):
    file = made(loop_disk)
    read = workload("read_file", "direct", file, READS)
    with Watch("io-latency", "--json", "--by-job", "--device", loop_disk.name) as watch:
        run([JOBSCOPE, "run", "--name", "net-of-mine", "--report", "/dev/null", "--", *read])
        run(read)
        out, _ = watch.finish()
    counts = {h["job"]: h["latency_us"]["count"] for h in histograms(out)}
    assert counts.get("net-of-mine", 0) + lost_requests(out) >= READS and sum(counts.values()) >= 2 * READS - 1, counts


def test_a_reader_that_leaves_ends_it_quietly():
    done = subprocess.run(f"{JOBSCOPE} io-latency 0.05 | head -1", shell=True, capture_output=True, text=True, timeout=30)
    assert "Broken pipe" not in done.stderr and "cannot" not in done.stderr


def test_bad_input_is_one_line():
    assert "length of time" in refuse("io-latency", "soon")
    assert "number of rounds" in refuse("io-latency", "1", "few")
    assert "too short" in refuse("io-latency", "0.000001")
    assert "no disk" in refuse("io-latency", "--device", "none")
    assert "no process" in refuse("io-latency", "--pid", "999999999")
    assert "not expected" in refuse("io-latency", "1", "2", "3")


def test_help():
    process = start([JOBSCOPE, "io-latency", "--help"])
    out, _ = finish(process)
    assert process.returncode == 0 and "INTERVAL" in out
