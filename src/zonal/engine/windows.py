"""Windows: regions of one size at any position, and the search for the one of the highest posterior mean.

The tree's cells are a grid that nobody asked for. A window has the size of the smallest cells, or another one, and
lies anywhere: across the cut of a ring, in equal ratios on a logarithmic axis, at whole numbers on an axis of
integers. The search starts from the best cells and tries shifted grids around the best windows so far, halving
the step each time; all windows of a step are predicted at once. Symbols stay those of the cell it started from.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np

from zonal._types import Flags, Floats, Ints
from zonal.engine.state import State
from zonal.errors import InvalidInput, mapped, reject, require
from zonal.kernels.feedback import Footprints
from zonal.policies.base import OPTIMISM, candidates
from zonal.spaces import Axis, AxisSpace, ContinuousAxis, ProductRegion, Region
from zonal.spaces.base import ROUNDING, Overlapping

STARTS = 16  # cells from which the search starts
# Steps, as shares of a window's width, and how many windows are kept after each: the next is tried around them.
STEPS = {1 / 2: 6, 1 / 4: 4, 1 / 8: 3, 1 / 16: 2, 1 / 32: 2}
NEAR = (1 / 16, 1 / 8)  # shifts of an answer that it is compared with
COMPARED = 1 / 4  # the last step whose windows are all candidates, not only the best ones
GRID_AXES = 2  # continuous axes up to which shifts along several axes at once are tried
MAX_CALLS = 256  # of a user-defined `forbidden`
MAX_TILES = 1024  # windows all over the space from which the search starts
MAX_COMPARED = 96  # windows that are compared with the answer
NOTHING: Ints = np.zeros(0, dtype=np.intp)
SAME = 1e-9  # of a width: windows closer than this are the same


class Windows(NamedTuple):
    """Several windows: shape (n, d) each, as `Footprints` have them."""

    centers: Floats
    widths: Floats

    def take(self, which: Ints | Flags) -> Windows:
        """Return some of them."""
        return Windows(self.centers[which], self.widths[which])

    def footprints(self) -> Footprints:
        """Return what is judged of them."""
        return Footprints(np.stack([self.centers, self.widths]))


def joined(parts: Sequence[Windows]) -> Windows:
    """Return the windows of several groups."""
    return Windows(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def windows_of(regions: Sequence[ProductRegion]) -> Windows:
    """Return regions as windows."""
    parts = np.array([[part[:2] for _, part in region.along] for region in regions], dtype=float)
    return Windows(parts[..., 0], parts[..., 1])


def answers_anywhere(state: State) -> bool:
    """Tell whether windows can be recommended: there are positions to choose from, and a belief about them."""
    space = state.problem.space
    return isinstance(space, AxisSpace) and bool(space.continuous_axes) and not state.problem.model_free


def _space(state: State) -> AxisSpace:
    """Return the space of a study that answers anywhere."""
    return cast(AxisSpace, state.problem.space)


@dataclass
class Obstacles:
    """What windows must not touch: regions, and those that a user-defined function forbids.

    A function is called at most `MAX_CALLS` times; beyond that every window counts as forbidden.
    """

    state: State
    regions: list[ProductRegion]
    function: Callable[[ProductRegion], bool] | None
    calls: int = 0

    @classmethod
    def of(cls, state: State) -> Obstacles:
        """Return what is forbidden and blocked in a study."""
        tree, rule = state.structure, state.problem.settings.forbidden
        listed = rule.regions if isinstance(rule, Overlapping) else ()
        rows = [row for row in state.blocked if tree.first_child[row] < 0]
        if rule is not None and not isinstance(rule, Overlapping):
            rows += (tree.leaf & state.forbidden_by_user).nonzero()[0].tolist()
        regions: list[Any] = [*listed, *state.forbidden_regions.values(), *map(state.region, rows)]
        return cls(
            state, regions, None if isinstance(rule, Overlapping) or rule is None else state.problem.is_forbidden
        )

    def beside(self, region: Any) -> Obstacles:
        """Return the same and one region more; calls of the function count together."""
        return replace(self, regions=[*self.regions, region])

    def clear(self, windows: Windows) -> Flags:
        """Tell which windows touch none of the regions."""
        touched: Flags = np.zeros(len(windows.centers), dtype=bool)
        if self.regions:
            space, others = _space(self.state), windows_of(self.regions)
            both = np.ones((len(windows.centers), len(self.regions)), dtype=bool)
            for j, axis in enumerate(space.axes):
                ours, theirs = windows.centers[:, j, None], others.centers[None, :, j]
                if isinstance(axis, ContinuousAxis):
                    reach = (windows.widths[:, j, None] + others.widths[None, :, j]) / 2
                    both &= axis.apart(ours, theirs) < reach - ROUNDING * axis.side
                else:
                    both &= (ours.astype(np.int64) & theirs.astype(np.int64)) > 0
            touched = np.asarray(both.any(axis=1))
        return ~touched

    def permits(self, region: Region) -> bool:
        """Tell whether a region that was asked for before still touches none of the regions."""
        return not any(region.overlaps(other) for other in self.regions)

    def allows(self, region: ProductRegion) -> bool:
        """Tell whether the user-defined function allows a window."""
        if self.function is None:
            return True
        self.calls += 1
        return self.calls <= MAX_CALLS and not self.function(region)


class Search:
    """The search for the best windows of one size, or of the sizes of the cells they come from."""

    def __init__(self, state: State, obstacles: Obstacles) -> None:
        self._state, self._obstacles = state, obstacles
        self._space = _space(state)
        self._axes = self._space.continuous_axes
        self._shifts = _shifts(len(self._axes))
        self.has_window = False  # whether any window is allowed
        self.compares = obstacles.function is None  # else a user-defined function would be called too often

    def best(self, starts: Windows, cells: bool = False) -> tuple[Windows, Floats]:
        """Return windows refined around some, and their means: first the best of all steps, the best first.

        The others are the windows of the coarse steps, for comparison. If the first ones are `cells` of the tree,
        they are not among them.
        """
        seen: list[tuple[Windows, Floats]] = []
        top = starts.take(NOTHING), np.zeros(0)
        for step, number in STEPS.items():
            tried = self._predicted(self.shifted(top[0] if seen else starts, step))
            seen.append(tried if step >= COMPARED else (tried[0].take(NOTHING), np.zeros(0)))
            top = self._allowed_best(_both(top, tried), number)
        self.has_window = len(top[1]) > 0
        compared = seen if self.compares else []
        windows, means = zip(top, *compared, strict=True)
        nodes = starts if cells else starts.take(NOTHING)
        every, values = joined([nodes, *windows]), np.concatenate([np.zeros(len(nodes.centers)), *means])
        distinct = self._distinct(every)
        distinct = distinct[distinct >= len(nodes.centers)]
        self.has_window = self.has_window and len(distinct) > 0
        return every.take(distinct), values[distinct]

    def rivals(self, answer: Windows, cells: bool) -> Windows:
        """Return windows to compare an answer with: slightly shifted ones, and those between promising cells."""
        parts = [self.shifted(answer, step) for step in NEAR]
        if cells:
            parts.append(self.shifted(best_cells(self._state, OPTIMISM), max(STEPS)))
        windows = joined(parts)
        return windows.take(self._obstacles.clear(windows))

    def without(self, windows: Windows, others: Windows) -> Windows:
        """Return the distinct ones of some windows that are not among others."""
        first, every = len(others.centers), joined([others, windows])
        distinct = self._distinct(every)
        return every.take(distinct[distinct >= first])

    def region(self, windows: Windows, at: int) -> ProductRegion:
        """Return one of some windows as a region, with the feedback that the study's answers have."""
        problem = self._state.problem
        parts = []
        for j, axis in enumerate(self._space.axes):
            center, width = windows.centers.item(at, j), windows.widths.item(at, j)
            within = axis.window(center, width) if isinstance(axis, ContinuousAxis) else None
            parts.append(within or (center, width, (center, center)))
        feedback = problem.feedback if problem.measures_target else None
        return ProductRegion(self._space, None, feedback, tuple(parts))

    def _predicted(self, windows: Windows) -> tuple[Windows, Floats]:
        """Return those windows that touch nothing, and their posterior means."""
        windows = windows.take(self._obstacles.clear(windows))
        if not len(windows.centers):
            return windows, np.zeros(0)
        return windows, self._state.belief.mean_of(windows.footprints())

    def _allowed_best(self, tried: tuple[Windows, Floats], number: int) -> tuple[Windows, Floats]:
        """Return the best of some windows that the user-defined function allows, half a width apart."""
        windows, means = tried
        kept: list[int] = []
        left = np.ones(len(means), dtype=bool)
        for at in np.argsort(-means, kind="stable").tolist():
            if len(kept) == number:
                break
            if left[at] and self._obstacles.allows(self.region(windows, at)):
                kept.append(at)
                left &= self._apart(windows, at)
        return windows.take(np.array(kept, dtype=np.intp)), means[kept]

    def _apart(self, windows: Windows, at: int) -> Flags:
        """Tell which windows are at least half a width away from one of them along some axis."""
        apart = np.zeros(len(windows.centers), dtype=bool)
        for j, axis in enumerate(self._space.axes):
            centers = windows.centers[:, j]
            if isinstance(axis, ContinuousAxis):
                apart |= axis.apart(centers, centers[at]) >= windows.widths[at, j] / 2 * (1 - SAME)
            else:
                apart |= centers != centers[at]
        return apart

    def shifted(self, windows: Windows, step: float) -> Windows:
        """Return windows shifted by a step, given in widths, each way along the continuous axes."""
        centers = np.repeat(windows.centers[:, None], len(self._shifts), axis=1)
        for shift, j in enumerate(self._axes):
            axis, widths = cast(ContinuousAxis, self._space.axes[j]), windows.widths[:, j]
            for width in np.unique(widths).tolist():
                of = widths == width
                moved = step * width if axis.places is None else max(math.floor(step * width), 1)
                centers[of, :, j] = axis.within_ends(centers[of, :, j] + moved * self._shifts[:, shift], width)
        shifted = Windows(centers.reshape(-1, centers.shape[2]), windows.widths.repeat(len(self._shifts), axis=0))
        return shifted.take(self._distinct(shifted))

    def _distinct(self, windows: Windows) -> Ints:
        """Return the first of each of the windows that are the same up to rounding."""
        scale = np.where([axis.is_categorical for axis in self._space.axes], 1.0, SAME * windows.widths)
        rounded = np.concatenate([np.rint(windows.centers / scale), windows.widths], axis=1)
        _, first = np.unique(rounded, axis=0, return_index=True)
        return np.sort(first)


