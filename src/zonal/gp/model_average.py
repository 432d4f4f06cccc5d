"""A belief under several models at once, so that uncertainty about the model is included.

Each model has its own exact posterior over the same footprints. Mean and variance are those of the weighted
mixture; the members are there for whatever needs more. A new reward multiplies each weight by the likelihood its
model gave the reward. With one model this is that model's belief. A mixture never changes; updates return new
ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np
from scipy.linalg import lapack

from zonal._blas import one_thread
from zonal._types import Floats, Ints
from zonal.errors import InvalidInput, NumericalWarning
from zonal.gp.functional_index import FunctionalIndex, Keys
from zonal.gp.hyperparameters import Fit, WeightedModel
from zonal.gp.kernel_families import ModelSpace
from zonal.gp.model import Model
from zonal.gp.noise_laws import CONSTANT, relative_variances
from zonal.gp.offsets import Label, LabelledPairs, WithOffsets
from zonal.gp.posterior import KNOWN, Covariance, GaussianBelief, Overlay
from zonal.gp.stats import ObservationStats, StatsArrays
from zonal.kernels.combinations import AnyPairs, CombinationPairs, CombinationVariances
from zonal.kernels.feedback import AnyFootprints
from zonal.kernels.finite_covariance import totals

CONTRADICTION = 1e-5  # of the prior std: exact values further apart contradict each other
SPARE_ROWS = 16  # rebuild when t > 2 D + SPARE_ROWS
BEST = 4  # measured regions: there a model that fits elsewhere may fail
LEAST_LOG_WEIGHT = -700.0  # keeps a model that was nearly ruled out, so that it may recover


class WithUnknownMean:
    """The prior covariance of averages whose prior mean is unknown too: K + tau^2 w w', w the total weights.

    With it the mean's own uncertainty is in every variance, covariance and gain. Slopes and differences: w = 0.
    """

    def __init__(self, covariance: Covariance, variance: float) -> None:
        self._covariance, self._variance = covariance, variance  # of f about its mean; of the mean

    def of(self, pairs: AnyPairs) -> Floats:
        """Return the covariances of pairs of footprints."""
        if isinstance(pairs, CombinationPairs | CombinationVariances):  # of their parts, which are averages
            return pairs.of(self.of)
        return self._covariance.of(pairs) + self._variance * totals(pairs)


class Member(GaussianBelief):
    """The belief under one model of a mixture.

    Attributes
    ----------
    model : Model
    log_weight : float
    """

    def __init__(self, covariance: Covariance, tracked: FunctionalIndex, model: Model, log_weight: float) -> None:
        super().__init__(covariance, tracked)
        self.model = model
        self.log_weight = log_weight

    def noise_ratios(self, slots: Ints) -> Floats | float:
        """Return the variances of learned noise of some footprints, relative to the model's."""
        law = self.model.law
        return 1.0 if law == CONSTANT.name else relative_variances(law, self.tracked.sizes(slots))

    def noise_std(self, slot: int) -> float | None:
        """Return the standard deviation of the learned noise of a footprint; None if noise is not learned."""
        noise = self.model.noise
        if noise is None or self.model.law == CONSTANT.name:
            return noise
        return noise * math.sqrt(float(np.sum(self.noise_ratios(np.array([slot])))))

    def noise_variance(self, variance: float | None, weight: float, slot: int) -> float:
        """Return the noise variance of a reward of `weight` times the usual time: as known, or the model's."""
        if variance is not None:
            return variance
        noise = self.noise_std(slot)
        assert noise is not None
        return noise**2 / weight

    def noise_variances(self, weights: Floats, slots: Ints) -> Floats:
        """Return the variances of learned noise of rewards of some weights; NaN if none is learned."""
        noise = math.nan if self.model.noise is None else self.model.noise
        return np.asarray(noise**2 * self.noise_ratios(slots) / weights)

    @property
    def noise_of_rows(self) -> Floats:
        """The variances of the noise of the rows' mean rewards, where they were factorised at once."""
        return self._noise

    def from_data(self, data: StatsArrays, of: Ints | None = None) -> Self:
        """Return the belief from all rewards at once, or from those of some slots."""
        return self.rows_from(data, of).with_columns()

    def rows_from(self, data: StatsArrays, of: Ints | None = None) -> Self:
        """Return the same belief, which knows the rows alone."""
        slots, rewards, variances = self.by_slot(data)
        if of is not None:
            chosen = np.isin(slots, of)
            slots, rewards, variances = slots[chosen], rewards[chosen], variances[chosen]
        return self.factorised(slots, rewards - self.model.mean * self.tracked.totals(slots), variances)

    def empty(self) -> Self:
        """Return the belief without rewards."""
        nothing = np.zeros(0)
        return self.factorised(np.zeros(0, dtype=np.intp), nothing, nothing).with_columns()

    def by_slot(self, data: StatsArrays) -> tuple[Ints, Floats, Floats]:
        """Return the footprints measured, with their mean rewards and the noise variances of these."""
        if self.model.law != CONSTANT.name:
            data = data.under(np.asarray(self.noise_ratios(data.slots)))
        return data.by_slot(self.model.noise or 0.0)

    def mean_of(self, pairs: AnyPairs | LabelledPairs) -> Floats:
        """Return the means of footprints outside the tracked ones, given their pairs with the rows."""
        with one_thread():
            return np.asarray(self._w @ self._solve_all(self._covariance.of(pairs).T))

    def weights_of_rows(self, expected: Floats | None = None) -> Floats:
        """Return by how much the covariance with each row counts in a mean: Q^-1 (rewards - what was expected)."""
        rows = len(self._w)
        if not rows:
            return self._w
        with one_thread():
            surprise = self._w if expected is None else self._w - self._solve_all(expected[:, None])[:, 0]
            return np.asarray(lapack.dtrtrs(self._L.array[:, :rows], surprise, lower=1, trans=1)[0])

    def covariance_of_readings(self) -> Floats:
        """Return the covariance of the rows' mean rewards, their noise included."""
        factor = np.tril(self._L.array[: self.rows, : self.rows])
        with one_thread():
            return np.asarray(factor @ factor.T)

    def solve(self, cross: Floats) -> Floats:
        """Return L^-1 times covariances with the rows, where one thread was asked for."""
        return self._solve_all(cross)

    def prior_mean(self, slot: int) -> float:
        """Return the prior mean of a footprint."""
        weights = self.tracked.total_weights
        return self.model.mean * weights[slot] if slot in weights else self.model.mean

    def prior_of_f(self, footprints: AnyFootprints | None = None) -> Floats:
        """Return prior variances about the prior mean, of all tracked footprints or of any."""
        prior = self.prior if footprints is None else self.prior_of(footprints)
        if not self.model.mean_std:
            return prior
        layout, tracked = self.tracked.layout, self.tracked
        total = tracked.totals(np.arange(tracked.size)) if footprints is None else layout.totals(footprints)
        return np.maximum(prior - (self.model.mean_std * total) ** 2, 0.0)

    def condition_on_reward(
        self, slot: int, reward: float, variance: float | None, ledger: ObservationStats, weight: float
    ) -> Self:
        """Return the belief with one more reward: see `Mixture.condition_on`."""
        if self._w.size + 1 > 2 * ledger.distinct + SPARE_ROWS:
            return self.from_data(ledger.data(), np.append(self.slots, slot))  # those ignored stay ignored
        noise = self.noise_variance(variance, weight, slot)
        prior = self.prior_mean(slot) if self.tracked.total_weights else self.model.mean
        return self.condition_on(slot, reward - prior, noise, ledger.variance(slot, self.noise_std(slot)))


