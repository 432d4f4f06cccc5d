"""Spaces, their regions, and how a region is split.

A region is a product over axes (`axis_space.py`: a part of each axis) or a set of weighted members (`finite.py`,
split by position in `points.py` or by the user in `hierarchy.py`). Nothing else. `base.py` and `axes.py` say what
every region, space and axis answers, `partition.py` how the tree of a space is numbered. An axis knows measures
and kernels one pair at a time (`kernels`); these modules must not know models or policies, nor the page, sheets
and plots.
"""

from collections.abc import Mapping
from typing import Any

from zonal.errors import attribute
from zonal.spaces.axes import Axis, ContinuousAxis
from zonal.spaces.axis_space import AxisSpace, ProductRegion
from zonal.spaces.base import Node, Overlapping, Partition, Region, Space, as_region, is_one_region, with_feedback
from zonal.spaces.box import Box, Product, has_symbols
from zonal.spaces.categorical import CategoricalAxis
from zonal.spaces.finite import FiniteSpace, SubsetRegion
from zonal.spaces.hierarchy import Hierarchy
from zonal.spaces.numeric_axes import IntegerAxis, LogAxis, PeriodicAxis
from zonal.spaces.partition import Level
from zonal.spaces.points import Points
from zonal.spaces.sequences import Sequences


def as_space(given: Any) -> Any:
    """Return what users pass as a space: a space as it is, Zonal's or their own; bounds as a box, axes by name."""
    is_space = attribute(given, "cell") and attribute(given, "split") and not isinstance(given, type)
    if is_space:
        return given
    axes = given.values() if isinstance(given, Mapping) else ()
    return Product(given) if any(isinstance(axis, Axis) or has_symbols(axis) for axis in axes) else Box(given)


__all__ = [
    "Axis",
    "AxisSpace",
    "Box",
    "CategoricalAxis",
    "Hierarchy",
    "IntegerAxis",
    "ContinuousAxis",
    "Level",
    "LogAxis",
    "SubsetRegion",
    "FiniteSpace",
    "Node",
    "Overlapping",
    "Partition",
    "Points",
    "Product",
    "ProductRegion",
    "Region",
    "PeriodicAxis",
    "Sequences",
    "Space",
    "as_region",
    "as_space",
    "is_one_region",
    "with_feedback",
]