def _both(first: tuple[Windows, Floats], second: tuple[Windows, Floats]) -> tuple[Windows, Floats]:
    return joined([first[0], second[0]]), np.concatenate([first[1], second[1]])


def _shifts(axes: int) -> Floats:
    """Return shifts to try, shape (n, axes), that of none first: along all axes at once if they are few."""
    if axes <= GRID_AXES:
        return np.array(sorted(itertools.product((-1.0, 0.0, 1.0), repeat=axes), key=np.count_nonzero))
    return np.concatenate([np.zeros((1, axes)), np.eye(axes), -np.eye(axes)])


def best_cells(state: State, optimism: float = 0.0) -> Windows:
    """Return the best cells as windows to start from: by the mean, and some standard deviations above it."""
    tree = state.posterior_table()
    rows = candidates(tree)
    order = np.argsort(-(tree.mean + optimism * tree.std)[rows], kind="stable")[:STARTS]
    return windows_of([state.region(row) for row in rows[order].tolist()])  # type: ignore[misc]


def cells_of(state: State) -> Windows:
    """Return all cells that may be recommended, as windows."""
    rows = candidates(state.posterior_table())
    return windows_of([state.region(row) for row in rows.tolist()])  # type: ignore[misc]


def alike(state: State, windows: Windows, other: Windows) -> Flags:
    """Tell which windows overlap another by more than half along every axis."""
    near = np.ones(len(windows.centers), dtype=bool)
    for j, axis in enumerate(_space(state).axes):
        ours, center = windows.centers[:, j], other.centers.item(0, j)
        if isinstance(axis, ContinuousAxis):
            near &= axis.apart(ours, center) < other.widths.item(0, j) / 2 * (1 - SAME)
        else:
            near &= ours == center
    return near


