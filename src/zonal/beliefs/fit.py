"""Learning the model from averages: kernel, noise and prior mean by maximum a posteriori.

The marginal likelihood is that of the collapsed rewards (one line a footprint), which equals that of all rewards
and costs D^3 instead of N^3. Gradients are analytic, for point, grid and exact averages alike (`frames.py`).
Rewards are standardised inside; all that goes out is in the user's units.

This room knows footprints, rewards and kernels; it must not know regions, trees or policies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, lapack

from zonal.averages.feedback import AnyFootprints
from zonal.averages.kernels import Kernel
from zonal.beliefs.frames import Contract, Family, Frame, Lines, axis_parameters, kernel_from, parameter_names
from zonal.beliefs.ledger import Data
from zonal.blas import one_thread
from zonal.tables.listings import card

Floats = NDArray[np.float64]

# Log-normal priors, in standardised rewards and in widths of the axis: (median, std of the logarithm). A
# lengthscale of 1 % of an axis lies two standard deviations below the median, the whole axis one and a half above.
VARIANCE_PRIOR = (1.0, 1.5)
LENGTHSCALE_PRIOR = (0.15, 1.3)
NOISE_PRIOR = (0.2, 1.5)
MEAN_PRIOR = 3.0  # std
# Log-odds of the correlations of symbols: all axes share a part of this std, about 0, and each has one of its own.
CORRELATION_PRIOR = (1.5, 0.7)
BOUNDS = {"variance": (1e-4, 1e4), "lengthscale": (2e-3, 5.0), "noise": (1e-4, 10.0), "correlation": (1e-3, 1e3)}
STARTS = (0.03, 0.12, 0.4)  # lengthscales in widths
STARTS_OF_SYMBOLS = (0.4, 1.0, 4.0)  # odds of correlations
FEW_STEPS, STEPS = 8, 60
EPSILON = float(np.finfo(float).eps)
SMALLEST = 1e-150  # scale of rewards: a variance is its square
STEP = 1e-3  # logarithms are rounded to it: the rest is not known, and another machine finds the same
Spec = Kernel | Family | None


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
    def given(self) -> Kernel | None:
        """The kernel, if it is given."""
        return self.kernel if isinstance(self.kernel, Kernel) else None

    @property
    def any(self) -> bool:
        """Whether anything is to be learned."""
        return self.given is None or self.noise or self.mean is None

    @property
    def wanted(self) -> Family | None:
        """The class of the kernel to learn, if one is wanted."""
        return None if isinstance(self.kernel, Kernel) else self.kernel

    def family(self, frame: Frame) -> Family:
        """Return the class of the kernel to learn."""
        return frame.family(self.wanted)


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
        "lengthscale 0", "noise", which is about the relative error; for "correlation 0" of its log-odds.
    measurements : int
        How many measurements it was learned from; 0 for a first guess.
    """

    kernel: Kernel
    noise: float | None
    mean: float
    spread: dict[str, float]
    measurements: int

    def _repr_html_(self) -> str:
        """Return what was learned, for a notebook."""
        known = {f"relative error of {name}": spread for name, spread in self.spread.items()}
        facts = {"kernel": self.kernel, "noise": self.noise, "prior mean": self.mean, **known}
        return card("Model", facts | {"learned from": f"{self.measurements} measurements"})


def standard_units(data: Data, mean: float | None) -> tuple[float, float]:
    """Return shift (the prior mean, if it is given) and scale that standardise rewards."""
    return _units(data.mean, np.maximum(data.count, 1.0), data.scatter, mean)


def _units(values: Floats, weights: Floats, scatter: float, mean: float | None) -> tuple[float, float]:
    first = float(values[0])  # counted from it, values that are all the same differ by nothing, not by rounding
    shift = mean if mean is not None else first + float(np.average(values - first, weights=weights))
    off = values - shift
    top = max(float(np.max(np.abs(off))), math.sqrt(scatter))
    if top <= 4 * EPSILON * abs(shift):  # nothing but rounding varies
        return shift, max(abs(shift), SMALLEST) if shift else 1.0
    # In units of the largest, so that no square underflows.
    squares = float(np.average((off / top) ** 2, weights=weights)) + scatter / top / top / float(weights.sum())
    return shift, max(top * math.sqrt(squares), SMALLEST)


