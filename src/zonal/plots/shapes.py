"""Polygons of areas, from anything with a ``__geo_interface__``: shapely's geometries, a GeoDataFrame's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from zonal.arrays import Floats

LEVEL = 85.0  # degrees of latitude beyond which a map is not stretched any further


def outlines(shapes: Iterable[Any]) -> list[list[Floats]]:
    """Return the rings of each shape: outer ones counter-clockwise, holes clockwise; none for points and lines."""
    return [
        [ring for polygon in _polygons(getattr(shape, "__geo_interface__", None)) for ring in _turned(polygon)]
        for shape in shapes
    ]


def _polygons(geometry: Any) -> list[Any]:
    """Return the polygons of a geometry, each as its outer ring and its holes."""
    kind, found = (geometry or {}).get("type"), geometry or {}
    if kind == "GeometryCollection":
        return [polygon for part in found["geometries"] for polygon in _polygons(part)]
    if kind == "Feature":
        return _polygons(found["geometry"])
    if kind == "Polygon":
        return [found["coordinates"]]
    return list(found["coordinates"]) if kind == "MultiPolygon" else []


def _turned(polygon: Sequence[Any]) -> list[Floats]:
    """Return the rings of a polygon, oriented so that holes are not filled."""
    rings = [np.asarray(ring, dtype=float)[:, :2] for ring in polygon]
    return [ring if (_turn(ring) > 0) == (at == 0) else ring[::-1] for at, ring in enumerate(rings)]


def _turn(ring: Floats) -> float:
    """Return twice the signed area within a ring, positive if it is counter-clockwise."""
    x, y = (ring - ring[0]).T
    return float(x[:-1] @ y[1:] - x[1:] @ y[:-1])


def aspect(names: Sequence[str], y: Floats) -> float:
    """Return the aspect ratio of a map: degrees of longitude are shorter far from the equator."""
    if tuple(names[:2]) != ("lon", "lat"):
        return 1.0
    return 1 / math.cos(math.radians(min(abs(float(np.mean(y))), LEVEL)))
