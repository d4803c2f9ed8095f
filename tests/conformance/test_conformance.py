"""What `jobscope programs` makes of people's configurations, case by case (cases/, described in case.py).

    JOBSCOPE=build/jobscope /usr/bin/python3 -m pytest tests/conformance
    EBPF_EXPORTER=PROGRAM /usr/bin/python3 -m pytest tests/conformance    # the real one against the same cases

Starting costs most, so all cases of a file are loaded by one process. If that does not start, each gets its own.
"""
import re
import time

import pytest

import exporter
import exposition
from subject import ALL, BUILD, COMMAND, REAL

SHOWN = [case for case in ALL if not case.checks() and not (REAL and case.real.get("any"))]
CHECKED = [case for case in ALL if case.checks()]


def scraped(members):
    """What one process says of these cases after their maps were filled."""
    folder = BUILD / members[0].group
    with exporter.Exporter(COMMAND, folder, [case.name for case in members]) as running:
        for case in members:
            running.fill(case.fill_lines(), stopped=case.content.get("stopped"))
        wait = max(case.content.get("wait", 0) for case in members)
        time.sleep(wait)
        later = [line for case in members for line in case.fill_lines("later")]
        if later:
            running.fill(later)
            time.sleep(wait)
        # The real one may show an error only at the next scrape.
        running.scrape()
        return running.scrape()


class Group:
    """The cases of one file."""

    def __init__(self, name):
        self.members = [case for case in SHOWN if case.group == name]
        self.exposition = self.error = None
        try:
            self.exposition = scraped(self.members)
        except exporter.Failed as error:
            self.error = error

    def of(self, case):
        return self.exposition or scraped([case])


groups = {}


def group(name):
    if name not in groups:
        groups[name] = Group(name)
    return groups[name]


def of_this_machine(wanted, got):
    """`wanted` with the ids and tags of programs that the kernel gave. Those of `wanted` number them."""
    given = {}
    for name, labels in got:
        if name == "ebpf_exporter_ebpf_program_info":
            labels = dict(labels)
            given[labels["config"], labels["program"]] = labels
    ids, result = {}, {}
    for (name, labels), value in wanted.items():
        labels = dict(labels)
        if name == "ebpf_exporter_ebpf_program_info":
            assert (labels["config"], labels["program"]) in given, f"no {labels['program']} among {sorted(given)}"
            kernel = given[labels["config"], labels["program"]]
            assert re.fullmatch("[0-9a-f]{16}", kernel["tag"]), kernel
            ids[labels["id"]] = kernel["id"]
            labels["tag"] = kernel["tag"]
        if name.startswith("ebpf_exporter_ebpf_program_"):
            labels["id"] = ids[labels["id"]]
        result[name, tuple(sorted(labels.items()))] = value
    return result


def assert_expected(case, exposed):
    wanted = exposition.parse(case.expected(REAL)).samples
    wanted = of_this_machine(wanted, exposed.samples)
    own = case.sample_names()
    errors = ("ebpf_exporter_decoder_errors_total", (("config", case.name),))
    wanted.setdefault(errors, 0.0)
    got = {key: value for key, value in exposed.samples.items() if key[0] in own or key in wanted}
    # How many there are by now, nobody says.
    got[errors] = float(got.get(errors, 0) > 0)
    different = exposition.differences(wanted, got)
    assert not different, "\n".join([f"{case.name}: {case.about}", *different])
    for kind, metric in case.metrics():
        family = f"ebpf_exporter_{metric['name']}"
        if any(key[0] in (family, f"{family}_count") for key in wanted):
            assert exposed.help[family] == metric["help"]
            assert exposed.type[family] == kind.removesuffix("s")


def assert_total(case, exposed):
    """What was counted and what was lost are all that there was."""
    name = case.metrics()[0][1]["name"]
    lost = exposed.samples[f"dropped_perf_event_map_events_{name}", ()]
    counted = sum(value for key, value in exposed.samples.items() if key[0] == f"ebpf_exporter_{name}")
    assert lost > 0
    assert counted > 0
    assert counted + lost == case.content["total"]


@pytest.mark.parametrize("case", SHOWN, ids=repr)
def test_series(case):
    reason = case.cannot_run()
    if reason:
        pytest.skip(reason)
    exposed = group(case.group).of(case)
    if "total" in case.content:
        assert_total(case, exposed)
    else:
        assert_expected(case, exposed)


@pytest.mark.parametrize("name", sorted({case.group for case in SHOWN}))
def test_one_process_has_all(name):
    """No case keeps those beside it from working."""
    assert group(name).error is None


@pytest.mark.parametrize("case", CHECKED, ids=repr)
def test_check(case):
    code, words = exporter.checked(COMMAND, BUILD / case.group, case.content.get("names", [case.name]),
                                   *case.content.get("options", []))
    accepted = case.accepted(REAL)
    assert code == 0 if accepted else code not in (0, None) and code > 0, f"ended with {code}:\n{words}"
    if not REAL:
        assert (case.error or case.content.get("says", "")) in words
        assert "Traceback" not in words and "terminate called" not in words
        assert len(words.splitlines()) < 10, words


def test_there_are_enough():
    assert len(ALL) >= 60
