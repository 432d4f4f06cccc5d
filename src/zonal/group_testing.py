"""Group testing: which members are positive, from pools that only say whether any of theirs is.

The belief is exact Bayes over small blocks of members: the probability of every set of positives with at most a
few of them. The next pool of a block is that whose answer tells most, of the members likeliest to be positive.
Members are classified as soon as they are sure enough; those left over that depend on no others go into new
blocks.

It stands beside studies: an average of yes and no is not what a pool returns, so no Gaussian process helps here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonal._types import Floats
from zonal.errors import BudgetSpent, InvalidInput, finite_number, require, truth, whole_number
from zonal.errors import probability as checked_probability
from zonal.spaces import FiniteSpace

Masks = NDArray[np.uint64]  # sets of positives, a bit for each member of a block
LARGEST = 32  # members of a pool, unless another number is given
MOST_SETS = 200_000  # of positives, with which a block is described
RARE = 1e-6  # the probability, at most, of a set with more positives than those
HALF = 0.5  # the probability, at most, that nobody in a new block is positive, if the largest pool allows it
INDEPENDENT = 0.01  # by how much members that count as independent may differ from it
EXACT = 1e-9  # of certainty: what tests that never err leave over
SIZES = 64  # of Dorfman's pools, of which the best is taken


def _share(value: float, name: str, low: float) -> float:
    number = finite_number(value, name)
    require(low < number <= 1, f"{name} must be above {low:g}, and 1 at most", value, "Pass a number up to 1.")
    return number


@dataclass(frozen=True)
class Pooled:
    """What a pool answers: whether any of its members is positive, with errors that do not depend on its size.

    Parameters
    ----------
    sensitivity : float
        The probability that a pool with a positive member reads positive.
    specificity : float
        The probability that a pool without one reads negative.

    Examples
    --------
    >>> import zonal as zn
    >>> size, tests, miss, false_alarm = zn.Pooled(0.95, 0.99).dorfman(prevalence=0.02)
    >>> size, round(tests, 2), round(miss, 3)
    (8, 0.28, 0.098)
    """

    sensitivity: float = 1.0
    specificity: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", _share(self.sensitivity, "sensitivity", HALF))
        object.__setattr__(self, "specificity", _share(self.specificity, "specificity", HALF))

    def likelihoods(self, positive: bool) -> tuple[float, float]:
        """Return the probability of an answer of a pool without, and of a pool with, a positive member."""
        with_any = self.sensitivity if positive else 1 - self.sensitivity
        return 1 - self.specificity if positive else self.specificity, with_any

    def dorfman(self, prevalence: float) -> tuple[int, float, float, float]:
        """Return the best size of Dorfman's two-stage pools: also tests a member, and its two error rates.

        The error rates are the shares of positives that it misses, and of negatives that it calls positive.
        """
        plans = []
        for size in range(2, SIZES + 1):
            clean = (1 - prevalence) ** size
            positive = clean * (1 - self.specificity) + (1 - clean) * self.sensitivity
            plans.append((1 / size + positive, size))
        tests, size = min(plans)
        others = (1 - prevalence) ** (size - 1)
        seen = others * (1 - self.specificity) + (1 - others) * self.sensitivity
        return size, tests, 1 - self.sensitivity**2, (1 - self.specificity) * seen


@dataclass(frozen=True)
class Pool:
    """A pool to test.

    Attributes
    ----------
    number : int
        Counts the pools from 0.
    members : tuple of int
        Whose samples to pool, counted from 0.
    names : tuple of str
        Their names, if they have any.

    Examples
    --------
    >>> import zonal as zn
    >>> zn.GroupTesting(["a", "b", "c"], prevalence=0.1).ask().names
    ('a', 'b', 'c')
    """

    number: int
    members: tuple[int, ...]
    names: tuple[str, ...] = ()


class GroupTesting:
    """Which members are positive, with as few pools as possible.

    Every member is classified at given error rates, by default those of Dorfman's two-stage pools (a pool, and
    each member of a positive one alone) at the best size for this prevalence.

    Parameters
    ----------
    members : int, sequence of names, Points or Hierarchy
        Who is tested.
    prevalence : float, or array with one for each member
        The probability that a member is positive, before any test.
    pooled : Pooled
        How reliable a test is.
    largest : int
        The most members of a pool.
    miss : float, optional
        The largest expected share of positives that are called negative.
    false_alarm : float, optional
        The largest expected share of negatives that are called positive.

    Examples
    --------
    >>> import zonal as zn
    >>> sick = {17, 61}
    >>> testing = zn.GroupTesting(100, prevalence=0.02)
    >>> while not testing.done:
    ...     pool = testing.ask()
    ...     testing.tell(pool, bool(sick.intersection(pool.members)))
    >>> testing.positive, testing.tests < 27
    ((17, 61), True)
    """

    def __init__(
        self,
        members: int | Sequence[str] | FiniteSpace,
        prevalence: ArrayLike,
        pooled: Pooled = Pooled(),  # it is frozen
        *,
        largest: int = LARGEST,
        miss: float | None = None,
        false_alarm: float | None = None,
    ) -> None:
        self.names: tuple[str, ...] = ()
        if isinstance(members, FiniteSpace):
            number = members.size
        elif isinstance(members, Sequence):
            self.names, number = tuple(map(str, members)), len(members)
        else:
            number = whole_number(members, "members", 1)
        require(number > 0, "there are no members", members, "Pass how many there are, or their names.")
        require(isinstance(pooled, Pooled), "pooled must be Pooled(...)", pooled, "Pass zn.Pooled(0.95, 0.99).")
        able = np.shape(prevalence) in ((), (number,))
        fix = f"Pass one number, or one for each of the {number} members."
        require(able, "prevalence has another length than there are members", np.shape(prevalence), fix)
        prior = np.broadcast_to(np.asarray(prevalence, dtype=float), number)
        within = bool(np.all((prior > 0) & (prior < 1)))
        require(within, "a prevalence must lie between 0 and 1", prevalence, "Pass what is expected: 0.02.")
        self.pooled, self.prevalence = pooled, float(prior.mean())
        self._largest = whole_number(largest, "largest", 1, 63)
        *_, dorfman_miss, dorfman_alarm = pooled.dorfman(self.prevalence)
        miss = dorfman_miss if miss is None else checked_probability(miss, "miss")
        alarm = dorfman_alarm if false_alarm is None else checked_probability(false_alarm, "false_alarm")
        # Each of those called negative is positive with at most this probability, so that at most `miss` are
        # missed; likewise of those called positive.
        self._negative_below = max(miss * self.prevalence, EXACT)
        self._positive_above = min(1 / (1 + alarm * (1 - self.prevalence) / self.prevalence), 1 - EXACT)
        self._probability = prior.copy()
        self._decided = np.zeros(number, dtype=bool)
        self._waiting = list(range(number))  # members that belong to no block
        self._blocks: list[_Block] = []
        self._pending: dict[int, tuple[_Block, tuple[int, ...]]] = {}
        self._answers: list[tuple[tuple[int, ...], bool]] = []
        self._asked = 0

    def __repr__(self) -> str:
        """Return how far it is."""
        classified = int(self._decided.sum())
        return f"<GroupTesting: {classified} of {self._decided.size} classified in {self.tests} tests>"

    @property
    def tests(self) -> int:
        """The number of pools told."""
        return len(self._answers)

    @property
    def answers(self) -> tuple[tuple[tuple[int, ...], bool], ...]:
        """The pools told, in order: their members, and whether they read positive."""
        return tuple(self._answers)

    @property
    def probabilities(self) -> Floats:
        """The probability that each member is positive; of those classified, as it was then."""
        return self._probability.copy()

    @property
    def done(self) -> bool:
        """Whether every member is classified."""
        return bool(self._decided.all())

    @property
    def positive(self) -> tuple[int, ...]:
        """The members classified as positive."""
        return tuple(np.flatnonzero(self._decided & (self._probability > HALF)).tolist())

    @property
    def negative(self) -> tuple[int, ...]:
        """The members classified as negative."""
        return tuple(np.flatnonzero(self._decided & (self._probability <= HALF)).tolist())

    def ask(self) -> Pool:
        """Return the next pool; several may be pending, as many as there are members that depend on no other."""
        if self.done:
            raise BudgetSpent("every member is classified; there is nothing left to test.")
        busy = [block for block, _ in self._pending.values()]
        block = next((block for block in self._blocks if not any(block is other for other in busy)), None)
        if block is None:
            if not self._waiting:
                raise BudgetSpent(
                    "every member left is in a pool that is pending, or depends on one. Tell it first."
                )
            block = self._new_block()
        places = block.best_pool(self.pooled, self._largest, self._negative_below)
        members = tuple(sorted(block.members[place] for place in places))
        self._pending[self._asked] = block, tuple(places)
        self._asked += 1
        names = tuple(self.names[member] for member in members) if self.names else ()
        return Pool(self._asked - 1, members, names)

    def tell(self, pool: Pool | int, positive: bool) -> None:
        """Record whether a pool read positive."""
        positive = truth(positive, "positive")
        number = pool.number if isinstance(pool, Pool) else pool
        if number not in self._pending:
            fix = "Tell each pool that ask() returned once."
            raise InvalidInput("this pool is not pending", number, fix)
        block, places = self._pending.pop(number)
        members = tuple(sorted(block.members[place] for place in places))
        block.condition_on(places, *self.pooled.likelihoods(positive))
        self._answers.append((members, positive))
        marginals = block.marginals()
        self._probability[block.members] = marginals
        sure = (marginals <= self._negative_below) | (marginals >= self._positive_above)
        self._decided[[member for member, is_sure in zip(block.members, sure, strict=True) if is_sure]] = True
        block.drop(sure)
        if block.is_independent():
            self._waiting += block.members
            self._blocks = [other for other in self._blocks if other is not block]

    def _new_block(self) -> _Block:
        """Return a block of the likeliest members that wait: enough that half of such blocks have a positive."""
        order = sorted(self._waiting, key=lambda member: (-self._probability[member], member))
        chosen: list[int] = []
        clean = 1.0
        expected = 0.0  # positives
        while len(chosen) < min(len(order), self._largest) and (not chosen or clean > HALF):
            following = float(self._probability[order[len(chosen)]])
            expected += following
            if not _describes(len(chosen) + 1, expected):
                break
            chosen.append(order[len(chosen)])
            clean *= 1 - following
        self._waiting = [member for member in self._waiting if member not in chosen]
        block = _Block(chosen, self._probability[chosen])
        self._blocks.append(block)
        return block


class _Block:
    """Members that depend on each other, and the probability of every set of positives among them."""

    def __init__(self, members: list[int], prior: Floats) -> None:
        self.members = members
        self._masks, places = _sets(len(members))
        odds = np.append(prior / (1 - prior), 1.0)
        self._weights: Floats = odds[places].prod(axis=1)
        self._weights /= self._weights.sum()

    def marginals(self) -> Floats:
        """Return the probability that each member is positive."""
        bits = np.arange(len(self.members), dtype=np.uint64)
        return np.array([self._weights[(self._masks >> bit) & np.uint64(1) > 0].sum() for bit in bits])

    def condition_on(self, places: Sequence[int], without: float, with_any: float) -> None:
        """Take in an answer of a pool, with its probabilities without and with a positive member."""
        pool = np.uint64(sum(1 << place for place in places))
        self._weights = self._weights * np.where(self._masks & pool, with_any, without)
        total = self._weights.sum()
        problem, fix = "this answer is impossible", "Is a sensitivity or a specificity of 1 right?"
        require(total > 0, problem, [self.members[place] for place in places], fix)
        self._weights /= total

    def drop(self, gone: NDArray[np.bool_]) -> None:
        """Forget some members: add up what is the same without them."""
        left = [place for place, is_gone in enumerate(gone.tolist()) if not is_gone]
        masks = np.zeros_like(self._masks)
        for place, before in enumerate(left):
            masks |= ((self._masks >> np.uint64(before)) & np.uint64(1)) << np.uint64(place)
        self._masks, where = np.unique(masks, return_inverse=True)
        sums = np.bincount(where.reshape(-1), self._weights, len(self._masks))
        self._weights = np.asarray(sums, dtype=float)
        self.members = [self.members[place] for place in left]

    def is_independent(self) -> bool:
        """Tell whether the members left depend on each other no more than is worth remembering."""
        marginals = self.marginals()
        clean = float(self._weights[self._masks == 0].sum())
        single = [
            float(self._weights[self._masks == np.uint64(1 << place)].sum()) for place in range(len(self.members))
        ]
        alone = math.prod((1 - marginals).tolist())
        apart = [alone * p / (1 - p) if p < 1 else 0.0 for p in marginals.tolist()]
        gaps = [abs(clean - alone), *(abs(a - b) for a, b in zip(single, apart, strict=True))]
        return bool(sum(gaps) < INDEPENDENT)

    def best_pool(self, pooled: Pooled, largest: int, negative_below: float) -> list[int]:
        """Return the places of the members whose pool tells most about who is positive.

        Only pools of the likeliest members are compared, and where a negative answer can clear all of them, pools
        that it clears.
        """
        marginals = self.marginals()
        order = np.lexsort((np.arange(marginals.size), -marginals.round(12)))
        first = np.full(self._masks.shape, len(order))  # by set, the rank of its likeliest member
        for rank in range(len(order) - 1, -1, -1):
            first[(self._masks >> np.uint64(order[rank])) & np.uint64(1) > 0] = rank
        by_rank = np.bincount(first, self._weights, len(order) + 1)
        sizes = np.arange(1, min(len(order), largest) + 1)
        clean = 1 - np.cumsum(by_rank)[sizes - 1]  # the probability that nobody in the pool is positive
        quiet, positive = 1 - pooled.specificity, pooled.sensitivity
        told = clean * quiet + (1 - clean) * positive
        gain = _entropy(told) - clean * _entropy(np.array(quiet)) - (1 - clean) * _entropy(np.array(positive))
        cleared = marginals[order[0]] * (1 - pooled.sensitivity) <= negative_below * (1 - told)
        if cleared.any():
            gain = np.where(cleared, gain, -1.0)
        best = int(np.flatnonzero(gain >= gain.max() - EXACT)[0])
        return [int(place) for place in order[: best + 1]]


def _entropy(probability: Any) -> Floats:
    """Return the entropy of yes and no."""
    parts = np.clip(np.stack([probability, 1 - np.asarray(probability)]), 1e-300, 1.0)
    return np.asarray(-(parts * np.log(parts)).sum(axis=0))


def _most(number: int) -> int:
    """Return how many positives at most the sets have by which so many members are described."""
    most, total = 0, 1
    while most < number and total + math.comb(number, most + 1) <= MOST_SETS:
        most += 1
        total += math.comb(number, most)
    return most


def _describes(number: int, expected: float) -> bool:
    """Tell whether the sets that describe some members leave out next to nothing, if so many are positive."""
    most = _most(number)
    return most == number or bool(expected ** (most + 1) / math.factorial(most + 1) < RARE)


@cache
def _sets(number: int) -> tuple[Masks, NDArray[np.intp]]:
    """Return sets of members, the smallest first, as many as are described: as masks, and as padded places."""
    most = _most(number)
    total = sum(math.comb(number, size) for size in range(most + 1))
    masks = np.zeros(total, dtype=np.uint64)
    places = np.full((total, max(most, 1)), number)
    at = 1
    for size in range(1, most + 1):
        block = np.array(list(combinations(range(number), size)))
        stop = at + len(block)
        places[at:stop, :size] = block
        masks[at:stop] = (np.uint64(1) << block.astype(np.uint64)).sum(axis=1, dtype=np.uint64)
        at = stop
    return masks, places
