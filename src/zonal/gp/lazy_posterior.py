"""The posterior after some rewards, computed when it is first read.

It is built from all rewards at once after a fit or a correction, and from there step by step. Where nothing is
learned and rounding would show, it is built at once, so that it is what opening the file would give. This is a
value: what is computed is kept, and nothing else changes.
"""

from __future__ import annotations

from zonal.gp.functional_index import FunctionalIndex, Keys
from zonal.gp.hyperparameters import Fit
from zonal.gp.kernel_families import ModelSpace
from zonal.gp.model_average import Mixture
from zonal.gp.stats import ObservationStats

Told = tuple[int, float, float | None, ObservationStats, float]  # a reward, as `Mixture.condition_on` takes it
Start = Mixture | tuple[FunctionalIndex, ObservationStats]


class LazyPosterior:
    """The footprints tracked, all rewards, and what these say of them under the models in use.

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
        self._progress: tuple[Start, tuple[FunctionalIndex | Told, ...]] = (tracked, ledger), ()

    def from_scratch(self, fit: Fit | None = None, ledger: ObservationStats | None = None) -> LazyPosterior:
        """Return the posterior from all rewards at once; under another fit, or from other rewards, if given."""
        rewards = self.ledger if ledger is None else ledger
        return LazyPosterior(self._frame, fit or self._fit, self.tracked, rewards, self._learns)

    def with_targets(self, keys: Keys, total: float) -> LazyPosterior:
        """Return the posterior of more footprints, of this total weight, too."""
        tracked = self.tracked.append(keys, total)
        return self._after(tracked, self.ledger, tracked)

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
        mixture = start if isinstance(start, Mixture) else self._built(*start)
        if mixture is start and not steps:
            return mixture
        alone = not self._learns  # else weights change reward by reward
        for step in steps:
            if alone and mixture.fragile:
                break
            mixture = mixture.condition_on(*step) if isinstance(step, tuple) else mixture.with_targets(step)
        if steps and alone and mixture.fragile:  # it must be what opening the file would give
            mixture = self._built(self.tracked, self.ledger)
        self._progress = mixture, ()
        return mixture

    def _built(self, tracked: FunctionalIndex, ledger: ObservationStats) -> Mixture:
        return Mixture.built(self._frame, self._fit.members, self._fit.model.mean, tracked, ledger)
