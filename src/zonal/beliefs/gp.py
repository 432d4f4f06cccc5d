"""The exact Gaussian-process belief over averages (equation 4 of the paper).

One observation at a time, without refits. For t observed rows and m tracked footprints it keeps
``V = L^-1 Cov(rows, tracked)`` with L the Cholesky factor of the rows' covariance plus noise; the row of V for
a new observation of tracked footprint j costs one vector-matrix product, because j's own column of V is its
row of L. Repeated observations of one footprint are collapsed: once there are more than twice as many rows as
distinct footprints, the factor is rebuilt from one row each, so that a round's cost depends on the number of
distinct regions and not on the number of rounds.

A belief is forked before it is changed, and a fork shares the factor: rows and columns are only ever written
past those that the belief it came from knows of, or into fresh arrays. What was believed before stays intact,
whatever becomes of the change; of several forks of one belief only the last may be used.

This room knows covariances and rewards, counted from the prior mean; it must not know regions or trees.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from zonal.averages.feedback import AnyFootprints
from zonal.beliefs.tiles import SQUARE, Tiles
from zonal.blas import libraries, one_thread
from zonal.errors import InvalidInput, NumericalWarning

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

SPARE_ROWS = 16  # rebuild when t > 2 D + SPARE_ROWS
KNOWN = 1e-14  # of the prior variance: below it a footprint's value counts as known
CONTRADICTION = 1e-6  # of the prior std: exact values further apart contradict each other
MISFIT = 1e-3  # of the prior std: a value this far from what is known does not fit the model
ROUNDING = 1e-11  # of the prior variance: variances below zero by less are rounding
TOGETHER = 2048  # footprints that are tracked anew at a time
MOST_CHECKED = 64  # rows whose residuals stand for those of many
SMALL, FEW = 256, 8  # rows, and columns, up to which a triangular solve copies its matrix
JITTERS = (1e-12, 1e-11, 1e-10, 1e-9, 1e-8)  # of the diagonal, tried in turn


class Covariance(Protocol):
    """Prior covariance of footprints, which are known by number once entered."""

    def enter(self, at: int, footprints: Any) -> None:
        """Enter footprints, numbered from `at` on; what had these numbers is forgotten."""

    def variances(self, start: int, stop: int) -> Floats:
        """Return the variances of the footprints of some numbers."""

    def row(self, one: int, size: int) -> Floats:
        """Return the covariance of one footprint with the first `size` of them."""

    def between(self, some: Ints | slice, others: Ints | slice) -> Floats:
        """Return the covariance matrix of entered footprints."""

    def outside(self, some: Ints, footprints: Any) -> tuple[Floats, Floats]:
        """Return covariances with footprints not entered, and their variances."""

    def among(self, footprints: Any) -> Floats:
        """Return the covariance matrix of footprints not entered."""

    def apart(self) -> Covariance:
        """Return the same for questions, with a memory of its own where memory could change the last digit."""


class GaussianBelief:
    """Mean and variance of every tracked footprint, given all observations so far.

    A tracked footprint is known by its slot, in order of tracking. Means are counted from the prior mean.

    Attributes
    ----------
    repeats : int
        Observations of footprints observed before.
    scatter : float
        Their squared distances from what had been observed, in units of their variance: about as many as repeats.
    jitters, clamped, ignored : int
        How often jitter had to be added, how many variances were raised to zero, and how many measurements
        did not fit what was known to within rounding.
    """

    def __init__(self, covariance: Covariance, footprints: int = 0) -> None:
        libraries()  # found now, not during the first measurement
        self._covariance = covariance
        self._asked = covariance.apart()  # what is asked about must leave no trace in what is believed
        self.complaints: list[NumericalWarning] = []  # for whoever owns the belief to pass on when it is safe
        self.repeats = 0
        self.scatter = 0.0
        self.jitters = 0
        self.clamped = 0
        self.ignored = 0
        self.size = 0  # m, tracked footprints
        self._rows = 0  # t, rows of the factor
        room = max(256, footprints + footprints // 2)
        self._V = Tiles(128, room)
        self._L = Tiles(128, 128, SQUARE, "F")
        self._w = np.zeros(128)  # L^-1 (rewards of the rows)
        self._slots = np.zeros(128, dtype=np.intp)  # of the rows
        self._mean = np.zeros(room)
        self._var = np.zeros(room)
        self._prior = np.zeros(room)
        # Slot to the reward measured without noise, and to the record of its collapsed measurements; shared with
        # forks, so new ones take the old ones' place.
        self._exact: dict[int, float] = {}
        self._distinct: dict[int, int] = {}
        self._record_var = np.zeros(128)  # 1 / p, with p the precision of its measurements
        self._record_mean = np.zeros(128)  # precision-weighted mean reward
        self.follow(footprints)

    def fork(self) -> GaussianBelief:
        """Return the same belief, to be changed; this one stays as it is."""
        twin = GaussianBelief.__new__(GaussianBelief)
        twin.__dict__.update(self.__dict__)
        twin.complaints = []
        twin._mean, twin._var = self._mean.copy(), self._var.copy()
        twin._record_var, twin._record_mean = self._record_var.copy(), self._record_mean.copy()
        return twin

    @property
    def mean(self) -> Floats:
        """Posterior means of the tracked footprints, counted from the prior mean."""
        return self._mean[: self.size]

    @property
    def variance(self) -> Floats:
        """Posterior variances of the tracked footprints."""
        return self._var[: self.size]

    def track(self, footprints: AnyFootprints) -> int:
        """Track more footprints and return the slot of the first."""
        start = self.size
        self._covariance.enter(start, footprints)
        self.follow(start + len(footprints))
        return start

    def follow(self, size: int) -> None:
        """Track the footprints that were entered, under this or another model, up to a number."""
        start, t = self.size, self._rows
        if start == size:
            return
        variances = self._covariance.variances(start, size)
        self.size = size
        if self.size > len(self._mean):
            self._widen(max(self.size, 2 * len(self._mean)))
        new = slice(start, self.size)
        self._prior[new] = self._var[new] = variances
        self._mean[new] = 0.0
        if t:
            v = self._solve(self._covariance.between(new, self._slots[:t]).T)
            self._V.write(0, start, v)
            self._mean[new] = self._w[:t] @ v
            self._var[new] -= np.add.reduce(v * v, 0)
            if np.minimum.reduce(self._var[new]) < 0:
                self._repair(new)

    def check(self, slot: int, reward: float, variance: float) -> None:
        """Complain if an exact reward contradicts an exact one of the same footprint, before anything changes."""
        exact = self._exact.get(slot)
        if variance > 0 or exact is None:
            return
        if abs(reward - exact) > CONTRADICTION * math.sqrt(self._prior[slot]) + 1e-9 * abs(reward):
            raise InvalidInput(
                "a measurement without noise contradicts an earlier one of the same region, which was "
                f"{exact:.9g} from the prior mean",
                reward,
                "Pass a noise or sem above 0 if measurements scatter.",
            )

    def observe(self, slot: int, reward: float, variance: float) -> None:
        """Take in one reward, counted from the prior mean, with the given noise variance.

        What is known already to within rounding changes nothing any more; call `check` first.
        """
        own = self._var[slot] + variance
        if own <= KNOWN * self._prior[slot]:
            self._ignore(slot, reward, variance)
            return
        if variance == 0:
            self._exact = {**self._exact, slot: reward}
        self._collapse(slot, reward, variance)
        if self._rows + 1 > 2 * len(self._distinct) + SPARE_ROWS:
            self._rebuild()
            return
        t, m = self._rows, self.size
        if t == len(self._w):
            self._lengthen(2 * t)
        d = math.sqrt(own)
        with one_thread(t * m):
            lower = np.empty((1, t + 1))  # this footprint's row of L
            column = lower[0, :t]
            column[:] = self._V.column(slot, t)
            v = self._covariance.row(slot, m)
            v -= self._V.times(column, m)
            v /= d
        w = (reward - self._mean[slot]) / d
        self._V.write(t, 0, v[None])
        lower[0, t] = d
        self._L.write(t, 0, lower)
        self._w[t] = w
        self._slots[t] = slot
        self._rows += 1
        self._mean[:m] += v * w
        left = self._var[:m]
        left -= v * v
        if np.minimum.reduce(left) < 0:
            self._repair(slice(0, m))
        # Proposition 2, sigma / sqrt(T): exact, so rounding must not break it.
        self._var[slot] = min(self._var[slot], self._record_var[self._distinct[slot]])

    def load(self, slots: Ints, rewards: Floats, variances: Floats) -> None:
        """Take in collapsed rewards of many footprints at once, into a fresh belief, which no fork shares."""
        exact = variances == 0
        self._exact = dict(zip(slots[exact].tolist(), rewards[exact].tolist(), strict=True))
        first = np.sort(np.unique(slots, return_index=True)[1])
        distinct = len(first)
        self._distinct = dict(zip(slots[first].tolist(), range(distinct), strict=True))
        self._record_var, self._record_mean = (
            np.resize(part[first], max(2 * distinct, 128)) for part in (variances, rewards)
        )
        for again in np.delete(np.arange(len(slots)), first):
            self._collapse(int(slots[again]), float(rewards[again]), float(variances[again]))
        if distinct > len(self._w):
            self._lengthen(2 * distinct)
        self._rebuild()

    def residuals(self) -> Floats:
        """Return leave-one-out residuals of the rows, each over its own standard deviation; of many, of some."""
        t = self._rows
        some = np.arange(t) if t <= SMALL else np.linspace(0, t - 1, MOST_CHECKED).astype(np.intp)
        with one_thread():
            inverse = self._solve(np.equal.outer(np.arange(t), some).astype(float))
            return np.asarray((inverse.T @ self._w[:t]) / np.sqrt(np.add.reduce(inverse * inverse, 0)))

    def predict(self, footprints: AnyFootprints) -> tuple[Floats, Floats]:
        """Return mean and variance of footprints that need not be tracked."""
        t = self._rows
        cross, prior = self._asked.outside(self._slots[:t], footprints)
        if t == 0:
            return np.zeros(len(prior)), prior
        with one_thread():
            v = self._solve(cross)
            mean = self._w[:t] @ v
        return mean, np.maximum(prior - np.add.reduce(v * v, 0), 0.0)

    def overlay(self) -> Overlay:
        """Return the posterior as it would be with more measurements under way."""
        return Overlay(self)

    @property
    def prior(self) -> Floats:
        """Prior variances of the tracked footprints."""
        return self._prior[: self.size]

    def covariance(self, slots: Ints, others: Ints | None = None) -> Floats:
        """Return the posterior covariance of some tracked footprints with others, or with each other."""
        v = self._V.columns(slots, self._rows)
        w = v if others is None else self._V.columns(others, self._rows)
        joint = self._asked.between(slots, slots if others is None else others)
        with one_thread(v.size):
            joint -= v.T @ w
        return joint

    def joint(self, footprints: AnyFootprints) -> tuple[Floats, Floats]:
        """Return mean and joint covariance of footprints that need not be tracked."""
        t = self._rows
        cross, _ = self._asked.outside(self._slots[:t], footprints)
        with one_thread():
            v = self._solve(cross) if t else cross
            return self._w[:t] @ v, self._asked.among(footprints) - v.T @ v

    def covariance_row(self, slot: int) -> Floats:
        """Return the posterior covariance of one tracked footprint with all of them."""
        t, m = self._rows, self.size
        with one_thread(t * m):
            row: Floats = self._asked.row(slot, m) - self._V.times(self._V.column(slot, t), m)
        return row

    def _solve(self, cross: Floats) -> Floats:
        """Return L^-1 cross."""
        t = self._rows
        if (
            t <= SMALL and cross.shape[1] < FEW and self._L.holds(t, t)
        ):  # copying L costs less than keeping LAPACK from using threads
            return np.asarray(blas.dtrsm(1.0, self._L.first[:t, :t], cross, lower=1))
        with one_thread():
            return self._L.solve(cross)

    def _collapse(self, slot: int, reward: float, variance: float) -> None:
        """Combine a reward with earlier ones of the same footprint, by precision."""
        record = self._distinct.get(slot)
        if record is None:
            record = len(self._distinct)
            self._distinct = {**self._distinct, slot: record}
            if record == len(self._record_var):
                self._record_var = np.pad(self._record_var, (0, record))
                self._record_mean = np.pad(self._record_mean, (0, record))
            self._record_var[record], self._record_mean[record] = variance, reward
            return
        old = self._record_var[record]
        if old == 0:  # known exactly
            return
        share = old / (old + variance)
        surprise = reward - self._record_mean[record]
        self.repeats += 1
        self.scatter += surprise * surprise / (old + variance)
        self._record_mean[record] += share * surprise
        self._record_var[record] = share * variance

    def _ignore(self, slot: int, reward: float, variance: float) -> None:
        """Pass over a reward of a footprint that is known to within rounding; report it if it does not fit."""
        if slot in self._distinct:
            self._collapse(slot, reward, variance)
            self._var[slot] = min(self._var[slot], self._record_var[self._distinct[slot]])
        if abs(reward - self._mean[slot]) > MISFIT * math.sqrt(self._prior[slot]) + 8 * math.sqrt(variance):
            if not self.ignored:
                self.complaints.append(
                    NumericalWarning(
                        f"a measurement {reward:.6g} from the prior mean was ignored: earlier ones, nearly "
                        f"without noise, imply {self._mean[slot]:.6g} there under this kernel. Pass a larger "
                        "noise or a shorter lengthscale."
                    )
                )
            self.ignored += 1

    def _rebuild(self) -> None:
        """Factorise anew with one row for each distinct footprint."""
        m, distinct = self.size, len(self._distinct)
        slots = np.fromiter(self._distinct, dtype=np.intp, count=distinct)
        with one_thread():
            if self._rows:
                self._renew()
            self._rows = distinct
            self._factorise(slots)
            self._slots[:distinct] = slots
            w = self._solve(self._record_mean[:distinct, None])[:, 0]
            self._w[:distinct] = w
            for start in range(0, m, TOGETHER):
                some = slice(start, min(start + TOGETHER, m))
                v = self._solve(self._covariance.between(slots, some))
                self._V.write(0, start, v)
                self._mean[some] = w @ v
                self._var[some] = self._prior[some] - np.add.reduce(v * v, 0)
        self._repair(slice(0, m))
        self._var[slots] = np.minimum(self._var[slots], self._record_var[:distinct])

    def _factorise(self, slots: Ints) -> None:
        """Write the lower Cholesky factor, with jitter only after a failure, counted and reported."""
        for jitter in (0.0, *JITTERS):
            gram = self._covariance.between(slots, slots)
            diagonal = gram.diagonal() + self._record_var[: len(gram)]
            added = jitter * diagonal
            np.fill_diagonal(gram, diagonal + added)
            self.jitters += jitter > 0
            # Symmetric, so the transpose is the matrix itself in LAPACK's order, and need not be copied.
            factor, info = lapack.dpotrf(gram.T, lower=1, clean=1, overwrite_a=1)
            if info == 0:
                if jitter:
                    self.complaints.append(
                        NumericalWarning(
                            f"the covariance of the measurements is singular to rounding; {jitter:g} of its "
                            "diagonal was added. Give measurements a noise above 0, or leave out regions that "
                            "are nearly the same."
                        )
                    )
                    # These measurements now count as that much noisier, so that later rows fit this factor.
                    self._record_var[: len(gram)] += added
                high = self._L.tile[0]
                for start in range(0, len(gram), high):  # what is above the diagonal is 0
                    self._L.write(start, 0, factor[start : start + high, : start + high])
                return
        raise np.linalg.LinAlgError(f"no Cholesky factor with jitter up to {JITTERS[-1]:g}")

    def _repair(self, slots: slice) -> None:
        """Raise negative variances to zero; report them when they are more than rounding."""
        variance = self._var[slots]
        bad = int(np.count_nonzero(variance < -ROUNDING * self._prior[slots]))
        np.maximum(variance, 0.0, out=variance)
        if bad and not self.clamped:
            self.complaints.append(
                NumericalWarning(
                    f"{bad} posterior variances came out negative and were set to 0: the measurements' noise is "
                    "too small for double precision. Pass a larger noise."
                )
            )
        self.clamped += bad

    def _renew(self) -> None:
        """Take fresh arrays for the factor: those in use are shared with earlier beliefs."""
        self._V, self._L = Tiles(len(self._w), len(self._mean)), Tiles(len(self._w), len(self._w), SQUARE, "F")
        self._w, self._slots = np.zeros_like(self._w), np.zeros_like(self._slots)

    def _widen(self, columns: int) -> None:
        more = columns - len(self._mean)
        self._mean = np.pad(self._mean, (0, more))
        self._var = np.pad(self._var, (0, more))
        self._prior = np.pad(self._prior, (0, more))

    def _lengthen(self, rows: int) -> None:
        more = rows - len(self._w)
        self._w = np.pad(self._w, (0, more))
        self._slots = np.pad(self._slots, (0, more))


class Overlay:
    """The variances of a belief with measurements under way: means stay, variances shrink.

    A pending measurement is observed at its own mean. Nothing of it enters the belief, and nothing of an overlay
    ever changes: one more measurement under way makes another.
    """

    def __init__(
        self, belief: GaussianBelief, rows: tuple[Floats, ...] = (), variance: Floats | None = None
    ) -> None:
        self._belief = belief
        self._rows = rows
        self.variance = belief.variance if variance is None else variance

    def covariance(self, slots: Ints, others: Ints | None = None) -> Floats:
        """Return the covariance of some tracked footprints with others, or with each other."""
        joint = self._belief.covariance(slots, others)
        for v in self._rows:
            joint -= np.outer(v[slots], v[slots if others is None else others])
        return joint

    def plus(self, slot: int, variance: float) -> Overlay:
        """Return the overlay with one more pending measurement; of what is known to within rounding, the same."""
        own = self.variance[slot] + variance
        if own <= ROUNDING * self._belief.prior[slot]:  # dividing by it would spread rounding over all others
            return self
        row = self._belief.covariance_row(slot)
        for v in self._rows:
            row -= v[slot] * v
        v = row / math.sqrt(own)
        return Overlay(self._belief, (*self._rows, v), np.maximum(self.variance - v * v, 0.0))
