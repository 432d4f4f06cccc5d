"""The paper's statements as functions of numbers: as printed, and as they can be proved (docs/theory.md).

`noise` is the standard deviation of one measurement. Where it depends on the region, T / sigma^2 is replaced by
the precision of a node, the sum of 1 / sigma_k^2 over its measurements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from zonal._types import Floats
from zonal.errors import positive_number
from zonal.policies.beta import beta_stooo, beta_t, log_nodes
from zonal.policies.deltas import Delta

Test = Literal["after", "before"]
SPARE = {"after": 0, "before": 1}  # measurements of an unexpanded node that line 6 has not tested


@dataclass(frozen=True)
class NearOptimality:
    """How fast the near-optimal part of a function shrinks (Definition 4), as `near_optimality` estimates it."""

    d: float  # the near-optimality dimension
    C: float  # its constant


def tail_rate(slope: float) -> float:
    """Return b of Proposition 1 as 1 / s^2, with s the prior standard deviation of f's derivative.

    Between two fixed points f changes by a Gaussian of std at most s times their distance, so there the
    proposition holds with this b and a = 1. Lemma 1 uses it for x*, which depends on f, where no such union bound
    is valid; `zonal.policies.lipschitz` bounds the steepest slope instead.
    """
    return 1 / slope / slope


def smoothness_failure(L: float, b: float, h_max: int) -> float:
    """Return a = h_max exp(-L^2 b / 2), the probability that xi_1 fails as printed (Lemma 1); at most 1."""
    z = L * math.sqrt(b)
    return min(1.0, h_max * math.exp(-z * z / 2))


def interval_failure(counts: Sequence[int], theta: float) -> float:
    """Return a bound on the probability that a confidence interval needed by the proofs fails in any round.

    Lemma 1's union bound is over depths 0 .. h_max, yet x* may lie in a leaf of depth h_max + 1. There the upper
    side is enough, and a normal tail below exp(-z^2 / 2) / (z sqrt(2 pi)) compensates for it: the sum is below
    theta for any usual arity. `counts` are the nodes at depths 0 .. h_max + 1.
    """
    log_m = log_nodes(counts[:-1])
    tail = math.sqrt(2 / (math.pi * beta_t(1, log_m, theta)))
    return min(1.0, theta * tail * (1 + math.exp(math.log(counts[-1]) - log_m) / 2))


def event_probability(a: float, theta: float) -> float:
    """Return 1 - a - theta, a lower bound on the probability of xi = xi_1 and xi_2 (Lemma 1); at least 0."""
    return max(0.0, 1 - a - theta)


def event_probability_stooo(theta: float) -> float:
    """Return 1 - 2 theta, what the paper claims for AVE-StoOO's event (first lemma of its appendix).

    Its printed tail gives 1 - 2 theta H_N only, H_N = 1 + 1/2 + ... + 1/N; the claim holds for rewards within
    [0, 1] and for normal noise of std up to 1/2 (docs/theory.md).
    """
    return max(0.0, 1 - 2 * theta)


def near_optimal_nodes(delta: float, near: NearOptimality) -> float:
    """Return C [3 delta(h)]^-d, a bound on the number of nodes in I_h (Lemma 2, and AVE-StoOO's analogue)."""
    return _exp(_log_nodes(delta, near))


def std_bound(precision: float) -> float:
    """Return a bound on a node's posterior std after measurements of a total precision (Proposition 2).

    The precision is the sum of 1 / sigma_k^2 over the node's own measurements: T / sigma^2 if all have the same
    noise.
    """
    return 1 / math.sqrt(precision) if precision else math.inf


def draw_bound(beta: float, noise: float, delta: float) -> float:
    """Return beta_t sigma^2 / delta(h)^2 (Lemma 4 as printed).

    At most so often is a node of depth h measured without being expanded, if line 6 tests after the reward. The
    measurement that expands it comes in addition, which the lemma forgets; see `most_draws`.
    """
    return _exp(_log_draws(beta, noise, delta))


def most_draws(beta: float, noise: float, delta: float, test: Test, expanded: bool = True) -> float:
    """Return how often a node of depth h <= h_max is measured at most (Lemma 4, put right).

    The measurements after which line 6 did not expand are at most beta_t sigma^2 / delta(h)^2. If line 6 tests
    after the reward, one more expands the node; if before, one more still. Nodes of depth h_max + 1 are never
    expanded, and their measurements have no bound.
    """
    return draw_bound(beta, noise, delta) + SPARE[test] + expanded


def draw_bound_stooo(t: int, theta: float, delta: float) -> float:
    """Return 2 log(t^2 / theta) / delta(h)^2, AVE-StoOO's expansion test; Lemma 4 with noise 1."""
    return draw_bound(beta_stooo(t, theta), 1.0, delta)


def regret_depth(budget: int, beta: float, noise: float, delta: Delta, arity: int, near: NearOptimality) -> int:
    """Return h_N of Theorem 1 as printed.

    It is the smallest h' with ``N / beta_N <= K sum_{h <= h'} C [3 delta(h)]^-d sigma^2 / delta(h)^2``. The
    count behind it misses some measurements, and it may exceed h_max; see `proved_depth`. `budget` is N, `beta`
    beta_N, `noise` sigma and `arity` K; `delta` decreases (Assumption 3).
    """

    def log_term(h: int) -> float:
        return math.log(arity) + _log_nodes(delta(h), near) + _log_draws(beta, noise, delta(h))

    h, log_sum = 0, log_term(0)
    while log_sum < math.log(budget):
        h += 1
        log_sum = float(np.logaddexp(log_sum, log_term(h)))
    return h


def regret_depth_stooo(budget: int, theta: float, delta: Delta, arity: int, near: NearOptimality) -> int:
    """Return h_N of AVE-StoOO's theorem: Theorem 1's with beta_N = 2 log(N^2 / theta) and noise 1."""
    return regret_depth(budget, beta_stooo(budget, theta), 1.0, delta, arity, near)


def proved_depth(
    budget: int,
    beta: float,
    noise: Callable[[int], float],
    delta: Delta,
    arity: int,
    nodes: Callable[[int], float],
    h_max: int,
    test: Test = "before",
    deepest: int | None = None,
) -> int:
    """Return the depth h_N for which R_N <= 3 delta(h_N) is proved (Theorem 1, put right: on xi, with "before").

    Every measured node is the root or a child of an expanded one, so with B_h what `most_draws` allows a node
    that is not expanded, and as long as no node of depth h_max is, ``N <= B_0 + sum_{h <= H} |I_h| (1 + K
    B_{h+1})``, H the deepest expanded depth. h_N is the smallest H that makes this true, and h_max at most;
    where the space has smallest regions, no more than their depth either, `deepest`. By depth, `noise` is the
    largest sigma of a node and `nodes` a bound on the number of nodes in I_h, such as `near_optimal_nodes`; `test`
    says when line 6 is decided (the count holds for both). The rest is as in `regret_depth`.
    """
    last = h_max if deepest is None else min(h_max, deepest)

    def most(h: int) -> float:
        return most_draws(beta, noise(h), delta(h), test, expanded=False)

    h, count = 0, most(0) + nodes(0) * (1 + arity * most(1))
    while count < budget and h < last:
        h += 1
        count += nodes(h) * (1 + arity * most(h + 1))
    return h


def regret_bound(delta: Delta, depth: int) -> float:
    """Return 3 delta(h): Theorem 1's bound at h_N, or Lemma 3's at the depth recommended."""
    return 3 * delta(depth)


def regret_rate(budget: int, beta: float, d: float) -> float:
    """Return [beta_N / N]^(1 / (d + 2)), the Corollary's rate for delta(h) = c rho^h."""
    return _exp(math.log(beta / budget) / (d + 2))


def rate_constant(noise: float, rho: float, arity: int, near: NearOptimality) -> float:
    """Return the constant in front of the Corollary's rate, recomputed from Theorem 1 as printed.

    Summing the geometric series gives ``3 delta(h_N) <= 3 [3^-d K C sigma^2 / (1 - rho^(d+2))]^(1/(d+2))`` times
    the rate; the printed constant lacks the power, the 3 and a rho^-(d+2) (docs/fidelity.md, row 19).
    """
    power = near.d + 2
    log_inside = math.log(arity * near.C) - near.d * math.log(3) + 2 * math.log(noise) - math.log1p(-(rho**power))
    return 3 * _exp(log_inside / power)


def proved_rate(
    budget: int, beta: float, noise: float, c: float, rho: float, arity: int, near: NearOptimality, test: Test
) -> float:
    """Return a bound on 3 delta(h_N) for `proved_depth` and delta(h) = c rho^h, without h_max (Corollary 1).

    The measurements that the printed count misses add a term without beta_N, so the rate stays
    ``(beta_N / N)^(1 / (d + 2))``. C must be large enough for Lemma 2 to hold at the root.
    """
    spare, power = SPARE[test], near.d + 2
    inside = (arity / rho**2 + 1) * beta * noise**2 + (1 + arity * spare + spare) * c**2
    log_inside = math.log(near.C * inside / budget) - near.d * math.log(3) - math.log1p(-(rho**power))
    return 3 * _exp(log_inside / power)


def shape_constant(edge: float, delta: float) -> float:
    """Return nu of Assumption 4: a representative point's least distance to its cell's edge, over delta(h)."""
    return edge / delta


def packing_number(x: Floats, values: Floats, f_star: float, epsilon: float, radius: float) -> int:
    """Return the largest number of disjoint balls with centres where f >= f* - epsilon (Definition 4).

    On a line, going from left to right and taking each centre as early as possible is optimal. f has `values` on
    an increasing grid `x` and is taken as linear between its points; x*, where it is `f_star`, is always a centre,
    also when the grid misses it.
    """
    above = values - (f_star - epsilon)
    steps = np.diff(np.concatenate([[False], above >= 0, [False]]).astype(int))
    firsts, lasts = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1) - 1
    balls, free = 0, -math.inf
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        start = max(_crossing(x, above, first, first - 1), free)
        gap = (_crossing(x, above, last, last + 1) - start) / (2 * radius) + 1e-9  # rounding must not lose a ball
        if gap >= 0:
            balls += math.floor(gap) + 1
            free = start + 2 * radius * (math.floor(gap) + 1)
    return max(balls, 1)


