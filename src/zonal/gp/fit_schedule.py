"""When to learn the model, and when not to trust it.

A first guess is used for one and two measurements. Then the models are learned after every measurement up to
`EVERY`, and later whenever the number of measurements has grown by an eighth (a quarter or a half where that is
costly). In between, the weights of the models change with every reward. If the user gave the model and it does not
fit, there is one warning.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from zonal._types import Floats, Ints
from zonal.gp.functional_index import FunctionalIndex, Keys
from zonal.gp.hyperparameters import MOST_ALONE, RATIOS, Correlate, Fit, WeightedModel, fit_posterior
from zonal.gp.kernel_families import Family, ModelSpace
from zonal.gp.model import SMALLEST, Model, ModelSpec, default_model, standardize
from zonal.gp.noise_laws import CONSTANT
from zonal.gp.offsets import OffsetGrid
from zonal.gp.stats import ObservationStats, StatsArrays
from zonal.kernels.base import Kernel
from zonal.kernels.combinations import AnyPairs

ENOUGH = 3  # measurements from which parameters are learned
EVERY = 20  # measurements up to which every one leads to a fit
BADLY_OFF = 2.5  # times larger than expected; if the model is right, 1.5 is already rare
MEDIAN = 0.6745  # of the absolute value of a standard normal variable
MANY, SURE = 32, 0.9  # models that a given one is compared with, and the share of them that must contradict it
SMALL = 0.08  # of the rewards' std: noise that the grid can hardly tell from zero
FIRST_CHECK = 12  # measurements
LEFT_OUT = 2.0  # of the variance, per axis and over the number of measurements
MOST_WEIGHED = 1000  # lines of rewards on which models are weighed
CURVE_BITS = 60  # of an order of positions
REPEATS = 4  # before noise may depend on size, of members with coordinates
LEAST = 10  # residuals, or repeats, needed for a check


class FitState(NamedTuple):
    """What has been learned so far."""

    fit: Fit  # the models in use
    learned_from: int = 0  # number of rewards used by the fit, or by the first guess
    due: int = 1  # number of rewards at which to learn again
    warned: bool = False  # whether the user was warned that the model does not fit
    anew: bool = True  # whether the fit follows from the rewards alone, not also from earlier fits

    def checks(self, before: int, total: int) -> bool:
        """Tell whether to check the model after `total` rewards: at 12, 24, 48, ..."""
        times = total // FIRST_CHECK
        return not self.warned and before < times * FIRST_CHECK and times > 0 and times & (times - 1) == 0


class ModelFitter:
    """Learns models from rewards, if anything is to be learned; it has no state of its own."""

    def __init__(self, unknowns: ModelSpec, frame: ModelSpace, learns: bool = True) -> None:
        self.unknowns = unknowns  # what is learned, if the belief has models at all
        self.learns = learns and (
            unknowns.given is None
            or unknowns.noise
            or unknowns.mean is None
            or unknowns.beam
            or unknowns.offsets > 0
        )
        self._frame = frame

    @property
    def n_steps(self) -> int:
        """The number of parameters with a grid: lengthscales, correlations, a beam's width, sizes of offsets."""
        axes = 0 if self.unknowns.given else len(self._frame.symbols)
        return axes + self.unknowns.beam + self.unknowns.offsets

    def begin(self) -> FitState:
        """Return what is known before the first reward."""
        return FitState(_alone(default_model(self.unknowns, self._frame, [])))

    def stale(self, state: FitState, total: int) -> bool:
        """Tell whether rewards came in since the last fit."""
        return self.learns and total > state.learned_from

    def learn(self, state: FitState | None, ledger: ObservationStats, tracked: FunctionalIndex) -> Fit:
        """Return the models given all rewards; the search starts from `state`, or covers everything."""
        data = ledger.data(total_weights=tracked.total_weights)
        total, frame, unknowns = ledger.total, self._frame, self.unknowns
        if total < ENOUGH:
            return _alone(default_model(unknowns, frame, data.mean[data.averages].tolist()))
        data, keys, weighed_on = self._weighed(data, tracked)
        covariance = None
        correlate = frame.correlate(keys)
        if unknowns.given is not None:
            pairs = frame.layout.pairs(keys, keys)
            covariance = None if unknowns.beam else frame.covariance(unknowns.given).of(pairs)
            correlate = _under_given(unknowns.given, frame, pairs)
        before, wider = None if state is None else state.fit, self._widening(total)
        sizes = tracked.sizes(data.slots) if unknowns.laws[1:] and self._may_tell_laws(data) else None
        search = correlate, covariance, before, total, frame.models, wider, sizes, _offsets(data, tracked)
        fit = fit_posterior(data, frame, unknowns, *search)
        return replace(fit, model=replace(fit.model, weighed_on=weighed_on)) if weighed_on else fit

    def _may_tell_laws(self, data: StatsArrays) -> bool:
        """Tell whether readings may show how noise depends on size.

        Where single regions stand out from their neighbours, small ones scatter more than large ones, as under
        noise that falls with size. Of members with coordinates some repeats have to show which it is; without
        distances all regions stand out.
        """
        return not all(self._frame.symbols) and (not self._frame.costly or data.extra >= REPEATS)

    def _weighed(self, data: StatsArrays, tracked: FunctionalIndex) -> tuple[StatsArrays, Keys, int]:
        """Return the rewards that models are weighed on, the keys of their regions, and how many if not all."""
        keys, weighed_on = tracked.keys.take(data.slots, axis=1), 0
        if len(data.slots) > MOST_WEIGHED:
            chosen = spread_over(self._frame.positions(keys), data.mean, MOST_WEIGHED)
            data, keys, weighed_on = data.at(chosen), keys.take(chosen, axis=1), MOST_WEIGHED
        return data, keys, weighed_on

    def _widening(self, total: int) -> float:
        """Return by how much standard deviations are widened under a learned kernel, as of Student's t.

        Of all lengthscales only the likeliest are tried, and a few models represent them: the more axes there are,
        and the fewer measurements, the more is left out.
        """
        if self.unknowns.given is not None:
            return 1.0
        axes = len(self._frame.symbols)
        return math.sqrt(1 + LEFT_OUT * (axes if axes <= MOST_ALONE else 1) / total)

    def adopt(self, state: FitState, fit: Fit, total: int, anew: bool) -> FitState:
        """Return what is known after switching to a new fit of `total` rewards."""
        growth = self._frame.growth if self._frame.costly or total >= EVERY else 0.0
        due = total + max(1, int(growth * total))
        return state._replace(fit=fit, learned_from=total, due=due, anew=anew)

    def check(self, residuals: Floats, repeats: int, chi2: float) -> str:
        """Compare a fully given model with the measurements; return a warning, or "".

        Residuals are leave-one-out and standardised; chi2 is the scatter of repeats in units of noise variances.
        """
        scatter = math.sqrt(chi2 / repeats) if repeats >= LEAST else math.nan
        # The median: a few are large where f has a peak, but only a wrong model makes most of them large.
        ordered, half = sorted(np.abs(residuals).tolist()), len(residuals) // 2
        miss = (ordered[half] + ordered[~half]) / 2 / MEDIAN if len(residuals) >= LEAST else math.nan
        if scatter >= BADLY_OFF:
            much = f"{_times(scatter)} times as much as noise= implies"
            return f"repeated measurements scatter {much}; pass noise=None."
        if miss >= BADLY_OFF:
            return (
                f"measurements differ from what the others predict by {_times(miss)} times as much as the given "
                "kernel, noise and mean imply; pass kernel=None, noise=None or mean=None to have them learned."
            )
        return ""

    def lost(self, ledger: ObservationStats, tracked: FunctionalIndex) -> str:
        """Return a warning if rewards differ so little that their squares vanish, or ""."""
        spread = float(np.ptp(ledger.data(total_weights=tracked.total_weights).mean)) if ledger.total else 0.0
        if not 0 < spread < SMALLEST:
            return ""
        return (
            f"measurements differ by {spread:.3g} at most, too little to be squared; tell them in a smaller unit."
        )

    def model_warning(
        self, state: FitState, ledger: ObservationStats, tracked: FunctionalIndex, noise: float | None
    ) -> str:
        """Compare what was given with what would be learned in its place; return a warning, or "".

        `noise` is what was given, if it is one number.
        """
        given_kernel = self.unknowns.given is not None
        spec, held, forget = self.unknowns.kernel, noise, noise
        if given_kernel:
            spec, held, forget = None, state.fit.model.noise, None
        if self.unknowns.noise != given_kernel or held is None:
            return ""  # nothing was given, or not a single number
        data, keys, _ = self._weighed(ledger.data(forget, tracked.total_weights), tracked)
        unknowns = replace(self.unknowns, kernel=spec, noise=True, laws=(CONSTANT,))
        free = fit_posterior(
            data,
            self._frame,
            unknowns,
            self._frame.correlate(keys),
            None,
            None,
            ledger.total,
            MANY,
            offsets=_offsets(data, tracked),
        )
        learned_noise = free.model.noise
        assert learned_noise is not None
        larger, smaller = _far_off(data, free, held)
        if not given_kernel and max(larger, smaller) > SURE:
            scatter = f"the measurements scatter as if noise were {learned_noise:.3g}, not {held:.3g}"
            return f"{scatter}; pass noise=None."
        if given_kernel and smaller > SURE:
            return (
                f"the given kernel leaves {_times(held / learned_noise)} times as much unexplained as one "
                "learned from the measurements; pass kernel=None."
            )
        return ""


