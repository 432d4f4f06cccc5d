"""What learning needs to know about a space: which kernels suit it, and the covariances of averages under each.

There are two frames, one for each kind of region.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from zonal._types import Floats, Ints, Smoothness
from zonal.errors import require
from zonal.gp.functional_index import Keys
from zonal.gp.posterior import Covariance
from zonal.kernels.base import RBF, Categorical, Kernel, Matern, Mixed, PlainAxis, ProductKernel, Sum, Term
from zonal.kernels.callable import Custom, check_profiles
from zonal.kernels.covariance import MOST_KEPT, CovarianceCache, ProductCovariance
from zonal.kernels.feedback import Feedback, sampled_members
from zonal.kernels.finite_covariance import (
    BLOCK,
    EXACT,
    MANY_FEATURES,
    Grams,
    SubsetCovariance,
    SummedCovariance,
    averaging_over,
)
from zonal.kernels.nugget import Nugget
from zonal.kernels.spectrum import LENGTHS, Motif, default_lengths
from zonal.spaces import AxisSpace, FiniteSpace, Region

Family = Callable[..., Kernel]  # (variance, parameters by axis) -> kernel: a class, or a Matern kernel with its nu

# Families tried when none is given, with prior weights. Most quantities vary smoothly; but a dozen averages say
# little about how rough f is within the smallest regions, so what is stated about those rests on these weights.
SMOOTHNESS: tuple[tuple[Family, float], ...] = (
    (RBF, 0.5),
    (partial(Matern, nu=2.5), 0.2),
    (partial(Matern, nu=1.5), 0.15),
    (partial(Matern, nu=0.5), 0.15),
)


@dataclass(frozen=True)
class WithNugget:
    """A family of smooth kernels of which each member of a space has a share of the variance for itself."""

    smooth: Family
    share: float

    def __call__(self, variance: float, parameters: float | Sequence[float]) -> Kernel:
        """Return the kernel with this variance in all."""
        return self.smooth((1 - self.share) * variance, parameters) + Nugget(self.share * variance)


# Members with coordinates also stand out for themselves, as stars, shops and counties do: what neighbours share is
# not all. Large averages hardly show it, so it rests on these weights; the families above have the rest.
LOCAL: tuple[tuple[Family, float], ...] = (
    (WithNugget(partial(Matern, nu=2.5), 0.15), 0.15),
    (WithNugget(partial(Matern, nu=1.5), 0.4), 0.15),
)

MOTIFS = 0.8  # their share of the variance; the rest depends on positions
NO_DISTANCES = "symbols, and a hierarchy without features, have no distances"
NO_MOTIFS = "motifs can be learned for sequences of 3 or more symbols, with at most 32 different ones"

# Where averages are products over axes: relative growth in measurements after which the models are learned again,
# most models that represent the posterior, most nodes to track.
GROWTH, MODELS, MAX_NODES = 0.125, 8, 6000


TRIED_SHARES = 0.02, 0.15, 1.0  # of an axis: lengthscales at which a class of kernels is tested
WITHIN = 48  # members of a cell from which the variance of f within it is computed
KERNELS_KEPT = 3  # times the models of a fit: kernels whose averages over sets of members are kept


class ModelSpace:
    """A space of axes as learning sees it."""

    costly = False  # whether covariances are sums over members
    growth, models, max_nodes = GROWTH, MODELS, MAX_NODES

    def __init__(self, space: Any, feedback: Feedback) -> None:
        self._space, self._feedback = space, feedback
        self.layout: Any = space.layout(feedback)  # finds which pairs of footprints have equal covariances
        self.sides: Floats = space.sides()  # shape (d,): the width of each axis or feature
        self.symbols = tuple(j not in space.continuous_axes for j in range(space.d))  # have no distances
        self.of_symbols = families_of(space)  # the families learned where all are categorical
        self._tables = {0.0: CovarianceCache(self.layout)}  # by the width of a beam where that is learned
        self._of_one: dict[tuple[Family, bytes, float], Covariance] = {}  # of variance one, cached for fits

    def family(self, wanted: Family | None) -> Family:
        """Return the class of kernels to learn: that wanted, if it suits the space, or the usual one."""
        if wanted is Motif:
            require(len(self.of_symbols) > 1, NO_MOTIFS, wanted, "Pass another kernel, or none.")
            return self.of_symbols[-1]
        if all(self.symbols):
            fix = "Pass zn.Categorical or no kernel, or give features."
            require(wanted in (None, Categorical), NO_DISTANCES, wanted, fix)
            return Categorical
        problem = "a continuous axis, or feature, needs a kernel that measures distances"
        require(wanted is not Categorical, problem, wanted, "Pass zn.Matern, or no kernel.")
        return wanted or Matern

    def families(self, wanted: Family | None) -> list[tuple[Family, float]]:
        """Return the families of kernels to choose from, with the logs of their prior weights."""
        family = self.family(wanted)
        if wanted is not None:
            return [(family, 0.0)]
        if all(self.symbols):
            return [(option, -math.log(len(self.of_symbols))) for option in self.of_symbols]
        return [(smooth, math.log(weight)) for smooth, weight in SMOOTHNESS]

    def check(self, kernel: Kernel | None, wanted: Family | None) -> None:
        """Raise if a kernel that was given is none, or if that is so of the class of those to be learned."""
        axes = [PlainAxis(symbol) for symbol in self.symbols] if self._space.axes is None else self._space.axes
        kernels = [kernel] if kernel is not None else []
        if wanted is not None:
            family = self.family(wanted)
            kernels = [kernel_from(family, 1.0, self._tried(share), self.symbols) for share in TRIED_SHARES]
        for candidate in kernels:
            check_profiles(candidate, axes, self.sides)

    def _tried(self, share: float) -> Floats:
        """Return parameters by axis: lengthscales that are a share of the axis, and a middling correlation."""
        return np.where(self.symbols, 0.5, share * self.sides)

    def covariance(self, kernel: Kernel, beam: float = 0.0) -> Covariance:
        """Return the prior covariance of averages under a kernel, and a beam of this width where it is learned."""
        return ProductCovariance(kernel, self._tables_of(beam))

    def _tables_of(self, beam: float) -> CovarianceCache:
        if beam not in self._tables:
            self._tables[beam] = CovarianceCache(self.layout, beam)
        return self._tables[beam]

    @property
    def narrowest(self) -> float:
        """The width of the narrowest continuous axis."""
        return float(self.sides[~np.array(self.symbols)].min())

    def along_axes(
        self, kernel: Kernel, pairs: Sequence[Any], beam: float = 0.0
    ) -> list[tuple[float, list[Floats]]]:
        """Return for each term of a kernel its variance and its covariances along each axis, of pairs by axis."""
        return ProductCovariance(kernel, self._tables_of(beam)).along_axes(pairs)

    def smoothness(self, kernel: Kernel) -> Smoothness | None:
        """Return how f varies along each axis, None where it has no derivative."""
        axes = self._space.axes
        slopes = kernel.slopes(axes)
        if slopes is None:
            return None
        if any(self.symbols):
            return Smoothness(slopes, None, None, self.sides)
        return Smoothness(slopes, kernel.curvatures(axes), kernel.bends(axes), self.sides)

    def within(self, kernel: Kernel, cell: Region) -> float:
        """Return the prior variance of f at a point about the average of its cell."""
        pairs = self.layout.self_pairs(self.layout.keys(self._feedback.footprints([cell]), register=False))
        return max(float(ProductCovariance(kernel, self._tables[0.0]).within(pairs)[0]), 0.0)

    def positions(self, keys: Keys) -> Floats:
        """Return where footprints are, shape (n, d), in widths of the axes."""
        return np.asarray(self.layout.positions(keys))

    def correlate(self, keys: Keys) -> Callable[..., Floats]:
        """Return the function that turns a family and its parameters into correlations of these footprints.

        It takes the width of a beam too, where that is learned.
        """
        pairs, kept = self.layout.pairs(keys, keys), self._of_one

        def correlations(family: Family, axes: Floats, beam: float = 0.0) -> Floats:
            name = family, axes.tobytes(), beam
            if name not in kept:
                if len(kept) >= MOST_KEPT:
                    kept.pop(next(iter(kept)))
                kept[name] = self.covariance(kernel_from(family, 1.0, axes, self.symbols), beam)
            return kept[name].of(pairs)

        return correlations


def _per_variance(term: Term) -> tuple[float, Term]:
    """Return the variance of a product of a kernel, and the product with variance one, where it is a field."""
    if not is_dataclass(term) or all(field.name != "variance" for field in fields(term)):
        return 1.0, term
    return term.variance, replace(term, variance=1.0)


def is_rough(kernel: Kernel) -> bool:
    """Tell whether draws of a kernel have no slope: neighbours may differ however small they are."""
    return not isinstance(kernel, Custom) and any(
        isinstance(term, Categorical | Motif | Nugget) or getattr(term, "nu", math.inf) < 1
        for term in kernel.terms
    )


def kernel_from(family: Family, variance: float, axes: Floats, symbols: Sequence[bool]) -> Kernel:
    """Return the kernel with this variance and a lengthscale or correlation per axis."""
    is_categorical = np.array(symbols)
    scales, matches = axes[~is_categorical].tolist(), axes[is_categorical].tolist()
    if not scales:
        return family(variance, _scalar_or_tuple(matches))
    continuous = family(variance, _scalar_or_tuple(scales))
    if not matches:
        return continuous
    assert isinstance(continuous, ProductKernel)
    return Mixed(continuous, Categorical(1.0, _scalar_or_tuple(matches)))


def with_motifs(variance: float, correlation: float | Sequence[float], lengths: Sequence[int]) -> Sum:
    """Return a kernel for sequences: motifs at any position, plus a part that depends on the position."""
    return Motif(MOTIFS * variance, lengths=lengths) + Categorical((1 - MOTIFS) * variance, correlation)


def families_of(space: AxisSpace | FiniteSpace) -> tuple[Family, ...]:
    """Return the families learned for categorical axes: by position, and for sequences also with motifs."""
    if not getattr(space, "is_sequence", False) or space.d <= min(LENGTHS) or not default_lengths(space.arity):
        return (Categorical,)
    return Categorical, partial(with_motifs, lengths=default_lengths(space.arity))


def _scalar_or_tuple(values: list[float]) -> float | tuple[float, ...]:
    return values[0] if len(values) == 1 else tuple(values)


_shared: ContextVar[list[tuple[AxisSpace | FiniteSpace, Feedback, ModelSpace]] | None] = ContextVar(
    "shared", default=None
)


def frame_of(space: AxisSpace | FiniteSpace, feedback: Feedback) -> ModelSpace:
    """Return a space as beliefs see it; that of the last study, where campaigns share their tables."""
    shared = _shared.get()
    for last_space, last_feedback, frame in shared or ():
        if space == last_space and feedback == last_feedback:
            return frame
    frame = FiniteModelSpace(space, feedback) if space.axes is None else ModelSpace(space, feedback)
    if shared is not None and space.axes is not None:
        shared[:] = [(space, feedback, frame)]
    return frame


@contextmanager
def shared_tables() -> Iterator[None]:
    """Let the studies that this thread begins share averages of kernels, as long as they have the same space.

    These depend on kernels and regions alone, so that no number changes. Two threads must not share them.
    """
    token = _shared.set([])
    try:
        yield
    finally:
        _shared.reset(token)


class FiniteModelSpace(ModelSpace):
    """A space of members."""

    costly = True

    def __init__(self, space: FiniteSpace, feedback: Feedback) -> None:
        super().__init__(space, feedback)
        self._grams = Grams(space.features) if Grams.worth_it(space) else None
        self._of_kernels: dict[Kernel, SubsetCovariance] = {}  # the last ones, of variance one where possible
        large = space.size > EXACT
        self.growth, self.models = (4 * GROWTH, MODELS // 4) if large else (2 * GROWTH, MODELS // 2)
        self.max_nodes = MAX_NODES // 12 if large else MAX_NODES  # each region adds its own members

    def families(self, wanted: Family | None) -> list[tuple[Family, float]]:
        """Return the families of kernels to choose from, with the logs of their prior weights."""
        smooth = super().families(wanted)
        has_local = wanted is None and not all(self.symbols) and len(self.symbols) < MANY_FEATURES
        if not has_local or self._space.size > EXACT:
            return smooth
        left = math.log(1 - sum(weight for _, weight in LOCAL))
        return [(family, weight + left) for family, weight in smooth] + [
            (family, math.log(weight)) for family, weight in LOCAL
        ]

    @cached_property
    def _places(self) -> Ints:
        """The number of each member's place: those with equal features have the same."""
        return np.asarray(np.unique(self._space.features, axis=0, return_inverse=True)[1].ravel())

    def covariance(self, kernel: Kernel, beam: float = 0.0) -> Covariance:
        """Return the prior covariance of averages under a kernel; raise if it does not suit the space.

        One fit often returns to lengthscales of another, with another variance, so that averages are kept.
        """
        if isinstance(kernel, Custom):
            return self._averages(kernel, None)
        able = not all(self.symbols) or all(isinstance(term, Categorical | Motif) for term in kernel.terms)
        require(able, NO_DISTANCES, kernel, "Pass features, or use zn.Categorical.")
        unit = [_per_variance(term) for term in kernel.terms]
        return SummedCovariance([(variance, self._averages(term, self._grams)) for variance, term in unit])

    def _averages(self, kernel: Kernel, grams: Grams | None) -> SubsetCovariance:
        """Return the covariance of averages under a kernel; that used before, if it is among the last ones."""
        try:
            hash(kernel)
        except TypeError:  # a user's kernel need not have one
            return SubsetCovariance(kernel, self._space, self.layout, None)
        covariance = self._of_kernels.pop(kernel, None)
        if covariance is None:
            covariance = SubsetCovariance(kernel, self._space, self.layout, grams)
            if len(self._of_kernels) >= KERNELS_KEPT * self.models:
                self._of_kernels.pop(next(iter(self._of_kernels)))
        self._of_kernels[kernel] = covariance
        return covariance

    def smoothness(self, kernel: Kernel) -> Smoothness | None:
        """Return how f varies along each feature, None for kernels without distances."""
        if isinstance(kernel, Custom):
            return None
        matches = [isinstance(term, Categorical) for term in kernel.terms]
        features = [PlainAxis(symbol) for symbol in self.symbols]
        slopes = kernel.slopes(features) if all(self.symbols) or not any(matches) else None
        return None if slopes is None else Smoothness(slopes, None, None, self.sides)

    def within(self, kernel: Kernel, cell: Any) -> float:
        """Return the prior variance of f at a member about the average of its cell."""
        places, shares = sampled_members(cell, WITHIN)
        features = self._space.features[places]
        gram = kernel(features, features)
        return max(float(shares @ np.diag(gram) - shares @ gram @ shares), 0.0)

    def positions(self, keys: Keys) -> Floats:
        """Return where footprints are, shape (n, features), in widths of the features."""
        features = self._space.features
        low, widths = features.min(axis=0), np.ptp(features, axis=0)
        means = np.array([shares @ features[members] for members, shares in (row.learned_from for row in keys[0])])
        return np.asarray((means - low) / np.where(widths > 0, widths, 1.0))

    def correlate(self, keys: Keys) -> Callable[..., Floats]:
        """Return the function that turns a family and its parameters into correlations of these footprints."""
        members, sparse = averaging_over(row.learned_from for row in keys[0])
        averaging = sparse.toarray()
        features = self._space.features[members] / self.sides
        gram = np.empty((len(features), len(features)))
        step = max(1, BLOCK // len(features))

        @cache
        def overlaps() -> Floats:
            """Return what regions have in common, of all their members and not only of those learned from."""
            rows = ((self._places[self.layout.met[row.columns]], row.shares) for row in keys[0])
            exact = averaging_over(rows)[1]
            return np.asarray((exact @ exact.T).toarray())

        def correlations(family: Family, axes: Floats) -> Floats:
            if isinstance(family, WithNugget):
                smooth = correlations(family.smooth, axes)
                return np.asarray((1 - family.share) * smooth + family.share * overlaps())
            kernel = kernel_from(family, 1.0, axes / self.sides, self.symbols)
            for low in range(0, len(features), step):
                gram[low : low + step] = kernel(features[low : low + step], features)
            covariance = averaging @ gram @ averaging.T
            return np.asarray((covariance + covariance.T) / 2)

        return correlations
