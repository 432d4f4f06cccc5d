"""The c of delta(h) = c 2^-h, chosen by cross-validation over functions drawn from the model.

The paper says that its c = 14 came from cross-validation and no more. Here every c searches the same functions
with the same noise, so that differences between them are paired.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import zonal as zn
from zonal.paper.results import STYLES, Settings, Table, save, seed
from zonal.paper.runs import Answer, Task, run_all
from zonal.problems import aggregated_regret, draw, true_optimum

Floats = NDArray[np.float64]

KERNEL = zn.RBF(variance=0.1, lengthscale=0.05)
NOISE = 0.1
S = 10
GRID = (1, 2, 3, 5, 7, 10, 14, 20, 28, 40, 56, 80)
PAPER = 14
FUNCTIONS = 4  # drawn for each run asked for: a search is cheap, and thirty are too few to tell neighbours apart
FOLDS = 10
EARLIER = (20, 40)  # budgets shown beside the full one
TICKS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


def search_run(budget: int, seed: list[int]) -> Answer:
    """Draw one function and search it with every c; return the regrets after each measurement, a list a c."""
    f = draw(KERNEL, 0, 1, np.random.default_rng([*seed, 0]))
    _, f_star = true_optimum(f)
    regrets = []
    for c in GRID:
        instrument = zn.simulate(f, zn.Average(S), NOISE, rng=np.random.default_rng([*seed, 1]))
        study = zn.Study(
            zn.Box([(0, 1)]),
            budget=budget,
            kernel=KERNEL,
            noise=NOISE,
            feedback=zn.Average(S),
            policy=zn.GPOO(zn.GeometricDelta(c, 0.5)),
        )
        regret = []
        for _ in range(budget):
            trial = study.ask()
            study.tell(trial, instrument(trial.region))
            regret.append(aggregated_regret(instrument, study.recommend().region, f_star))
        regrets.append(regret)
    return {"regret": regrets}


def cross_validate(regret: Floats, folds: int) -> tuple[NDArray[np.intp], Floats]:
    """Choose a column on all folds but one and read its regret on that one, fold by fold.

    Parameters
    ----------
    regret : array, shape (n, m)
        A function a row, a c a column.
    folds : int
        How many parts the functions are dealt into; at most n. With n parts each function is left out alone.

    Returns
    -------
    choices : array, shape (folds,)
        The column of the lowest mean regret on the other folds; ties go to the first.
    left_out : array, shape (n,)
        Regret of each function under the c that was chosen without it.
    """
    fold = np.arange(len(regret)) % folds
    choices = np.array([np.argmin(regret[fold != k].mean(axis=0)) for k in range(folds)], dtype=np.intp)
    return choices, regret[np.arange(len(regret)), choices[fold]]


def experiment(settings: Settings) -> Table:
    """Search with every c, choose one, write the curve as a picture and a table."""
    number = FUNCTIONS * settings.runs
    tasks = [Task(search_run, {"budget": settings.budget, "seed": seed(settings, i)}) for i in range(number)]
    answers = run_all(tasks, settings.out, settings.jobs, "delta")
    curves = np.array([answer["regret"] for answer in answers])  # functions, c, N
    regret = curves[:, :, -1]
    best = int(np.argmin(regret.mean(axis=0)))
    choices, left_out = cross_validate(regret, min(FOLDS, number))
    budgets = [n for n in EARLIER if n < settings.budget]
    table = Table(
        "delta",
        ["c", "regret", "se", "minus chosen", "se of that", "folds", *(f"regret N={n}" for n in budgets)],
    )
    for j, c in enumerate(GRID):
        paired = regret[:, j] - regret[:, best]
        table.rows.append(
            [
                c,
                float(regret[:, j].mean()),
                _error(regret[:, j]),
                float(paired.mean()),
                _error(paired),
                int(np.sum(choices == j)),
                *(float(curves[:, j, n - 1].mean()) for n in budgets),
            ]
        )
    table.notes.extend(_notes(settings, regret, best, left_out))
    table.write(
        settings, chosen=GRID[best], curves=curves[:, :, [n - 1 for n in (*budgets, settings.budget)]].tolist()
    )
    save(_figure(curves, best, settings), settings, "delta")
    return table


def _notes(settings: Settings, regret: Floats, best: int, left_out: Floats) -> list[str]:
    gaps = [regret[:, j] - regret[:, best] for j in range(len(GRID))]
    alike = [c for c, gap in zip(GRID, gaps, strict=True) if gap.mean() <= _error(gap)]
    edge = " (at the grid's edge: a better one may lie beyond)" if best in (0, len(GRID) - 1) else ""
    paper = regret[:, GRID.index(PAPER)]
    return [
        f"GPOO, delta(h) = c 2^-h, S = {S}, noise {NOISE}, N = {settings.budget}, h_max = 10; mean aggregated "
        f"regret over {len(regret)} functions drawn from RBF(0.1, 0.05), the same for every c; se: its error.",
        f"chosen c = {GRID[best]}{edge}: the lowest mean over all functions. "
        f"Within one standard error of the paired difference: {', '.join(map(str, alike))}.",
        f"{min(FOLDS, len(regret))}-fold cross-validation, c chosen without the fold it is judged on: regret "
        f"{left_out.mean():.4f} ± {_error(left_out):.4f}; folds: how often each c was chosen.",
        f"the paper's c = {PAPER}: regret {paper.mean():.4f}; less the cross-validated one: "
        f"{(paper - left_out).mean():.4f} ± {_error(paper - left_out):.4f}.",
    ]


def _error(values: Floats) -> float:
    """Return the standard error of a mean; 0 for a single value, which has none."""
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def _figure(curves: Floats, best: int, settings: Settings) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.8, 4.4), layout="constrained")
    axes: Any = figure.subplots()
    budgets = [*(n for n in EARLIER if n < settings.budget), settings.budget]
    order = [STYLES[4], STYLES[2], STYLES[0]][-len(budgets) :]
    for n, (colour, style), marker in zip(budgets, order, "D^o"[-len(budgets) :], strict=True):
        regret = curves[:, :, n - 1]
        error = np.array([_error(column) for column in regret.T])
        mean = regret.mean(axis=0)
        axes.errorbar(GRID, mean, error, color=colour, ls=style, marker=marker, ms=5, capsize=3, label=f"N = {n}")
    mean = curves[:, best, -1].mean()
    axes.plot(GRID[best], mean, "o", ms=13, mfc="none", mec="black", label=f"chosen: c = {GRID[best]}", ls="")
    axes.axvline(PAPER, color="black", lw=1, ls=":", label=f"the paper's c = {PAPER}")
    axes.set(xscale="log", yscale="log", xlabel=r"$c$ of $\delta(h) = c\,2^{-h}$ (value units)")
    axes.set_ylabel("mean aggregated regret (value units)")
    axes.set_xticks(GRID, [str(c) for c in GRID])
    axes.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
    axes.minorticks_off()
    axes.set_ylim(0.8 * curves[:, :, -1].mean(axis=0).min(), None)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure
