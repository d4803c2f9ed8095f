"""What all cases need: their objects, and a cgroup."""
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(Path(__file__).resolve().parent), str(TESTS / "interop"), str(TESTS)]
import facts  # noqa: E402
from skips import pytest_runtest_logreport, pytest_sessionfinish, pytest_terminal_summary  # noqa: E402,F401
from subject import ALL, BUILD  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def objects():
    """Builds what has changed."""
    assert os.geteuid() == 0, "root is needed to load programs"
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda case: case.write(BUILD), ALL))


@pytest.fixture(scope="session", autouse=True)
def cgroup():
    """A cgroup that is there from before the start until the end."""
    place = facts.cgroup_root() / facts.CGROUP.strip("/")
    place.mkdir(exist_ok=True)
    yield place
    place.rmdir()
