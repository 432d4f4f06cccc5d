"""Finished runs of all who are not Zonal, kept beside the page: who changes Zonal need play Zonal's rows alone.

The file has one line for a contestant on a problem; a run's regret and seconds have five digits.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.arena.play import Line
from benchmarks.arena.roster import ROSTER

OF_ALL_RUNS = ("problem", "contestant", "key", "seed", "commit", "zonal")
OF_EACH = ("budget", "run", "normalised", "seconds")


def of_peers(lines: Iterable[Line]) -> list[Line]:
    """Return the lines of those who are not Zonal."""
    return [line for line in lines if not ROSTER[line["contestant"]].ours]


def keep(path: Path, lines: Iterable[Line]) -> None:
    """Write the lines of peers to the file that is kept."""
    together: dict[tuple[Any, ...], list[list[Any]]] = {}
    for line in of_peers(lines):
        values = [line["budget"], line["run"], *(float(f"{line[name]:.5g}") for name in OF_EACH[2:])]
        together.setdefault(tuple(line[name] for name in OF_ALL_RUNS), []).append(values)
    texts = [json.dumps([*about, sorted(runs)]) + "\n" for about, runs in sorted(together.items(), key=str)]
    path.write_text("".join(texts), encoding="utf-8")


def kept(path: Path) -> list[Line]:
    """Return the lines of the file that is kept; none where there is no file."""
    texts = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [
        dict(zip((*OF_ALL_RUNS, *OF_EACH), (*about, *run), strict=True))
        for *about, runs in map(json.loads, texts)
        for run in runs
    ]
