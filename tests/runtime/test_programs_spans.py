"""jobscope programs: spans that a program sends through a ring buffer, to an OpenTelemetry collector that each test
makes for itself."""
import http.server
import json
import subprocess
import threading
import time
from pathlib import Path

import pytest

from harness import JOBSCOPE, PYTHON, environment, finish, start, wait_until
from programs import OWN, Programs, free_port

LOAD = """
import ctypes, json, sys, time
libc = ctypes.CDLL(None)
libc.prctl(15, b"spans_load", 0, 0, 0)
times = []
for number in range(int(sys.argv[1])):
    before = time.time_ns()
    libc.getpriority(0, number)
    times.append([before, time.time_ns()])
print(json.dumps(times))
"""
SLACK = 1_000_000  # ns: two clocks are read one after the other, and one of them is being adjusted


def spans_load(count):
    """Makes so many spans; the time of day before and after each of the calls."""
    return json.loads(subprocess.run([PYTHON, "-c", LOAD, str(count)], check=True, capture_output=True).stdout)


def fields(message):
    """(number, value) of each field of a protobuf message: integers, or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = varint()
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            yield number, varint()
            continue
        size = {1: 8, 5: 4}.get(kind) or varint()
        value = message[at:at + size]
        at += size
        yield number, int.from_bytes(value, "little") if kind in (1, 5) else value


def one(message, number, otherwise=b""):
    return dict(fields(message)).get(number, otherwise)


def attributes(message, number):
    pairs = [pair for found, pair in fields(message) if found == number]
    return {one(pair, 1).decode(): one(one(pair, 2), 1).decode() for pair in pairs}


class Collector:
    """Takes spans; `status` is what it answers, None: nothing, ever."""

    def __init__(self, status=200):
        self.status, self.requests, self.ended = status, [], threading.Event()
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.requests.append((self.path, dict(self.headers), body))
                if collector.status is None:
                    collector.ended.wait(60)
                    return
                self.send_response(collector.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def spans(self):
        """(attributes of the resource, span) of all that came."""
        for _, _, body in self.requests:
            for _, resource_spans in fields(body):
                resource = attributes(one(resource_spans, 1), 1)
                for number, scope_spans in fields(resource_spans):
                    if number == 2:
                        yield from ((resource, span) for found, span in fields(scope_spans) if found == 2)


def sending_to(url, **more):
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_BSP_SCHEDULE_DELAY": "100", **more}


def test_23_calls_are_23_spans():
    with Collector() as collector, Programs("spans", env=sending_to(collector.url)) as exporter:
        times = spans_load(23)
        wait_until(lambda: len(list(collector.spans())) >= 23, "the spans")
        time.sleep(0.3)  # one too many would come now
        assert exporter.value("jobscope_otlp_spans_exported_total") == 23
        assert exporter.value("jobscope_otlp_spans_queued") == 0
        for reason in ("queue_full", "failed", "rejected"):
            assert exporter.value("jobscope_otlp_spans_dropped_total", reason=reason) == 0
        exporter.end()
    found = list(collector.spans())
    assert len(found) == 23
    for resource, span in found:
        assert resource["service.name"] == "prime"
        number = int(attributes(span, 9)["number"])
        assert attributes(span, 9) == {"number": str(number), "ebpf_exporter.config": "spans"}
        assert one(span, 1).hex() == f"ab{number:030x}"
        assert one(span, 2).hex() == f"{number + 1:016x}"
        assert one(span, 4).hex() == ("0000000000000001" if number % 2 else "")
        assert one(span, 5) == b"call"
        before, after = times[number]
        assert before - SLACK <= one(span, 7) <= after + SLACK, (number, one(span, 7), times[number])
        assert one(span, 8) - one(span, 7) == number * 1000
    assert {int(attributes(span, 9)["number"]) for _, span in found} == set(range(23))
    path, headers, _ = collector.requests[0]
    assert path == "/v1/traces" and headers["Content-Type"] == "application/x-protobuf"


def test_spans_have_the_right_time_while_scrapes_hold_them_up():
    """Whoever reads maps keeps spans waiting, here a map of 4,096 rows that are decoded anew each time: that must not
    move them."""
    with Collector() as collector, Programs("spans", "layout", options=["--cache.keys", "0"],
                                            env=sending_to(collector.url)) as exporter:
        subprocess.run([PYTHON, "-c", LOAD.replace("spans_load", "layout_load"), "4096"], check=True,
                       stdout=subprocess.DEVNULL)
        ended = threading.Event()

        def scrape():
            while not ended.is_set():
                exporter.get("/metrics")

        scrapers = [threading.Thread(target=scrape) for _ in range(4)]
        for each in scrapers:
            each.start()
        try:
            for number in range(1, 24):
                (before, after), = spans_load(1)
                wait_until(lambda: len(list(collector.spans())) == number, "the span")
                start_time = one(list(collector.spans())[-1][1], 7)
                assert before - SLACK <= start_time <= after + SLACK, f"{(start_time - before) / 1e6} ms too late"
        finally:
            ended.set()
            for each in scrapers:
                each.join()


def test_what_is_queued_at_the_end_is_sent():
    with Collector() as collector, Programs("spans", env=sending_to(collector.url, OTEL_BSP_SCHEDULE_DELAY="60000")) \
            as exporter:
        spans_load(23)
        wait_until(lambda: exporter.value("jobscope_otlp_spans_queued") == 23, "the spans to be queued")
        exporter.end()
        assert exporter.process.returncode == 0
        assert len(list(collector.spans())) == 23


def test_no_thread_keeps_capabilities():
    with Collector() as collector, Programs("spans", options=["--capabilities.keep", "none"],
                                            env=sending_to(collector.url)) as exporter:
        spans_load(23)
        wait_until(lambda: len(list(collector.spans())) == 23, "the spans")
        tasks = list(Path(f"/proc/{exporter.process.pid}/task").iterdir())
        assert len(tasks) > 2
        for task in tasks:
            assert "CapEff:\t0000000000000000" in (task / "status").read_text(), (task / "comm").read_text()


def test_without_a_collector_spans_are_counted_as_lost():
    url = f"http://127.0.0.1:{free_port()}"
    with Programs("spans", env=sending_to(url, OTEL_BSP_EXPORT_TIMEOUT="500")) as exporter:
        spans_load(23)
        wait_until(lambda: exporter.value("jobscope_otlp_spans_dropped_total", reason="failed") == 23, "the loss")
        assert exporter.value("jobscope_otlp_spans_exported_total") == 0
        said = exporter.end()
    assert exporter.process.returncode == 0
    assert f"spans go to {url}/v1/traces" in said and "span(s) were lost: " in said, said


def test_a_collector_that_refuses_is_named():
    with Collector(400) as collector, Programs("spans", env=sending_to(collector.url)) as exporter:
        spans_load(23)
        wait_until(lambda: exporter.value("jobscope_otlp_spans_dropped_total", reason="failed") == 23, "the loss")
        said = exporter.end()
        assert len(list(collector.spans())) == 23, "sent once, and not again"
    assert f"23 span(s) were lost: {collector.url}/v1/traces answers 400" in said, said


def test_a_collector_that_never_answers_holds_up_neither_scrapes_nor_the_end():
    with Collector(None) as collector:
        env = sending_to(collector.url, OTEL_BSP_MAX_QUEUE_SIZE="11", OTEL_EXPORTER_OTLP_TIMEOUT="60000",
                         OTEL_BSP_EXPORT_TIMEOUT="60000")
        with Programs("spans", env=env) as exporter:
            spans_load(23)
            wait_until(lambda: exporter.value("jobscope_otlp_spans_dropped_total", reason="queue_full") == 12,
                       "the queue to be full")
            assert exporter.value("jobscope_otlp_spans_queued") == 11
            said = exporter.end(20)
        assert exporter.process.returncode == 0
        assert "11 span(s) were lost" in said, said


@pytest.mark.parametrize("off", [{"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_EXPORTER": "none"}])
def test_spans_can_be_switched_off(off):
    with Collector() as collector, Programs("spans", env=sending_to(collector.url, **off)) as exporter:
        spans_load(23)
        time.sleep(0.5)
        assert exporter.value("jobscope_otlp_spans_exported_total") is None
        said = exporter.end()
    assert collector.requests == [] and "spans go to" not in said


def test_what_cannot_be_sent_at_all_is_told_at_the_start():
    process = start([JOBSCOPE, "programs", "--config.dir", OWN, "--config.names", "spans", "--web.listen-address",
                     "127.0.0.1:0"], env=environment(OTEL_EXPORTER_OTLP_PROTOCOL="grpc"))
    _, said = finish(process)
    assert process.returncode == 2 and "OTEL_EXPORTER_OTLP_PROTOCOL=grpc" in said
