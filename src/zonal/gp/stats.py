"""Every reward, reduced to what the likelihood needs: repeats of one footprint share a line.

Rewards with known noise (told with a sem, or from the user's noise) and rewards whose noise is learned are kept
apart, since their relative weights depend on the noise. A reward of twice the usual time has twice the weight.
Sums are updated by Welford's rule, which is accurate with large offsets.

This is the only memory of rewards: beliefs are built from it, or updated with its last reward.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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


class NodeStats(NamedTuple):
    """What was told at one node of the tree, observations excluded; `Tree` has columns of it."""

    answered: int = 0  # trials told, including those told as differences
    without_sem: RewardStats = NO_REWARDS  # without a standard error, in the mean by time
    with_sem: RewardStats = NO_REWARDS  # with one, in the mean by precision

    @property
    def number(self) -> int:
        """Trials told as averages."""
        return self.without_sem.number + self.with_sem.number

    def append(self, reward: float, sem: float | None, time: float) -> NodeStats:
        """Return the tally with one more reward."""
        answered, without_sem, with_sem = self
        if sem is None:
            return NodeStats(answered + 1, without_sem.append(reward, None, time), with_sem)
        return NodeStats(answered + 1, without_sem, with_sem.append(reward, sem**2))

    def with_rewards(self, rewards: Iterable[tuple[float, float | None, float]]) -> NodeStats:
        """Return the tally with exactly these rewards, with their standard errors and times."""
        stats = NodeStats(self.answered - self.number)
        for reward, sem, time in rewards:
            stats = stats.append(reward, sem, time)
        return stats


UNMEASURED = NodeStats()


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
        """Return slots, mean rewards and noise variances; two lines of a footprint are combined by precision."""
        variance, learned = self.noise_variance(noise), self.count > 0
        if learned.all() or not learned.any():  # only rewards of both kinds make two lines
            return self.slots, self.mean, variance
        slots, first, where = np.unique(self.slots, return_index=True, return_inverse=True)
        order = np.argsort(first)
        mean, left = self.mean[first], variance[first]
        for line in np.delete(np.arange(len(self.slots)), first):
            at = where[line]
            if left[at] > 0:
                share = left[at] / (left[at] + variance[line])
                mean[at] += share * (self.mean[line] - mean[at])
                left[at] = share * variance[line]
        return slots[order], mean[order], left[order]


class ObservationStats(NamedTuple):
    """All rewards so far.

    Attributes
    ----------
    total : int
        Number of rewards.
    distinct : int
        Number of footprints they belong to.
    lines : dict of (slot, whether its noise is learned) to RewardStats
    """

    total: int = 0
    distinct: int = 0
    lines: dict[tuple[int, bool], RewardStats] = {}  # noqa: RUF012  # never changed

    def append(self, slot: int, reward: float, variance: float | None, weight: float = 1.0) -> ObservationStats:
        """Return the ledger with one more reward of a footprint; `variance` is None if its noise is learned."""
        total, distinct, lines = self
        key = (slot, variance is None)
        line = lines.get(key, NO_REWARDS)
        if line is NO_REWARDS:
            distinct += (slot, variance is not None) not in lines
        return ObservationStats(total + 1, distinct, {**lines, key: line.append(reward, variance, weight)})

    def with_rewards(self, slot: int, rewards: Iterable[tuple[float, float | None, float]]) -> ObservationStats:
        """Return the ledger in which a footprint has exactly these rewards, with their variances and weights."""
        replaced = ObservationStats()
        for reward, variance, weight in rewards:
            replaced = replaced.append(slot, reward, variance, weight)
        both = {**self.lines, **replaced.lines}  # lines keep their places
        lines = {key: line for key, line in both.items() if key[0] != slot or key in replaced.lines}
        return ObservationStats(sum(line.number for line in lines.values()), len({at for at, _ in lines}), lines)

    def exact(self, slot: int, variance: float) -> float | None:
        """Return the mean reward of a footprint if its noise variance is known and at most this; else None."""
        line = self.lines.get((slot, False))
        return line.mean if line is not None and line.variance <= variance else None

    def variance(self, slot: int, noise: float | None) -> float:
        """Return the noise variance of a footprint's mean reward: sigma^2 / T if all have the same noise."""
        if noise is None or (slot, True) not in self.lines:
            return self.lines[slot, False].variance
        variance = noise**2 / self.lines[slot, True].weight
        if variance == 0 or (slot, False) not in self.lines:
            return variance
        given = self.lines[slot, False].variance
        return variance * given / (variance + given)

    def scatter(self, noise: float | None) -> tuple[int, float]:
        """Return the number of repeats, and their squared deviations in units of the noise variance."""
        repeats, chi2 = 0, 0.0
        for (_, unknown), line in self.lines.items():
            repeats += line.number - 1
            chi2 += line.scatter / (noise**2 if unknown and noise else 1.0)
        return repeats, chi2

    def data(self, forget: float | None = None, total_weights: Mapping[int, float] | None = None) -> StatsArrays:
        """Return the ledger as arrays; with `forget`, treat that known noise of all rewards as to be learned.

        `total_weights` has the total weights of footprints that are not averages.
        """
        slots, learned = np.array([*zip(*self.lines, strict=True)], dtype=np.intp).reshape(2, -1)
        columns = np.array([*zip(*self.lines.values(), strict=True)], dtype=float)
        number, mean, scatter, variance, weight = columns.reshape(5, -1)
        unknown = (learned > 0) | (forget is not None)
        unit = 1.0 if forget is None else forget**2  # of the scatter of rewards whose noise is known
        return StatsArrays(
            slots=slots,
            mean=mean,
            count=np.where(unknown, weight, 0.0),
            variance=variance,
            scatter=unit * float(sum(scatter[unknown].tolist())),
            extra=int(np.sum(number[unknown] - 1)),
            total=np.array([total_weights.get(slot, 1.0) for slot, _ in self.lines]) if total_weights else 1.0,
        )
