"""Noise that depends on the region."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zonal.errors import InvalidInput, standard_deviation

if TYPE_CHECKING:
    from zonal.spaces import Region


@dataclass(frozen=True)
class PerWeight:
    """Noise that averages out: ``std / sqrt(weight)`` for a region of that weight (a box's volume).

    Parameters
    ----------
    std : float, optional
        Standard deviation of one measurement of a region of weight 1. A study learns it if it is not given.
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
