"""Every reward, reduced to what the likelihood needs: repeats of one footprint share a line.

Rewards with known noise (told with a sem, or from the user's noise) and rewards whose noise is learned are kept
apart, since their relative weights depend on the noise; so are trials and external observations, since a node's
own rewards are those of its trials. A reward of twice the usual time has twice the weight.
Sums are updated by Welford's rule, which is accurate with large offsets.

This is the only memory of rewards: beliefs are built from it, or updated with its last reward.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zonal._types import Floats


class RewardStats(NamedTuple):
    """Rewards of one footprint with one kind of noise."""

    number: int = 0
    mean: float = 0.0
    scatter: float = 0.0  # sum of squares about the mean; where the noise is known, in units of its variance
    variance: float = 0.0  # 1 / p of the mean, only of rewards whose noise is known
    weight: float = 0.0  # total weight; the number of rewards if each took the usual time

    def append(self, reward: float, variance: float | None, weight: float = 1.0) -> RewardStats:
        """Return the line with one more reward; `variance` is None if its noise is learned."""
        count, surprise, scatter, left = self.number + 1, reward - self.mean, self.scatter, self.variance
        total = self.weight + weight
        if variance is None:
            share = weight / total
            scatter += weight * (1 - share) * surprise**2
        elif count == 1 or left + variance == 0:
            share = 1.0 if count == 1 else 0.0
            left = variance
        else:
            share = left / (left + variance)
            scatter += surprise**2 / (left + variance)
            left = share * variance
        return RewardStats(count, self.mean + share * surprise, scatter, left, total)


NO_REWARDS = RewardStats()

Kind = tuple[bool, bool]  # of a reward: whether its noise is learned, and whether it was observed, not told
Reward = tuple[float, float | None, float, bool]  # with noise variance (None: learned), weight, whether observed
KINDS: tuple[Kind, ...] = ((False, False), (False, True), (True, False), (True, True))
KNOWN, TOLD = KINDS[:2], KINDS[::2]


def pooled(estimates: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the precision-weighted mean of estimates with their variances, and its variance."""
    mean, left = estimates[0]
    for other, variance in estimates[1:]:
        if left > 0:
            share = left / (left + variance)
            mean += share * (other - mean)
            left = share * variance
    return mean, left


@dataclass(frozen=True)
class StatsArrays:
    """The ledger as arrays, one entry per line.

    Attributes
    ----------
    slots : array of int
        Which footprint.
    mean : array
        Mean reward.
    count : array
        Total weight of its rewards where their noise is learned; 0 where it is known.
    variance : array
        Known noise variance of the mean; 0 where it is learned.
    scatter : float
        Sum of squares within lines whose noise is learned.
    extra : int
        Rewards beyond the first in those lines.
    total : array, or 1.0 for all
        Total weight of the footprint, which multiplies the prior mean; 1 for averages.
    """

    slots: NDArray[np.intp]
    mean: Floats
    count: Floats
    variance: Floats
    scatter: float
    extra: int
    total: Floats | float = 1.0

    def at(self, lines: NDArray[np.intp]) -> StatsArrays:
        """Return some of the lines; what repeats say about the noise stays that of all."""
        total = self.total if isinstance(self.total, float) else self.total[lines]
        columns = {name: getattr(self, name)[lines] for name in ("slots", "mean", "count", "variance")}
        return replace(self, **columns, total=total)

    @property
    def averages(self) -> NDArray[np.bool_]:
        """Which lines are of averages."""
        return np.broadcast_to(np.equal(self.total, 1), self.mean.shape)

    @property
    def counted(self) -> Floats:
        """`count`, with 1 where the noise is known."""
        return np.where(self.count > 0, self.count, 1.0)

    def noise_variance(self, noise: float) -> Floats:
        """Return the noise variance of each line's mean, if one reward has standard deviation `noise`."""
        return np.where(self.count > 0, noise**2 / self.counted, self.variance)

    def by_slot(self, noise: float) -> tuple[NDArray[np.intp], Floats, Floats]:
        """Return slots, mean rewards and noise variances; lines of one footprint are combined by precision."""
        variance = self.noise_variance(noise)
        if len(set(self.slots.tolist())) == self.slots.size:
            return self.slots, self.mean, variance
        estimates: dict[int, list[tuple[float, float]]] = {}
        for slot, mean, left in zip(self.slots.tolist(), self.mean.tolist(), variance.tolist(), strict=True):
            estimates.setdefault(slot, []).append((mean, left))
        means, variances = np.array([pooled(of_slot) for of_slot in estimates.values()]).T
        return np.array([*estimates], dtype=np.intp), means, variances


