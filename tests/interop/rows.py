"""Rows of maps, as people write them down:

    [MAP:] ATOM... = VALUE[,VALUE...]       more values: those of the CPUs from 0
    run PROGRAM CPU NUMBER...               runs a raw tracepoint's program once

An atom is `u8:N u16:N u32:N u64:N`, `sLENGTH:TEXT` (zeros after it), `hex:BYTES`, `ksym:SYMBOL` (its address, 8 bytes),
`cgroup:PATH` (its id, 8 bytes) or `dev:MAJOR:MINOR`. `$NAME` is of facts.py.
"""
import re
import shlex
import struct
from string import Template

import facts

NUMBERS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q"}


def atom(text):
    kind, _, value = text.partition(":")
    if kind in NUMBERS:
        return struct.pack("=" + NUMBERS[kind], int(value, 0))
    if kind == "hex":
        return bytes.fromhex(value)
    if kind == "ksym":
        return struct.pack("=Q", facts.symbol(value))
    if kind == "cgroup":
        return struct.pack("=Q", facts.cgroup_id(value))
    if kind == "dev":  # new_encode_dev() of the kernel
        major, minor = map(int, value.split(":"))
        return struct.pack("=I", (minor & 0xff) | (major << 8) | ((minor & ~0xff) << 12))
    length = int(re.fullmatch(r"s(\d+)", kind)[1])
    raw = value.encode().decode("unicode_escape").encode("latin-1")  # \\n, \\0 and so on
    assert len(raw) <= length, text
    return raw.ljust(length, b"\0")


def fill_line(row, default_map=""):
    """The line for fill.c."""
    row = Template(row).substitute(facts.Facts())
    if row.startswith("run "):
        return row
    key, _, values = row.rpartition(" = ")
    words = shlex.split(key)
    name = words.pop(0)[:-1] if words[0].endswith(":") else default_map
    return f"row {name} {b''.join(map(atom, words)).hex()} {values}"


def read(path):
    """The lines of a file of rows."""
    lines = (line.strip() for line in path.read_text().splitlines())
    return [fill_line(line) for line in lines if line and not line.startswith("#")]
