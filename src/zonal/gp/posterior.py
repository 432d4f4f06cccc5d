"""The exact Gaussian-process belief over averages (equation 4 of the paper).

It is updated one observation at a time. For t observed rows and m tracked footprints it keeps
``V = L^-1 Cov(rows, tracked)`` with L the Cholesky factor of the rows' covariance plus noise; the row of V for
a new observation of tracked footprint j costs one vector-matrix product, because j's own column of V is its
row of L. Repeated observations of one footprint are collapsed: once there are more than twice as many rows as
distinct footprints (`model_average.py` counts them), the factor is built from one row each, so that a round's cost
depends on the number of distinct regions and not on the number of rounds.

A belief never changes: every update returns a new one. Small arrays are replaced; the factor is shared between
beliefs and only written beyond the part that others use (`GrowingArray`).

This module knows covariances and rewards, relative to the prior mean; it must not know regions or trees.
"""

from __future__ import annotations

import math
from typing import Any, Literal, Protocol, Self

import numpy as np
from scipy.linalg import blas, lapack

from zonal._blas import libraries, one_thread
from zonal._types import Flags, Floats, Ints
from zonal.errors import InvalidInput, NumericalWarning
from zonal.gp.functional_index import FunctionalIndex, Keys
from zonal.kernels.feedback import AnyFootprints

KNOWN = 1e-12  # of the prior variance: below this a footprint's value counts as known
EXACT = 1e-9  # of the prior variance: less noise than this is nearly none
FRAGILE = 1e-6  # of the prior variance: what is left of less, without noise, has lost too many digits for steps
FEW_EXACT = 128  # rows: with so few, some of them without noise, building anew costs little
DOUBTFUL = 1e-8  # the same where values contradict each other: in a given order fewer digits are right
INDEFINITE = 1e-8  # of the prior variance: no rounding makes a variance this negative
MISFIT = 1e-3  # of the prior std: a value this far from a known one does not fit the model
ROUNDING = 1e-11  # of the prior variance: variances below zero by less are rounding
AT_ONCE = 1 << 19  # covariances computed in one step
MOST_CHECKED = 64  # rows for which residuals are computed, if there are more
SMALL, FEW = 256, 8  # rows, and columns, up to which a triangular solve copies its matrix
KEPT = 384  # most footprints for which all prior covariances are cached
RESERVED, SPARE = 128, 256  # rows, and columns, of a new growing array at least; beyond those asked for

Shape = tuple[int, int]
Rows = Ints | list[int] | slice  # which rows


