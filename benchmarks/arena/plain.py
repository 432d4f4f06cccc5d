"""Contestants without a model of f: random, one level, greedy descent, DIRECT, and PyXAB's tree searches."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from benchmarks.arena.contestants import Contestant, Meter, Pick, Play, Readings, Spent, ordered_only
from benchmarks.arena.problems import Problem
from zonal.simulation import rehearsal
from zonal.simulation.ground_truth import Landscape

PYXAB: dict[str, tuple[str, Callable[[int], dict[str, Any]]]] = {  # module, and settings of a budget
    "SequOOL": ("SequOOL", lambda n: {"n": n}),
    "StoSOO": ("StoSOO", lambda n: {"n": n}),
    "HCT": ("HCT", lambda n: {}),
    "VHCT": ("VHCT", lambda n: {}),
    "T_HOO": ("HOO", lambda n: {"rounds": n}),
}


def at_random(
    problem: Problem, meter: Meter, budgets: tuple[int, ...], rng: np.random.Generator
) -> dict[int, Pick]:
    """Measure smallest cells drawn at random, none twice."""
    readings = Readings(problem, meter)
    for flat in rng.choice(problem.averages.size, max(budgets), replace=False):
        readings.measure(tuple(int(part) for part in np.unravel_index(flat, problem.shape)))
    return {n: readings.best(n) for n in budgets}


def rehearsed(player: rehearsal.Player) -> Play:
    """Return one of the people of `zonal.simulation.rehearsal` who do without Zonal, at the smallest size."""

    def play(
        problem: Problem, meter: Meter, budgets: tuple[int, ...], rng: np.random.Generator
    ) -> dict[int, Pick]:
        (budget,) = budgets
        region = player(cast(Landscape, problem), cast(Any, meter), budget, rng)
        return {budget: Pick(problem.middle(region))}

    return play


def direct(problem: Problem, meter: Meter, budgets: tuple[int, ...], rng: np.random.Generator) -> dict[int, Pick]:
    """Play scipy's DIRECT; its limits are lifted, and the meter ends it."""
    from scipy.optimize import Bounds
    from scipy.optimize import direct as search

    readings = Readings(problem, meter)
    many = 100 * max(budgets)

    def loss(x: Any) -> float:
        return -readings.measure(problem.at(x))

    cube = Bounds([0.0] * len(problem.shape), [1.0] * len(problem.shape))
    try:
        search(loss, cube, maxfun=many, maxiter=many, vol_tol=0, len_tol=0)
    except Spent:
        pass
    except SystemError as error:  # as which older versions of scipy pass on whatever is raised
        if not isinstance(error.__cause__, Spent):
            raise
    return {n: readings.best(n) for n in budgets}


def pyxab(name: str) -> Play:
    """Return one of PyXAB's algorithms with its defaults."""

    def play(
        problem: Problem, meter: Meter, budgets: tuple[int, ...], rng: np.random.Generator
    ) -> dict[int, Pick]:
        (budget,) = budgets
        module, settings = PYXAB[name]
        np.random.seed(int(rng.integers(2**32)))  # from which its partitions draw
        search = getattr(importlib.import_module(f"PyXAB.algos.{module}"), name)(
            domain=[[0, 1]] * len(problem.shape), **settings(budget)
        )
        for t in range(1, budget + 1):
            point = search.pull(t)
            search.receive_reward(t, problem.scaled(meter(problem.cell(problem.at(point)))))
        return {budget: Pick(problem.at(search.get_last_point()))}

    return play


def contestants() -> list[Contestant]:
    """Return the contestants without a model."""
    middle = "the cell in the middle of its region"
    return [
        Contestant("random", "smallest cells at random, the best reading", at_random, anytime=True),
        Contestant(
            "one level",
            f"every region of the deepest level that the budget covers; {middle}",
            rehearsed(rehearsal.one_level),
        ),
        Contestant(
            "greedy descent",
            f"the best child of the best child ...; {middle}",
            rehearsed(rehearsal.greedy_descent),
        ),
        Contestant(
            "scipy DIRECT",
            "`scipy.optimize.direct`, the best mean reading",
            direct,
            ("scipy",),
            ("scipy.optimize",),
            anytime=True,
            budgets=ordered_only,
        ),
        *(
            Contestant(
                f"PyXAB {name}",
                "defaults, its own last point; rewards scaled by the true range",
                pyxab(name),
                ("PyXAB",),
                (f"PyXAB.algos.{PYXAB[name][0]}",),
                budgets=ordered_only,
            )
            for name in PYXAB
        ),
    ]
