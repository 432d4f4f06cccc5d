"""Areas on a map: the shapes of a space's members, and of regions, which are their unions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zonal.errors import require
from zonal.io.dataframes import in_order
from zonal.io.files import library
from zonal.spaces import FiniteSpace, Region, Space, SubsetRegion


def member_shapes(space: Space, shapes: Any = None) -> list[Any] | None:
    """Return the shapes given, or else those of the space, in the order of the tree; None if there are none."""
    if not isinstance(space, FiniteSpace):
        return None
    geometries = space.shapes if shapes is None else getattr(shapes, "geometry", shapes)
    if geometries is None:
        return None
    listed = list(in_order(geometries, space.label_sets, "shapes"))
    problem = f"shapes must be one for each of {space.size} members"
    require(len(listed) == space.size, problem, len(listed), "Pass as many.")
    return [listed[row] for row in space.rows.tolist()]


def area_frame(regions: Sequence[Region], columns: Mapping[str, Sequence[Any]], shapes: Any = None) -> Any:
    """Return a GeoDataFrame of regions: the columns given, and the union of the shapes of their members."""
    space = regions[0].space
    fix = "Pass the shapes of all members, in their order." if isinstance(space, FiniteSpace) else "Use table()."
    every = member_shapes(space, shapes)
    require(every is not None, "these regions have no shapes", space, fix)
    assert every is not None
    geopandas: Any = library("geopandas", "a GeoDataFrame", "to_geodataframe", "Run pip install 'zonal[geo]'.")
    import shapely
    from shapely.geometry import shape

    polygons = [shape(geometry) for geometry in every]
    geometry = [
        shapely.union_all([polygons[at] for at in region.positions.tolist()])
        for region in regions
        if isinstance(region, SubsetRegion)
    ]
    source = shapes if shapes is not None else getattr(space, "shapes", None)
    return geopandas.GeoDataFrame(dict(columns), geometry=geometry, crs=getattr(source, "crs", None))
