"""The value of slopes and differences: the step that the paper's conclusion leaves open.

On the paper's functions, and on draws of its Gaussian process, GPOO and the default search with averages only,
with averages and slopes, and, with an instrument whose zero drifts between measurements, with plain averages and
with differences to the whole interval, in which the drift cancels. The model is given.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

import zonal as zn
from reproduction import authors
from reproduction.searches import NOISE, reward_function
from reproduction.sweeps import STYLES, Answer, Cell, Plan, Preset, Report, columns, standard_error, sweep
from zonal._types import Floats
from zonal.kernels.base import Kernel
from zonal.plotting import column_width
from zonal.plotting.curves import Function
from zonal.simulation import aggregated_regret, grid_optimum

S = 10  # points that a measurement averages
SEM = 1.0  # of a slope; f has slopes of about 6
DRIFT = 0.1  # standard deviation of the change of the zero between measurements
BUDGETS = (20, 40, 80)
FUNCTIONS = ("f1", "f2", "f3", "draw")
POLICIES = ("GPOO", "default")
WAYS = ("averages", "averages and slopes", "averages, zero drifting", "differences, zero drifting")
BASE = {WAYS[1]: WAYS[0], WAYS[3]: WAYS[2]}  # compared run by run
SPACING = 0.4  # of the points that define a draw, in lengthscales: between them it is nearly determined
Regrets = dict[tuple[str, str, str, int], Floats]  # by function, policy, way and budget; an entry per run
TWO = 1.96  # standard errors of a 95 % interval


def drawn(kernel: zn.RBF, rng: np.random.Generator) -> Function:
    """Return a function on the unit interval drawn from a Gaussian process, to within 1e-3 of its std."""
    points = np.linspace(0, 1, int(1 / (SPACING * float(np.max(kernel.lengthscale)))) + 1)[:, None]
    gram = kernel(points, points) + 1e-10 * kernel.variance * np.eye(len(points))
    weights = np.linalg.solve(gram, np.linalg.cholesky(gram) @ rng.standard_normal(len(points)))
    return lambda x: kernel(x, points) @ weights


def run(preset: Preset, function: str, policy: str, way: str, budget: int, seed: list[int]) -> Answer:
    """Search one of `FUNCTIONS` in one of `WAYS`; return the `regret` of the region recommended at the end.

    Noise, drift and a drawn function depend only on the seed; draws are from the same process in both presets.
    """
    f, kernel = _problem(preset, function, seed)
    noise, beside, moves = (np.random.default_rng([*seed, number]) for number in range(3))
    feedback = zn.Average(S)
    instrument = zn.simulate(f, feedback, 0.0)
    gpoo = zn.GPOO(zn.GeometricDelta(14, 0.5)) if policy == "GPOO" else None
    study = zn.Study([(0, 1)], budget=budget, kernel=kernel, noise=NOISE, feedback=feedback, policy=gpoo, rng=0)
    whole, zero = study.space.cell((0, 0)), 0.0
    # The model does not include a drifting zero, and the study warns about it.
    with warnings.catch_warnings(action="ignore", category=zn.ModelWarning):
        for _ in range(budget):
            trial = study.ask()
            region = trial.region
            value = instrument.average(region) + NOISE * float(noise.standard_normal())
            off = NOISE * float(beside.standard_normal())
            zero += DRIFT * float(moves.standard_normal())
            if way == "averages and slopes":
                slope = instrument.slope(region, "x") + SEM / NOISE * off
                study.tell(trial, value, slopes={"x": (slope, SEM)})
            elif way == "differences, zero drifting" and region.node != whole.node:
                other = instrument.average(whole) + off
                study.tell(trial, (value + zero) - (other + zero), math.sqrt(2) * NOISE, minus=whole)
            else:
                study.tell(trial, value + (zero if way.endswith("drifting") else 0.0))
    return {"regret": aggregated_regret(instrument, study.recommend(on_grid=True).region, grid_optimum(f)[1])}


def _problem(preset: Preset, function: str, seed: list[int]) -> tuple[Function, Kernel]:
    """Return a function, and the kernel that its search is given."""
    if function == "draw":
        return drawn(authors.KERNEL, np.random.default_rng([*seed, 3])), authors.KERNEL
    f = reward_function(function, preset)  # type: ignore[arg-type]
    return f, authors.KERNEL if preset == "authors" else f.kernel


@column_width()
def experiment(plan: Plan) -> Report:
    """Compare the ways to search; plot mean regrets with their standard errors."""
    budgets = [n for n in BUDGETS if n <= plan.budget] or [plan.budget]
    every = list(itertools.product(FUNCTIONS, POLICIES, WAYS, budgets))
    cases = {case: dict(zip(("function", "policy", "way", "budget"), case, strict=True)) for case in every}
    regrets = columns(sweep(plan, "gradients", run, cases, preset=plan.preset), "regret")
    names = [f"{what}{n}" for what in ("N=", "se ", "less ") for n in budgets]
    report = Report("gradients", ["f", "search", "with", *names], _rows(regrets, budgets))
    report.notes += [
        f"mean aggregated regret over {plan.runs} runs, S = {S}, noise {NOISE}; se: standard error of that mean",
        f"slopes have a standard error of {SEM:g}; a zero that drifts moves by {DRIFT:g} from one measurement to "
        f"the next, and a difference, to the whole interval, has noise {math.sqrt(2) * NOISE:.3g} and costs as "
        "much as an average",
        "less: by how much regret is less than in the row above, run by run, with its 95 % interval",
        "each N is a search of its own; the default plans with its budget",
    ]
    return report.publish(
        plan,
        _figure(regrets, budgets),
        regrets={" ".join(map(str, case)): regrets.tolist() for case, regrets in regrets.items()},
    )


def _rows(regrets_of: Regrets, budgets: list[int]) -> list[Sequence[Cell]]:
    """Return mean regrets, their errors, and by how much they are less than without slopes or differences."""
    rows: list[Sequence[Cell]] = []
    for f, policy, way in itertools.product(FUNCTIONS, POLICIES, WAYS):
        both = way, BASE.get(way, way)
        regrets, before = (
            np.array([regrets_of[f, policy, with_or_without, n] for n in budgets]).T for with_or_without in both
        )
        less = _less(before, regrets) if way in BASE else [""] * len(budgets)
        rows.append([f, policy, way, *regrets.mean(axis=0).tolist(), *standard_error(regrets).tolist(), *less])
    return rows


def _less(before: Floats, after: Floats) -> list[str]:
    """Return by how much numbers are smaller, run by run, with a 95 % interval, for each column."""
    saved = before - after
    savings = zip(saved.mean(axis=0), TWO * standard_error(saved), strict=True)
    return [f"{mean:.4f} ± {error:.4f}" for mean, error in savings]


def _figure(regrets_of: Regrets, budgets: list[int]) -> Figure:
    figure = Figure(figsize=(7, 8), layout="constrained")
    grid = figure.subplots(len(FUNCTIONS), len(POLICIES), sharex=True, sharey="row", squeeze=False)
    for row, function in zip(grid, FUNCTIONS, strict=True):
        for ax, policy in zip(row, POLICIES, strict=True):
            for way, (colour, style) in zip(WAYS, STYLES, strict=False):
                curves = [regrets_of[function, policy, way, n] for n in budgets]
                means, errors = ([float(of(regrets)) for regrets in curves] for of in (np.mean, standard_error))
                ax.errorbar(
                    budgets, means, TWO * np.array(errors), color=colour, ls=style, lw=1.4, capsize=2, label=way
                )
            ax.set(title=f"{function}, {policy}", xticks=budgets, yscale="log")
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            ax.yaxis.set_major_formatter(FuncFormatter(lambda regret, _: f"{regret:g}"))
            ax.yaxis.set_minor_formatter(NullFormatter())
        row[0].set_ylabel("aggregated regret")
    for ax in grid[-1]:
        ax.set_xlabel("budget N (measurements)")
    figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure
