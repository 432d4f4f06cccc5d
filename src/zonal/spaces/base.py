"""What all regions and spaces share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, ClassVar, Never, Self, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonal._types import Flags, Floats, Ints
from zonal.errors import (
    InvalidInput,
    finite_number,
    is_listed,
    listed,
    plain_array,
    random_generator,
    require,
    whole_number,
    without_unit,
)
from zonal.io.dataframes import DataFrame, DataSeries
from zonal.io.hints import missing
from zonal.io.result_table import card, short
from zonal.kernels.feedback import Feedback

if TYPE_CHECKING:
    from zonal.kernels.feedback import Footprints, Subsets
    from zonal.kernels.finite_covariance import SubsetLayout
    from zonal.kernels.layout import ProductLayout
    from zonal.spaces.axes import Axis

T = TypeVar("T")
Node = tuple[int, int]
PartLike = ArrayLike  # a part of an axis as users describe it: a pair of numbers or one, a symbol or several
# A region as users describe it: by its parts, by its members or their names, or by its own name.
RegionLike: TypeAlias = "Region | Mapping[str, Any] | Sequence[Hashable] | ArrayLike | date"
Forbidden: TypeAlias = "RegionLike | Sequence[RegionLike] | Callable[[Region], bool] | None"

# Values of all smallest regions, or of all members, as users pass them: in order, or by name.
Values: TypeAlias = "ArrayLike | Mapping[str, ArrayLike] | DataFrame | DataSeries | None"

ROUNDING = 1e-9  # of a width or a weight: differences below it are rounding, not intent
MOST_DRAWN = 10_000_000  # random points
RESTORE = "Restore what Zonal wrote."  # the fix for what was read from a file and is not possible
DEEPEST = 20_000  # depth of a cell: far beyond any search, and counts of cells stay exact


@dataclass(frozen=True, repr=False)
class Region(ABC):
    """A part of a space, as a value: made by a space, never changed.

    Examples
    --------
    >>> import zonal as zn
    >>> region = zn.Box({"l": (-180, 180), "b": (-1, 1)}).region({"l": (0, 90)})
    >>> region.name
    'l 0..90, b -1..1'
    >>> region.bounds
    array([[ 0., 90.],
           [-1.,  1.]])
    """

    __iter__: ClassVar[None] = None  # parts are looked up by name; a region is not iterable

    space: Space
    node: Node | None = None  # (depth, index) in the tree; None for a region outside the tree
    feedback: Feedback | None = field(default=None, compare=False)  # not part of its identity

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """A value that differs between regions of the same space."""

    @property
    @abstractmethod
    def name(self) -> str:
        """A readable name: ``"l 0..11 deg, sin_b -0.06..0"``, ``"ATNNNNNN"``, ``"NSW > Mid North Coast"``."""

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
        """The size of the region: volume, share of all sequences, or total weight of its members."""

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
        """Where it is: the centre, the pool of sequences, a name, or a number or symbol per axis."""

    def sample(self, n: int, rng: int | np.random.Generator | None = None) -> Any:
        """Return `n` points drawn uniformly at random from the region, for objectives that need points.

        An array of shape (n, d) if all axes are numeric; with symbols, a mapping from axis to value each; for
        sequences, texts; for leaves without features, their names.
        """
        return self._sample(whole_number(n, "n", 0, MOST_DRAWN), random_generator(rng))

    @abstractmethod
    def _sample(self, number: int, rng: np.random.Generator) -> Any:
        """Return points drawn at random."""

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """Return the region as plain numbers and texts, ready for JSON; ``space.region`` accepts it."""

    @abstractmethod
    def overlaps(self, other: Region) -> bool:
        """Tell whether another region of the same space overlaps this one."""

    @abstractmethod
    def contains(self, other: Region) -> bool:
        """Tell whether a region of the same space lies within this one."""

    def _neighbour(self, other: Region) -> Self:
        """Check that another region is one of the same space, and return it."""
        if not isinstance(other, type(self)) or not (other.space is self.space or other.space == self.space):
            raise InvalidInput("this is not a region of the same space", other, "Make it by space.region().")
        return other

    def __getitem__(self, name: str) -> tuple[Any, ...]:
        """Return the part on one axis: its edges, or its symbols."""
        parts = self.as_dict()
        if not (isinstance(name, str) and isinstance(name, Hashable)) or name not in parts:
            raise InvalidInput("this region has no such axis", name, f"It has {', '.join(map(repr, parts))}.")
        return tuple(parts[name]) if isinstance(parts[name], list) else (parts[name],)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Never:
            """Raise AttributeError; where another library's name was used, name the one used here."""
            raise missing("a region", name)

    def _repr_html_(self) -> str:
        """Return the main facts, for a notebook."""
        facts: dict[str, object] = {"name": self.name, "weight": short(self.weight)}
        return card("Region", facts if self.node is None else facts | {"node (depth, index)": self.node})

    def __repr__(self) -> str:
        """Return the name, and the node if it has one."""
        return f"<Region {self.name!r}>" if self.node is None else f"<Region {self.name!r}, node {self.node}>"

    def _viewer(self) -> Feedback:
        """Return the feedback this region is measured with; raise if it has none."""
        if self.feedback is None:
            raise InvalidInput(
                "this region was made without a feedback, so it has no representative points",
                self.name,
                "Take a trial's region, or pass space.region(..., feedback=...).",
            )
        return self.feedback


