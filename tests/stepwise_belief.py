"""A belief as it goes from one value to the next, for tests that track and observe step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonal.gp.functional_index import FunctionalIndex
from zonal.gp.hyperparameters import WeightedModel
from zonal.gp.kernel_families import ModelSpace
from zonal.gp.model import Model
from zonal.gp.model_average import Member, Mixture
from zonal.gp.stats import ObservationStats
from zonal.kernels.base import Kernel

Floats = NDArray[np.float64]


class Followed:
    """What is believed under some models now: a mixture, the footprints it follows and all rewards."""

    def __init__(self, frame: ModelSpace, models: Sequence[WeightedModel], zero: float) -> None:
        self.frame, self.models, self.zero = frame, models, zero
        self.ledger = ObservationStats()
        self.tracked: FunctionalIndex | None = None
        self._mixture: Mixture | None = None

    @property
    def mixture(self) -> Mixture:
        """The belief as it is now."""
        assert self._mixture is not None
        return self._mixture

    @property
    def size(self) -> int:
        """How many footprints are followed."""
        return 0 if self.tracked is None else self.tracked.size

    def track(self, footprints: Any) -> int:
        """Follow more footprints; return the slot of the first."""
        first, keys = self.size, self.frame.layout.keys(footprints)
        if self.tracked is None:
            self.tracked = FunctionalIndex(self.frame.layout, keys)
            self._mixture = Mixture.built(self.frame, self.models, self.zero, self.tracked, self.ledger)
        else:
            self.tracked = self.tracked.append(keys)
            self._mixture = self.mixture.with_targets(self.tracked)
        return first

    def check(self, slot: int, reward: float, variance: float | None) -> None:
        """Complain of a reward without noise that contradicts an earlier one, as a study does."""
        if variance == 0:
            self.mixture.check(slot, reward, variance, self.ledger)

    def observe(self, slot: int, reward: float, variance: float | None) -> None:
        """Take in a reward."""
        self.ledger = self.ledger.append(slot, reward, variance)
        self._mixture = self.mixture.condition_on(slot, reward, variance, self.ledger)

    def rebuild(self) -> None:
        """Take in all rewards anew, at once."""
        members = [own.from_data(self.ledger.data()) for own in self.mixture.members]
        self._mixture = Mixture(members, self.zero)

    def replace(self, belief: Member) -> None:
        """Go on from another belief under the only model."""
        self._mixture = Mixture([belief], self.zero)


def alone(frame: ModelSpace, kernel: Kernel) -> Followed:
    """Return a belief under one kernel, of rewards counted from the prior mean whose noise is known."""
    return Followed(frame, [WeightedModel(1.0, Model(kernel, None, 0.0, {}, 0))], 0.0)
