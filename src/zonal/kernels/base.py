"""Kernels: the covariance of f at two points.

Every kernel here is a product over axes, or a sum of such products: ``kappa(|x_j - y_j| / l_j)`` along a
continuous axis, ``1 if x_j == y_j else rho_j`` along a categorical one. (For d > 1 the product of Matern kernels
is not the radial Matern kernel of the same nu; for RBF the two are the same.) On finite sets of points any
positive semi-definite function is allowed. A kernel knows points and distances; it must not know regions.

To add a kernel, write its profile at lengthscale one, a function of the distance (`stationary.Profile`), and a
class that returns it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from zonal._types import Floats
from zonal.errors import InvalidInput, check_choice, finite_number, one_or_several, positive_number, require
from zonal.kernels.stationary import MaternProfile, Profile, RBFProfile

SHORTEST, LONGEST = 1e-150, 1e150  # lengthscales, which are squared
AXES_AT_ONCE = 16  # factors multiplied before what is large goes to the exponent: more could overflow


@dataclass(frozen=True)
class StationaryFactor:
    """The factor of a kernel along one continuous axis."""

    profile: Profile
    lengthscale: float

    @property
    def variation(self) -> float:
        """The variance of the derivative, at variance one; NaN if there is none."""
        slope = self.profile.derivatives[0]
        return math.nan if slope is None else slope / self.lengthscale**2


@dataclass(frozen=True)
class CategoricalFactor:
    """The factor of a kernel along one categorical axis: 1 for equal symbols, else a correlation."""

    correlation: float

    @property
    def variation(self) -> float:
        """The variance of the difference of two symbols, at variance one."""
        return 2 * (1 - self.correlation)


Factor = StationaryFactor | CategoricalFactor


class KernelAxis(Protocol):
    """What a kernel needs to know of an axis."""

    @property
    def is_categorical(self) -> bool:
        """Whether its values are symbols, which have no distances."""

    def factor(self, factor: Factor) -> Factor:
        """Return the factor of a kernel along this axis."""


@dataclass(frozen=True)
class PlainAxis:
    """What a kernel needs to know of an axis or feature that does not change its factor (a ring does)."""

    is_categorical: bool = False

    def factor(self, factor: Factor) -> Factor:
        """Return the factor of a kernel along this axis: unchanged."""
        return factor


def factors(term: Term, axes: Sequence[KernelAxis]) -> list[Factor]:
    """Return the factors of a product over axes as they are on each axis: around a ring they are wrapped."""
    term_factors = term.along([axis.is_categorical for axis in axes])
    return [axis.factor(factor) for axis, factor in zip(axes, term_factors, strict=True)]


class Kernel:
    """What all kernels share: they can be added, and evaluated at points."""

    @property
    def terms(self) -> tuple[Term, ...]:
        """The products over axes whose sum is this kernel: itself, if it is one product."""
        return (self,)  # type: ignore[return-value]  # `is_kernel` checks this

    @property
    def point_variance(self) -> float:
        """The prior variance of f at a point, k(x, x); for motifs the variance between sequences."""
        return sum(term.variance for term in self.terms)

    def __add__(self, other: Kernel) -> Sum:
        """Return the kernel of the sum of two independent functions."""
        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum(self.terms + other.terms)

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Floats:
        """Return the matrix k(x, y) of two sets of points, shapes (n, d) and (m, d)."""
        a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        total = self.terms[0].on_points(a, b)
        for term in self.terms[1:]:
            total += term.on_points(a, b)
        return total

    def slopes(self, axes: Sequence[KernelAxis]) -> Floats | None:
        """Return how much f changes along each axis, as a prior std; None if f has no derivative.

        On a continuous axis that of f's derivative; on a categorical one that of the difference of two symbols.
        """
        variances = [term.variation(axes) for term in self.terms]
        total = np.sum(variances, axis=0)
        return None if np.isnan(total).any() else np.sqrt(total)

    def curvatures(self, axes: Sequence[KernelAxis]) -> Floats | None:
        """Return prior stds of f's second derivatives, shape (d, d); None if one of them does not exist."""
        variance = np.zeros((len(axes), len(axes)))
        for term in self.terms:
            first, second, _ = _derivatives(term, axes)
            mixed = np.outer(first, first)
            np.fill_diagonal(mixed, second)
            variance += term.variance * mixed
        return None if np.isnan(variance).any() else np.sqrt(variance)

    def bends(self, axes: Sequence[KernelAxis]) -> Floats | None:
        """Return how freely f bends where its slope is given (`Smoothness.bends`); None if that is unknown."""
        if len(self.terms) > 1:  # the formula is for products
            return None
        first, second, third = _derivatives(self.terms[0], axes)
        squared = np.tile(second / first**2 - 1, (len(axes), 1))
        np.fill_diagonal(squared, third * first / second**2 - 1)
        squared = np.maximum(squared, 1e-12)  # around a ring f may be a single sine wave
        return None if np.isnan(squared).any() else np.sqrt(squared)


