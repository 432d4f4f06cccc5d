"""Simulated readings that are no numbers with Gaussian noise: counts, positives of several cases, limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from zonal.errors import finite_number, positive_number, require
from zonal.gp.likelihoods import Likelihood
from zonal.simulation.simulators import Instrument
from zonal.spaces import Region


class CountingInstrument(Instrument):
    """An instrument that counts: its readings are what a likelihood draws at the true averages of another one."""

    def __init__(self, instrument: Instrument, likelihood: Likelihood) -> None:
        super().__init__(0.0, instrument._rng)
        self._instrument, self.likelihood = instrument, likelihood

    def draw(self) -> float:
        """Return the seed of the next reading."""
        return int(self._rng.integers(1 << 62))

    def reading(self, region: Region, draw: float, time: float = 1.0) -> float:
        """Return a count of `region`."""
        rng = np.random.default_rng(int(draw))
        return self.likelihood.draw(self.average(region), self.exposure(region, time), rng)

    def exposure(self, region: Region, time: float = 1.0) -> float:
        """Return over how much a reading of `region` counts."""
        weight = region.weight if self.likelihood.per_weight else 1.0
        return self.likelihood.exposure * weight * positive_number(time, "time")

    def average(self, region: Region) -> float:
        """Return the true average over `region`: a rate or a share."""
        return self._instrument.average(region)


class LimitedInstrument(Instrument):
    """An instrument that reads nothing below one limit, or above another: it says "<0.5" then, as sheets do."""

    def __init__(self, instrument: Instrument, below: float | None, above: float | None) -> None:
        super().__init__(0.0, instrument._rng)
        self._instrument = instrument
        self.below = None if below is None else finite_number(below, "below")
        self.above = None if above is None else finite_number(above, "above")
        ordered = self.below is None or self.above is None or self.below < self.above
        require(ordered, "below must be less than above", (below, above), "Swap them.")

    def draw(self) -> float:
        """Return the next draw of the noise."""
        return self._instrument.draw()

    def reading(self, region: Region, draw: float, time: float = 1.0) -> Any:
        """Return the measurement of `region`, or the limit that it lies beyond, as text."""
        value = self._instrument.reading(region, draw, time)
        if self.below is not None and value < self.below:
            return f"<{self.below!r}"
        if self.above is not None and value > self.above:
            return f">{self.above!r}"
        return value

    def average(self, region: Region) -> float:
        """Return the true average over `region`."""
        return self._instrument.average(region)


class PlainInstrument(Instrument):
    """An instrument whose readings are plain numbers, for methods that know no others.

    Counts become rates, and limits the values of the limits.
    """

    def __init__(self, instrument: Instrument) -> None:
        super().__init__(0.0, instrument._rng)
        self._instrument = instrument

    def draw(self) -> float:
        """Return the next draw of the noise."""
        return self._instrument.draw()

    def reading(self, region: Region, draw: float, time: float = 1.0) -> float:
        """Return the measurement of `region` as a number."""
        value: Any = self._instrument.reading(region, draw, time)
        if isinstance(self._instrument, CountingInstrument):
            return self._instrument.likelihood.estimate(value, self._instrument.exposure(region, time))
        return float(value[1:]) if isinstance(value, str) else float(value)

    def average(self, region: Region) -> float:
        """Return the true average over `region`."""
        return self._instrument.average(region)


def as_read(
    instrument: Instrument,
    likelihood: Likelihood | None = None,
    below: float | None = None,
    above: float | None = None,
) -> Instrument:
    """Return an instrument whose readings are counts, or have limits."""
    if likelihood is not None:
        fix = "Pass zn.Counts(...) or zn.Proportion(...)."
        require(isinstance(likelihood, Likelihood), "this is no likelihood", likelihood, fix)
        unlimited = below is None and above is None
        require(unlimited, "counts and proportions have no limits", (below, above), "Leave them out.")
        return CountingInstrument(instrument, likelihood)
    if below is None and above is None:
        return instrument
    return LimitedInstrument(instrument, below, above)
