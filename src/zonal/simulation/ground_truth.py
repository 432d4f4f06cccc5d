"""Tables as oracles: the value of every smallest part of a space is known, and so is every region's true average.

Campaigns are rehearsed on these before they are paid for. This module must not know studies, beliefs or policies.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from zonal._types import Floats
from zonal.errors import (
    InvalidInput,
    attribute,
    check_choice,
    plain_array,
    random_generator,
    require,
    whole_number,
)
from zonal.io.dataframes import as_frame, as_series
from zonal.kernels.feedback import Feedback, Mean
from zonal.simulation.simulators import Instrument, Noise
from zonal.spaces import AxisSpace, FiniteSpace, ProductRegion, Region, Space, SubsetRegion, as_region
from zonal.spaces.axes import Axis, ContinuousAxis, Part
from zonal.spaces.base import RegionLike, checked_view
from zonal.spaces.member_columns import checked_weights
from zonal.spaces.partition import sums

Direction = Literal["maximize", "minimize"]
Values = ArrayLike | Mapping[str, ArrayLike]  # in order, or by name

MAX_VALUES = 100_000_000
MAX_TRIED = 10_000  # windows, until one is allowed
TIE = 1e-12  # of the largest value


class Best(NamedTuple):
    """The best region, and its true average."""

    region: Region
    average: float


class TableInstrument(Instrument):
    """An instrument that measures a landscape. Made by `Landscape.simulate`."""

    def __init__(
        self, landscape: Landscape, noise: Noise, rng: np.random.Generator, feedback: Feedback | None
    ) -> None:
        super().__init__(noise, rng)
        self._landscape = landscape
        self._feedback = feedback

    def average(self, region: Region) -> float:
        """Return the true average over `region`, with this instrument's feedback."""
        return self._landscape.average(region, self._feedback)


class Landscape(ABC):
    """A space with a known value everywhere. Made by `from_table`.

    Examples
    --------
    >>> import zonal as zn
    >>> landscape = zn.simulation.from_table(zn.Points([[0.0], [1.0], [2.0]]), [1.0, 5.0, 2.0])
    >>> landscape.best().average
    5.0
    """

    space: Space

    def __init__(self, space: Space, direction: Direction) -> None:
        self.space = space
        self.direction = direction
        self._sign = 1.0 if direction == "maximize" else -1.0
        self._best: dict[int | None, Best] = {}  # by depth; None for the smallest regions
        self._window: Best | None = None
        self._forbidden: Callable[[Region], bool] | None = None

    def average(self, region: RegionLike, feedback: Feedback | None = None) -> float:
        """Return the true average over a region, or over what ``space.region`` takes.

        With a `feedback` other than the exact mean, the average over the parts that contain its points.
        """
        seen = checked_view(feedback) or Mean()
        return self._average(as_region(self.space, region), seen)

    def simulate(
        self, noise: Noise = 0.0, rng: int | np.random.Generator | None = None, feedback: Feedback | None = None
    ) -> TableInstrument:
        """Return an instrument with noise, as `zonal.simulate` does; by default it measures all of a region."""
        return TableInstrument(self, noise, random_generator(rng), checked_view(feedback))

    def best(self, depth: int | None = None) -> Best:
        """Return the best region of a depth and its average; by default of the smallest regions."""
        depth = None if depth is None else whole_number(depth, "depth", 0)
        if depth not in self._best:
            level = self.space.max_depth() if depth is None else depth
            if level is None:
                fix = "Pass a depth, or a space with smallest=."
                raise InvalidInput("without a smallest region there is no best one", self.space, fix)
            is_countable = 0 < self.space.partition.count(level) <= MAX_VALUES
            require(is_countable, "there are no regions of this depth, or too many", level, "Pass another depth.")
            self._best[depth] = self._find_best(depth)
        return self._best[depth]

    def best_window(self) -> Best:
        """Return the best region of the smallest size at any position; where there are no positions, the best."""
        if self._window is None:
            self.best()  # raises if there is no smallest size
            self._window = self._find_best_window(self._forbidden)
        return self._window

    def window_regret(self, region: Region) -> float:
        """Return by how much a region's average is worse than that of the best window."""
        return self._shortfall(self.best_window().average, region)

    def among(self, regions: Sequence[Region], forbidden: Callable[[Region], bool] | None = None) -> Landscape:
        """Return this landscape with the best of some regions as its best one, for `best` and `regret`.

        The best window is then one that is not `forbidden`.
        """
        require(len(regions), "no region may be measured", "none", "Forbid fewer.")
        averages = np.array([self.average(region) for region in regions])
        at, same = self._first_of_best(averages), copy.copy(self)
        same._best = {None: Best(regions[at], float(averages[at]))}
        same._window, same._forbidden = None, forbidden
        return same

    def regret(self, region: Region) -> float:
        """Return by how much a region's average is worse than that of the best smallest region."""
        return self._shortfall(self.best().average, region)

    def _shortfall(self, best: float, region: Region) -> float:
        regret = self._sign * (best - self.average(region))
        return regret if abs(regret) > TIE * abs(best) else 0.0  # smaller values are rounding

    def _first_of_best(self, averages: Floats) -> int:
        heights = self._sign * averages
        return int(np.flatnonzero(heights >= heights.max() - TIE * float(np.abs(heights).max()))[0])

    @abstractmethod
    def _average(self, region: Region, feedback: Feedback) -> float:
        """Return the average over what a feedback measures of a region."""

    @abstractmethod
    def _find_best(self, depth: int | None) -> Best:
        """Return the best of all regions of a depth, or of the smallest regions."""

    def _find_best_window(self, forbidden: Callable[[Region], bool] | None) -> Best:
        return self.best()


