"""Simulated instruments: a function of points turned into noisy averages over regions, and the paper's functions.

This room plays the world's part. It must not know studies, beliefs or policies.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonal.errors import InvalidInput, NumericalWarning, standard_deviation
from zonal.feedback import Feedback
from zonal.kernels import RBF
from zonal.spaces import Region

Floats = NDArray[np.float64]
Function = Callable[[Floats], ArrayLike]
Noise = float | Callable[[Region], float]

QUADRATURE = 1e-10  # relative accuracy of exact means


@dataclass(frozen=True)
class PerWeight:
    """Noise that averages out: ``std / sqrt(weight)`` for a region of that weight (a box's volume).

    Parameters
    ----------
    std : float
        Standard deviation of one measurement of a region of weight 1.
    """

    std: float

    def __post_init__(self) -> None:
        standard_deviation(self.std, "PerWeight's std")

    def __call__(self, region: Region) -> float:
        """Return the standard deviation of one measurement of `region`."""
        return self.std / math.sqrt(region.weight)


class Simulation:
    """A simulated instrument: call it with a region to measure it. Made by `simulate`."""

    def __init__(self, f: Function, feedback: Feedback, noise: Noise, rng: np.random.Generator) -> None:
        if not callable(f):
            raise InvalidInput("f must be a function of points", f, "Pass a callable (n, d) -> (n,).")
        if not callable(noise):
            noise = standard_deviation(noise, "noise")
        self._f = f
        self._feedback = feedback
        self._noise = noise
        self._rng = rng
        self._known: dict[tuple[tuple[float, float], ...], float] = {}

    def __call__(self, region: Region) -> float:
        """Return a noisy measurement of `region`; repeated calls draw new noise."""
        return self.average(region) + self._std(region) * float(self._rng.standard_normal())

    def at(self, region: Region, number: int) -> float:
        """Return the measurement of trial `number`, the same on every worker and in any order."""
        seed = self._rng.bit_generator.seed_seq
        assert isinstance(seed, np.random.SeedSequence)
        own = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, number))
        noise = float(np.random.default_rng(own).standard_normal())
        return self.average(region) + self._std(region) * noise

    def average(self, region: Region) -> float:
        """Return the true average F-bar of f over `region`, as this instrument's feedback sees it."""
        if region.edges not in self._known:
            if self._feedback.grid is None:
                mean = _mean(self._values, region)
            else:
                mean = float(self._values(self._feedback.points(region.center, region.widths)).mean())
            self._known[region.edges] = mean
        return self._known[region.edges]

    def _std(self, region: Region) -> float:
        noise = self._noise
        return standard_deviation(noise(region), "noise") if callable(noise) else noise

    def _values(self, points: Floats) -> Floats:
        values = np.asarray(self._f(points), dtype=float)
        if values.shape != (len(points),):
            raise InvalidInput(
                f"f must turn points of shape {points.shape} into values of shape ({len(points)},)",
                values.shape,
                "Vectorise f over the first axis.",
            )
        if not np.isfinite(values).all():
            where = points[~np.isfinite(values)][0]
            raise InvalidInput("f is not finite", where, "Keep the space where f is defined.")
        return values


def simulate(
    f: Function,
    feedback: Feedback,
    noise: Noise = 0.0,
    rng: int | np.random.Generator | None = None,
) -> Simulation:
    """Turn a function of points into a measuring function for regions.

    Parameters
    ----------
    f : callable
        Vectorised: points of shape (n, d) to values of shape (n,).
    feedback : Center, Average or Mean
        What a measurement sees; `Mean` integrates f by adaptive cubature.
    noise : float or callable
        Standard deviation of the measurement noise, or a function of the region.
    rng : int or Generator, optional
        Where the noise comes from.

    Examples
    --------
    >>> from zonal import Box, Average
    >>> measure = simulate(lambda x: x[:, 0] ** 2, Average(10), noise=0.1, rng=0)
    >>> round(measure.average(Box([(0, 1)]).cell((1, 1))), 4)
    0.5831
    """
    return Simulation(f, feedback, noise, np.random.default_rng(rng))


def _mean(f: Callable[[Floats], Floats], region: Region) -> float:
    """Return the mean of f over a region by adaptive cubature; axes of width 0 are held fixed."""
    from scipy.integrate import cubature

    low, widths = region.bounds[:, 0], region.widths
    free = np.flatnonzero(widths)
    # Halton-like probes: how large f is decides what accuracy means where the mean is near zero.
    probes = (np.arange(1, 65)[:, None] * np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0])[None, :]) % 1.0
    steps = np.resize(probes.T, (len(low), 64)).T
    scale = float(np.max(np.abs(f(low + steps * widths))))
    if len(free) == 0:
        return float(f(low[None, :])[0])

    def inside(u: Floats) -> Floats:
        points = np.tile(low, (len(u), 1))
        points[:, free] += u * widths[free]
        return f(points)

    result = cubature(
        inside, np.zeros(len(free)), np.ones(len(free)), rtol=QUADRATURE, atol=QUADRATURE * scale + 1e-300
    )
    if result.status != "converged":
        warnings.warn(
            f"the mean of f over {region.name} is only accurate to about {float(result.error):.1g}",
            NumericalWarning,
            stacklevel=2,
        )
    return float(result.estimate)


