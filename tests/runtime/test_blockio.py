"""Block I/O against the kernel's own count of a disk that nobody else uses."""
from harness import end_tree, near, start, workload


def made(loop_disk):
    """A file of 16 MiB on the disk, with nothing left to be written."""
    file = loop_disk.directory / "file"
    file.write_bytes(bytes(16 << 20))
    loop_disk.settle()
    return file


def bounds(histogram):
    """(lower, upper, count) of each bucket, in µs; the keys are upper bounds of a log2 histogram."""
    for upper, count in histogram["buckets"].items():
        top = float("inf") if upper == "+Inf" else int(upper)
        yield (0 if top <= 2 else top / 2), top, count


def test_reads_agree_with_diskstats(run, loop_disk):
    file = made(loop_disk)
    before = loop_disk.counts()
    result = run(workload("read_file", "direct", file, 4001))
    kernel = loop_disk.since(before)
    reads = result.report.block_io(loop_disk.name, "read")
    assert (reads["count"], reads["bytes"]) == (kernel["read"], kernel["read_bytes"]) == (4001, 4001 * 4096)

    latency = reads["latency_us"]
    assert latency["p50"] <= latency["p99"] <= latency["max"]
    # The kernel's sum of all latencies, in whole ms, lies between the sums of the buckets' bounds.
    least = sum(lower * count for lower, _, count in bounds(latency)) / 1000
    most = sum(min(upper, latency["max"]) * count for _, upper, count in bounds(latency)) / 1000
    assert least - 1 <= kernel["read_ms"] <= most + 4001 / 1000 + 1, (latency, kernel)
    for histogram in ("latency_us", "queue_us", "device_us"):
        assert sum(count for _, _, count in bounds(reads[histogram])) == 4001, reads


def test_time_in_queue_and_in_device_make_the_latency(run, loop_disk):
    file = made(loop_disk)
    result = run(workload("read_file", "direct", file, 4001))
    reads = result.report.block_io(loop_disk.name, "read")
    whole, queue, device = (reads[h]["sum"] for h in ("latency_us", "queue_us", "device_us"))
    # Each is cut to whole µs.
    assert abs(whole - queue - device) <= 2 * 4001, reads


def test_writes_agree_with_diskstats(run, loop_disk):
    file = made(loop_disk)
    before = loop_disk.counts()
    result = run(workload("write_file", "direct", file, 1009))
    kernel = loop_disk.since(before)
    writes = result.report.block_io(loop_disk.name, "write")
    assert (writes["count"], writes["bytes"]) == (1009, 1009 * 4096)
    # The journal may have had something to write of its own: no less than ours.
    assert kernel["write"] >= 1009


def test_write_back_is_shown_though_no_task_is_charged(run, loop_disk):
    """dd dirties the page cache, the kernel's own threads write it: a line of its own, not lost."""
    loop_disk.settle()
    before = loop_disk.counts()
    target = loop_disk.directory / "back"
    result = run(["sh", "-c", f"dd if=/dev/zero of={target} bs=1M count=16 status=none && sync --file-system {target}"])
    kernel = loop_disk.since(before)
    assert kernel["write_bytes"] >= 16 << 20
    ours = [io for io in result.report["block_io"] if io["device"] == loop_disk.name and io["operation"] == "write"]
    uncharged = sum(io["bytes"] for io in ours if not io["charged"])
    assert uncharged >= 0.9 * (16 << 20), ours
    assert near(sum(io["bytes"] for io in ours), kernel["write_bytes"], 256 << 10, 0.02), (ours, kernel)
    assert near(sum(io["count"] for io in ours), kernel["write"], 8, 0.05), (ours, kernel)


def test_another_jobs_reads_are_not_ours(run, loop_disk):
    """Reads of a process outside the job, at the same time on the same disk."""
    file = made(loop_disk)
    stranger = start(["sh", "-c", 'while "$@" >/dev/null; do :; done', "sh",
                      *workload("read_file", "direct", file, 503)])
    try:
        result = run(workload("read_file", "direct", file, 503))
    finally:
        end_tree(stranger)
    reads = result.report.block_io(loop_disk.name, "read")
    assert reads["count"] == 503


def test_file_gets_its_bytes_or_null(run, loop_disk):
    file = made(loop_disk)
    result = run(workload("read_file", "direct", file, 1009))
    found = [f for f in result.report["files"] if f["path"] == str(file)]
    assert len(found) == 1, result.report["files"]
    assert found[0]["bytes_read"] in (None, 1009 * 4096)
