"""Arrays of values on the axes of a space: in which order their dimensions are, and from which end they count."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonal.errors import InvalidInput, attribute, listed, mapped, plain_array, require

if TYPE_CHECKING:
    from zonal.spaces.axis_space import AxisSpace

VALUES = "values"
AXES = "axes"


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
    cells = [axis.places or pieces for axis, pieces in zip(space.axes, space.pieces(bottom), strict=True)]
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
