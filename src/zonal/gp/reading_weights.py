"""The posterior mean as a sum: what each reward adds to it, and what the prior mean adds.

Under one model the mean of a footprint is linear in the rewards (equation 4). The weight of a footprint's rewards
is shared among them by their precision. Under several models the weights are averaged.

This module knows rewards and beliefs; it must not know regions or trees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from zonal._types import Floats
from zonal.gp.model_average import Member, Mixture
from zonal.gp.stats import Reward
from zonal.kernels.feedback import AnyFootprints


class MeanShares(NamedTuple):
    """The mean of one footprint: the sum of weights times rewards, and the prior mean's share."""

    weights: Floats  # of the rewards
    prior: float


def mean_shares(
    mixture: Mixture, footprint: AnyFootprints, slots: Sequence[int], rewards: Sequence[Reward]
) -> MeanShares:
    """Return what rewards, each of a slot, add to the mean of one footprint; the rest is the prior mean's."""
    weights, prior = np.zeros(len(rewards)), 0.0
    for weight, member in zip(mixture.weights.tolist(), mixture.members, strict=True):
        by_row = member.row_weights(footprint)[:, 0]
        by_slot = dict.fromkeys(slots, 0.0)
        for slot, share in zip(member.slots.tolist(), by_row.tolist(), strict=True):
            by_slot[slot] += share
        weights += weight * np.array([by_slot[slot] for slot in slots]) * _precision_shares(member, slots, rewards)
        prior += weight * member.model.mean * (1 - float(np.sum(by_row * member.tracked.totals(member.slots))))
    return MeanShares(weights, prior)


def _precision_shares(member: Member, slots: Sequence[int], rewards: Sequence[Reward]) -> Floats:
    """Return the share of each reward in the mean reward of its slot; of exact ones the first has all."""
    told = zip(slots, rewards, strict=True)
    variances = [member.noise_variance(variance, weight, slot) for slot, (_, variance, weight, _) in told]
    of_slot: dict[int, list[int]] = {}
    for at, slot in enumerate(slots):
        of_slot.setdefault(slot, []).append(at)
    shares = np.zeros(len(rewards))
    for places in of_slot.values():
        exact = [at for at in places if variances[at] == 0]
        if exact:
            shares[exact[0]] = 1.0
            continue
        total = math.fsum(1 / variances[at] for at in places)
        for at in places:
            shares[at] = 1 / variances[at] / total
    return shares
