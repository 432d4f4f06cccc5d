"""Regions that touch, joined into patches: where each is, how large, and where it is highest.

It compares the parts of regions along each axis, or distances of members; it must not know studies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zonal._types import Floats, Ints
from zonal.engine.results import RegionProbability
from zonal.errors import positive_number, require
from zonal.io.result_table import Cell, Records, Span, labelled
from zonal.spaces import Axis, ContinuousAxis, ProductRegion, Region, SubsetRegion
from zonal.spaces.base import ROUNDING

MOST_JOINED = 20_000  # regions, of which every pair is compared
MOST_PAIRS = 20_000_000  # of members within a distance
ROWS = 256  # regions compared with all others at a time


@dataclass(frozen=True)
class Patch:
    """Touching regions whose averages are probably beyond a threshold.

    Attributes
    ----------
    regions : tuple of Region
    peak : Likely
        The region whose mean lies farthest beyond the threshold.
    mean : float
        Posterior mean of the average over the patch: of its regions, by their weights.
    size : float
        The total weight of its regions: volume, for a box.
    centroid : array of shape (d,)
        The centres of its regions, averaged by weight times distance of the mean from the threshold; NaN on
        categorical axes. On a logarithmic axis it is averaged in decades.
    extent : array of shape (d, 2)
        Lower and upper edge on each axis; across the cut of a ring the upper edge lies beyond the end of the axis.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    >>> for trial in study.ask(3):
    ...     study.tell(trial, 1 - trial.node[1])
    >>> (patch,) = study.above(0.5).patches()
    >>> patch.size > 0.1
    True
    """

    regions: tuple[Region, ...]
    peak: RegionProbability
    mean: float
    size: float
    centroid: Floats
    extent: Floats


class Patches(Records[Patch]):
    """Patches of touching regions, the one with the highest peak first: a table of `Patch`.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    >>> for trial in study.ask(3):
    ...     study.tell(trial, 1 - trial.node[1])
    >>> len(study.above(0.5).patches())
    1
    """


def patches(
    likely: Sequence[RegionProbability],
    beyond: Callable[[float], float],
    unit: str,
    title: str,
    within: float | None,
) -> Patches:
    """Return regions joined where they touch, the one with the highest peak first.

    `beyond` returns how far a mean lies beyond the threshold; `unit` is that of the means.
    """
    joined = [_patch(group, beyond) for group in _groups(likely, within)]
    joined.sort(key=lambda patch: -beyond(patch.peak.mean))
    return Patches(title, _columns(joined, unit), {}, tuple(joined))


def _groups(likely: Sequence[RegionProbability], within: float | None) -> list[list[RegionProbability]]:
    """Return the regions that are connected, directly or through others."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    regions: list[Any] = [row.region for row in likely]
    if not regions:
        return []
    space, number = regions[0].space, len(regions)
    problem = f"patches are made of at most {MOST_JOINED} regions"
    require(number <= MOST_JOINED, problem, number, "Raise the threshold, or the probability.")
    require(space.axes is None or within is None, "regions of axes touch or do not", within, "Leave within= out.")
    pairs = _near(regions, within) if space.axes is None else _touching(regions)
    graph = coo_array((np.ones(len(pairs), dtype=bool), tuple(pairs.T)), shape=(number, number))
    count, group = connected_components(graph, directed=False)
    return [[likely[at] for at in np.flatnonzero(group == label).tolist()] for label in range(count)]


def _touching(regions: list[ProductRegion]) -> Ints:
    """Return the pairs of regions that share a side: along one axis they may only touch, along others not.

    Regions with different symbols do not touch.
    """
    space = regions[0].space
    fix = "Regions with an axis of numbers touch; use the rows themselves."
    require(space.continuous_axes, "regions of symbols alone do not touch", space, fix)
    edges = np.array([[part[2] for _, part in region.along] for region in regions])
    pairs = []
    for start in range(0, len(regions), ROWS):
        rows = slice(start, start + ROWS)
        apart = np.zeros((len(edges[rows]), len(regions)), dtype=int)
        for j, axis in enumerate(space.axes):  # 0, 1 or 2 of each
            apart += _apart(axis, edges[rows, j], edges[:, j])
        first, other = np.nonzero(apart <= 1)
        pairs.append(np.stack([first + start, other], axis=1))
    return np.concatenate(pairs)


def _apart(axis: Axis, parts: Floats, other_parts: Floats) -> Ints:
    """Return for each pair of parts of an axis: 0 if they overlap, 1 if they touch, 2 if neither."""
    if not isinstance(axis, ContinuousAxis):
        sets, inverse = np.unique(np.concatenate([parts[:, 0], other_parts[:, 0]]), return_inverse=True)
        shared = np.array([[bool(int(first) & int(other)) for other in sets] for first in sets])
        return np.where(shared[np.ix_(inverse[: len(parts)], inverse[len(parts) :])], 0, 2)
    (low, high), (left, right) = parts.T, other_parts.T
    slack = ROUNDING * axis.side
    apart = np.full((len(parts), len(other_parts)), 2)
    for turn in (-axis.side, 0.0, axis.side) if axis.scale == "periodic" else (0.0,):
        common = np.minimum.outer(high, right + turn) - np.maximum.outer(low, left + turn)
        apart = np.minimum(apart, np.where(common > slack, 0, np.where(common >= -slack, 1, 2)))
    return apart


