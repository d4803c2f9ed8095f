#!/usr/bin/env python3
"""Writes the tables of docs/kernels.md from tests/kernels/expected/: document.py [--check]."""
import sys
from pathlib import Path

import kernels

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs/kernels.md"
BEGIN, END = "<!-- written by tests/kernels/document.py: begin -->\n", "<!-- end -->\n"


class Table:
    """What `jobscope check` says on one kernel."""

    def __init__(self, path):
        architecture = path.parent.name
        self.kernel = path.stem if architecture == "x86_64" else f"{path.stem} {architecture}"
        self.probes, self.programs, self.reasons = {}, {}, {}
        for line in path.read_text().splitlines():
            if line.startswith(" "):
                for name in last:
                    self.reasons[name] = line.strip()
                continue
            name, state, rest = line.split(maxsplit=2)
            if name == "programs":
                last = rest.split()
                self.programs.update(dict.fromkeys(last, state))
            else:
                last = [name]
                self.probes[name] = state


def rows(title, tables, states):
    names = list(dict.fromkeys(name for table in tables for name in states(table)))
    yield f"| {title} | " + " | ".join(table.kernel for table in tables) + " |"
    yield "|---" * (len(tables) + 1) + "|"
    for name in names:
        yield f"| {name} | " + " | ".join(states(table).get(name, "-") for table in tables) + " |"


def reasons(tables, states):
    """One line for each reason, with the kernels that give it."""
    found = {}
    for table in tables:
        for name in states(table):
            if name in table.reasons:
                found.setdefault((name, table.reasons[name]), []).append(table.kernel)
    for (name, reason), where in found.items():
        yield f"- {name} on {', '.join(where)}: {reason}"


def generated():
    paths = [*(HERE / "expected").glob("*/*.txt")]
    paths.sort(key=lambda path: (path.parent.name != "x86_64", kernels.order(path.stem)))
    tables = [Table(path) for path in paths]
    lines = []
    for title, states in (("probe", lambda t: t.probes), ("programs of your own", lambda t: t.programs)):
        lines += [*rows(title, tables, states), "", *reasons(tables, states), ""]
    return "\n".join(lines)


def main():
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    made = f"{before}{BEGIN}\n{generated()}{END}{after}"
    if sys.argv[1:] == ["--check"]:
        if made != page:
            sys.exit(f"{PAGE} is not what tests/kernels/expected/ says: run tests/kernels/document.py")
    else:
        PAGE.write_text(made)


if __name__ == "__main__":
    main()
