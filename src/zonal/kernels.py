"""Kernels: how values of f at two points go together.

Every kernel here is a product over axes, ``k(x, y) = variance * prod_j kappa_j(|x_j - y_j| / l_j)``, or a sum
of such products. (For d > 1 the product of Matern kernels is not the radial Matern kernel of the same nu; for
RBF product and radial kernel are the same.) A kernel knows points and distances; it must not know regions.

To add a kernel, write its `Profile` at lengthscale one and a class that returns it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonal.errors import InvalidInput, positive_number
from zonal.interval_means import Profile

Floats = NDArray[np.float64]


SHORTEST = 1e-150


class RBFProfile:
    """Squared exponential at lengthscale one: exp(-r^2 / 2)."""

    slope_variance: ClassVar[float | None] = 1.0
    _C = math.sqrt(math.pi / 2)

    def value(self, r: Floats) -> Floats:
        """Return the correlation at distance `r`, of either sign."""
        square = np.multiply(r, r)
        square *= -0.5
        return np.exp(square, out=square)

    def first(self, r: Floats) -> Floats:
        """Return K1, the integral of `value` from 0 to `r`."""
        from scipy.special import erf

        return np.asarray(self._C * erf(r / math.sqrt(2)))

    def second(self, r: Floats) -> Floats:
        """Return K2, the integral of K1 from 0 to `r`."""
        return r * self.first(r) + np.expm1(-0.5 * r * r)

    def tail(self, r: Floats) -> Floats:
        """Return K2 less its linear part."""
        return self.value(r) - r * self.decay(r)

    def decay(self, r: Floats) -> Floats:
        """Return what K1 lacks to its limit."""
        from scipy.special import erfc

        return np.asarray(self._C * erfc(r / math.sqrt(2)))

    def stretch(self, r: Floats) -> Floats:
        """Return -r times the derivative of `value`."""
        square = np.multiply(r, r)
        return square * np.exp(-0.5 * square)


class Matern12Profile:
    """Matern 1/2 at lengthscale one: exp(-r)."""

    slope_variance: ClassVar[float | None] = None

    def value(self, r: Floats) -> Floats:
        """Return the correlation at distance `r`, of either sign."""
        return np.exp(-np.abs(r))

    def first(self, r: Floats) -> Floats:
        """Return K1, the integral of `value` from 0 to `r`."""
        return -np.expm1(-r)

    def second(self, r: Floats) -> Floats:
        """Return K2, the integral of K1 from 0 to `r`."""
        return r + np.expm1(-r)

    def tail(self, r: Floats) -> Floats:
        """Return K2 less its linear part."""
        return np.exp(-r)

    def decay(self, r: Floats) -> Floats:
        """Return what K1 lacks to its limit."""
        return np.exp(-r)

    def stretch(self, r: Floats) -> Floats:
        """Return -r times the derivative of `value`."""
        r = np.abs(r)
        return r * np.exp(-r)


class Matern32Profile:
    """Matern 3/2 at lengthscale one: (1 + s) exp(-s), s = sqrt(3) r."""

    slope_variance: ClassVar[float | None] = 3.0
    _ROOT = math.sqrt(3)

    def value(self, r: Floats) -> Floats:
        """Return the correlation at distance `r`, of either sign."""
        s = self._ROOT * np.abs(r)
        return (1 + s) * np.exp(-s)

    def first(self, r: Floats) -> Floats:
        """Return K1, the integral of `value` from 0 to `r`."""
        s = self._ROOT * r
        return (2 - (2 + s) * np.exp(-s)) / self._ROOT

    def second(self, r: Floats) -> Floats:
        """Return K2, the integral of K1 from 0 to `r`."""
        s = self._ROOT * r
        return (2 * s - 3 + (3 + s) * np.exp(-s)) / 3

    def tail(self, r: Floats) -> Floats:
        """Return K2 less its linear part."""
        s = self._ROOT * r
        return (3 + s) * np.exp(-s) / 3

    def decay(self, r: Floats) -> Floats:
        """Return what K1 lacks to its limit."""
        s = self._ROOT * r
        return (2 + s) * np.exp(-s) / self._ROOT

    def stretch(self, r: Floats) -> Floats:
        """Return -r times the derivative of `value`."""
        s = self._ROOT * np.abs(r)
        return s * s * np.exp(-s)


class Matern52Profile:
    """Matern 5/2 at lengthscale one: (1 + s + s^2 / 3) exp(-s), s = sqrt(5) r."""

    slope_variance: ClassVar[float | None] = 5 / 3
    _ROOT = math.sqrt(5)

    def value(self, r: Floats) -> Floats:
        """Return the correlation at distance `r`, of either sign."""
        s = self._ROOT * np.abs(r)
        return (1 + s + s * s / 3) * np.exp(-s)

    def first(self, r: Floats) -> Floats:
        """Return K1, the integral of `value` from 0 to `r`."""
        s = self._ROOT * r
        return (8 - (8 + 5 * s + s * s) * np.exp(-s)) / (3 * self._ROOT)

    def second(self, r: Floats) -> Floats:
        """Return K2, the integral of K1 from 0 to `r`."""
        s = self._ROOT * r
        return (8 * s - 15 + (15 + 7 * s + s * s) * np.exp(-s)) / 15

    def tail(self, r: Floats) -> Floats:
        """Return K2 less its linear part."""
        s = self._ROOT * r
        return (15 + 7 * s + s * s) * np.exp(-s) / 15

    def decay(self, r: Floats) -> Floats:
        """Return what K1 lacks to its limit."""
        s = self._ROOT * r
        return (8 + 5 * s + s * s) * np.exp(-s) / (3 * self._ROOT)

    def stretch(self, r: Floats) -> Floats:
        """Return -r times the derivative of `value`."""
        s = self._ROOT * np.abs(r)
        return s * s * (1 + s) * np.exp(-s) / 3


class Kernel:
    """What all kernels share: they add up, and they evaluate at points."""

    @property
    def terms(self) -> tuple[ProductKernel, ...]:
        """The products over axes of which this kernel is the sum."""
        raise InvalidInput("a kernel must be a sum of products", self, "Use RBF or Matern.")

    @property
    def point_variance(self) -> float:
        """The prior variance of f at a point, k(x, x)."""
        return sum(term.variance for term in self.terms)

    def __add__(self, other: Kernel) -> Sum:
        """Return the kernel of the sum of two independent functions."""
        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum(self.terms + other.terms)

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Floats:
        """Return the matrix k(x, y) of two sets of points, shapes (n, d) and (m, d)."""
        a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        total = np.zeros((len(a), len(b)))
        for term in self.terms:
            product = np.full(total.shape, term.variance)
            for j, lengthscale in enumerate(term.lengthscales(a.shape[1])):
                product *= term.profile.value((a[:, None, j] - b[None, :, j]) / lengthscale)
            total += product
        return total

    def slopes(self, d: int) -> Floats | None:
        """Return the prior std of f's derivative along each axis, None where there is none."""
        variance = np.zeros(d)
        for term in self.terms:
            if term.profile.slope_variance is None:
                return None
            variance += term.variance * term.profile.slope_variance / np.square(term.lengthscales(d))
        return np.sqrt(variance)


