"""Simulated instruments: a function of points turned into noisy averages over regions, and the paper's functions.

This room plays the world's part. It must not know studies, beliefs or policies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonal.averages.feedback import Feedback
from zonal.averages.kernels import RBF
from zonal.errors import (
    InvalidInput,
    NumericalWarning,
    check_choice,
    random_generator,
    standard_deviation,
    warn_user,
)
from zonal.problems.instruments import Instrument, Noise
from zonal.problems.landscapes import Landscape, from_table
from zonal.spaces import Category, Region, with_feedback

Floats = NDArray[np.float64]
Function = Callable[[Floats], ArrayLike]

__all__ = ["Landscape", "PerWeight", "RewardFunction", "Simulation", "from_table", "reward_function", "simulate"]

QUADRATURE = 1e-9  # accuracy of exact means, relative to the size of f
POOR = 1e-5  # accuracy below which a warning is due
MOST_NODES = 2_000_000


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
        if region.weight <= 0:
            raise InvalidInput(
                "noise per weight has no value for a region without weight",
                region.name,
                "Tell its standard error: sem=...",
            )
        return self.std / math.sqrt(region.weight)


class Simulation(Instrument):
    """A simulated instrument: call it with a region to measure it. Made by `simulate`."""

    def __init__(self, f: Function, feedback: Feedback, noise: Noise, rng: np.random.Generator) -> None:
        if not callable(f):
            raise InvalidInput("f must be a function of points", f, "Pass a callable (n, d) -> (n,).")
        if not isinstance(feedback, Feedback):
            raise InvalidInput("feedback must be Center(), Average(s) or Mean()", feedback, "Pass one.")
        super().__init__(noise, rng)
        self._f = f
        self._feedback = feedback
        self._known: dict[tuple[Any, Hashable], float] = {}

    def average(self, region: Region) -> float:
        """Return the true average F-bar of f over `region`, as this instrument's feedback sees it."""
        place = region.space, region.key
        if place not in self._known:
            if region.space.axes is None:
                seen = with_feedback(region, self._feedback)
                mean = float(seen.weights @ self._values(seen.points))
            else:
                mean = _mean(self._values, region, self._feedback)
            self._known[place] = mean
        return self._known[place]

    def _values(self, points: Floats) -> Floats:
        values = np.asarray(self._f(points))
        if values.shape != (len(points),):
            raise InvalidInput(
                f"f must turn points of shape {points.shape} into values of shape ({len(points)},)",
                values.shape,
                "Vectorise f over the first axis.",
            )
        if values.dtype.kind not in "biuf":
            raise InvalidInput("f must return numbers", values.ravel()[:1].tolist(), "Return floats.")
        values = values.astype(float)
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
    return Simulation(f, feedback, noise, random_generator(rng))