def tiling(state: State, size: Any) -> Windows:
    """Return windows of a size, half of it apart, to start from: all over the space, or about the best cells."""
    space, cells, widths = _space(state), best_cells(state), checked_size(state, size)
    by_axis = zip(
        space.axes, space.partition.pieces(state.problem.bottom(state.h_max)), widths.tolist(), strict=True
    )
    spots = [_spots(axis, pieces, width) for axis, pieces, width in by_axis]
    if math.prod(len(centers) for centers, _ in spots) <= MAX_TILES:
        grids = (np.meshgrid(*columns, indexing="ij") for columns in zip(*spots, strict=True))
        return Windows(*(np.stack([grid.ravel() for grid in along], axis=1) for along in grids))
    centers, wanted = cells.centers.copy(), np.where(np.isnan(widths), cells.widths, widths)
    for j, axis in enumerate(space.axes):
        if isinstance(axis, ContinuousAxis):
            centers[:, j] = axis.within_ends(centers[:, j], widths[j])
    return Windows(centers, wanted)


def _spots(axis: Axis, pieces: int, width: float) -> tuple[Floats, Floats]:
    """Return centres half a width apart, from end to end, and the widths; on a categorical axis its cells."""
    if not isinstance(axis, ContinuousAxis):
        parts = [axis.cell(part, pieces) for part in range(pieces)]
        return np.array([part[0] for part in parts]), np.array([part[1] for part in parts])
    number = max(math.ceil(2 * axis.side / width) - 1, 1)
    steps: Floats = np.arange(1.0, number + 1)
    centers = np.unique(axis.within_ends(width / 2 * steps, width))
    return centers, np.full(len(centers), width)


