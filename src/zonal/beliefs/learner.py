"""When to learn the model, and when not to trust it.

The first guess serves one and two measurements; then models are weighed again after every measurement up to
`EVERY`, and whenever the measurements have grown by an eighth (by a fourth where that is costly). In between,
their weights follow every reward. Whoever gave the model is warned, once, if it does not fit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zonal.beliefs.frames import Frame
from zonal.beliefs.lattice import RATIOS, Fit, Weighted, weigh
from zonal.beliefs.ledger import Ledger
from zonal.beliefs.model import Model, Unknowns, first_guess, standard_units
from zonal.beliefs.tracked import Tracked

Floats = NDArray[np.float64]

ENOUGH = 3  # measurements from which parameters are learned
EVERY = 20  # measurements up to which every one leads to a fit
BADLY_OFF = 2.5  # times larger than expected; where the model is right, 1.5 is rare
MEDIAN = 0.6745  # of the absolute value of a standard normal variable
MANY, SURE = 32, 0.9  # models that a given one is held against, and the share of them that must speak against it
SMALL = 0.08  # of the rewards' spread: noise that the lattice hardly tells from none
FIRST_CHECK = 12  # measurements
LEAST = 10  # residuals, or repeats, to judge by


class Knowledge(NamedTuple):
    """What has been learned so far.

    Attributes
    ----------
    fit : Fit
        The models to go by now.
    learned_from : int
        Rewards behind the fit, a first guess included.
    due : int
        Rewards at which to learn again.
    warned : bool
        Whether a doubt about the model was uttered; it is once.
    anew : bool
        Whether the fit follows from the rewards alone, and not from earlier fits too.
    """

    fit: Fit
    learned_from: int = 0
    due: int = 1
    warned: bool = False
    anew: bool = True

    @property
    def model(self) -> Model:
        """The model that summarises the posterior (`Fit`)."""
        return self.fit.model

    def checks(self, before: int, total: int) -> bool:
        """Tell whether it is time to check the model, after `total` rewards: half-way to each doubling."""
        times = total // FIRST_CHECK
        return not self.warned and before < times * FIRST_CHECK and times > 0 and times & (times - 1) == 0


class Learner:
    """Learns models from rewards, where anything is to be learned; it keeps nothing.

    Attributes
    ----------
    unknowns : Unknowns
        What is learned.
    learns : bool
        Whether anything is.
    """

    def __init__(self, unknowns: Unknowns, frame: Frame) -> None:
        self.unknowns = unknowns
        self.learns = unknowns.any
        self._frame = frame

    def begin(self) -> Knowledge:
        """Return what is known before the first reward."""
        return Knowledge(_alone(first_guess(self.unknowns, self._frame, [])))

    def stale(self, known: Knowledge, total: int) -> bool:
        """Tell whether rewards came in since the last fit."""
        return self.learns and total > known.learned_from

    def learn(self, known: Knowledge | None, ledger: Ledger, tracked: Tracked) -> Fit:
        """Return the models that all rewards allow, looked for from those `known`, or everywhere."""
        data, total, frame, unknowns = ledger.data(odd=tracked.odd), ledger.total, self._frame, self.unknowns
        if total < ENOUGH:
            return _alone(first_guess(unknowns, frame, data.mean[data.averages].tolist()))
        keys = tracked.keys.take(data.slots, axis=1)
        covariance = None
        if unknowns.given is not None:
            covariance = frame.covariance(unknowns.given).of(frame.layout.pairs(keys, keys))
        before = None if known is None else known.fit
        return weigh(data, frame, unknowns, frame.correlate(keys), covariance, before, total, frame.models)

    def adopt(self, known: Knowledge, fit: Fit, total: int, anew: bool) -> Knowledge:
        """Return what is known after switching to a new fit, of `total` rewards."""
        growth = self._frame.growth if self._frame.costly or total >= EVERY else 0.0
        due = total + max(1, int(growth * total))
        return known._replace(fit=fit, learned_from=total, due=due, anew=anew)

    def check(self, residuals: Floats, repeats: int, chi2: float) -> str:
        """Hold a model that was given whole against the measurements; return a complaint, or nothing.

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
        return _misfit(scatter, miss)

    def doubt(self, known: Knowledge, ledger: Ledger, tracked: Tracked, noise: float | None) -> str:
        """Hold what was given against what would be learned in its place; return a complaint, or nothing.

        Parameters
        ----------
        known : Knowledge
        ledger : Ledger
            All rewards.
        tracked : Tracked
            The footprints.
        noise : float or None
            The noise that was given, if it is one number.
        """
        given_kernel = self.unknowns.given is not None
        if self.unknowns.noise != given_kernel or (noise is None and not given_kernel):
            return ""  # nothing was given, or nothing that one number could replace
        data = ledger.data(None if given_kernel else noise, tracked.odd)
        keys = tracked.keys.take(data.slots, axis=1)
        spec = None if given_kernel else self.unknowns.kernel
        unknowns = Unknowns(spec, True, self.unknowns.mean)
        free = weigh(data, self._frame, unknowns, self._frame.correlate(keys), None, None, ledger.total, MANY)
        held = known.model.noise if given_kernel else noise
        found = free.model.noise
        assert held is not None
        assert found is not None
        weights, noises, scales = np.array(
            [(own.weight, own.model.noise, math.sqrt(own.model.kernel.point_variance)) for own in free.members]
        ).T
        # The lowest noises of the lattice stand for all below them, unless they are large beside the rewards.
        low = (noises < 2 * RATIOS[0] * scales) & (noises < SMALL * standard_units(data, None)[1])
        larger = weights @ ((noises > BADLY_OFF * held) & ~low)
        smaller = weights @ (noises * BADLY_OFF < held)
        if not given_kernel and max(larger, smaller) > SURE:
            return f"the measurements scatter as if noise were {found:.3g}, not {noise:.3g}; pass noise=None."
        if given_kernel and smaller > SURE:
            return (
                f"the given kernel leaves {held / found:.1f} times as much unexplained as one learned from the "
                "measurements; pass kernel=None."
            )
        return ""


def _alone(model: Model) -> Fit:
    """Return a model that stands for itself."""
    return Fit(model, (Weighted(1.0, model),), ())


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