@dataclass(frozen=True)
class Sum(Kernel):
    """A sum of kernels; write ``RBF(...) + Matern(...)``."""

    parts: tuple[ProductKernel, ...]

    @property
    def terms(self) -> tuple[ProductKernel, ...]:
        """The products over axes of which this kernel is the sum."""
        return self.parts


@dataclass(frozen=True)
class ProductKernel(Kernel):
    """A variance times one profile for each axis.

    Parameters
    ----------
    variance : float
        Prior variance of f at a point, in squared value units.
    lengthscale : float or sequence of float
        In each axis's own units: one for all axes, or one an axis.
    """

    variance: float
    lengthscale: float | Sequence[float]

    def __post_init__(self) -> None:
        positive_number(self.variance, "the kernel's variance")
        scales = np.atleast_1d(np.asarray(self.lengthscale, dtype=object))
        if scales.ndim != 1 or scales.size == 0:
            raise InvalidInput(
                "lengthscale must be a number or one number an axis", self.lengthscale, "Flatten it."
            )
        numbers = tuple(positive_number(scale, "lengthscale") for scale in scales)
        if min(numbers) < SHORTEST:
            raise InvalidInput("lengthscale is too short", min(numbers), f"Pass {SHORTEST:g} or more.")
        # A sequence is kept as a tuple: settings are values that can be compared, hashed and sent about.
        object.__setattr__(self, "variance", float(self.variance))
        object.__setattr__(self, "lengthscale", numbers if np.ndim(self.lengthscale) else numbers[0])

    @property
    def terms(self) -> tuple[ProductKernel, ...]:
        """The products over axes of which this kernel is the sum."""
        return (self,)

    @property
    def profile(self) -> Profile:
        """The kernel along one axis at lengthscale one."""
        raise InvalidInput("this kernel has no profile", self, "Use RBF or Matern.")

    def lengthscales(self, d: int) -> Floats:
        """Return one lengthscale for each of `d` axes."""
        scales = np.atleast_1d(np.asarray(self.lengthscale, dtype=float))
        if scales.size not in (1, d):
            raise InvalidInput(
                f"the kernel needs one lengthscale, or one for each of {d} axes",
                self.lengthscale,
                f"Pass 1 or {d} lengthscales.",
            )
        return np.broadcast_to(scales, (d,))


@dataclass(frozen=True)
class RBF(ProductKernel):
    """The squared-exponential kernel: very smooth functions.

    Parameters
    ----------
    variance : float
        Prior variance of f at a point, in squared value units.
    lengthscale : float or sequence of float
        In each axis's own units: one for all axes, or one an axis.
    """

    @property
    def profile(self) -> Profile:
        """The kernel along one axis at lengthscale one."""
        return RBFProfile()


_MATERN: dict[float, Profile] = {
    0.5: Matern12Profile(),
    1.5: Matern32Profile(),
    2.5: Matern52Profile(),
}


@dataclass(frozen=True)
class Matern(ProductKernel):
    """The product over axes of one-dimensional Matern kernels: rougher functions.

    For d > 1 this is not the radial Matern kernel.

    Parameters
    ----------
    variance : float
        Prior variance of f at a point, in squared value units.
    lengthscale : float or sequence of float
        In each axis's own units: one for all axes, or one an axis.
    nu : {0.5, 1.5, 2.5}
        Smoothness: f has no, one or two derivatives.
    """

    nu: float = 2.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nu not in tuple(_MATERN):
            raise InvalidInput("nu must be 0.5, 1.5 or 2.5", self.nu, "Choose one of the three.")

    @property
    def profile(self) -> Profile:
        """The kernel along one axis at lengthscale one."""
        return _MATERN[self.nu]
