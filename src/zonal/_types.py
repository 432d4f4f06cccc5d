"""Values that packages pass to each other: kinds of arrays, arrays with named axes, how smooth f is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Flags = NDArray[np.bool_]
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"


class NamedArray(np.ndarray[Any, np.dtype[np.float64]]):
    """An array that knows the names of its axes: `dims`, in order; None where an operation may have lost them.

    They stay with an array of the same shape (unless two of its sides are equal, so that it may be turned), and
    with a transposed one.
    """

    dims: tuple[str, ...] | None = None

    @staticmethod
    def of(values: ArrayLike, dims: tuple[str, ...]) -> NamedArray:
        """Return an array with named axes."""
        array = np.asarray(values, dtype=np.float64).view(NamedArray)
        array.dims = dims
        return array

    def __array_finalize__(self, source: Any) -> None:
        """Take over the names of what this was made of."""
        same = getattr(source, "shape", None) == self.shape and len(set(self.shape)) == self.ndim
        self.dims = getattr(source, "dims", None) if same else None

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return the result of an operation; a plain number, if it is one."""
        result = np.asarray(array).view(NamedArray)
        NamedArray.__array_finalize__(result, self)
        return result if result.ndim else np.asarray(array)[()]

    def transpose(self, *order: Any) -> NamedArray:
        """Return the array with its axes, and their names, in another order; by default reversed."""
        turned = np.asarray(self).transpose(*order)
        if self.dims is None:
            return turned.view(NamedArray)
        places = np.empty(range(self.ndim)).transpose(*order).shape  # axis j has j entries: where each went
        return NamedArray.of(turned, tuple(self.dims[j] for j in places))

    @property
    def T(self) -> NamedArray:
        """The array with its axes, and their names, reversed."""
        return self.transpose()


@dataclass(frozen=True)
class Smoothness:
    """How f varies along the axes, as prior standard deviations."""

    slopes: Floats  # of f's derivative along each axis (on a categorical axis, of the difference of two symbols)
    curvatures: Floats | None  # of f's second derivatives, shape (d, d); None if one of them does not exist
    # In row j and column i: given f's slope along axis j, the std of the slope's second derivative along axis i,
    # relative to the mean of the latter at a slope of one standard deviation. None if f has no third derivative,
    # or the kernel is not a product.
    bends: Floats | None
    sides: Floats  # widths of the box on which f is considered
