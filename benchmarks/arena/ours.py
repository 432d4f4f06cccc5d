"""Zonal's own: the default with nothing given, the same restricted, and every other policy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import zonal as zn
from benchmarks.acting import TIMES
from benchmarks.arena.contestants import Contestant, Meter, Pick, Play, all_budgets
from benchmarks.arena.entropy import InformationGain, MaxValueEntropy
from benchmarks.arena.problems import Case, Problem
from zonal.policies.baselines import MOST_LEAVES

DEFAULT = "Zonal"
MOST_DRAWN = 1024  # cells
HINDSIGHT = "the best fixed time in hindsight"
FIXED = {f"Zonal, looks of time {time:g}": time for time in (1.0, 4.0, 16.0)}
Settings = Callable[[Problem], dict[str, Any]]  # of a study, besides space, budget, feedback and random numbers


def zonal(settings: Settings = lambda problem: {}, scaled: bool = False) -> Play:
    """Return a contestant that calls `zn.maximize` at each budget, its rewards between 0 and 1 if `scaled`."""

    def play(
        problem: Problem, meter: Meter, budgets: tuple[int, ...], rng: np.random.Generator
    ) -> dict[int, Pick]:
        (budget,) = budgets

        def measure(region: zn.Region) -> float:
            return problem.scaled(meter(region)) if scaled else meter(region)

        usual: dict[str, Any] = {"feedback": problem.feedback} if problem.feedback else {}
        chosen = {"space": problem.space, "budget": budget, "rng": rng} | usual | settings(problem)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", zn.ModelWarning)  # meant for whoever owns the study
            result = zn.maximize(measure, **chosen)
            if result.message.startswith("interrupted"):
                raise KeyboardInterrupt  # half a campaign must not count as one
            return {budget: Pick(settle(problem, result))}

    return play


def settle(problem: Problem, result: zn.Result) -> tuple[int, ...]:
    """Return the recommended cell; within a larger region that of the highest posterior mean, or its middle."""
    region = result.study.recommend(on_grid=True).region
    cells = problem.within(region)
    if len(cells) == 1:
        return cells[0]
    try:
        means = result.study.predict([problem.cell(cell) for cell in cells]).mean
    except zn.InvalidInput:  # the empirical belief knows nodes of its tree only
        return problem.middle(region)
    return cells[int(np.argmax(means))]


def acting(usual: Play | None = None, **how: Any) -> Play:
    """Return a contestant that plays as told in each group on acting, and elsewhere as usual."""

    def play(
        problem: Problem, meter: Meter, budgets: tuple[int, ...], rng: np.random.Generator
    ) -> dict[int, Pick]:
        if problem.acts is None:
            assert usual is not None
            return usual(problem, meter, budgets, rng)
        (n,) = budgets
        loss, meter.spent = problem.acts(how[problem.group], n)
        return {n: Pick((), loss=loss)}

    return play


def rivals() -> list[Contestant]:
    """Return who plays in the groups on acting besides the default."""

    def one(group: str, how: Any, name: str, about: str) -> Contestant:
        def budgets(case: Case) -> tuple[int, ...]:
            return case.budgets if case.group == group else ()

        return Contestant(name, about, acting(**{group: how}), ("zonal",), default=True, budgets=budgets)

    set_of = "the set above the threshold, from"
    return [
        *(one("time", (time,), name, "the default, every look as long") for name, time in FIXED.items()),
        one("", None, HINDSIGHT, "of these, on each problem the one of the lowest mean regret"),
        one("travel", False, "Zonal, ignoring travel", "the default, which pays for travel without knowing of it"),
        one("above", "the default", "Zonal, the default's data", f"{set_of} the default's own measurements"),
        one("above", "random", "Zonal, data at random", f"{set_of} smallest regions at random"),
        one("above", "grid", "Zonal, data of a grid", f"{set_of} the finest grid that can be paid"),
        one(
            "above",
            "straddle",
            "Zonal, straddle",
            f"{set_of} smallest regions of 1.96 std less the distance to it",
        ),
    ]


def gpoo(problem: Problem) -> dict[str, Any]:
    """Return GPOO with the delta that it takes from the kernel, all the way down."""
    symbols = isinstance(problem.space, zn.Sequences)
    delta = zn.SpreadDelta() if symbols else zn.LipschitzDelta()
    return {"policy": zn.GPOO(delta, h_max=problem.depth)}


def as_given(problem: Problem) -> dict[str, Any]:
    """Return the noise where it depends on the region, else nothing."""
    return {"noise": problem.noise} if callable(problem.noise) else {}


def countable(case: Case) -> tuple[int, ...]:
    """Return the budgets of a case with no more smallest cells than a policy over all of them can hold."""
    return all_budgets(case) if case.cells <= MOST_LEAVES else ()


def drawable(case: Case) -> tuple[int, ...]:
    """Return the budgets of a case with so few smallest cells that drawing them jointly takes no minutes."""
    return all_budgets(case) if case.cells <= MOST_DRAWN else ()


def with_falling_noise(case: Case) -> tuple[int, ...]:
    """Return the budgets of a case whose noise falls with the size of a region."""
    return case.budgets if case.group in ("noise", "sparse", "privacy") else ()


def contestants() -> list[Contestant]:
    """Return Zonal's contestants, the default first; those whose policy this version has not are left out."""

    def one(
        name: str, about: str, settings: Settings, budgets: Any = all_budgets, default: bool = False
    ) -> Contestant:
        return Contestant(name, about, zonal(settings), ("zonal",), default=default, budgets=budgets)

    said = "`zn.maximize` with space, budget and nothing else; what looks cost, where they do; `Above` for sets"
    both = acting(zonal(), time=TIMES, travel=True, above="Above")
    listed = [Contestant(DEFAULT, said, both, ("zonal",), default=True, budgets=lambda case: case.budgets)]
    few = f"where there are no more than {MOST_LEAVES:,} cells"
    gradient = getattr(zn, "KnowledgeGradient", None)
    if gradient is not None:
        listed.append(
            one(
                "Zonal, smallest regions only",
                "the same policy, `KnowledgeGradient(depths='smallest')`",
                lambda problem: {"policy": gradient(depths="smallest")},
                default=True,
            )
        )
    return [
        *listed,
        one(
            "Zonal, noise given",
            "the default, told how the noise falls",
            lambda problem: {"noise": problem.noise},
            with_falling_noise,
            default=True,
        ),
        one(
            "Zonal, noise said to fall",
            "the default with `noise=zn.PerWeight()`: how large the noise is, is learned; where it is added "
            "for privacy it falls faster than that",
            lambda problem: {"noise": zn.PerWeight()},
            with_falling_noise,
            default=True,
        ),
        one(
            "Zonal, information gain",
            "region sensing's criterion under Zonal's models: the region whose result tells most about f; noise "
            "that depends on the region is given",
            lambda problem: {"policy": InformationGain()} | as_given(problem),
            countable,
        ),
        one(
            "Zonal, max-value entropy",
            "the criterion of the paper's successor under Zonal's models: the region whose result tells most "
            "about the highest average; noise that depends on the region is given",
            lambda problem: {"policy": MaxValueEntropy()} | as_given(problem),
            countable,
        ),
        one("Zonal, GPOO", "`GPOO`, everything learned", gpoo),
        one("Zonal, UCB", f"`UCB()`; {few}", lambda problem: {"policy": zn.UCB()}, countable),
        one(
            "Zonal, Thompson",
            f"`Thompson()`; where there are no more than {MOST_DRAWN:,} cells, since it draws all of them jointly",
            lambda problem: {"policy": zn.Thompson()},
            drawable,
        ),
        one("Zonal, GPTree", "`GPTree()`", lambda problem: {"policy": zn.GPTree()}),
        Contestant(
            "Zonal, StoOO",
            "`StoOO(GeometricDelta(14, 0.5))`, its rewards scaled by the true range",
            zonal(lambda problem: {"policy": zn.StoOO(zn.GeometricDelta(14, 0.5))}, scaled=True),
            ("zonal",),
        ),
        one("Zonal, UniformGrid", "`UniformGrid()`", lambda problem: {"policy": zn.UniformGrid()}),
        one(
            "Zonal, Random",
            f"`Random()`: a model, no choice; {few}",
            lambda problem: {"policy": zn.Random()},
            countable,
        ),
        *rivals(),
    ]
