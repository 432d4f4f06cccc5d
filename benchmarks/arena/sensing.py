"""Region sensing for one sparse signal (Ma, Garnett and Schneider 2017): a posterior over its place, not over f.

It is told the height of the signal and the noise, and measures the region whose result tells most about the place.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.arena.contestants import Contestant, Meter, Pick
from benchmarks.arena.problems import Case, Problem

Floats = NDArray[np.float64]
GRID = np.linspace(-8.0, 8.0, 161)  # standard deviations, over which a result's entropy is integrated


def region_sensing(
    problem: Problem, meter: Meter, budgets: tuple[int, ...], rng: np.random.Generator
) -> dict[int, Pick]:
    """Play; settle for the most probable place."""
    space, cells = problem.space, problem.averages.size
    nodes = [(depth, index) for depth in range(problem.depth + 1) for index in range(space.partition.count(depth))]
    regions = [space.cell(node) for node in nodes]
    inside = np.zeros((len(nodes), cells), dtype=bool)
    for row, region in enumerate(regions):
        inside[row, [part for (part,) in problem.within(region)]] = True
    signal = float(problem.averages.max() - problem.averages.min()) / inside.sum(axis=1)
    zero = float(problem.averages.min())
    noise = np.array([problem.noise(region) if callable(problem.noise) else problem.noise for region in regions])
    logs, picks = np.zeros(cells), dict[int, Pick]()
    for n in range(max(budgets) + 1):
        if n in budgets:
            picks[n] = Pick((int(np.argmax(logs)),))
        if n == max(budgets):
            break
        weights = np.exp(logs - logs.max())
        row = int(np.argmax(told(inside @ (weights / weights.sum()), signal / noise)))
        value = meter(regions[row]) - zero
        logs += -0.5 * ((value - signal[row] * inside[row]) / noise[row]) ** 2
    return picks


def told(probability: Floats, height: Floats) -> Floats:
    """Return what a result tells about the place: whether it lies in a region, seen at `height` noise stds."""
    p = np.clip(probability, 0.0, 1.0)[:, None]
    half = 0.5 * height[:, None]
    wide = half + GRID * np.maximum(1.0, (half + 6) / 8)  # reaches both peaks
    step = wide[:, 1:2] - wide[:, :1]
    peak = np.exp(-0.5 * (wide - height[:, None]) ** 2) / np.sqrt(2 * np.pi)
    none = np.exp(-0.5 * wide**2) / np.sqrt(2 * np.pi)
    density = p * peak + (1 - p) * none
    entropy = -(density * np.log(np.maximum(density, 1e-300)) * step).sum(axis=1)
    return np.asarray(entropy - 0.5 * np.log(2 * np.pi * np.e))


def of_one_signal(case: Case) -> tuple[int, ...]:
    """Return the budgets of a case with one sparse signal."""
    return case.budgets if case.name == "one signal" else ()


def contestants() -> list[Contestant]:
    """Return region sensing."""
    return [
        Contestant(
            "region sensing",
            "Ma, Garnett and Schneider 2017, for one signal: a posterior over its place and information gain, "
            "given the height of the signal and the noise",
            region_sensing,
            anytime=True,
            budgets=of_one_signal,
        )
    ]