def from_table(
    space: AxisSpace | FiniteSpace,
    values: Values,
    weights: Values | None = None,
    direction: Direction = "maximize",
    axes: Sequence[str] | None = None,
) -> Landscape:
    """Return the landscape of a table: a value for every smallest part of a space.

    Parameters
    ----------
    space : Box, Product, Sequences, Points or Hierarchy
        The space of the values.
    values : array_like, or mapping of name to value
        For `Points` and `Hierarchy` one per member, in the order in which they were given, or by name of the leaf;
        for `Sequences` one per sequence, in the order of the alphabet, or by sequence; for `Box` and `Product` an
        array with one dimension per axis: equal pixels along a continuous axis, symbols along the others. Its
        dimensions are named by `axes`, by its own ``.dims`` (as of xarray), or in a mapping: the positions of the
        pixels along each axis, and "values". Without names they are in the order of the axes, which for an image
        is often wrong: its first dimension is the vertical one.
    weights : array_like, optional
        How much each value counts; by default the weights of the members and the frequencies of the symbols.
    direction : {"maximize", "minimize"}
        Whether high or low averages are best.
    axes : sequence of str, optional
        The names of the dimensions of `values` (and `weights`) in their order, such as ``("sin_b", "l")``.

    Examples
    --------
    >>> from zonal import Sequences
    >>> dna = from_table(Sequences("AC", 2), {"AA": 0.0, "AC": 1.0, "CA": 2.0, "CC": 5.0})
    >>> dna.best().region.name, dna.average(dna.space.region("C*"))
    ('CC', 3.5)
    """
    check_choice(direction, "direction", ("maximize", "minimize"))
    fix, arrange = "Pass a Box, Product, Sequences, Points or Hierarchy.", attribute(space, "arrange")
    require(arrange and not isinstance(space, type), "a table needs a space", space, fix)
    whole = space.axes is not None and not getattr(space, "is_sequence", False)
    require(axes is None or whole, "only arrays over a Box or Product have axes", axes, "Leave axes out.")
    named = {} if axes is None else {"axes": axes}
    ordered = arrange(values, "values", **named)
    weighed = None if weights is None else arrange(weights, "weights", **named)
    kind: Callable[..., Landscape] = _MemberTable if space.axes is None else _GridTable
    return kind(space, direction, ordered, weighed)


class _MemberTable(Landscape):
    """Averages over sets of members."""

    space: FiniteSpace

    def __init__(
        self, space: FiniteSpace, direction: Direction, values: ArrayLike, weights: ArrayLike | None
    ) -> None:
        super().__init__(space, direction)
        self._values = _numbers(values, (space.size,))[space.rows]
        self._weights = space.weights if weights is None else checked_weights(weights, space.size)[space.rows]

    def _average(self, region: Region, feedback: Feedback) -> float:
        assert isinstance(region, SubsetRegion)
        at = region.positions
        if isinstance(feedback, Mean):
            return float(np.average(self._values[at], weights=self._weights[at]))
        seen, shares = feedback.seen(region)
        return float(shares @ self._values[seen])

    def _find_best(self, depth: int | None) -> Best:
        """Return the best region of a depth, or of the leaves, at any depth."""
        cells = []
        for h in range(self.space.max_depth() + 1) if depth is None else [depth]:
            level = self.space.partition.level(h)
            total = sums(self._weights, level.start, level.stop)
            averages = sums(self._values * self._weights, level.start, level.stop) / total
            rivals = np.flatnonzero((level.children == 0) | (depth is not None))
            if len(rivals):
                cell = self.space.cell((h, int(rivals[self._first_of_best(averages[rivals])])))
                cells.append(Best(cell, self.average(cell)))
        return max(cells, key=lambda best: self._sign * best.average)