class Partition(ABC):
    """The tree of a space: how many cells there are at each depth, and how a cell is split.

    A cell is a row of integers: the numbers of its parts, one per axis, or the run of its members.
    """

    @abstractmethod
    def whole(self) -> Ints:
        """Return the whole space as integers, one row."""

    @abstractmethod
    def children(self, depth: int, index: int, cell: Ints) -> tuple[Ints, Ints]:
        """Return the children of a cell: their indices, and their integers as those of `whole`, one row each."""

    @abstractmethod
    def splittable(self, depth: int, indices: Ints) -> Flags | bool:
        """Tell which cells of a depth have children, none of them smaller than the smallest useful size."""

    @abstractmethod
    def count(self, depth: int) -> int:
        """Return the number of cells at a depth, exactly."""

    def slots(self, depth: int) -> int:
        """Return the number of possible indices at a depth."""
        return self.count(depth)

    @abstractmethod
    def max_depth(self) -> int | None:
        """Return the depth of the deepest cells, None if there is no limit."""

    @abstractmethod
    def default_depth(self) -> int:
        """Return the depth of the smallest regions if none are given."""

    @abstractmethod
    def leaves(self, depth: int) -> int:
        """Return the number of leaves if the tree ended at a depth, including those above it."""

    @abstractmethod
    def leaf(self, depth: int, number: int) -> Node:
        """Return one of the leaves if the tree ended at a depth, by number."""

    @abstractmethod
    def leaf_regions(self, depth: int, numbers: Ints | None = None) -> Sequence[Region]:
        """Return the leaves if the tree ended at a depth, or some of them by number."""

    @abstractmethod
    def representative_cells(self, depth: int, most: int) -> list[Node]:
        """Return at most so many cells that represent all of a depth."""

    @abstractmethod
    def n_descendants(self, depth: int, bottom: int) -> int:
        """Return the number of cells of the depth `bottom`, or of members, in the largest cell of a depth."""

    @abstractmethod
    def grain(self, depth: int) -> str:
        """Return the size of the cells of a depth, for people."""

    @abstractmethod
    def reach(self, depth: int, feedback: Feedback) -> Floats:
        """Return the largest distance, by axis, between a sampled point and any point of a cell of a depth."""

    def warning(self, n_measurements: int) -> str:
        """Return why a search with so many measurements has no prospect; "" if it may have."""
        return ""


