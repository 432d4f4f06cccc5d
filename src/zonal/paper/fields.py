"""Functions drawn from a Gaussian process on a box, exact to rounding, with their derivatives."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonal.averages.kernels import RBF

Floats = NDArray[np.float64]

CUT = 8.5  # frequencies beyond so many over the lengthscale carry nothing
PERIOD = 10.0  # lengthscales between the unit interval and its next copy, of which nothing is felt


class Field:
    """A function on the unit cube drawn from a zero-mean GP with an RBF kernel of one lengthscale.

    The RBF is a product over axes and so is its spectrum, which is Gaussian: f is a random Fourier series with a
    coefficient for every combination of waves along the axes.

    Parameters
    ----------
    kernel : RBF
        With one lengthscale.
    d : int
        Axes, 1 or 2.
    rng : Generator
        Where the randomness comes from.
    """

    def __init__(self, kernel: RBF, d: int, rng: np.random.Generator) -> None:
        scale = float(kernel.lengthscales(1)[0])
        step = 2 * math.pi / (1 + PERIOD * scale)
        self._waves = step * np.arange(math.ceil(CUT / (scale * step)) + 1)
        power = 2 * step * scale / math.sqrt(2 * math.pi) * np.exp(-0.5 * (scale * self._waves) ** 2)
        power[0] /= 2  # both signs of a frequency are one term, but not of 0
        self._heights = np.sqrt(power)
        shape = (2 * len(self._waves),) * d
        self._coefficients = math.sqrt(kernel.variance) * rng.standard_normal(shape)

    def __call__(self, points: ArrayLike) -> Floats:
        """Return the values at points of shape (n, d)."""
        columns = np.asarray(points, dtype=float).T
        values = self._basis(columns[0]) @ self._coefficients
        return np.asarray(values if len(columns) == 1 else np.sum(values * self._basis(columns[1]), axis=1))

    def on_grid(self, x: Floats, along: int | None = None) -> Floats:
        """Return f, or its derivative along an axis, on the grid whose every axis is `x`; shape (len(x),) * d."""
        values = self._coefficients
        for j in range(values.ndim):
            values = np.moveaxis(np.tensordot(self._basis(x, j == along), values, (1, j)), 0, j)
        return np.asarray(values)

    def _basis(self, x: Floats, derivative: bool = False) -> Floats:
        phase = x[:, None] * self._waves
        if derivative:
            heights = self._heights * self._waves
            return np.hstack([-np.sin(phase) * heights, np.cos(phase) * heights])
        return np.hstack([np.cos(phase) * self._heights, np.sin(phase) * self._heights])
