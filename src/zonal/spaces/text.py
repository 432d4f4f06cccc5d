"""Spaces of axes and their regions as text, and back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from zonal.errors import InvalidInput
from zonal.spaces.axes import Axis
from zonal.spaces.base import PartLike
from zonal.spaces.categorical import CategoricalAxis
from zonal.spaces.continuous import ContinuousAxis

if TYPE_CHECKING:
    from zonal.spaces.axis_space import AxisSpace


def space_text(space: AxisSpace) -> str:
    """Return what makes a space of axes: the axes, and whatever is not the default."""
    values: dict[str, Any] = {}
    more: dict[str, dict[str, Any]] = {"smallest": {}, "scale": {}}
    for axis in space.axes:
        if isinstance(axis, CategoricalAxis):
            values[axis.name] = list(axis.symbols)
        if isinstance(axis, ContinuousAxis):
            values[axis.name] = axis.ends
        if axis.smallest:
            more["smallest"][axis.name] = axis.smallest
        if axis.scale != "linear":
            more["scale"][axis.name] = axis.scale
    options = "".join(f", {name}={by_axis}" for name, by_axis in more.items() if by_axis)
    return f"{type(space).__name__}({values}, arity={space.arity}{options})"


def parts_in_text(space: AxisSpace, text: str) -> dict[str, PartLike | None]:
    """Return, from a text such as ``l=0..90, dye=red|green`` or a region's name, the part on each axis named."""
    words = [word for axis in space.axes for word in (axis.name, *_symbols(axis))]
    names = "|".join(re.escape(name) for name in space.names)
    comma = rf",(?=\s*(?:{names})[ =])" if any("," in word for word in words) else ","
    parts: dict[str, PartLike | None] = {}
    for word in re.split(comma, text):
        part = word.strip()
        fitting = [axis for axis in space.axes if part.startswith((f"{axis.name}=", f"{axis.name} "))]
        if not fitting:
            fix = f"Write {space.axes[0].example}."
            raise InvalidInput("a part of a region must begin with the name of an axis", part, fix)
        axis = max(fitting, key=lambda axis: len(axis.name))
        described = part[len(axis.name) + 1 :]  # perhaps a symbol that begins or ends with "="
        if described not in _symbols(axis):
            described = described.strip(" =")
        parts[axis.name] = axis.named(described, space.arity) or axis.from_text(described)
    return parts


def _symbols(axis: Axis) -> list[str]:
    return list(map(str, axis.symbols)) if isinstance(axis, CategoricalAxis) else []
