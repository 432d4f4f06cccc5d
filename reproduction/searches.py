"""One search on the unit interval by the paper's text, or as its authors ran it, and its regret."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

import zonal as zn
from reproduction import authors
from reproduction.sweeps import Answer, Preset, Report, standard_error
from zonal._types import Floats
from zonal.kernels.base import Kernel
from zonal.simulation import RewardFunction, aggregated_regret, grid_optimum
from zonal.simulation.simulators import Function

FunctionName = Literal["f1", "f2", "f3"]

NOISE = 0.1
LEVEL = 8  # 256 smallest regions for the baselines
SHOWN = (10, 20, 40, 60, 80)  # budgets in a table


def policies() -> dict[str, zn.Policy]:
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


def label(policy: str, s: int) -> str:
    """Return the name of an algorithm in tables: StoOO with averages is AVE-StoOO."""
    return "AVE-StoOO" if policy == "StoOO" and s > 1 else policy


def study(
    kernel: Kernel, policy: zn.Policy, s: int, budget: int, arity: int = 2, rng: np.random.Generator | None = None
) -> zn.Study:
    """Return a study of averages over `s` points in cells of the unit interval, not started yet."""
    return zn.Study(
        zn.Box([(0, 1)], arity=arity),
        budget=budget,
        kernel=kernel,
        noise=NOISE,
        feedback=zn.Average(s),
        policy=policy,
        rng=rng,
        value_name="reward",
    )


def search(searched: zn.Study, f: Function, f_star: float, rng: np.random.Generator) -> Answer:
    """Let a study spend its budget on a function, with noise from `rng`.

    The answer has `regret` and the `recommended` node after each measurement, the nodes `visited`, their
    `rewards`, and the nodes `expanded`.
    """
    instrument = zn.simulate(f, searched.settings.feedback, NOISE, rng)
    regions = []
    for _ in range(searched.remaining):
        trial = searched.ask()
        searched.tell(trial, instrument(trial.region))
        regions.append(searched.recommend(on_grid=True).region)
    tree = searched.tree
    return {
        "regret": [aggregated_regret(instrument, region, f_star) for region in regions],
        "recommended": [region.node for region in regions],
        "visited": [trial.node for trial in searched.trials],
        "rewards": [trial.value for trial in searched.trials],
        "expanded": np.column_stack([tree.depth, tree.index])[tree.first_child >= 0].tolist(),
    }


def reward_function(name: FunctionName, preset: Preset, variance: bool = False) -> RewardFunction:
    """Return one of the paper's functions; with `variance`, the text's 0.005 is a variance in its preset too."""
    f = zn.reward_function(name, preset)
    return replace(f, noise=math.sqrt(f.noise)) if variance else f


def run(
    preset: Preset,
    function: FunctionName,
    policy: str,
    s: int,
    budget: int,
    seed: list[int],
    arity: int = 2,
    variance: bool = False,
) -> Answer:
    """Run an algorithm, one of `policies`, on a function and by the procedure of a preset.

    `s`, `budget` and `arity` are S, N and K; the authors' procedures are GPOO, StoOO and GPTree. The answer is
    that of `search`.
    """
    f, rng = reward_function(function, preset, variance), np.random.default_rng(seed)
    if preset == "authors":
        return _authors_search(authors.Task(f, s, arity), policy, budget, rng)
    study_rng = np.random.default_rng([*seed, 1])
    with_model = study(f.kernel, policies()[policy], s, budget, arity, study_rng)  # "we use the known GP"
    return search(with_model, f, grid_optimum(f)[1], rng)


def _authors_search(task: authors.Task, policy: str, budget: int, rng: np.random.Generator) -> Answer:
    if policy == "StoOO":  # its widths depend on the budget: one run for each
        runs = [authors.stooo(task, n, rng) for n in range(1, budget + 1)]
        last, recommended = runs[-1], [search.recommended[-1] for search in runs]
    else:
        last = {"GPOO": authors.gpoo, "GPTree": authors.gptree}[policy](task, budget, rng)
        recommended = last.recommended
    regret = [task.regret(node) for node in recommended]
    walk = {"visited": last.visited, "rewards": last.rewards, "expanded": last.expanded}
    return {"regret": regret, "recommended": recommended, **walk}


def regret_run(**values: Any) -> Answer:
    """Return only the regret that `run` returns."""
    return {"regret": run(**values)["regret"]}


def regret_table(name: str, columns: list[str], curves: Mapping[Any, Floats]) -> Report:
    """Return mean regrets at some budgets and their standard errors, one row per case.

    A case is the row's first cells, its curve an array with one row per run.
    """
    shown = [n for n in SHOWN if n <= min(curve.shape[1] for curve in curves.values())]
    report = Report(name, [*columns, *(f"N={n}" for n in shown), *(f"se {n}" for n in shown)])
    for case, curve in curves.items():
        at_budgets = curve[:, [n - 1 for n in shown]]
        report.rows.append([*case, *at_budgets.mean(axis=0).tolist(), *standard_error(at_budgets).tolist()])
    return report
