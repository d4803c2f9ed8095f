"""23 direct reads, seen by `io-latency`, by `trace block` and as a metric at once, beside the kernel's own count."""
import json

from harness import workload
from programs import Exporter
from tracing import READS, Watch, made, run


def test_the_same_reads_three_times_over(loop_disk):
    file = made(loop_disk)
    with Exporter("io-latency") as exporter, Watch("io-latency", "-d", "-o", "--json") as latency, \
            Watch("trace", "block", "--device", loop_disk.device, "--json") as trace:
        before, kernel = exporter.scrape(), loop_disk.counts()
        run(workload("read_file", "direct", file, READS))
        kernel = loop_disk.since(kernel)
        metric = exporter.scrape() - before
        lines, lost, _ = trace.events()
        out, _ = latency.finish()
    assert not lost
    assert kernel["read"] == READS
    assert metric.sum("io_latency_seconds_count", device=loop_disk.name, operation="read") == READS
    reads = [line for line in lines if line["operation"] == "read"]
    assert len(reads) == READS and {line["comm"] for line in reads} == {"read_file"}
    histograms = [h for r in map(json.loads, out.splitlines()) for h in r["histograms"]]
    found, = [h for h in histograms if (h["device"], h["operation"]) == (loop_disk.name, "read")]
    assert found["latency_us"]["count"] == READS
    # One sum of latencies, by two ways through the kernel: the metric's is in whole µs of each.
    traced = sum(line["latency_us"] for line in reads)
    assert abs(traced - found["latency_us"]["sum"]) <= READS
    seconds = metric.sum("io_latency_seconds_sum", device=loop_disk.name, operation="read")
    assert abs(traced / 1e6 - seconds) <= READS * 50e-6, (traced, seconds)