class ObservationStats(NamedTuple):
    """All rewards so far.

    Attributes
    ----------
    total : int
        Number of rewards.
    lines : dict of slot to lines
        The rewards of each footprint, in a line for each kind of reward.
    """

    total: int = 0
    lines: dict[int, Mapping[Kind, RewardStats]] = {}  # noqa: RUF012  # never changed

    @property
    def distinct(self) -> int:
        """Number of footprints that rewards belong to."""
        return len(self.lines)

    def append(
        self, slot: int, reward: float, variance: float | None, weight: float = 1.0, observed: bool = False
    ) -> ObservationStats:
        """Return the statistics with one more reward of a footprint; `variance` is None if noise is learned."""
        of_slot, kind = self.lines.get(slot, {}), (variance is None, observed)
        line = of_slot.get(kind, NO_REWARDS).append(reward, variance, weight)
        return ObservationStats(self.total + 1, {**self.lines, slot: {**of_slot, kind: line}})

    def with_rewards(self, slot: int, rewards: Iterable[Reward]) -> ObservationStats:
        """Return the statistics in which a footprint has exactly these rewards."""
        replaced = ObservationStats()
        for reward in rewards:
            replaced = replaced.append(slot, *reward)
        lines = {**self.lines, **replaced.lines}  # footprints keep their places
        if not replaced.total:
            lines.pop(slot, None)
        return ObservationStats(self.total - self.number(slot) + replaced.total, lines)

    def number(self, slot: int) -> int:
        """Return how many rewards a footprint has."""
        return sum(line.number for line in self.lines.get(slot, {}).values())

    def n_outside(self, slots: Collection[int]) -> int:
        """Return how many rewards are not of some footprints."""
        return self.total - sum(self.number(slot) for slot in slots)

    def n_told(self, slot: int) -> int:
        """Return how many rewards of a footprint were told, not observed."""
        return sum(line.number for (_, observed), line in self.lines.get(slot, {}).items() if not observed)

    def mean(self, slot: int) -> float:
        """Return the mean of all rewards of a footprint, by weight, whatever their noise."""
        return pooled(self._estimates(slot, 1.0, KINDS))[0]

    def told_mean(self, slot: int, noise: float) -> tuple[float, float]:
        """Return the precision-weighted mean of the rewards told of a footprint, and its noise variance."""
        return pooled(self._estimates(slot, noise, TOLD))

    def exact(self, slot: int, variance: float) -> float | None:
        """Return the mean reward of a footprint if its noise variance is known and at most this; else None."""
        estimates = self._estimates(slot, 0.0, KNOWN)
        if not estimates:
            return None
        mean, left = pooled(estimates)
        return mean if left <= variance else None

    def variance(self, slot: int, noise: float | None) -> float:
        """Return the noise variance of a footprint's mean reward: sigma^2 / T if all have the same noise."""
        return pooled(self._estimates(slot, noise or 0.0, KINDS))[1]

    def _estimates(self, slot: int, noise: float, kinds: Sequence[Kind]) -> list[tuple[float, float]]:
        """Return means and noise variances of rewards of some kinds; where it is learned, one has std `noise`."""
        return [
            (line.mean, noise**2 / line.weight if kind[0] else line.variance)
            for kind, line in self.lines.get(slot, {}).items()
            if kind in kinds
        ]

    def scatter(self, noise: float | None) -> tuple[int, float]:
        """Return the number of repeats, and their squared deviations in units of the noise variance."""
        repeats, chi2 = 0, 0.0
        for lines in self.lines.values():
            for (learned, _), line in lines.items():
                repeats += line.number - 1
                chi2 += line.scatter / (noise**2 if learned and noise else 1.0)
        return repeats, chi2

    def data(self, forget: float | None = None, total_weights: Mapping[int, float] | None = None) -> StatsArrays:
        """Return the lines as arrays; with `forget`, treat that known noise of all rewards as to be learned.

        `total_weights` has the total weights of footprints that are not averages.
        """
        rows = [
            (slot, learned, *line) for slot, lines in self.lines.items() for (learned, _), line in lines.items()
        ]
        columns = np.array(rows, dtype=float).reshape(-1, 7).T
        slot, learned, number, mean, scatter, variance, weight = columns
        slots = slot.astype(np.intp)
        unknown = (learned > 0) | (forget is not None)
        unit = 1.0 if forget is None else forget**2  # of the scatter of rewards whose noise is known
        return StatsArrays(
            slots=slots,
            mean=mean,
            count=np.where(unknown, weight, 0.0),
            variance=variance,
            scatter=unit * float(sum(scatter[unknown].tolist())),
            extra=int(np.sum(number[unknown] - 1)),
            total=np.array([total_weights.get(at, 1.0) for at in slots.tolist()]) if total_weights else 1.0,
        )
