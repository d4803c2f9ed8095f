"""What is tested: jobscope, or the real ebpf_exporter, and with which cases."""
import os

import case as cases
import exporter

REAL = os.environ.get("EBPF_EXPORTER")
COMMAND = [REAL] if REAL else [exporter.JOBSCOPE, "programs"]
BUILD = exporter.BUILD.parent / "conformance"
ALL = cases.load()
