"""When to learn the model, and when not to trust it.

The first guess serves one and two measurements; then models are weighed again after every measurement up to
`EVERY`, and whenever the measurements have grown by an eighth (by a fourth where that is costly). In between,
their weights follow every reward. Whoever gave the model is warned, once, if it does not fit.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from zonal.beliefs.fit import Unknowns, first_guess, fit
from zonal.beliefs.frames import Frame
from zonal.beliefs.lattice import Fit, Weighted, weigh
from zonal.beliefs.ledger import Data, Ledger
from zonal.errors import ModelWarning
from zonal.feedback import AnyFootprints

Floats = NDArray[np.float64]

ENOUGH = 3  # measurements from which parameters are learned
EVERY = 20  # measurements up to which every one leads to a fit
BADLY_OFF = 2.5  # times larger than expected; where the model is right, 1.5 is rare
MEDIAN = 0.6745  # of the absolute value of a standard normal variable
FIRST_CHECK = 12  # measurements
LEAST = 10  # residuals, or repeats, to judge by


class Learner:
    """The rewards so far and the model learned from them.

    Attributes
    ----------
    unknowns : Unknowns
        What is learned.
    learns : bool
        Whether anything is.
    model : Model
        The model to go by now.
    ledger : Ledger
        All rewards, if anything is learned.
    total : int
        Rewards so far.
    """

    def __init__(self, unknowns: Unknowns, frame: Frame) -> None:
        self.unknowns = unknowns
        self.learns = unknowns.any
        self.model = first_guess(unknowns, frame, [])
        self.ledger = Ledger()
        self.total = 0
        self._frame = frame
        self._fit: Fit | None = None
        self._learned_from = 0  # rewards, a first guess included
        self._next = 1
        self._next_check = FIRST_CHECK
        self._warned = False
        self.complaints: list[ModelWarning] = []  # for whoever owns the learner to pass on when it is safe

    @property
    def models(self) -> tuple[Weighted, ...]:
        """The weighted models to go by now."""
        return (Weighted(1.0, self.model),) if self._fit is None else self._fit.members

    def due(self) -> bool:
        """Tell whether it is time to learn again."""
        return self.learns and self.ledger.total >= self._next

    @property
    def stale(self) -> bool:
        """Whether rewards came in since the last fit."""
        return self.learns and self.ledger.total > self._learned_from

    def note(self, slot: int, reward: float, variance: float | None) -> None:
        """Take note of a reward; `variance` is None if its noise is to be learned."""
        self.total += 1
        if self.learns:
            self.ledger.add(slot, reward, variance)

    def checks(self) -> bool:
        """Tell whether it is time to check the model: half-way to each doubling."""
        if self.total < self._next_check:
            return False
        self._next_check *= 2
        return True

    def learn(self, footprints: AnyFootprints) -> Data:
        """Learn from all rewards and return them; `footprints` are those of the ledger's lines."""
        data, total, frame = self.ledger.data(), self.ledger.total, self._frame
        if total < ENOUGH:
            self.model = first_guess(self.unknowns, self._frame, data.mean.tolist())
        else:
            given = self.unknowns.given
            covariance = None if given is None else self._frame.covariance(given).among(footprints)
            correlate = self._frame.correlate(data.slots, footprints)
            unknowns = self.unknowns
            self._fit = weigh(data, frame, unknowns, correlate, covariance, self._fit, total, frame.models)
            self.model = self._fit.model
        self._learned_from = total
        growth = frame.growth if frame.costly or total >= EVERY else 0.0
        self._next = total + max(1, int(growth * total))
        return data

    def check(self, residuals: Floats, repeats: int, chi2: float) -> None:
        """Hold a model that was given whole against the measurements; warn, once.

        Parameters
        ----------
        residuals : array
            Leave-one-out residuals, each over its own standard deviation.
        repeats, chi2 : int, float
            Repeated measurements, and their scatter in units of the noise variance.
        """
        scatter = math.sqrt(chi2 / repeats) if repeats >= LEAST else math.nan
        # The median: a few are large wherever f has a peak, and only a wrong model makes most of them large.
        miss = float(np.median(np.abs(residuals))) / MEDIAN if len(residuals) >= LEAST else math.nan
        self._warn(_misfit(scatter, miss))

    def doubt(self, footprints: AnyFootprints, noise: float | None) -> None:
        """Hold what was given against what would be learned in its place; warn, once.

        Parameters
        ----------
        footprints : Footprints or Subsets
            Of the ledger's lines.
        noise : float or None
            The noise that was given, if it is one number.
        """
        given_kernel = self.unknowns.given is not None
        if self._warned or self.unknowns.noise != given_kernel or (noise is None and not given_kernel):
            return  # nothing was given, or nothing that one number could replace
        data = self.ledger.data() if given_kernel else self.ledger.data(forget=noise)
        spec = None if given_kernel else self.unknowns.kernel
        unknowns = Unknowns(spec, True, self.unknowns.mean)
        free = fit(data, footprints, self._frame, unknowns, None, self.ledger.total)
        held = self.model.noise if given_kernel else noise
        assert free.noise is not None
        assert held is not None
        ratio = free.noise / max(held, 1e-300)
        if abs(math.log(ratio)) < math.log(BADLY_OFF) + free.spread["noise"]:
            return
        if not given_kernel:
            self._warn(
                f"the measurements scatter as if noise were {free.noise:.3g}, not {noise:.3g}; pass noise=None."
            )
        elif ratio < 1:
            self._warn(
                f"the given kernel leaves {1 / ratio:.1f} times as much unexplained as one learned from the "
                "measurements; pass kernel=None."
            )

    def _warn(self, complaint: str) -> None:
        if complaint and not self._warned:
            self._warned = True
            self.complaints.append(ModelWarning(complaint))


def _misfit(scatter: float, miss: float) -> str:
    """Return a complaint about a model that was given whole, or nothing."""
    if scatter >= BADLY_OFF:
        return f"repeated measurements scatter {scatter:.1f} times as much as noise= implies; pass noise=None."
    if miss >= BADLY_OFF:
        return (
            f"measurements miss what the others predict by {miss:.1f} times as much as the given kernel, noise "
            "and mean imply; pass kernel=None, noise=None or mean=None to have them learned."
        )
    return ""
