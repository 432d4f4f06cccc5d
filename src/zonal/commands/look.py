"""Looking at a study: recommend, show, predict, plot. Nothing here changes it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from zonal.commands import regions, sheets
from zonal.commands.bench import standing, trial_json, trial_table
from zonal.commands.carry import edits
from zonal.commands.frame import Command, echo_json, json_option, say, study_argument
from zonal.commands.texts import count, number, table, with_unit
from zonal.errors import InvalidInput, StudyFileError
from zonal.rounds.certainty import Outlook
from zonal.rounds.trials import Recommendation
from zonal.study import Study
from zonal.tables.files import check_writable, write_picture

AHEAD = 10  # more measurements, of which one wants to know what they bring
SHOWN_NODES = 60


@click.command(cls=Command)
@study_argument
@click.option("-k", default=1, show_default=True, type=click.IntRange(min=1), help="How many disjoint regions.")
@json_option
def recommend(study: Study, k: int, as_json: bool) -> None:
    """Which region to settle for now, and how sure that is."""
    found = study.recommend(k)
    if as_json:
        echo_json([_recommendation(one) for one in found])
    else:
        click.echo(_best(study, found))


@click.command(cls=Command)
@study_argument
@click.option("-k", default=5, show_default=True, type=click.IntRange(min=1), help="How many of the best regions.")
@click.option("--all", "whole", is_flag=True, help="The whole tree, not only what was measured.")
@json_option
def show(study: Study, k: int, whole: bool, as_json: bool) -> None:
    """How a study stands: budget, best regions, what is under way, what more would bring, and its tree."""
    if study.read_only:
        say(f"Only to be looked at: {study.read_only}")
    best, outlook = _known(study, k)
    rows = _rows(study, whole) if best else []
    if as_json:
        echo_json(
            {
                "budget": study.budget,
                "told": study.told,
                "remaining": study.remaining,
                "direction": study.direction,
                "value": {"name": study.value_name, "unit": study.value_unit},
                "edited": list(study.edited),
                "pending": [trial_json(trial) for trial in study.pending],
                "best": [_recommendation(one) for one in best],
                "outlook": None if outlook is None else vars(outlook),
                "tree": [_node(study, row) for row in rows],
            }
        )
        return
    what = with_unit(study.value_name, study.value_unit)
    click.echo(f"{study.direction} the average {what} of a region: {standing(study)}{edits(study)}")
    if best:
        click.echo(f"\nbest regions\n{_best(study, best)}")
    if outlook is not None:
        click.echo(
            f"\n{outlook.n} more measurements would improve the region found by about {outlook.rise:.2g} "
            f"({outlook.low:.2g} to {outlook.high:.2g}), under the model."
        )
    if study.pending:
        click.echo(f"\nunder way\n{trial_table(study.pending)}")
    if rows:
        click.echo(
            f"\n{'the tree' if whole else 'the tree, as far as it was measured'}\n{_tree(study, rows, whole)}"
        )


def _known(study: Study, k: int) -> tuple[list[Recommendation], Outlook | None]:
    """Return the best regions and what more measurements would bring, as far as is known."""
    try:
        best = study.recommend(k)
    except StudyFileError:  # there is no posterior without the user's own kernel
        return [], None
    try:
        outlook = study.outlook(AHEAD)
    except InvalidInput:  # a belief without covariances
        return best, None
    return best, outlook if math.isfinite(outlook.rise) else None


def _recommendation(one: Recommendation) -> dict[str, Any]:
    sure = {"gap": _finite(one.gap), "probability_best": _finite(one.probability_best)}
    return {"region": regions.as_json(one.region), "mean": one.mean, "std": one.std, **sure}


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _best(study: Study, found: list[Recommendation]) -> str:
    unit = study.value_unit
    header = ["region", with_unit("mean", unit), "std", "gap", "best with"]
    rows = [
        [
            one.region.name,
            number(one.mean, one.std),
            number(one.std, one.std),
            number(one.gap, one.std),
            f"{one.probability_best:.0%}" if math.isfinite(one.probability_best) else "",
        ]
        for one in found
    ]
    return table(header, rows)


def _rows(study: Study, whole: bool) -> list[int]:
    """Return the rows of the tree to show, parents before children: those measured, and the ways to them."""
    tree = study.tree
    shown = np.ones(len(tree), dtype=bool) if whole else tree.count > 0
    if not whole:
        for row in np.flatnonzero(shown)[::-1].tolist():
            while row > 0:
                row = int(tree.parent[row])
                shown[row] = True
        shown[0] = True
    children: dict[int, list[int]] = {}
    for row in np.flatnonzero(shown).tolist():
        children.setdefault(int(tree.parent[row]), []).append(row)
    return list(_down(children, -1))


def _down(children: dict[int, list[int]], parent: int) -> Iterator[int]:
    """Yield the rows below a row, depth first."""
    waiting = children.get(parent, [])[::-1]
    while waiting:
        row = waiting.pop()
        yield row
        waiting += children.get(row, [])[::-1]


def _node(study: Study, row: int) -> dict[str, Any]:
    tree = study.tree
    node = int(tree.depth[row]), int(tree.index[row])
    known = {"looks": int(tree.count[row]), "mean": float(tree.mean[row]), "std": float(tree.std[row])}
    return {"node": list(node), "region": study.space.cell(node).name, **known}


def _tree(study: Study, rows: list[int], whole: bool) -> str:
    tree = study.tree
    listed = rows if whole else rows[:SHOWN_NODES]
    cells = []
    for row in listed:
        depth, index = int(tree.depth[row]), int(tree.index[row])
        mean, std = float(tree.mean[row]), float(tree.std[row])
        looks = str(int(tree.count[row])) if tree.count[row] else ""
        name = "  " * depth + str(study.space.cell((depth, index)).name)
        cells.append([name, looks, number(mean, std), number(std, std)])
    more = "" if len(listed) == len(rows) else f"\nand {len(rows) - len(listed)} more: zonal show --all"
    return table(["region", "looks", with_unit("mean", study.value_unit), "std"], cells) + more


@click.command(cls=Command)
@study_argument
@click.argument("where", nargs=-1, metavar="[REGION]...")
@click.option("--csv", "sheet", type=click.Path(dir_okay=False, path_type=Path), help="A sheet of regions.")
@json_option
def predict(study: Study, where: tuple[str, ...], sheet: Path | None, as_json: bool) -> None:
    """What any REGIONs' averages are, as far as is known; see `zonal observe` for how to write one."""
    if bool(where) == (sheet is not None):
        raise click.UsageError("Pass REGIONs, or --csv FILE.")
    space = study.space
    asked = (
        [space.region(regions.from_text(space, text)) for text in where]
        if sheet is None
        else sheets.places(sheet, space)
    )
    mean, std = study.predict(asked)
    if as_json:
        found = zip(asked, mean.tolist(), std.tolist(), strict=True)
        echo_json([{"region": regions.as_json(one), "mean": m, "std": s} for one, m, s in found])
        return
    rows = [[one.name, number(m, s), number(s, s)] for one, m, s in zip(asked, mean, std, strict=True)]
    click.echo(table(["region", with_unit("mean", study.value_unit), "std"], rows))


