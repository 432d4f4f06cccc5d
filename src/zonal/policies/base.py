"""Policies decide what to split, which node to measure next, and which node to recommend.

A policy reads the columns of the tree and a few numbers about the problem (`PolicyContext`); one that needs more
uses views: the nodes under each model, with their covariances. It never sees a kernel or a region.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from zonal._types import Floats
from zonal.errors import whole_number
from zonal.policies.deltas import Variation
from zonal.spaces.base import DEEPEST
from zonal.tree import Tree, reversed_digits

Rows = NDArray[np.intp]
PlainValue = float | str | bool | tuple[float, ...] | None  # a plain value
OPTIMISM = 2.0  # standard deviations above the mean that a region may well reach
KNOWN = 1e-12  # of the prior variance: where less is left, the belief takes in no more measurements either
INDEX_LIMIT = 2**63  # indices are stored in 64 bits


class Results(Protocol):
    """What measurements of nodes will return under one model, where that is not the nodes' averages."""

    def covariance(self, rows: Rows, others: Rows) -> Floats:
        """Return the posterior covariance of the results of some rows with the averages of others."""

    def together(self, rows: Rows) -> Floats:
        """Return the posterior covariance of the results of some rows."""

    def variance(self, rows: Rows) -> Floats:
        """Return the posterior variance of the results of some rows, without the noise."""


@dataclass(frozen=True)
class ModelView:
    """All nodes under one model, including trials pending; arrays have one entry per row."""

    weight: float  # of the model; the weights of all views add up to 1
    mean: Floats  # of the nodes' averages, relative to the prior mean as in the tree
    std: Floats
    noise: Floats  # standard deviation of one measurement
    prior: Floats  # prior variance of the nodes' averages
    smallest: float  # prior variance of a smallest region's average
    covariance: Callable[[Rows, Rows], Floats]  # returns the posterior covariance between some rows and others
    weights: Callable[[Rows], Floats] = np.ones_like  # how much of the space lies in each row's region
    results: Results | None = None  # what measurements will return; None if it is the nodes' averages

    def seen(self, rows: Rows, others: Rows) -> Floats:
        """Return the posterior covariance of what measuring some rows will return with the averages of others."""
        return self.covariance(rows, others) if self.results is None else self.results.covariance(rows, others)

    def seen_together(self, rows: Rows) -> Floats:
        """Return the posterior covariance of what measuring some rows will return."""
        return self.covariance(rows, rows) if self.results is None else self.results.together(rows)

    def spread(self, rows: Rows, time: Floats | float) -> Floats:
        """Return the standard deviation of the result of a measurement of `time` usual times.

        It is infinite where the result is known already, to within rounding: such a measurement tells nothing.
        """
        variance = self.std[rows] ** 2 if self.results is None else self.results.variance(rows)
        return uncertain(variance + self.noise[rows] ** 2 / time, self.prior[rows])

    @property
    def hidden(self) -> Floats:
        """The variation hidden by averaging: prior variance of a smallest region minus that of the node."""
        return np.maximum(self.smallest - self.prior, 0.0)


@dataclass(frozen=True)
class RoundCosts:
    """What measurements cost in this round: ``tree.terms``, None where the budget is a number of measurements."""

    times: Floats  # the times to choose from; 1 alone where times are not chosen
    timed: bool  # whether measurements cost their time
    usual: float  # the time that a view's noise refers to; it scales with one over the root of the time
    left: float  # what may be spent
    prices: Callable[[Rows], Floats]  # returns what measurements at some rows cost, without their time and travel
    travel_costs: Callable[[Rows], Floats]  # returns what travel to some rows costs

    def costs(self, rows: Rows, times: Floats | float) -> Floats:
        """Return what measurements of these times cost."""
        return self.prices(rows) + self.timed * times + self.travel_costs(rows)


class Views(Protocol):
    """A function without arguments that returns the nodes under each model: a list of `ModelView`.

    Covariances of nodes are in it. It is computed when it is called, since most policies need only the columns of
    the tree, which are the mean over all models. A policy with empirical means has none: the call raises.
    """

    def __call__(self) -> list[ModelView]:
        """Return a view for each model in use; their weights add up to 1."""


class RngFactory(Protocol):
    """A function without arguments that returns the random generator of this round.

    Each call returns a new generator in the same state, so that a study with the same seed decides the same again.
    """

    def __call__(self) -> np.random.Generator:
        """Return the generator, as it is at the start of the round."""


Choice = int | tuple[int, float]  # a row, perhaps with a time
# Why a region is measured: for the initial design, the largest gain, by the guard, as never covered, for its upper
# bound, by another rule of the policy, late in a campaign between the cells, or, whatever the policy says, since a
# reading of it may be a gross error.
Reason = Literal["repeat", "design", "gain", "guard", "uncovered", "bound", "rule", "window"]


