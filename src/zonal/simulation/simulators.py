"""Instruments with a known truth: averages of a function over regions, plus noise."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from typing import Literal, TypedDict, overload

import numpy as np
from numpy.typing import ArrayLike

from zonal._types import Floats
from zonal.errors import (
    InvalidInput,
    NumericalWarning,
    positive_number,
    random_generator,
    require,
    standard_deviation,
    truth,
    warn_user,
)
from zonal.gp.likelihoods import Likelihood
from zonal.kernels.feedback import Feedback, Slope
from zonal.spaces import AxisSpace, ProductRegion, Region, Space, with_feedback
from zonal.spaces.axis_space import native

Function = Callable[[Floats], ArrayLike]
Noise = float | Callable[[Region], float]
Rule = tuple[Floats, Floats]  # of quadrature along an axis: places and weights

QUADRATURE = 1e-9  # accuracy of exact means, relative to the size of f
POOR = 1e-5  # an accuracy worse than this gives a warning
MAX_POINTS = 2_000_000


class Instrument(ABC):
    """Base class of simulated instruments: call one with a region to measure it."""

    def __init__(self, noise: Noise, rng: np.random.Generator) -> None:
        self._noise = noise if callable(noise) else standard_deviation(noise, "noise")
        self._rng = rng

    def __call__(self, region: Region, time: float = 1.0) -> float:
        """Return a noisy measurement of `region`; repeated calls draw new noise, smaller for a longer time."""
        return self.reading(region, self.draw(), time)

    def draw(self) -> float:
        """Return the next draw of the noise, in standard deviations.

        To measure in another process, draw here first: then the k-th measurement has the k-th draw wherever it is
        made.
        """
        return float(self._rng.standard_normal())

    def reading(self, region: Region, draw: float, time: float = 1.0) -> float:
        """Return the measurement of `region` with a given draw of the noise and time."""
        return self.average(region) + self.std(region) * draw / math.sqrt(positive_number(time, "time"))

    def std(self, region: Region) -> float:
        """Return the standard deviation of one measurement of `region` in one unit of time."""
        noise = self._noise
        return standard_deviation(noise(region), "noise") if callable(noise) else noise

    @abstractmethod
    def average(self, region: Region) -> float:
        """Return the true average over `region`."""


class Simulation(Instrument):
    """A simulated instrument: call it with a region to measure it. Made by `simulate`.

    Examples
    --------
    >>> import zonal as zn
    >>> line = zn.simulate(lambda x: x[:, 0], zn.Mean(), noise=0.1, rng=0)
    >>> round(line.average(zn.Box([(0, 1)]).region([(0.5, 1)])), 6)
    0.75
    """

    def __init__(self, f: Function, feedback: Feedback, noise: Noise, rng: np.random.Generator) -> None:
        require(callable(f), "f must be a function of points", f, "Pass a callable (n, d) -> (n,).")
        is_feedback = isinstance(feedback, Feedback)
        require(is_feedback, "feedback must be Center(), Average(s) or Mean()", feedback, "Pass one.")
        super().__init__(noise, rng)
        self._f = f
        self._feedback = feedback
        self._cache: dict[tuple[Space, Hashable], float] = {}

    def average(self, region: Region) -> float:
        """Return the true average F-bar of f over `region`, with this instrument's feedback."""
        place = region.space, region.key
        if place not in self._cache:
            if isinstance(region, ProductRegion):
                self._cache[place] = _mean(self._values, region, self._feedback)
            else:
                seen = with_feedback(region, self._feedback)
                self._cache[place] = float(seen.weights @ self._values(seen.points))
        return self._cache[place]

    def slope(self, region: Region, axis: str) -> float:
        """Return the true mean slope of f over `region` along an axis, per unit of it."""
        by = Slope(axis)
        by.check(region.space)
        place = region.space, (region.key, axis)
        if place not in self._cache:
            terms = by.terms(region, self._feedback)
            self._cache[place] = sum(weight * _mean(self._values, face, face._viewer()) for weight, face in terms)
        return self._cache[place]

    def _values(self, points: Floats) -> Floats:
        values = np.asarray(self._f(points))
        problem = f"f must turn points of shape {points.shape} into values of shape ({len(points)},)"
        require(values.shape == (len(points),), problem, values.shape, "Vectorise f over the first axis.")
        if values.dtype.kind not in "biuf":
            raise InvalidInput("f must return numbers", values.ravel()[:1].tolist(), "Return floats.")
        values = values.astype(float)
        if not np.isfinite(values).all():
            where = points[~np.isfinite(values)][0]
            raise InvalidInput("f is not finite", where, "Keep the space where f is defined.")
        return values


class Sloped(TypedDict):
    """An average and slopes of a region, as arguments of `Study.tell`."""

    value: float
    slopes: dict[str, tuple[float, float]]  # slope and standard error, by axis


class SlopedSimulation(Simulation):
    """A simulated instrument that measures slopes with averages. Made by `simulate`."""

    def __init__(
        self, f: Function, feedback: Feedback, noise: Noise, rng: np.random.Generator, slope_noise: float | None
    ) -> None:
        super().__init__(f, feedback, noise, rng)
        self._slope_noise = None if slope_noise is None else standard_deviation(slope_noise, "slope_noise")

    def draw(self) -> float:
        """Return the seed of the next measurement's noise."""
        return int(self._rng.integers(1 << 62))

    def __call__(self, region: Region, time: float = 1.0) -> Sloped:  # type: ignore[override]
        """Return a noisy measurement of `region`: its average and all its slopes, as arguments of `Study.tell`."""
        return self.reading(region, self.draw(), time)

    def reading(self, region: Region, draw: float, time: float = 1.0) -> Sloped:  # type: ignore[override]
        """Return the average of `region` and all its slopes, as arguments of `Study.tell`."""
        space, rng = region.space, np.random.default_rng(int(draw))
        time = positive_number(time, "time")
        std = self.std(region) / math.sqrt(time)
        sem = std if self._slope_noise is None else self._slope_noise / math.sqrt(time)
        value = self.average(region) + std * float(rng.standard_normal())
        names = [space.names[j] for j in space.continuous_axes] if space.axes else []
        slopes = {name: (self.slope(region, name) + sem * float(rng.standard_normal()), sem) for name in names}
        return {"value": value, "slopes": slopes}