class _GridTable(Landscape):
    """Averages over products: equal pixels along continuous axes, symbols along the others.

    Weights, if there are any, replace frequencies of symbols.
    """

    space: AxisSpace

    def __init__(
        self, space: AxisSpace, direction: Direction, values: ArrayLike, weights: ArrayLike | None
    ) -> None:
        super().__init__(space, direction)
        shape = tuple(axis.places for axis in space.axes)
        self._values = _numbers(values, shape)
        self._weights = None if weights is None else _numbers(weights, self._values.shape)
        if self._weights is not None and not (self._weights > 0).all():
            raise InvalidInput("weights must be positive", float(self._weights.min()), "Pass weights above 0.")

    def _average(self, region: Region, feedback: Feedback) -> float:
        assert isinstance(region, ProductRegion)
        overlaps, inside = [], []
        for j, (axis, part) in enumerate(region.along):
            overlap = axis.pixel_weights(part, feedback, self._values.shape[j], self._weights is not None)
            where = np.flatnonzero(overlap)
            inside.append(slice(int(where[0]), int(where[-1]) + 1))
            overlaps.append(overlap[inside[-1]])
        return float(self._contract(tuple(inside), overlaps))

    def _find_best(self, depth: int | None) -> Best:
        """Return the best region of a depth, or of the deepest, comparing all at once."""
        space, seen = self.space, Mean()
        depth = space.max_depth() if depth is None else depth
        assert depth is not None
        existing, overlaps = space.partition.existing(depth), []
        along = zip(space.axes, space.partition.pieces(depth), existing, self._values.shape, strict=True)
        for axis, pieces, parts, pixels in along:
            cells = [axis.cell(part, pieces) for part in parts.tolist()]
            equal = self._weights is not None
            overlaps.append(np.array([axis.pixel_weights(cell, seen, pixels, equal) for cell in cells]))
        averages = self._contract((slice(None),) * len(overlaps), overlaps).ravel()
        indices = space.partition.indices(
            depth, [positions.ravel() for positions in np.meshgrid(*existing, indexing="ij")]
        )
        order = np.argsort(indices)
        best = order[self._first_of_best(averages[order])]
        return Best(space.cell((depth, int(indices[best]))), float(averages[best]))

    def _find_best_window(self, forbidden: Callable[[Region], bool] | None) -> Best:
        """Return the best window; averages are linear between pixels, so that it has an edge at one."""
        space, overlaps, parts = self.space, [], []
        by_axis = zip(space.axes, space.partition.pieces(space.max_depth() or 0), self._values.shape, strict=True)
        for axis, pieces, pixels in by_axis:
            along = _positions(axis, pieces, pixels)
            equal = self._weights is not None
            overlaps.append(np.array([axis.pixel_weights(part, Mean(), pixels, equal) for part in along]))
            parts.append(along)
        averages = self._contract((slice(None),) * len(overlaps), overlaps)
        best = self.best()
        for number in np.argsort(-self._sign * averages, axis=None, kind="stable")[:MAX_TRIED].tolist():
            at = np.unravel_index(number, averages.shape)
            if not self._sign * (averages[at] - best.average) > TIE * abs(best.average):
                break
            chosen = [along[k] for along, k in zip(parts, at, strict=True)]
            region = ProductRegion(space, None, None, tuple(chosen))
            if forbidden is None or not forbidden(region):
                return Best(region, float(averages[at]))
        return best

    def _contract(self, inside: tuple[slice, ...], overlaps: list[Floats]) -> Floats:
        """Return weighted averages along every axis."""
        values = self._values[inside]
        if self._weights is None:
            return _along(values, overlaps)
        weights = self._weights[inside]
        return np.asarray(_along(values * weights, overlaps) / _along(weights, overlaps))


def _positions(axis: Axis, pieces: int, pixels: int) -> list[Part]:
    """Return the parts of the smallest size with an edge at a pixel's; on a categorical axis its cells."""
    if not isinstance(axis, ContinuousAxis):
        return [axis.cell(part, pieces) for part in range(pieces)]
    width, edges = axis.narrowest(pieces), axis.side / pixels * np.arange(pixels + 1)
    centers = axis.within_ends(np.concatenate([edges + width / 2, edges - width / 2]), width)
    return [axis.window(center, width) for center in np.unique(centers).tolist()]


def _along(values: Floats, overlaps: list[Floats]) -> Floats:
    for j in reversed(range(len(overlaps))):
        values = np.tensordot(overlaps[j], values, axes=(-1, j))
        if overlaps[j].ndim == 2:
            values = np.moveaxis(values, 0, j)
    return np.asarray(values)


def _numbers(values: ArrayLike, shape: tuple[int | None, ...]) -> Floats:
    """Return values as an array with one entry per part of the space."""
    table = _real(values)
    wanted = ", ".join("pixels" if size is None else str(size) for size in shape)
    shaped = table.ndim == len(shape) and all(
        want in (None, have) and have > 0 for want, have in zip(shape, table.shape, strict=True)
    )
    require(shaped, f"values must have shape ({wanted})", table.shape, "Pass one value for each part.")
    for where in map(tuple, np.argwhere(~np.isfinite(table)).tolist()):
        problem = f"values must be finite, but entry {where} is not"
        raise InvalidInput(problem, float(table[where]), "Correct it.")
    return table


def _real(values: ArrayLike) -> Floats:
    """Return values in order as an array of real numbers."""
    labels = next(
        (labelled.labels for labelled in (as_frame(values), as_series(values)) if labelled is not None), None
    )
    if labels not in (None, tuple(range(len(labels or ())))):
        raise InvalidInput("values of pixels have no index", labels[:3], "Pass .to_numpy(), pixels in order.")
    return plain_array(values, "values must be real numbers", "Pass an array.", float)