@dataclass(frozen=True)
class PolicyContext:
    """The numbers about a problem that a policy may know: they stay the same until another model is learned."""

    counts: tuple[int, ...]  # nodes at depths 0 .. h_max + 1: K^h where every node has K children
    base: int  # K, or the usual number of children
    budget: int  # N, when the study started; where they have a cost, how many of the cheapest it pays for
    h_max: int  # the deepest depth at which nodes are expanded
    variation: Variation  # how f varies within cells, by depth
    tie: float  # values closer than this are equal
    learned: bool  # whether the kernel is learned
    opening: int  # number of measurements of the initial design
    room: int  # most nodes that the belief should track
    sign: float = 1.0  # the factor that turns the user's values into rewards
    zero: float = 0.0  # the reward that the tree's means are relative to
    line: bool = False  # whether the space is a single axis with distances


class Shape(Protocol):
    """The shape of the whole tree, down to the smallest regions."""

    def count(self, depth: int) -> int:
        """Return the number of nodes at a depth."""

    def leaves(self, depth: int) -> int:
        """Return the number of leaves if the tree ended at a depth."""

    def max_depth(self) -> int | None:
        """Return the depth of the smallest regions, None if regions can be split without limit."""

    def default_depth(self) -> int:
        """Return the depth at which to stop where regions can be split without limit."""


def uncertain(variance: Floats, prior: Floats) -> Floats:
    """Return standard deviations, infinite where no more than rounding is left of the prior variance.

    Covariances are divided by them. What is known without noise has a variance of 0, or of 1e-16 if it was
    computed in another order, and covariances of the same size: their quotient must be 0 either way.
    """
    return np.asarray(np.sqrt(np.where(variance <= KNOWN * prior, np.inf, variance)))


def best(tree: Tree, rows: Rows, values: Floats, tie: float) -> int:
    """Return the row with the highest value; ties go to the smallest depth, then the smallest index."""
    top = values.argmax()
    (close,) = (values >= values[top] - tie).nonzero()
    return int(rows[top]) if close.size == 1 else tree.ties(rows[close])


def numbered(shape: Shape) -> int:
    """Return the deepest depth at which nodes can be expanded and their children numbered."""
    depth, deepest = 0, shape.max_depth()
    while (deepest is None or depth < deepest) and shape.count(depth + 2) < INDEX_LIMIT:
        depth += 1
    return depth


def scattered(index: int, depth: int, count: int, base: int) -> float:
    """Return the rank of a node in an order of its depth that covers the space evenly from the start."""
    if base**depth == count:
        return reversed_digits(index, base, depth) / count
    bits = max(1, (count - 1).bit_length())
    return reversed_digits(index, 2, bits) / (1 << bits)


NONE: Rows = np.zeros(0, dtype=np.intp)


def allowed_leaves(tree: Tree) -> Rows:
    """Return the leaves that are not forbidden."""
    rows: Rows = (tree.leaf & ~tree.forbidden).nonzero()[0]
    return rows


def candidates(tree: Tree) -> Rows:
    """Return the allowed regions of the smallest size; where there are none yet, the allowed leaves."""
    rows: Rows = (tree.smallest & ~tree.forbidden).nonzero()[0]
    return rows if len(rows) else allowed_leaves(tree)


def best_mean(tree: Tree, rows: Rows, tie: float) -> int:
    """Return the allowed one of `rows` with the highest mean.

    If there is none it is the root; where that is forbidden, the best allowed leaf.
    """
    rows = rows[~tree.forbidden[rows]]
    if not len(rows) and tree.forbidden[0]:
        rows = allowed_leaves(tree)
    return best(tree, rows, tree.mean[rows], tie) if len(rows) else 0


def deepest_best(tree: Tree, rows: Rows, tie: float) -> int:
    """Return the best of the deepest of `rows` (leaves count as deepest), or the root if there is none."""
    rows = rows[~tree.forbidden[rows]]
    depth = tree.depth[rows]
    deepest = depth.max(initial=0)
    # In an uneven tree a leaf has nothing deeper.
    return best_mean(tree, rows[(depth == deepest) | (tree.first_child[rows] < 0)], tie)