PICTURES = (".png", ".pdf", ".svg")


@click.command(cls=Command)
@study_argument
@click.option(
    "--out",
    default="zonal-study.png",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the picture (PNG, PDF or SVG, by its ending).",
)
@click.option(
    "--kind",
    type=click.Choice(["map", "cells", "regions"]),
    help="Over two coordinates, along one axis, or the tree as shelves  [default: what the space allows]",
)
def plot(study: Study, out: Path, kind: str | None) -> None:
    """Draw what is known, what was measured and what was found."""
    import matplotlib.pyplot as plt

    from zonal.plots import column_width, plot_cells, plot_map, plot_regions

    if out.suffix.lower() not in PICTURES:
        raise InvalidInput("the ending of a picture is not known", out.name, f"Use {', '.join(PICTURES)}.")
    ways: dict[str, Callable[[Study, Any], Any]] = {"map": plot_map, "cells": plot_cells, "regions": plot_regions}
    check_writable(out)
    with column_width():
        figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
        for draw in [ways[kind]] if kind else ways.values():
            try:
                draw(study, ax)
                break
            except InvalidInput:  # not for this space
                if kind or draw is plot_regions:
                    raise
        write_picture(figure, out, dpi=150)
        plt.close(figure)
    click.echo(f"picture of {count(study.told, 'measurement')}: {out.resolve()}")
