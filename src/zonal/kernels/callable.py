"""Kernels that the user wrote, tested before use: functions of finite sets of points, and profiles along axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from zonal._types import Floats
from zonal.errors import InvalidInput, require
from zonal.kernels.base import Kernel, KernelAxis, StationaryFactor, Term
from zonal.kernels.spectrum import Motif
from zonal.kernels.stationary import Closed

NEEDED = "variance", "along", "variation", "on_points"  # of every term of a kernel
TRIED_PLACES = 48  # along an axis, at which a profile is tested


@dataclass(frozen=True)
class Custom(Kernel):
    """Any positive semi-definite function of finitely many points. Made by `custom`."""

    function: Callable[[Floats, Floats], ArrayLike]
    variance: float

    @property
    def point_variance(self) -> float:
        """The largest prior variance of f among the points it was tested on."""
        return self.variance

    @property
    def terms(self) -> tuple[Term, ...]:
        """Raise: this kernel is not a product over axes."""
        raise InvalidInput(
            "a kernel that is a function of points is for Points and Hierarchy",
            self.function,
            "Use RBF or Matern.",
        )

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Floats:
        """Return the matrix k(x, y) of two sets of points, shapes (n, d) and (m, d)."""
        return np.asarray(self.function(np.asarray(x, dtype=float), np.asarray(y, dtype=float)), dtype=float)


def is_kernel(kernel: Any) -> TypeGuard[Kernel]:
    """Tell whether something is a kernel with all methods that are needed."""
    if not isinstance(kernel, Kernel) or isinstance(kernel, Custom):
        return isinstance(kernel, Kernel)
    return bool(kernel.terms) and all(hasattr(term, name) for term in kernel.terms for name in NEEDED)


def check_profiles(kernel: Kernel, axes: Sequence[KernelAxis], sides: Floats) -> None:
    """Test the profiles of a kernel along axes of some lengths; raise if one is not a correlation function."""
    if isinstance(kernel, Custom):  # tested on its own points
        return
    for term in kernel.terms:
        if isinstance(term, Motif):
            continue
        try:
            factors = term.along([axis.is_categorical for axis in axes])
        except InvalidInput:  # whether a kernel fits the space is judged with the belief, which knows why not
            continue
        for axis, side, factor in zip(axes, sides.tolist(), factors, strict=True):
            if isinstance(factor, StationaryFactor) and not isinstance(factor.profile, Closed):  # user-defined
                _check_profile(factor, side, type(term).__name__)  # before it is wrapped around a ring
                wrapped = axis.factor(factor)
                assert isinstance(wrapped, StationaryFactor)
                if wrapped is not factor:
                    _check_profile(wrapped, side, type(term).__name__)


def _check_profile(factor: StationaryFactor, side: float, name: str) -> None:
    """Test one profile at places evenly spread along an axis."""
    places = np.linspace(0.0, side / factor.lengthscale, TRIED_PLACES)
    apart = np.abs(places[:, None] - places)
    fix = "Correct its profile: value(r) is 1 at r = 0, and value(|x - y|) of any points is a covariance matrix."
    try:
        values = np.asarray(factor.profile.value(apart.ravel().copy()), dtype=float)
    except Exception as error:
        raise InvalidInput(f"the profile of the kernel fails ({error})", name, fix) from error
    fits = values.shape == (apart.size,) and bool(np.isfinite(values).all())
    require(fits, "the profile of the kernel must return a finite number for each distance", name, fix)
    correlation = values.reshape(apart.shape)
    at_zero = float(correlation[0, 0])
    require(abs(at_zero - 1) <= 1e-6, f"the profile of the kernel is {at_zero:.6g} at distance 0", name, fix)
    lowest = float(np.linalg.eigvalsh(correlation)[0])
    definite = lowest >= -1e-8 * len(places)
    problem = f"the kernel is not positive semi-definite over {side / factor.lengthscale:.3g} lengthscales"
    require(definite, f"{problem} (eigenvalue {lowest:.3g})", name, fix)
    mirrored = np.asarray(factor.profile.value(-apart[0].copy()), dtype=float)
    even = mirrored.shape == apart[0].shape and np.allclose(mirrored, correlation[0], rtol=0, atol=1e-9)
    turned = "Distances are of either sign here: write abs(r) in its profile."
    require(even, "the profile of the kernel is not the same at r and at -r", name, turned)


def custom(
    function: Callable[[Floats, Floats], ArrayLike],  # of points, (n, d) and (m, d), to covariances, (n, m)
    points: Floats,  # shape (n, d): where to test it
) -> Custom:
    """Return a kernel from a function, after testing it on some points."""
    name = getattr(function, "__name__", function)
    fix = "Pass a function of (n, d) and (m, d) that returns an (n, m) positive semi-definite matrix."
    try:
        gram = np.asarray(function(points, points[: len(points) // 2 + 1]), dtype=float)
        square = np.asarray(function(points, points), dtype=float)
    except Exception as error:
        raise InvalidInput(f"the kernel fails on points of shape {points.shape} ({error})", name, fix) from error
    fits = gram.shape == (len(points), len(points) // 2 + 1) and square.shape == (len(points), len(points))
    require(fits, f"the kernel returns the wrong shape, {square.shape}", name, fix)
    require(np.isfinite(square).all(), "the kernel returns values that are not finite", name, fix)
    scale = float(np.max(np.diag(square)))
    symmetric = scale > 0 and np.allclose(square, square.T, rtol=0, atol=1e-9 * scale)
    require(symmetric, "the kernel is not symmetric with a positive diagonal", name, fix)
    lowest = float(np.linalg.eigvalsh((square + square.T) / 2)[0])
    definite = lowest >= -1e-8 * scale * len(points)
    require(definite, f"the kernel is not positive semi-definite (eigenvalue {lowest:.3g})", name, fix)
    return Custom(function, scale)
