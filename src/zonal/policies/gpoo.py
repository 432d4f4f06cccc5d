"""Optimism in the face of uncertainty on a tree: GPOO, which is the paper's Algorithm 1, StoOO and GPTree."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Literal

import numpy as np

from zonal._types import Floats
from zonal.errors import SmoothnessWarning, check_choice, positive_number, probability, require, truth, warn_user
from zonal.policies.base import (
    BoundPolicy,
    Policy,
    PolicyContext,
    Rows,
    Shape,
    best,
    best_mean,
    deepest_best,
    numbered,
)
from zonal.policies.beta import beta_stooo, beta_t, log_nodes
from zonal.policies.deltas import Delta, LipschitzDelta, delta_by_depth
from zonal.tree import Tree

SMALLEST = 1e-6  # of GPTree's settings; their inverse the largest


def _check_delta(delta: Delta | None) -> None:
    require(callable(delta), "delta must be a function of the depth", delta, "Pass GeometricDelta(14, 0.5).")


@dataclass(frozen=True)
class GPOO(Policy):
    """Gaussian process optimistic optimisation (Algorithm 1 of the paper).

    In each round the leaf with the highest ``mean + sqrt(beta_t) std + delta(depth)`` is measured, and split once
    ``sqrt(beta_t) std <= delta(depth)``. The recommendation is, among the deepest expanded nodes, the one with the
    highest posterior mean.

    The paper allows two readings of the test in line 6 and of what is returned; see docs/theory.md and
    docs/fidelity.md, rows 2 and 5.

    Parameters
    ----------
    delta : callable, depth -> float
        Bound on how much f varies within a cell of this depth. By default it is derived from the kernel
        (`LipschitzDelta`, a heuristic); the paper's experiments use ``GeometricDelta(14, 0.5)``.
    theta : float
        The probability with which the confidence intervals may fail, between 0 and 1.
    h_max : int
        The deepest depth at which nodes are expanded, so that leaves exist down to h_max + 1.
    test : {"after", "before"}
        Which std line 6 tests: after the round's reward, as in the order of the pseudo-code, or before it, as in
        equation 6. Lemma 3 and Theorem 1 hold for "before" only.
    returns : {"deepest", "highest"}
        The best of the deepest expanded nodes, as in the pseudo-code, or of all expanded nodes, as in the prose.
    ahead : bool
        With several trials pending at once: whether a leaf is split as soon as the pending trials there would
        satisfy line 6, without waiting for their rewards. Otherwise trials pile up on one leaf, and with 8 at once
        the regret doubles. With one trial at a time it makes no difference.

    Examples
    --------
    >>> import zonal as zn
    >>> policy = zn.GPOO(delta=zn.GeometricDelta(14, 0.5), h_max=10)
    >>> study = zn.Study([(0, 1)], budget=80, kernel=zn.RBF(0.1, 0.05), noise=0.1, policy=policy)
    >>> study.ask().region.name
    'x 0..1'
    """

    delta: Delta = field(default_factory=LipschitzDelta)
    theta: float = 0.1
    h_max: int = 10
    test: Literal["after", "before"] = "after"
    returns: Literal["deepest", "highest"] = "deepest"
    ahead: bool = False

    def __post_init__(self) -> None:
        _check_delta(self.delta)
        self._keep("theta", probability(self.theta, "theta"))
        self._check_depth("h_max", needed=True)
        check_choice(self.test, "GPOO's test", ("after", "before"))
        check_choice(self.returns, "GPOO's returns", ("deepest", "highest"))
        self._keep("ahead", truth(self.ahead, "GPOO's ahead"))

    def depth(self, shape: Shape, budget: int) -> int:
        """Return h_max."""
        return self.h_max

    def bind(self, context: PolicyContext) -> BoundOptimistic:
        """Return the policy bound to one problem."""
        log_m = log_nodes(context.counts[:-1])
        beta = lru_cache(2)(partial(beta_t, log_m=log_m, theta=self.theta))  # used twice a round
        return _rules(self, beta, context)


@dataclass(frozen=True)
class StoOO(Policy):
    """Stochastic optimistic optimisation, and with averaged feedback AVE-StoOO (the paper's appendix).

    This is GPOO on empirical means: each node has its own rewards only, ``std = 1 / sqrt(T)``, and
    ``beta_t = 2 log(t^2 / theta)``. Rewards should lie between 0 and 1. No kernel and no noise is needed.

    Parameters
    ----------
    delta : callable, depth -> float
        Bound on how much f varies within a cell of this depth.
    theta : float
        The probability with which the confidence intervals may fail, between 0 and 1.
    h_max : int, optional
        The deepest depth at which nodes are expanded; by default there is no limit.

    Examples
    --------
    >>> import zonal as zn
    >>> policy = zn.StoOO(delta=zn.GeometricDelta(14, 0.5))
    >>> study = zn.Study([(0, 1)], budget=80, noise=0.1, policy=policy)
    >>> study.ask().region.name
    'x 0..1'
    """

    delta: Delta
    theta: float = 0.1
    h_max: int | None = None
    model_free = True
    test, returns, ahead = "after", "deepest", False  # as by default in GPOO

    def __post_init__(self) -> None:
        _check_delta(self.delta)
        self._keep("theta", probability(self.theta, "theta"))
        self._check_depth("h_max")

    def depth(self, shape: Shape, budget: int) -> int:
        """Return h_max, or the deepest depth at which nodes can be numbered."""
        return numbered(shape) if self.h_max is None else self.h_max

    def bind(self, context: PolicyContext) -> BoundOptimistic:
        """Return the policy bound to one problem."""
        return _rules(self, partial(beta_stooo, theta=self.theta), context)


def _rules(policy: GPOO | StoOO, beta: Callable[[int], float], context: PolicyContext) -> BoundOptimistic:
    values = delta_by_depth(policy.delta, context.variation, context.h_max, policy.theta)
    if (values[1:] > values[:-1]).any():
        grows = f"delta grows with depth ({values[0]:g}, {values[1]:g}, ...); the theory needs a decreasing one "
        warn_user(SmoothnessWarning(grows + "(Assumption 3)."))
    return BoundOptimistic(policy, context, values, beta)


@dataclass(frozen=True)
class BoundOptimistic(BoundPolicy):
    """Optimistic tree search bound to a problem, for any belief."""

    delta: Floats  # shape (h_max + 2,): delta(h)
    beta: Callable[[int], float]  # beta_t, of t

    def fallback_expand(self, tree: Tree, rows: Rows, t: int) -> int:
        """Return the row among `rows` with the highest b-value."""
        b = math.sqrt(self.beta(t)) * tree.std  # equation (5): mean + CI + delta
        b += tree.mean
        b += self.delta[tree.depth]
        return best(tree, rows, b[rows], self.context.tie)

    def expand_unmeasured(self, tree: Tree, node: int, t: int) -> bool:
        """Tell whether the trials pending at `node` would satisfy line 6, so that its children come next."""
        return bool(
            self.policy.ahead
            and tree.trials[node] > tree.count[node]
            and tree.first_child[node] < 0
            and not tree.smallest[node]
            and self.delta[tree.depth[node]] >= math.sqrt(self.beta(t)) * tree.std[node]
        )

    def should_expand(self, tree: Tree, node: int, t: int) -> bool:
        """Tell whether a measured node is to be expanded (line 6)."""
        depth, std = tree.depth[node], (tree.std_before if self.policy.test == "before" else tree.std)[node]
        interval = math.sqrt(self.beta(t)) * std  # CI of equation (6)
        return bool(depth <= self.context.h_max and self.delta[depth] >= interval)

    def confidence_bands(self, tree: Tree, t: int) -> tuple[Floats, Floats]:
        """Return CI (equation 6) and delta of every node."""
        return math.sqrt(self.beta(t)) * tree.std, self.delta[tree.depth]

    def recommend(self, tree: Tree) -> int:
        """Return the best of the deepest expanded nodes, or of all (line 11); the root if none is expanded."""
        rows = (tree.expanded & (tree.count > 0)).nonzero()[0]
        choose = deepest_best if self.policy.returns == "deepest" else best_mean
        return choose(tree, rows, self.context.tie)


@dataclass(frozen=True)
class GPTree(Policy):
    """Adaptive discretisation with a Gaussian process: refine where the posterior is precise, else measure.

    GPTree (Shekhar and Javidi 2018), with the constants that the paper's authors used (docs/fidelity.md, row 14).
    The leaf of the highest ``min(U, U of its parent + V(h - 1)) + V(h)`` is taken, with ``U = mean + beta_n std``.
    While ``beta_n std <= V(h)`` it is split without being measured; otherwise it is measured. The recommendation
    is, among the deepest nodes that were split and contain a measurement, the one with the highest mean.

    Parameters
    ----------
    alpha, rho : float
        Hoelder exponent of f and how fast cells shrink with depth; they set h_max.
    u : float
        Confidence: bounds fail with probability of order exp(-u).
    slope : float
        g(x) = slope * x bounds the canonical distance of points at distance x.
    beta : float
        beta_n = beta * sqrt(log n + u), with n the budget.
    h_max : int, optional
        The deepest depth at which nodes are split; by default log n (1 + 1/alpha) / (2 alpha log(1/rho)).

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=80, kernel=zn.RBF(0.1, 0.05), noise=0.1, policy=zn.GPTree())
    >>> study.ask().region.name
    'x 0..0.03125'
    """

    alpha: float = 0.5
    rho: float = 0.5
    u: float = 2.0
    slope: float = 0.1
    beta: float = 0.25
    h_max: int | None = None

    def __post_init__(self) -> None:
        for name in ("alpha", "u", "slope", "beta"):
            self._keep(name, positive_number(getattr(self, name), f"GPTree's {name}"))
            least = SMALLEST <= getattr(self, name) <= 1 / SMALLEST
            require(
                least,
                f"GPTree's {name} is out of all proportion",
                getattr(self, name),
                "Pass a number of about 1.",
            )
        self._keep("rho", probability(self.rho, "GPTree's rho"))
        self._check_depth("h_max")

    def depth(self, shape: Shape, budget: int) -> int:
        """Return h_max, from the theory unless given, limited so that all nodes can be numbered."""
        if self.h_max is not None:
            return self.h_max
        theory = math.log(budget) * (1 + 1 / self.alpha) / (2 * self.alpha * math.log(1 / self.rho))
        return min(int(theory), numbered(shape))

    def bind(self, context: PolicyContext) -> GPTreeRules:
        """Return the policy bound to one problem."""
        c4 = 1 + 2 * math.log(context.budget**2 * math.pi**2 / 6)
        depth = np.arange(context.h_max + 2)
        g = self.slope * self.rho**depth
        inner = (
            2 * self.u + c4 + np.log(np.maximum(np.array(context.counts, dtype=float), 1.0)) + 4 * np.log(1 / g)
        )
        variation = 4 * g * (np.sqrt(np.maximum(inner, 0)) + 1)
        beta_n = self.beta * math.sqrt(math.log(context.budget) + self.u)
        return GPTreeRules(self, context, variation, beta_n)


@dataclass(frozen=True)
class GPTreeRules(BoundPolicy):
    """GPTree bound to a problem."""

    variation: Floats  # shape (h_max + 2,): v(h)
    beta_n: float  # factor of the standard deviation

    def fallback_expand(self, tree: Tree, rows: Rows, t: int) -> int:
        """Return the row among `rows` with the highest index."""
        parent = tree.parent[rows]
        depth = tree.depth[rows]
        upper = tree.mean[rows] + self.beta_n * tree.std[rows]
        above = tree.mean[parent] + self.beta_n * tree.std[parent] + self.variation[depth - 1]
        bound = np.where(parent < 0, upper, np.minimum(upper, above))
        return best(tree, rows, bound + self.variation[depth], self.context.tie)

    def expand_unmeasured(self, tree: Tree, node: int, t: int) -> bool:
        """Tell whether a chosen node is known well enough to be split without a measurement."""
        depth = tree.depth[node]
        return bool(depth <= self.context.h_max and self.beta_n * tree.std[node] <= self.variation[depth])

    def confidence_bands(self, tree: Tree, t: int) -> tuple[Floats, Floats]:
        """Return beta_n std and V(h) of every node."""
        return self.beta_n * tree.std, self.variation[tree.depth]

    def recommend(self, tree: Tree) -> int:
        """Return the best of the deepest nodes that were split and contain a measurement."""
        within = np.zeros(tree.size, dtype=bool)
        for measured in tree.count.nonzero()[0]:
            row = int(measured)
            while row >= 0 and not within[row]:
                within[row] = True
                row = int(tree.parent[row])
        split = tree.expanded | (tree.first_child >= 0)  # by the initial design too
        return deepest_best(tree, (split & within).nonzero()[0], self.context.tie)
