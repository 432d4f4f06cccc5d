"""An instrument with a known truth: averages over regions, with noise on top."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from zonal.errors import standard_deviation
from zonal.spaces import Region

Noise = float | Callable[[Region], float]


class Instrument(ABC):
    """What simulated instruments share: call one with a region to measure it."""

    def __init__(self, noise: Noise, rng: np.random.Generator) -> None:
        self._noise = noise if callable(noise) else standard_deviation(noise, "noise")
        self._rng = rng

    def __call__(self, region: Region) -> float:
        """Return a noisy measurement of `region`; repeated calls draw new noise."""
        return self.reading(region, self.draw())

    def draw(self) -> float:
        """Return the next draw of the noise, in standard deviations.

        Whoever measures elsewhere draws here first: the k-th measurement has the k-th draw, wherever it is made.
        """
        return float(self._rng.standard_normal())

    def reading(self, region: Region, draw: float) -> float:
        """Return the measurement of `region` that a draw of the noise gives."""
        return self.average(region) + self._std(region) * draw

    @abstractmethod
    def average(self, region: Region) -> float:
        """Return the true average over `region`."""

    def _std(self, region: Region) -> float:
        noise = self._noise
        return standard_deviation(noise(region), "noise") if callable(noise) else noise