def near_optimality(
    x: Floats, values: Floats, f_star: float, eta: float, epsilons: Sequence[float]
) -> NearOptimality:
    """Estimate the near-optimality dimension d and constant C of a known f on an interval (Definition 4).

    On a finite range of epsilon every d has a C, so "the smallest d" is not defined there. The estimate of d is
    the least-squares slope of the log of the packing number against log(1 / epsilon), at least 0; C is then the
    smallest constant for which the packing number is at most C epsilon^-d at every epsilon given. Lemma 2 and
    Theorem 1 need this pair on that range; it says nothing below the smallest epsilon. For a tree the epsilons are
    3 delta(h) at each depth; balls have radius ``eta epsilon``, and Lemma 2 needs ``eta = nu / 3``.
    """
    logs = np.log([packing_number(x, values, f_star, epsilon, eta * epsilon) for epsilon in epsilons])
    inverse = -np.log(np.asarray(epsilons, dtype=float))
    centred = inverse - inverse.mean()
    d = max(0.0, float(centred @ logs / (centred @ centred)))
    return NearOptimality(d, _exp(float(np.max(logs - d * inverse))))


def _crossing(x: Floats, above: Floats, inside: int, outside: int) -> float:
    """Return where the level is crossed between two neighbours of the grid, or the end of the grid."""
    if not 0 <= outside < len(x):
        return float(x[inside])
    share = above[inside] / (above[inside] - above[outside])
    return float(x[inside] + share * (x[outside] - x[inside]))


def _log_nodes(delta: float, near: NearOptimality) -> float:
    return math.log(near.C) - near.d * (math.log(3) + math.log(delta))


def _log_draws(beta: float, noise: float, delta: float) -> float:
    return math.log(beta) + 2 * (math.log(positive_number(noise, "noise")) - math.log(delta))


def _exp(x: float) -> float:
    """Return exp(x), infinity on overflow."""
    return math.exp(x) if x < 709 else math.inf
