"""Offsets of readings: what a plate, a day, another campaign, or a slow drift adds to them.

A reading is a functional of f, plus an offset for each of its labels that has one, plus a drift in the order of
the readings, plus noise. All are Gaussian, with mean zero and a learned size, and are integrated out: rows of the
posterior that share a label covary, and what is tracked of f is at offset zero. Sizes are on a grid that begins at
zero, so that a label that means nothing costs little. What a source measured may also be another function, of
which nothing follows for f.

This module knows labels and covariances; it must not know regions, trees or policies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zonal._types import Flags, Floats, Ints
from zonal.kernels.combinations import AnyPairs

if TYPE_CHECKING:
    from zonal.gp.posterior import Covariance, GaussianBelief

SOURCE = "source"  # the label of another campaign; readings of this one need not have it
SIZES = (0.0, 0.1, 0.3, 1.0, 3.0)  # of offsets, in standard deviations of f
UNRELATED = len(SIZES)  # the level at which a source measured another function
FIRST_SIZE, MIDDLE = 0.3, 3  # of the rewards' std, before there is a fit; the level at which a search starts too
NONE = 0.5  # prior weight of size zero; the others share the rest
DRIFT_SHARE, SHORTEST_DRIFT = 0.5, 5.0  # the drift's lengthscale: of the readings that are paid for, and at least


class OffsetSpec(NamedTuple):
    """Which labels have an offset, and whether readings drift."""

    names: tuple[str, ...]
    lengthscale: float = 0.0  # of the drift, in readings; 0 if there is none

    @property
    def number(self) -> int:
        """The number of sizes to learn."""
        return len(self.names) + (self.lengthscale > 0)

    @property
    def levels(self) -> tuple[int, ...]:
        """The number of grid points of each size; a source has one more, at which it measured another function."""
        return tuple(len(SIZES) + (name == SOURCE) for name in self.names) + (len(SIZES),) * (self.lengthscale > 0)

    @property
    def source(self) -> int | None:
        """Which offset is that of sources, if one is."""
        return self.names.index(SOURCE) if SOURCE in self.names else None

    def size(self, level: int) -> float:
        """Return the size of a level, in standard deviations of f."""
        return SIZES[min(level, len(SIZES) - 1)]

    def unrelated(self, levels: Sequence[int]) -> bool:
        """Tell whether a source measured another function at these levels."""
        return any(level == UNRELATED for level in levels)

    def log_prior(self, levels: Sequence[int]) -> float:
        """Return the log of the prior weight of some levels."""
        others = [math.log((1 - NONE) / (number - 1)) for number in self.levels]
        return sum(other if level else math.log(NONE) for level, other in zip(levels, others, strict=True))


class Label(NamedTuple):
    """What may shift a reading."""

    values: tuple[str, ...]  # by offset, "" where it has none
    order: int = -1  # which reading it is, -1 if it does not drift


class Shifts(NamedTuple):
    """The labels of some footprints, as numbers."""

    codes: Ints  # shape (offsets, n): -1 for no label
    orders: Ints  # -1 for those that do not drift
    weights: Floats  # total weights of the footprints, which multiply the offsets

    def take(self, at: Ints | slice | list[int]) -> Shifts:
        """Return those of some of the footprints."""
        return Shifts(self.codes[:, at], self.orders[at], self.weights[at])


def no_shifts(spec: OffsetSpec, number: int) -> Shifts:
    """Return the labels of footprints that have none."""
    nothing = np.full((len(spec.names), number), -1)
    return Shifts(nothing, np.full(number, -1), np.ones(number))


def shifts_of(
    spec: OffsetSpec, number: int, labels: Mapping[int, Label], total_weights: Mapping[int, float]
) -> Shifts:
    """Return the labels of footprints, by slot, as numbers."""
    shifts, numbers = no_shifts(spec, number), dict[tuple[int, str], int]()
    for slot, label in labels.items():
        for offset, value in enumerate(label.values):
            if value:
                shifts.codes[offset, slot] = numbers.setdefault((offset, value), len(numbers))
        shifts.orders[slot] = label.order
    for slot, weight in total_weights.items():
        shifts.weights[slot] = weight
    return shifts


class LabelledPairs(NamedTuple):
    """Pairs of footprints among which some have labels.

    Attributes
    ----------
    pairs : AnyPairs
        Of the footprints alone.
    alike : tuple of arrays, or None where all are zero
        For each offset the covariance of a unit offset; the drift's is the last.
    foreign : array or None
        Whether one of the two is of a source and the other is not; None if there is no such pair.
    """

    pairs: AnyPairs
    alike: tuple[Floats | None, ...]
    foreign: Flags | None


def compared(
    spec: OffsetSpec, rows: Shifts, columns: Shifts | None
) -> tuple[tuple[Floats | None, ...], Flags | None]:
    """Return the covariances of unit offsets, and which pairs are of different sources.

    Without `columns`, each of `rows` is paired with itself.
    """
    alike: list[Floats | None] = []
    for offset in range(len(spec.names)):
        same = _same(rows.codes[offset], None if columns is None else columns.codes[offset])
        alike.append(None if same is None else _weighed(same, rows, columns))
    if spec.lengthscale:
        alike.append(_drift(spec.lengthscale, rows, columns))
    foreign = None
    if (at := spec.source) is not None and columns is not None:
        differs: Flags = np.not_equal.outer(rows.codes[at], columns.codes[at])
        foreign = differs if differs.any() else None
    return tuple(alike), foreign


def _same(codes: Ints, others: Ints | None) -> NDArray[np.bool_] | None:
    """Return which pairs have the same label; None if none has."""
    labelled = codes >= 0
    same = labelled if others is None else np.equal.outer(codes, others) & labelled[:, None]
    return same if same.any() else None


def _weighed(values: Floats | Flags, rows: Shifts, columns: Shifts | None) -> Floats:
    if columns is None:
        return np.asarray(values * rows.weights**2)
    return np.asarray(values * np.multiply.outer(rows.weights, columns.weights))


def _drift(lengthscale: float, rows: Shifts, columns: Shifts | None) -> Floats | None:
    """Return the covariance of a drift of size one: Matern 3/2 in the order of the readings."""
    drifts = rows.orders >= 0
    if columns is None:
        return _weighed(drifts, rows, None) if drifts.any() else None
    both = np.logical_and.outer(drifts, columns.orders >= 0)
    if not both.any():
        return None
    lag = math.sqrt(3) / lengthscale * np.abs(np.subtract.outer(rows.orders, columns.orders))
    return _weighed(np.where(both, (1 + lag) * np.exp(-lag), 0.0), rows, columns)


class OffsetGrid:
    """What offsets add to the correlations of the lines of some data, at every level of their sizes."""

    def __init__(self, spec: OffsetSpec, shifts: Shifts) -> None:
        self.spec = spec
        self._alike, self._foreign = compared(spec, shifts, shifts)

    def shifted(self, correlations: Floats, levels: Sequence[int], unit: float) -> Floats:
        """Return the correlations with offsets; `unit` is the variance of an offset of size one."""
        total = correlations
        if self._foreign is not None and self.spec.unrelated(levels):
            total = np.where(self._foreign, 0.0, total)
        for level, alike in zip(levels, self._alike, strict=True):
            if level and alike is not None:
                total = total + unit * self.spec.size(level) ** 2 * alike
        return total


class WithOffsets:
    """The prior covariance of readings with labels, and of what is tracked of f."""

    def __init__(self, covariance: Covariance, of_f: Covariance, sizes: Sequence[float], unrelated: bool) -> None:
        self._covariance, self._of_f = covariance, of_f  # with the mean's uncertainty, and without
        self._variances = [size**2 for size in sizes]
        self._unrelated = unrelated

    def of(self, pairs: AnyPairs | LabelledPairs) -> Floats:
        """Return the covariances of pairs of footprints."""
        if not isinstance(pairs, LabelledPairs):
            return self._covariance.of(pairs)
        total = self._covariance.of(pairs.pairs)
        if self._unrelated and pairs.foreign is not None:
            total = total - np.where(pairs.foreign, self._of_f.of(pairs.pairs), 0.0)
        for variance, alike in zip(self._variances, pairs.alike, strict=True):
            if variance and alike is not None:
                total = total + variance * alike
        return total


def offsets_under(
    belief: GaussianBelief, spec: OffsetSpec, shifts: Shifts, sizes: Sequence[float]
) -> tuple[Floats, Floats]:
    """Return mean and variance of the offsets of some labels under one model, one for each entry of `shifts`.

    Each entry has one label, or an order alone.
    """
    prior, cross = np.zeros(shifts.orders.size), np.zeros((shifts.orders.size, belief.rows))
    for size, itself, with_rows in zip(
        sizes,
        compared(spec, shifts, None)[0],
        compared(spec, shifts, belief.tracked.shifts.take(belief.slots))[0],
        strict=True,
    ):
        if itself is not None:
            prior += size**2 * itself
        if with_rows is not None:
            cross += size**2 * with_rows
    return belief.conditioned(cross, prior)
