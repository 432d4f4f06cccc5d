"""Aggregated regret against budget: the paper's comparison of algorithms on its first two functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import zonal as zn
from zonal.paper import authors
from zonal.paper.results import STYLES, Settings, Table, save, seed
from zonal.paper.runs import Answer, Task, run_all
from zonal.policies import Policy
from zonal.problems import aggregated_regret, grid_optimum

NOISE = 0.1
LEVEL = 8  # 256 smallest regions for the baselines
SHOWN = (10, 20, 40, 60, 80)  # budgets in the table


def policies() -> dict[str, Policy]:
    """Return the paper's algorithms and our baselines, by name."""
    delta = zn.GeometricDelta(14, 0.5)
    return {
        "GPOO": zn.GPOO(delta),
        "GPOO, before": zn.GPOO(delta, test="before"),
        "GPOO, highest": zn.GPOO(delta, returns="highest"),
        "StoOO": zn.StoOO(delta),
        "GPTree": zn.GPTree(),
        "uniform grid": zn.UniformGrid(),
        "random": zn.Random(LEVEL),
        "GP-UCB": zn.UCB(LEVEL),
        "Thompson": zn.Thompson(LEVEL),
    }


def paper_run(function: str, policy: str, s: int, budget: int, seed: list[int], arity: int = 2) -> Answer:
    """Run one algorithm as the paper defines it; return its regret after each measurement."""
    f = zn.reward_function(function, "paper")  # type: ignore[arg-type]
    _, f_star = grid_optimum(f)
    instrument = zn.simulate(f, zn.Average(s), NOISE, rng=np.random.default_rng(seed))
    study = zn.Study(
        zn.Box([(0, 1)], arity=arity),
        budget=budget,
        kernel=f.kernel,  # "we use the known GP"
        noise=NOISE,
        feedback=zn.Average(s),
        policy=policies()[policy],
        rng=np.random.default_rng([*seed, 1]),
    )
    regret = []
    for _ in range(budget):
        trial = study.ask()
        study.tell(trial, instrument(trial.region))
        regret.append(aggregated_regret(instrument, study.found, f_star))
    return {"regret": regret}


def authors_run(function: str, policy: str, s: int, budget: int, seed: list[int], arity: int = 2) -> Answer:
    """Run one algorithm as the authors' code did; return its regret at each budget."""
    task = authors.Task(zn.reward_function(function, "authors"), s, arity)  # type: ignore[arg-type]
    rng = np.random.default_rng(seed)
    if policy == "StoOO":  # whose width depends on the budget: a run for each
        return {"regret": [task.regret(authors.stooo(task, n, rng).recommended[-1]) for n in range(1, budget + 1)]}
    search = {"GPOO": authors.gpoo, "GPTree": authors.gptree}[policy]
    return {"regret": list(task.regrets(search(task, budget, rng)))}


def experiment(settings: Settings) -> Table:
    """Run the comparison, write its picture and its table."""
    run = authors_run if settings.preset == "authors" else paper_run
    names = ["GPOO", "StoOO", "GPTree"]
    if settings.preset == "paper":
        names = list(policies())
    cases = [(f, name, s) for f in ("f1", "f2") for name in names for s in (1, 10)]
    if settings.preset == "authors":
        cases = [case for case in cases if case[1:] != ("GPTree", 10)]  # the paper never ran it
    tasks = [
        Task(run, {"function": f, "policy": name, "s": s, "budget": settings.budget, "seed": seed(settings, i)})
        for f, name, s in cases
        for i in range(settings.runs)
    ]
    answers = iter(run_all(tasks, settings.out, settings.jobs, "regret"))
    curves = {case: np.array([next(answers)["regret"] for _ in range(settings.runs)]) for case in cases}

    shown = [n for n in SHOWN if n <= settings.budget]
    columns = [*(f"N={n}" for n in shown), *(f"se {n}" for n in shown)]
    table = Table("regret", ["function", "algorithm", "S", *columns])
    for (f, name, s), curve in curves.items():
        some = curve[:, [n - 1 for n in shown]]
        error = some.std(axis=0, ddof=1) / math.sqrt(len(curve)) if len(curve) > 1 else some[0] * math.nan
        table.rows.append([f, label(name, s), s, *some.mean(axis=0).tolist(), *error.tolist()])
    table.notes.append(f"mean aggregated regret over {settings.runs} runs; se: standard error of that mean")
    table.write(settings, curves={" | ".join(map(str, case)): curve.tolist() for case, curve in curves.items()})
    save(_figure(curves, settings), settings, "regret")
    return table


def label(name: str, s: int) -> str:
    """Return an algorithm's name: StoOO with averages is AVE-StoOO."""
    return "AVE-StoOO" if (name, s > 1) == ("StoOO", True) else name


def _figure(curves: dict[tuple[str, str, int], Any], settings: Settings) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 7), layout="constrained")
    top, bottom = figure.subplots(2, 2, height_ratios=[1, 1.6])
    shown = [("GPOO", 1), ("GPOO", 10), ("StoOO", 1), ("StoOO", 10), ("GPTree", 1)]
    budgets = np.arange(1, settings.budget + 1)
    x = np.linspace(0, 1, 1000)
    for j, name in enumerate(("f1", "f2")):
        f = zn.reward_function(name, settings.preset)  # type: ignore[arg-type]
        x_star, f_star = grid_optimum(f)
        top[j].plot(x, f(x[:, None]), color="black", lw=1.5)
        top[j].plot(x_star, f_star, "o", color="#D55E00", ms=7, label=f"optimum {f_star:.3f} at {x_star:.3f}")
        top[j].set(title=f"reward function {name}", xlabel="x", ylabel="f(x)", ylim=(-0.2, 1.25), xlim=(0, 1))
        top[j].legend(loc="upper center", frameon=False)
        for (algorithm, s), (colour, style) in zip(shown, STYLES, strict=False):
            curve = curves[name, algorithm, s]
            mean, std = curve.mean(axis=0), curve.std(axis=0)
            bottom[j].plot(budgets, mean, color=colour, ls=style, lw=1.8, label=f"{label(algorithm, s)}, S = {s}")
            bottom[j].fill_between(budgets, mean - std, mean + std, color=colour, alpha=0.13, lw=0)
        bottom[j].set(xlabel="budget N (measurements)", ylabel="aggregated regret", xlim=(1, settings.budget))
        bottom[j].margins(y=0.03)  # no band is cut off
    handles, labels = bottom[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    return figure
