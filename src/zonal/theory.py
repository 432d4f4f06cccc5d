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


def log_nodes(counts: Sequence[int]) -> float:
    """Return log M with M the sum of the numbers of nodes at depths 0 .. h_max (Lemma 1), whatever their arity."""
    return math.log(sum(counts))


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
        it is derived from the kernel and theta (see `lipschitz_constants`: a heuristic); where a learned kernel's
        functions have no derivative, `SpreadDelta` stands in.
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

    def bind(self, variation: Variation, h_max: int, theta: float) -> NDArray[np.float64]:
        """Return delta at depths 0 .. h_max + 1."""
        reach, slopes = variation.reach, variation.slopes
        d = reach.shape[1]
        if self.L is None:
            if slopes is None and variation.learned:  # nobody chose that kernel, and the next fit may change it
                return SpreadDelta().bind(variation, h_max, theta)
            if slopes is None:
                raise InvalidInput(
                    "LipschitzDelta needs a kernel whose functions have a derivative",
                    "one without, such as Matern with nu=0.5",
                    "Use nu=1.5 or 2.5, or give L, or another delta such as GeometricDelta.",
                )
            return _positive(reach @ lipschitz_constants(slopes, h_max, theta))
        constants = np.atleast_1d(np.asarray(self.L, dtype=float))
        if constants.size not in (1, d):
            raise InvalidInput(f"LipschitzDelta needs one L, or one for each of {d} axes", self.L, "Pass as many.")
        return _positive(reach @ np.broadcast_to(constants, (d,)))


@dataclass(frozen=True)
class SpreadDelta:
    """How far the best of a cell's smallest regions lies above the cell's average, as far as can be expected.

    ``delta(h) = s(h) sqrt(2 log n(h))``, the size of the largest of n(h) normal variables, with s(h) the prior
    standard deviation of f about the average of a cell of depth h, and n(h) the number of smallest regions (or
    members) in it. It needs no derivative, so it serves symbols, members and any kernel. It is bound to a
    kernel, a space and a feedback when a study is built, and like `LipschitzDelta` it is a heuristic: s(h) is
    that of typical cells.
    """

    def __call__(self, depth: int) -> float:
        """Refuse: without a kernel, a space and a feedback there is nothing to compute."""
        raise InvalidInput(
            "SpreadDelta has no values of its own",
            self,
            "Pass it to a policy; the study that is built with it knows kernel, space and feedback.",
        )

    def bind(self, variation: Variation, h_max: int, theta: float) -> NDArray[np.float64]:
        """Return delta at depths 0 .. h_max + 1."""
        spread, log_members = variation.spread()
        delta = spread * np.sqrt(2 * log_members)
        return _positive(np.maximum.accumulate(delta[::-1])[::-1])  # no less than further down


@dataclass(frozen=True)
class Variation:
    """How f varies within cells, by depth.

    Attributes
    ----------
    reach : array, shape (h_max + 2, d)
        r_j(h): how far a cell of depth h reaches, along axis j, from the points that are looked at.
    slopes : array, shape (d,), or None
        Prior standard deviation of f's derivative along each axis; None if it has none.
    spread : callable
        Returns the prior standard deviation of f about a cell's average, and the logarithm of the number of
        smallest regions in a cell, both of shape (h_max + 2,).
    learned : bool
        Whether the kernel behind all this was learned.
    """

    reach: NDArray[np.float64]
    slopes: NDArray[np.float64] | None
    spread: Callable[[], tuple[NDArray[np.float64], NDArray[np.float64]]]
    learned: bool = False


