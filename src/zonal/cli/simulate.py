"""Campaigns simulated before the first real measurement: rehearse, power."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import click

from zonal.cli import options
from zonal.cli.create import described, refuse_beside
from zonal.cli.settings import (
    NUMBERS,
    OneOrMore,
    SpaceOptions,
    StudyOptions,
    grouped,
    numbers,
    one_or_more,
    recipe_option,
    space_options,
    study_options,
)
from zonal.engine.noise import PerWeight
from zonal.errors import InvalidInput, reject, require
from zonal.io.files import write_picture
from zonal.io.recipe_text import Recipe, read_recipe
from zonal.kernels.base import Kernel, Matern
from zonal.plotting import column_width, plot_map, plot_tree
from zonal.simulation.comparison import Comparison, compare_power
from zonal.simulation.ground_truth_tables import Columns, ValueTable, landscape_for
from zonal.simulation.power import Power
from zonal.simulation.power import power as power_analysis
from zonal.simulation.rehearsal import Rehearsal, StudyPlayer, campaign, depth_of_smallest, everybody, within_reach
from zonal.simulation.rehearsal import rehearse as rehearsal_of
from zonal.spaces import Space
from zonal.study.recipe import PRICES, where
from zonal.study.recipe import settings as settings_of
from zonal.study.recipe import space as space_of
from zonal.study.study import Study

POSITIVE = options.Finite(min=0, min_open=True)


class Plan(TypedDict):
    """The options of simulated campaigns."""

    recipe: Path | None
    table: Path | None
    budgets: tuple[float, ...]
    space: SpaceOptions
    settings: StudyOptions
    sequence: str | None
    given: bool
    runs: int
    jobs: int | None
    out: Path


def _simulation(
    picture: str, runs: int, fewest: int, table: options.Decorator, budget: options.Decorator
) -> options.Decorator:
    """Return the options of a command that simulates campaigns: those of a study, and those of the simulation."""
    return grouped(
        "plan",
        Plan,
        table,
        budget,
        recipe_option,
        space_options,
        click.option("--sequence", help="Column of sequences, all possible ones of one length."),
        study_options,
        click.option(
            "--given", is_flag=True, help="The search is given noise and model; by default it learns them."
        ),
        options.number_option("--runs", default=runs, minimum=fewest, help="Campaigns per method and budget."),
        options.number_option("--jobs", help="Processes  [default: one per core]"),
        options.picture_option(picture),
    )


REHEARSED = "Number of measurements in a campaign, or their total cost."
SIMULATED = "Number of measurements, or their cost; for a single number, 1/8, 1/4 and 1/2 of it are simulated too."


@click.command()
@_simulation(
    "zonal-rehearsal.png",
    30,
    1,
    click.argument("table", type=options.FilePath()),
    click.option("--budget", "budgets", callback=numbers, help=REHEARSED),
)
def rehearse(plan: Plan) -> None:
    """Simulate a campaign on a TABLE before you pay for it.

    The TABLE is a .csv, .csv.gz, .tsv or .parquet file. Every row is a smallest part: a point (--coords), an
    area (--levels, with --coords for its position) or a sequence (--sequence). Or it is a place in a space of
    axes (--axis, each with its column), where parts without a row have the value of the nearest row. Zonal and
    three simple alternatives spend the same budget on noisy averages computed from the table. All settings of
    `zonal new` may be given, as options or in a recipe.
    """
    _echo(_rehearsed(_recipe(plan), plan))


@click.command()
@_simulation(
    "zonal-power.png",
    50,
    2,
    click.argument("table", required=False, type=options.FilePath()),
    click.option("--budget", "budgets", multiple=True, callback=numbers, metavar=NUMBERS, help=SIMULATED),
)
@click.option("--signal", type=POSITIVE, help="Standard deviation of f  [default: 1]")
@click.option("--variance", type=POSITIVE, help="Its square, instead of --signal.")
@click.option(
    "--lengthscale",
    callback=one_or_more,
    metavar=NUMBERS,
    help="Distance over which f changes, in units of the axes: one, or one per axis  [default: random each run]",
)
@click.option(
    "--target", type=POSITIVE, help="A regret: also name the smallest simulated budget that stays below it."
)
@click.option(
    "--compare",
    multiple=True,
    metavar="WHAT=A,B",
    help="Compare noises (noise=0.1,0.2), beams (beam=4,8) or sizes (size=1,2: times the smallest); repeatable.",
)
def power(
    plan: Plan,
    signal: float | None,
    variance: float | None,
    lengthscale: OneOrMore,
    target: float | None,
    compare: tuple[str, ...],
) -> None:
    """Simulate campaigns, to see how many measurements it takes.

    The answer is how much regret each budget leaves. The campaigns are on functions drawn from the model, over
    axes (--axis) or sequences (--sequences), or on a TABLE with the columns that `zonal rehearse` takes. All
    settings of `zonal new` may be given, as options or in a recipe.
    """
    _echo(_powered(_recipe(plan), plan, signal, variance, lengthscale, target, compare))


def _echo(lines: Iterator[str]) -> None:
    """Print a report line by line, as it is produced."""
    try:
        for line in lines:
            click.echo(line)
    except KeyboardInterrupt:
        raise options.Refusal("interrupted; nothing was written.", options.INTERRUPTED) from None


def _recipe(plan: Plan) -> Recipe:
    """Return the settings of the campaigns; without a space if that is to be found in the columns of a table."""
    refuse_beside(plan["recipe"], but=("value", "decimal"))
    space, settings, budgets = plan["space"], plan["settings"], plan["budgets"]
    if plan["recipe"] is not None:
        recipe = read_recipe(plan["recipe"])
        recipe = replace(recipe, words={**recipe.words, "budget": budgets[0]}) if budgets else recipe
    else:
        has_noise = settings["noise"] is not None or settings["noise_per_weight"] is not None
        for name, is_given in {"noise": has_noise, "budget": bool(budgets)}.items():
            if not is_given:
                raise click.UsageError(f"Missing option '--{name}'.")
        place = Recipe({}, {}, "the options")
        if plan["table"] is None or space["axes"] or space["sequences"]:
            weight = {"weight": space["weight"]} if plan["table"] is None else {}  # else of the rows of the table
            columns = {"coords": space["coords"], "levels": space["levels"], **weight}
            place = where(space["axes"], space["sequences"], None, space["smallest"], **columns)
        recipe = described(place, float(budgets[0]), settings)
    if plan["table"] is not None and settings["value"] is None:
        raise click.UsageError("Missing option '--value': the column of the values to average.")
    return recipe


class _Campaign(NamedTuple):
    """The settings of simulated campaigns."""

    noise: float | PerWeight  # of the instrument
    rng: int
    settings: dict[str, Any]  # of the studies, without space, budget and direction

    @property
    def about(self) -> str:
        """The noise, for people."""
        return f"{self.noise.std:g} / sqrt(weight)" if isinstance(self.noise, PerWeight) else f"{self.noise:g}"


def _campaign(recipe: Recipe, space: Space) -> _Campaign:
    """Return the settings that a recipe gives for campaigns on a space."""
    with recipe.blamed():
        settings: dict[str, Any] = dict(settings_of(recipe, space))
        noise, rng = settings.pop("noise", None), settings.pop("rng", 0)
        counts = settings.get("likelihood") is not None  # whose noise follows from their rate
        noise = 0.0 if counts and noise is None else noise
        has_noise = noise is not None and getattr(noise, "std", 0.0) is not None
        require(has_noise, "a simulation needs the noise of a measurement", noise, "Give it as a number.")
        Study(
            space, **{**settings, "noise": noise or None if counts else noise, "budget": 1}
        )  # raises before hours pass, naming the place
    return _Campaign(
        noise, rng, {name: value for name, value in settings.items() if name not in ("budget", "direction")}
    )


def _table(plan: Plan) -> ValueTable:
    """Return the table of values, with its columns."""
    space, value = plan["space"], plan["settings"]["value"]
    assert plan["table"] is not None
    assert value is not None
    columns = Columns(space["coords"], space["levels"], plan["sequence"], space["weight"], space["smallest"])
    return ValueTable(plan["table"], value, columns, space["decimal"])


def _budgets(recipe: Recipe, plan: Plan) -> Sequence[float]:
    return plan["budgets"] or (recipe.words.get("budget"),)  # type: ignore[return-value]  # checked later


def _rehearsed(recipe: Recipe, plan: Plan) -> Iterator[str]:
    """Rehearse a campaign on a table, write the plot and yield the lines of a report."""
    budgets, runs, out = _budgets(recipe, plan), plan["runs"], plan["out"]
    require(
        len(budgets) == 1, "a rehearsal has one budget", tuple(budgets), "Use `zonal power` to compare several."
    )
    landscape, (budget,) = landscape_for(recipe, _table(plan)), budgets
    number = landscape.space.partition.leaves(depth_of_smallest(landscape.space))
    noise, rng, settings = planned = _campaign(recipe, landscape.space)
    settings |= {"noise": noise} if plan["given"] and settings.get("likelihood") is None else {}
    priced = any(settings.get(name) for name in PRICES)
    fix = "Measure each of them instead of searching."
    require(priced or budget < number, f"the budget covers all {number} smallest regions", budget, fix)
    share = "" if priced else f" ({budget / number:.1%})"
    yield f"{plan['table']}: {number} smallest regions, a budget of {budget:g}{share}, noise {planned.about}"
    best = within_reach(landscape, settings.get("forbidden")).best()
    yield f"true best             {best.average:.6g}  {best.region.name}"
    rehearsal = rehearsal_of(landscape, budget, noise, runs, None, rng, plan["jobs"], progress=True, **settings)
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


def _powered(
    recipe: Recipe,
    plan: Plan,
    signal: float | None,
    variance: float | None,
    lengthscale: OneOrMore,
    target: float | None,
    compare: tuple[str, ...],
) -> Iterator[str]:
    """Simulate campaigns, write the plot and yield the lines of a report."""
    drawn: dict[str, Any] = {"given": plan["given"]}
    if plan["table"] is None:
        with recipe.blamed():
            space = space_of(recipe).with_smallest()
        noise, rng, settings = planned = _campaign(recipe, space)
        kernel, std = _model(space, settings.pop("kernel", None), signal, variance, lengthscale)
        drawn |= {"direction": recipe.words.get("direction", "maximize"), "kernel": kernel, "signal": std}
        about = f"f with {_description(kernel, std)}, {'given' if plan['given'] else 'learned'}"
    else:
        model = {
            "--signal": signal,
            "--variance": variance,
            "--lengthscale": lengthscale,
            "--given": plan["given"],
        }
        stray = [option for option, words in model.items() if words]
        reject(stray, "with a table no functions are drawn", "Leave it out.")
        landscape = landscape_for(recipe, _table(plan))
        space, about = landscape.space, f"the values of {plan['table']}"
        drawn |= {"landscape": landscape}
        noise, rng, settings = planned = _campaign(recipe, space)
    cells, runs = space.partition.leaves(depth_of_smallest(space)), plan["runs"]
    yield f"{cells} smallest regions, {about}; noise {planned.about}, {runs} runs"
    budgets = _budgets(recipe, plan)
    simulated = budgets[0] if len(budgets) == 1 else budgets
    played: dict[str, Any] = {"noise": noise, "runs": runs, "rng": rng, "jobs": plan["jobs"], "progress": True}
    analysis: Power | Comparison
    if compare:
        require(target is None, "--target is for one setting", target, "Leave --compare or --target out.")
        cases = dict(map(_compared, compare))
        analysis = compare_power(space, simulated, compare=cases, **played, **drawn, **settings)
    else:
        analysis = power_analysis(space, simulated, **played, **drawn, **settings)
    yield from analysis.table().splitlines()
    if target is not None and isinstance(analysis, Power):
        yield _reached(analysis, target)
    _draw(analysis, settings.get("value_name", "value"), plan["out"])
    yield f"picture  {plan['out'].resolve()}"


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
    space: Space, kernel: Kernel | None, signal: float | None, variance: float | None, lengthscale: OneOrMore
) -> tuple[Kernel | None, float | None]:
    """Return the kernel that functions are drawn from, or else their standard deviation."""
    either = signal is None or variance is None
    require(either, "--variance is the square of --signal", variance, "Pass one of the two.")
    if kernel is not None:
        model = {"--signal": signal, "--variance": variance, "--lengthscale": lengthscale}
        stray = [option for option, value in model.items() if value is not None]
        reject(stray, "the recipe has a kernel already", "Leave one of them out.")
        return kernel, None
    std = signal if signal is not None else math.sqrt(1.0 if variance is None else variance)
    if lengthscale is None:
        return None, std
    require(space.continuous_axes, "sequences have no lengthscale", lengthscale, "Leave --lengthscale out.")
    return Matern(std**2, lengthscale), None


def _description(kernel: Kernel | None, std: float | None) -> str:
    if kernel is None:
        return f"std {std:g} and a kernel drawn for each run"
    if not isinstance(kernel, Matern):
        return f"the kernel {kernel}"
    scales = kernel.lengthscale if isinstance(kernel.lengthscale, tuple) else (kernel.lengthscale,)
    return f"std {math.sqrt(kernel.variance):g} and lengthscale {', '.join(f'{scale:g}' for scale in scales)}"