def _mean(f: Callable[[Floats], Floats], region: Any, feedback: Feedback) -> float:
    """Return the mean of f over what a feedback sees of a product, by finer and finer rules until two agree.

    Along an axis of symbols, and where points are looked at, one rule is exact.
    """
    space = region.space
    exact: list[tuple[Floats, Floats] | None] = []  # by axis
    for axis, offset, width in zip(space.axes, region.offset, region.sizes, strict=True):
        if isinstance(axis, Category):
            symbols = axis.members(int(offset))
            exact.append((np.array(symbols, dtype=float), axis.frequencies(int(offset))[symbols]))
            continue
        measure = feedback.along(axis)
        places, weights = measure.rule(width, 1, 1)
        single = measure.finite or not measure.rule(width, 2, 1)[0].any()  # all at one place
        exact.append((axis.low + offset + places, weights) if single else None)
    free = [j for j, rule in enumerate(exact) if rule is None]
    most = MOST_NODES // max(1, math.prod(len(rule[0]) for rule in exact if rule is not None))
    if most < 1:
        raise InvalidInput(
            f"f would have to be evaluated at more than {MOST_NODES} points, or combinations of symbols",
            region.name,
            "Measure pools in a way of your own: any function of a region will do.",
        )
    estimate, gap, scale = math.nan, math.inf, 0.0
    for panels, order in _finer(len(free), most):
        rules = list(exact)
        for j in free:
            places, weights = feedback.along(space.axes[j]).rule(region.sizes[j], panels, order)
            rules[j] = space.axes[j].low + region.offset[j] + places, weights
        axes, shares = zip(*(rule for rule in rules if rule is not None), strict=True)
        grid = np.stack([place.ravel() for place in np.meshgrid(*axes, indexing="ij")], axis=1)
        values = f(space.native(grid))  # rules are spread as the axes are: over decades, if logarithmic
        scale = max(scale, float(np.max(np.abs(values))))
        values = values.reshape([len(place) for place in axes])
        for weights in reversed(shares):
            values = values @ weights
        gap, estimate = abs(float(values) - estimate), float(values)
        if not free or gap <= QUADRATURE * scale:
            return estimate
    if gap > POOR * scale:
        warn_user(NumericalWarning(f"the mean of f over {region.name} is only accurate to about {gap:.1g}"))
    return estimate


