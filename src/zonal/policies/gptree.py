"""GPTree (Shekhar and Javidi 2018), with the constants the paper's authors used (docs/fidelity.md, row 14)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from zonal.arrays import Floats
from zonal.errors import positive_number, probability, whole_number
from zonal.policies.rules import Bound, Policy, Rows, Setting, Shape, best, deepest_best, numbered
from zonal.spaces.region import DEEPEST
from zonal.tree import Tree


@dataclass(frozen=True)
class GPTree(Policy):
    """Adaptive discretisation with a Gaussian process: refine where the posterior is precise, else measure.

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
    """

    alpha: float = 0.5
    rho: float = 0.5
    u: float = 2.0
    slope: float = 0.1
    beta: float = 0.25
    h_max: int | None = None

    def __post_init__(self) -> None:
        for name in ("alpha", "u", "slope", "beta"):
            positive_number(getattr(self, name), f"GPTree's {name}")
        probability(self.rho, "GPTree's rho")
        if self.h_max is not None:
            object.__setattr__(self, "h_max", whole_number(self.h_max, "h_max", 0, DEEPEST))

    def depth(self, shape: Shape, budget: int) -> int:
        """Return h_max, from the theory unless given, limited so that all nodes can be numbered."""
        if self.h_max is not None:
            return self.h_max
        theory = math.log(budget) * (1 + 1 / self.alpha) / (2 * self.alpha * math.log(1 / self.rho))
        return min(int(theory), numbered(shape))

    def bind(self, setting: Setting) -> GPTreeRules:
        """Return the rules for one problem."""
        c4 = 1 + 2 * math.log(setting.budget**2 * math.pi**2 / 6)
        depth = np.arange(setting.h_max + 2)
        g = self.slope * self.rho**depth
        inner = (
            2 * self.u + c4 + np.log(np.maximum(np.array(setting.counts, dtype=float), 1.0)) + 4 * np.log(1 / g)
        )
        variation = 4 * g * (np.sqrt(np.maximum(inner, 0)) + 1)
        beta_n = self.beta * math.sqrt(math.log(setting.budget) + self.u)
        return GPTreeRules(self, setting, variation, beta_n)


@dataclass(frozen=True)
class GPTreeRules(Bound):
    """GPTree bound to a problem."""

    variation: Floats  # shape (h_max + 2,): v(h)
    beta_n: float  # factor of the standard deviation

    def urgent(self, tree: Tree, rows: Rows, t: int) -> int:
        """Return the row among `rows` with the highest index."""
        parent = tree.parent[rows]
        depth = tree.depth[rows]
        own = tree.mean[rows] + self.beta_n * tree.std[rows]
        above = tree.mean[parent] + self.beta_n * tree.std[parent] + self.variation[depth - 1]
        bound = np.where(parent < 0, own, np.minimum(own, above))
        return best(tree, rows, bound + self.variation[depth], self.setting.tie)

    def refines(self, tree: Tree, node: int, t: int) -> bool:
        """Tell whether a chosen node is known well enough to be split without a measurement."""
        depth = tree.depth[node]
        return bool(depth <= self.setting.h_max and self.beta_n * tree.std[node] <= self.variation[depth])

    def bands(self, tree: Tree, t: int) -> tuple[Floats, Floats]:
        """Return beta_n std and V(h) of every node."""
        return self.beta_n * tree.std, self.variation[tree.depth]

    def recommend(self, tree: Tree) -> int:
        """Return the best of the deepest nodes that were split and contain a measurement."""
        within = np.zeros(tree.size, dtype=bool)
        for measured in tree.answered.nonzero()[0]:
            row = int(measured)
            while row >= 0 and not within[row]:
                within[row] = True
                row = int(tree.parent[row])
        split = tree.expanded | (tree.first_child >= 0)  # by the opening sweep too
        return deepest_best(tree, (split & within).nonzero()[0], self.setting.tie)
