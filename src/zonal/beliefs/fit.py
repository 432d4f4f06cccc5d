"""Learning the model from averages: kernel, noise and prior mean by maximum a posteriori.

The marginal likelihood is that of the collapsed rewards (one line a footprint), which equals that of all rewards
and costs D^3 instead of N^3. Gradients are analytic, for point, grid and exact averages alike: the derivative of
an average by the logarithm of a lengthscale is the average of another profile (`interval_means.Stretch`). Rewards
are standardised inside; all that goes out is in the user's units.

This room knows footprints, rewards and kernels; it must not know regions, trees or policies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, lapack

from zonal.beliefs.ledger import Data
from zonal.blas import one_thread
from zonal.covariance import Averages
from zonal.errors import InvalidInput
from zonal.feedback import Footprints
from zonal.interval_means import Stretch
from zonal.kernels import Kernel, Matern, ProductKernel

Floats = NDArray[np.float64]

# Log-normal priors, in standardised rewards and in widths of the axis: (median, std of the logarithm). A
# lengthscale of 1 % of an axis lies two standard deviations below the median, the whole axis one and a half above.
VARIANCE_PRIOR = (1.0, 1.5)
LENGTHSCALE_PRIOR = (0.15, 1.3)
NOISE_PRIOR = (0.2, 1.5)
MEAN_PRIOR = 3.0  # std
BOUNDS = {"variance": (1e-4, 1e4), "lengthscale": (2e-3, 5.0), "noise": (1e-4, 10.0)}
STARTS = (0.03, 0.12, 0.4)  # lengthscales in widths
STEP = 1e-3  # logarithms are rounded to it: the rest is not known, and another machine finds the same
Spec = Kernel | type[ProductKernel] | None


@dataclass(frozen=True)
class Unknowns:
    """What is to be learned; whatever is given is kept.

    Attributes
    ----------
    kernel : Kernel, kernel class or None
        A kernel is kept; a class (or None, which means Matern 5/2) has its parameters learned.
    noise : bool
        Whether the noise is learned.
    mean : float or None
        The prior mean, None if it is learned.
    """

    kernel: Spec
    noise: bool
    mean: float | None

    @property
    def family(self) -> type[ProductKernel] | None:
        """The class of the kernel to learn, None if the kernel is given."""
        if isinstance(self.kernel, Kernel):
            return None
        return Matern if self.kernel is None else self.kernel

    @property
    def any(self) -> bool:
        """Whether anything is to be learned."""
        return self.family is not None or self.noise or self.mean is None


@dataclass(frozen=True)
class Model:
    """A kernel, a noise and a prior mean, and how well they are known.

    Attributes
    ----------
    kernel : Kernel
    noise : float or None
        Standard deviation of one measurement; None where the user's own noise applies.
    mean : float
        Prior mean.
    spread : dict of str to float
        Standard deviation (Laplace's approximation) of the logarithm of each learned parameter: "variance",
        "lengthscale 0", "noise". About the relative error.
    measurements : int
        How many measurements it was learned from; 0 for a first guess.
    """

    kernel: Kernel
    noise: float | None
    mean: float
    spread: dict[str, float]
    measurements: int


class Pairs:
    """Averages along one axis between all pairs of lines, each distinct case computed once."""

    def __init__(self, centers: Floats, widths: Floats, family: ProductKernel, grid: Floats | None) -> None:
        gap = np.abs(centers[:, None] - centers)
        wide = np.maximum(widths[:, None], widths)
        narrow = np.minimum(widths[:, None], widths)
        size = float(widths.max()) or 1.0
        cases = np.round(np.stack([gap.ravel(), wide.ravel(), narrow.ravel()], axis=1) / size, 12)
        # One number a case sorts faster than rows of three do.
        _, first, where = np.unique(
            cases @ np.array([1.0, math.pi * 7, math.e * 49]), return_index=True, return_inverse=True
        )
        self._where = where.reshape(gap.shape)
        self._case = (gap.ravel()[first], wide.ravel()[first], narrow.ravel()[first])
        self._value = Averages(family.profile, 1.0, grid)
        self._slope = Averages(Stretch(family.profile), 1.0, grid)

    def __call__(self, lengthscale: float) -> tuple[Floats, Floats]:
        """Return all averages and their derivatives by the logarithm of the lengthscale."""
        scaled = [case / lengthscale for case in self._case]
        return self._value(*scaled)[self._where], self._slope(*scaled)[self._where]


class Posterior:
    """The negative logarithm of the posterior of the parameters, with gradient, in standardised rewards.

    Parameters are logarithms: variance and a lengthscale an axis (if the kernel is learned), noise (if it is).
    """

    def __init__(
        self, data: Data, footprints: Footprints, sides: Floats, grid: Floats | None, unknowns: Unknowns,
        prior: Floats | None,
    ) -> None:  # fmt: skip
        self._data, self._unknowns, self._sides = data, unknowns, sides
        weights = np.maximum(data.count, 1.0)
        self.shift = unknowns.mean if unknowns.mean is not None else float(np.average(data.mean, weights=weights))
        residual = data.mean - self.shift
        self.scale = math.sqrt(float(np.average(residual**2, weights=weights)) + data.scatter / weights.sum())
        if not self.scale > 1e-12 * abs(self.shift):  # nothing but rounding varies
            self.scale = max(abs(self.shift), 1.0)
        self._y = residual / self.scale
        self._scatter = data.scatter / self.scale**2
        self._given = None if prior is None else prior / self.scale**2
        family = unknowns.family
        self.names = [] if family is None else ["variance", *(f"lengthscale {j}" for j in range(len(sides)))]
        self.names += ["noise"] if unknowns.noise else []
        self._axes: list[Pairs] = []
        if family is not None:
            one = family(1.0, 1.0)
            self._axes = [
                Pairs(footprints.centers[:, j] / side, footprints.widths[:, j] / side, one, grid)
                for j, side in enumerate(sides)
            ]

    def prior(self, name: str) -> tuple[float, float, tuple[float, float]]:
        """Return median, standard deviation and bounds of a parameter's logarithm."""
        kind = name.split()[0]
        median, std = {"variance": VARIANCE_PRIOR, "lengthscale": LENGTHSCALE_PRIOR, "noise": NOISE_PRIOR}[kind]
        low, high = BOUNDS[kind]
        return math.log(median), std, (math.log(low), math.log(high))

    def __call__(self, parameters: Floats) -> tuple[float, Floats]:
        """Return minus the log posterior and its gradient (numerics: collapsed marginal likelihood)."""
        covariance, slopes = self._covariance(parameters)
        if self._unknowns.noise:
            s2 = math.exp(2 * parameters[-1])
            own = self._own(math.sqrt(s2))
            slopes.append(np.diag(np.where(self._data.count > 0, 2 * own, 0.0)))
        else:
            own = self._own(0.0)
        q = covariance + np.diag(own)
        factor, info = lapack.dpotrf(q, lower=1, clean=1)
        if info:
            factor, info = lapack.dpotrf(q + 1e-10 * np.diag(np.diag(q)), lower=1, clean=1)
            if info:
                return math.inf, np.zeros(len(parameters))
        mean, penalty = self._mean(factor)
        y = self._y - mean
        inverse = cho_solve((factor, True), np.eye(len(y)), check_finite=False)
        alpha = inverse @ y
        value = 0.5 * float(y @ alpha) + float(np.sum(np.log(np.diag(factor)))) + penalty
        weight = inverse - np.outer(alpha, alpha)
        gradient = np.array([0.5 * float(np.sum(weight * slope)) for slope in slopes])
        if self._unknowns.noise:
            value += self._data.extra * parameters[-1] + self._scatter / (2 * s2)
            gradient[-1] += self._data.extra - self._scatter / s2
        for j, name in enumerate(self.names):
            center, std, _ = self.prior(name)
            value += 0.5 * ((parameters[j] - center) / std) ** 2
            gradient[j] += (parameters[j] - center) / std**2
        return value, gradient

    def mean(self, parameters: Floats) -> float:
        """Return the best prior mean given the other parameters, in the user's units."""
        covariance, _ = self._covariance(parameters)
        noise = math.exp(parameters[-1]) if self._unknowns.noise else 0.0
        own = self._own(noise)
        factor, _ = lapack.dpotrf(covariance + np.diag(own + 1e-10 * np.diag(covariance)), lower=1, clean=1)
        return self.shift + self.scale * self._mean(factor)[0]

    def _own(self, noise: float) -> Floats:
        """Return the noise variance of each line's mean."""
        return self._data.noise_variance(noise * self.scale) / self.scale**2

    def _mean(self, factor: Floats) -> tuple[float, float]:
        """Return the prior mean at its best, and what its own prior costs."""
        if self._unknowns.mean is not None:
            return 0.0, 0.0
        ones = cho_solve((factor, True), np.ones(len(self._y)), check_finite=False)
        mean = float(ones @ self._y) / (float(ones.sum()) + 1 / MEAN_PRIOR**2)
        return mean, 0.5 * (mean / MEAN_PRIOR) ** 2

    def _covariance(self, parameters: Floats) -> tuple[Floats, list[Floats]]:
        """Return the covariance of the lines and its derivatives by the kernel's parameters."""
        if self._given is not None:
            return self._given, []
        values, slopes = zip(
            *(pairs(math.exp(log)) for pairs, log in zip(self._axes, parameters[1:], strict=False)), strict=True
        )
        variance = math.exp(parameters[0])
        product = variance * np.prod(values, axis=0)
        by_axis = [
            variance * slope * np.prod([v for k, v in enumerate(values) if k != j], axis=0)
            for j, slope in enumerate(slopes)
        ]
        return product, [product, *by_axis]


def fit(
    data: Data, footprints: Footprints, sides: Floats, grid: Floats | None, unknowns: Unknowns,
    prior: Callable[[], Floats], previous: Model | None, total: int,
) -> Model:  # fmt: skip
    """Learn what is unknown.

    Parameters
    ----------
    data : Data
        Rewards, collapsed.
    footprints : Footprints
        Of the data's lines.
    sides : array, shape (d,)
        Lengths of the space's axes.
    grid : array or None
        Where along an axis a measurement looks; None for everywhere.
    unknowns : Unknowns
        What to learn.
    prior : callable
        Returns the prior covariance of the lines, for a kernel that is given.
    previous : Model, optional
        A start from an earlier fit.
    total : int
        Measurements behind the data.
    """
    with one_thread():
        given = prior() if unknowns.family is None else None
        return _fit(data, footprints, sides, grid, unknowns, given, previous, total)


def _fit(
    data: Data, footprints: Footprints, sides: Floats, grid: Floats | None, unknowns: Unknowns,
    given: Floats | None, previous: Model | None, total: int,
) -> Model:  # fmt: skip
    from scipy.optimize import minimize

    posterior = Posterior(data, footprints, sides, grid, unknowns, given)
    best = np.zeros(0)
    if posterior.names:
        bounds = [posterior.prior(name)[2] for name in posterior.names]
        answers = [
            minimize(posterior, np.clip(start, *np.transpose(bounds)), jac=True, method="L-BFGS-B", bounds=bounds,
                     options={"maxiter": 60, "ftol": 1e-10, "gtol": 1e-6})
            for start in _starts(posterior, previous, unknowns, sides)
        ]  # fmt: skip
        best = np.round(min(answers, key=lambda answer: float(answer.fun)).x / STEP) * STEP
    return _model(posterior, best, unknowns, sides, total)


def _starts(posterior: Posterior, previous: Model | None, unknowns: Unknowns, sides: Floats) -> list[Floats]:
    centers = {name: posterior.prior(name)[0] for name in posterior.names}
    if unknowns.family is None:
        return [np.array(list(centers.values()))]
    starts = []
    for lengthscale in STARTS:
        start = centers | {name: math.log(lengthscale) for name in posterior.names if "length" in name}
        starts.append(np.array(list(start.values())))
    if previous is not None and previous.measurements and isinstance(previous.kernel, ProductKernel):
        scales = previous.kernel.lengthscales(len(sides)) / sides
        again = [math.log(previous.kernel.variance / posterior.scale**2), *np.log(scales)]
        if unknowns.noise and previous.noise is not None:
            again.append(math.log(max(previous.noise / posterior.scale, 1e-4)))
        starts = [np.array(again), *starts[::2]]
    return starts


def _model(posterior: Posterior, best: Floats, unknowns: Unknowns, sides: Floats, total: int) -> Model:
    values = dict(zip(posterior.names, np.exp(best).tolist(), strict=True))
    kernel = unknowns.kernel
    family = unknowns.family
    if family is not None:
        scales = [values[f"lengthscale {j}"] * float(side) for j, side in enumerate(sides)]
        kernel = family(values["variance"] * posterior.scale**2, scales[0] if len(scales) == 1 else tuple(scales))
    assert isinstance(kernel, Kernel)
    noise = values["noise"] * posterior.scale if unknowns.noise else None
    mean = posterior.mean(best) if unknowns.mean is None else unknowns.mean
    return Model(kernel, noise, mean, _laplace(posterior, best), total)


def _laplace(posterior: Posterior, best: Floats) -> dict[str, float]:
    """Return the standard deviations of the logarithms, from the curvature at the optimum."""
    if len(best) == 0:
        return {}
    step = 1e-4
    curvature = np.array(
        [
            (posterior(best + step * unit)[1] - posterior(best - step * unit)[1]) / (2 * step)
            for unit in np.eye(len(best))
        ]
    )
    values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
    # At a bound the curvature may vanish or turn; the prior's own is the least that is known.
    floor = 1 / max(VARIANCE_PRIOR[1], LENGTHSCALE_PRIOR[1], NOISE_PRIOR[1]) ** 2
    variances = (vectors**2) @ (1 / np.maximum(values, floor))
    return dict(zip(posterior.names, np.sqrt(variances).tolist(), strict=True))


def first_guess(unknowns: Unknowns, sides: Floats, rewards: list[float]) -> Model:
    """Return a model to go by until there is enough to learn from."""
    spread = float(np.std(rewards)) if len(rewards) > 1 else 0.0
    centre = float(np.mean(rewards)) if rewards else 0.0
    scale = spread if spread > 1e-12 * abs(centre) else (max(abs(centre), 1.0))
    kernel = unknowns.kernel
    if unknowns.family is not None:
        scales = tuple((LENGTHSCALE_PRIOR[0] * sides).tolist())
        kernel = unknowns.family(scale**2, scales[0] if len(scales) == 1 else scales)
    if not isinstance(kernel, Kernel):
        raise InvalidInput(
            "kernel must be a kernel, a kernel class or None", kernel, "Pass zn.Matern, for example."
        )
    if unknowns.family is None:
        scale = math.sqrt(kernel.point_variance)
    noise = NOISE_PRIOR[0] * scale if unknowns.noise else None
    return Model(kernel, noise, centre if unknowns.mean is None else unknowns.mean, {}, 0)