class Posterior:
    """The negative logarithm of the posterior of the parameters, with gradient, in standardised rewards.

    Parameters are logarithms: variance and a lengthscale an axis (if the kernel is learned; of symbols the
    log-odds of a correlation), noise (if it is).
    """

    def __init__(
        self, data: Data, footprints: AnyFootprints, frame: Frame, unknowns: Unknowns, given: Floats | None
    ) -> None:
        self._data, self._unknowns = data, unknowns
        self.shift, self.scale = standard_units(data, unknowns.mean)
        residual = data.mean - self.shift
        self._y = residual / self.scale
        self._scatter = data.scatter / self.scale**2
        self._given = None if given is None else given / self.scale**2
        self._lines: Lines | None = None
        self.names: list[str] = []
        if unknowns.given is None:
            self._lines = frame.lines(footprints, unknowns.family(frame))
            self.names = parameter_names(frame.symbols)
        self.names += ["noise"] if unknowns.noise else []
        self.center = np.array([self.prior(name)[0] for name in self.names])
        self.precision = np.linalg.inv(self._prior_covariance()) if self.names else np.zeros((0, 0))

    def _prior_covariance(self) -> Floats:
        """Return the prior covariance of the parameters: correlations of symbols have a part in common."""
        covariance = np.diag([self.prior(name)[1] ** 2 for name in self.names])
        symbols = np.array([name.startswith("correlation") for name in self.names])
        covariance[np.ix_(symbols, symbols)] += CORRELATION_PRIOR[0] ** 2
        return np.asarray(covariance)

    def prior(self, name: str) -> tuple[float, float, tuple[float, float]]:
        """Return median, standard deviation (its own part) and bounds of a parameter's logarithm."""
        kind = name.split()[0]
        median, std = {
            "variance": VARIANCE_PRIOR,
            "lengthscale": LENGTHSCALE_PRIOR,
            "noise": NOISE_PRIOR,
            "correlation": (1.0, CORRELATION_PRIOR[1]),
        }[kind]
        low, high = BOUNDS[kind]
        return math.log(median), std, (math.log(low), math.log(high))

    def __call__(self, parameters: Floats) -> tuple[float, Floats]:
        """Return minus the log posterior and its gradient (numerics: collapsed marginal likelihood)."""
        covariance, contract = self._covariance(parameters)
        s2 = math.exp(2 * parameters[-1]) if self._unknowns.noise else 0.0
        own = self._own(math.sqrt(s2))
        q = covariance + np.diag(own)
        factor, info = lapack.dpotrf(q, lower=1, clean=1)
        if info:
            factor, info = lapack.dpotrf(q + 1e-10 * np.diag(np.diag(q)), lower=1, clean=1)
            if info:
                return math.inf, np.zeros(len(parameters))
        mean, penalty = self._mean(factor)
        y = self._y - mean
        inverse = _inverse(factor)
        alpha = inverse @ y
        value = 0.5 * float(y @ alpha) + float(np.sum(np.log(np.diag(factor)))) + penalty
        weight = inverse - np.outer(alpha, alpha)
        gradient = 0.5 * contract(weight)
        if self._unknowns.noise:
            by_noise = float(np.diag(weight) @ np.where(self._data.count > 0, own, 0.0))
            value += self._data.extra * parameters[-1] + self._scatter / (2 * s2)
            gradient = np.append(gradient, by_noise + self._data.extra - self._scatter / s2)
        off = parameters - self.center
        value += 0.5 * float(off @ self.precision @ off)
        return value, gradient + self.precision @ off

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

    def _covariance(self, parameters: Floats) -> tuple[Floats, Contract]:
        """Return the covariance of the lines, and what contracts a matrix with its derivatives."""
        if self._lines is None:
            assert self._given is not None
            return self._given, lambda weight: np.zeros(0)
        return self._lines(parameters)


def _inverse(factor: Floats) -> Floats:
    """Return the inverse of a matrix from its lower Cholesky factor."""
    lower, info = lapack.dpotri(factor, lower=1)
    assert info == 0, info
    return np.asarray(lower + np.tril(lower, -1).T)


