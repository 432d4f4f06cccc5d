"""How much code a round runs through: `python -m benchmarks.reach`.

Counts the files of `zonal` in which a function is called, and their lines, for a default round (ask, and a tell
with a fit) and for GPOO's tell with a split. It fails above the bounds of what a reader should have to learn.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import click

import zonal as zn

HOME = Path(zn.__file__).parent
MOST_FILES, MOST_LINES, MOST_FILES_OF_A_SPLIT = 28, 7500, 18


def files_of(action: Callable[[], object]) -> list[Path]:
    """Return the files of the library in which a function is called while an action runs."""
    names: set[str] = set()

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            names.add(frame.f_code.co_filename)

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return sorted(path for path in map(Path, names) if HOME in path.parents)


def lines_of(paths: list[Path]) -> int:
    """Return how many lines some files have."""
    return sum(path.read_text(encoding="utf-8").count("\n") for path in paths)


def default_round() -> list[Path]:
    """Return the files of a round of the default, in which the models are fitted."""
    study = zn.Study(zn.Box({"x": (0, 1), "y": (0, 1)}, smallest=1 / 32), budget=60, rng=0)
    instrument = zn.simulate(lambda points: points.sum(axis=1), zn.Mean(), 0.1, rng=0)
    for _ in range(60):
        fit = study.model
        trial = study.ask()
        value = instrument(trial.region)

        def tell(trial: zn.Trial = trial, value: float = value) -> None:
            study.tell(trial, value)

        asked = files_of(lambda: study.ask(n=1) if study.remaining > 30 else None)
        told = files_of(tell)
        if study.model != fit and study.measured > 20:
            return sorted({*asked, *told})
        for pending in study.pending:
            study.cancel(pending)
    raise AssertionError("no round with a fit")


def split() -> list[Path]:
    """Return the files of a tell of GPOO's after which a node is split."""
    study = zn.Study(
        [(0, 1)], budget=60, kernel=zn.RBF(0.1, 0.05), noise=0.1, policy=zn.GPOO(zn.GeometricDelta(14, 0.5))
    )
    while True:
        trial, size = study.ask(), len(study.tree)
        paths = files_of(lambda trial=trial: study.tell(trial, 0.5))  # type: ignore[misc]
        if len(study.tree) > size and study.measured > 3:
            return paths


@click.command()
@click.option("--names", is_flag=True, help="List the files.")
def main(names: bool) -> None:
    """Count files and lines of a round."""
    warnings.simplefilter("ignore")
    whole, expanded = default_round(), split()
    for title, paths in (("a default round with a fit", whole), ("GPOO's tell with a split", expanded)):
        click.echo(f"{title}: {len(paths)} files, {lines_of(paths)} lines")
        if names:
            click.echo("\n".join(f"    {path.relative_to(HOME)}" for path in paths))
    if len(whole) > MOST_FILES or lines_of(whole) > MOST_LINES or len(expanded) > MOST_FILES_OF_A_SPLIT:
        sys.exit(f"more than {MOST_FILES} files, {MOST_LINES} lines, or {MOST_FILES_OF_A_SPLIT} files for a split")


if __name__ == "__main__":
    main()
