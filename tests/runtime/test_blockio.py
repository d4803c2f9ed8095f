"""Block I/O against the kernel's own count of a disk that nobody else uses."""
import subprocess

from harness import assert_identity, end_tree, near, start, workload


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
        without_times = result.report["self"]["lost"].get("block requests", 0)
        # What was lost may have been of other disks, too.
        assert 4001 - without_times <= sum(count for _, _, count in bounds(reads[histogram])) <= 4001, reads


def test_time_in_queue_and_in_device_make_the_latency(run, loop_disk):
    file = made(loop_disk)
    result = run(workload("read_file", "direct", file, 4001))
    reads = result.report.block_io(loop_disk.name, "read")
    whole, queue, device = (reads[h]["sum"] for h in ("latency_us", "queue_us", "device_us"))
    # Each is cut to whole µs. Requests without times are in none of them.
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


def file_of(report, path):
    found = [f for f in report["files"] if f["path"] == str(path)]
    assert len(found) == 1, report["files"]
    return found[0]


def test_bytes_of_a_file_read_past_the_cache(run, loop_disk):
    file = made(loop_disk)
    result = run(workload("read_file", "direct", file, 1009))
    assert file_of(result.report, file)["bytes_read"] == 1009 * 4096


def test_bytes_of_a_file_are_counted_whole_though_its_requests_are_merged(run, loop_disk):
    """13 MiB through the page cache, out and in again: read-ahead and write-back make many requests of it."""
    target, size = loop_disk.directory / "merged", 13 << 20
    loop_disk.settle()
    result = run(["dd", "if=/dev/zero", f"of={target}", "bs=1M", "count=13", "conv=fsync", "status=none"])
    assert file_of(result.report, target)["bytes_written"] == size
    loop_disk.settle()
    subprocess.run(["dd", f"of={target}", "oflag=nocache", "conv=notrunc", "count=0"], check=True, capture_output=True)
    result = run(["dd", f"if={target}", "of=/dev/null", "bs=1M", "status=none"])
    assert file_of(result.report, target)["bytes_read"] == size


def test_files_that_had_one_inode_are_told_apart(run, loop_disk):
    """The file system gives the inode of a removed file to the next one."""
    folder = loop_disk.directory
    loop_disk.settle()
    write = "dd if=/dev/zero of={} bs=64k count={} oflag=direct status=none"
    result = run(["sh", "-c", f"{write.format(folder / 'first', 11)} && stat -c %i {folder}/first && rm {folder}/first && "
                              f"{write.format(folder / 'second', 7)} && stat -c %i {folder}/second"])
    inodes = result.stdout.split()
    assert inodes[0] == inodes[1], "the inode was not used again"
    assert file_of(result.report, folder / "first")["bytes_written"] == 11 << 16
    assert file_of(result.report, folder / "second")["bytes_written"] == 7 << 16


def test_workers_of_io_uring_are_members_from_their_start(run, loop_disk):
    """The kernel makes them without a fork; they read for the job."""
    file = made(loop_disk)
    result = run(workload("uring_read", file, 211))
    reads = result.report.block_io(loop_disk.name, "read")
    assert (reads["count"], reads["bytes"]) == (211, 211 << 16)
    workers = [t for t in result.report["threads"] if t["name"].startswith("iou-wrk")]
    assert workers, result.report["threads"]
    assert all(t["pid"] == result.workload["pid"] for t in workers), workers
    assert_identity(result.report)
