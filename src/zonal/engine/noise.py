"""The noise of measurements: as the user gave it, learned, or learned and known to fall with weight."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from zonal._types import Floats
from zonal.engine.costs import answer
from zonal.errors import InvalidInput, standard_deviation
from zonal.spaces import Region, Space

DEFAULT_PARTS = 16  # of the space: the size to which noise refers that falls with size
Value = TypeVar("Value", float, Floats)


@dataclass(frozen=True)
class PerWeight:
    """Noise that averages out: ``std / sqrt(weight)`` for a region of that weight (a box's volume).

    Parameters
    ----------
    std : float, optional
        Standard deviation of one measurement of a region of weight 1. A study learns it if it is not given.

    Examples
    --------
    >>> import zonal as zn
    >>> noise = zn.PerWeight(0.6)  # of a region of weight 1
    >>> float(noise(zn.Points([[0.0], [1.0], [2.0], [3.0]]).region({"members": [0, 1, 2, 3]})))
    0.3
    """

    std: float | None = None

    def __post_init__(self) -> None:
        if self.std is not None:
            object.__setattr__(self, "std", standard_deviation(self.std, "PerWeight's std"))

    def __call__(self, region: Region) -> float:
        """Return the standard deviation of one measurement of `region`."""
        if self.std is None:
            raise InvalidInput("PerWeight() without a std is for a study to learn", self, "Pass a number.")
        return self.std * self.relative(region)

    def relative(self, region: Region) -> float:
        """Return the noise of a region relative to that of a region of weight 1."""
        if region.weight <= 0:
            problem = "PerWeight has no noise for a region of weight 0"
            raise InvalidInput(problem, region.name, "Pass its standard error, sem=...")
        return 1 / math.sqrt(region.weight)


Noise = float | Callable[[Region], float]


def unit_noise(exposure: float, per_weight: bool) -> Noise:
    """Return the noise of counts where the rate is 1, by which exposures are kept."""
    noise = 1 / math.sqrt(exposure)
    return PerWeight(noise) if per_weight else noise


class NoiseRule:
    """What the settings say about noise.

    The noise of a measurement is kept as a standard deviation if it is given, and else in units of what is learned
    of it.

    Attributes
    ----------
    learned : bool
        Whether noise is learned.
    by_region : bool
        Whether it has to be asked for each region.
    falls_with_weight : bool
        Whether it is learned, and known to fall with weight.
    default : float
        That of any region, if it is not asked for each.
    """

    def __init__(self, given: Noise | None, model_free: bool, space: Space) -> None:
        unknown_size = isinstance(given, PerWeight) and given.std is None
        self._given = given
        self._model_free = model_free
        self.learned = (given is None or unknown_size) and not model_free
        self.falls_with_weight = unknown_size and self.learned
        self.by_region = self.falls_with_weight or (callable(given) and not unknown_size)
        self.default = given if isinstance(given, float) else float(not model_free)
        # What is learned then is the noise of about as large a region as an initial design measures.
        self._root_weight = 1.0
        if self.falls_with_weight:
            self._root_weight = math.sqrt(space.cell((0, 0)).weight / DEFAULT_PARTS)

    def of_region(self, region: Region) -> float:
        """Return the noise of one measurement of a region in one unit of time; it may be the user's function."""
        given = self._given
        if not self.by_region:
            return self.default
        if self.falls_with_weight and isinstance(given, PerWeight):
            return self._root_weight * given.relative(region)
        assert callable(given)
        return standard_deviation(answer(given, region), f"noise({region.name})")

    def for_time(self, noise: Value, time: float) -> Value:
        """Return noise of one unit of time as that of the default time, to which what is learned refers anyway."""
        return noise if self.learned else noise * (1 / math.sqrt(time))

    def of_reward(self, noise: float, sem: float | None, time: float = 1.0) -> tuple[float | None, float]:
        """Return the noise variance of a reward of `time` default times, None if it is learned, and its weight."""
        # With a sem there is no noise.
        weight = time / noise**2 if self.falls_with_weight and noise else time
        if self._model_free:  # every reward counts the same
            return None, weight
        if sem is not None:
            return sem**2, weight
        return None if self.learned else noise**2 / time, weight

    def summary(self, learned: float) -> float | PerWeight:
        """Return what was learned of the noise, as a user would give it."""
        return PerWeight(learned * self._root_weight) if self.falls_with_weight else learned
