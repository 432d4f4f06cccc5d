"""What readings are, other than numbers with Gaussian noise: counts, proportions, and values beyond a limit.

Averages of rates are linear in f, so f keeps its Gaussian prior; only the likelihood of a reading is another one.
`sites.py` turns it into a Gaussian one. A statement about an average stays within its range: the posterior is cut
at the range, and intervals are those of a gamma (rates) or beta distribution (proportions) of its mean and std.

This module knows numbers; it must not know regions, trees or posteriors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import special

from zonal._types import Floats
from zonal.errors import LARGEST_WHOLE, InvalidInput, positive_number, require, truth, whole_number

Limit = Literal["", "below", "above"]  # "": the reading is a number
SQRT_2_PI = math.sqrt(2 * math.pi)
LEAST_MASS = 1e-290  # of a normal distribution within a range


@dataclass(frozen=True)
class Counts:
    """Readings are counts, and f is their rate: Poisson with mean ``exposure`` times the region's average.

    Tell the count, a whole number. A reading told with ``sem=`` is an estimate of the rate instead.

    Parameters
    ----------
    exposure : float
        Over how much one reading counts, by default: time, area, volume, doses. In a study with times it is that
        of one unit of time. ``tell(..., exposure=)`` replaces it for one reading.
    per_weight : bool
        Whether it is the exposure of a region of weight 1, and grows with the weight.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=9, likelihood=zn.Counts(exposure=10))
    >>> study.tell(study.ask(), 7)
    >>> study.tell(study.ask(), 30, exposure=20)
    >>> study.predict([(0, 1)]).mean > 0
    True
    """

    exposure: float = 1.0
    per_weight: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "exposure", positive_number(self.exposure, "Counts' exposure"))
        truth(self.per_weight, "per_weight")

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest rate."""
        return 0.0, math.inf

    def check(self, value: float, exposure: float) -> None:
        """Raise unless a reading is a count."""
        if value != int(value) or not 0 <= value <= LARGEST_WHOLE:
            fix = "Tell a whole number, 0 or more; an estimate of the rate needs its standard error, sem=."
            raise InvalidInput("a count must be a whole number", value, fix)
        positive_number(exposure, "exposure")

    def log_density(self, value: Floats, exposure: Floats, rate: Floats) -> Floats:
        """Return the log probability of counts, up to a constant, at some rates."""
        return np.asarray(special.xlogy(value, rate) - exposure * rate)

    def start(self, value: float, exposure: float) -> tuple[float, float]:
        """Return what a count says of the rate when nothing else is known: an estimate and its variance."""
        return (value + 0.5) / exposure, (value + 0.5) / exposure**2

    def estimate(self, value: float, exposure: float) -> float:
        """Return the rate that a count stands for."""
        return value / exposure

    def std(self, mean: Floats, exposure: Floats) -> Floats:
        """Return the expected noise of readings about some rates."""
        return np.asarray(np.sqrt(np.maximum(mean, 0.0) * exposure + 0.5) / exposure)

    def draw(self, average: float, exposure: float, rng: np.random.Generator) -> float:
        """Return a simulated count."""
        require(average >= 0, "a rate must be 0 or more", average, "Simulate a function that is never negative.")
        return float(rng.poisson(average * exposure))

    def interval(self, mean: Floats, std: Floats, probability: float) -> tuple[Floats, Floats]:
        """Return the central interval of the gamma distribution with some means and stds."""
        shape, tail = (mean / std) ** 2, (1 - probability) / 2
        ends = (special.gammaincinv(shape, share) * (std**2 / mean) for share in (tail, 1 - tail))
        low, high = (np.asarray(end, dtype=float) for end in ends)
        return low, high


