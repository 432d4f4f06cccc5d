"""Regions in the cells of tables and sheets: what is shown of them, and the columns that define them exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zonal.errors import require
from zonal.io.result_table import Cell, Span, labelled
from zonal.spaces import (
    Axis,
    AxisSpace,
    CategoricalAxis,
    ContinuousAxis,
    Hierarchy,
    Points,
    ProductRegion,
    Region,
    Space,
    SubsetRegion,
)
from zonal.spaces.axes import Part

LOW, HIGH = "_low", "_high"  # columns of the edges on an axis


def table_cells(region: Region) -> dict[str, Cell]:
    """Return one cell per axis, feature or level, by its name and unit; none where the name is enough."""
    space = region.space
    if isinstance(region, ProductRegion):
        if region.space.is_sequence:
            return {}
        return {labelled(axis.name, axis.unit): _shown(axis, part) for axis, part in region.along}
    if isinstance(space, Hierarchy) and isinstance(region, SubsetRegion):
        shared = space.shared_path(region)
        return {level: shared[j] if j < len(shared) else None for j, level in enumerate(space.level_names)}
    return {name: Span(*edges) for name, edges in zip(space.names, region.bounds.tolist(), strict=True)}


def _shown(axis: Axis, part: Part) -> Cell:
    return axis.text(part) if axis.is_categorical else Span(*axis.bounds(part))


def axis_columns(axis: Axis) -> list[str]:
    """Return the columns of a sheet that define a part of an axis exactly."""
    return [axis.name] if axis.is_categorical else [axis.name + LOW, axis.name + HIGH]


def exact_columns(space: Space) -> list[str]:
    """Return the columns of a sheet that define a region exactly, besides its name."""
    if isinstance(space, AxisSpace):
        return [] if space.is_sequence else [name for axis in space.axes for name in axis_columns(axis)]
    return ["rows"] if isinstance(space, Points) else []


def exact_cells(region: Region) -> list[Any]:
    """Return the cells of these columns."""
    if isinstance(region, ProductRegion):
        parts = [] if region.space.is_sequence else region.along
        return [cell for axis, part in parts for cell in _exact(axis, part)]
    assert isinstance(region, SubsetRegion)
    return [" ".join(map(str, region.members.tolist()))] if isinstance(region.space, Points) else []


def _exact(axis: Axis, part: Part) -> list[Any]:
    if isinstance(axis, ContinuousAxis):
        return list(axis.to_json(part))
    assert isinstance(axis, CategoricalAxis)
    return ["|".join(map(str, axis.symbols_in(part)))]


def region_in_row(space: Space, cells: Mapping[str, str]) -> Any:
    """Return, from the cells of a row, an argument for ``space.region``: of the exact columns, or the text."""
    columns = exact_columns(space)
    exact = {name: str(cells[name]) for name in columns if cells.get(name, "") != ""}
    if not exact:
        wanted = ", ".join(columns or ["region"])
        require(cells.get("region"), "a row must say which region was measured", "", f"Fill in {wanted}.")
        return space.from_text(str(cells["region"]))
    if not isinstance(space, AxisSpace):
        return space.from_text(exact["rows"])
    named = [axis for axis in space.axes if any(name in exact for name in axis_columns(axis))]
    return {axis.name: _part_in_row(axis, exact) for axis in named}


def _part_in_row(axis: Axis, cells: Mapping[str, str]) -> Any:
    """Return, from the cells that are filled in, a part of an axis; an edge left out is the end of the axis."""
    if not isinstance(axis, ContinuousAxis):
        return axis.from_text(cells[axis.name])
    edges = zip(axis_columns(axis), axis.ends, strict=True)
    return tuple(axis.number(cells[name]) if name in cells else end for name, end in edges)
