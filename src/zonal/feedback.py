"""What does a measurement see? A linear functional of f for each region.

A feedback knows regions and representative points; it must not know kernels. For regions that are products
over axes it is the same on every axis: a few points placed within the unit interval, or all of it; of a set of
symbols always all. Of a set of members it sees all, or some spread evenly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonal.errors import InvalidInput, whole_number
from zonal.spaces import Interval, MemberRegion, MemberSpace, ProductRegion, Region
from zonal.spaces.product_region import MOST_POINTS

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Footprints:
    """Where n measurements look, for regions that are products over axes.

    Attributes
    ----------
    centers, widths : array, shape (n, d)
        Of the regions, centres counted from the lower corner of the space; on an axis of symbols the set of
        symbols as a number, and its share of the whole.
    """

    centers: Floats
    widths: Floats

    def __len__(self) -> int:
        """Return the number of footprints."""
        return len(self.centers)


@dataclass(frozen=True)
class Subsets:
    """Where n measurements look, for regions that are sets of members.

    Attributes
    ----------
    members : list of array of int
        The members' places in the order of the tree.
    shares : list of array
        Their weights, which add up to 1: rows of the matrix A of equation 4.
    """

    members: list[Ints]
    shares: list[Floats]

    def __len__(self) -> int:
        """Return the number of footprints."""
        return len(self.members)


AnyFootprints = Footprints | Subsets


class Feedback:
    """What all feedbacks share. `grid` says where along each axis of a region one looks."""

    @property
    def grid(self) -> Floats | None:
        """Positions within a region of width 1 centred at 0, or None for all of it."""
        raise InvalidInput("this feedback has no grid", self, "Use Center, Average or Mean.")

    @property
    def reach(self) -> float:
        """Farthest distance from a looked-at point to a point of the region, in widths."""
        return 1.0 if self.grid is None else 0.5 + float(np.max(np.abs(self.grid)))

    def footprints(self, regions: Sequence[Region]) -> Any:
        """Return where measurements of `regions`, all of one space, look."""
        if isinstance(regions[0], MemberRegion):
            members, shares = [], []
            for region in regions:
                assert isinstance(region, MemberRegion)
                seen, share = region.seen(self)
                members.append(seen)
                shares.append(share)
            return Subsets(members, shares)
        products: Sequence[ProductRegion] = regions  # type: ignore[assignment]
        return Footprints(
            np.array([region.offset for region in products]),
            np.array([region.sizes for region in products]),
        )

    def points(self, center: Floats, widths: Floats) -> Floats:
        """Return the representative points of a box, shape (n, d), the last axis fastest."""
        grid = self._listed(len(center))
        axes = np.meshgrid(*(c + w * grid for c, w in zip(center, widths, strict=True)), indexing="ij")
        return np.stack([axis.ravel() for axis in axes], axis=-1)

    def weights(self, d: int) -> Floats:
        """Return the weights a of the representative points of a box, shape (n,): 1/S each."""
        number = len(self._listed(d)) ** d
        return np.full(number, 1 / number)

    def _listed(self, d: int) -> Floats:
        if self.grid is None:
            raise InvalidInput(
                "the exact mean over a region has no representative points",
                self,
                "Use region.bounds, or Average(s) for a grid of points.",
            )
        if len(self.grid) ** d > MOST_POINTS:
            raise InvalidInput(
                f"too many representative points to list in {d} dimensions",
                self,
                "Use region.bounds and form the grid piece by piece.",
            )
        return self.grid

    def check(self, space: Any) -> None:
        """Complain if a measurement of this kind has no meaning on a space."""
        if self.grid is None or isinstance(space, MemberSpace):
            return
        symbols = [axis.name for axis in space.axes if not isinstance(axis, Interval)]
        if symbols and (len(self.grid) == 1 or len(symbols) == space.d):
            raise InvalidInput(
                f"a set of symbols ({symbols[0]}) has no centre and no grid of points",
                self,
                "Use Mean(), which sees the whole pool.",
            )


@dataclass(frozen=True)
class Center(Feedback):
    """A measurement sees the centre of the region: the paper's single point feedback, S = 1."""

    @property
    def grid(self) -> Floats:
        """Positions within a region of width 1 centred at 0."""
        return np.zeros(1)


@dataclass(frozen=True)
class Average(Feedback):
    """A measurement sees the average over a grid of representative points (equation 1 of the paper).

    Parameters
    ----------
    s : int
        Points an axis, at the centres of s equal sub-cells; S = s^d in all.
    """

    s: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "s", whole_number(self.s, "Average's s", 1))

    @property
    def grid(self) -> Floats:
        """Positions within a region of width 1 centred at 0."""
        return (np.arange(self.s) + 0.5) / self.s - 0.5


@dataclass(frozen=True)
class Mean(Feedback):
    """A measurement sees the exact mean over the whole region (the paper's appendix on continuous feedback)."""

    @property
    def grid(self) -> None:
        """None: all of the region is seen."""
        return
