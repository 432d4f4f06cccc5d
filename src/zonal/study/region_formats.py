"""Regions as others read and write them: JSON and variables for programs, cells of tables, rows of data frames."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from zonal._types import Json
from zonal.errors import InvalidInput, require
from zonal.io.dataframes import as_frame
from zonal.io.result_table import Cell, Listing, Span, labelled
from zonal.io.spreadsheet import PlainCell
from zonal.spaces import (
    Axis,
    AxisSpace,
    CategoricalAxis,
    ContinuousAxis,
    FiniteSpace,
    Hierarchy,
    Points,
    ProductRegion,
    Region,
    Space,
    SubsetRegion,
)
from zonal.spaces.axes import Part
from zonal.spaces.base import PartLike, RegionLike

LOW, HIGH = "_low", "_high"  # columns of the edges on an axis
PREFIX = "ZONAL_"  # of environment variables
TOLD = ("trial", "replicate", "attempt", "study", "region", "time", "cost")  # what programs are told besides axes


def region_json(region: Region) -> dict[str, Json]:
    """Return name and node of a region, and where it is: bounds with their units, symbols, or rows."""
    answer: dict[str, Json] = {"name": region.name, "node": None if region.node is None else list(region.node)}
    if isinstance(region, ProductRegion):
        return answer | _parts(region)
    assert isinstance(region, SubsetRegion)
    answer |= {"rows": region.members.tolist(), "weight": region.weight}
    bounds = zip(region.space.names, region.bounds.tolist(), strict=True)
    return answer if region.space.is_categorical else answer | {"bounds": dict(bounds)}


def _parts(region: ProductRegion) -> dict[str, Json]:
    """Return bounds, their units and symbols by axis; the symbols of sequences by position."""
    if region.space.is_sequence:
        return {"symbols": [list(symbols or ()) for symbols in region.symbols]}
    parts: dict[str, dict[str, Json]] = {}
    for axis, part in region.along:
        if isinstance(axis, CategoricalAxis):
            parts.setdefault("symbols", {})[axis.name] = list(axis.symbols_in(part))
            continue
        parts.setdefault("bounds", {})[axis.name] = axis.to_json(part)
        if axis.unit:
            parts.setdefault("units", {})[axis.name] = axis.unit
    return {**parts}


def variable(name: str) -> str:
    """Return the variable of an axis or another name: in capitals, other characters as underscores."""
    return PREFIX + re.sub(r"[^A-Z0-9]", "_", name.upper())


def check_variables(space: Space, fix: str = "Rename one of them.") -> None:
    """Raise if two axes, or an axis and what programs are told besides, have the same variable."""
    taken = {variable(name): f"the {name}" for name in TOLD}
    for name, variable_name in _variables(space):
        axis = f"axis {name!r}"
        if variable_name in taken:
            problem = f"{taken[variable_name]} and {axis} have the same environment variable for programs"
            raise InvalidInput(problem, variable_name, fix)
        taken[variable_name] = axis


def _variables(space: Space) -> Iterator[tuple[str, str]]:
    """Yield the name of each axis or feature with each of its variables."""
    if isinstance(space, AxisSpace):
        for axis in () if space.is_sequence else space.axes:
            yield from ((axis.name, variable(column)) for column in axis_columns(axis))
    elif isinstance(space, FiniteSpace) and not space.is_categorical:
        yield from ((name, variable(name + ending)) for name in space.names for ending in (LOW, HIGH))


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


def exact_cells(region: Region) -> list[PlainCell]:
    """Return the cells of these columns."""
    if isinstance(region, ProductRegion):
        parts = [] if region.space.is_sequence else region.along
        return [cell for axis, part in parts for cell in _exact(axis, part)]
    assert isinstance(region, SubsetRegion)
    return [" ".join(map(str, region.members.tolist()))] if isinstance(region.space, Points) else []


def _exact(axis: Axis, part: Part) -> list[PlainCell]:
    if isinstance(axis, ContinuousAxis):
        return list(axis.to_json(part))
    assert isinstance(axis, CategoricalAxis)
    return ["|".join(map(str, axis.symbols_in(part)))]


def region_in_row(space: Space, cells: Mapping[str, str]) -> RegionLike:
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


def _part_in_row(axis: Axis, cells: Mapping[str, str]) -> PartLike | None:
    """Return, from the cells that are filled in, a part of an axis; an edge left out is the end of the axis."""
    if not isinstance(axis, ContinuousAxis):
        return axis.from_text(cells[axis.name])
    edges = zip(axis_columns(axis), axis.ends, strict=True)
    return tuple(axis.number(cells[name]) if name in cells else end for name, end in edges)


def regions_in(space: Space, frame: object) -> list[RegionLike] | None:
    """Return what the rows of a data frame, or of a table of Zonal's, describe; None if it is neither."""
    columns = columns_of(frame)
    return None if columns is None else regions_of_columns(space, columns)


def columns_of(frame: object) -> Mapping[str, Sequence[PlainCell]] | None:
    """Return the columns of a data frame, or of a table of Zonal's; None if it is neither."""
    if isinstance(frame, Listing):
        return frame.to_dict()
    read = as_frame(frame)
    return None if read is None else {name: values.tolist() for name, values in read.columns.items()}


def regions_of_columns(space: Space, columns: Mapping[str, Sequence[PlainCell]]) -> list[RegionLike]:
    """Return what the rows of a table describe."""
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    named = _named(space, columns)
    if not named and "region" not in columns:
        wanted = ", ".join([*exact_columns(space), "region"])
        fix = f"Name its columns {wanted}."
        raise InvalidInput("a data frame of regions has none of their columns", ", ".join(columns), fix)
    return [_described(space, row, named, number) for number, row in enumerate(rows)]


def _named(space: Space, columns: Mapping[str, Sequence[PlainCell]]) -> dict[str, tuple[str, ...]]:
    """Return, for each axis that has columns, which: its lower and upper edge, or one for points and symbols."""
    if not isinstance(space, AxisSpace) or space.is_sequence:
        return {"rows": ("rows",)} if "rows" in columns and "rows" in exact_columns(space) else {}
    named: dict[str, tuple[str, ...]] = {}
    for axis in space.axes:
        ends: list[tuple[str, ...]] = [tuple(axis_columns(axis))]
        ends += [tuple(labelled(f"{axis.name} {side}", axis.unit) for side in ("low", "high"))]
        ends += [(labelled(axis.name, axis.unit),), (axis.name,)]
        written = next((names for names in ends if all(name in columns for name in names)), None)
        if written is not None:
            named[axis.name] = written
    return named


def _described(
    space: Space, row: Mapping[str, PlainCell], named: Mapping[str, tuple[str, ...]], number: int
) -> RegionLike:
    """Return what one row describes."""
    if "rows" in named:
        return space.from_text(str(row["rows"]))
    if not named:
        return space.from_text(str(row["region"]))
    axes = {axis.name: axis for axis in space.axes or ()}
    parts = {name: [row[column] for column in columns] for name, columns in named.items()}
    for name, part in parts.items():
        missing = [value for value in part if value is None or value != value]
        if missing:
            raise InvalidInput(
                f"row {number} of a data frame has no value on axis {name}", missing[0], "Fill it in."
            )
    return {name: _part(axes[name], part) for name, part in parts.items()}


def _part(axis: Axis, part: list[PlainCell]) -> PartLike | None:
    """Return a part of an axis, from its edges or from a point or symbols."""
    if isinstance(axis, CategoricalAxis):
        return part[0] if part[0] in axis.symbols else axis.from_text(str(part[0]))
    edges: list[Any] = part if len(part) == 2 else part * 2
    return edges
