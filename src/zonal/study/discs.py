"""Discs: the members nearest to one of them, as many as have at least a weight; what epidemiologists call a scan.

A disc is drawn around every member, over whatever areas it reaches. Distances are those of the coordinates, scaled
by nothing: coordinates of the same unit are meant.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zonal._types import Floats
from zonal.engine.state import State
from zonal.errors import require
from zonal.spaces import FiniteSpace, SubsetRegion
from zonal.spaces.base import ROUNDING

MAX_DISCS = 4096  # one around each member, or around some spread evenly over the order of the tree


def discs(state: State) -> list[SubsetRegion]:
    """Return the disc of at least the smallest weight around every member, without those that are forbidden."""
    space: Any = state.problem.space
    problem, fix = "only members with coordinates have discs", "Use Points, or a Hierarchy with features."
    able = isinstance(space, FiniteSpace) and not space.is_categorical
    require(able, problem, space, fix)
    require(not state.problem.model_free, "discs cannot be compared without a model", "StoOO", fix)
    least = _least_weight(space)
    centers = np.unique(np.linspace(0, space.size - 1, min(space.size, MAX_DISCS)).astype(np.intp))
    by_members = {tuple(_disc(space, int(center), least)): None for center in centers}
    feedback = state.problem.feedback if state.problem.measures_target else None
    return [space._at(list(members), feedback) for members in by_members]


def _least_weight(space: Any) -> float:
    """Return the weight of a smallest region: as it was given, or of the lightest member."""
    return float(space.weights.min()) if space.smallest is None else float(space.smallest)


def _disc(space: Any, center: int, least: float) -> list[int]:
    """Return the positions of the members of a disc, in the order of the tree."""
    apart: Floats = ((space.features - space.features[center]) ** 2).sum(axis=1)
    order = np.argsort(apart, kind="stable")
    last = min(int(np.searchsorted(np.cumsum(space.weights[order]), least * (1 - ROUNDING))), space.size - 1)
    reach = apart[order[last]]
    positions: list[int] = np.flatnonzero(apart <= reach).tolist()  # whoever is as far belongs to it
    return positions
