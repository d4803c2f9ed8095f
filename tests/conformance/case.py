"""One case: a configuration with its maps, rows, and the exposition that must come of them.

The files in cases/ are lists of them. A case has

    case:       its name, and that of its configuration and, where it has one metric, of that
    about:      what it shows; it is the help of its metric, too
    labels:     of the one counter or, with `histogram:` (its keys but labels), of the one histogram
    counter:    more keys of the counter
    config:     instead of these: the whole configuration, or its text
    maps:       {NAME: {type: hash, key: BYTES, value: 8, entries: 1024}}; by default one for each metric, with keys as
                large as its labels
    code:       C that is added to the object
    rows:       lines for the maps, as tests/interop/rows.py reads them; without a MAP for the first metric
    expect:     samples of the metrics, all of them; of others those that are named are compared
    later:      more rows, after `wait` seconds
    wait:       seconds between the rows and the scrape
    stopped:    true: the exporter stands still while its rows are written
    total:      of a counter of events: what was counted and what was lost, together
    error:      words of the message with which --config.check ends, instead of rows and expect
    passes:     true: --config.check ends well
    says:       words that it says nevertheless
    object:     none, garbage, empty, without_btf; only: there is no configuration
    names, options: those of the command line
    ebpf_exporter: {why: ...} where the real one differs, with `expect`, `passes` or `any: true`, which compares nothing

In rows and expect `$NAME` is what this machine says: see tests/interop/facts.py.
"""
import re
import subprocess
from pathlib import Path
from string import Template

import yaml

import exporter
import facts
import rows

HERE = Path(__file__).resolve().parent
TYPES = {"hash": "HASH", "array": "ARRAY", "lru_hash": "LRU_HASH", "percpu_hash": "PERCPU_HASH",
         "percpu_array": "PERCPU_ARRAY", "lru_percpu_hash": "LRU_PERCPU_HASH", "perf_event_array": "PERF_EVENT_ARRAY",
         "ringbuf": "RINGBUF", "cgrp_storage": "CGRP_STORAGE"}
HEADER = """// Made of a case of tests/conformance.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

"""
FOOTER = 'char LICENSE[] SEC("license") = "GPL";\n'


def with_other_cpus(text):
    """A line `$other_cpus{NAME,LABELS}` stands for a 0 of each CPU that the rows do not mention."""
    def zeros(found):
        labels = found[2] + "," if found[2] else ""
        return "\n".join(f'{found[1]}{{{labels}cpu="{cpu}"}} 0' for cpu in range(2, facts.cpus()))

    return re.sub(r"\$other_cpus\{(\w+),(.*)\}", zeros, text)


