"""The paper's quantities as pure functions, each citing its lemma.

This room knows numbers only: no tree, no kernel, no region.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zonal.errors import InvalidInput, positive_number

Delta = Callable[[int], float]


def log_node_count(arity: int, h_max: int) -> float:
    """Return log M with M = sum of K^h for h = 0 .. h_max (Lemma 1), without overflow."""
    log_k = math.log(arity)
    top = (h_max + 1) * log_k
    return top + math.log1p(-math.exp(-top)) - math.log(arity - 1)


def log_pi_t(t: int) -> float:
    """Return log pi_t with pi_t = pi^2 t^2 / 6 (Lemma 1)."""
    return math.log(math.pi**2 / 6) + 2 * math.log(t)


def beta_t(t: int, log_m: float, theta: float) -> float:
    """Return beta_t = 2 log(M pi_t / theta) (Lemma 1)."""
    return 2 * (log_m + log_pi_t(t) - math.log(theta))


def beta_stooo(t: int, theta: float) -> float:
    """Return 2 log(t^2 / theta), the beta_t with which AVE-StoOO's index is GPOO's (equation 8)."""
    return 4 * math.log(t) - 2 * math.log(theta)


def lipschitz_constants(slopes: NDArray[np.float64], h_max: int, theta: float) -> NDArray[np.float64]:
    """Return L for each axis, from the standard deviation of f's derivative along it.

    The derivative of f is a Gaussian process too (Assumption 2); a union bound over both signs, d axes and
    h_max depths gives ``L_j = s_j sqrt(2 log(2 d h_max / theta))``. The constants of Assumption 2 are not
    known exactly, so this is a heuristic and promises nothing.
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
        positive_number(self.c, "GeometricDelta's c")
        if not 0 < positive_number(self.rho, "GeometricDelta's rho") < 1:
            raise InvalidInput("GeometricDelta's rho must lie below 1", self.rho, "Pass for example 0.5.")

    def __call__(self, depth: int) -> float:
        """Return delta at `depth`."""
        return self.c * self.rho**depth


@dataclass(frozen=True)
class LipschitzDelta:
    """The bound of Assumption 3: a Lipschitz constant times how far a cell reaches.

    ``delta(h) = sum_j L_j r_j(h)`` with r_j(h) the farthest distance, along axis j, from a representative
    point to a point of a cell of depth h. It is bound to a kernel, a space and a feedback when a study is
    built.

    Parameters
    ----------
    L : float or sequence of float, optional
        The Lipschitz constant of f in the L1 metric, or one an axis, in value units per axis unit. Left out,
        it is derived from the kernel and theta (see `lipschitz_constants`: a heuristic).
    """

    L: float | Sequence[float] | None = None

    def __post_init__(self) -> None:
        if self.L is not None:
            for constant in np.atleast_1d(np.asarray(self.L, dtype=object)):
                positive_number(constant, "LipschitzDelta's L")

    def __call__(self, depth: int) -> float:
        """Refuse: without a kernel, a space and a feedback there is nothing to compute."""
        raise InvalidInput(
            "LipschitzDelta has no values of its own",
            self,
            "Pass it to a policy; the study that is built with it knows kernel, space and feedback.",
        )

    def bind(
        self,
        reach: NDArray[np.float64],
        slopes: NDArray[np.float64] | None,
        h_max: int,
        theta: float,
    ) -> NDArray[np.float64]:
        """Return delta at depths 0 .. h_max + 1.

        Parameters
        ----------
        reach : array, shape (h_max + 2, d)
            r_j(h), a row a depth.
        slopes : array, shape (d,), or None
            Prior standard deviation of f's derivative along each axis; None if f has no derivative.
        h_max, theta
            The policy's own.
        """
        d = reach.shape[1]
        if self.L is None:
            if slopes is None:
                raise InvalidInput(
                    "LipschitzDelta needs a kernel whose functions have a derivative",
                    "Matern with nu=0.5",
                    "Use nu=1.5 or 2.5, or give L, or another delta such as GeometricDelta.",
                )
            return np.asarray(reach @ lipschitz_constants(slopes, h_max, theta))
        constants = np.atleast_1d(np.asarray(self.L, dtype=float))
        if constants.size not in (1, d):
            raise InvalidInput(f"LipschitzDelta needs one L, or one for each of {d} axes", self.L, "Pass as many.")
        return np.asarray(reach @ np.broadcast_to(constants, (d,)))


def delta_by_depth(
    delta: Delta,
    reach: NDArray[np.float64],
    slopes: NDArray[np.float64] | None,
    h_max: int,
    theta: float,
) -> NDArray[np.float64]:
    """Return delta at depths 0 .. h_max + 1, evaluated once and checked (Assumption 3)."""
    if isinstance(delta, LipschitzDelta):
        return delta.bind(reach, slopes, h_max, theta)
    return np.array([positive_number(delta(h), f"delta({h})") for h in range(h_max + 2)], dtype=float)
