"""Regions as sent to programs."""

from __future__ import annotations

from typing import Any

from zonal.spaces import CategoricalAxis, ProductRegion, Region, SubsetRegion


def region_json(region: Region) -> dict[str, Any]:
    """Return name and node of a region, and where it is: bounds with their units, symbols, or rows."""
    answer: dict[str, Any] = {"name": region.name, "node": None if region.node is None else list(region.node)}
    if isinstance(region, ProductRegion):
        return answer | _parts(region)
    assert isinstance(region, SubsetRegion)
    answer |= {"rows": region.members.tolist(), "weight": region.weight}
    bounds = zip(region.space.names, region.bounds.tolist(), strict=True)
    return answer if region.space.is_categorical else answer | {"bounds": dict(bounds)}


def _parts(region: ProductRegion) -> dict[str, Any]:
    """Return bounds, their units and symbols by axis; the symbols of sequences by position."""
    if region.space.is_sequence:
        return {"symbols": [list(symbols or ()) for symbols in region.symbols]}
    parts: dict[str, Any] = {}
    for axis, part in region.along:
        if isinstance(axis, CategoricalAxis):
            parts.setdefault("symbols", {})[axis.name] = list(axis.symbols_in(part))
            continue
        parts.setdefault("bounds", {})[axis.name] = axis.to_json(part)
        if axis.unit:
            parts.setdefault("units", {})[axis.name] = axis.unit
    return parts