class Case:
    def __init__(self, content, group):
        self.content, self.group = content, group
        self.name, self.about = content["case"], content["about"]
        self.error = content.get("error")
        self.real = content.get("ebpf_exporter", {})

    def __repr__(self):
        return self.name

    def metric(self):
        """The one metric, and the kind it is of."""
        found = {"name": self.name, "help": self.about, "labels": self.content.get("labels")}
        if "histogram" in self.content:
            return "histograms", found | self.content["histogram"]
        return "counters", found | self.content.get("counter", {})

    def config(self):
        if "config" in self.content:
            given = self.content["config"]
            return {} if isinstance(given, str) else given
        kind, metric = self.metric()
        return {"metrics": {kind: [{k: v for k, v in metric.items() if v is not None}]}}

    def config_text(self):
        given = self.content.get("config")
        return given if isinstance(given, str) else yaml.safe_dump(self.config(), sort_keys=False)

    def metrics(self):
        """(kind, metric) of all that are exported."""
        of_kinds = self.config().get("metrics", {})
        return [(kind, metric) for kind in ("counters", "histograms") for metric in of_kinds.get(kind, [])]

    def sample_names(self):
        names = []
        for kind, metric in self.metrics():
            name = f"ebpf_exporter_{metric['name']}"
            names += [name] if kind == "counters" else [f"{name}_{part}" for part in ("bucket", "sum", "count")]
        return names

    def maps(self):
        by_default = {}
        for kind, metric in self.metrics():
            labels = metric.get("labels") or [{"size": 4}]
            size = sum(label.get("size", 0) + label.get("padding", 0) for label in labels)
            by_default[metric["name"]] = {"type": "perf_event_array" if metric.get("perf_event_array") else "hash",
                                          "key": size}
        given = self.content.get("maps", by_default)
        return {name: by_default.get(name, {}) | about for name, about in given.items()}

    def source(self):
        text = HEADER
        for name, about in self.maps().items():
            kind = about.get("type", "hash")
            lines = [f"  __uint(type, BPF_MAP_TYPE_{TYPES[kind]});"]
            if kind == "perf_event_array":
                lines += ["  __uint(key_size, 4);", "  __uint(value_size, 4);"]
            elif kind == "ringbuf":
                lines += ["  __uint(max_entries, 4096);"]
            elif kind == "cgrp_storage":
                lines += ["  __uint(map_flags, BPF_F_NO_PREALLOC);", "  __type(key, int);", "  __type(value, __u64);"]
            else:
                lines += [f"  __uint(max_entries, {about.get('entries', 1024)});",
                          f"  __uint(key_size, {about.get('key', 4)});",
                          f"  __uint(value_size, {about.get('value', 8)});"]
            text += "struct {\n" + "\n".join(lines) + f"\n}} {name} SEC(\".maps\");\n\n"
        return text + self.content.get("code", "") + FOOTER

    def checks(self):
        """Whether it is of --config.check, not of what is exported."""
        return bool(self.error or self.content.get("passes"))

    def accepted(self, real=False):
        """Whether --config.check has nothing to say."""
        return self.real.get("passes", not self.error) if real else not self.error

    def write(self, build):
        """Its configuration and its object, where they have changed."""
        folder = build / self.group
        source, config, target = (folder / f"{self.name}{end}" for end in (".bpf.c", ".yaml", ".bpf.o"))
        folder.mkdir(parents=True, exist_ok=True)
        kind = self.content.get("object")
        if kind == "only":
            config.unlink(missing_ok=True)
        else:
            config.write_text(self.config_text())
        if kind == "none":
            target.unlink(missing_ok=True)
        elif kind in ("garbage", "empty"):
            target.write_bytes(b"neither ELF nor BPF" * (kind == "garbage"))
        else:
            if not source.exists() or source.read_text() != self.source():
                source.write_text(self.source())
            exporter.compile_bpf(source, target)
            if kind == "without_btf":
                subprocess.run(["llvm-strip", "-g", "--remove-section=.BTF", "--remove-section=.BTF.ext", target],
                               check=True)

    def cannot_run(self):
        """Why this machine is not fit for it; empty if it is."""
        wants_two = any(re.search(r" = [^,]+,", row) for row in self.content.get("rows", []))
        if wants_two and facts.cpus() < 2:
            return "this machine has one CPU"
        return ""

    def fill_lines(self, which="rows"):
        first = self.metrics()[0][1]["name"] if self.metrics() else ""
        return [rows.fill_line(row, first) for row in self.content.get(which, [])]

    def expected(self, real=False):
        """The text of the exposition; empty if nothing is."""
        text = self.real.get("expect", self.content.get("expect", "")) if real else self.content.get("expect", "")
        return with_other_cpus(Template(text or "").safe_substitute(facts.Facts()))

    def expected_error(self, real=False):
        return self.real.get("error", self.error) if real else self.error


def load():
    cases = []
    for path in sorted((HERE / "cases").glob("*.yaml")):
        cases += [Case(content, path.stem) for content in yaml.safe_load(path.read_text())]
    names = [case.name for case in cases]
    assert len(set(names)) == len(names), "two cases of one name"
    # The kernel keeps 15 characters of a map's name, by which rows find it.
    short = [name[:15] for case in cases if not case.error for name in case.maps()]
    twice = {name for name in short if short.count(name) > 1}
    assert not twice, f"maps that the kernel calls the same: {sorted(twice)}"
    return cases
