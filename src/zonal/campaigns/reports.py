"""`zonal rehearse` and `zonal power`: from command-line options to a report and a plot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from zonal.averages.kernels import Matern
from zonal.campaigns.power import power
from zonal.campaigns.rehearsal import Rehearsal, Zonal, campaign, everybody, landscape_of, rehearse
from zonal.errors import InvalidInput, need, refuse
from zonal.plots import column_width, plot_map, plot_regions, plot_regrets
from zonal.problems.landscapes import Direction, Landscape
from zonal.recipe import space as space_of
from zonal.recipe import where
from zonal.study import Study
from zonal.tables import read_table
from zonal.tables.files import write_picture


def rehearsed(
    out: Path,
    *,
    table: Path,
    value: str,
    noise: float,
    budget: float,
    prices: Mapping[str, Any],
    runs: int,
    rng: int,
    jobs: int | None,
    **columns: Any,
) -> Iterator[str]:
    """Rehearse a campaign on a table, write the plot and yield the lines of a report."""
    landscape = _landscape(table, value=value, **columns)
    number = landscape.space.leaves(landscape.space.deepest())
    players = everybody(landscape.space, value_name=value, **prices)
    fix = "Measure each of them instead of searching."
    need(prices or budget < number, f"the budget covers all {number} smallest regions", budget, fix)
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
    player = players["Zonal"]
    assert isinstance(player, Zonal)
    draw(rehearsal, campaign(player.study, landscape, noise, budget, rng, 0), out)
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


def powered(
    out: Path,
    *,
    table: Path | None,
    axes: Sequence[str],
    sequences: str | None,
    value: str | None,
    smallest: Any,
    minimize: bool,
    signal: float | None,
    variance: float | None,
    lengthscale: Any,
    given: bool,
    budgets: Sequence[float],
    prices: Mapping[str, Any],
    noise: float,
    runs: int,
    rng: int,
    jobs: int | None,
    **columns: Any,
) -> Iterator[str]:
    """Simulate campaigns, write the plot and yield the lines of a report."""
    import matplotlib.pyplot as plt

    recipe = where(axes, sequences, table, smallest, value=value, **columns)
    settings: dict[str, Any]
    if table is None:
        with recipe.blamed():
            space = space_of(recipe).with_smallest()
        settings = {"direction": _direction(minimize), "given": given}
        settings |= _model(space, signal, variance, lengthscale)
        about = f"f with {_description(settings)}, {'given' if given else 'learned'}"
    else:
        model = {"--signal": signal, "--variance": variance, "--lengthscale": lengthscale, "--given": given}
        stray = [option for option, words in model.items() if words]
        refuse(stray, "with a table no functions are drawn", "Leave it out.")
        need(value, "a table needs a column of values", None, "Name it: --value.")
        landscape = _landscape(table, value=value, smallest=smallest, minimize=minimize, **columns)
        space, settings, about = landscape.space, {"landscape": landscape}, f"the values of {table}"
    cells = space.leaves(space.deepest())
    yield f"{cells} smallest regions, {about}; noise {noise:g}, {runs} runs"
    played = budgets[0] if len(budgets) == 1 else budgets
    settings |= {"runs": runs, "rng": rng, "jobs": jobs, **prices}
    found = power(space, played, noise=noise, progress=True, **settings)
    yield from found.table().splitlines()
    with column_width():
        figure, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
        found.plot(ax).set_ylabel(f"regret: the best average {value or 'value'},\nminus that of the region found")
        write_picture(figure, out, dpi=150)
    yield f"picture  {out.resolve()}"


def _landscape(table: Path, minimize: bool, **columns: Any) -> Landscape:
    return landscape_of(read_table(table), direction=_direction(minimize), **columns)


def _direction(minimize: bool) -> Direction:
    return "minimize" if minimize else "maximize"


def _model(space: Any, signal: float | None, variance: float | None, lengthscale: Any) -> dict[str, Any]:
    """Return the model that functions are drawn from, as arguments of `power`."""
    one = signal is None or variance is None
    need(one, "--variance is the square of --signal", variance, "Pass one of the two.")
    std = signal if signal is not None else math.sqrt(1.0 if variance is None else variance)
    if lengthscale is None:
        return {"signal": std}
    need(space.lines, "sequences have no lengthscale", lengthscale, "Leave --lengthscale out.")
    return {"kernel": Matern(std**2, lengthscale)}


def _description(settings: Mapping[str, Any]) -> str:
    kernel = settings.get("kernel")
    if kernel is None:
        return f"std {settings['signal']:g} and a kernel drawn for each run"
    scales = kernel.lengthscale if isinstance(kernel.lengthscale, tuple) else (kernel.lengthscale,)
    return f"std {math.sqrt(kernel.variance):g} and lengthscale {', '.join(f'{scale:g}' for scale in scales)}"
