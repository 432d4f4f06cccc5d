"""Regions from the rows of a data frame, as arguments of ``space.region``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zonal.errors import InvalidInput
from zonal.io.dataframes import as_frame
from zonal.io.result_table import Listing, labelled
from zonal.spaces import AxisSpace, Space
from zonal.study.region_cells import exact_columns


def regions_in(space: Space, frame: Any) -> list[Any] | None:
    """Return what the rows of a data frame, or of a table of Zonal's, describe; None if it is neither."""
    if isinstance(frame, Listing):
        columns: Mapping[str, Sequence[Any]] = frame.to_dict()
    else:
        read = as_frame(frame)
        if read is None:
            return None
        columns = {name: values.tolist() for name, values in read.columns.items()}
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    named = _named(space, columns)
    if not named and "region" not in columns:
        wanted = ", ".join([*exact_columns(space), "region"])
        fix = f"Name its columns {wanted}."
        raise InvalidInput("a data frame of regions has none of their columns", ", ".join(columns), fix)
    return [_described(space, row, named, number) for number, row in enumerate(rows)]


def _named(space: Space, columns: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return, for each axis that has columns, which: its lower and upper edge, or one for points and symbols."""
    if not isinstance(space, AxisSpace) or space.is_sequence:
        return {"rows": ("rows",)} if "rows" in columns and "rows" in exact_columns(space) else {}
    named: dict[str, tuple[str, ...]] = {}
    for axis in space.axes:
        ends: list[tuple[str, ...]] = [(f"{axis.name}_low", f"{axis.name}_high")]
        ends += [tuple(labelled(f"{axis.name} {side}", axis.unit) for side in ("low", "high"))]
        ends += [(labelled(axis.name, axis.unit),), (axis.name,)]
        written = next((names for names in ends if all(name in columns for name in names)), None)
        if written is not None:
            named[axis.name] = written
    return named


def _described(space: Space, row: Mapping[str, Any], named: Mapping[str, tuple[str, ...]], number: int) -> Any:
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


def _part(axis: Any, part: list[Any]) -> Any:
    """Return a part of an axis, from its edges or from a point or symbols."""
    if axis.is_categorical:
        return part[0] if part[0] in axis.symbols else axis.from_text(str(part[0]))
    return part if len(part) == 2 else part * 2