@dataclass(frozen=True)
class BoundPolicy:
    """A policy bound to a problem. A user-defined one has `choose`, and whatever differs from these defaults.

    Rows are rows of the tree: positions in its columns. Rounds are counted from 1: `t` is the number of trials
    measured and pending, plus 1 (in `should_expand`, the number measured). `PolicyContext`, `Views` and
    `RngFactory` say what they are.

    Attributes
    ----------
    policy : Policy
        The policy's settings.
    context : PolicyContext
        Numbers about the problem.
    """

    policy: Any
    context: PolicyContext

    def choose(self, tree: Tree, t: int, views: Views, rng: RngFactory) -> Choice:
        """Return the row to measure in round `t`: an askable one, or a leaf to be split instead.

        Where times are chosen, a pair of row and time may be returned; a row alone is measured for the first time
        listed.
        """
        return self.fallback_expand(tree, tree.contenders, t)

    def reason(self, tree: Tree, t: int, views: Views) -> tuple[Reason, Rows]:
        """Return why `choose` chooses as it does, and the rows it compares by their gain, if it does."""
        return "rule", NONE

    def fallback_expand(self, tree: Tree, rows: Rows, t: int) -> int:
        """Return which of `rows` to split if one has to be: that with the highest upper bound."""
        return best(tree, rows, tree.mean[rows] + OPTIMISM * tree.std[rows], self.context.tie)

    def nodes_to_expand(self, tree: Tree, t: int, views: Views, grown: int) -> Rows:
        """Return leaves to split before round `t`, for which `grown` nodes were added so far; none to continue."""
        return NONE

    def expand_unmeasured(self, tree: Tree, node: int, t: int) -> bool:
        """Tell whether `node`, just chosen, should be split without being measured."""
        return False

    def should_expand(self, tree: Tree, node: int, t: int) -> bool:
        """Tell whether `node`, just measured in round `t`, should be split."""
        return False

    def confidence_bands(self, tree: Tree, t: int) -> tuple[Floats, Floats]:
        """Return confidence and variation of every node in round `t`: two standard deviations, and none."""
        return OPTIMISM * tree.std, np.zeros(tree.size)

    def threshold(self, tree: Tree, views: Views) -> float | None:
        """Return the threshold above which regions are sought, relative to the prior mean; None for the best."""
        return None

    def recommend(self, tree: Tree) -> int:
        """Return the row to recommend: the measured node with the highest mean, or the root."""
        return best_mean(tree, tree.count.nonzero()[0], self.context.tie)


class Policy:
    """A policy's settings. A user-defined policy is a frozen dataclass that names its bound class.

    Attributes
    ----------
    model_free : bool
        Whether the belief is each node's own mean reward instead of a Gaussian process.
    expands_fully : bool
        Whether the tree is grown to its smallest regions before the first measurement.
    measures_internal_nodes : bool
        Whether nodes with children may be measured too. Such a policy decides what to split before a round.
    cost_aware : bool
        Whether it takes costs into account and chooses times. Others use the first of the times.
    answers_anywhere : bool
        Whether the best region of the smallest size at any position is recommended, not only a node of the tree.
    asks_anywhere : bool
        Whether such regions are measured too, late in a campaign.
    initial_design : bool
        Whether the study first measures regions that are spread evenly over the space, with up to 2/5 of its
        budget: the initial design of the default. `choose` is asked from then on. Without it a policy of a whole
        tree starts with its own choice, which under a model that is still to be learned is a blind one.
    design_from : int
        On a single axis whose kernel is learned, the number of measurements from which there is an initial design.
    bound_class : class
        Called with the policy and a context.

    Examples
    --------
    >>> import zonal as zn
    >>> isinstance(zn.GPOO(), zn.Policy)
    True
    """

    model_free: bool = False
    expands_fully: bool = False
    measures_internal_nodes: bool = False
    cost_aware: bool = False
    answers_anywhere: bool = False
    asks_anywhere: bool = False
    initial_design: bool = False
    design_from: ClassVar[int] = 0
    bound_class: ClassVar[type[BoundPolicy]] = BoundPolicy

    def depth(self, shape: Shape, budget: int) -> int:
        """Return h_max, the deepest depth at which nodes are expanded: one above the smallest regions.

        If regions can be split without limit, the smallest are those at the depth `shape.default_depth()`.
        """
        deepest = shape.max_depth()
        return max(min(shape.default_depth() if deepest is None else deepest, numbered(shape) + 1) - 1, 0)

    def bind(self, context: PolicyContext) -> BoundPolicy:
        """Return the policy bound to one problem."""
        return type(self).bound_class(self, context)

    def _check_depth(self, name: str, needed: bool = False) -> None:
        """Check a setting that is a depth, if it is given or needed, and keep it as a plain number."""
        depth = getattr(self, name)
        if needed or depth is not None:
            self._keep(name, whole_number(depth, name, 0, DEEPEST))

    def _keep(self, name: str, value: PlainValue) -> None:
        """Keep a setting as it was checked: as a plain value."""
        object.__setattr__(self, name, value)
