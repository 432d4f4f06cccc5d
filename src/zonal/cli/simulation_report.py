"""`zonal rehearse` and `zonal power`: from command-line options to a report and a plot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from zonal.engine.noise import PerWeight
from zonal.errors import InvalidInput, reject, require
from zonal.io.files import write_picture
from zonal.io.recipe_text import Recipe
from zonal.kernels.base import Matern
from zonal.plotting import column_width, plot_map, plot_tree
from zonal.simulation.comparison import Comparison, compare_power
from zonal.simulation.ground_truth_tables import landscape_for
from zonal.simulation.power import Power, power
from zonal.simulation.rehearsal import Rehearsal, StudyPlayer, campaign, everybody, rehearse, within_reach
from zonal.study.recipe import PRICES
from zonal.study.recipe import settings as settings_of
from zonal.study.recipe import space as space_of
from zonal.study.study import Study


class _Campaign(NamedTuple):
    """The settings of simulated campaigns."""

    noise: Any  # of the instrument
    rng: int
    settings: dict[str, Any]  # of the studies, without space, budget and direction

    @property
    def about(self) -> str:
        """The noise, for people."""
        return f"{self.noise.std:g} / sqrt(weight)" if isinstance(self.noise, PerWeight) else f"{self.noise:g}"


def _campaign(recipe: Recipe, space: Any) -> _Campaign:
    """Return the settings that a recipe gives for campaigns on a space."""
    with recipe.blamed():
        settings = settings_of(recipe, space)
        noise, rng = settings.pop("noise", None), settings.pop("rng", 0)
        has_noise = noise is not None and getattr(noise, "std", 0.0) is not None
        require(has_noise, "a simulation needs the noise of a measurement", noise, "Give it as a number.")
        Study(space, **{**settings, "noise": noise, "budget": 1})  # raises before hours pass, naming the place
    return _Campaign(
        noise, rng, {name: value for name, value in settings.items() if name not in ("budget", "direction")}
    )


def rehearsed(
    recipe: Recipe,
    budgets: Sequence[float],
    *,
    table: Mapping[str, Any],
    given: bool,
    runs: int,
    jobs: int | None,
    out: Path,
) -> Iterator[str]:
    """Rehearse a campaign on a table, write the plot and yield the lines of a report."""
    require(
        len(budgets) == 1, "a rehearsal has one budget", tuple(budgets), "Use `zonal power` to compare several."
    )
    landscape, (budget,) = landscape_for(recipe, **table), budgets
    number = landscape.space.leaves(landscape.space.max_depth())
    noise, rng, settings = planned = _campaign(recipe, landscape.space)
    settings |= {"noise": noise} if given else {}
    priced = any(settings.get(name) for name in PRICES)
    fix = "Measure each of them instead of searching."
    require(priced or budget < number, f"the budget covers all {number} smallest regions", budget, fix)
    share = "" if priced else f" ({budget / number:.1%})"
    yield f"{table['table']}: {number} smallest regions, a budget of {budget:g}{share}, noise {planned.about}"
    best = within_reach(landscape, settings.get("forbidden")).best()
    yield f"best there is         {best.average:.6g}  {best.region.name}"
    rehearsal = rehearse(landscape, budget, noise, runs, None, rng, jobs, progress=True, **settings)
    for name, campaigns in rehearsal.campaigns.items():
        if name.startswith("Zonal"):
            region = campaigns.regions[0]
            yield f"{name + ' found':20}  {landscape.average(region):.6g}  {region.name}"
    yield ""
    yield from f"regret over {runs} runs\n{rehearsal.table()}".splitlines()
    method = everybody(landscape.space, **settings)["Zonal"]
    assert isinstance(method, StudyPlayer)
    draw(rehearsal, campaign(method.study, landscape, noise, budget, rng, 0, settings.get("feedback")), out)
    yield f"picture               {out.resolve()}"


def draw(rehearsal: Rehearsal, study: Study, out: Path) -> None:
    """Write a plot of one campaign and of the regrets of all."""
    import matplotlib.pyplot as plt

    with column_width():
        figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), width_ratios=[1.5, 1], layout="constrained")
        try:
            plot_map(study, left)
        except InvalidInput:  # no two coordinates
            plot_tree(study, left)
        left.set_title("one campaign of Zonal")
        rehearsal.plot(right)
        right.set_title(f"a budget of {rehearsal.budget:g}, all runs")
        write_picture(figure, out, dpi=150)


def powered(
    recipe: Recipe,
    budgets: Sequence[float],
    *,
    table: Mapping[str, Any] | None = None,
    signal: float | None,
    variance: float | None,
    lengthscale: Any,
    given: bool,
    target: float | None,
    compare: Sequence[str] = (),
    runs: int,
    jobs: int | None,
    out: Path,
) -> Iterator[str]:
    """Simulate campaigns, write the plot and yield the lines of a report."""
    drawn: dict[str, Any]
    if table is None:
        with recipe.blamed():
            space = space_of(recipe).with_smallest()
        noise, rng, settings = planned = _campaign(recipe, space)
        drawn = {"direction": recipe.words.get("direction", "maximize"), "given": given}
        drawn |= _model(space, settings.pop("kernel", None), signal, variance, lengthscale)
        about = f"f with {_description(drawn)}, {'given' if given else 'learned'}"
    else:
        model = {"--signal": signal, "--variance": variance, "--lengthscale": lengthscale, "--given": given}
        stray = [option for option, words in model.items() if words]
        reject(stray, "with a table no functions are drawn", "Leave it out.")
        landscape = landscape_for(recipe, **table)
        space, drawn, about = landscape.space, {"landscape": landscape}, f"the values of {table['table']}"
        noise, rng, settings = planned = _campaign(recipe, space)
    cells = space.leaves(space.max_depth())
    yield f"{cells} smallest regions, {about}; noise {planned.about}, {runs} runs"
    simulated = budgets[0] if len(budgets) == 1 else budgets
    played: dict[str, Any] = {"noise": noise, "runs": runs, "rng": rng, "jobs": jobs, "progress": True}
    analysis: Power | Comparison
    if compare:
        require(target is None, "--target is for one setting", target, "Leave --compare or --target out.")
        cases = dict(map(_compared, compare))
        analysis = compare_power(space, simulated, compare=cases, **played, **drawn, **settings)
    else:
        analysis = power(space, simulated, **played, **drawn, **settings)
    yield from analysis.table().splitlines()
    if target is not None and isinstance(analysis, Power):
        yield _reached(analysis, target)
    _draw(analysis, settings.get("value_name", "value"), out)
    yield f"picture  {out.resolve()}"


def _compared(words: str) -> tuple[str, list[float]]:
    """Return what is compared, and its values, from a text such as "noise=0.1,0.2"."""
    what, _, values = words.partition("=")
    try:
        return what.strip(), [float(value) for value in values.split(",")]
    except ValueError:
        raise InvalidInput("what is compared needs numbers", words, "Write for example noise=0.1,0.2.") from None


def _reached(analysis: Power, target: float) -> str:
    """Return the smallest budget that stays below a regret, for people."""
    budget = analysis.budget_for(target)
    if budget is None:
        return f"no budget up to {analysis.budgets[-1]:g} has its whole interval below {target:g}"
    return f"the first budget with its whole interval below {target:g}: {budget:g}"


def _draw(analysis: Power | Comparison, value: str, out: Path) -> None:
    """Write a plot of the regret against the budget."""
    import matplotlib.pyplot as plt

    with column_width():
        figure, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
        analysis.plot(ax).set_ylabel(f"regret: the best average {value},\nminus that of the region found")
        write_picture(figure, out, dpi=150)


def _model(
    space: Any, kernel: Any, signal: float | None, variance: float | None, lengthscale: Any
) -> dict[str, Any]:
    """Return the model that functions are drawn from, as arguments of `power`."""
    either = signal is None or variance is None
    require(either, "--variance is the square of --signal", variance, "Pass one of the two.")
    if kernel is not None:
        options = {"--signal": signal, "--variance": variance, "--lengthscale": lengthscale}
        stray = [option for option, value in options.items() if value is not None]
        reject(stray, "the recipe has a kernel already", "Leave one of them out.")
        return {"kernel": kernel}
    std = signal if signal is not None else math.sqrt(1.0 if variance is None else variance)
    if lengthscale is None:
        return {"signal": std}
    require(space.continuous_axes, "sequences have no lengthscale", lengthscale, "Leave --lengthscale out.")
    return {"kernel": Matern(std**2, lengthscale)}


def _description(drawn: Mapping[str, Any]) -> str:
    kernel = drawn.get("kernel")
    if kernel is None:
        return f"std {drawn['signal']:g} and a kernel drawn for each run"
    if not isinstance(kernel, Matern):
        return f"the kernel {kernel}"
    scales = kernel.lengthscale if isinstance(kernel.lengthscale, tuple) else (kernel.lengthscale,)
    return f"std {math.sqrt(kernel.variance):g} and lengthscale {', '.join(f'{scale:g}' for scale in scales)}"