class Mixture:
    """Posteriors of all tracked footprints under several weighted models.

    A tracked footprint is identified by its slot, in order of tracking.

    Attributes
    ----------
    members : tuple of Member
    zero : float
        The value that means are relative to.
    complaints : tuple of NumericalWarning
        The warnings of the member with the largest weight.
    """

    def __init__(self, members: Sequence[Member], zero: float) -> None:
        self.members = members
        self.zero = zero
        heaviest = max(members, key=_log_weight) if members[1:] else members[0]
        self.complaints: tuple[NumericalWarning, ...] = heaviest.complaints

    @classmethod
    def built(
        cls,
        frame: ModelSpace,
        models: Sequence[WeightedModel],
        zero: float,
        tracked: FunctionalIndex,
        ledger: ObservationStats,
    ) -> Mixture:
        """Return the belief from all rewards so far under some models."""
        return cls.factorised(frame, models, zero, tracked, ledger).with_columns()

    @classmethod
    def factorised(
        cls,
        frame: ModelSpace,
        models: Sequence[WeightedModel],
        zero: float,
        tracked: FunctionalIndex,
        ledger: ObservationStats,
    ) -> Mixture:
        """Return the same belief, whose members know their rows alone."""
        members = []
        for option in models:
            covariance: Covariance = frame.covariance(option.model.kernel, option.model.beam)
            of_f = covariance
            if option.model.mean_std:
                covariance = WithUnknownMean(covariance, option.model.mean_std**2)
            if option.model.offsets:
                covariance = WithOffsets(covariance, of_f, option.model.offsets, option.model.unrelated)
            members.append(Member(covariance, tracked, option.model, math.log(option.weight)))
        data = ledger.data()
        return cls([member.rows_from(data) for member in members] if ledger.total else members, zero)

    def with_columns(self) -> Mixture:
        """Return a factorised belief with what it says about every tracked footprint."""
        members = [member if member.mean.size else member.with_columns() for member in self.members]
        return Mixture(members, self.zero)

    def with_targets(self, tracked: FunctionalIndex, briefly: bool = False) -> Mixture:
        """Return the mixture that tracks more footprints too; `briefly` if it will be asked about these alone."""
        return Mixture([member.with_targets(tracked, briefly) for member in self.members], self.zero)

    def check(self, slot: int, reward: float, variance: float, ledger: ObservationStats) -> None:
        """Raise if a reward without noise, to rounding, contradicts an earlier one of the same footprint."""
        priors = max(self.members, key=_log_weight).prior
        prior = priors[slot] if slot < len(priors) else priors.max()  # of a footprint of the same call
        exact = ledger.exact(slot, KNOWN * prior)
        if exact is None or variance > KNOWN * prior:
            return
        if abs(reward - exact) > CONTRADICTION * math.sqrt(prior) + 1e-9 * abs(reward - self.zero):
            raise InvalidInput(
                "a measurement without noise contradicts an earlier one of the same region, which was "
                f"{exact:.9g}",
                reward,
                "Pass a noise or sem above 0 if measurements scatter.",
            )

    def condition_on(
        self, slot: int, reward: float, variance: float | None, ledger: ObservationStats, weight: float = 1.0
    ) -> Mixture:
        """Return the mixture with one more reward; `ledger` holds all rewards including this one.

        `variance` is that of its noise, None if each model has its own; `weight` is its time, in usual times.
        """
        if not self.members[1:]:
            (only,) = self.members
            return Mixture([only.condition_on_reward(slot, reward, variance, ledger, weight)], self.zero)
        members = []
        for member in self.members:
            total = member.variance.item(slot) + member.noise_variance(variance, weight, slot)
            miss = reward - member.prior_mean(slot) - member.mean.item(slot)
            lost = 0.5 * (miss * miss / total + math.log(total)) if total > 0 else 0.0
            after = member.condition_on_reward(slot, reward, variance, ledger, weight)
            after.log_weight -= lost
            members.append(after)
        top = max(member.log_weight for member in members)
        for member in members:
            member.log_weight = max(member.log_weight - top, LEAST_LOG_WEIGHT)
        return Mixture(members, self.zero)

    @property
    def fragile(self) -> bool:
        """Whether rounding shows in the belief under some model: see `GaussianBelief`."""
        return any(member.fragile for member in self.members)

    @cached_property
    def weights(self) -> Floats:
        """The weights of the members; they add up to 1."""
        logs = np.array([member.log_weight for member in self.members])
        weights = np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())

    @property
    def columns(self) -> tuple[Floats, Floats]:
        """Mean, relative to `zero`, and variance of all tracked footprints."""
        first = self.members[0]
        if self.members[1:] or first.model.mean != self.zero:
            return self.mixed([member.variance for member in self.members])
        return first.mean, first.variance

    def mixed(self, variances: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Return mean and variance of the mixture with other variances of the members."""
        weights = self.weights
        means = np.stack([member.mean + (member.model.mean - self.zero) for member in self.members])
        mean = weights @ means
        return mean, weights @ (np.stack(variances) + (means - mean) ** 2)

    @property
    def misfit(self) -> float:
        """How much larger leave-one-out residuals of the best measured regions are than the models say."""
        squares = []
        for member in self.members:
            residuals = member.residuals()
            if len(residuals) == member.rows:  # of more rows only some are checked, of all heights
                residuals = residuals[np.argsort(-member.mean[member.slots], kind="stable")[:BEST]]
            squares.append(float(np.mean(residuals**2)) if len(residuals) else 0.0)
        return math.sqrt(self.weights @ squares)

    def predict(self, footprints: AnyFootprints) -> tuple[Floats, Floats]:
        """Return mean and variance of footprints that need not be tracked."""
        parts = self.under_models(footprints)
        means = np.stack([mean for _, mean, _ in parts])
        mean = self.weights @ means
        return mean, self.weights @ (np.stack([variance for *_, variance in parts]) + (means - mean) ** 2)

    def mean_of(self, footprints: AnyFootprints) -> Floats:
        """Return the means that `predict` returns, up to rounding and in less time."""
        keys, tracked = self.members[0].tracked.layout.keys(footprints, register=False), self.members[0].tracked
        pairs, mean = dict[bytes, AnyPairs | LabelledPairs](), np.zeros(keys.shape[1])
        for weight, member in zip(self.weights.tolist(), self.members, strict=True):
            mean += weight * (member.model.mean - self.zero)
            rows = member.slots.tobytes()
            if member.rows and rows not in pairs:
                pairs[rows] = tracked.with_slots(keys, member.slots)
            if member.rows:
                mean += weight * member.mean_of(pairs[rows])
        return mean

    def under_models(self, footprints: AnyFootprints) -> list[tuple[float, Floats, Floats]]:
        """Return for each model its weight, and the mean and variance of any footprints under it."""
        parts = []
        for weight, member in zip(self.weights.tolist(), self.members, strict=True):
            mean, variance = member.predict(footprints)
            parts.append((weight, member.model.mean - self.zero + mean, variance))
        return parts

    def relative_std(self, variance: Floats, footprints: AnyFootprints | None = None) -> Floats:
        """Return the remaining share of the prior standard deviation, of all tracked footprints or of any."""
        means = np.array([member.model.mean for member in self.members])
        priors = [member.prior_of_f(footprints) for member in self.members]
        prior = self.weights @ (np.stack(priors) + ((means - self.weights @ means) ** 2)[:, None])
        left = np.divide(variance, prior, out=np.zeros_like(prior), where=prior > 0)
        return np.asarray(np.sqrt(np.minimum(left, 1.0)))

    def joint(self, footprints: AnyFootprints) -> tuple[Floats, Floats]:
        """Return mean and joint covariance of footprints that need not be tracked."""
        parts = [member.joint(footprints) for member in self.members]
        means = np.stack(
            [member.model.mean - self.zero + mean for member, (mean, _) in zip(self.members, parts, strict=True)]
        )
        return self._together(means, [covariance for _, covariance in parts])

    def covariance(self, slots: Ints) -> Floats:
        """Return the joint covariance of some tracked footprints."""
        means = np.stack([member.model.mean + member.mean[slots] for member in self.members])
        return self._together(means, [member.covariance(slots) for member in self.members])[1]

    def _together(self, means: Floats, covariances: Sequence[Floats]) -> tuple[Floats, Floats]:
        weights = self.weights
        mean = weights @ means
        apart = means - mean
        return mean, np.tensordot(weights, np.stack(covariances), 1) + (weights * apart.T) @ apart

    def overlay(self) -> MixtureOverlay:
        """Return the posterior to which pending measurements are added."""
        return MixtureOverlay(self, tuple(member.overlay() for member in self.members))


def _log_weight(member: Member) -> float:
    return member.log_weight


Pending = tuple[int, float | None, float, int | None]  # a measurement, as `MixtureOverlay.with_pending` takes it


class MixtureOverlay:
    """A mixture with pending measurements, each counted as observed at its mean under every model."""

    def __init__(self, mixture: Mixture, members: tuple[Overlay, ...]) -> None:
        self._mixture = mixture
        self.members = members

    def with_pending(
        self, slot: int, variance: float | None, weight: float = 1.0, minus: int | None = None
    ) -> MixtureOverlay:
        """Return the overlay with one more pending measurement: of a footprint, or of it minus another."""
        noises = [member.noise_variance(variance, weight, slot) for member in self._mixture.members]
        pairs = zip(self.members, noises, strict=True)
        return MixtureOverlay(
            self._mixture, tuple(overlay.with_pending(slot, noise, minus) for overlay, noise in pairs)
        )

    def with_many_pending(self, pending: Sequence[Pending]) -> MixtureOverlay:
        """Return the overlay with many pending measurements, all of averages."""
        slots = np.array([slot for slot, *_ in pending])
        members = []
        for overlay, member in zip(self.members, self._mixture.members, strict=True):
            variances = [member.noise_variance(variance, weight, slot) for slot, variance, weight, _ in pending]
            members.append(overlay.with_many_pending(slots, np.array(variances)))
        return MixtureOverlay(self._mixture, tuple(members))

    @property
    def columns(self) -> tuple[Floats, Floats]:
        """Mean and variance of all tracked footprints; the means do not change."""
        return self._mixture.mixed([overlay.variance for overlay in self.members])


Told = tuple[int, float, float | None, ObservationStats, float]  # a reward, as `Mixture.condition_on` takes it


class Beginning:
    """Rewards that a belief takes in at once: the rows are factorised first, and alone where that is enough."""

    def __init__(self, frame: ModelSpace, fit: Fit, tracked: FunctionalIndex, ledger: ObservationStats) -> None:
        self._from = frame, fit.members, fit.model.mean, tracked, ledger

    @cached_property
    def factors(self) -> Mixture:
        """The belief, whose members know their rows alone."""
        return Mixture.factorised(*self._from)


class LazyPosterior:
    """The footprints tracked, all rewards, and what these say of them under the models in use, once it is read.

    The mixture is built from all rewards at once after a fit or a correction, and from there step by step. Where
    nothing is learned and rounding would show, it is built at once, so that it is what opening the file would
    give. This is a value: what is computed is kept, and nothing else changes.

    Attributes
    ----------
    tracked : FunctionalIndex
    ledger : ObservationStats
    """

    def __init__(
        self,
        frame: ModelSpace,
        fit: Fit,
        tracked: FunctionalIndex,
        ledger: ObservationStats,
        learns: bool,
    ) -> None:
        """Begin with rewards that are taken in at once; `learns` if models are learned from them."""
        self._frame, self._fit, self._learns = frame, fit, learns
        self.tracked, self.ledger = tracked, ledger
        self._progress: tuple[Mixture | Beginning, tuple[FunctionalIndex | Told, ...]]
        self._progress = Beginning(frame, fit, tracked, ledger), ()

    def from_scratch(self, fit: Fit | None = None, ledger: ObservationStats | None = None) -> LazyPosterior:
        """Return the posterior from all rewards at once; under another fit, or from other rewards, if given."""
        rewards = self.ledger if ledger is None else ledger
        return LazyPosterior(self._frame, fit or self._fit, self.tracked, rewards, self._learns)

    def under_same_weights(self, ledger: ObservationStats) -> LazyPosterior:
        """Return the posterior from other rewards, under the same models with the weights that they have now."""
        now, data = self.mixture, ledger.data()
        members = [member.from_data(data) if ledger.total else member.empty() for member in now.members]
        after = LazyPosterior(self._frame, self._fit, self.tracked, ledger, self._learns)
        after._progress = Mixture(members, now.zero), ()
        return after

    def under(self, mixture: Mixture) -> LazyPosterior:
        """Return what another mixture says of the same footprints, given the same rewards."""
        after = LazyPosterior(self._frame, self._fit, self.tracked, self.ledger, self._learns)
        after._progress = mixture, ()
        return after

    def tracking(self, tracked: FunctionalIndex) -> LazyPosterior:
        """Return the posterior of all that another tracks, which began with what this one does."""
        return self if tracked.size == self.tracked.size else self._after(tracked, self.ledger, tracked)

    def with_targets(self, keys: Keys, total: float, label: Label | None = None) -> LazyPosterior:
        """Return the posterior of more footprints, of this total weight, too; readings of one may have a label."""
        tracked = self.tracked.append(keys, total, label)
        return self._after(tracked, self.ledger, tracked)

    def beside(self, keys: Keys) -> LazyPosterior:
        """Return the posterior of some averages too, for questions about these alone."""
        tracked = self.tracked.append(keys)
        after = LazyPosterior(self._frame, self._fit, tracked, self.ledger, self._learns)
        after._progress = self.mixture.with_targets(tracked, briefly=True), ()
        return after

    def with_reward(
        self, slot: int, reward: float, variance: float | None, weight: float, observed: bool
    ) -> LazyPosterior:
        """Return the posterior with one more reward; `variance` is None if its noise is learned."""
        ledger = self.ledger.append(slot, reward, variance, weight, observed)
        return self._after(self.tracked, ledger, (slot, reward, variance, ledger, weight))

    def _after(
        self, tracked: FunctionalIndex, ledger: ObservationStats, step: FunctionalIndex | Told
    ) -> LazyPosterior:
        after = LazyPosterior(self._frame, self._fit, tracked, ledger, self._learns)
        start, steps = self._progress
        after._progress = start, (*steps, step)
        return after

    @property
    def is_built(self) -> bool:
        """Whether it was read since the last fit, so that it only takes a step for each reward since then."""
        return isinstance(self._progress[0], Mixture)

    @property
    def mixture(self) -> Mixture:
        """What the rewards say about every tracked footprint."""
        start, steps = self._progress
        mixture = start if isinstance(start, Mixture) else start.factors.with_columns()
        if mixture is start and not steps:
            return mixture
        alone = not self._learns  # else weights change reward by reward
        for step in steps:
            if alone and mixture.fragile:
                break
            mixture = mixture.condition_on(*step) if isinstance(step, tuple) else mixture.with_targets(step)
        if steps and alone and mixture.fragile:  # it must be what opening the file would give
            mixture = Beginning(self._frame, self._fit, self.tracked, self.ledger).factors.with_columns()
        self._progress = mixture, ()
        return mixture

    @property
    def of_rows(self) -> Mixture:
        """What the rewards say of each other: the mixture, whose members know their rows alone after a fit."""
        start, steps = self._progress
        return self.mixture if steps or isinstance(start, Mixture) else start.factors