def _positive(delta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return delta with half the depth above in place of 0.

    A cell of one member does not vary at all, yet line 6 needs something to hold its uncertainty against.
    """
    for h in range(1, len(delta)):
        delta[h] = delta[h] if delta[h] > 0 else delta[h - 1] / 2
    return np.asarray(delta)


def delta_by_depth(delta: Delta, variation: Variation, h_max: int, theta: float) -> NDArray[np.float64]:
    """Return delta at depths 0 .. h_max + 1, evaluated once and checked (Assumption 3)."""
    if isinstance(delta, LipschitzDelta | SpreadDelta):
        return delta.bind(variation, h_max, theta)
    return np.array([positive_number(delta(h), f"delta({h})") for h in range(h_max + 2)], dtype=float)


@dataclass(frozen=True)
class NearOptimality:
    """How fast the near-optimal part of a function shrinks (Definition 4), as `near_optimality` estimates it.

    Attributes
    ----------
    d : float
        The near-optimality dimension.
    C : float
        Its constant.
    """

    d: float
    C: float


def tail_rate(slope: float) -> float:
    """Return b of Proposition 1 as 1 / s^2, s the prior standard deviation of f's derivative.

    Between two fixed points f changes by a Gaussian of std at most s times their distance, so there the
    proposition holds with this b and a = 1. Lemma 1 uses it for x*, which depends on f: a heuristic. The largest
    slope anywhere (Assumption 2) has the same b and a larger a.
    """
    return 1 / slope / slope


def smoothness_failure(L: float, b: float, h_max: int) -> float:
    """Return a = h_max exp(-L^2 b / 2), the most with which xi_1 may fail (Lemma 1); 1 at most."""
    z = L * math.sqrt(b)
    return min(1.0, h_max * math.exp(-z * z / 2))


def event_probability(a: float, theta: float) -> float:
    """Return 1 - a - theta, the least probability of the event xi = xi_1 and xi_2 (Lemma 1); 0 at least."""
    return max(0.0, 1 - a - theta)


def event_probability_stooo(theta: float) -> float:
    """Return 1 - 2 theta, the least probability of AVE-StoOO's event (first lemma of its appendix)."""
    return max(0.0, 1 - 2 * theta)


def near_optimal_nodes(delta: float, near: NearOptimality) -> float:
    """Return C [3 delta(h)]^-d, the most nodes that I_h can have (Lemma 2, and its analogue for AVE-StoOO)."""
    return _exp(_log_nodes(delta, near))


def std_bound(count: int, noise: float) -> float:
    """Return sigma / sqrt(T), the most a node's posterior std can be after T measurements (Proposition 2)."""
    return noise / math.sqrt(count) if count else math.inf


def draw_bound(beta: float, noise: float, delta: float) -> float:
    """Return beta_t sigma^2 / delta(h)^2 (Lemma 4).

    So often, at most, is a node of depth h measured without being expanded. The measurement that expands it comes
    on top, which the lemma forgets: at the root the bound is far below 1.
    """
    return _exp(_log_draws(beta, noise, delta))


def draw_bound_stooo(t: int, theta: float, delta: float) -> float:
    """Return 2 log(t^2 / theta) / delta(h)^2, AVE-StoOO's expansion test; Lemma 4 with noise 1."""
    return draw_bound(beta_stooo(t, theta), 1.0, delta)


def regret_depth(budget: int, beta: float, noise: float, delta: Delta, arity: int, near: NearOptimality) -> int:
    """Return h_N of Theorem 1, from which R_N <= 3 delta(h_N).

    It is the smallest h' with ``N / beta_N <= K sum_{h <= h'} C [3 delta(h)]^-d sigma^2 / delta(h)^2``.

    Parameters
    ----------
    budget : int
        N.
    beta : float
        beta_N.
    noise : float
        sigma.
    delta : callable, depth -> float
        Decreasing (Assumption 3).
    arity : int
        K.
    near : NearOptimality
        d and C.
    """

    def log_term(h: int) -> float:
        return math.log(arity) + _log_nodes(delta(h), near) + _log_draws(beta, noise, delta(h))

    return _smallest(math.log(budget), log_term)


def regret_depth_stooo(budget: int, theta: float, delta: Delta, arity: int, near: NearOptimality) -> int:
    """Return h_N of AVE-StoOO's theorem: Theorem 1's with beta_N = 2 log(N^2 / theta) and noise 1."""
    return regret_depth(budget, beta_stooo(budget, theta), 1.0, delta, arity, near)


def counted_depth(budget: int, beta: float, noise: float, delta: Delta, arity: int, near: NearOptimality) -> int:
    """Return the h_N for which Theorem 1's proof counts every measurement; arguments as in `regret_depth`.

    The printed proof forgets the measurement that expands a node, and gives an unexpanded node of depth h + 1 the
    draws of its parent's depth, though delta(h + 1) allows more. Counted in full, with B_h the bound of Lemma 4,
    ``N <= sum_{h <= h'} |I_h| (B_h + 1 + K B_{h+1})``; the smallest such h' is never larger than Theorem 1's.
    """

    def log_term(h: int) -> float:
        draws = 1 + draw_bound(beta, noise, delta(h)) + arity * draw_bound(beta, noise, delta(h + 1))
        return _log_nodes(delta(h), near) + math.log(draws)

    return _smallest(math.log(budget), log_term)


def regret_bound(delta: Delta, depth: int) -> float:
    """Return 3 delta(h): Theorem 1's bound at h_N; at the depth recommended, what Lemma 3 gives."""
    return 3 * delta(depth)


def regret_rate(budget: int, beta: float, d: float) -> float:
    """Return [beta_N / N]^(1 / (d + 2)), the Corollary's rate for delta(h) = c rho^h."""
    return _exp(math.log(beta / budget) / (d + 2))


def rate_constant(noise: float, rho: float, arity: int, near: NearOptimality) -> float:
    """Return the constant in front of the Corollary's rate, recomputed from Theorem 1 (docs/fidelity.md, row 19).

    Summing the geometric series gives ``3 delta(h_N) <= 3 [3^-d K C sigma^2 / (1 - rho^(d+2))]^(1/(d+2))`` times
    the rate; the printed constant lacks the power and the 3.
    """
    power = near.d + 2
    log_inside = math.log(arity * near.C) - near.d * math.log(3) + 2 * math.log(noise) - math.log1p(-(rho**power))
    return 3 * _exp(log_inside / power)


def shape_constant(edge: float, delta: float) -> float:
    """Return nu of Assumption 4: a representative point's least distance to its cell's edge, over delta(h)."""
    return edge / delta


def packing_number(
    x: NDArray[np.float64], values: NDArray[np.float64], f_star: float, epsilon: float, radius: float
) -> int:
    """Return how many disjoint balls have their centre where f >= f* - epsilon, at most (Definition 4).

    On a line, going from left to right and taking each centre as early as possible is optimal. f is taken as
    linear between the grid's points; x* is always a centre, also when the grid misses it.

    Parameters
    ----------
    x, values : array, shape (n,)
        An increasing grid, and f on it.
    f_star : float
        The maximum of f.
    epsilon, radius : float
        How near-optimal the centres, and how large the balls.
    """
    above = values - (f_star - epsilon)
    steps = np.diff(np.concatenate([[False], above >= 0, [False]]).astype(int))
    firsts, lasts = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1) - 1
    balls, free = 0, -math.inf
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        start = max(_crossing(x, above, first, first - 1), free)
        room = (_crossing(x, above, last, last + 1) - start) / (2 * radius) + 1e-9  # rounding must not cost a ball
        if room >= 0:
            balls += math.floor(room) + 1
            free = start + 2 * radius * (math.floor(room) + 1)
    return max(balls, 1)


