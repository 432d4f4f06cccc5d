"""How the noise of a measurement depends on the size of its region, or on its value: laws, learned as models are.

A law gives the noise variance of each region relative to that of a usual one: of `REFERENCE` of the whole space,
and of a middling value. Only regions of different sizes, or values, can tell laws apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from zonal._types import Floats

REFERENCE = 1 / 16  # of the whole space: about as large a region as an initial design measures
SAME = 1.5  # sizes, or values, of which the largest is at most so many times the smallest tell nothing


class NoiseLaw(NamedTuple):
    """One law: which shares of the usual variance fall with size, and grow with the square of the value."""

    name: str  # as `Model.law` has it
    falls: float
    grows: float
    prior: float  # weight
    text: str  # for people, after the noise of the whole space


CONSTANT = NoiseLaw("constant", 0.0, 0.0, 0.55, "the same everywhere")
RELATIVE = NoiseLaw("relative", 0.0, 0.95, 0.1, "a share of the value, with a floor")
LAWS = (
    CONSTANT,
    NoiseLaw("falling", 1.0, 0.0, 0.2, "falling as 1/sqrt(size)"),
    NoiseLaw("both", 0.5, 0.0, 0.15, "a part the same for all sizes, a part falling as 1/sqrt(size)"),
    RELATIVE,
)
BY_NAME = {law.name: law for law in LAWS}


def relative_variances(law: str, sizes: Floats, values: Floats) -> Floats:
    """Return noise variances of regions relative to that of a usual one.

    Sizes are shares of the space, values are in units of the middling one. What has no size counts as usual.
    """
    _, falls, grows, *_ = BY_NAME[law]
    by_size = REFERENCE / np.where(sizes > 0, sizes, REFERENCE)
    return np.asarray(1 - falls - grows + falls * by_size + grows * values**2)


def differ(sizes: Floats) -> bool:
    """Tell whether sizes, or values, differ enough to tell laws apart; all must be above 0."""
    return bool(sizes.size > 1 and 0 < SAME * sizes.min() < sizes.max())