def fit(
    data: Data, footprints: AnyFootprints, frame: Frame, unknowns: Unknowns, previous: Model | None, total: int
) -> Model:
    """Learn what is unknown.

    Parameters
    ----------
    data : Data
        Rewards, collapsed.
    footprints : Footprints or Subsets
        Of the data's lines.
    frame : Frame
        The space as learning sees it.
    unknowns : Unknowns
        What to learn.
    previous : Model, optional
        A start from an earlier fit.
    total : int
        Measurements behind the data.
    """
    with one_thread():
        given = None if unknowns.given is None else frame.covariance(unknowns.given).among(footprints)
        return _fit(Posterior(data, footprints, frame, unknowns, given), frame, unknowns, previous, total)


def _fit(posterior: Posterior, frame: Frame, unknowns: Unknowns, previous: Model | None, total: int) -> Model:
    from scipy.optimize import minimize

    best = np.zeros(0)
    if posterior.names:
        bounds = [posterior.prior(name)[2] for name in posterior.names]

        def climb(start: Floats, steps: int) -> Any:
            inside = np.clip(start, *np.transpose(bounds))
            return minimize(posterior, inside, jac=True, method="L-BFGS-B", bounds=bounds,
                            options={"maxiter": steps, "ftol": 1e-10, "gtol": 1e-6})  # fmt: skip

        # A few steps from every start tell which hill is the highest; the rest of the way is made once.
        hills = [climb(start, FEW_STEPS) for start in _starts(posterior, frame, previous, unknowns)]
        highest = min(hills, key=lambda answer: float(answer.fun))
        best = np.round(climb(highest.x, STEPS).x / STEP) * STEP
    return _model(posterior, best, frame, unknowns, total)


def _starts(posterior: Posterior, frame: Frame, previous: Model | None, unknowns: Unknowns) -> list[Floats]:
    if unknowns.given is not None:
        return [posterior.center]
    starts = []
    for lengthscale, odds in zip(STARTS, STARTS_OF_SYMBOLS, strict=True):
        start = posterior.center.copy()
        start[1 : 1 + len(frame.symbols)] = np.where(frame.symbols, math.log(odds), math.log(lengthscale))
        starts.append(start)
    if previous is not None and previous.measurements:
        again = [math.log(previous.kernel.point_variance / posterior.scale**2)]
        again += _to_parameters(axis_parameters(previous.kernel, frame.symbols), frame).tolist()
        if unknowns.noise and previous.noise is not None:
            again.append(math.log(max(previous.noise / posterior.scale, 1e-4)))
        starts = [np.array(again), *starts[::2]]
    return starts


def _to_parameters(values: Floats, frame: Frame) -> Floats:
    """Return logarithms of lengthscales in widths, and log-odds of correlations."""
    symbols = np.array(frame.symbols)
    odds = np.clip(values, 1e-9, 1 - 1e-9)
    return np.where(symbols, np.log(odds / (1 - odds)), np.log(np.where(symbols, 1.0, values) / frame.sides))


def _from_parameters(parameters: Floats, frame: Frame) -> Floats:
    """Return lengthscales in the axes' own units, and correlations."""
    return np.where(frame.symbols, 1 / (1 + np.exp(-parameters)), np.exp(parameters) * frame.sides)


def _model(posterior: Posterior, best: Floats, frame: Frame, unknowns: Unknowns, total: int) -> Model:
    kernel = unknowns.given
    if kernel is None:
        axes = _from_parameters(best[1 : 1 + len(frame.symbols)], frame)
        variance = math.exp(best[0]) * posterior.scale**2
        kernel = kernel_from(unknowns.family(frame), variance, axes, frame.symbols)
    noise = math.exp(best[-1]) * posterior.scale if unknowns.noise else None
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


def first_guess(unknowns: Unknowns, frame: Frame, rewards: list[float]) -> Model:
    """Return a model to go by until there is enough to learn from."""
    centre, scale = _units(np.array(rewards), np.ones(len(rewards)), 0.0, None) if rewards else (0.0, 1.0)
    kernel = unknowns.given
    if kernel is None:
        usual = np.where(frame.symbols, 0.5, LENGTHSCALE_PRIOR[0] * frame.sides)
        kernel = kernel_from(unknowns.family(frame), scale**2, usual, frame.symbols)
    else:
        scale = math.sqrt(kernel.point_variance)
    noise = NOISE_PRIOR[0] * scale if unknowns.noise else None
    return Model(kernel, noise, centre if unknowns.mean is None else unknowns.mean, {}, 0)
