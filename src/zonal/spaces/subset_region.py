"""A region that is a set of weighted members: a run of them in the order of the tree, or any others."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from zonal._types import Floats, Ints
from zonal.kernels.feedback import spread_evenly
from zonal.spaces.base import Region

if TYPE_CHECKING:
    from zonal.spaces.finite import FiniteSpace


@dataclass(frozen=True, repr=False)
class SubsetRegion(Region):
    """A set of members.

    ``bounds`` are the minimum and maximum of each feature, ``center`` is the weighted mean of the features (for
    codes, NaN where they differ), and ``members`` are the user's row numbers.
    """

    space: FiniteSpace
    start: int = 0
    stop: int = 0
    chosen: tuple[int, ...] | None = None  # for a region outside the tree

    @property
    def key(self) -> Hashable:
        """A value that differs between regions of the same space."""
        return (self.start, self.stop) if self.chosen is None else self.chosen

    @property
    def name(self) -> str:
        """A readable name: ``"2 points: dose 4..8"``, ``"NSW > Mid North Coast"``."""
        return self.space._describe(self)

    def as_dict(self) -> dict[str, Any]:
        """Return the region as plain numbers and texts, ready for JSON; ``space.region`` accepts it."""
        return self.space._as_dict(self)

    @cached_property
    def positions(self) -> Ints:
        """The members' positions in the order of the tree."""
        if self.chosen is not None:
            return np.array(self.chosen, dtype=np.intp)
        return np.arange(self.start, self.stop)

    @property
    def members(self) -> Ints:
        """The members' row numbers, in the user's order."""
        return np.asarray(self.space.rows[self.positions])

    @property
    def bounds(self) -> Floats:
        """Minimum and maximum of each feature, shape (d, 2)."""
        inside = self.space.features[self.positions]
        return np.stack([inside.min(axis=0), inside.max(axis=0)], axis=1)

    @property
    def center(self) -> Floats:
        """The weighted mean of the features, shape (d,)."""
        at = self.positions
        inside = self.space.features[at]
        if self.space.is_categorical:
            return np.where((inside == inside[0]).all(axis=0), inside[0], np.nan)
        return np.asarray(np.average(inside, axis=0, weights=self.space.weights[at]))

    @property
    def widths(self) -> Floats:
        """The extent of each feature, shape (d,)."""
        low, high = self.bounds.T
        return np.asarray(high - low)

    @property
    def weight(self) -> float:
        """The total weight of the members."""
        # A difference of cumulative weights would lose light members behind heavy ones.
        return float(self.space.weights[self.positions].sum())

    @property
    def points(self) -> Floats:
        """The features of the members that are measured, shape (n, d)."""
        return np.asarray(self.space.features[self._viewer().seen(self)[0]])

    @property
    def weights(self) -> Floats:
        """The weights of the members that are measured, shape (n,); they add up to 1."""
        return self._viewer().seen(self)[1]

    @property
    def x(self) -> Any:
        """The centre; for leaves without features the name."""
        return self.name if self.space.is_categorical else self.center

    def overlaps(self, other: Region) -> bool:
        """Tell whether a region of the same space shares members with this one."""
        theirs = self._neighbour(other)
        if self.chosen is None and theirs.chosen is None:
            return self.start < theirs.stop and theirs.start < self.stop
        return bool(np.isin(self.positions, theirs.positions).any())

    def contains(self, other: Region) -> bool:
        """Tell whether all members of a region of the same space are members of this one."""
        theirs = self._neighbour(other)
        if self.chosen is None and theirs.chosen is None:
            return self.start <= theirs.start and theirs.stop <= self.stop
        return bool(np.isin(theirs.positions, self.positions).all())

    @property
    def share(self) -> float:
        """How much of the weight of all members the region has."""
        return float(self.weight / self.space.weights.sum())

    def _sample(self, number: int, rng: np.random.Generator) -> Any:
        weights = self.space.weights[self.positions]
        drawn = rng.choice(self.positions, number, p=weights / weights.sum())
        if self.space.is_categorical:
            distinct, of_drawn = np.unique(drawn, return_inverse=True)
            names = [self.space.region([int(self.space.rows[place])]).name for place in distinct]
            return [names[at] for at in of_drawn.tolist()]
        return np.asarray(self.space.features[drawn])

    def nearest(self) -> Ints:
        """Return the position of the member nearest to the centre, as an array."""
        if self.space.is_categorical:
            return self.positions[:1]
        far = (self.space.features[self.positions] - self.center) / self.space.sides()
        return self.positions[[int(np.argmin((far**2).sum(axis=1)))]]

    def subsample(self, number: int) -> tuple[Ints, Floats]:
        """Return positions and shares of `number` members spread evenly over the weight, or of all."""
        weights = self.space.weights[self.positions]
        if number >= len(weights):
            return self.positions, weights / weights.sum()
        return spread_evenly(self.positions, weights, number)