@overload
def simulate(
    f: Function,
    feedback: Feedback,
    noise: Noise = ...,
    rng: int | np.random.Generator | None = ...,
    *,
    slopes: Literal[False] = ...,
    slope_noise: float | None = ...,
) -> Simulation: ...
@overload
def simulate(
    f: Function,
    feedback: Feedback,
    noise: Noise = ...,
    rng: int | np.random.Generator | None = ...,
    *,
    likelihood: Likelihood | None = ...,
    below: float | None = ...,
    above: float | None = ...,
) -> Instrument: ...
@overload
def simulate(
    f: Function,
    feedback: Feedback,
    noise: Noise = ...,
    rng: int | np.random.Generator | None = ...,
    *,
    slopes: Literal[True],
    slope_noise: float | None = ...,
) -> SlopedSimulation: ...
def simulate(
    f: Function,
    feedback: Feedback,
    noise: Noise = 0.0,
    rng: int | np.random.Generator | None = None,
    *,
    slopes: bool = False,
    slope_noise: float | None = None,
    likelihood: Likelihood | None = None,
    below: float | None = None,
    above: float | None = None,
) -> Instrument:
    """Turn a function of points into a measuring function for regions.

    Parameters
    ----------
    f : callable
        Vectorised: turns points of shape (n, d) into values of shape (n,).
    feedback : Center, Average or Mean
        What a measurement averages; `Mean` integrates f by adaptive cubature.
    noise : float or callable
        Standard deviation of the measurement noise, or a function of the region; in one unit of time, if
        measurements have times.
    rng : int or Generator, optional
        Seed or generator of the noise.
    slopes : bool
        Whether to measure, with each average, the slopes along all axes that have them. It then returns a mapping
        for ``tell(trial, **measure(trial.region))`` and `Study.optimize`.
    slope_noise : float, optional
        Standard deviation of the noise of a slope, in value units per unit of the axis; by default as for
        averages.
    likelihood : Counts or Proportion, optional
        What is read, if it is a count: readings are drawn by it, without `noise`.
    below, above : float, optional
        Limits of what can be read: beyond them a reading is text, such as "<0.5", for `Study.tell`.

    Examples
    --------
    >>> from zonal import Box, Average
    >>> measure = simulate(lambda x: x[:, 0] ** 2, Average(10), noise=0.1, rng=0)
    >>> round(measure.average(Box([(0, 1)]).cell((1, 1))), 4)
    0.5831
    """
    if truth(slopes, "slopes"):
        return SlopedSimulation(f, feedback, noise, random_generator(rng), slope_noise)
    simulation = Simulation(f, feedback, noise, random_generator(rng))
    if likelihood is None and below is None and above is None:
        return simulation
    from zonal.simulation.readings import as_read

    return as_read(simulation, likelihood, below, above)


def _mean(f: Callable[[Floats], Floats], region: ProductRegion, feedback: Feedback) -> float:
    """Return the mean of f over what a feedback measures of a product, by finer rules until two agree."""
    rules = [partial(axis.rule, part, feedback) for axis, part in region.along]
    exact = {j: rule(1, 1) for j, rule in enumerate(rules)}
    # On a categorical axis, and for points, every rule is the same.
    free = [j for j, (nodes, _) in exact.items() if _differ(nodes, rules[j](2, 1)[0])]
    most = MAX_POINTS // math.prod(len(nodes) for j, (nodes, _) in exact.items() if j not in free)
    if most < 1:
        problem = f"the mean needs f at more than {MAX_POINTS} points or combinations of symbols"
        raise InvalidInput(problem, region.name, "Write your own measuring function of a region.")
    estimate, gap, scale = math.nan, math.inf, 0.0
    for panels, order in _finer(len(free), most):
        rules_by_axis = exact | {j: rules[j](panels, order) for j in free}
        value, size = _cubature(f, region.space, rules_by_axis.values())
        scale, gap, estimate = max(scale, size), abs(value - estimate), value
        if not free or gap <= QUADRATURE * scale:
            return estimate
    if gap > POOR * scale:
        warn_user(NumericalWarning(f"the mean of f over {region.name} is only accurate to about {gap:.1g}"))
    return estimate


def _differ(coarse: Floats, fine: Floats) -> bool:
    return len(fine) > len(coarse) and bool(np.ptp(fine) > 0)


def _cubature(f: Callable[[Floats], Floats], space: AxisSpace, rules: Iterable[Rule]) -> tuple[float, float]:
    """Return the mean of f by a rule along each axis, and the largest absolute value that it has seen."""
    places, shares = zip(*rules, strict=True)
    grid = np.stack([place.ravel() for place in np.meshgrid(*places, indexing="ij")], axis=1)
    values = f(native(space.axes, grid))  # rules are in the units of the axes: decades, if logarithmic
    size = float(np.max(np.abs(values)))
    values = values.reshape([len(place) for place in places])
    for weights in reversed(shares):
        values = values @ weights
    return float(values), size


def _finer(d: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield numbers of panels and their orders, finer and finer, as far as `d` axes allow.

    With few axes, more and more panels of 16 points, for narrow peaks and kinks; with many axes, more points.
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
