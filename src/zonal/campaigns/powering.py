"""`zonal power`: from command-line options to a report and a plot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from zonal.averages.kernels import Matern
from zonal.campaigns.power import Power, power
from zonal.campaigns.rehearsal import landscape_of
from zonal.errors import InvalidInput
from zonal.plots import column_width
from zonal.problems.landscapes import Direction
from zonal.recipe import space as space_of
from zonal.recipe import where
from zonal.tables import read_table
from zonal.tables.files import write_picture


def report(
    out: Path,
    *,
    table: Path | None,
    axes: Sequence[str],
    sequences: str | None,
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
    recipe = where(axes, sequences, table, smallest, **columns)
    direction: Direction = "minimize" if minimize else "maximize"
    settings: dict[str, Any]
    if table is None:
        with recipe.blamed():
            space = space_of(recipe).with_smallest()
        settings = {"direction": direction, "given": given, **_model(space, signal, variance, lengthscale)}
        known = "given" if given else "learned"
        about = f"f with {_description(settings)}, {known}"
    else:
        model = {"--signal": signal, "--variance": variance, "--lengthscale": lengthscale, "--given": given}
        stray = [option for option, words in model.items() if words]
        if stray:
            raise InvalidInput("with a table no functions are drawn", stray[0], "Leave it out.")
        if not columns["value"]:
            raise InvalidInput("a table needs a column of values", None, "Name it: --value.")
        landscape = landscape_of(read_table(table), smallest=smallest, direction=direction, **columns)
        space, settings, about = landscape.space, {"landscape": landscape}, f"the values of {table}"
    settings |= prices
    cells = space.leaves(space.deepest())
    yield f"{cells} smallest regions, {about}; noise {noise:g}, {runs} runs"
    played = budgets[0] if len(budgets) == 1 else budgets
    found = power(space, played, noise=noise, runs=runs, rng=rng, jobs=jobs, progress=True, **settings)
    yield from found.table().splitlines()
    draw(found, columns["value"] or "value", out)
    yield f"picture  {out.resolve()}"


def draw(found: Power, value: str, out: Path) -> None:
    """Write the plot."""
    import matplotlib.pyplot as plt

    with column_width():
        figure, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
        found.plot(ax).set_ylabel(f"regret: the best average {value},\nminus that of the region found")
        write_picture(figure, out, dpi=150)


def _model(space: Any, signal: float | None, variance: float | None, lengthscale: Any) -> dict[str, Any]:
    """Return the model that functions are drawn from, as arguments of `power`."""
    if signal is not None and variance is not None:
        raise InvalidInput("--variance is the square of --signal", variance, "Pass one of the two.")
    std = signal if signal is not None else math.sqrt(1.0 if variance is None else variance)
    if lengthscale is None:
        return {"signal": std}
    if not space.lines:
        raise InvalidInput("sequences have no lengthscale", lengthscale, "Leave --lengthscale out.")
    return {"kernel": Matern(std**2, lengthscale)}


def _description(settings: Mapping[str, Any]) -> str:
    kernel = settings.get("kernel")
    if kernel is None:
        return f"std {settings['signal']:g} and a kernel drawn for each run"
    scales = kernel.lengthscale if isinstance(kernel.lengthscale, tuple) else (kernel.lengthscale,)
    return f"std {math.sqrt(kernel.variance):g} and lengthscale {', '.join(f'{scale:g}' for scale in scales)}"
