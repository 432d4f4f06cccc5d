"""How the noise of a measurement depends on the size of its region: laws that are learned as models are.

A law gives the noise variance of each region relative to that of a region of `REFERENCE` of the whole space. Only
regions of different sizes can tell laws apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from zonal._types import Floats

REFERENCE = 1 / 16  # of the whole space: about as large a region as an initial design measures
SAME = 1.5  # sizes of which the largest is at most so many times the smallest tell nothing


class NoiseLaw(NamedTuple):
    """One law: the share of the variance, at the reference, that falls with size; the rest is the same for all."""

    name: str  # as `Model.law` has it
    falls: float
    prior: float  # weight
    text: str  # for people, after the noise of the whole space


CONSTANT = NoiseLaw("constant", 0.0, 0.6, "the same for all sizes")
LAWS = (
    CONSTANT,
    NoiseLaw("falling", 1.0, 0.2, "falling as 1/sqrt(size)"),
    NoiseLaw("both", 0.5, 0.2, "a part the same for all sizes, a part falling as 1/sqrt(size)"),
)
BY_NAME = {law.name: law for law in LAWS}


def relative_variances(law: str, sizes: Floats) -> Floats:
    """Return noise variances of regions, relative to that at the reference; sizes are shares of the space.

    What has no size counts as a region of the reference's.
    """
    falls = BY_NAME[law].falls
    return np.asarray(1 - falls + falls * REFERENCE / np.where(sizes > 0, sizes, REFERENCE))


def differ(sizes: Floats) -> bool:
    """Tell whether sizes differ enough to tell laws apart."""
    positive = sizes[sizes > 0]
    return bool(positive.size > 1 and positive.max() > SAME * positive.min())
