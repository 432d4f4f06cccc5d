"""Spaces and regions as the page draws them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from zonal._types import Json
from zonal.plotting.style import axis_note, outline, pieces, short_name
from zonal.spaces import (
    Axis,
    AxisSpace,
    CategoricalAxis,
    ContinuousAxis,
    FiniteSpace,
    Points,
    ProductRegion,
    Region,
    Sequences,
    Space,
    SubsetRegion,
)

MOST_NAMED = 12  # points that are listed with a region


def short_numbers(numbers: Iterable[float], digits: int = 5) -> list[float | None]:
    """Return numbers with a few digits, None for those that are not finite."""
    form = f"{{:.{digits}g}}".format
    listed = numbers.tolist() if isinstance(numbers, np.ndarray) else numbers
    return [float(form(x)) if math.isfinite(x) else None for x in listed]


def space_data(space: Space) -> dict[str, Json]:
    """Return what kind of space this is, with its axes, its alphabet or its number of members."""
    if isinstance(space, Sequences):
        return {"kind": "sequences", "length": space.length, "alphabet": list(space.alphabet)}
    if isinstance(space, AxisSpace):
        return {"kind": "box", "axes": [_axis_data(axis) for axis in space.axes]}
    assert isinstance(space, FiniteSpace)
    return {"kind": "points" if isinstance(space, Points) else "hierarchy", "size": space.size}


def _axis_data(axis: Axis) -> dict[str, Json]:
    """Return the name, the unit and the values of an axis."""
    if isinstance(axis, CategoricalAxis):
        return {"name": axis.name, "unit": "", "symbols": list(axis.symbols)}
    assert isinstance(axis, ContinuousAxis)
    kind: dict[str, Json] = {
        "log": axis.scale == "log",
        "whole": axis.scale == "integer",
        "remark": axis_note(axis),
    }
    return {"name": axis.name, "unit": axis.unit, "low": axis.ends[0], "high": axis.ends[1], **kind}


def picture_kind(space: Space) -> str:
    """Return the picture that suits a space: curve, map, panels of pairs of axes, shelves, tiles or points."""
    if not isinstance(space, AxisSpace):
        return "scatter" if isinstance(space, Points) else "tiles"
    if len(space.continuous_axes) < 2:
        return "line" if space.continuous_axes else "shelves"
    return "map" if len(space.axes) == 2 else "panels"


def region_columns(space: Space, regions: Sequence[Region]) -> dict[str, Json]:
    """Return where regions are, as columns: edges by axis and symbols by name of the axis, or names."""
    if not isinstance(space, AxisSpace):
        members = [len(region.positions) for region in regions if isinstance(region, SubsetRegion)]
        return {"name": [short_name(region) or region.name for region in regions], "members": members}
    if isinstance(space, Sequences):
        return {"name": [region.name for region in regions]}
    low, high = np.array([outline(region) for region in regions]).reshape(len(regions), space.d, 2).T
    edges = {"low": low[list(space.continuous_axes)], "high": high[list(space.continuous_axes)]}
    columns: dict[str, Json] = {name: [short_numbers(row, 8) for row in rows] for name, rows in edges.items()}
    categorical = {axis.name: j for j, axis in enumerate(space.axes) if axis.is_categorical}
    if categorical:
        symbols = [region.symbols for region in regions if isinstance(region, ProductRegion)]
        columns["symbols"] = {
            name: [list(map(str, by_axis[j] or ())) for by_axis in symbols] for name, j in categorical.items()
        }
    return columns if space.continuous_axes else columns | {"name": [region.name for region in regions]}


def region_data(region: Region) -> dict[str, Json]:
    """Return where a region is: its parts of axes, or its name, its number of members and some of their names."""
    if isinstance(region, SubsetRegion):
        return _named(region, len(region.positions)) | {"which": [str(name) for name in _listed_names(region)]}
    assert isinstance(region, ProductRegion)
    if isinstance(region.space, Sequences):
        return _named(region, math.prod(len(symbols) for symbols in region.symbols if symbols is not None))
    edges = zip(region.bounds.tolist(), region.symbols, strict=True)
    parts = [bounds if symbols is None else list(symbols) for bounds, symbols in edges]
    return {"name": "", "part": parts, "members": None, "share": share_of(region)}


def window_outlines(region: Region) -> Json:
    """Return the outlines of a window on its continuous axes, two across the cut of a ring; None of a cell."""
    if region.node is not None or not isinstance(region, ProductRegion):
        return None
    axes = list(region.space.continuous_axes)
    return [edges[axes].tolist() for edges in pieces(region)]


def share_of(region: Region) -> float:
    """Return how much of the space lies in a region; every symbol counts as one."""
    if isinstance(region, ProductRegion):
        return math.prod(axis.share(part) for axis, part in region.along)
    assert isinstance(region, SubsetRegion)
    return float(region.weight / region.space.weights.sum())


def _named(region: Region, members: int) -> dict[str, Json]:
    return {"name": region.name, "part": None, "members": members, "share": share_of(region)}


def _listed_names(region: SubsetRegion) -> Sequence[Hashable]:
    """Return the names or row numbers of the first points; none of a hierarchy, whose regions have names."""
    if not isinstance(region.space, Points):
        return ()
    return [region.space.label_sets[0][row] for row in region.members[:MOST_NAMED].tolist()]
