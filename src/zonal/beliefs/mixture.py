"""A belief under several models at once: what is not known of the model is part of what is not known.

Each model has its own exact posterior over the same footprints. Mean and variance are those of the weighted
mixture; whoever needs more looks at the members. A new reward moves every weight by how well its model foresaw
it. With one model this is that model's belief.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from zonal.averages.feedback import AnyFootprints
from zonal.beliefs.frames import Frame
from zonal.beliefs.gp import GaussianBelief, Overlay
from zonal.beliefs.lattice import Weighted
from zonal.beliefs.ledger import Data
from zonal.beliefs.model import Model
from zonal.errors import NumericalWarning

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


class Member:
    """One model of a mixture, and what is believed under it."""

    def __init__(self, model: Model, belief: GaussianBelief, log_weight: float) -> None:
        self.model = model
        self.belief = belief
        self.log_weight = log_weight

    def noise_variance(self, variance: float | None) -> float:
        """Return the noise variance of a reward: as known, or that of the model."""
        if variance is not None:
            return variance
        assert self.model.noise is not None
        return self.model.noise**2


class Mixture:
    """Posteriors of all tracked footprints under several weighted models.

    A tracked footprint is known by its slot, in order of tracking.

    Attributes
    ----------
    members : list of Member
    zero : float
        From where means are counted.
    """

    def __init__(self, frame: Frame, models: Sequence[Weighted], zero: float, footprints: int = 0) -> None:
        self.zero = zero
        self.members = [
            Member(
                own.model,
                GaussianBelief(frame.covariance(own.model.kernel), footprints),
                math.log(own.weight),
            )
            for own in models
        ]

    def fork(self) -> Mixture:
        """Return the same beliefs, to be changed; these stay as they are."""
        twin = Mixture.__new__(Mixture)
        twin.zero = self.zero
        twin.members = [Member(own.model, own.belief.fork(), own.log_weight) for own in self.members]
        return twin

    @property
    def weights(self) -> Floats:
        """The weights of the members; they add up to 1."""
        logs = np.array([member.log_weight for member in self.members])
        weights = np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())

    @property
    def size(self) -> int:
        """The number of tracked footprints."""
        return self.members[0].belief.size

    @property
    def complaints(self) -> list[NumericalWarning]:
        """What the heaviest member has to say."""
        return self._first.belief.complaints

    @property
    def _first(self) -> Member:
        if len(self.members) == 1:
            return self.members[0]
        return max(self.members, key=lambda member: member.log_weight)

    @property
    def only(self) -> GaussianBelief | None:
        """The belief under the only model, None if there are several."""
        return self.members[0].belief if len(self.members) == 1 else None

    def track(self, footprints: AnyFootprints) -> int:
        """Track more footprints and return the slot of the first."""
        start = self.members[0].belief.track(footprints)
        for member in self.members[1:]:
            member.belief.follow(self.size)
        return start

    def check(self, slot: int, reward: float, variance: float | None) -> None:
        """Complain if an exact reward contradicts an exact one of the same footprint, before anything changes."""
        member = self._first
        member.belief.check(slot, reward - member.model.mean, member.noise_variance(variance))

    def observe(self, slot: int, reward: float, variance: float | None) -> None:
        """Take in one reward, with its noise variance or, if that is None, with that of each model."""
        for member in self.members:
            belief, own = member.belief, member.noise_variance(variance)
            centred = reward - member.model.mean
            if len(self.members) > 1:
                total = float(belief.variance[slot]) + own
                miss = centred - float(belief.mean[slot])
                member.log_weight -= 0.5 * (miss * miss / total + math.log(total)) if total > 0 else 0.0
            belief.observe(slot, centred, own)
        if len(self.members) > 1:
            top = max(member.log_weight for member in self.members)
            for member in self.members:
                member.log_weight = max(member.log_weight - top, LEAST_LOG_WEIGHT)

    def load(self, data: Data) -> None:
        """Take in all rewards so far at once, into a mixture that has observed nothing yet."""
        for member in self.members:
            noise = data.noise_variance(member.model.noise or 0.0)
            member.belief.load(data.slots, data.mean - member.model.mean, noise)

    def repeated(self, repeats: int, scatter: float) -> None:
        """Note how rewards that were taken in at once scattered about their means, for checks of the model."""
        for member in self.members:
            member.belief.repeats, member.belief.scatter = repeats, scatter

    def columns(self) -> tuple[Floats, Floats]:
        """Return mean, counted from `zero`, and variance of all tracked footprints."""
        if len(self.members) == 1 and self.members[0].model.mean == self.zero:
            only = self.members[0].belief
            return only.mean, only.variance
        return self._mix([member.belief.variance for member in self.members])

    def _mix(self, variances: Sequence[Floats]) -> tuple[Floats, Floats]:
        offsets = [member.model.mean - self.zero for member in self.members]
        if len(self.members) == 1:
            mean = self.members[0].belief.mean
            return (mean + offsets[0] if offsets[0] else mean), variances[0]
        weights = self.weights
        means = np.stack([m.belief.mean + offset for m, offset in zip(self.members, offsets, strict=True)])
        mean = weights @ means
        return mean, weights @ (np.stack(variances) + (means - mean) ** 2)

    def predict(self, footprints: AnyFootprints) -> tuple[Floats, Floats]:
        """Return mean and variance of footprints that need not be tracked."""
        parts = [member.belief.predict(footprints) for member in self.members]
        means = np.stack(
            [m.model.mean - self.zero + mean for m, (mean, _) in zip(self.members, parts, strict=True)]
        )
        weights = self.weights
        mean = weights @ means
        return mean, weights @ (np.stack([variance for _, variance in parts]) + (means - mean) ** 2)

    def joint(self, footprints: AnyFootprints) -> tuple[Floats, Floats]:
        """Return mean and joint covariance of footprints that need not be tracked."""
        parts = [member.belief.joint(footprints) for member in self.members]
        means = np.stack(
            [m.model.mean - self.zero + mean for m, (mean, _) in zip(self.members, parts, strict=True)]
        )
        return self._together(means, [covariance for _, covariance in parts])

    def covariance(self, slots: Ints) -> Floats:
        """Return the joint covariance of some tracked footprints."""
        means = np.stack([member.model.mean + member.belief.mean[slots] for member in self.members])
        return self._together(means, [member.belief.covariance(slots) for member in self.members])[1]

    def _together(self, means: Floats, covariances: Sequence[Floats]) -> tuple[Floats, Floats]:
        weights = self.weights
        mean = weights @ means
        apart = means - mean
        return mean, np.tensordot(weights, np.stack(covariances), 1) + (weights * apart.T) @ apart

    def overlay(self) -> MixtureOverlay:
        """Return the posterior with no measurement under way yet."""
        return MixtureOverlay(self, tuple(member.belief.overlay() for member in self.members))


class MixtureOverlay:
    """A mixture with measurements under way, each observed at its own mean under every model."""

    def __init__(self, mixture: Mixture, overlays: tuple[Overlay, ...]) -> None:
        self._mixture = mixture
        self.overlays = overlays

    def plus(self, slot: int, variance: float | None) -> MixtureOverlay:
        """Return the overlay with one more pending measurement."""
        pairs = zip(self._mixture.members, self.overlays, strict=True)
        more = tuple(own.plus(slot, member.noise_variance(variance)) for member, own in pairs)
        return MixtureOverlay(self._mixture, more)

    def columns(self) -> tuple[Floats, Floats]:
        """Return mean and variance of all tracked footprints; the means stay."""
        return self._mixture._mix([overlay.variance for overlay in self.overlays])


LEAST_LOG_WEIGHT = -700.0  # a model that a run of bad luck ruled out may come back
