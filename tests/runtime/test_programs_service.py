"""deploy/systemd/jobscope-programs.service: what systemd says of it, and whether its capabilities are enough."""
import os
import re
import shutil
import subprocess

import pytest

from harness import JOBSCOPE, ROOT
from programs import Programs

UNIT = ROOT / "deploy" / "systemd" / "jobscope-programs.service"


def setting(name):
    return re.search(rf"^{name}=(.*)$", UNIT.read_text(), re.MULTILINE).group(1)


def test_systemd_takes_it(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze")
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/usr/local/bin/jobscope", str(JOBSCOPE)))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True)
    ours = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert done.returncode == 0 and not ours, done.stderr


def test_its_capabilities_are_enough():
    """Of a user who has nothing else; under them all programs that it names are attached."""
    assert setting("AmbientCapabilities") == setting("CapabilityBoundingSet")
    capabilities = ",".join("+" + name.lower().removeprefix("cap_") for name in setting("AmbientCapabilities").split())
    names = re.search(r"NAMES=(\S*)", setting("Environment")).group(1).split(",")
    as_nobody = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--no-new-privs",
                 f"--bounding-set=-all,{capabilities}", f"--inh-caps=-all,{capabilities}",
                 f"--ambient-caps=-all,{capabilities}"]
    with Programs(*names, folder=JOBSCOPE.parent / "programs", before=as_nobody) as exporter:
        assert os.stat(f"/proc/{exporter.process.pid}").st_uid != 0
        series = exporter.scrape()
        assert {labels["name"] for labels, _ in series.rows("enabled_configs")} == set(names)
        assert exporter.unattached() == set()
        assert sum(1 for _ in series.rows("syscalls_total")) > 0


def test_each_series_of_its_own_is_in_the_list():
    """docs/metrics.md, both ways."""
    listed = set(re.findall(r"`((?:ebpf_exporter|jobscope|process)_[a-z_0-9]+)(?:\{[a-z,]+\})?`(?=,| [`|])",
                            (ROOT / "docs" / "metrics.md").read_text()))
    with Programs("values", "spans", "layout", "cgroups") as exporter:
        found = exporter.scrape().names()
    programs = {f"ebpf_exporter_{name}" for name in ("events_total", "balance", "spent_seconds_total", "mixed_total",
                                                     "numbers_total", "wanted", "wanted_execs_total")}
    assert "dropped_perf_event_map_events_events_total" in found
    found = {name for name in found if not re.match(r"dropped_|ebpf_exporter_sizes_", name)} - programs
    assert found - listed == set(), "these are not in docs/metrics.md"
    # Only where something is wrong, or the kernel counts runs.
    assert listed - found <= {"jobscope_program_unavailable", "ebpf_exporter_ebpf_program_run_time_seconds",
                              "ebpf_exporter_ebpf_program_run_count_total"}