class GrowingArray:
    """A matrix that grows in both directions, shared by users who each know a leading part of it.

    What is known is never written again. Of several users who extend the same part, the first one writes into the
    shared array, and the others get a copy. Whoever finds the array full gets one of twice the size, or, of a
    large one, an eighth larger: what is reserved may count as used, since memory comes in pages of megabytes.

    Attributes
    ----------
    array : array
        The matrix, and undefined entries beyond what is written.
    """

    def __init__(self, shape: Shape, order: Literal["C", "F"] = "C") -> None:
        reserved = [max(RESERVED, size + min(size, max(SPARE, size // 8))) for size in shape]
        self.array: Floats = np.empty(reserved, order=order)
        self._order: Literal["C", "F"] = order
        self._written = shape  # by the last writer

    def extended(self, part: Shape, shape: Shape) -> GrowingArray:
        """Return a matrix of a larger shape that shares its leading `part`; the caller writes the rest."""
        reserved = self.array.shape
        if self._written == part and shape[0] <= reserved[0] and shape[1] <= reserved[1]:
            self._written = shape
            return self
        rows, columns = part
        copy = GrowingArray(shape, self._order)
        copy.array[:rows, :columns] = self.array[:rows, :columns]
        return copy


class Covariance(Protocol):
    """The prior covariance of averages under a kernel."""

    def of(self, pairs: Any) -> Floats:
        """Return the covariances of pairs of footprints, as a layout describes them."""


class GaussianBelief:
    """Mean and variance of every tracked footprint, given all observations so far.

    A tracked footprint is identified by its slot, in order of tracking. Means are relative to the prior mean.

    Attributes
    ----------
    tracked : FunctionalIndex
        The footprints.
    mean, variance, prior : array
        Posterior means and variances, and prior variances, by slot.
    slots : array of int
        The slot of each row of the factor: one row per observation, until repeats are collapsed.
    clamped, ignored : int
        How many variances were raised to zero, and how many measurements were ignored because they contradict
        values known exactly.
    fragile : bool
        Whether rounding may show: there are measurements without noise, and either few rows or some that imply
        each other closely. Those that the others imply are left out; where they contradict the others, the earlier
        ones hold. Whoever can builds such a belief at once, from all rewards, so that it depends on nothing else,
        and what is decided is the same live and after opening the file.
    complaints : tuple of NumericalWarning
        Warnings so far, for the owner of the belief to emit.
    """

    def __init__(self, covariance: Covariance, tracked: FunctionalIndex) -> None:
        libraries()  # found now, not during the first measurement
        self._covariance = covariance
        self.tracked = tracked
        self.complaints: tuple[NumericalWarning, ...] = ()
        self.fragile = False
        self.clamped = 0
        self.ignored = 0
        self.prior = self.variance = covariance.of(tracked.self_pairs(0))
        self.mean = np.zeros(tracked.size)
        self._K: GrowingArray | None = None  # prior covariances of a few footprints, kept once all are known
        self._first = 0  # the first of them
        if tracked.size == 1:
            self._K = GrowingArray((1, 1))
            self._K.array[0, 0] = self.prior[0]
        self._V, self._L = GrowingArray((0, tracked.size)), GrowingArray((0, 0), "F")
        self._w = np.zeros(0)  # L^-1 (rewards of the rows)
        self.slots = np.zeros(0, dtype=np.intp)  # of the rows
        self._noise = np.zeros(0)  # variances of the rows' mean rewards, if they were factorised at once

    def _copy(self) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__ = {**self.__dict__}
        return twin

    @property
    def rows(self) -> int:
        """The number of rows of the factor, repeats included until they are collapsed."""
        return len(self._w)

    def with_targets(self, tracked: FunctionalIndex, briefly: bool = False) -> Self:
        """Return the belief that tracks more footprints too; `briefly` if it will be asked about these alone."""
        after, start, t = self._copy(), self.tracked.size, self._w.size
        after.tracked = tracked
        cross: Floats | None = None
        if briefly:
            fresh = np.arange(start, tracked.size)
            block = self._covariance.of(tracked.cross(start, np.concatenate((self.slots, fresh))))
            after._K, after._first = GrowingArray((len(fresh), len(fresh))), start
            after._K.array[: len(fresh), : len(fresh)] = block[:, t:]
            prior, cross = block.diagonal(t), block[:, :t]
        elif self._K is not None and tracked.size <= KEPT:
            block = self._covariance.of(tracked.since(start))
            after._K = self._K.extended((start, start), (tracked.size, tracked.size))
            after._K.array[start : tracked.size, : tracked.size] = block
            after._K.array[:start, start : tracked.size] = block[:, :start].T
            prior, cross = block.diagonal(start), block.take(self.slots, axis=1)
        else:
            after._K = None
            prior = self._covariance.of(tracked.self_pairs(start))
        after._V = self._V.extended((t, start), (t, tracked.size))
        mean, variance = after._seen_from(start, prior, cross)
        after.prior = np.concatenate((self.prior, prior))
        after.mean = np.concatenate((self.mean, mean))
        after.variance = np.concatenate((self.variance, variance))
        return after

    def _seen_from(self, start: int, prior: Floats, cross: Floats | None) -> tuple[Floats, Floats]:
        """Write the columns of V of all footprints from `start` on; return their means and variances.

        `prior` has their variances, and `cross` their covariances with the rows if these are known.
        """
        t, number, slots = self._w.size, len(prior), self.slots
        mean, variance, step = np.empty(number), np.empty(number), max(1, AT_ONCE // max(t, 1))
        for low in range(0, number, step):
            part = slice(low, min(low + step, number))
            columns = slice(start + low, start + part.stop)
            if cross is None:
                v = self._solve(self._covariance.of(self.tracked.cross(columns.start, slots, columns.stop)).T)
            else:
                v = self._solve(cross[part].T)
            self._V.array[:t, columns] = v
            with one_thread(v.size):
                mean[part] = self._w @ v
            variance[part] = prior[part] - np.add.reduce(v * v, 0)
        if number and variance[variance.argmin()] < 0:
            variance = self._repaired(variance, prior)
        return mean, variance

    def condition_on(self, slot: int, reward: float, variance: float, max_variance: float) -> Self:
        """Return the belief with one more reward, relative to the prior mean, and the variance of its noise.

        `max_variance` is the noise variance of the mean of all rewards of this footprint, this one included.
        """
        predictive = self.variance.item(slot) + variance
        if predictive <= KNOWN * self.prior[slot]:  # to within rounding; nothing changes any more
            return self._ignoring(slot, reward, variance, max_variance)
        after, t, m = self._copy(), self._w.size, self.mean.size
        prior = self.prior.item(slot)
        exact = variance < EXACT * prior
        after.fragile = self.fragile or (exact and (t < FEW_EXACT or predictive < FRAGILE * prior))
        d = math.sqrt(predictive)
        lower = np.concatenate((self._V.array[:t, slot], (d,)))  # this footprint's row of L
        v = self._row(slot, lower[:t])
        v /= d
        w = (reward - self.mean.item(slot)) / d
        after._V = self._V.extended((t, m), (t + 1, m))
        after._V.array[t, :m] = v
        after._L = self._L.extended((t, t), (t + 1, t + 1))
        after._L.array[t, : t + 1] = lower
        after._w = np.concatenate((self._w, (w,)))
        after.slots = np.concatenate((self.slots, (slot,)))
        after.mean = self.mean + v * w
        left = self.variance - v * v
        if left[left.argmin()] < 0:
            left = after._repaired(left, self.prior)
        # Proposition 2, sigma / sqrt(T): exact, so rounding must not break it.
        if left[slot] > max_variance:
            left[slot] = max_variance
        after.variance = left
        return after

    def factorised(self, slots: Ints, rewards: Floats, variances: Floats) -> Self:
        """Return the belief from all rewards at once, a row for each footprint that adds to the others.

        It knows the rows alone, until `with_columns`: what these say of each other, and of a single footprint.
        """
        after = self._copy()
        with one_thread():
            kept = after._factorise(slots, rewards, variances)
            after.slots, after._noise = slots[kept], variances[kept]
            after._w = after._solve_all(rewards[kept, None])[:, 0]
        after.mean = after.variance = np.zeros(0)
        return after

    def with_columns(self) -> Self:
        """Return a factorised belief with what it says about every tracked footprint."""
        after, m, slots = self._copy(), len(self.prior), self.slots
        after._V = GrowingArray((len(slots), m))
        cross = None if self._K is None else self._K.array[:m].take(slots, axis=1)
        after.mean, after.variance = after._seen_from(0, self.prior, cross)
        after.variance[slots] = np.minimum(after.variance[slots], self._noise)
        return after

    def at(self, slot: int) -> tuple[float, float]:
        """Return mean and variance of one tracked footprint."""
        if self.mean.size:
            return self.mean.item(slot), self.variance.item(slot)
        cross = self._covariance.of(self.tracked.cross(slot, self.slots, slot + 1))
        mean, variance = self.conditioned(cross, self.prior[slot : slot + 1])
        return mean.item(0), variance.item(0)

    def residuals(self) -> Floats:
        """Return standardised leave-one-out residuals of the rows, or of some if there are many."""
        t = len(self._w)
        checked = np.arange(t) if t <= SMALL else np.linspace(0, t - 1, MOST_CHECKED).astype(np.intp)
        with one_thread():
            inverse = self._solve_all(np.equal.outer(np.arange(t), checked).astype(float))
            return np.asarray((inverse.T @ self._w) / np.sqrt(np.add.reduce(inverse * inverse, 0)))

    def left_out(self) -> tuple[Floats, Floats]:
        """Return by how much each row differs from what the other rows predict, and the variance of that."""
        with one_thread():
            inverse = self._solve_all(np.eye(len(self._w)))
            precision = np.add.reduce(inverse * inverse, 0)
            return (inverse.T @ self._w) / precision, 1 / precision

    def predict(self, footprints: AnyFootprints) -> tuple[Floats, Floats]:
        """Return mean and variance of footprints that need not be tracked."""
        mean, v = self._seen_from_rows(self.tracked.layout.keys(footprints, register=False))
        return mean, np.maximum(self.prior_of(footprints) - np.add.reduce(v * v, 0), 0.0)

    def prior_of(self, footprints: AnyFootprints) -> Floats:
        """Return the prior variance of footprints that need not be tracked."""
        layout = self.tracked.layout
        return self._covariance.of(layout.self_pairs(layout.keys(footprints, register=False)))

    def joint(self, footprints: AnyFootprints) -> tuple[Floats, Floats]:
        """Return mean and joint covariance of footprints that need not be tracked."""
        layout = self.tracked.layout
        keys = layout.keys(footprints, register=False)
        prior = self._covariance.of(layout.pairs(keys, keys))
        mean, v = self._seen_from_rows(keys)
        with one_thread():
            return mean, (prior + prior.T) / 2 - v.T @ v

    def row_weights(self, footprints: AnyFootprints) -> Floats:
        """Return how much the reward of each row adds to the means of footprints, shape (rows, footprints)."""
        _, v = self._seen_from_rows(self.tracked.layout.keys(footprints, register=False))
        if not len(v):
            return v
        with one_thread():
            weights, info = lapack.dtrtrs(self._L.array[:, : len(v)], v, lower=1, trans=1)
        assert info == 0, info
        return np.asarray(weights)

    def _seen_from_rows(self, keys: Keys) -> tuple[Floats, Floats]:
        """Return the mean of footprints, and their columns of V."""
        if not len(self._w):
            return np.zeros(keys.shape[1]), np.zeros((0, keys.shape[1]))
        pairs = self.tracked.with_slots(keys, self.slots)
        with one_thread():
            v = self._solve_all(self._covariance.of(pairs).T)
            return self._w @ v, v

    def conditioned(self, cross: Floats, prior: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance of any Gaussian numbers of mean zero, from their covariance with the rows."""
        if not len(self._w):
            return np.zeros(prior.size), prior
        with one_thread():
            v = self._solve_all(cross.T)
            return self._w @ v, np.maximum(prior - np.add.reduce(v * v, 0), 0.0)

    def overlay(self) -> Overlay:
        """Return the posterior to which pending measurements are added."""
        return Overlay(self)

    def covariance(self, slots: Ints, others: Ints | None = None) -> Floats:
        """Return the posterior covariance of some tracked footprints with others, or with each other."""
        t, other = len(self._w), slots if others is None else others
        v = self._V.array[:t].take(slots, axis=1)
        w = v if others is None else self._V.array[:t].take(other, axis=1)
        joint = self._between(slots, other)
        with one_thread(v.size):
            joint -= v.T @ w
        return joint

    def _between(self, slots: Ints, others: Ints) -> Floats:
        """Return the prior covariance of some tracked footprints with others."""
        if self._K is None:
            return self._covariance.of(self.tracked.between(slots, others))
        return self._K.array.take(slots - self._first, axis=0).take(others - self._first, axis=1)

    def covariance_row(self, slot: int) -> Floats:
        """Return the posterior covariance of one tracked footprint with all of them."""
        return self._row(slot, self._V.array[: self._w.size, slot].copy())

    def covariance_rows(self, slots: Ints) -> Floats:
        """Return the posterior covariances of some tracked footprints with all of them, a row each."""
        t, m = self._w.size, self.mean.size
        if self._K is None or self._first:
            rows = self._covariance.of(self.tracked.cross(0, slots)).T
        else:
            rows = self._K.array[:, :m].take(slots, axis=0)
        with one_thread():
            return rows - self._V.array[:t].take(slots, axis=1).T @ self._V.array[:t, :m]

    def _row(self, slot: int, column: Floats) -> Floats:
        """Return the posterior covariance of one footprint with all of them, given its column of V."""
        t, m = self._w.size, self.mean.size
        kept = None if self._first else self._K
        row = self._covariance.of(self.tracked.row(slot))[:, 0] if kept is None else kept.array[slot, :m]
        with one_thread(t * m):
            return row - column @ self._V.array[:t, :m]

    def _solve(self, cross: Floats) -> Floats:
        """Return L^-1 cross."""
        t = self._w.size
        if not t:
            return cross
        if t <= SMALL and cross.shape[1] < FEW:
            # Copying L costs less than limiting LAPACK to one thread.
            solved: Floats = blas.dtrsm(1.0, self._L.array[:t, :t], cross, lower=1)
            return solved
        with one_thread():
            return self._solve_all(cross)

    def _solve_all(self, right: Floats) -> Floats:
        """Return L^-1 `right`, where one thread was asked for."""
        if not len(right):
            return right
        solution, info = lapack.dtrtrs(self._L.array[:, : len(right)], right, lower=1)
        assert info == 0, info
        return np.asarray(solution)

    def _ignoring(self, slot: int, reward: float, variance: float, max_variance: float) -> Self:
        """Ignore a reward of a footprint that is already known exactly; warn if it contradicts that."""
        after = self._copy()
        if slot in self.slots:
            after.variance = self.variance.copy()
            after.variance[slot] = min(self.variance[slot], max_variance)
        else:
            after.fragile = True
        if self._misfits(slot, reward, self.mean.item(slot), variance):
            after._ignore(reward, self.mean.item(slot))
        return after

    def _misfits(
        self, slots: Ints | int, rewards: Floats | float, implied: Floats | float, variances: Floats | float
    ) -> Flags:
        """Tell which rewards of footprints known exactly contradict what is implied for them."""
        far = MISFIT * np.sqrt(self.prior[slots]) + 8 * np.sqrt(variances)
        return np.asarray(abs(rewards - implied) > far)

    def _ignore(self, reward: float, implied: float) -> None:
        """Count a reward that is ignored, and warn of the first."""
        self.ignored += 1
        if self.ignored == 1:
            self._complain(
                f"a measurement {reward:.6g} from the prior mean was ignored: nearly noiseless ones imply "
                f"{implied:.6g} there under this kernel. Pass a larger noise or a shorter lengthscale."
            )

    def _factorise(self, slots: Ints, rewards: Floats, variances: Floats) -> Rows:
        """Write the lower Cholesky factor of the rows that add to the others; return which these are."""
        gram = self._between(slots, slots)
        np.fill_diagonal(gram, gram.diagonal() + variances)
        # Symmetric, so the transpose is the matrix itself in LAPACK's order; no copy is needed.
        factor, info = lapack.dpotrf(gram.copy().T, lower=1, clean=1, overwrite_a=1)
        kept: Rows = slice(None)
        if info or (factor.diagonal() ** 2 <= FRAGILE * self.prior[slots]).any():  # in this order digits are lost
            factor, kept = self._agreeing(gram, slots, rewards, variances)
            if factor is None:
                factor, kept = self._earlier(gram, slots, rewards, variances)
        pivots, prior, noise = factor.diagonal() ** 2, self.prior[slots[kept]], variances[kept]
        shows = (pivots < FRAGILE * prior) | (len(pivots) <= FEW_EXACT)
        self.fragile = len(pivots) < len(slots) or bool((shows & (noise < EXACT * prior)).any())
        t = len(factor)
        self._L = GrowingArray((t, t), "F")
        self._L.array[:t, :t] = factor
        return kept

    def _agreeing(
        self, gram: Floats, slots: Ints, rewards: Floats, variances: Floats
    ) -> tuple[Floats | None, Ints]:
        """Return the factor of the rows that imply the others, and these rows, the most uncertain ones first.

        Of all choices this one loses the fewest digits. There is no factor if the others contradict these.
        """
        scale = np.sqrt(np.where(self.prior[slots] > 0, self.prior[slots], 1.0))
        factor, order, rank, _ = lapack.dpstrf(gram / np.outer(scale, scale), tol=KNOWN, lower=1)
        order = order - 1
        kept, others = order[:rank], order[rank:]
        factor = np.tril(factor)[:, :rank] * scale[order][:, None]
        left = gram[others, others] - np.add.reduce(factor[rank:] ** 2, 1)
        if (left < -INDEFINITE * scale[others] ** 2).any():
            fix = "Give measurements a noise above 0; check a user-defined kernel and times."
            problem = "the covariance of the measurements is not positive definite"
            raise InvalidInput(problem, f"{len(gram)} regions", fix)
        w = lapack.dtrtrs(factor[:rank], rewards[kept], lower=1)[0] if rank else np.zeros(0)
        wrong = self._misfits(slots[others], rewards[others], factor[rank:] @ w, variances[others]).any()
        return None if wrong else factor[:rank], kept

    def _earlier(self, gram: Floats, slots: Ints, rewards: Floats, variances: Floats) -> tuple[Floats, list[int]]:
        """Return the factor of the rows that those before do not imply, and these rows: earlier values hold."""
        factor, w, kept = np.zeros(gram.shape, order="F"), np.zeros(len(slots)), list[int]()
        for row, slot in enumerate(slots.tolist()):
            n, lower, reward = len(kept), np.zeros(0), rewards.item(row)
            if n:
                lower, _ = lapack.dtrtrs(factor[:, :n], gram[row].take(kept), lower=1)
            left, implied = gram.item(row, row) - float(lower @ lower), float(lower @ w[:n])
            if left > DOUBTFUL * self.prior.item(slot):
                factor[n, :n], factor[n, n] = lower, math.sqrt(left)
                w[n] = (reward - implied) / factor[n, n]
                kept.append(row)
            elif self._misfits(slot, reward, implied, variances.item(row)):
                self._ignore(reward, implied)
        return factor[: len(kept), : len(kept)], kept

    def _repaired(self, variance: Floats, prior: Floats) -> Floats:
        """Return variances with negative ones raised to zero; warn if they are more negative than rounding."""
        bad = int(np.count_nonzero(variance < -ROUNDING * prior))
        if bad and not self.clamped:
            self._complain(
                "posterior variances came out negative and were set to 0: the measurements' noise is too small "
                "for double precision. Pass a larger noise."
            )
        self.clamped += bad
        return np.maximum(variance, 0.0)

    def _complain(self, message: str) -> None:
        self.complaints = (*self.complaints, NumericalWarning(message))


class Overlay:
    """The variances of a belief with measurements pending: means stay, variances shrink.

    A pending measurement counts as observed at its mean. It does not enter the belief, and an overlay never
    changes: each pending measurement makes a new one.
    """

    def __init__(
        self,
        belief: GaussianBelief,
        rows: GrowingArray | None = None,
        number: int = 0,
        variance: Floats | None = None,
    ) -> None:
        self._belief = belief
        self._rows, self._number = rows, number  # a row for each pending measurement, which reduce the covariance
        self.variance = belief.variance if variance is None else variance

    def covariance(self, slots: Ints, others: Ints | None = None) -> Floats:
        """Return the covariance of some tracked footprints with others, or with each other."""
        joint = self._belief.covariance(slots, others)
        if self._rows is not None:
            rows = self._rows.array[: self._number]
            left = rows.take(slots, axis=1)
            with one_thread(left.size):
                joint -= left.T @ (left if others is None else rows.take(others, axis=1))
        return joint

    def with_pending(self, slot: int, variance: float, minus: int | None = None) -> Overlay:
        """Return the overlay with one more pending measurement, or itself if its footprint is known exactly.

        With `minus`, the difference of two footprints is measured.
        """
        row, predictive = self._row(slot), self.variance[slot]
        if minus is not None:
            other = self._row(minus)
            predictive, row = predictive + self.variance[minus] - 2 * row[minus], row - other
        predictive += variance
        if predictive <= ROUNDING * self._belief.prior[slot]:  # dividing by it would amplify rounding errors
            return self
        v, number, m = row / math.sqrt(predictive), self._number, len(row)
        rows = GrowingArray((1, m)) if self._rows is None else self._rows.extended((number, m), (number + 1, m))
        rows.array[number, :m] = v
        return Overlay(self._belief, rows, number + 1, np.maximum(self.variance - v * v, 0.0))

    def with_many_pending(self, slots: Ints, variances: Floats) -> Overlay:
        """Return the overlay of a belief with many pending averages: to rounding, what they give one by one."""
        belief, prior = self._belief, self._belief.prior[slots]
        block = belief.covariance_rows(slots)
        joint = block.take(slots, axis=1) + np.diag(variances)
        factor, info = lapack.dpotrf(joint, lower=1)
        if self._number or info or (factor.diagonal() ** 2 <= ROUNDING * prior).any():
            overlay = self
            for slot, variance in zip(slots.tolist(), variances.tolist(), strict=True):
                overlay = overlay.with_pending(slot, variance)
            return overlay
        number, m = block.shape
        rows = GrowingArray((number, m))
        with one_thread():  # transposed, the block is in the order of BLAS
            v = blas.dtrsm(1.0, factor, block.T, side=1, lower=1, trans_a=1, overwrite_b=1).T
        rows.array[:number, :m] = v
        return Overlay(belief, rows, number, np.maximum(self.variance - np.add.reduce(v * v, 0), 0.0))

    def _row(self, slot: int) -> Floats:
        """Return the covariance of one tracked footprint with all of them."""
        row = self._belief.covariance_row(slot)
        if self._rows is None:
            return row
        rows = self._rows.array[: self._number, : len(row)]
        with one_thread(rows.size):
            return row - rows[:, slot] @ rows