@dataclass(frozen=True)
class Proportion:
    """Readings are numbers of cases that are positive, and f is their share: binomial, of ``n`` cases.

    Tell the number of positives. A reading told with ``sem=`` is an estimate of the share instead.

    Parameters
    ----------
    n : int
        How many cases one reading has, by default; ``tell(..., exposure=)`` replaces it for one reading.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=9, likelihood=zn.Proportion(n=20))
    >>> study.tell(study.ask(), 3)
    >>> 0 < study.predict([(0, 1)]).mean < 1
    True
    """

    n: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", whole_number(self.n, "Proportion's n", 1, LARGEST_WHOLE))

    @property
    def exposure(self) -> float:
        """How many cases one reading has."""
        return float(self.n)

    @property
    def per_weight(self) -> bool:
        """Whether larger regions have more cases."""
        return False

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest share."""
        return 0.0, 1.0

    def check(self, value: float, exposure: float) -> None:
        """Raise unless a reading is a number of positives."""
        positive_number(exposure, "exposure")
        fix = "Tell how many were positive, and how many there were as exposure=."
        require(exposure == int(exposure), "the number of cases must be a whole number", exposure, fix)
        able = value == int(value) and 0 <= value <= exposure
        require(able, f"positives must be a whole number from 0 to {exposure:g}", value, fix)

    def log_density(self, value: Floats, exposure: Floats, rate: Floats) -> Floats:
        """Return the log probability of positives, up to a constant, at some shares."""
        return np.asarray(special.xlogy(value, rate) + special.xlogy(exposure - value, 1 - rate))

    def start(self, value: float, exposure: float) -> tuple[float, float]:
        """Return what a reading says of the share when nothing else is known: an estimate and its variance."""
        share = (value + 0.5) / (exposure + 1)
        return share, share * (1 - share) / exposure

    def estimate(self, value: float, exposure: float) -> float:
        """Return the share that a reading stands for."""
        return value / exposure

    def std(self, mean: Floats, exposure: Floats) -> Floats:
        """Return the expected noise of readings about some shares."""
        share = (np.clip(mean, 0.0, 1.0) * exposure + 0.5) / (exposure + 1)
        return np.asarray(np.sqrt(share * (1 - share) / exposure))

    def draw(self, average: float, exposure: float, rng: np.random.Generator) -> float:
        """Return a simulated number of positives."""
        require(0 <= average <= 1, "a share must be 0 to 1", average, "Simulate a function between 0 and 1.")
        return float(rng.binomial(int(exposure), average))

    def interval(self, mean: Floats, std: Floats, probability: float) -> tuple[Floats, Floats]:
        """Return the central interval of the beta distribution with some means and stds."""
        total = np.maximum(mean * (1 - mean) / std**2 - 1, 1e-3)
        tail = (1 - probability) / 2
        ends = (special.betaincinv(mean * total, (1 - mean) * total, share) for share in (tail, 1 - tail))
        low, high = (np.asarray(end, dtype=float) for end in ends)
        return low, high


Likelihood = Counts | Proportion


def within_range(mean: Any, std: Any, limits: tuple[float, float]) -> tuple[Floats, Floats]:
    """Return mean and std of normal distributions cut at a range."""
    mean, std = np.asarray(mean, dtype=float), np.asarray(std, dtype=float)
    scale = np.where(std > 0, std, 1.0)
    low, high = ((end - mean) / scale for end in limits)
    flipped = low + high > 0  # to the side where tails keep their digits
    a, b = np.where(flipped, -high, low), np.where(flipped, -low, high)
    mass = special.ndtr(b) - special.ndtr(a)
    bare = mass < LEAST_MASS  # nothing is left but an exponential tail at the end of the range
    density_a, density_b = (np.exp(-0.5 * np.square(end)) / SQRT_2_PI for end in (a, b))
    shares = [np.where(np.isfinite(z), z, 0.0) * density for z, density in ((a, density_a), (b, density_b))]
    mass, far = np.where(bare, 1.0, mass), np.where(bare, b, -1.0)
    off = np.where(bare, far + 1 / far, (density_a - density_b) / mass)
    square = np.where(bare, 1 / far**2, 1 + (shares[0] - shares[1]) / mass - off**2)
    inside = np.clip(mean + scale * np.where(flipped, -off, off), *limits)
    left = scale * np.sqrt(np.maximum(square, 0.0))
    return np.where(std > 0, inside, np.clip(mean, *limits)), np.where(std > 0, left, 0.0)


def ends(likelihood: Likelihood | None, mean: Any, std: Any, probability: float) -> tuple[Floats, Floats]:
    """Return the central interval of a statement: normal, or within the range of what is read."""
    mean, std = np.asarray(mean, dtype=float), np.asarray(std, dtype=float)
    if likelihood is None:
        reach = float(special.ndtri((1 + probability) / 2)) * std
        return mean - reach, mean + reach
    low, high = likelihood.range
    sure = (std <= 0) | (mean <= low) | (mean >= high)
    cut = likelihood.interval(np.where(sure, 0.5, mean), np.where(sure, 0.1, std), probability)
    return np.where(sure, mean, cut[0]), np.where(sure, mean, cut[1])
