"""The best average against the size of the region: how much is lost if the patch must be larger."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from zonal.engine.windows import answers_anywhere, checked_size
from zonal.errors import InvalidInput, require
from zonal.io.result_table import Cell, Listing, labelled
from zonal.study.listings import column_of, joined
from zonal.study.recommend import recommend

if TYPE_CHECKING:
    from zonal.study.study import Study

STEP = math.sqrt(2)  # from one size to the next, on every axis


def sizes_of(study: Study) -> list[dict[str, float]]:
    """Return the sizes that are compared: the smallest, and larger ones in equal ratios up to the whole space."""
    space, state = study.space, study._state
    require(
        answers_anywhere(state), "only a space with continuous axes has regions of any size", space, "Use top()."
    )
    smallest = checked_size(state, {})
    axes = [(space.axes[j], float(smallest[j])) for j in space.continuous_axes]
    last = max(math.ceil(math.log(axis.side / least, STEP) - 1e-9) for axis, least in axes)
    sizes: list[dict[str, float]] = []
    for step in range(last + 1):
        widths = {axis.name: _width(axis, least * STEP**step) for axis, least in axes}
        if widths not in sizes:
            sizes.append(widths)
    return sizes


def _width(axis: object, width: float) -> float:
    """Return a width that an axis can have: not wider than it, and whole on an axis of integers."""
    side: float = axis.side  # type: ignore[attr-defined]
    return float(min(round(width) if axis.places is not None else width, side))  # type: ignore[attr-defined]


def sizes(study: Study) -> Listing:
    """Return the best region of every size as a table: see `Study.sizes`."""
    best, kept = [], []
    for size in sizes_of(study):
        try:
            best.append(recommend(study, None, 0.1, size=size)[0])
        except InvalidInput:  # nothing of this size is allowed
            continue
        kept.append(size)
    require(best, "no region of any size is allowed", len(kept), "Allow more.")
    unit, space = study.settings.value_unit, study.space
    units = {axis.name: axis.measured_in or axis.unit for axis in space.axes}
    columns: dict[str, list[Cell]] = {
        labelled(f"size {name}", units[name]): [size[name] for size in kept] for name in kept[0]
    }
    means: list[Cell] = [answer.mean for answer in best]
    stds: list[Cell] = [answer.std for answer in best]
    lost = np.abs(np.array([answer.mean for answer in best]) - best[0].mean)
    columns["region"] = [answer.region.name for answer in best]
    columns |= {labelled("mean", unit): means, labelled("std", unit): stds, labelled("lost", unit): lost.tolist()}
    table = joined(columns, [answer.region for answer in best], "study")
    mean, std = column_of(table, means), column_of(table, stds)
    return Listing("The best region of every size", table, {mean: std, std: std})
