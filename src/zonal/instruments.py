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
        return self.average(region) + self._std(region) * float(self._rng.standard_normal())

    def at(self, region: Region, number: int) -> float:
        """Return the measurement of trial `number`, the same on every worker and in any order."""
        seed = self._rng.bit_generator.seed_seq
        assert isinstance(seed, np.random.SeedSequence)
        own = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, number))
        noise = float(np.random.default_rng(own).standard_normal())
        return self.average(region) + self._std(region) * noise

    @abstractmethod
    def average(self, region: Region) -> float:
        """Return the true average over `region`."""

    def _std(self, region: Region) -> float:
        noise = self._noise
        return standard_deviation(noise(region), "noise") if callable(noise) else noise
