"""Which smallest regions lie above a threshold? Measure, at any depth, where most doubt about that is cleared.

A region of posterior mean m and standard deviation s is held to be above the threshold h if m > h, and that is
wrong with probability Phi(-|z|), z = (m - h) / s. A measurement of node j, whose correlation with it is rho,
leaves that at 2 T(z, a) on average, a = sqrt(1 / rho^2 - 1), T Owen's function. The gain is the difference,
weighed by how much lies in each region:

    Phi(-|z|) - 2 T(z, a) = 1 / pi * integral from a to infinity of exp(-z^2 (1 + x^2) / 2) / (1 + x^2) dx

in logarithms, since it cancels once all is clear; averaged over all models that the measurements allow. A leaf
that is not smallest stands for the smallest regions within it, whose averages scatter about its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from zonal.errors import InvalidInput, finite_number, probability
from zonal.policies.buying import TIE, highest, largest
from zonal.policies.knowledge import KnowledgeRules
from zonal.policies.rules import NONE, Draw, Floats, Look, Policy, Rows, Setting, View, Views
from zonal.tree import Tree

CANDIDATES = 512  # regions about which there is most doubt
QUESTIONS = 192  # nodes that may be measured
FINALISTS = 16  # questions whose gain is computed exactly
NODES = 16  # of the rule for the integral: exact to five digits


@dataclass(frozen=True)
class Above(Policy):
    """Measure to tell which smallest regions lie above a threshold; below it, where low averages are wanted.

    What is recommended is still the best smallest region.

    Parameters
    ----------
    threshold : float, optional
        In value units.
    top : float, optional
        In its place: the share of the space that is looked for, such as .2 for its best fifth.
    """

    threshold: float | None = None
    top: float | None = None
    inner = True
    thrifty = True
    depths = "any"

    def __post_init__(self) -> None:
        if (self.threshold is None) == (self.top is None):
            given = None if self.top is None else (self.threshold, self.top)
            fix = "Pass one of the two: zn.Above(0.7) or zn.Above(top=0.2)."
            raise InvalidInput("a set is above a threshold, or the top share of the space", given, fix)
        if self.top is None:
            object.__setattr__(self, "threshold", finite_number(self.threshold, "threshold"))
        else:
            object.__setattr__(self, "top", probability(self.top, "top"))

    def bind(self, setting: Setting) -> AboveRules:
        """Return the rules for one problem."""
        return AboveRules(self, setting)


@dataclass(frozen=True)
class AboveRules(KnowledgeRules):
    """The search for a set, bound to a problem: growth and recommendation are as of the default."""

    def limit(self, tree: Tree, views: Views) -> float:
        """Return above which mean regions are looked for: of a top share, the quantile of the means."""
        if self.policy.threshold is not None:
            return float(self.setting.sign * self.policy.threshold - self.setting.zero)
        rows = (tree.leaf & ~tree.forbidden).nonzero()[0]
        mean, weights = tree.mean[rows], views()[0].weights(rows)
        order = np.argsort(-mean, kind="stable")
        reached = np.cumsum(weights[order])
        at = int(np.searchsorted(reached, self.policy.top * reached[-1] * (1 - 1e-9)))
        return float(mean[order[min(at, len(rows) - 1)]] + mean[order[min(at + 1, len(rows) - 1)]]) / 2

    def promise(self, tree: Tree, leaves: Rows, views: Views, within: bool) -> Floats:
        """Return how far averages may well lie across the threshold, of leaves or of smallest regions `within`."""
        middle = tree.mean[leaves]
        reach = super().promise(tree, leaves, views, within) - middle
        return np.asarray(reach - np.abs(middle - self.limit(tree, views)))

    def follows(self) -> bool:
        """Tell whether the guard follows the highest rewards: nobody looks for the best alone."""
        return False

    def choose(self, tree: Tree, t: int, views: Views, rng: Draw) -> Look:
        """Return the node that is expected to clear most doubt, for what it costs."""
        unseen = self.unseen(tree) if self.setting.learned and t % 4 == 0 else NONE
        questions = unseen if len(unseen) else self.questions(tree, views, QUESTIONS)
        return self._clears_most(tree, views(), questions)

    def _clears_most(self, tree: Tree, views: list[View], questions: Rows) -> Look:
        """Return the question that is expected to clear most doubt, for what it costs."""
        limit = self.limit(tree, lambda: views)
        rows = (tree.leaf & ~tree.forbidden).nonzero()[0]
        if len(rows) == 0:
            rows = tree.leaf.nonzero()[0]
        doubts = [_apart(view, tree, rows, limit) for view in views]
        weights = views[0].weights(rows)
        unsure = np.sum([view.weight * _wrong(z) for view, (z, _) in zip(views, doubts, strict=True)], axis=0)
        some = highest(np.log(weights * unsure + 1e-300), CANDIDATES, TIE)
        rows, shares = rows[some], [np.log(view.weight * weights[some]) for view in views]
        off = [z[some] for z, _ in doubts]
        with np.errstate(divide="ignore", invalid="ignore"):
            own = [spread[some] for _, spread in doubts]
            joint = [view.covariance(questions, rows) / std for view, std in zip(views, own, strict=True)]

        def tails(at: Rows | slice, ratio: Floats | float) -> list[Floats]:
            return [_tails(view, questions[at], own[at], ratio) for view, own in zip(views, joint, strict=True)]

        def summed(gain: Callable[[Floats, Floats], Floats], parts: list[Floats]) -> Floats:
            each = zip(shares, off, parts, strict=True)
            return np.asarray(np.logaddexp.reduce([_summed(share + gain(z, tail)) for share, z, tail in each]))

        rough, exact = partial(summed, log_rough), partial(summed, log_cleared)
        return largest(tree, questions, tails, rough, exact, FINALISTS)


def _apart(view: View, tree: Tree, rows: Rows, limit: float) -> tuple[Floats, Floats]:
    """Return by how many standard deviations regions lie off a limit, and these; of leaves, of parts of theirs."""
    hidden = np.where(tree.smallest[rows], 0.0, view.hidden[rows])
    spread = np.sqrt(view.std[rows] ** 2 + hidden)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.abs(view.mean[rows] - limit) / spread
    return np.minimum(np.nan_to_num(z, nan=0.0), 1e3), spread


def _wrong(z: Floats) -> Floats:
    """Return the probability that what lies z standard deviations off lies on the other side."""
    from scipy.special import ndtr

    return np.asarray(ndtr(-z))


def _tails(view: View, questions: Rows, joint: Floats, ratio: Floats | float) -> Floats:
    """Return a = sqrt(1 / rho^2 - 1) of questions that take `ratio` usual times, each with every region."""
    own = np.sqrt(view.std[questions] ** 2 + view.noise[questions] ** 2 / ratio)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho2 = (joint / own[:, None]) ** 2
        return np.sqrt(np.maximum(1 / np.clip(np.nan_to_num(rho2), 1e-30, 1.0) - 1, 0.0))


def _summed(logs: Floats) -> Floats:
    """Return the logarithm of the sum of each row."""
    top = logs.max(axis=1)
    return np.asarray(top + np.log(np.exp(logs - top[:, None]).sum(axis=1)))


def _height(z2: Floats, a: Floats) -> Floats:
    """Return roughly the integral over its integrand's exponential at `a`: right where z or a is 0, or large."""
    edge = 1 / np.arctan2(1.0, a)
    return np.asarray(1 / ((1 + a * a) * a * z2 + np.sqrt(edge * edge + (2 / math.pi) * z2)))


def log_rough(z: Floats, a: Floats) -> Floats:
    """Return `log_cleared` to within a fifth or so, for ranking."""
    z2 = z * z
    return np.asarray(-0.5 * z2 * (1 + a * a) + np.log(_height(z2, a) / math.pi))


def log_cleared(z: Floats, a: Floats) -> Floats:
    """Return the logarithm of Phi(-z) - 2 T(z, a): by how much a probability of being wrong falls.

    Parameters
    ----------
    z : array, shape (n,)
        0 or more.
    a : array, shape (r, n)
        Each sqrt(1 / rho^2 - 1).
    """
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
    """Return places between 0 and 1, and their shares."""
    places, shares = np.polynomial.legendre.leggauss(NODES)
    return ((places + 1) / 2).tolist(), (shares / 2).tolist()
