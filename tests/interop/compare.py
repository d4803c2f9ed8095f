#!/usr/bin/env python3
"""Do the real ebpf_exporter and `jobscope programs` say the same of the same programs?

    sudo tests/interop/compare.py [--ebpf-exporter PROGRAM] FOLDER [NAME...]

The folder holds NAME.yaml with NAME.bpf.o, or with NAME.bpf.c, which is then compiled. Both run at the same time, and
each loads and attaches all of them. If there is NAME.rows, its rows are written into the maps of both, and values must
be the same. Otherwise let what the programs count rest meanwhile, or take the table for what it is.

$JOBSCOPE is the program (build/jobscope). Without --ebpf-exporter the real one is built (real_exporter.py).
"""
import argparse
import collections
import re
import shutil
import sys
import time
from pathlib import Path

import exporter
import exposition
import real_exporter
import rows

# What need not be the same: a pattern of the family's name, and why.
OF_ONE_ALONE = {
    r"go_.*": "the runtime of Go",
    r"process_.*": "what each says of its own process",
    r"promhttp_.*": "the library for HTTP of the other",
    r"ebpf_exporter_build_info": "the build of the other",
    r"dropped_perf_event_map_events_.*": "what was lost: the other counts it and does not export it",
    r"ebpf_exporter_ebpf_program_run_.*": "each one's own programs run, at their own times",
    r"jobscope_.*": "what jobscope says besides",
}
SECONDS_FOR_EVENTS = 1.0


def rightly_called(call):
    """The table of the real ebpf_exporter for x86-64 has names of 32-bit machines for 23 system calls: futex_time64,
    clock_gettime64. Those of this machine."""
    return re.sub(r"(_time|(?<=time))64$", "", call)


def comparable(exposed):
    """The samples that must be the same, with the ids of programs replaced by their names."""
    programs = {}
    for name, labels in exposed.samples:
        if name == "ebpf_exporter_ebpf_program_info":
            labels = dict(labels)
            programs[labels["id"]] = f"{labels['config']}/{labels['program']}"
    result = {}
    for (name, labels), value in exposed.samples.items():
        if any(re.fullmatch(pattern, name) for pattern in OF_ONE_ALONE):
            continue
        labels = dict(labels)
        if name.startswith("ebpf_exporter_ebpf_program_"):
            labels["id"] = programs[labels["id"]]
        # To Prometheus an empty label is none.
        labels = {label: rightly_called(text) for label, text in labels.items() if text}
        # The real one counts an error during a scrape or after it.
        once = name == "ebpf_exporter_decoder_errors_total"
        result[name, tuple(sorted(labels.items()))] = min(value, 1) if once else value
    return result


def family_of(name, types):
    """The family that a sample belongs to."""
    base = re.sub(r"_(bucket|sum|count)$", "", name)
    return base if types.get(base) in ("histogram", "summary") else name


def words_differ(real, ours, families):
    """What is said of families that both have."""
    lines = []
    for family in sorted(families & real.type.keys() & ours.type.keys()):
        if real.type[family] != ours.type[family]:
            lines.append(f"! the type of {family}: {real.type[family]} became {ours.type[family]}")
        builtin = re.match(r"ebpf_exporter_(ebpf_program_|enabled_configs|decoder_errors)", family)
        if not builtin and real.help[family] != ours.help[family]:
            lines.append(f"! the help of {family}: {real.help[family]!r} became {ours.help[family]!r}")
    return lines


def table(real, ours, types):
    """Lines: the families, how many series each has, how many of them are the same."""
    counts = collections.defaultdict(lambda: [0, 0, 0])
    for key in real.keys() | ours.keys():
        count = counts[family_of(key[0], types)]
        count[0] += key in real
        count[1] += key in ours
        count[2] += key in real and key in ours and exposition.same(real[key], ours[key])
    width = max(map(len, counts), default=6)
    yield f"{'family':{width}}  ebpf_exporter  jobscope   same"
    for family, (first, second, both) in sorted(counts.items()):
        mark = "" if first == second == both else "  different"
        yield f"{family:{width}}  {first:13}  {second:8}  {both:5}{mark}"


def prepared(folder, wanted):
    """(folder, names, lines for each name): objects of sources lie in the folder of builds."""
    names = sorted(path.name.removesuffix(".yaml") for path in folder.glob("*.yaml"))
    names = [name for name in names if not wanted or name in wanted]
    if not names:
        raise exporter.Failed(f"{folder} has no NAME.yaml")
    if any((folder / f"{name}.bpf.c").exists() for name in names):
        built = exporter.BUILD / "compared" / folder.resolve().name
        for name in names:
            exporter.compile_bpf(folder / f"{name}.bpf.c", built / f"{name}.bpf.o")
            shutil.copyfile(folder / f"{name}.yaml", built / f"{name}.yaml")
    else:
        built = folder
    files = [folder / f"{name}.rows" for name in names]
    return built, names, [line for file in files if file.exists() for line in rows.read(file)]


def compare(folder, wanted, real_program):
    built, names, lines = prepared(folder, wanted)
    with exporter.Exporter([real_program], built, names) as real, \
            exporter.Exporter([exporter.JOBSCOPE, "programs"], built, names) as ours:
        if lines:
            real.fill(lines)
            ours.fill(lines)
        time.sleep(SECONDS_FOR_EVENTS)
        for running in (real, ours):
            running.scrape()
        scraped = [real.scrape(), ours.scrape()]
    samples = [comparable(exposed) for exposed in scraped]
    types = {**scraped[1].type, **scraped[0].type}
    print(f"{folder}: {', '.join(names)}")
    print(*table(*samples, types), sep="\n")
    families = {family_of(name, types) for name, _ in samples[0]}
    different = exposition.differences(*samples) + words_differ(*scraped, families)
    if different:
        print(f"\n{len(different)} differences (- only ebpf_exporter, + only jobscope, ! both):")
        print(*different, sep="\n")
    return not different


def main():
    parser = argparse.ArgumentParser(description="Compares ebpf_exporter with `jobscope programs`.")
    parser.add_argument("--ebpf-exporter", metavar="PROGRAM", help="default: build it, once")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    arguments = parser.parse_args()
    try:
        program = arguments.ebpf_exporter or real_exporter.real_exporter()
    except real_exporter.Missing as why:
        print(f"skipped, since there is no ebpf_exporter to compare with: {why}")
        return 0
    try:
        return 0 if compare(arguments.folder, arguments.names, program) else 1
    except exporter.Failed as why:
        print(why, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
