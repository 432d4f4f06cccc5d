"""`zonal rehearse`: from a file to a report and a plot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from zonal.campaigns.rehearsal import Rehearsal, Zonal, everybody, landscape_of, rehearse
from zonal.errors import InvalidInput
from zonal.plots import column_width, plot_map, plot_regions, plot_regrets
from zonal.study import Study
from zonal.tables import read_table
from zonal.tables.files import write_picture


def report(
    table: Path,
    out: Path,
    *,
    value: str,
    noise: float,
    budget: float,
    prices: Mapping[str, Any],
    runs: int,
    rng: int,
    jobs: int | None,
    minimize: bool,
    **columns: Any,
) -> Iterator[str]:
    """Rehearse a campaign on a table, write the plot and yield the lines of a report."""
    landscape = landscape_of(read_table(table), value, direction="minimize" if minimize else "maximize", **columns)
    space = landscape.space
    number = space.leaves(space.deepest())
    players = everybody(space, value_name=value, **prices)
    if not prices and budget >= number:
        raise InvalidInput(
            f"the budget covers all {number} smallest regions",
            budget,
            "Measure each of them instead of searching.",
        )
    best = landscape.best()
    share = "" if prices else f" ({budget / number:.1%})"
    yield f"{table}: {number} smallest regions, a budget of {budget:g}{share}, noise {noise:g}"
    yield f"best there is         {best.average:.6g}  {best.region.name}"
    rehearsal = rehearse(landscape, budget, noise, runs, players, rng, jobs, progress=True)
    for name in players:
        if name.startswith("Zonal"):
            found = rehearsal.campaigns[name].regions[0]
            yield f"{name + ' found':20}  {landscape.average(found):.6g}  {found.name}"
    yield ""
    yield from f"regret over {runs} runs\n{rehearsal.table()}".splitlines()
    seeds = np.random.SeedSequence([rng, 0]).spawn(2)
    player = players["Zonal"]
    assert isinstance(player, Zonal)
    instrument = landscape.simulate(noise, np.random.default_rng(seeds[0]))
    study = player.study(landscape, instrument, budget, np.random.default_rng(seeds[1]))
    draw(rehearsal, study, out)
    yield f"picture               {out.resolve()}"


def draw(rehearsal: Rehearsal, study: Study, out: Path) -> None:
    """Write a plot of one campaign and of the regrets of all."""
    import matplotlib.pyplot as plt

    with column_width():
        figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), width_ratios=[1.5, 1], layout="constrained")
        try:
            plot_map(study, left)
        except InvalidInput:  # no two coordinates
            plot_regions(study, left)
        left.set_title("one campaign of Zonal")
        plot_regrets(rehearsal, right)
        right.set_title(f"a budget of {rehearsal.budget:g}, all runs")
        write_picture(figure, out, dpi=150)
