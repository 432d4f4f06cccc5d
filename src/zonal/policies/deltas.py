"""Delta by depth: by how much f may exceed a cell's average within it (Assumption 3).

This module knows numbers only: no tree, no kernel, no region.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from zonal._types import Floats, Smoothness
from zonal.errors import InvalidInput, one_or_several, positive_number, require, truth
from zonal.policies.lipschitz import certified_constants

Delta = Callable[[int], float]


def lipschitz_constants(slopes: Floats, h_max: int, theta: float) -> Floats:
    """Return L for each axis, from the standard deviation of f's derivative along it.

    The derivative of f is a Gaussian process too (Assumption 2); a union bound over both signs, d axes and
    h_max depths gives ``L_j = s_j sqrt(2 log(2 d h_max / theta))``. That counts a slope at one point per depth and
    not the steepest one anywhere, so it is a heuristic without guarantee; `certified_constants` has one.
    """
    return slopes * math.sqrt(2 * math.log(2 * len(slopes) * max(h_max, 1) / theta))


@dataclass(frozen=True)
class GeometricDelta:
    """The bound ``delta(h) = c rho^h`` of the paper's Corollary and experiments.

    Parameters
    ----------
    c : float
        The bound at the root, in units of the measured value.
    rho : float
        The factor from one depth to the next, between 0 and 1.

    Examples
    --------
    >>> GeometricDelta(14, 0.5)(3)
    1.75
    """

    c: float
    rho: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", positive_number(self.c, "GeometricDelta's c"))
        rho = positive_number(self.rho, "GeometricDelta's rho")
        require(rho < 1, "GeometricDelta's rho must lie below 1", self.rho, "Pass for example 0.5.")
        object.__setattr__(self, "rho", rho)

    def __call__(self, depth: int) -> float:
        """Return delta at `depth`."""
        return self.c * self.rho**depth


class BoundDelta(ABC):
    """A delta that is bound to a kernel, a space and a feedback when a study starts."""

    def __call__(self, depth: int) -> float:
        """Raise: without a kernel, a space and a feedback it has no values."""
        fix = "Pass it to a policy; the study then binds it to kernel, space and feedback."
        raise InvalidInput(f"{type(self).__name__} has no values of its own", self, fix)

    @abstractmethod
    def bind(self, variation: Variation, h_max: int, theta: float) -> Floats:
        """Return delta at depths 0 .. h_max + 1."""


@dataclass(frozen=True)
class LipschitzDelta(BoundDelta):
    """The bound of Assumption 3: a Lipschitz constant times the reach of a cell.

    ``delta(h) = sum_j L_j r_j(h)`` with r_j(h) the largest distance, along axis j, from a representative
    point to a point of a cell of depth h. It is bound to a kernel, a space and a feedback when a study
    starts.

    Parameters
    ----------
    L : float or sequence of float, optional
        The Lipschitz constant of f in the L1 metric, or one per axis, in value units per axis unit. By default
        it is derived from the kernel and theta (see `lipschitz_constants`: a heuristic); where a learned kernel's
        functions have no derivative, `SpreadDelta` is used.
    certified : bool
        Whether L is proved instead: with probability 1 - theta no slope of f exceeds it anywhere (docs/theory.md).
        It needs a given noise, a given kernel whose functions are twice differentiable, continuous axes, and a
        feedback that measures nothing beyond its reach (not `Beam`).

    Examples
    --------
    >>> import zonal as zn
    >>> policy = zn.GPOO(delta=zn.LipschitzDelta())
    >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.5), noise=0.1, policy=policy)
    >>> study.ask().region.name
    'x 0..1'
    """

    L: float | Sequence[float] | None = None
    certified: bool = False

    def __post_init__(self) -> None:
        exclusive = not truth(self.certified, "certified") or self.L is None
        require(exclusive, "LipschitzDelta takes either L or certified=True", self.L, "Leave one out.")
        if self.L is not None:
            object.__setattr__(self, "L", one_or_several(self.L, "LipschitzDelta's L", positive_number))

    def bind(self, variation: Variation, h_max: int, theta: float) -> Floats:
        """Return delta at depths 0 .. h_max + 1."""
        reach, smooth = variation.reaches(), variation.smoothness()
        d = reach.shape[1]
        if self.certified:
            return _positive(reach @ _certified(variation, theta))
        if self.L is None:
            if smooth is None and variation.learned:  # the user did not choose this kernel
                return SpreadDelta().bind(variation, h_max, theta)
            if smooth is None:
                raise InvalidInput(
                    "LipschitzDelta needs a kernel whose functions have a derivative",
                    "one without, such as Matern with nu=0.5",
                    "Use nu=1.5 or 2.5, or give L, or another delta such as GeometricDelta.",
                )
            return _positive(reach @ lipschitz_constants(smooth.slopes, h_max, theta))
        constants = np.atleast_1d(np.asarray(self.L, dtype=float))
        problem = f"LipschitzDelta needs one L, or one for each of {d} axes"
        require(constants.size in (1, d), problem, self.L, "Pass as many.")
        return _positive(reach @ np.broadcast_to(constants, (d,)))


def _certified(variation: Variation, theta: float) -> Floats:
    """Return constants that hold with probability 1 - theta; raise if there are none."""

    def must(holds: bool, what: str, got: str, fix: str) -> None:
        require(holds, f"LipschitzDelta can certify {what}", got, f"{fix}, or certified=False.")

    must(not variation.learned, "a given kernel only", "a learned one", "Pass kernel=")
    must(not variation.noise_learned, "only where the noise is given", "a learned one", "Pass noise=")
    what = "only a feedback that measures nothing beyond its reach"
    must(not variation.endless, what, "one that does, such as Beam", "Use Mean(), Average(s) or Center()")
    smooth = variation.smoothness()
    constants = None if smooth is None else certified_constants(smooth, theta)
    what = "only kernels with second derivatives, on continuous axes"
    fix = "Use RBF or Matern with nu=2.5 on a Box, or give L"
    must(constants is not None, what, "another kernel or space", fix)
    assert constants is not None
    return constants


@dataclass(frozen=True)
class SpreadDelta(BoundDelta):
    """The expected excess of the best of a cell's smallest regions over the cell's average.

    ``delta(h) = s(h) sqrt(2 log n(h))``, the size of the largest of n(h) normal variables, with s(h) the prior
    standard deviation of f about the average of a cell of depth h, and n(h) the number of smallest regions (or
    members) in it. It needs no derivative, so it works for symbols, members and any kernel. It is bound to a
    kernel, a space and a feedback when a study starts, and like `LipschitzDelta` it is a heuristic: s(h) is
    that of typical cells.

    Examples
    --------
    >>> import zonal as zn
    >>> policy = zn.GPOO(delta=zn.SpreadDelta())
    >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.5), noise=0.1, policy=policy)
    >>> study.ask().region.name
    'x 0..1'
    """

    def bind(self, variation: Variation, h_max: int, theta: float) -> Floats:
        """Return delta at depths 0 .. h_max + 1."""
        spread, log_members = variation.spread()
        delta = spread * np.sqrt(2 * log_members)
        return _positive(np.maximum.accumulate(delta[::-1])[::-1])  # never less than at deeper levels


@dataclass(frozen=True)
class Variation:
    """How f varies within cells, by depth; computed when needed, since many policies do not need it."""

    # r_j(h), shape (h_max + 2, d): the largest distance, along axis j, between a sampled point and any of a cell.
    reaches: Callable[[], Floats]
    smoothness: Callable[[], Smoothness | None]  # along the axes; None if f has no derivative
    # The prior standard deviation of f about a cell's average, and the logarithm of the number of its smallest
    # regions, both of shape (h_max + 2,).
    spread: Callable[[], tuple[Floats, Floats]]
    learned: bool = False  # whether the kernel was learned
    noise_learned: bool = False
    endless: bool = False  # whether a measurement includes a little of f beyond its reach


def _positive(delta: Floats) -> Floats:
    """Return delta with 0 replaced by half the value one depth above.

    A cell with one member does not vary at all, yet line 6 needs a number to compare its uncertainty with.
    """
    for h in range(1, len(delta)):
        delta[h] = delta[h] if delta[h] > 0 else delta[h - 1] / 2
    return np.asarray(delta)


def delta_by_depth(delta: Delta, variation: Variation, h_max: int, theta: float) -> Floats:
    """Return delta at depths 0 .. h_max + 1, evaluated once and checked (Assumption 3)."""
    if isinstance(delta, BoundDelta):
        return delta.bind(variation, h_max, theta)
    return np.array([positive_number(delta(h), f"delta({h})") for h in range(h_max + 2)], dtype=float)
