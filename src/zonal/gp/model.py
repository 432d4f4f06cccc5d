"""A model (kernel, noise and prior mean), which parts of it are learned, and their priors.

Rewards are standardised while learning; results are in the user's units.

This module knows rewards and kernels; it must not know regions, trees or policies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from zonal._types import Floats
from zonal.gp.kernel_families import Family, ModelSpace, kernel_from
from zonal.gp.noise_laws import BY_NAME, CONSTANT, NoiseLaw
from zonal.gp.offsets import FIRST_SIZE
from zonal.gp.stats import StatsArrays
from zonal.io.result_table import card
from zonal.kernels.base import Kernel

# Log-normal priors, in standardised rewards and in widths of the axis: (median, std of the logarithm). A
# lengthscale of 1 % of an axis lies two standard deviations below the median, the whole axis one and a half above.
VARIANCE_PRIOR = (1.0, 1.5)
LENGTHSCALE_PRIOR = (0.15, 1.3)
NOISE_PRIOR = (0.2, 1.5)
MEAN_PRIOR = 3.0  # std
# Log-odds of correlations of symbols, about 0: std of a part shared by all axes, and of each axis's own part.
CORRELATION_PRIOR = (1.5, 0.7)
BEAM_PRIOR = (0.1, 1.0)  # of the narrowest axis
BOUNDS = {"lengthscale": (2e-3, 5.0), "correlation": (1e-3, 1e3), "beam": (0.01, 0.8)}  # of odds, for correlations
EPSILON = float(np.finfo(float).eps)
SMALLEST = 1e-150  # scale of rewards: its square, a variance, must not underflow
Spec = Kernel | Family | None


@dataclass(frozen=True)
class ModelSpec:
    """Which parts of the model are learned; what is given is kept."""

    kernel: Spec  # a kernel is kept; for a class its parameters are learned; for None the class too
    noise: bool  # whether the noise is learned
    mean: float | None  # the prior mean, None if it is learned
    laws: tuple[NoiseLaw, ...] = (CONSTANT,)  # of the noise, where it is learned
    beam: bool = False  # whether the width of the beam is learned
    offsets: int = 0  # the number of sizes of offsets to learn

    @cached_property
    def given(self) -> Kernel | None:
        """The kernel, if it is given."""
        return self.kernel if isinstance(self.kernel, Kernel) else None

    @property
    def wanted(self) -> Family | None:
        """The class of kernels to learn, if one was asked for."""
        return None if isinstance(self.kernel, Kernel) else self.kernel


@dataclass(frozen=True)
class Model:
    """A kernel, a noise and a prior mean, and how well they are known.

    Attributes
    ----------
    kernel : Kernel
    noise : float, PerWeight or None
        Standard deviation of one measurement; None where the user-defined noise applies.
    mean : float
        Prior mean.
    spread : dict of str to float
        Standard deviation of the logarithm of each learned parameter ("variance", "lengthscale 0", "noise"), about
        its relative error; for "correlation 0" of its log-odds.
    measurements : int
        How many measurements it was learned from; 0 for a first guess.
    mean_std : float
        In `Study.models`, where the mean is learned: its standard deviation about `mean` before the first
        measurement. 0 for a mean that is given, and in `Study.model`, whose mean is an estimate.
    offsets : tuple of float
        Standard deviations of the offsets of each label that has one, and of the drift last; empty if none has.
    unrelated : bool
        Whether what other sources measured is another function than f.
    weighed_on : int
        On how many regions, spread over the space, models were weighed, where more were measured; 0 if on all.
        The posterior is always from all measurements.
    law : {"constant", "falling", "both"}
        How a learned noise depends on a region's size: not at all, as 1 / sqrt(size), or a part of its variance
        does. Where it does, `noise` is that of the whole space.
    beam : float
        Full width at half maximum of the beam where it is learned; else 0.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    >>> study.model.noise, study.model.measurements
    (0.1, 0)
    """

    kernel: Kernel
    noise: float | None
    mean: float
    spread: dict[str, float]
    measurements: int
    mean_std: float = 0.0
    weighed_on: int = 0
    law: str = "constant"
    beam: float = 0.0
    offsets: tuple[float, ...] = ()
    unrelated: bool = False

    def noise_text(self, unit: str = "") -> str:
        """Return the noise of one measurement, and how it depends on the size of the region, in words."""
        noise: Any = self.noise
        if noise is None:
            return "user-defined"
        if not isinstance(noise, float):  # it falls as the user said
            return f"{noise.std:.3g} {unit}".rstrip() + " / sqrt(weight)"
        size = f"{noise:.3g} {unit}".rstrip()
        if self.law == CONSTANT.name:
            return size
        return f"{size} at the whole space, {BY_NAME[self.law].text}"

    def _repr_html_(self) -> str:
        """Return the model as a table, for a notebook."""
        errors = {f"relative error of {name}": spread for name, spread in self.spread.items()}
        width = {"width of the beam": self.beam} if self.beam else {}
        facts: dict[str, object] = {"kernel": self.kernel, "noise": self.noise_text(), "prior mean": self.mean}
        facts |= errors | ({"sizes of offsets": self.offsets} if self.offsets else {})
        of = f", of {self.weighed_on} regions spread over the space" if self.weighed_on else ""
        return card("Model", facts | width | {"learned from": f"{self.measurements} measurements{of}"})


def standardize(data: StatsArrays, mean: float | None) -> tuple[float, float]:
    """Return shift (the prior mean, if given) and scale that standardise rewards, from averages if possible."""
    averages = data.averages
    if averages.any():
        return _units(data.mean[averages], data.counted[averages], data.scatter, mean)
    # Differences alone tell nothing about the mean, and are about as large as f itself.
    return mean or 0.0, _units(data.mean, data.counted, data.scatter, 0.0)[1]


def _units(values: Floats, weights: Floats, scatter: float, mean: float | None) -> tuple[float, float]:
    first = float(values[0])  # subtracted, so that equal values differ by exactly 0
    shift = mean if mean is not None else first + float(np.average(values - first, weights=weights))
    off = values - shift
    top = max(float(np.max(np.abs(off))), math.sqrt(scatter))
    if top <= 4 * EPSILON * abs(shift):  # nothing but rounding varies
        return shift, max(abs(shift), SMALLEST) if shift else 1.0
    # In units of the largest, so that squares do not underflow.
    squares = float(np.average((off / top) ** 2, weights=weights)) + scatter / top / top / float(weights.sum())
    return shift, max(top * math.sqrt(squares), SMALLEST)


def default_model(unknowns: ModelSpec, frame: ModelSpace, rewards: list[float]) -> Model:
    """Return a model to use until there are enough rewards to learn from."""
    centre, scale = _units(np.array(rewards), np.ones(len(rewards)), 0.0, None) if rewards else (0.0, 1.0)
    kernel = unknowns.given
    if kernel is None:
        parameters = np.where(frame.symbols, 0.5, LENGTHSCALE_PRIOR[0] * frame.sides)
        kernel = kernel_from(frame.family(unknowns.wanted), scale**2, parameters, frame.symbols)
    else:
        scale = math.sqrt(kernel.point_variance)
    noise = NOISE_PRIOR[0] * scale if unknowns.noise else None
    beam = BEAM_PRIOR[0] * frame.narrowest if unknowns.beam else 0.0
    offsets = (FIRST_SIZE * scale,) * unknowns.offsets
    if unknowns.mean is None:
        return Model(kernel, noise, centre, {}, 0, MEAN_PRIOR * scale, beam=beam, offsets=offsets)
    return Model(kernel, noise, unknowns.mean, {}, 0, beam=beam, offsets=offsets)