def spread_over(positions: Floats, values: Floats, number: int) -> Ints:
    """Return which of many positions, shape (n, d) between 0 and 1, are a spread of a certain `number` of them.

    They are equally far apart in the order of a curve through space (Morton's), so that no part of it is left out
    and neighbours stay. The order of the positions has no influence; equal positions go by value.
    """
    d = positions.shape[1]
    bits = max(CURVE_BITS // d, 1)
    parts = np.minimum((np.clip(positions, 0, 1) * 2**bits).astype(np.int64), 2**bits - 1)
    code = np.zeros(len(parts), dtype=np.int64)
    for bit in reversed(range(bits)):
        for axis in range(min(d, CURVE_BITS)):
            code = 2 * code + (parts[:, axis] >> bit & 1)
    order = np.lexsort((values, code))
    return np.sort(order[((np.arange(number) + 0.5) * len(order) / number).astype(np.intp)])


def _under_given(kernel: Kernel, frame: ModelSpace, pairs: AnyPairs) -> Correlate:
    """Return the function that turns the width of a beam, if learned, into covariances under a given kernel."""

    def covariances(family: Family, axes: Floats, beam: float = 0.0) -> Floats:
        return frame.covariance(kernel, beam).of(pairs)

    return covariances


def _offsets(data: StatsArrays, tracked: FunctionalIndex) -> OffsetGrid | None:
    """Return what offsets add to the covariances of the lines, if any label has one."""
    return None if tracked.offsets is None else OffsetGrid(tracked.offsets, tracked.shifts.take(data.slots))


def _far_off(data: StatsArrays, fit: Fit, held: float) -> tuple[float, float]:
    """Return the share of models whose noise is far larger, and far smaller, than that `held`."""
    weights, noises, scales = np.array(
        [(w.weight, w.model.noise, math.sqrt(w.model.kernel.point_variance)) for w in fit.members]
    ).T
    # The lowest noises of the grid represent all below them, unless they are large relative to the rewards.
    low = (noises < 2 * RATIOS[0] * scales) & (noises < SMALL * standardize(data, None)[1])
    return weights @ ((noises > BADLY_OFF * held) & ~low), weights @ (noises * BADLY_OFF < held)


def _times(ratio: float) -> str:
    """Return a ratio in words that stay short, however large it is."""
    return f"{ratio:.1f}" if ratio < 1000 else f"{ratio:.1g}"


def _alone(model: Model) -> Fit:
    """Return a fit with a single model."""
    return Fit(model, (WeightedModel(1.0, model),), ())
