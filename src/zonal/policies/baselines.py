"""Baselines over the smallest regions: a uniform grid, random, GP-UCB and Thompson sampling.

All four grow the tree to one depth first, measure only its leaves, and recommend the measured leaf with the
highest posterior mean. They differ in the choice only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from zonal._blas import one_thread
from zonal._types import Floats
from zonal.errors import InvalidInput, probability, require
from zonal.policies.base import BoundPolicy, Policy, PolicyContext, RngFactory, Rows, Shape, Views, best, scattered
from zonal.policies.beta import log_pi_t
from zonal.tree import Tree

MOST_LEAVES = 4096
DRAW_JITTER = 1e-8


class BoundLeaves(BoundPolicy):
    """A baseline bound to a problem: it measures the leaf that the policy picks."""

    def choose(self, tree: Tree, t: int, views: Views, rng: RngFactory) -> int:
        """Return the leaf that the policy picks."""
        return int(self.policy.pick(tree, tree.askable.nonzero()[0], t, views, self.context, rng))


@dataclass(frozen=True)
class Leaves(Policy):
    """What the baselines share.

    Parameters
    ----------
    level : int, optional
        The depth of the regions to measure; by default that of the space's smallest regions.
    """

    level: int | None = None
    expands_fully = True
    bound_class = BoundLeaves

    def __post_init__(self) -> None:
        self._check_depth("level")

    def depth(self, shape: Shape, budget: int) -> int:
        """Return the depth above the leaves."""
        level, smallest = self.level, shape.max_depth()
        if level is None:
            level = self._default(shape, budget)
        if smallest is not None:
            level = min(level, smallest)
        leaves = shape.leaves(level)
        problem = f"this policy measures the {leaves} regions of depth {level}, more than {MOST_LEAVES}"
        require(leaves <= MOST_LEAVES, problem, level, "Pass a smaller level, or a space with a larger smallest.")
        return level - 1

    def _default(self, shape: Shape, budget: int) -> int:
        smallest = shape.max_depth()
        if smallest is None:
            problem = f"{type(self).__name__} measures the smallest regions, and this space has none"
            raise InvalidInput(problem, None, "Pass level=, or a space with smallest=.")
        return smallest

    def pick(self, tree: Tree, rows: Rows, t: int, views: Views, context: PolicyContext, rng: RngFactory) -> int:
        """Return the row to measure in round `t` among the askable `rows`."""
        raise InvalidInput("this is not a policy by itself", self, "Use UniformGrid, Random, UCB or Thompson.")


@dataclass(frozen=True)
class UniformGrid(Leaves):
    """Measure the regions of one depth in turn, spread evenly from the start.

    Parameters
    ----------
    level : int, optional
        Their depth; by default the deepest with no more regions than the budget.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=4, policy=zn.UniformGrid(level=2))
    >>> [trial.region.name for trial in study.ask(4)]
    ['x 0..0.25', 'x 0.5..0.75', 'x 0.25..0.5', 'x 0.75..1']
    """

    answers_anywhere = True

    def _default(self, shape: Shape, budget: int) -> int:
        level = 0
        while shape.count(level + 1) and shape.leaves(level + 1) <= budget:
            level += 1
        return level

    def pick(self, tree: Tree, rows: Rows, t: int, views: Views, context: PolicyContext, rng: RngFactory) -> int:
        """Return the least measured leaf; among equals, in order of reversed digits (van der Corput)."""
        trials = tree.trials[rows]
        rows = rows[trials == trials.min()]
        nodes = zip(tree.index[rows].tolist(), tree.depth[rows].tolist(), strict=True)
        order = [scattered(index, depth, context.counts[depth], context.base) for index, depth in nodes]
        return int(rows[int(np.argmin(order))])


@dataclass(frozen=True)
class Random(Leaves):
    """Measure regions of one depth at random.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=20, policy=zn.Random(level=4), rng=0)
    >>> study.ask().region.node[0]
    4
    """

    answers_anywhere = True

    def pick(self, tree: Tree, rows: Rows, t: int, views: Views, context: PolicyContext, rng: RngFactory) -> int:
        """Return a random leaf."""
        return int(rng().choice(rows))


@dataclass(frozen=True)
class UCB(Leaves):
    """GP-UCB over regions of one depth (Srinivas and others 2009, finite arms).

    Parameters
    ----------
    level : int, optional
        Their depth; by default that of the space's smallest regions.
    theta : float
        The probability with which the confidence intervals may fail.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=20, policy=zn.UCB(level=4), rng=0)
    >>> study.ask().region.name
    'x 0..0.0625'
    """

    theta: float = 0.1
    answers_anywhere = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep("theta", probability(self.theta, "theta"))

    def pick(self, tree: Tree, rows: Rows, t: int, views: Views, context: PolicyContext, rng: RngFactory) -> int:
        """Return the leaf with the highest upper confidence bound."""
        leaves = int(np.count_nonzero(tree.first_child < 0))
        beta = 2 * (math.log(leaves) + log_pi_t(t) - math.log(self.theta))
        return best(tree, rows, tree.mean[rows] + math.sqrt(beta) * tree.std[rows], context.tie)


@dataclass(frozen=True)
class Thompson(Leaves):
    """Thompson sampling over regions of one depth: measure where a draw from the posterior is highest.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=20, policy=zn.Thompson(level=4), rng=0)
    >>> len(study.ask().region.name) > 0
    True
    """

    answers_anywhere = True

    def pick(self, tree: Tree, rows: Rows, t: int, views: Views, context: PolicyContext, rng: RngFactory) -> int:
        """Return the leaf where a joint draw from the posterior is highest, under a model drawn by its weight."""
        members, random = views(), rng()
        number = random.choice(len(members), p=[view.weight for view in members]) if len(members) > 1 else 0
        view = members[int(number)]
        covariance = view.covariance(rows, rows)
        # Only the draw has this jitter, not the belief; it is far below the scatter of draws.
        rounding = (1e3 * context.tie) ** 2  # where everything is known, rounding is relative to the prior
        jitter = DRAW_JITTER * float(np.max(np.diag(covariance))) + rounding + 1e-300
        with one_thread():
            draw = _factor(covariance, jitter) @ random.standard_normal(len(rows))
        return best(tree, rows, view.mean[rows] + draw, 0.0)


def _factor(covariance: Floats, jitter: float) -> Floats:
    """Return a Cholesky factor of a covariance with jitter on its diagonal, ten times more after each failure.

    With many rows rounding errors add up, and may exceed any fraction of a variance that is nearly zero.
    """
    while True:
        covariance[np.diag_indices(len(covariance))] += jitter
        try:
            return np.asarray(np.linalg.cholesky(covariance))
        except np.linalg.LinAlgError:
            jitter *= 9  # added to what is there
