"""A part of f that every member has for itself, beside what its neighbours share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zonal._types import Floats
from zonal.errors import InvalidInput, positive_number
from zonal.kernels.base import Factor, KernelAxis, Term


@dataclass(frozen=True)
class Nugget(Term):
    """A part of f that each point of `Points`, or member of a `Hierarchy` with features, has for itself.

    Add it to a kernel that measures distances: neighbours then differ however close they are, as single stars,
    shops or compounds do. It is no noise: repeated measurements agree on it. In the average of a region it shrinks
    as the members' shares say; points with equal features have it in common. Where no kernel is given it is
    learned for up to 4,096 members; in larger spaces averages over a region are of some of its members.

    Parameters
    ----------
    variance : float
        Prior variance of this part, in squared value units.

    Examples
    --------
    >>> import zonal as zn
    >>> stars = zn.Points({"x": [0.0, 0.1, 0.8, 0.9]})
    >>> kernel = zn.Matern(1.0, lengthscale=0.5) + zn.Nugget(0.2)
    >>> zn.Study(stars, budget=9, kernel=kernel, noise=0.1).model.kernel.point_variance
    1.2
    """

    variance: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", positive_number(self.variance, "the kernel's variance"))

    def along(self, symbols: Sequence[bool]) -> list[Factor]:
        """Raise: this kernel is not a product over axes."""
        fix = "Use it with zn.Points, or a zn.Hierarchy with features."
        raise InvalidInput("a Nugget is for single members, which a space of axes has not", self, fix)

    def variation(self, axes: Sequence[KernelAxis]) -> Floats:
        """Return NaN for every axis: f has no derivative."""
        return np.full(len(axes), np.nan)

    def on_points(self, x: Floats, y: Floats) -> Floats:
        """Return the matrix k(x, y) of two sets of points, shapes (n, d) and (m, d)."""
        same = np.full((len(x), len(y)), True)
        for j in range(x.shape[1]):
            same &= x[:, None, j] == y[:, j]
        return self.variance * same
