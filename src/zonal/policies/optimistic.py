"""GPOO, the paper's Algorithm 1, and StoOO: optimism in the face of uncertainty on a tree."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Literal

from zonal.arrays import Floats
from zonal.errors import InvalidInput, SmoothnessWarning, check_choice, probability, warn_user, whole_number
from zonal.policies.rules import Bound, Policy, Rows, Setting, Shape, best, best_mean, deepest_best, numbered
from zonal.spaces.region import DEEPEST
from zonal.theory import Delta, LipschitzDelta, beta_stooo, beta_t, delta_by_depth, log_nodes
from zonal.tree import Tree


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
        With several trials under way at once: whether a leaf is split as soon as the pending trials there would
        satisfy line 6, without waiting for their rewards. Otherwise trials pile up on one leaf, and with 8 at once
        the regret doubles. With one trial at a time it makes no difference.
    """

    delta: Delta = field(default_factory=LipschitzDelta)
    theta: float = 0.1
    h_max: int = 10
    test: Literal["after", "before"] = "after"
    returns: Literal["deepest", "highest"] = "deepest"
    ahead: bool = False

    def __post_init__(self) -> None:
        _check(self.delta, self.theta)
        object.__setattr__(self, "h_max", whole_number(self.h_max, "h_max", 0, DEEPEST))
        check_choice(self.test, "GPOO's test", ("after", "before"))
        check_choice(self.returns, "GPOO's returns", ("deepest", "highest"))
        if not isinstance(self.ahead, bool):
            raise InvalidInput("GPOO's ahead must be True or False", self.ahead, "Choose one of the two.")

    def depth(self, shape: Shape, budget: int) -> int:
        """Return h_max."""
        return self.h_max

    def bind(self, setting: Setting) -> OptimisticRules:
        """Return the rules for one problem."""
        log_m = log_nodes(setting.counts[:-1])
        beta = lru_cache(2)(partial(beta_t, log_m=log_m, theta=self.theta))  # used twice a round
        return _rules(self, beta, setting)


@dataclass(frozen=True)
class StoOO(Policy):
    """Stochastic optimistic optimisation, and with averaged feedback AVE-StoOO (the paper's appendix).

    These are GPOO's rules on the empirical belief: each node has its own rewards only, ``std = 1 / sqrt(T)``, and
    ``beta_t = 2 log(t^2 / theta)``. Rewards should lie between 0 and 1. No kernel and no noise is needed.

    Parameters
    ----------
    delta : callable, depth -> float
        Bound on how much f varies within a cell of this depth.
    theta : float
        The probability with which the confidence intervals may fail, between 0 and 1.
    h_max : int, optional
        The deepest depth at which nodes are expanded; by default there is no limit.
    """

    delta: Delta
    theta: float = 0.1
    h_max: int | None = None
    empirical = True
    test, returns, ahead = "after", "deepest", False  # as by default in GPOO

    def __post_init__(self) -> None:
        _check(self.delta, self.theta)
        if self.h_max is not None:
            object.__setattr__(self, "h_max", whole_number(self.h_max, "h_max", 0, DEEPEST))

    def depth(self, shape: Shape, budget: int) -> int:
        """Return h_max, or the deepest depth at which nodes can be numbered."""
        return numbered(shape) if self.h_max is None else self.h_max

    def bind(self, setting: Setting) -> OptimisticRules:
        """Return the rules for one problem."""
        return _rules(self, partial(beta_stooo, theta=self.theta), setting)


def _check(delta: object, theta: float) -> None:
    if not callable(delta):
        raise InvalidInput("delta must be a function of the depth", delta, "Pass GeometricDelta(14, 0.5).")
    probability(theta, "theta")


def _rules(policy: GPOO | StoOO, beta: Callable[[int], float], setting: Setting) -> OptimisticRules:
    values = delta_by_depth(policy.delta, setting.variation, setting.h_max, policy.theta)
    if (values[1:] > values[:-1]).any():
        grows = f"delta grows with depth ({values[0]:g}, {values[1]:g}, ...); the theory needs a decreasing one "
        warn_user(SmoothnessWarning(grows + "(Assumption 3)."))
    return OptimisticRules(policy, setting, values, beta)


@dataclass(frozen=True)
class OptimisticRules(Bound):
    """The rules of optimistic tree search, for any belief."""

    delta: Floats  # shape (h_max + 2,): delta(h)
    beta: Callable[[int], float]  # beta_t, of t

    def urgent(self, tree: Tree, rows: Rows, t: int) -> int:
        """Return the row among `rows` with the highest b-value."""
        b = math.sqrt(self.beta(t)) * tree.std  # equation (5): mean + CI + delta
        b += tree.mean
        b += self.delta[tree.depth]
        return best(tree, rows, b[rows], self.setting.tie)

    def refines(self, tree: Tree, node: int, t: int) -> bool:
        """Tell whether the trials under way at `node` would satisfy line 6, so that its children come next."""
        return bool(
            self.policy.ahead
            and tree.looks[node] > tree.answered[node]
            and tree.first_child[node] < 0
            and not tree.smallest[node]
            and self.delta[tree.depth[node]] >= math.sqrt(self.beta(t)) * tree.std[node]
        )

    def splits(self, tree: Tree, node: int, t: int) -> bool:
        """Tell whether a measured node is to be expanded (line 6)."""
        depth, std = tree.depth[node], (tree.std_before if self.policy.test == "before" else tree.std)[node]
        interval = math.sqrt(self.beta(t)) * std  # CI of equation (6)
        return bool(depth <= self.setting.h_max and self.delta[depth] >= interval)

    def bands(self, tree: Tree, t: int) -> tuple[Floats, Floats]:
        """Return CI (equation 6) and delta of every node."""
        return math.sqrt(self.beta(t)) * tree.std, self.delta[tree.depth]

    def recommend(self, tree: Tree) -> int:
        """Return the best of the deepest expanded nodes, or of all (line 11); the root if none is expanded."""
        rows = (tree.expanded & (tree.answered > 0)).nonzero()[0]
        choose = deepest_best if self.policy.returns == "deepest" else best_mean
        return choose(tree, rows, self.setting.tie)
