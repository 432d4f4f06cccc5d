"""Where can we look? Spaces, their regions, and how a region is split.

A region is a product over axes (`product_region.py`: an interval of a continuous axis, a set of symbols of a
categorical one; split in `product.py` and `sequences.py`) or a set of weighted members (`members.py`, split by
position in `points.py` or by the user in `hierarchy.py`). Nothing else. These rooms must not know kernels,
measurements or policies; a region only carries the feedback it will be measured with, so that it can list its
representative points.
"""

from typing import Any

from zonal.spaces.axes import Category, Interval
from zonal.spaces.forbidden import Overlapping
from zonal.spaces.hierarchy import Hierarchy
from zonal.spaces.members import Level, MemberRegion, MemberSpace
from zonal.spaces.points import Points
from zonal.spaces.product import AxisSpace, Box, Product
from zonal.spaces.product_region import ProductRegion
from zonal.spaces.region import Node, Region, Space, Viewer, with_feedback
from zonal.spaces.sequences import Sequences


def as_space(given: Any) -> Any:
    """Return what users pass as a space: one as it is, of the house or of their own; bounds as a box."""
    own = hasattr(given, "cell") and hasattr(given, "split") and not isinstance(given, type)
    return given if own else Box(given)


__all__ = [
    "AxisSpace",
    "Box",
    "Category",
    "Hierarchy",
    "Interval",
    "Level",
    "MemberRegion",
    "MemberSpace",
    "Node",
    "Overlapping",
    "Points",
    "Product",
    "ProductRegion",
    "Region",
    "Sequences",
    "Space",
    "Viewer",
    "as_space",
    "with_feedback",
]
