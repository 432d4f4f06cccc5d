"""The c of delta(h) = c 2^-h, chosen by cross-validation over functions drawn from the model.

The paper only says that its c = 14 came from cross-validation. It was found for the authors' procedure, whose beta
is far smaller than the text's, so that procedure is cross-validated too. Every c searches the same functions with
the same noise, so that differences between them are paired.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import zonal as zn
from reproduction import authors
from reproduction.searches import NOISE, search, study
from reproduction.sweeps import STYLES, Answer, Plan, Report, columns, standard_error, sweep
from zonal._types import Floats
from zonal.simulation import draw, true_optimum

Procedure = tuple[str, int]  # whose procedure, and S

KERNEL = zn.RBF(variance=0.1, lengthscale=0.05)
PROCEDURES: tuple[Procedure, ...] = (("authors", 1), ("authors", 10), ("text", 10))
NAMES = {"authors": "the authors' procedure", "text": "the text"}
GRID = (1, 2, 3, 5, 7, 10, 14, 20, 28, 40, 56, 80)
PAPER = 14
FUNCTIONS = 4  # per run: a search is cheap, and thirty are too few to distinguish neighbouring c
FOLDS = 10
EARLIER = (20, 40)  # budgets shown beside the full one
TICKS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


def search_run(procedure: str, s: int, budget: int, seed: list[int]) -> Answer:
    """Draw one function and search it with every c; return the regrets after each measurement, one list per c."""
    f = draw(KERNEL, 0, 1, np.random.default_rng([*seed, 0]))
    theirs, f_star = authors.Task(f, s), true_optimum(f)[1]

    def regret(c: float) -> list[float]:
        rng = np.random.default_rng([*seed, 1])
        if procedure == "authors":
            return [theirs.regret(node) for node in authors.gpoo(theirs, budget, rng, c).recommended]
        policy = zn.GPOO(zn.GeometricDelta(c, 0.5))
        regrets: list[float] = search(study(KERNEL, policy, s, budget), f, f_star, rng)["regret"]
        return regrets

    return {"regret": [regret(c) for c in GRID]}


def cross_validate(regret: Floats, folds: int) -> tuple[NDArray[np.intp], Floats]:
    """Choose a column on all folds but one and take its regret on that one, fold by fold.

    `regret` has a row per function and a column per c. Returns the column chosen without each fold (ties go to the
    first), and the regret of each function under the c that was chosen without it.
    """
    fold = np.arange(len(regret)) % folds
    choices = np.array([np.argmin(regret[fold != k].mean(axis=0)) for k in range(folds)], dtype=np.intp)
    return choices, regret[np.arange(len(regret)), choices[fold]]


def experiment(plan: Plan) -> Report:
    """Search with every c, choose one, write the curves as a plot and a table."""
    cases = {(whose, s): {"procedure": whose, "s": s} for whose, s in PROCEDURES}
    number = FUNCTIONS * plan.runs
    done = sweep(plan, "delta", search_run, cases, dict.fromkeys(cases, number), budget=plan.budget)
    curves = columns(done, "regret")  # functions, c, N
    budgets = [n for n in EARLIER if n < plan.budget]
    names = ["c", "regret", "se", "minus chosen", "se of that", "folds", *(f"regret N={n}" for n in budgets)]
    report = Report("delta", ["procedure", "S", *names])
    report.notes.append(
        f"GPOO, delta(h) = c 2^-h, noise {NOISE}, N = {plan.budget}, h_max = 10; mean aggregated regret over "
        f"{number} functions drawn from RBF(0.1, 0.05), the same for every c and procedure; se: its error; folds: "
        f"how often c was chosen without the fold it is judged on."
    )
    for case, curve in curves.items():
        report.rows.extend([*case, *row] for row in _rows(curve, budgets))
        report.notes.append(_note(*case, curve[:, :, -1]))
    chosen = {f"{whose}, S = {s}": GRID[_best(curve[:, :, -1])] for (whose, s), curve in curves.items()}
    return report.publish(plan, _figure(curves, plan), chosen=chosen)


def _best(regret: Floats) -> int:
    """Return the number of the c with the lowest mean regret."""
    return int(np.argmin(regret.mean(axis=0)))


def _rows(curve: Floats, budgets: list[int]) -> list[list[float]]:
    """Return one row per c."""
    regret = curve[:, :, -1]
    choices, _ = cross_validate(regret, min(FOLDS, len(regret)))
    rows = []
    for j, c in enumerate(GRID):
        regrets, gap = regret[:, j], regret[:, j] - regret[:, _best(regret)]
        means = [regrets.mean(), standard_error(regrets), gap.mean(), standard_error(gap)]
        earlier = [curve[:, j, n - 1].mean() for n in budgets]
        rows.append([c, *map(float, means), int(np.sum(choices == j)), *map(float, earlier)])
    return rows


def _note(whose: str, s: int, regret: Floats) -> str:
    best = _best(regret)
    gaps = (regret - regret[:, [best]]).T
    alike = [c for c, gap in zip(GRID, gaps, strict=True) if gap.mean() <= standard_error(gap)]
    edge = " (at the grid's edge: a better one may lie beyond)" if best in (0, len(GRID) - 1) else ""
    _, left_out = cross_validate(regret, min(FOLDS, len(regret)))
    paper = regret[:, GRID.index(PAPER)]
    return (
        f"{NAMES[whose]}, S = {s}: lowest at c = {GRID[best]}{edge}, "
        f"within one standard error of it: {', '.join(map(str, alike))}; cross-validated regret "
        f"{left_out.mean():.4f} ± {standard_error(left_out):.4f}; c = {PAPER} has {paper.mean():.4f}, more by "
        f"{(paper - left_out).mean():.4f} ± {standard_error(paper - left_out):.4f}."
    )


def _figure(curves: dict[Procedure, Floats], plan: Plan) -> Figure:
    figure = Figure(figsize=(4.8, 4.6), layout="constrained")
    axes: Any = figure.subplots()
    for ((whose, s), curve), (colour, style), marker in zip(curves.items(), STYLES, "os^D", strict=False):
        regret, name = curve[:, :, -1], f"{whose}, S = {s}"
        best, error = _best(regret), [standard_error(column) for column in regret.T]
        axes.errorbar(
            GRID, regret.mean(axis=0), error, color=colour, ls=style, marker=marker, ms=5, capsize=3, label=name
        )
        axes.plot(GRID[best], regret[:, best].mean(), "o", ms=13, mfc="none", mec=colour)
    axes.plot([], [], "o", ms=11, mfc="none", mec="black", ls="", label="lowest")
    axes.axvline(PAPER, color="black", lw=1, ls=":", label=f"the paper's c = {PAPER}")
    axes.set(xscale="log", yscale="log", xlabel=r"$c$ of $\delta(h) = c\,2^{-h}$ (value units)")
    axes.set_ylabel(f"mean aggregated regret, N = {plan.budget}")
    axes.set_xticks(GRID, [str(c) for c in GRID])
    axes.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
    axes.minorticks_off()
    lowest = min(float(curve[:, :, -1].mean(axis=0).min()) for curve in curves.values())
    axes.set_ylim(0.8 * lowest, None)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure
