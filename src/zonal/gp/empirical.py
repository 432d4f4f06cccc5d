"""The empirical means of StoOO: each footprint has its own rewards only, and no correlations.

With ``std = 1 / sqrt(T)`` after T rewards, AVE-StoOO's index and expansion test are GPOO's (docs/fidelity.md), so
one policy serves both. A footprint without rewards has an infinite std. Every reward counts the same, whatever its
noise. This module knows rewards only; it must not know kernels, regions or trees.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zonal._types import Floats, Ints
from zonal.gp.stats import ObservationStats


def empirical_columns(
    ledger: ObservationStats, slots: Ints, zero: float, pending: Sequence[int] = ()
) -> tuple[Floats, Floats]:
    """Return mean, relative to `zero`, and 1/T of footprints; `pending` are positions that will have one more."""
    mean, count = np.zeros(len(slots)), np.zeros(len(slots))
    for at, slot in enumerate(slots.tolist()):
        if slot in ledger.lines:
            mean[at], count[at] = ledger.mean(slot) - zero, ledger.number(slot)
    np.add.at(count, np.array(pending, dtype=np.intp), 1)
    with np.errstate(divide="ignore"):
        return mean, 1 / count


def empirical_relative_std(variance: Floats) -> Floats:
    """Return 1 / sqrt(1 + T), as if there had been one reward before the first."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.sqrt(1 / (1 + 1 / variance)))