def _finer(d: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield panels and their order, finer and finer, as fine as `d` axes allow.

    With few axes, more and more panels of 16 places, which narrow peaks and kinks need; with many, more places.
    """
    panels, order = {1: 8, 2: 2}.get(d, 1), 16 if d <= 3 else 4
    while d > 0 and order > 1 and (panels * order) ** d > most:
        panels, order = 1, order // 2
    yield panels, order
    while d > 0:
        if d <= 3:
            panels *= 2
        else:
            order += max(1, order // 3)
        if (panels * order) ** d > most:
            return
        yield panels, order


@dataclass(frozen=True)
class RewardFunction:
    """One of the paper's reward functions: the posterior mean of a GP given hand-picked points.

    Attributes
    ----------
    name : {"f1", "f2", "f3"}
    preset : {"authors", "paper"}
    x, y : tuple of float
        The points.
    lengthscale : float
        Of the function's own RBF kernel, whose variance is 0.1.
    noise : float
        Standard deviation of the noise of its GP: the text's 0.005, which is a variance in the authors' code.
    """

    name: str
    preset: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    lengthscale: float
    noise: float

    @property
    def kernel(self) -> RBF:
        """Its own kernel."""
        return RBF(0.1, self.lengthscale)

    def __call__(self, points: ArrayLike) -> Floats:
        """Return the function's values at points of shape (n, 1)."""
        x = np.array(self.x)[:, None]
        return self.kernel(np.asarray(points, dtype=float), x) @ self._weights

    @cached_property
    def _weights(self) -> Floats:
        x = np.array(self.x)[:, None]
        noisy = self.kernel(x, x) + self.noise**2 * np.eye(len(x))
        return np.asarray(np.linalg.solve(noisy, self.y), dtype=float)


def reward_function(
    name: Literal["f1", "f2", "f3"], preset: Literal["authors", "paper"] = "authors", shift: float = 0.0
) -> RewardFunction:
    """Return one of the paper's three reward functions on [0, 1].

    Parameters
    ----------
    name : {"f1", "f2", "f3"}
        f1 and f2 are the two of the regret comparison, f3 the one that shows the benefit of averages.
    preset : {"authors", "paper"}
        As the authors' code defines them, or as the text does (docs/fidelity.md, rows 8 to 11).
    shift : float
        By how much the function is moved to the right. Fixed functions flatter algorithms whose grid happens to
        hit the maximum; draw a shift for each run, for example from -0.04 to 0.04.
    """
    check_choice(preset, "preset", ("authors", "paper"))
    check_choice(name, "name", ("f1", "f2", "f3"))
    noise = math.sqrt(0.005) if preset == "authors" else 0.005
    if name == "f1":
        x = np.array([0.05, 0.2, 0.4, 0.65, 0.9])
        y = np.array([0.85, 0.1, 0.87, 0.05, 0.98])
        return RewardFunction(name, preset, *_tuples(x + shift, y), 0.1 if preset == "authors" else 0.05, noise)
    regions = 9 if preset == "authors" else 10
    width = 0.9 / regions
    centers = width * (np.arange(regions) + 0.5)
    x = np.concatenate([centers, centers + 2 / 3 * width, [0.95]])
    y = np.concatenate([np.full(regions, 0.1), np.full(regions, 0.2), [0.9]])
    if name == "f2":
        return RewardFunction(name, preset, *_tuples(x + shift, y), 0.05, noise)
    x, y = np.append(x, [0.94, 0.945]), np.append(y, [0.1, 0.2])
    return RewardFunction(name, preset, *_tuples(x + shift, y), 0.01, noise)


def _tuples(x: Floats, y: Floats) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return tuple(x.tolist()), tuple(y.tolist())


@dataclass(frozen=True)
class Draw:
    """A function drawn from a Gaussian process on an interval. Made by `draw`."""

    frequencies: Floats
    cosines: Floats
    sines: Floats

    def __call__(self, points: ArrayLike) -> Floats:
        """Return the function's values at points of shape (n, 1)."""
        phase = np.asarray(points, dtype=float)[:, :1] * self.frequencies
        return np.cos(phase) @ self.cosines + np.sin(phase) @ self.sines


def draw(kernel: RBF, low: float, high: float, rng: int | np.random.Generator | None = None) -> Draw:
    """Draw a function of one variable from a zero-mean GP with an RBF kernel, exact to rounding.

    The RBF's spectrum is Gaussian and f a random Fourier series whose period is so much longer than the interval
    that nothing of the next period is felt.

    Parameters
    ----------
    kernel : RBF
        With one lengthscale.
    low, high : float
        Where the function will be used.
    rng : int or Generator, optional
        Where the randomness comes from.
    """
    lengthscale = float(kernel.lengthscales(1)[0])
    step = 2 * math.pi / (high - low + 10 * lengthscale)
    frequencies = step * np.arange(math.ceil(8.5 / (lengthscale * step)) + 1)
    density = lengthscale / math.sqrt(2 * math.pi) * np.exp(-0.5 * (lengthscale * frequencies) ** 2)
    power = 2 * kernel.variance * step * density  # both signs of a frequency in one term
    power[0] /= 2
    noise = np.random.default_rng(rng).standard_normal((2, len(frequencies)))
    cosines, sines = np.sqrt(power) * noise
    return Draw(np.asarray(frequencies), cosines, sines)


def grid_optimum(f: Function, points: int = 1000) -> tuple[float, float]:
    """Return x* and f* of a function on [0, 1] on an equally spaced grid, as the paper finds them."""
    grid = np.linspace(0, 1, points)
    values = np.asarray(f(grid[:, None]))
    top = int(np.argmax(values))
    return float(grid[top]), float(values[top])


def true_optimum(f: Function, points: int = 20_001) -> tuple[float, float]:
    """Return x* and f* of a function on [0, 1], refined from a fine grid by bounded minimisation."""
    from scipy.optimize import minimize_scalar

    x, best = grid_optimum(f, points)
    step = 1 / (points - 1)
    found = minimize_scalar(
        lambda z: -float(np.asarray(f(np.array([[z]])))[0]),
        bounds=(max(0.0, x - step), min(1.0, x + step)),
        method="bounded",
        options={"xatol": 1e-12},
    )
    return (float(found.x), -float(found.fun)) if -found.fun > best else (x, best)


def aggregated_regret(instrument: Simulation, region: Region, f_star: float) -> float:
    """Return f* less the true average over a recommended region (Definition 2)."""
    return f_star - instrument.average(region)
