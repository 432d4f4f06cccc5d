"""Policies answer a few questions: what to open, which node next, split it or not, which node to recommend.

A policy reads the columns of the tree and knows a few numbers about the problem (`Setting`); one that needs more
asks for views: the nodes under each model, with their covariances. It never sees a kernel or a region.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from zonal.theory import Variation
from zonal.tree import Tree, reversed_digits

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
OPTIMISM = 2.0  # standard deviations that count as promise
INDEX_LIMIT = 2**63  # indices are kept in 64 bits


@dataclass(frozen=True)
class View:
    """All nodes under one model, trials under way included; arrays have one entry per row.

    Attributes
    ----------
    weight : float
        Of the model; the weights of all views add up to 1.
    mean, std : array
        Of the nodes' averages, counted as in the tree.
    noise : array
        Standard deviation of one measurement.
    prior : array
        Prior variance of the nodes' averages.
    smallest : float
        Prior variance of a smallest region's average.
    covariance : callable
        Rows and other rows to the posterior covariance between them.
    weights : callable
        Rows to how much lies in each region: see `Region.weight`.
    """

    weight: float
    mean: Floats
    std: Floats
    noise: Floats
    prior: Floats
    smallest: float
    covariance: Callable[[Rows, Rows], Floats]
    weights: Callable[[Rows], Floats] = np.ones_like

    @property
    def hidden(self) -> Floats:
        """What averaging hides: by how much the prior variance of a smallest region exceeds that of the node."""
        return np.maximum(self.smallest - self.prior, 0.0)


@dataclass(frozen=True)
class Terms:
    """What looks cost while one is chosen: ``tree.terms``, None where the budget is a number of looks.

    Attributes
    ----------
    times : array
        To choose from; 1 alone where looks take no time that is chosen.
    timed : bool
        Whether looks cost their time.
    usual : float
        The time of which a view's noise is; of others it is larger by the root of the ratio.
    left : float
        What may be spent.
    prices : callable
        Rows to what looks cost there, without their time and the way.
    ways : callable
        Rows to what the way there costs; None if ways cost nothing.
    tour : int
        Looks that cost twice as much as a tour over the whole space.
    """

    times: Floats
    timed: bool
    usual: float
    left: float
    prices: Callable[[Rows], Floats]
    ways: Callable[[Rows], Floats] | None = None
    tour: int = 1

    def costs(self, rows: Rows, times: Floats | float) -> Floats:
        """Return what looks of some times cost."""
        costs = self.prices(rows) + (times if self.timed else 0.0)
        return costs if self.ways is None else costs + self.ways(rows)


Views = Callable[[], list[View]]  # made when asked for: most policies need the columns only
Look = int | tuple[int, float]  # a row, perhaps with a time
Draw = Callable[[], np.random.Generator]  # the round's own random numbers, the same each time


@dataclass(frozen=True)
class Setting:
    """The numbers about a problem that a policy may know.

    Attributes
    ----------
    counts : tuple of int
        Nodes at depths 0 .. h_max + 1: K^h where every node has K children.
    base : int
        K, or the usual number of children.
    budget : int
        N, when the study was built: where looks have a cost, how many of the cheapest it pays for.
    h_max : int
        The deepest depth at which nodes are expanded.
    variation : Variation
        How f varies within cells, by depth.
    tie : float
        Values closer than this are equal.
    learned : bool
        Whether the kernel is learned.
    opening : int
        Measurements of the opening sweep.
    room : int
        Nodes that the belief can afford to track.
    sign, zero : float
        What turns the user's values into rewards, and the reward from which the tree's means are counted.
    """

    counts: tuple[int, ...]
    base: int
    budget: int
    h_max: int
    variation: Variation
    tie: float
    learned: bool
    opening: int
    room: int
    sign: float = 1.0
    zero: float = 0.0


class Shape(Protocol):
    """The shape of the whole tree, as far as regions may be split."""

    @property
    def base(self) -> int:
        """The usual number of children of a node."""

    def count(self, depth: int) -> int:
        """Return the number of nodes at a depth."""

    def leaves(self, depth: int) -> int:
        """Return the number of leaves if the tree ended at a depth."""

    def deepest(self) -> int | None:
        """Return the depth of the smallest regions, None if there is no smallest."""

    def cut(self) -> int:
        """Return the depth of the smallest regions where the space has none of its own."""


def best(tree: Tree, rows: Rows, values: Floats, tie: float) -> int:
    """Return the row of the highest value; ties go to the smallest depth, then the smallest index."""
    top = values.argmax()
    (close,) = (values >= values[top] - tie).nonzero()
    return int(rows[top]) if close.size == 1 else tree.ties(rows[close])


def numbered(shape: Shape) -> int:
    """Return the deepest depth at which nodes may be expanded, their children still numbered."""
    depth, deepest = 0, shape.deepest()
    while (deepest is None or depth < deepest) and shape.count(depth + 2) < INDEX_LIMIT:
        depth += 1
    return depth


def scattered(index: int, depth: int, count: int, base: int) -> float:
    """Return where a node comes when those of its depth are taken so as to cover the space evenly all along."""
    if base**depth == count:
        return reversed_digits(index, base, depth) / count
    bits = max(1, (count - 1).bit_length())
    return reversed_digits(index, 2, bits) / (1 << bits)


NONE: Rows = np.zeros(0, dtype=np.intp)


def deepest_best(tree: Tree, rows: Rows, tie: float) -> int:
    """Return, among the deepest of `rows` and those that are leaves, the one of the highest mean, or the root."""
    rows = rows[~tree.forbidden[rows]]
    if len(rows) == 0:
        return 0
    depth = tree.depth[rows]
    depth = np.where(tree.first_child[rows] < 0, depth.max(), depth)  # nothing is below a leaf of a ragged tree
    rows = rows[depth == depth.max()]
    return best(tree, rows, tree.mean[rows], tie)


class Rules:
    """A policy bound to a problem. One of your own says what it chooses, and whatever else is not the usual."""

    setting: Setting

    def choose(self, tree: Tree, t: int, views: Views, rng: Draw) -> Look:
        """Return the row to measure in round `t`: an askable one, or a leaf to be split in its place.

        Where times are chosen it may come with one of them, as a pair; alone it is measured for the first.
        """
        return self.urgent(tree, tree.contenders, t)

    def urgent(self, tree: Tree, rows: Rows, t: int) -> int:
        """Return the row among `rows` to be split if one has to be: that of the highest upper bound."""
        return best(tree, rows, tree.mean[rows] + OPTIMISM * tree.std[rows], self.setting.tie)

    def grows(self, tree: Tree, t: int, views: Views, grown: int) -> Rows:
        """Return leaves to split before round `t`, after `grown` nodes were added for it; none to go on."""
        return NONE

    def refines(self, tree: Tree, node: int, t: int) -> bool:
        """Tell whether `node`, just chosen, is to be split without being measured."""
        return False

    def splits(self, tree: Tree, node: int, t: int) -> bool:
        """Tell whether `node`, just measured in round `t`, is to be split."""
        return False

    def bands(self, tree: Tree, t: int) -> tuple[Floats, Floats]:
        """Return confidence and variation of every node in round `t`: two standard deviations, and none."""
        return OPTIMISM * tree.std, np.zeros(tree.size)

    def limit(self, tree: Tree, views: Views) -> float | None:
        """Return above which mean regions are looked for, all of them; None if it is the best one."""
        return None

    def recommend(self, tree: Tree) -> int:
        """Return the row to recommend: the measured node of the highest mean; the root if nothing was measured."""
        rows = (tree.answered * ~tree.forbidden).nonzero()[0]
        return best(tree, rows, tree.mean[rows], self.setting.tie) if len(rows) else 0


@dataclass(frozen=True)
class Bound(Rules):
    """Rules that know their policy and the problem."""

    policy: Any
    setting: Setting


class Policy:
    """A policy's settings. One of your own is a frozen dataclass that names its rules.

    Attributes
    ----------
    empirical : bool
        Whether the belief is each node's own mean reward instead of a Gaussian process.
    whole : bool
        Whether the tree is grown to its smallest regions before the first measurement.
    inner : bool
        Whether nodes with children may be measured too. Such a policy is asked what to open before a round.
    thrifty : bool
        Whether it weighs what looks cost, and chooses their times. Others look for the first of the times.
    rules : class
        Made of the policy and a setting.
    """

    empirical: bool = False
    whole: bool = False
    inner: bool = False
    thrifty: bool = False
    rules: ClassVar[type[Bound]] = Bound

    def depth(self, shape: Shape, budget: int) -> int:
        """Return h_max, the deepest depth at which nodes are expanded: that above the smallest regions.

        Smallest are those of the space, or where it names none those at which it is cut.
        """
        deepest = shape.deepest()
        return max(min(shape.cut() if deepest is None else deepest, numbered(shape) + 1) - 1, 0)

    def bind(self, setting: Setting) -> Rules:
        """Return the policy's rules for one problem."""
        return type(self).rules(self, setting)
