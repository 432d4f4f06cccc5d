"""Find the smallest regions above a threshold: measure where most uncertainty about that is removed.

A region of posterior mean m and standard deviation s is classified as above the threshold h if m > h, which is
wrong with probability Phi(-|z|), z = (m - h) / s. After a measurement of node j, whose correlation with the region
is rho, that probability is 2 T(z, a) on average, with a = sqrt(1 / rho^2 - 1) and T Owen's function. The gain is
the difference, weighted by the weight of each region:

    Phi(-|z|) - 2 T(z, a) = 1 / pi * integral from a to infinity of exp(-z^2 (1 + x^2) / 2) / (1 + x^2) dx

It is computed in logarithms, since it vanishes when the classification is clear, and averaged over all models. A
leaf that can still be split represents the smallest regions within it, whose averages vary about its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from zonal._types import Floats
from zonal.errors import finite_number, probability, require, without_unit
from zonal.policies.base import NONE, Choice, ModelView, Policy, RngFactory, Rows, Views, allowed_leaves, uncertain
from zonal.policies.cost_aware import TIE, highest, largest
from zonal.policies.knowledge_gradient import BoundKnowledgeGradient
from zonal.tree import Tree

CANDIDATES = 512  # regions with the most uncertain classification
QUESTIONS = 192  # nodes considered for the next measurement
FINALISTS = 16  # nodes whose gain is computed exactly
SURE = 1e3  # standard deviations: a classification that far from the threshold, or further, is clear
NODES = 16  # of the quadrature rule: exact to five digits


class BoundAbove(BoundKnowledgeGradient):
    """The search for a set, bound to a problem; it grows and recommends as the default does."""

    def threshold(self, tree: Tree, views: Views) -> float:
        """Return the threshold, relative to the prior mean: for a top share, that quantile of the means."""
        if self.policy.threshold is not None:
            return float(self.context.sign * self.policy.threshold - self.context.zero)
        rows = allowed_leaves(tree)
        mean, weights = tree.mean[rows], views()[0].weights(rows)
        order = np.argsort(-mean, kind="stable")
        reached = np.cumsum(weights[order])
        at = int(np.searchsorted(reached, self.policy.top * reached[-1] * (1 - 1e-9)))
        return float(mean[order[min(at, len(rows) - 1)]] + mean[order[min(at + 1, len(rows) - 1)]]) / 2

    def promise(self, tree: Tree, leaves: Rows, views: Views, within: bool) -> Floats:
        """Return how far averages may well lie beyond the threshold, of leaves or of smallest regions `within`."""
        middle = tree.mean[leaves]
        reach = super().promise(tree, leaves, views, within) - middle
        return np.asarray(reach - np.abs(middle - self.threshold(tree, views)))

    def followed(self, tree: Tree) -> None:
        """Return None: no guard follows the highest rewards, since the best region is not the only aim."""

    def choose(self, tree: Tree, t: int, views: Views, rng: RngFactory) -> Choice:
        """Return the node expected to remove the most uncertainty for its cost."""
        from scipy.special import ndtr

        unseen = self.unseen(tree, views) if self.context.learned and t % 4 == 0 else NONE
        questions = unseen if len(unseen) else self.questions(tree, views, QUESTIONS)
        members = views()
        limit = self.threshold(tree, lambda: members)
        rows = allowed_leaves(tree)
        if len(rows) == 0:
            rows = tree.leaf.nonzero()[0]
        doubts = [_apart(view, tree, rows, limit) for view in members]
        weights = members[0].weights(rows)
        wrong = [view.weight * ndtr(-z) for view, (z, _) in zip(members, doubts, strict=True)]
        unsure = np.sum(wrong, axis=0)
        candidates = highest(np.log(weights * unsure + 1e-300), CANDIDATES, TIE)
        rows, shares = rows[candidates], [np.log(view.weight * weights[candidates]) for view in members]
        off = [z[candidates] for z, _ in doubts]
        stds = [spread[candidates] for _, spread in doubts]
        joint = [view.seen(questions, rows) / std for view, std in zip(members, stds, strict=True)]

        def tails(at: Rows | slice, ratio: Floats | float) -> list[Floats]:
            return [
                _tails(view, questions[at], covariance[at], ratio)
                for view, covariance in zip(members, joint, strict=True)
            ]

        def summed(gain: Callable[[Floats, Floats], Floats], parts: list[Floats]) -> Floats:
            by_model = zip(shares, off, parts, strict=True)
            return np.asarray(np.logaddexp.reduce([_summed(share + gain(z, tail)) for share, z, tail in by_model]))

        rough, exact = partial(summed, log_rough), partial(summed, log_cleared)
        return largest(tree, questions, tails, rough, exact, FINALISTS)


@dataclass(frozen=True)
class Above(Policy):
    """Measure to find the smallest regions above a threshold (below it, when minimising).

    The recommendation is still the best smallest region.

    Parameters
    ----------
    threshold : float, optional
        In value units.
    top : float, optional
        Instead of a threshold: the share of the space to find, such as .2 for its best fifth.

    Examples
    --------
    >>> import zonal as zn
    >>> space = zn.Box([(0, 1)], smallest=0.25)
    >>> study = zn.Study(space, budget=4, kernel=zn.RBF(1.0, 0.2), noise=0.1, policy=zn.Above(0.7))
    >>> study.optimize(lambda region: float(region.center[0])).nfev
    4
    >>> [held.region.name for held in study.above()]
    ['x 0.75..1']
    """

    threshold: float | None = None
    top: float | None = None
    measures_internal_nodes = True
    cost_aware = True
    depths = "any"
    bound_class = BoundAbove

    def __post_init__(self) -> None:
        given = None if self.top is None else (self.threshold, self.top)
        fix = "Pass one of them: zn.Above(0.7) or zn.Above(top=0.2)."
        exclusive = (self.threshold is None) != (self.top is None)
        require(exclusive, "Above needs either a threshold or a top share", given, fix)
        if self.top is None:
            why = "since a policy does not know that of the study's values"
            limit = without_unit(self.threshold, "", "threshold", why)
            object.__setattr__(self, "threshold", finite_number(limit, "threshold"))
        else:
            object.__setattr__(self, "top", probability(self.top, "top"))


def _apart(view: ModelView, tree: Tree, rows: Rows, limit: float) -> tuple[Floats, Floats]:
    """Return by how many standard deviations regions (or parts of leaves) differ from a limit, and these stds.

    They are infinite where a region is known already: its classification is clear.
    """
    hidden = np.where(tree.smallest[rows], 0.0, view.hidden[rows])
    spread = uncertain(view.std[rows] ** 2 + hidden, view.prior[rows])
    z = np.abs(view.mean[rows] - limit) / spread
    return np.where(np.isinf(spread), SURE, np.minimum(z, SURE)), spread


def _tails(view: ModelView, questions: Rows, joint: Floats, ratio: Floats | float) -> Floats:
    """Return a = sqrt(1 / rho^2 - 1) of each question, taking `ratio` times the usual time, with every region."""
    rho2 = (joint / view.spread(questions, ratio)[:, None]) ** 2
    return np.sqrt(np.maximum(1 / np.clip(rho2, 1e-30, 1.0) - 1, 0.0))


def _summed(logs: Floats) -> Floats:
    """Return the log of the sum of exponentials of each row."""
    top = logs.max(axis=1)
    return np.asarray(top + np.log(np.exp(logs - top[:, None]).sum(axis=1)))


def _height(z2: Floats, a: Floats) -> Floats:
    """Return an approximate integral divided by the exponential at `a`; exact where z or a is 0 or large."""
    edge = 1 / np.arctan2(1.0, a)
    return np.asarray(1 / ((1 + a * a) * a * z2 + np.sqrt(edge * edge + (2 / math.pi) * z2)))


def log_rough(z: Floats, a: Floats) -> Floats:
    """Return `log_cleared` to within about a fifth, for ranking."""
    z2 = z * z
    return np.asarray(-0.5 * z2 * (1 + a * a) + np.log(_height(z2, a) / math.pi))


def log_cleared(
    z: Floats,  # shape (n,): 0 or more
    a: Floats,  # shape (r, n): each sqrt(1 / rho^2 - 1)
) -> Floats:
    """Return the logarithm of Phi(-z) - 2 T(z, a): by how much a probability of error falls."""
    z2 = z * z
    # x = a + u, u on the scale of the integrand's width, from 0 to infinity by u = scale * y / (1 - y).
    scale = (1 + a * a) * _height(z2, a)
    total = np.zeros(a.shape)
    for y, share in zip(*_rule(), strict=True):
        u = scale * (y / (1 - y))
        x = a + u
        total += (share / (1 - y) ** 2) * np.exp(-z2 * u * (a + 0.5 * u)) / (1 + x * x)
    return np.asarray(-0.5 * z2 * (1 + a * a) + np.log(scale * total / math.pi))


@cache
def _rule() -> tuple[list[float], list[float]]:
    """Return positions between 0 and 1, and weights, of a Gauss rule."""
    places, shares = np.polynomial.legendre.leggauss(NODES)
    return ((places + 1) / 2).tolist(), (shares / 2).tolist()
