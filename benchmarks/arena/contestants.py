"""The interface of a contestant, and what it measures through: a meter that counts, limits and times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from time import process_time
from typing import NamedTuple

import numpy as np

from benchmarks.arena.problems import ACTING, Case, Parts, Problem
from zonal.simulation.simulators import Instrument
from zonal.spaces import Region


class Spent(Exception):
    """The budget is spent; raised by the meter for those who cannot be told when to stop."""


class Meter:
    """Measures regions; knows how many were measured and how long the contestant thought about it.

    Parameters
    ----------
    instrument : Instrument
        What measures.
    budget : int
        Measurements that may be made.
    """

    def __init__(self, instrument: Instrument, budget: int) -> None:
        self.spent = 0
        self._instrument = instrument
        self._budget = budget
        self._asked: list[float] = []  # seconds of thought before each measurement
        self._measuring = 0.0
        self._start = process_time()

    def __call__(self, region: Region) -> float:
        """Return a noisy measurement of a region."""
        if self.spent >= self._budget:
            raise Spent
        now = process_time()
        self._asked.append(now - self._start - self._measuring)
        value = self._instrument(region)
        self.spent += 1
        self._measuring += process_time() - now
        return value

    def seconds(self, measurements: int) -> float:
        """Return the CPU time of the search until it asked for more than so many measurements, or until now."""
        if measurements < len(self._asked):
            return self._asked[measurements]
        return process_time() - self._start - self._measuring


class Pick(NamedTuple):
    """What a contestant settles for.

    Attributes
    ----------
    cell : tuple of int
        A smallest cell; empty where what is lost is known already.
    loss : float, optional
        What is lost, in the groups on acting.
    """

    cell: Parts
    loss: float | None = None


Play = Callable[[Problem, Meter, tuple[int, ...], np.random.Generator], dict[int, Pick]]


def all_budgets(case: Case) -> tuple[int, ...]:
    """Return the budgets of a case: those of a contestant that takes part in everything but acting."""
    return () if case.group in ACTING else case.budgets


def ordered_only(case: Case) -> tuple[int, ...]:
    """Return the budgets of a case whose axes have an order: points mean nothing among symbols."""
    return () if case.symbols else all_budgets(case)


@dataclass(frozen=True)
class Contestant:
    """Who takes part.

    Attributes
    ----------
    name, about : str
        What it is called, and one line for the page.
    play : callable
        Problem, meter, budgets and random numbers to what it settles for at each budget.
    packages : tuple of str
        Distributions whose versions its results depend on; it sits out if one is missing.
    modules : tuple of str
        What it loads, before its time is taken.
    default : bool
        Whether it decides by Zonal's default policy, so that a change of that changes it.
    anytime : bool
        Whether one run at the largest budget can be read off at the smaller ones; else it is played at each.
    budgets : callable
        Case to the budgets that it plays, none if it sits out.
    revision : int
        Raised when its way to play changes, so that older results do not count.
    """

    name: str
    about: str
    play: Play
    packages: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    default: bool = False
    anytime: bool = False
    budgets: Callable[[Case], tuple[int, ...]] = all_budgets
    revision: int = 1

    @property
    def ours(self) -> bool:
        """Whether it is one of Zonal's own."""
        return "zonal" in self.packages

    def versions(self) -> dict[str, str] | None:
        """Return the versions of its packages, None if one is missing."""
        try:
            return {name: metadata.version(name) for name in self.packages}
        except metadata.PackageNotFoundError:
            return None


class Readings:
    """Measurements of smallest cells so far, for contestants that settle for the best mean reading."""

    def __init__(self, problem: Problem, meter: Meter) -> None:
        self._problem = problem
        self._meter = meter
        self.cells: list[Parts] = []
        self.values: list[float] = []

    def measure(self, cell: Parts) -> float:
        """Return a measurement of a smallest cell, and keep it."""
        value = self._meter(self._problem.cell(cell))
        self.cells.append(cell)
        self.values.append(value)
        return value

    def best(self, first: int) -> Pick:
        """Return the cell of the highest mean reading among the first so many."""
        own: dict[Parts, list[float]] = {}
        for cell, value in zip(self.cells[:first], self.values[:first], strict=True):
            own.setdefault(cell, []).append(value)
        return Pick(max(own, key=lambda cell: float(np.mean(own[cell]))))