class Term(Kernel, ABC):
    """A kernel that is a variance times one product over axes; or `spectrum.Motif`, which has no factors."""

    variance: float  # prior, of f at a point

    @abstractmethod
    def along(self, symbols: Sequence[bool]) -> list[Factor]:
        """Return the factor of each axis; `symbols` tells which axes are categorical."""

    @abstractmethod
    def on_points(self, x: Floats, y: Floats) -> Floats:
        """Return the matrix k(x, y) of two sets of points, shapes (n, d) and (m, d)."""

    def variation(self, axes: Sequence[KernelAxis]) -> Floats:
        """Return the prior variance of f's change along each axis (`Kernel.slopes`); NaN where it is undefined."""
        return np.array([self.variance * factor.variation for factor in factors(self, axes)])


def _derivatives(term: Term, axes: Sequence[KernelAxis]) -> Floats:
    """Return the variances of the first three derivatives along each axis; NaN where one does not exist."""
    lines = [factor for factor in factors(term, axes) if isinstance(factor, StationaryFactor)]
    variances = np.array([factor.profile.derivatives for factor in lines], dtype=float).T
    scales = np.array([factor.lengthscale for factor in lines])
    return np.asarray(variances / scales ** np.array([[2], [4], [6]]))


def _scale(value: float, name: str) -> float:
    """Check a lengthscale, which is squared."""
    number = positive_number(value, name)
    if not SHORTEST <= number <= LONGEST:
        problem, limit = ("short", f"{SHORTEST:g} or more") if number < 1 else ("long", f"{LONGEST:g} at most")
        raise InvalidInput(f"{name} is too {problem}", number, f"Pass {limit}.")
    return number


def checked_correlation(value: float, name: str = "correlation") -> float:
    """Check a correlation of symbols, and return it."""
    number = finite_number(value, name)
    require(0 <= number <= 1, f"{name} must lie between 0 and 1", number, "Pass for example 0.5.")
    return number


def _one_an_axis(given: float | Sequence[float], d: int, what: str) -> Floats:
    """Return a parameter for each of `d` axes, given one for all or one each."""
    values = np.atleast_1d(np.asarray(given, dtype=float))
    if values.size not in (1, d):
        problem = f"the kernel needs one {what}, or one for each of {d} axes"
        raise InvalidInput(problem, given, f"Pass 1 or {d} {what}s.")
    return np.broadcast_to(values, (d,))


