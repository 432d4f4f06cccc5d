"""Finished runs of everybody, kept beside the page, which is made from them.

A rival's run depends on the rival, the problem and the noise, not on Zonal. It stands beside new runs of Zonal
until its own way to play, or the problem, changes. The file has a line for a contestant on a problem; a run's
regret and seconds have five digits.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.arena.play import Line, place
from benchmarks.arena.problems import CASES
from benchmarks.arena.roster import ROSTER, revisions

OF_ALL_RUNS = ("problem", "contestant", "key", "seed", "commit", "zonal")
OF_EACH = ("budget", "run", "normalised", "seconds")


def keep(path: Path, lines: Iterable[Line]) -> None:
    """Write lines to the file that is kept."""
    together: dict[tuple[Any, ...], list[list[Any]]] = {}
    for line in lines:
        values = [line["budget"], line["run"], *(float(f"{line[name]:.5g}") for name in OF_EACH[2:])]
        together.setdefault(tuple(line[name] for name in OF_ALL_RUNS), []).append(values)
    texts = [json.dumps([*about, sorted(runs)]) + "\n" for about, runs in sorted(together.items(), key=str)]
    path.write_text("".join(texts), encoding="utf-8")


def kept(path: Path) -> list[Line]:
    """Return the lines of the file that still count; none where there is no file."""
    texts = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    lines = [
        dict(zip((*OF_ALL_RUNS, *OF_EACH), (*about, *run), strict=True))
        for *about, runs in map(json.loads, texts)
        for run in runs
    ]
    return [line for line in lines if _counts(line)]


def _counts(line: Line) -> bool:
    """Tell whether a contestant's way to play and the problem are still those of a line."""
    case, contestant = CASES.get(line["problem"]), ROSTER.get(line["contestant"])
    if case is None or contestant is None:
        return False
    return str(line["key"]).endswith(revisions(contestant, case))


def joined(old: Iterable[Line], new: Iterable[Line]) -> list[Line]:
    """Return old and new lines together, one for each run.

    Who was played anew on a problem, by other code or another version, has no older lines there: a row of few runs
    is better than one of two searches.
    """
    new = list(new)
    keys = {(line["problem"], line["contestant"]): line["key"] for line in new}
    still = [line for line in old if keys.get((line["problem"], line["contestant"]), line["key"]) == line["key"]]
    return list({place(line): line for line in (*still, *new)}.values())
