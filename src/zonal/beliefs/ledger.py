"""Every reward, collapsed to what the likelihood needs: repeats of one footprint share a line.

Rewards whose noise is known (told with a sem, or by the user's noise) and rewards whose noise is being learned are
kept apart, since their weights change with the noise. Sums are kept by Welford's rule: it survives large offsets.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass
class Line:
    """Rewards of one footprint with one kind of noise."""

    count: int = 0
    mean: float = 0.0
    scatter: float = 0.0  # sum of squares about the mean; where the noise is known, in units of its variance
    variance: float = 0.0  # 1 / p of the mean, only of rewards whose noise is known

    def add(self, reward: float, variance: float | None) -> None:
        """Take in one reward; `variance` is None if its noise is to be learned."""
        self.count += 1
        if variance is None:
            share = 1 / self.count
            self.scatter += (1 - share) * (reward - self.mean) ** 2
        else:
            old = self.variance
            if self.count == 1 or old + variance == 0:
                share = 1.0 if self.count == 1 else 0.0
                self.variance = variance
            else:
                share = old / (old + variance)
                self.scatter += (reward - self.mean) ** 2 / (old + variance)
                self.variance = share * variance
        self.mean += share * (reward - self.mean)


@dataclass(frozen=True)
class Data:
    """The ledger as arrays, one entry a line.

    Attributes
    ----------
    slots : array of int
        Which footprint.
    mean : array
        Mean reward.
    count : array
        Rewards behind it, where their noise is to be learned; 0 where it is known.
    variance : array
        Known noise variance of the mean; 0 where it is to be learned.
    scatter : float
        Sum of squares within lines whose noise is to be learned.
    extra : int
        Rewards beyond the first in those lines.
    """

    slots: NDArray[np.intp]
    mean: Floats
    count: Floats
    variance: Floats
    scatter: float
    extra: int

    def noise_variance(self, noise: float) -> Floats:
        """Return the noise variance of each line's mean, if one reward has standard deviation `noise`."""
        return np.where(self.count > 0, noise**2 / np.maximum(self.count, 1), self.variance)


@dataclass
class Ledger:
    """All rewards so far."""

    total: int = 0
    lines: dict[tuple[int, bool], Line] = field(default_factory=dict)

    def add(self, slot: int, reward: float, variance: float | None) -> None:
        """Enter one reward of the footprint at `slot`; `variance` is None if its noise is to be learned."""
        key = (slot, variance is None)
        line = self.lines.get(key)
        if line is None:
            line = self.lines[key] = Line()
        line.add(reward, variance)
        self.total += 1

    def scatter(self, noise: float | None) -> tuple[int, float]:
        """Return the number of repeats, and their squares about their means in units of the noise variance."""
        repeats, chi2 = 0, 0.0
        for (_, unknown), line in self.lines.items():
            repeats += line.count - 1
            chi2 += line.scatter / (noise**2 if unknown and noise else 1.0)
        return repeats, chi2

    def data(self, forget: float | None = None) -> Data:
        """Return the ledger as arrays; with `forget`, as if that known noise of all rewards were to be learned."""
        unknown = np.array([key[1] or forget is not None for key in self.lines], dtype=bool)
        lines = list(self.lines.values())
        unit = 1.0 if forget is None else forget**2  # of the scatter of rewards whose noise is known
        counts = np.array([line.count for line in lines], dtype=float)
        return Data(
            slots=np.array([key[0] for key in self.lines], dtype=np.intp),
            mean=np.array([line.mean for line in lines]),
            count=np.where(unknown, counts, 0.0),
            variance=np.array([line.variance for line in lines]),
            scatter=unit * float(sum(line.scatter for line, own in zip(lines, unknown, strict=True) if own)),
            extra=int(np.sum(counts[unknown] - 1)) if unknown.any() else 0,
        )