def near_optimality(
    x: NDArray[np.float64],
    values: NDArray[np.float64],
    f_star: float,
    eta: float,
    epsilons: Sequence[float],
) -> NearOptimality:
    """Estimate the near-optimality dimension d and constant C of a known f on an interval (Definition 4).

    On a finite range of epsilon every d has a C, so "the smallest d" decides nothing there. The estimate of d is
    the least-squares slope of the log of the packing number against log(1 / epsilon), 0 at least; C is then the
    smallest constant for which the packing number is at most C epsilon^-d at every epsilon given. The pair is what
    Lemma 2 and Theorem 1 need on that range; it says nothing below the smallest epsilon.

    Parameters
    ----------
    x, values, f_star
        As for `packing_number`.
    eta : float
        Balls have radius ``eta epsilon``; Lemma 2 needs ``nu / 3``, since its epsilon is 3 delta(h).
    epsilons : sequence of float
        At least two; for a tree 3 delta(h) at each depth.
    """
    logs = np.log([packing_number(x, values, f_star, epsilon, eta * epsilon) for epsilon in epsilons])
    inverse = -np.log(np.asarray(epsilons, dtype=float))
    centred = inverse - inverse.mean()
    d = max(0.0, float(centred @ logs / (centred @ centred)))
    return NearOptimality(d, _exp(float(np.max(logs - d * inverse))))


def _crossing(x: NDArray[np.float64], above: NDArray[np.float64], inside: int, outside: int) -> float:
    """Return where the level is crossed between two neighbours of the grid, or the grid's end."""
    if not 0 <= outside < len(x):
        return float(x[inside])
    share = above[inside] / (above[inside] - above[outside])
    return float(x[inside] + share * (x[outside] - x[inside]))


def _log_nodes(delta: float, near: NearOptimality) -> float:
    return math.log(near.C) - near.d * (math.log(3) + math.log(delta))


def _log_draws(beta: float, noise: float, delta: float) -> float:
    return math.log(beta) + 2 * (math.log(positive_number(noise, "noise")) - math.log(delta))


def _smallest(log_goal: float, log_term: Callable[[int], float]) -> int:
    """Return the smallest h for which terms 0 .. h, given by their logarithms, add up to the goal."""
    h, log_sum = 0, log_term(0)
    while log_sum < log_goal:
        h += 1
        log_sum = float(np.logaddexp(log_sum, log_term(h)))
    return h


def _exp(x: float) -> float:
    """Return exp(x), infinity where a float ends."""
    return math.exp(x) if x < 709 else math.inf