def _near(regions: list[SubsetRegion], within: float | None) -> Ints:
    """Return the pairs of regions with members within a distance of each other."""
    from scipy.spatial import cKDTree

    space = regions[0].space
    require(not space.is_categorical, "areas without coordinates do not touch", space, "Give the space features.")
    fix = f"Pass within=, the largest distance of neighbours in the units of {', '.join(space.names)}."
    require(within is not None, "points and areas have no sides by which they touch", within, fix)
    reach = positive_number(within, "within")
    positions = np.concatenate([region.positions for region in regions])
    owner = np.repeat(np.arange(len(regions)), [len(region.positions) for region in regions])
    tree = cKDTree(space.features[positions])
    problem = "so many members lie within this distance of each other that all are one patch"
    require(tree.count_neighbors(tree, reach) <= MOST_PAIRS, problem, within, "Pass a smaller distance.")
    return np.asarray(owner[tree.query_pairs(reach, output_type="ndarray")])


def _patch(group: list[RegionProbability], beyond: Callable[[float], float]) -> Patch:
    regions: list[Any] = [row.region for row in group]
    means, weights = np.array([row.mean for row in group]), np.array([region.weight for region in regions])
    peak = max(group, key=lambda row: beyond(row.mean))
    pull = weights * [max(beyond(row.mean), 0.0) for row in group]
    pull = pull if pull.any() else weights
    if regions[0].space.axes is None:
        centroid = np.average([region.center for region in regions], axis=0, weights=pull)
        bounds = np.array([region.bounds for region in regions])
        extent = np.stack([bounds[:, :, 0].min(axis=0), bounds[:, :, 1].max(axis=0)], axis=1)
    else:
        edges = np.array([[part[2] for _, part in region.along] for region in regions])
        places = [_place(axis, edges[:, j], pull) for j, axis in enumerate(regions[0].space.axes)]
        centroid, extent = np.array([middle for middle, _ in places]), np.array([ends for _, ends in places])
    return Patch(
        tuple(regions), peak, float(np.average(means, weights=weights)), float(weights.sum()), centroid, extent
    )


def _place(axis: Axis, edges: Floats, pull: Floats) -> tuple[float, tuple[float, float]]:
    """Return the centroid of parts of an axis, and the edges of all of them, in the user's numbers."""
    if not isinstance(axis, ContinuousAxis):
        union = np.bitwise_or.reduce(edges[:, 0].astype(np.int64))
        return np.nan, axis.bounds((float(union), 0.0, (float(union), float(union))))
    low, high = edges.T
    if axis.scale == "periodic":
        turn = axis.side * (low < _after_gap(low, high, axis) - ROUNDING * axis.side)
        low, high = low + turn, high + turn
    ends = float(low.min()), float(high.max())
    if axis.scale == "periodic" and ends[1] - ends[0] >= axis.side * (1 - ROUNDING):
        ends = axis.low, axis.high
    middle = float(np.average((low + high) / 2, weights=pull))
    return float(axis.native(np.array(middle))), axis.bounds((0.0, ends[1] - ends[0], ends))


def _after_gap(low: Floats, high: Floats, axis: ContinuousAxis) -> float:
    """Return where arcs of a ring begin after the largest gap between them; the ring's lower end without one."""
    order = np.argsort(low, kind="stable")
    reached = np.maximum.accumulate(high[order])
    following = np.append(low[order][1:], low[order][0] + axis.side)
    gaps = following - reached
    widest = int(gaps.argmax())
    return float(low[order][(widest + 1) % len(order)]) if gaps[widest] > ROUNDING * axis.side else float(axis.low)


def _columns(joined: Sequence[Patch], unit: str) -> dict[str, list[Cell]]:
    """Return the columns of the table.

    Axes and features keep their names: a column of ours with that name is called "patch ..." then.
    """
    ours: dict[str, list[Cell]] = {
        "patch": list(range(1, len(joined) + 1)),
        "regions": [len(patch.regions) for patch in joined],
        "size": [patch.size for patch in joined],
        labelled("mean", unit): [patch.mean for patch in joined],
        "peak": [patch.peak.region.name for patch in joined],
        labelled("peak mean", unit): [patch.peak.mean for patch in joined],
        labelled("peak std", unit): [patch.peak.std for patch in joined],
        "peak sigma": [patch.peak.sigma for patch in joined],
    }
    if not joined:
        return ours
    space: Any = joined[0].regions[0].space
    units = [axis.unit for axis in space.axes] if space.axes else [""] * len(space.names)
    theirs = [labelled(name, unit) for name, unit in zip(space.names, units, strict=True)]
    taken = {*space.names, *theirs}  # those of symbols too, which have no column here

    def free(name: str) -> str:
        while name in taken:
            name = f"patch {name}"
        return name

    columns = {free(name): cells for name, cells in ours.items()}
    for j in space.continuous_axes:
        middles: list[Cell] = [float(patch.centroid[j]) for patch in joined]
        columns[free(labelled(f"{space.names[j]} centroid", units[j]))] = middles
        columns[theirs[j]] = [Span(*patch.extent[j].tolist()) for patch in joined]
    return columns
