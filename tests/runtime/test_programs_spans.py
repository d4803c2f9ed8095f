"""jobscope programs: spans, from the kernel's ring buffer to a collector."""
import http.server
import os
import subprocess
import threading
from pathlib import Path

from harness import wait_until
from test_programs import Programs, capabilities, layout_load


class Collector(http.server.ThreadingHTTPServer):
    """Takes spans by OTLP over HTTP; .requests has their bodies."""

    def __init__(self, status):
        self.requests, self.status = [], status
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        assert self.path == "/v1/traces"
        self.server.requests.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def spans_to(collector):
    port = collector.server_address[1]
    return Programs("spans", before=["env", f"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:{port}",
                                     "OTEL_BSP_SCHEDULE_DELAY=100"])


def own(exporter, name, **labels):
    """A metric of jobscope's own, which ebpf_exporter does not have."""
    wanted = f"jobscope_{name}", tuple(sorted(labels.items()))
    return exporter.scrape().values[wanted]


def test_each_span_reaches_the_collector():
    with Collector(200) as collector, spans_to(collector) as exporter:
        subprocess.run(layout_load(23), check=True)
        wait_until(lambda: own(exporter, "exported_spans_total") == 23, "the spans to be exported")
        sent = b"".join(collector.requests)
        assert sent.count(b"priority_asked") == 23
        assert own(exporter, "dropped_spans_total", reason="not_sent") == 0
        assert own(exporter, "programs_spans_total", config="spans", span="priority_asked") == 23


def test_spans_that_are_refused_are_counted():
    with Collector(400) as collector, spans_to(collector) as exporter:
        subprocess.run(layout_load(23), check=True)
        wait_until(lambda: own(exporter, "dropped_spans_total", reason="not_sent") == 23, "the spans to be refused")
        assert own(exporter, "exported_spans_total") == 0


def test_no_thread_keeps_a_capability_that_is_given_up():
    """The one that talks to the collector, too."""
    with Collector(200) as collector, spans_to(collector) as exporter:
        threads = Path(f"/proc/{exporter.process.pid}/task")
        found = {((task / "comm").read_text().strip(), capabilities(int(task.name))) for task in threads.iterdir()}
        names, main = {name for name, _ in found}, capabilities(exporter.process.pid)
        assert "otlp" in names and main != capabilities(os.getpid())
        assert found == {(name, main) for name in names}
