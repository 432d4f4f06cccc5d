"""Aggregated regret against budget: the paper's comparison of algorithms on its first two functions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

import zonal as zn
from reproduction.searches import FunctionName, label, policies, regret_run, regret_table
from reproduction.sweeps import Plan, Report, columns, draw_regrets, sweep
from zonal._types import Floats
from zonal.simulation import grid_optimum

FUNCTIONS: tuple[FunctionName, ...] = ("f1", "f2")
ALGORITHMS = [("GPOO", 1), ("GPOO", 10), ("StoOO", 1), ("StoOO", 10), ("GPTree", 1)]  # that the paper compares
Curves = dict[tuple[FunctionName, str, int], Floats]  # by function, algorithm and S; a row per run


def regrets(plan: Plan, often: Mapping[str, int] | None = None) -> Curves:
    """Return the regrets of all runs of the paper's algorithms; by its text, of our baselines too.

    `often` has the numbers of runs of algorithms that differ from the plan's.
    """
    all_of_ours = [(name, s) for name in policies() for s in (1, 10)]
    compared = ALGORITHMS if plan.preset == "authors" else all_of_ours
    cases = {(f, name, s): {"function": f, "policy": name, "s": s} for f in FUNCTIONS for name, s in compared}
    runs = {case: (often or {}).get(case[1], plan.runs) for case in cases}
    done = sweep(plan, "regret", regret_run, cases, runs, preset=plan.preset, budget=plan.budget)
    return columns(done, "regret")


def experiment(plan: Plan) -> Report:
    """Run the comparison, write its plot and its table."""
    curves = regrets(plan)
    named = {(f, label(name, s), s): curve for (f, name, s), curve in curves.items()}
    report = regret_table("regret", ["function", "algorithm", "S"], named)
    report.notes.append(f"mean aggregated regret over {plan.runs} runs; se: standard error of that mean")
    return report.publish(plan, _figure(curves, plan))


def _figure(curves: Curves, plan: Plan) -> Figure:
    figure = Figure(figsize=(10, 7), layout="constrained")
    top, bottom = figure.subplots(2, 2, height_ratios=[1, 1.6])
    x = np.linspace(0, 1, 1000)
    for j, name in enumerate(FUNCTIONS):
        f = zn.reward_function(name, plan.preset)
        x_star, f_star = grid_optimum(f)
        top[j].plot(x, f(x[:, None]), color="black", lw=1.5)
        top[j].plot(x_star, f_star, "o", color="#D55E00", ms=7, label=f"optimum {f_star:.3f} at {x_star:.3f}")
        top[j].set(title=f"reward function {name}", xlabel="x", ylabel="f(x)", ylim=(-0.2, 1.25), xlim=(0, 1))
        top[j].legend(loc="upper center", frameon=False)
        shown = {f"{label(algorithm, s)}, S = {s}": curves[name, algorithm, s] for algorithm, s in ALGORITHMS}
        draw_regrets(bottom[j], shown, 1.8, 0.13)
        bottom[j].margins(y=0.03)  # so that no band is cut off
    figure.legend(*bottom[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    return figure
