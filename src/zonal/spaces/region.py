"""What all regions and spaces share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from zonal.arrays import Floats
from zonal.errors import InvalidInput, random_generator, whole_number
from zonal.tables.listings import Cell, card, short

if TYPE_CHECKING:
    from zonal.averages.feedback import Feedback

Ints = NDArray[np.int64]
Node = tuple[int, int]

ROUNDING = 1e-9  # of a width or a weight: differences below it are rounding, not intent
MOST_DRAWN = 10_000_000  # points at random
DEEPEST = 10_000  # depth of a cell: no search comes near, and the cells of a depth are counted exactly


@dataclass(frozen=True, repr=False)
class Region(ABC):
    """A part of a space, as a value: made by a space, never changed.

    Attributes
    ----------
    node : (depth, index) or None
        Its place in the tree; None for a region outside of it.
    """

    __iter__: ClassVar[None] = None  # parts are looked up by name: a region is no sequence of them

    space: Any = field(repr=False)
    node: Node | None = None
    feedback: Feedback | None = field(default=None, repr=False, compare=False)  # how it is seen is not what it is

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """What tells this region from others of the same space."""

    @property
    def name(self) -> str:
        """What a person reads: ``"l 0..11 deg, sin_b -0.06..0"``, ``"ATNNNNNN"``, ``"NSW > Mid North Coast"``."""
        return str(self.space.describe(self))

    @abstractmethod
    def check(self) -> None:
        """Complain of a region from a file if its space has none such."""

    @property
    @abstractmethod
    def bounds(self) -> Floats:
        """Lower and upper edge on each axis, shape (d, 2), in native units."""

    @property
    def drawn(self) -> Floats:
        """Where it begins and ends on each axis of a picture, shape (d, 2)."""
        return self.bounds

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
        """How much lies in the region: volume, share of all sequences, or total weight of its members."""

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
        """Where it is, in a word: the centre, the pool of sequences, a name, or a number or symbol per axis."""

    def sample(self, n: int, rng: int | np.random.Generator | None = None) -> Any:
        """Return points drawn at random, evenly over the region: what an objective does with a range.

        Parameters
        ----------
        n : int
            How many.
        rng : int or Generator, optional
            Where the random numbers come from.

        Returns
        -------
        array of shape (n, d), or list
            Where there are numbers only, points; with symbols a value per axis by name, of sequences the sequence,
            of leaves without features their names.
        """
        return self._sample(whole_number(n, "n", 0, MOST_DRAWN), random_generator(rng))

    @abstractmethod
    def _sample(self, number: int, rng: np.random.Generator) -> Any:
        """Return points drawn at random."""

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """Return what it is, in plain numbers and texts, ready for JSON; ``space.region`` takes it back."""

    def as_json(self) -> dict[str, Any]:
        """Return what programs are told: its name, its node, and where it is."""
        return {"name": self.name, "node": None if self.node is None else list(self.node)}

    @abstractmethod
    def row(self) -> list[Any]:
        """Return the cells of the columns of a sheet that say exactly where it is (``space.columns``)."""

    @abstractmethod
    def cells(self) -> dict[str, Cell]:
        """Return one cell per axis, feature or level, by its name and unit, for a table."""

    @property
    def label(self) -> str:
        """A short name, for pictures; "" if there is none."""
        return ""

    @abstractmethod
    def overlaps(self, other: Any) -> bool:
        """Tell whether a region of the same space has anything in common with this one."""

    @abstractmethod
    def holds(self, other: Any) -> bool:
        """Tell whether a region of the same space lies within this one."""

    def __getitem__(self, name: str) -> tuple[Any, ...]:
        """Return the part of one axis: its edges, or its symbols, however many there are."""
        parts = self.as_dict()
        if name not in parts:
            raise InvalidInput("this region has no such axis", name, f"It has {', '.join(map(repr, parts))}.")
        return tuple(parts[name]) if isinstance(parts[name], list) else (parts[name],)

    def _repr_html_(self) -> str:
        """Return what a person wants to know first, for a notebook."""
        facts: dict[str, object] = {"name": self.name, "weight": short(self.weight)}
        return card("Region", facts if self.node is None else facts | {"node (depth, index)": self.node})

    def __repr__(self) -> str:
        """Return what a person wants to know first."""
        return f"<Region {self.name!r}>" if self.node is None else f"<Region {self.name!r}, node {self.node}>"

    def viewer(self) -> Feedback:
        """Return the feedback this region is measured with, or complain that there is none."""
        if self.feedback is None:
            raise InvalidInput(
                "this region was made without a feedback, so it has no representative points",
                self.name,
                "Take a trial's region, or pass space.region(..., feedback=...).",
            )
        return self.feedback


class Space(ABC):
    """Where we can look, and how a region is split. A space is a value: a copy is the thing itself.

    Attributes
    ----------
    names : tuple of str
        Of the axes, or of the features.
    axes : tuple of Axis, or None
        None for a space of members.
    lines : tuple of int
        The axes, or features, that have distances, by number.
    continuous : bool
        Whether this is a space of axes that all have distances.
    base : int
        The usual number of children of a node.
    """

    names: Any
    axes: Any
    lines: Any
    continuous: Any
    base: Any

    @property
    @abstractmethod
    def d(self) -> int:
        """The number of axes, or of features."""

    @abstractmethod
    def cell(self, node: Node, feedback: Feedback | None = None) -> Region:
        """Return the region of a node of the tree."""

    @abstractmethod
    def split(self, region: Any) -> tuple[Region, ...]:
        """Return the children of a cell of the tree, in order."""

    @abstractmethod
    def may_split(self, region: Any) -> bool:
        """Tell whether a cell has children, none of them under the smallest useful size."""

    @abstractmethod
    def count(self, depth: int) -> int:
        """Return the number of cells at a depth, exactly."""

    def slots(self, depth: int) -> int:
        """Return the number of cells by which indices at a depth go."""
        return self.count(depth)

    @abstractmethod
    def deepest(self) -> int | None:
        """Return the depth of the deepest cells, None if there is no end."""

    @abstractmethod
    def region(self, what: Any, feedback: Feedback | None = None) -> Region:
        """Return any region of the space, in the tree or not."""

    def is_one(self, what: Any) -> bool:
        """Tell whether `what` describes one region, and not several."""
        if isinstance(what, (Region, Mapping, str)) or not np.iterable(what):
            return True
        first: Any = next(iter(what), None)
        return first is not None and not isinstance(first, (Region, Mapping)) and self._lists_one(what, first)

    @abstractmethod
    def _lists_one(self, what: Any, first: Any) -> bool:
        """Tell whether a list, whose first entry is given, is of parts of one region."""

    def from_row(self: Any, cells: Mapping[str, str]) -> Any:
        """Return what `region` takes from the cells of a sheet: exact columns, or the region as text."""
        exact = {name: str(cells[name]) for name in self.columns if cells.get(name, "") != ""}
        if exact:
            return self.from_cells(exact)
        if not cells.get("region"):
            wanted = ", ".join(self.columns or ["region"])
            raise InvalidInput("a row must say which region was measured", "", f"Fill in {wanted}.")
        return self.from_text(str(cells["region"]))

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
    if depth < 0 or index >= space.slots(depth):
        raise InvalidInput(
            "a node is (depth, index) with index below the number of cells at that depth",
            node,
            "Pass for example (0, 0).",
        )
    return depth, index


def with_feedback(region: Region, feedback: Feedback) -> Region:
    """Return the same region as seen by another feedback."""
    return replace(region, feedback=feedback)
