"""A covariance that numbers footprints, in order of entry, for tests that ask about pairs of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import zonal as zn
from zonal.kernels.base import Kernel
from zonal.kernels.covariance import CovarianceCache, ProductCovariance
from zonal.kernels.feedback import Feedback
from zonal.kernels.finite_covariance import SubsetCovariance, SubsetLayout
from zonal.kernels.layout import ProductLayout
from zonal.spaces import FiniteSpace

Array = NDArray[Any]


class Numbered:
    """A layout, a covariance of its footprints, and those that were entered."""

    def __init__(self, layout: Any, covariance: Any) -> None:
        self.layout, self.covariance = layout, covariance
        self.keys: Array | None = None

    @property
    def size(self) -> int:
        """How many were entered."""
        return 0 if self.keys is None else self.keys.shape[1]

    def _own(self, some: Any) -> Array:
        """Return the keys of some of those entered, by number or as a slice."""
        assert self.keys is not None
        keys: Array = self.keys[:, some]
        return keys

    def _of(self, pairs: Any) -> Array:
        found: Array = self.covariance.of(pairs)
        return found

    def enter(self, footprints: Any) -> Array:
        """Enter footprints, which get the next numbers; return their variances."""
        start, keys = self.size, self.layout.keys(footprints)
        self.keys = keys if self.keys is None else np.concatenate((self.keys, keys), axis=1)
        return self.variances(start, self.size)

    def add(self, footprints: Any) -> Array:
        """Enter footprints; return their covariances with all entered."""
        start = self.size
        self.enter(footprints)
        return self.between(slice(start, self.size), slice(0, self.size))

    def variances(self, start: int, stop: int) -> Array:
        """Return the variances of some that were entered."""
        return self._of(self.layout.self_pairs(self._own(slice(start, stop))))

    def row(self, one: int) -> Array:
        """Return the covariance of one footprint with all that are entered, as a belief asks for it."""
        return self._of(self.layout.pairs(self.keys, self._own(slice(one, one + 1))))[:, 0]

    def between(self, some: Any, others: Any) -> Array:
        """Return the covariances of some with others."""
        return self._of(self.layout.pairs(self._own(some), self._own(others)))

    def outside(self, some: Any, footprints: Any) -> tuple[Array, Array]:
        """Return the covariances of some with footprints that are not entered, and the variances of these."""
        keys = self.layout.keys(footprints, register=False)
        return self._of(self.layout.pairs(keys, self._own(some))).T, self._of(self.layout.self_pairs(keys))

    def among(self, footprints: Any) -> Array:
        """Return the covariances of footprints that are not entered."""
        keys = self.layout.keys(footprints, register=False)
        return self._of(self.layout.pairs(keys, keys))


def numbered(kernel: Kernel, feedback: Feedback, axes: Sequence[Any]) -> Numbered:
    """Return a covariance of averages over products of axes, with a memory of its own."""
    layout = ProductLayout(axes, feedback)
    return Numbered(layout, ProductCovariance(kernel, CovarianceCache(layout)))


def numbered_members(kernel: Kernel, space: FiniteSpace) -> Numbered:
    """Return a covariance of averages over sets of members, with a memory of its own."""
    layout = SubsetLayout(space, zn.Mean())
    return Numbered(layout, SubsetCovariance(kernel, space, layout))


def in_frame(frame: Any, kernel: Kernel) -> Numbered:
    """Return a covariance of averages that shares its memory with all of a frame."""
    return Numbered(frame.layout, frame.covariance(kernel))
