"""When to learn the model, and when not to trust it.

The first guess serves one and two measurements; then the model is learned at doubling numbers of measurements, and
once more whenever a check between those finds it badly wrong. Whoever gave the model is warned instead, once.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from zonal.beliefs.fit import Model, Unknowns, first_guess, fit
from zonal.beliefs.ledger import Ledger
from zonal.errors import ModelWarning
from zonal.feedback import Footprints

Floats = NDArray[np.float64]

ENOUGH = 3  # measurements from which parameters are learned
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
        All rewards.
    """

    def __init__(self, unknowns: Unknowns, sides: Floats, grid: Floats | None) -> None:
        self.unknowns = unknowns
        self.learns = unknowns.any
        self.model = first_guess(unknowns, sides, [])
        self.ledger = Ledger()
        self._sides = sides
        self._grid = grid
        self._next = 1
        self._next_check = FIRST_CHECK
        self._warned = False
        self.complaints: list[ModelWarning] = []  # for whoever owns the learner to pass on when it is safe

    def due(self) -> bool:
        """Tell whether it is time to learn again."""
        return self.learns and self.ledger.total >= self._next

    def checks(self) -> bool:
        """Tell whether it is time to check the model: half-way to each doubling."""
        if self.ledger.total < self._next_check:
            return False
        self._next_check *= 2
        return True

    def learn(self, footprints: Footprints, prior: Callable[[], Floats]) -> Model:
        """Learn from all rewards; `footprints` are those of the ledger's lines."""
        data = self.ledger.data()
        if self.ledger.total < ENOUGH:
            self.model = first_guess(self.unknowns, self._sides, data.mean.tolist())
        else:
            self.model = fit(
                data, footprints, self._sides, self._grid, self.unknowns, prior, self.model, self.ledger.total
            )
        while self._next <= self.ledger.total:
            self._next *= 2
        return self.model

    def off(self, residuals: Floats) -> bool:
        """Tell whether the model is badly wrong; warn once if it was given.

        Parameters
        ----------
        residuals : array
            Leave-one-out residuals, each over its own standard deviation.
        """
        repeats, chi2 = self.ledger.scatter(self.model.noise)
        scatter = math.sqrt(chi2 / repeats) if repeats >= LEAST else 1.0
        # The median: a few are large wherever f has a peak, and only a wrong model makes most of them large.
        miss = float(np.median(np.abs(residuals))) / MEDIAN if len(residuals) >= LEAST else 1.0
        if max(scatter, miss) < BADLY_OFF:
            return False
        if not self.learns and not self._warned:
            self._warned = True
            what, size, fix = ("repeated measurements scatter", scatter, "noise=None")
            if scatter < BADLY_OFF:
                what, size, fix = (
                    "measurements miss what the others predict by",
                    miss,
                    "kernel=None or noise=None",
                )
            self.complaints.append(
                ModelWarning(
                    f"{what} {size:.1f} times as much as the given kernel and noise imply; pass {fix} to have "
                    "them learned."
                )
            )
        return True