class Space(ABC):
    """A set of possible measurements, and how a region is split. It is a value: copies are the same object.

    Examples
    --------
    >>> import zonal as zn
    >>> isinstance(zn.Sequences("ACGT", 4), zn.Space)
    True
    """

    arity: int = 2  # the default number of children of a node

    axes: tuple[Axis, ...] | None  # None for a space of members
    names: tuple[str, ...]  # of the axes, or of the features
    continuous_axes: tuple[int, ...]  # the numbers of the axes, or features, that have distances

    @property
    def d(self) -> int:
        """The number of axes, or of features."""
        return len(self.names)

    @property
    def continuous(self) -> bool:
        """Whether this is a space of axes that all have distances."""
        return self.axes is not None and len(self.continuous_axes) == len(self.axes)

    @property
    @abstractmethod
    def partition(self) -> Partition:
        """The tree: how many cells there are at each depth, and how they are split."""

    @abstractmethod
    def cell(self, node: Node, feedback: Feedback | None = None) -> Region:
        """Return the region of a node of the tree."""

    @abstractmethod
    def split(self, region: Region) -> tuple[Region, ...]:
        """Return the children of a cell of the tree, in order."""

    def max_depth(self) -> int | None:
        """Return the depth of the deepest cells of the tree, None if there is no limit."""
        return self.partition.max_depth()

    def may_split(self, region: Region) -> bool:
        """Tell whether a cell has children, none of them smaller than the smallest useful size."""
        if region.node is None:
            return False
        depth, index = region.node
        return bool(np.all(self.partition.splittable(depth, np.array([index]))))

    @abstractmethod
    def check(self) -> None:
        """Raise if this space, read from a file, is not possible."""

    @abstractmethod
    def seen(self, node: Node, cell: Ints, feedback: Feedback | None) -> Region:
        """Return the region of a node, given its numbers."""

    @abstractmethod
    def with_smallest(self) -> Self:
        """Return the space with a smallest region: its own, or that of a search without one."""

    @abstractmethod
    def sides(self) -> Floats:
        """Return the width of the whole space along each axis or feature, shape (d,)."""

    @abstractmethod
    def layout(self, feedback: Feedback) -> ProductLayout | SubsetLayout:
        """Return the object that finds which pairs of regions are equivalent."""

    @abstractmethod
    def footprints(
        self, regions: Sequence[Any], usual: Feedback, others: Sequence[Feedback] | None = None
    ) -> Footprints | Subsets:
        """Return what measurements of regions average over, with the default feedback or each with its own."""

    @abstractmethod
    def region(self, what: RegionLike, feedback: Feedback | None = None) -> Region:
        """Return any region of the space, whether it is a node of the tree or not."""

    @abstractmethod
    def _lists_one(self, what: Iterable[PartLike], first: PartLike) -> bool:
        """Tell whether a list, whose first entry is given, describes the parts of one region."""

    def from_text(self, text: str) -> RegionLike:
        """Return, from a text, an argument for `region`: the text itself."""
        return text

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Self]) -> Self:
        return self


def alike(value: T, other: T) -> bool:
    """Tell whether two values have the same type and are equal up to rounding."""
    if type(value) is not type(other):
        return False
    if is_dataclass(value):
        return all(alike(getattr(value, field.name), getattr(other, field.name)) for field in fields(value))
    if isinstance(value, tuple) and isinstance(other, tuple):
        return len(value) == len(other) and all(map(alike, value, other))
    if isinstance(value, float) and isinstance(other, float):
        return math.isclose(value, other, rel_tol=ROUNDING)
    return bool(value == other)


def unnamed(number: int) -> tuple[str, ...]:
    """Return names for axes or features that the user gave none: x, or x0, x1 and so on."""
    return ("x",) if number == 1 else tuple(f"x{j}" for j in range(number))


def as_array(given: Any) -> NDArray[Any]:
    """Return what the user gave as an array; an empty one, of no numbers, if it cannot be one."""
    given = without_unit(given, "", "a column")
    try:
        return plain_array(given, "this must be an array", "Pass one.")
    except InvalidInput:
        return np.empty(0, dtype=object)


