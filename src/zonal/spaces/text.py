"""What users write of spaces of axes: regions as parts or as text, and arrays of values on the axes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonal.errors import InvalidInput, attribute, is_quantity, listed, mapped, plain_array, reject, require
from zonal.spaces.axes import Axis, ContinuousAxis
from zonal.spaces.base import Node, PartLike, RegionLike, as_array
from zonal.spaces.categorical import CategoricalAxis
from zonal.spaces.partition import MOST_LEVELS

if TYPE_CHECKING:
    from zonal.spaces.axis_space import AxisSpace, ProductRegion

VALUES = "values"
AXES = "axes"


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


def parts_of(space: AxisSpace, what: RegionLike) -> list[PartLike | None]:
    """Return, from the user's description of a region, that of the part on each axis; None where it is whole."""
    if isinstance(what, Mapping):
        what = mapped(what, "a region must be a mapping from axis to part", f"Axes: {space.names}.")
        unknown = (name for name in what if not isinstance(name, str) or name not in space.names)
        reject(unknown, "a region names an axis that is not there", f"Axes: {space.names}.")
        return [what.get(name) for name in space.names]
    if not space.continuous:
        axis = next(axis for axis in space.axes if axis.is_categorical)
        raise InvalidInput(
            "a region of a space with symbols must be a mapping from axis to part",
            what,
            f"Pass for example {{{axis.name!r}: {axis.to_json(axis.cell(0, 2))!r}}}.",
        )
    if _has_units(what) and len(what) == space.d:
        return list(what)  # each axis has its own unit
    edges = as_array(what)
    require(edges.dtype.kind in "iuf", "a region's bounds must be numbers", what, "Pass pairs.")
    problem = f"a region's bounds must have shape ({space.d}, 2), one pair per axis"
    require(edges.shape == (space.d, 2), problem, what, "Pass (low, high) for each axis.")
    return list(edges.tolist())


def _has_units(what: RegionLike) -> TypeGuard[Sequence[PartLike]]:
    """Tell whether an array, one of the pairs in a list, or an edge of one has a unit."""
    pairs = what if isinstance(what, list | tuple) else ()
    edges = (edge for pair in pairs if isinstance(pair, list | tuple) for edge in pair)
    return any(map(is_quantity, (what, *pairs, *edges)))


def node_of(space: AxisSpace, region: ProductRegion) -> Node | None:
    """Return the node of the tree whose cell a region is; None if there is none."""
    split = sum(axis.is_categorical and axis.number_of(part, 1) is None for axis, part in region.along)
    bottom, tree = space.max_depth(), space.partition
    depths = range(split, MOST_LEVELS if bottom is None else bottom + 1) if space.continuous_axes else [split]
    for depth in depths:
        by_axis = zip(region.along, tree.pieces(depth), strict=True)
        numbers = [axis.number_of(part, pieces) for (axis, part), pieces in by_axis]
        if tree.slots(depth) and None not in numbers:
            return depth, int(tree.indices(depth, [np.array([number], dtype=object) for number in numbers])[0])
    return None


def arranged(
    space: AxisSpace, given: ArrayLike | Mapping[str, ArrayLike], what: str, axes: Sequence[str] | None = None
) -> ArrayLike:
    """Return an array with one dimension per axis of a space, in their order and each from its lower end.

    The dimensions are named by `axes`, by the array itself (``.dims``, as of xarray), or by a mapping: the
    positions along each axis and "values", or "axes" and "values". Unnamed they are in the order of the axes.
    """
    positions = dict[str, ArrayLike]()
    values: ArrayLike
    if isinstance(given, Mapping):
        parts: dict[str, Any] = mapped(given, f"{what} must be an array", _fix(space))
        require(VALUES in parts, f"{what} must be an array, or name its axes", list(parts), _fix(space))
        values, named = parts.pop(VALUES), parts.pop(AXES, None)
        positions, axes = parts, axes if axes is not None else named if named is not None else list(parts)
    else:
        values, axes = given, attribute(given, "dims") if axes is None else axes
    coordinates = attribute(given, "coords")
    if axes is None:
        _check_order(space, values, what)
        return values
    names = listed([axes] if isinstance(axes, str) else axes, "axes must be names", _fix(space))
    right = all(isinstance(name, str) for name in names) and sorted(names) == sorted(space.names)
    require(right, f"the dimensions of {what} must be the axes of the space, each once", tuple(names), _fix(space))
    table = plain_array(values, f"{what} must be an array", _fix(space))
    problem = f"{what} must have {len(names)} dimensions: {', '.join(names)}"
    require(table.ndim == len(names), problem, table.shape, _fix(space))
    for at, name in enumerate(names):
        along = positions.get(name)
        if along is None and coordinates is not None and name in coordinates:
            along = coordinates[name]
        axis = space.axes[space.names.index(name)]
        if along is not None and not axis.is_categorical and _is_downward(along, name, table.shape[at]):
            table = np.flip(table, at)
    return table.transpose([names.index(name) for name in space.names])


def _is_downward(along: ArrayLike, name: str, size: int) -> bool:
    """Tell whether positions along an axis fall; raise if they do not go one way, or are not one per pixel."""
    fix = "Pass the position of each pixel, in order."
    places: NDArray[Any] = plain_array(along, f"positions along {name} must be numbers", fix, float)
    require(places.shape == (size,), f"there must be {size} positions along {name}", places.shape, fix)
    steps = np.diff(places)
    require((steps > 0).all() or (steps < 0).all(), f"positions along {name} must rise or fall", along, fix)
    even = size < 3 or float(np.abs(steps - steps.mean()).max()) <= 0.01 * abs(float(steps.mean()))
    require(even, f"pixels along {name} must be equally wide", along, "Interpolate them first.")
    return bool(size > 1 and steps[0] < 0)


def _check_order(space: AxisSpace, values: ArrayLike, what: str) -> None:
    """Raise if an array without names fits the smallest regions only, or better, in another order."""
    if isinstance(values, list | tuple):
        with suppress(InvalidInput):  # what is no array is named later
            values = plain_array(values, f"{what} must be an array", _fix(space))
    shape, bottom = values.shape if isinstance(values, np.ndarray) else (), space.max_depth()
    if bottom is None or not 2 <= len(shape) == space.d <= 6:
        return
    cells = [
        axis.places or pieces for axis, pieces in zip(space.axes, space.partition.pieces(bottom), strict=True)
    ]
    orders = [tuple(shape[j] for j in order) for order in itertools.permutations(range(space.d))]
    for coarse in (False, True):
        if _fits(shape, cells, space, coarse):
            return
        if any(_fits(other, cells, space, coarse) for other in orders):
            how = "best" if _fits(shape, cells, space, coarse=True) else "only"
            names = ", ".join(space.names)
            raise InvalidInput(f"{what} fit the axes ({names}) {how} in another order", shape, _fix(space))


def _fits(shape: tuple[int, ...], cells: list[int], space: AxisSpace, coarse: bool) -> bool:
    """Tell whether numbers of pixels divide the smallest regions evenly, or, if `coarse`, these the pixels."""
    by_axis = zip(shape, cells, space.axes, strict=True)
    return all(n == m if axis.places else n and (n % m == 0 or (coarse and m % n == 0)) for n, m, axis in by_axis)


def _fix(space: AxisSpace) -> str:
    names = ", ".join(map(repr, reversed(space.names)))
    comma = "," if space.d == 1 else ""
    return f"Name the dimensions of the array in their order, for example axes=({names}{comma})."