@dataclass(frozen=True)
class Sum(Kernel):
    """A sum of kernels; write ``RBF(...) + Matern(...)``."""

    parts: tuple[Term, ...]

    def __post_init__(self) -> None:
        if not self.parts or not all(hasattr(part, "on_points") for part in self.parts):
            raise InvalidInput("a sum must be of kernels", self.parts, "Write zn.RBF(...) + zn.Matern(...).")

    def __repr__(self) -> str:
        """Return the sum as it is written."""
        return " + ".join(map(repr, self.parts))

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms of which this kernel is the sum."""
        return self.parts


@dataclass(frozen=True)
class ProductKernel(Term):
    """A variance times one profile for each axis; its parameters are those of `RBF`."""

    variance: float
    lengthscale: float | Sequence[float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", positive_number(self.variance, "the kernel's variance"))
        object.__setattr__(self, "lengthscale", one_or_several(self.lengthscale, "lengthscale", _scale))

    @property
    def profile(self) -> Profile:
        """The kernel along one axis at lengthscale one."""
        raise InvalidInput("this kernel has no profile", self, "Use RBF or Matern.")

    def lengthscales(self, d: int) -> Floats:
        """Return one lengthscale for each of `d` axes."""
        return _one_an_axis(self.lengthscale, d, "lengthscale")

    def along(self, symbols: Sequence[bool]) -> list[Factor]:
        """Return the factor of each axis; raise if one is categorical."""
        fix = "Use zn.Categorical, or multiply: zn.RBF(...) * zn.Categorical(...)."
        require(not any(symbols), "this kernel measures distances, and symbols have none", self, fix)
        return [StationaryFactor(self.profile, scale) for scale in self.lengthscales(len(symbols)).tolist()]

    def on_points(self, x: Floats, y: Floats) -> Floats:
        """Return the matrix k(x, y) of two sets of points, shapes (n, d) and (m, d)."""
        scales = self.lengthscales(x.shape[1])
        x, y = x / scales, y / scales
        exponent = self.profile.exponent(x, y)
        if exponent is not None:
            np.exp(np.negative(exponent, out=exponent), out=exponent)
            exponent *= self.variance
            return exponent
        exponent, gap, product = np.zeros((len(x), len(y))), np.empty((len(x), len(y))), None
        for j in range(x.shape[1]):
            np.subtract(x[:, j, None], y[:, j], out=gap)
            polynomial, power = self.profile.factor(gap)
            exponent -= power
            if polynomial is not None:
                product = polynomial if product is None else np.multiply(product, polynomial, out=product)
                if j % AXES_AT_ONCE == AXES_AT_ONCE - 1:
                    large = np.maximum(np.abs(product), 1.0)
                    exponent += np.log(large)
                    product /= large
        np.exp(exponent, out=exponent)
        exponent *= self.variance
        return exponent if product is None else np.multiply(exponent, product, out=exponent)

    def __mul__(self, other: Categorical) -> Mixed:
        """Return the kernel of a space with continuous and categorical axes."""
        return Mixed(self, other) if isinstance(other, Categorical) else NotImplemented

    __rmul__ = __mul__


@dataclass(frozen=True)
class RBF(ProductKernel):
    """The squared-exponential kernel: very smooth functions.

    Parameters
    ----------
    variance : float
        Prior variance of f at a point, in squared value units.
    lengthscale : float or sequence of float
        In each axis's own units: one for all axes, or one per axis.

    Examples
    --------
    >>> import numpy as np
    >>> import zonal as zn
    >>> kernel = zn.RBF(variance=1.0, lengthscale=0.2)
    >>> kernel(np.array([[0.0]]), np.array([[0.0], [0.2]])).round(3)
    array([[1.   , 0.607]])
    """

    profile = RBFProfile()  # along one axis at lengthscale one


_MATERN: dict[float, Profile] = {
    0.5: MaternProfile(0.5, 1.0),
    1.5: MaternProfile(1.5, 1.0, 1.0),
    2.5: MaternProfile(2.5, 1.0, 1.0, 1 / 3),
}


@dataclass(frozen=True)
class Matern(ProductKernel):
    """The product over axes of one-dimensional Matern kernels: rougher functions.

    For d > 1 this is not the radial Matern kernel.

    Parameters
    ----------
    variance, lengthscale
        As for `RBF`.
    nu : {0.5, 1.5, 2.5}
        Smoothness: f has no, one or two derivatives.

    Examples
    --------
    >>> import numpy as np
    >>> import zonal as zn
    >>> kernel = zn.Matern(1.0, lengthscale=0.2, nu=0.5)
    >>> kernel(np.array([[0.0]]), np.array([[0.0], [0.2]])).round(3)
    array([[1.   , 0.368]])
    """

    nu: float = 2.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.nu, "nu", tuple(_MATERN))
        object.__setattr__(self, "nu", float(self.nu))

    @property
    def profile(self) -> Profile:
        """The kernel along one axis at lengthscale one."""
        return _MATERN[self.nu]


@dataclass(frozen=True)
class Categorical(Term):
    """A product over categorical axes: 1 where two symbols are equal, else a correlation.

    Parameters
    ----------
    variance : float
        Prior variance of f at a point, in squared value units.
    correlation : float or sequence of float
        From 0 (symbols have nothing in common) to 1 (the axis does not matter): one for all axes, or one per axis.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study(zn.Sequences("ACGT", 4), budget=40, kernel=zn.Categorical(1.0, 0.3), noise=0.1)
    >>> study.ask().region.name
    'AANN'
    """

    variance: float
    correlation: float | Sequence[float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", positive_number(self.variance, "the kernel's variance"))
        object.__setattr__(
            self, "correlation", one_or_several(self.correlation, "correlation", checked_correlation)
        )

    def correlations(self, d: int) -> Floats:
        """Return one correlation for each of `d` axes."""
        return _one_an_axis(self.correlation, d, "correlation")

    def along(self, symbols: Sequence[bool]) -> list[Factor]:
        """Return the factor of each axis; raise if one is continuous."""
        fix = "Use zn.RBF or zn.Matern, or multiply: zn.RBF(...) * zn.Categorical(...)."
        require(all(symbols), "this kernel compares symbols, and the space has a continuous axis", self, fix)
        return [CategoricalFactor(number) for number in self.correlations(len(symbols)).tolist()]

    def on_points(self, x: Floats, y: Floats) -> Floats:
        """Return the matrix k(x, y) of two sets of points, shapes (n, d) and (m, d)."""
        product = np.full((len(x), len(y)), self.variance)
        for j, correlation in enumerate(self.correlations(x.shape[1]).tolist()):
            product *= np.where(x[:, None, j] == y[None, :, j], 1.0, correlation)
        return product


@dataclass(frozen=True)
class Mixed(Term):
    """A kernel on continuous axes times one on categorical axes; write ``RBF(...) * Categorical(...)``."""

    continuous: ProductKernel
    categorical: Categorical

    def __post_init__(self) -> None:
        both = self.continuous, self.categorical
        right = isinstance(both[0], ProductKernel) and isinstance(both[1], Categorical)
        require(right, "this is not a product of two kernels", both, "Write zn.RBF(...) * zn.Categorical(...).")

    @property
    def variance(self) -> float:  # type: ignore[override]
        """The product of the two variances."""
        return self.continuous.variance * self.categorical.variance

    def along(self, symbols: Sequence[bool]) -> list[Factor]:
        """Return the factor of each axis; lengthscales and correlations are each in the order of their axes."""
        number = sum(symbols)
        problem = "this kernel is for spaces with both kinds of axes"
        require(0 < number < len(symbols), problem, self, "Pass one of its two factors.")
        scales = iter(self.continuous.along([False] * (len(symbols) - number)))
        matches = iter(self.categorical.along([True] * number))
        return [next(matches) if symbol else next(scales) for symbol in symbols]

    def on_points(self, x: Floats, y: Floats) -> Floats:
        """Raise: a bare point does not show which coordinates are symbols."""
        raise InvalidInput(
            "a mixed kernel is for spaces of axes, not for points", self, "Use one of its two factors."
        )
