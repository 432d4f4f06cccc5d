"""Forbidden regions, as a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from zonal.errors import InvalidInput
from zonal.spaces.region import Region


@dataclass(frozen=True)
class Overlapping:
    """Tells whether a region overlaps one of some regions."""

    regions: tuple[Region, ...]

    def __post_init__(self) -> None:
        for region in self.regions:
            region.check()

    def __call__(self, region: Region) -> bool:
        """Return True if the region overlaps one of them."""
        return any(own.overlaps(region) for own in self.regions)


def forbidden_rule(space: Any, forbidden: Any) -> Callable[[Region], bool] | None:
    """Return a function of a region, given one, a region, a list of regions, or None."""
    if forbidden is None or (callable(forbidden) and not isinstance(forbidden, type)):
        return forbidden
    if space.is_one(forbidden):
        forbidden = [forbidden]
    if not isinstance(forbidden, Iterable):
        raise InvalidInput("forbidden must be a function of a region, or regions", forbidden, "Pass a list.")
    made = tuple(space.own(region) for region in forbidden)
    return Overlapping(made) if made else None
