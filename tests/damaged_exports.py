"""Exports as accidents and people change them: lines cut, doubled and swapped, values and bytes changed."""

import json
import random
from functools import cache
from typing import Any

import zonal as zn
from eventful_studies import lived, mended
from make_golden import STUDIES
from zonal.study.export import _end, exported

STRANGE: list[Any] = [
    *(None, True, False, -1, 0, 1, 2, 7, 10**6, 10**9, 10**20, 10**400, 0.5, -0.5, 1e-300, 1e300, -1e300, 1e150),
    *("", "sideways", "failed", "\ud800", "x" * 1000, [], [0], [[]], {}, {"$": "Box"}),
    *({"$": "float", "is": word} for word in ("nan", "inf", "-inf", "x")),
    *({"$": "class", "name": name} for name in ("RBF", "Box", "Told")),
    {"$": "array", "kind": "<f8", "shape": [1 << 40], "zlib": "eJwDAAAAAAE="},
    {"$": "given", "name": "kernel"},
    {"$": "given", "name": "noise", "shown": "noise"},
]


GIVEN: list[dict[str, Any]] = [
    *STUDIES.values(),
    {"space": zn.Box([(0, 1)]), "kernel": zn.RBF(1.0, 0.2), "noise": 0.1, "policy": zn.UCB(level=4)},
    {"space": zn.Product({"c": (1, 100), "dye": "abc"}, scale={"c": "log"}), "forbidden": {"dye": "a"}},
    {"space": zn.Box([(0, 1)]), "kernel": zn.Matern(1.0, 0.2), "mean": 0.0, "policy": zn.GPTree(h_max=4)},
    {"space": zn.Box([(0, 1)], smallest=0.1), "feedback": zn.Beam(share=0.5), "max_replicates": 3},
]
NUMBER = len(GIVEN)


@cache
def exports() -> tuple[bytes, ...]:
    """Return exports of studies of every kind of space, to which everything has happened."""
    studies = [zn.Study(**{"budget": 16, **given}) for given in GIVEN]
    return tuple(exported(mended(lived(study, 7))).encode() for study in studies)


def edited(content: bytes, rng: random.Random) -> bytes:
    """Return an export with one or a few changes, none of them without effect."""
    while True:
        changed = content
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            changed = rng.choice([_lines, changed_value, changed_value, _bytes])(changed, rng)
        if changed != content:
            return changed


def _lines(content: bytes, rng: random.Random) -> bytes:
    """Cut, double, move or swap lines, or cut the rest."""
    lines = content.split(b"\n")
    low, high = sorted(rng.randrange(len(lines)) for _ in range(2))
    match rng.randrange(5):
        case 0:
            del lines[low : rng.choice([low + 1, high])]
        case 1:
            lines.insert(rng.choice([low, high]), lines[low])
        case 2:
            lines[low], lines[high] = lines[high], lines[low]
        case 3:
            lines.insert(low, lines.pop(high))
        case _:
            del lines[high:]
    return b"\n".join(lines)


def _bytes(content: bytes, rng: random.Random) -> bytes:
    """Change a few bytes, insert some or cut the rest."""
    changed = bytearray(content)
    if not changed:
        return content
    at = rng.randrange(len(changed))
    match rng.randrange(4):
        case 0:
            del changed[at:]
        case 1:
            changed[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 4)))
        case 2:
            changed[at] = ord(rng.choice("0123456789.-e"))
        case _:
            changed[at] = rng.randrange(256)
    return bytes(changed)


def changed_value(content: bytes, rng: random.Random) -> bytes:
    """Change a value somewhere in the JSON of a line, or leave it out."""
    lines = content.split(b"\n")
    at = rng.randrange(len(lines)) if rng.random() < 0.8 else 0
    try:
        document = json.loads(lines[at])
    except ValueError:
        return content
    places = list(_places(document))
    if not places:
        return content
    holder, key = rng.choice(places)
    old = holder[key]
    match rng.randrange(5):
        case 0:
            del holder[key]
        case 1 if isinstance(old, int | float):
            holder[key] = old * rng.choice([-1, 2, 1.0, 0.9, 1e3]) + rng.choice([0, 1])
        case 2:
            other, name = rng.choice(places)
            holder[key] = json.loads(json.dumps(other[name]))
        case _:
            holder[key] = rng.choice(STRANGE)
    try:
        lines[at] = json.dumps(document).encode()
    except ValueError:  # a number with more digits than may be written
        return content
    return b"\n".join(lines)


def with_digest(content: bytes) -> bytes:
    """Return an export whose last line fits the lines above: digests are no secret."""
    above = b"".join(line + b"\n" for line in content.split(b"\n") if line and b"zonal end" not in line)
    return above + _end(above).encode()


def _places(document: Any) -> Any:
    """Yield every place of a document that holds something: a list or object, and an index or key."""
    inside = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in list(inside):
        yield document, key
        if isinstance(value, dict | list):
            yield from _places(value)
