"""The check that nothing was skipped that should have run: hooks that a conftest.py takes by importing them."""
import fnmatch
from pathlib import Path

EXPECTED_SKIPS = Path(__file__).parent / "runtime" / "expected_skips.txt"
skipped = {}


def expected_skips():
    lines = (line.split("#")[0].strip() for line in EXPECTED_SKIPS.read_text().splitlines())
    return {line for line in lines if line}


def is_expected(name):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in expected_skips())


def pytest_runtest_logreport(report):
    if report.skipped:
        name = report.nodeid.split("/")[-1]
        skipped[name] = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)


def pytest_sessionfinish(session, exitstatus):
    surprises = [name for name in skipped if not is_expected(name)]
    if surprises and exitstatus == 0:
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter):
    for name, why in sorted(skipped.items()):
        known = "expected" if is_expected(name) else "NOT EXPECTED: see tests/runtime/expected_skips.txt"
        terminalreporter.write_line(f"skipped {name}: {why} ({known})")