def checked_ends(name: str, pair: PartLike, unit: str = "") -> tuple[float, float]:
    """Check the bounds of a continuous axis, and return them, in its unit."""
    try:
        low, high = cast("tuple[float, float]", pair)
    except Exception:  # whatever a user's object raises
        fix = "Pass one pair per axis: [(0, 1)], not (0, 1)." if np.isscalar(pair) else "Pass for example (0, 1)."
        raise InvalidInput(f"axis {name} must be a pair (low, high)", pair, fix) from None
    fix = "Pass two finite numbers, the lower one first."
    if any(isinstance(edge, str) for edge in (low, high)):
        fix = "Pass two finite numbers, or make symbols an axis of zn.Product."
    what = f"a bound of axis {name}"
    low, high = (finite_number(without_unit(edge, unit, what), what, fix) for edge in (low, high))
    require(0 < high - low < math.inf, f"the bounds of axis {name} must increase", (low, high), fix)
    return low, high


def checked_node(node: Node, space: Space) -> Node:
    """Check that a node exists, and return it as two numbers."""
    with suppress(Exception):  # whatever a user's object raises
        depth, index = (whole_number(number, "a node's depth and index", 0, None) for number in node)
        if depth <= DEEPEST and index < space.partition.slots(depth):
            return depth, index
    problem = "a node is (depth, index) with index below the number of cells at that depth"
    raise InvalidInput(problem, node, "Pass for example (0, 0).")


def checked_view(feedback: Feedback | None) -> Feedback | None:
    """Check that a feedback is one, or None, and return it."""
    able = feedback is None or isinstance(feedback, Feedback)
    require(
        able, "feedback must be Center(), Average(s) or Mean()", feedback, "Pass one, with parentheses: zn.Mean()."
    )
    return feedback


def as_region(space: Space, what: RegionLike, feedback: Feedback | None = None) -> Region:
    """Return a region of a space, given as such or described; raise if it is of another."""
    if not isinstance(what, Region):
        return space.region(what, feedback)
    if what.space != space:
        raise InvalidInput("this region belongs to another space", what.name, "Describe it in this one.")
    return what if feedback is None else with_feedback(what, checked_view(feedback))


def is_one_region(space: Space, what: RegionLike | Sequence[RegionLike]) -> bool:
    """Tell whether `what` describes one region of a space, not several."""
    if isinstance(what, (Region, Mapping, str)) or not is_listed(what):
        return True
    first = next(iter(what if isinstance(what, Sequence) else listed(what, "a region", "Pass one.")), None)
    return first is not None and not isinstance(first, (Region, Mapping)) and space._lists_one(what, first)


def with_feedback(region: Region, feedback: Feedback | None) -> Region:
    """Return the same region with another feedback."""
    return replace(region, feedback=feedback)


@dataclass(frozen=True)
class Overlapping:
    """Tells whether a region overlaps one of some regions."""

    regions: tuple[Region, ...]

    def __call__(self, region: Region) -> bool:
        """Return True if the region overlaps one of them."""
        return any(other.overlaps(region) for other in self.regions)


def forbidden_rule(space: Space, forbidden: Forbidden) -> Callable[[Region], bool] | None:
    """Return a function of a region, given one, a region, a list of regions, or None."""
    if forbidden is None:
        return None
    if callable(forbidden) and not isinstance(forbidden, type):
        return forbidden
    problem, fix = "forbidden must be regions", "Pass a region, a list of regions, or a function of a region."
    once = isinstance(forbidden, Iterator)  # which can be read once only
    given = listed(forbidden, problem, fix) if once else cast("RegionLike | Sequence[RegionLike]", forbidden)
    single = is_one_region(space, given)
    regions = [cast("RegionLike", given)] if single else listed(given, problem, fix)
    excluded = tuple(as_region(space, region) for region in regions)
    return Overlapping(excluded) if excluded else None