@dataclass(frozen=True)
class RewardFunction:
    """One of the paper's reward functions: the posterior mean of a GP given hand-picked points.

    Attributes
    ----------
    name : {"f1", "f2", "f3"}
    preset : {"authors", "paper"}
    x, y : array, shape (n,)
        The points.
    lengthscale : float
        Of the function's own RBF kernel; its variance is 0.1 and its noise variance 0.005.
    """

    name: str
    preset: str
    x: Floats
    y: Floats
    lengthscale: float

    def __call__(self, points: ArrayLike) -> Floats:
        """Return the function's values at points of shape (n, 1)."""
        kernel = RBF(0.1, self.lengthscale)
        x = self.x[:, None]
        weights = np.linalg.solve(kernel(x, x) + 0.005 * np.eye(len(x)), self.y)
        return kernel(np.asarray(points, dtype=float), x) @ weights

    def grid_optimum(self, points: int = 1000) -> tuple[float, float]:
        """Return x* and f* on a grid over [0, 1], as the paper finds them."""
        grid = np.linspace(0, 1, points)
        values = self(grid[:, None])
        top = int(np.argmax(values))
        return float(grid[top]), float(values[top])


def reward_function(
    name: Literal["f1", "f2", "f3"], preset: Literal["authors", "paper"] = "authors"
) -> RewardFunction:
    """Return one of the paper's three reward functions on [0, 1].

    Parameters
    ----------
    name : {"f1", "f2", "f3"}
        f1 and f2 are the two of the regret comparison, f3 the one that shows the benefit of averages.
    preset : {"authors", "paper"}
        As the authors' code defines them, or as the text does (docs/fidelity.md, rows 8 to 11).
    """
    if preset not in ("authors", "paper"):
        raise InvalidInput("preset must be 'authors' or 'paper'", preset, "Choose one of the two.")
    if name == "f1":
        x = np.array([0.05, 0.2, 0.4, 0.65, 0.9])
        y = np.array([0.85, 0.1, 0.87, 0.05, 0.98])
        return RewardFunction(name, preset, x, y, 0.1 if preset == "authors" else 0.05)
    if name not in ("f2", "f3"):
        raise InvalidInput("name must be 'f1', 'f2' or 'f3'", name, "Choose one of the three.")
    regions = 9 if preset == "authors" else 10
    width = 0.9 / regions
    centers = width * (np.arange(regions) + 0.5)
    x = np.concatenate([centers, centers + 2 / 3 * width, [0.95]])
    y = np.concatenate([np.full(regions, 0.1), np.full(regions, 0.2), [0.9]])
    if name == "f2":
        return RewardFunction(name, preset, x, y, 0.05)
    return RewardFunction(name, preset, np.append(x, [0.94, 0.945]), np.append(y, [0.1, 0.2]), 0.01)
