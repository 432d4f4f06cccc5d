"""Where regions lie in a picture, and what is noted at an axis."""

from __future__ import annotations

import numpy as np

from zonal._types import Floats
from zonal.spaces import Axis, Hierarchy, IntegerAxis, PeriodicAxis, ProductRegion, Region, Sequences
from zonal.spaces.axes import Part
from zonal.spaces.hierarchy_names import JOINT


def outline(region: Region) -> Floats:
    """Return lower and upper edge on each axis of a plot, shape (d, 2)."""
    if not isinstance(region, ProductRegion):
        return region.bounds
    return np.array([_edges(axis, part) for axis, part in region.along], dtype=float)


def pieces(region: Region) -> list[Floats]:
    """Return the outlines of a region within a plot: an arc across the cut of a ring is two pieces."""
    drawn = [outline(region)]
    rings = region.space.axes or ()
    for j, axis in enumerate(rings):
        if isinstance(axis, PeriodicAxis) and drawn[0][j, 1] > axis.high:
            before, beyond = ([edges.copy() for edges in drawn] for _ in range(2))
            for edges in before:
                edges[j, 1] = axis.high
            for edges in beyond:
                edges[j] = axis.low, edges[j, 1] - axis.side
            drawn = before + beyond
    return drawn


def _edges(axis: Axis, part: Part) -> tuple[float, float]:
    """Return where a part begins and ends; integers reach half a step beyond themselves."""
    return part[2] if isinstance(axis, IntegerAxis) else axis.bounds(part)


def short_name(region: Region) -> str:
    """Return the name that is written into a region: the last part of a nested one's; "" if it has none."""
    if isinstance(region.space, Hierarchy):
        return region.name.split(JOINT)[-1]
    return region.name if isinstance(region.space, Sequences) else ""


def axis_note(axis: Axis) -> str:
    """Return what plots add to the name of an axis: where it closes."""
    return f"ring: {axis.high:g} is {axis.low:g}" if isinstance(axis, PeriodicAxis) else ""