def size_from_text(text: str) -> float | dict[str, float]:
    """Return a size from a text: a width, or one for each axis, such as "l=10, sin_b=0.1"."""
    fix = "Write for example l=10,sin_b=0.1."
    try:
        if "=" not in text:
            return float(text)
        parts = [part.partition("=") for part in text.split(",")]
        return {name.strip(): float(width) for name, _, width in parts}
    except ValueError:
        raise InvalidInput("a size must be a width for each axis", text, fix) from None


def checked_size(state: State, size: Any) -> Floats:
    """Check the widths of a region by axis, and return them; NaN on axes of symbols."""
    space, pieces = _space(state), _space(state).partition.pieces(state.problem.bottom(state.h_max))
    names = [space.names[j] for j in space.continuous_axes]
    if not isinstance(size, Mapping):
        fix = f"Pass a width by axis: {{{names[0]!r}: ...}}."
        require(len(names) == 1, "a size must name its axes", size, fix)
        size = {names[0]: size}
    given = mapped(size, "a size must be a mapping from axis to width", f"Axes: {', '.join(names)}.")
    unknown = (name for name in given if name not in names)
    reject(unknown, "a size names an axis that is not there, or has symbols", f"Axes: {', '.join(names)}.")
    widths = np.full(space.d, np.nan)
    for name, j in zip(names, space.continuous_axes, strict=True):
        axis = cast(ContinuousAxis, space.axes[j])
        least = axis.narrowest(pieces[j])
        width = axis.with_smallest(given[name]).smallest or least if name in given else least  # which checks it
        problem = f"the size on axis {name} is under the smallest ({least:.6g})"
        require(width >= least * (1 - ROUNDING), problem, width, "Pass a larger one.")
        widths[j] = width
    return widths
