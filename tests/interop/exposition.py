"""Prometheus' text format, as far as two programs that write it are to be compared."""
import re
from dataclasses import dataclass, field

LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,|$)')
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$')
ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}


def unescaped(text):
    return re.sub(r"\\.", lambda found: ESCAPES.get(found[0], found[0]), text)


@dataclass
class Exposition:
    help: dict = field(default_factory=dict)     # family → text
    type: dict = field(default_factory=dict)     # family → word
    samples: dict = field(default_factory=dict)  # (name, ((label, value), ...) by name) → number

    def of(self, *names):
        """The samples of these names alone."""
        return {key: value for key, value in self.samples.items() if key[0] in names}


def parse_sample(line):
    found = SAMPLE.match(line)
    assert found, f"no sample: {line}"
    name, labels, value = found.groups()
    text, pairs = labels or "", []
    while text:
        label = LABEL.match(text)
        assert label, f"no labels: {line}"
        pairs.append((label[1], unescaped(label[2])))
        text = text[label.end():]
    return (name, tuple(sorted(pairs))), float(value)


def parse(text):
    found = Exposition()
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, _, words = line[len("# HELP "):].partition(" ")
            assert name not in found.help, f"two times the help of {name}"
            found.help[name] = unescaped(words)
        elif line.startswith("# TYPE "):
            name, _, word = line[len("# TYPE "):].partition(" ")
            assert name not in found.type, f"two times the type of {name}"
            found.type[name] = word
        elif line and not line.startswith("#"):
            key, value = parse_sample(line)
            assert key not in found.samples, f"two times {line}"
            found.samples[key] = value
    return found


def shown(key):
    name, labels = key
    return name + ("{" + ",".join(f'{k}="{v}"' for k, v in labels) + "}" if labels else "")


def same(a, b):
    """Whether two values are the same number; they may be written differently."""
    return a == b or (a != a and b != b) or abs(a - b) <= 1e-12 * max(abs(a), abs(b))


def differences(wanted, got):
    """Lines of what two dicts of samples do not have in common."""
    lines = []
    for key in sorted(wanted.keys() | got.keys()):
        if key not in got:
            lines.append(f"- {shown(key)} {wanted[key]:.17g}")
        elif key not in wanted:
            lines.append(f"+ {shown(key)} {got[key]:.17g}")
        elif not same(wanted[key], got[key]):
            lines.append(f"! {shown(key)} {wanted[key]:.17g} became {got[key]:.17g}")
    return lines
