"""What all regions and spaces share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from zonal.errors import InvalidInput, whole_number
from zonal.tables.listings import Cell, card, short

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Node = tuple[int, int]

ROUNDING = 1e-9  # of a width or a weight: differences below it are rounding, not intent
DEEPEST = 10_000  # depth of a cell: no search comes near, and the cells of a depth are counted exactly


class Viewer(Protocol):
    """What a region must know of a feedback: where it looks, and with which weights."""

    def nodes(self, axis: Any, width: float) -> tuple[Floats, Floats]:
        """Return the points seen of an interval of a width, counted from its centre, and their weights."""

    def seen(self, region: Any) -> tuple[Any, Floats]:
        """Return the places of the members of a region that are seen, and their shares."""

    def reach(self, axis: Any, width: float) -> float:
        """Return the farthest distance from what is seen of an interval to a point of it."""


@dataclass(frozen=True, repr=False)
class Region(ABC):
    """A part of a space, as a value: made by a space, never changed.

    Attributes
    ----------
    node : (depth, index) or None
        Its place in the tree; None for a region outside of it.
    name : str
        What a person reads: ``"l 0..11.25 deg, sin_b -0.0625..0"``, ``"ATNNNNNN"``, ``"NSW > Mid North Coast"``.
    bounds : array, shape (d, 2)
        Lower and upper edge on each axis, in native units.
    center : array, shape (d,)
        The centre.
    widths : array, shape (d,)
        The width on each axis.
    points, weights : array, shapes (n, d) and (n,)
        The representative points and their weights, which add up to 1; made when asked for.
    weight : float
        How much lies in the region: volume, share of all sequences, or total weight of its members.
    x : array, text or mapping
        Where it is, in a word: the centre where there are numbers only, the pool of sequences, the name within a
        hierarchy without features, or a number or symbol an axis.
    key : hashable
        What tells this region from others of the same space.
    """

    __iter__: ClassVar[None] = None  # parts are looked up by name: a region is no sequence of them

    space: Any = field(repr=False)
    node: Node | None = None
    feedback: Viewer | None = field(default=None, repr=False, compare=False)  # how it is seen is not what it is

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """What tells this region from others of the same space."""

    @property
    def name(self) -> str:
        """What a person reads."""
        return str(self.space.describe(self))

    @abstractmethod
    def check(self) -> None:
        """Complain of a region from a file if its space has none such."""

    @property
    @abstractmethod
    def bounds(self) -> Floats:
        """Lower and upper edge on each axis, shape (d, 2), in native units."""

    @property
    @abstractmethod
    def center(self) -> Floats:
        """The centre, shape (d,)."""

    @property
    @abstractmethod
    def widths(self) -> Floats:
        """The width on each axis, shape (d,)."""

    @property
    @abstractmethod
    def weight(self) -> float:
        """How much lies in the region."""

    @property
    @abstractmethod
    def points(self) -> Floats:
        """The representative points, shape (n, d)."""

    @property
    @abstractmethod
    def weights(self) -> Floats:
        """The weights of the representative points, shape (n,); they add up to 1."""

    @property
    @abstractmethod
    def x(self) -> Any:
        """Where it is, in a word: the centre where there are numbers only."""

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """Return what it is, in plain numbers and texts, ready for JSON; ``space.region`` takes it back."""

    @abstractmethod
    def cells(self) -> dict[str, Cell]:
        """Return one cell an axis, a feature or a level, by its name and unit, for a table."""

    @abstractmethod
    def overlaps(self, other: Any) -> bool:
        """Tell whether a region of the same space has anything in common with this one."""

    @abstractmethod
    def holds(self, other: Any) -> bool:
        """Tell whether a region of the same space lies within this one."""

    def __getitem__(self, name: str) -> Any:
        """Return the part of one axis: its edges, or its symbols."""
        parts = self.as_dict()
        if name not in parts:
            raise InvalidInput("this region has no such axis", name, f"It has {', '.join(map(repr, parts))}.")
        return parts[name]

    def _repr_html_(self) -> str:
        """Return what a person wants to know first, for a notebook."""
        facts: dict[str, object] = {"name": self.name, "weight": short(self.weight)}
        return card("Region", facts if self.node is None else facts | {"node (depth, index)": self.node})

    def __repr__(self) -> str:
        """Return what a person wants to know first."""
        return f"<Region {self.name!r}>" if self.node is None else f"<Region {self.name!r}, node {self.node}>"

    def viewer(self) -> Viewer:
        """Return the feedback this region is measured with, or complain that there is none."""
        if self.feedback is None:
            raise InvalidInput(
                "this region was made without a feedback, so it has no representative points",
                self.name,
                "Take a trial's region, or pass space.region(..., feedback=...).",
            )
        return self.feedback


class Space(Protocol):
    """What is asked of a space."""

    @property
    def axes(self) -> Any:
        """The axes, by number; None for a space of members."""

    @property
    def d(self) -> int:
        """The number of axes, or of features."""

    @property
    def base(self) -> int:
        """The usual number of children of a node."""

    def cell(self, node: Node, feedback: Viewer | None = None) -> Region:
        """Return the region of a node of the tree."""

    def split(self, region: Any) -> tuple[Region, ...]:
        """Return the children of a cell of the tree, in order."""

    def whole(self) -> Ints:
        """Return the whole space as a row of numbers, shape (1, q), by which a search keeps its cells."""

    def children(self, depth: int, index: int, cell: Ints) -> tuple[Ints, Ints]:
        """Return the indices of a cell's children, and the children as rows of numbers."""

    def splittable(self, depth: int, indices: Ints) -> Any:
        """Tell whether cells of a depth have children, none of them under the smallest useful size."""

    def seen(self, node: Node, cell: Any, feedback: Viewer | None) -> Region:
        """Return the region of a node that is kept as a row of numbers."""

    def may_split(self, region: Any) -> bool:
        """Tell whether a cell has children, none of them under the smallest useful size."""

    def count(self, depth: int) -> int:
        """Return the number of cells at a depth, exactly."""

    def leaves(self, depth: int) -> int:
        """Return the number of regions if the tree ended at a depth: leaves above it count too."""

    def leaf(self, depth: int, number: int) -> Node:
        """Return one of these regions, by number."""

    def typical(self, depth: int, most: int) -> list[Node]:
        """Return cells that stand for all of a depth, `most` of them at the most."""

    def inside(self, depth: int, bottom: int) -> int:
        """Return the number of smallest regions, of the depth `bottom`, or of members, in a cell of a depth."""

    def arrange(self, values: Any, what: str) -> Any:
        """Return a table of values as the space orders them: one dimension an axis, or one value a member."""

    def deepest(self) -> int | None:
        """Return the depth of the deepest cells, None if there is no end."""

    def cut(self) -> int:
        """Return the depth of the smallest regions where the space has none of its own."""

    def sides(self) -> Floats:
        """Return the width of the whole space along each axis, shape (d,)."""

    def reach(self, depth: int, inside: Callable[[Any, float], float]) -> Floats:
        """Return how far a cell of a depth reaches along each axis from what is seen of it.

        `inside` tells how far an interval of a width reaches along a continuous axis.
        """

    def region(self, what: Any, feedback: Viewer | None = None) -> Region:
        """Return any region of the space, in the tree or not."""

    def is_one(self, what: Any) -> bool:
        """Tell whether `what` describes one region, and not several."""

    def describe(self, region: Any) -> str:
        """Return the name of a region."""


class Immutable:
    """A space is a value: a copy is the thing itself."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


def checked_node(node: Any, space: Any) -> Node:
    """Return a node as two numbers, or complain that there is none such."""
    try:
        depth, index = (whole_number(number, "a node's depth and index", 0, None) for number in node)
        whole_number(depth, "a node's depth", 0, DEEPEST)
    except (TypeError, ValueError):
        depth, index = -1, 0
    if depth < 0 or index >= space.count(depth):
        raise InvalidInput(
            "a node is (depth, index) with index below the number of cells at that depth",
            node,
            "Pass for example (0, 0).",
        )
    return depth, index


def with_feedback(region: Region, feedback: Viewer) -> Region:
    """Return the same region as seen by another feedback."""
    return replace(region, feedback=feedback)
