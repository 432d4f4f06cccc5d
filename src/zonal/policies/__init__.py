"""Policies answer three questions: which node next, split it or not, which node to recommend.

A policy reads the columns of the tree and knows a few numbers about the problem (`Setting`); one that needs more
asks for the joint covariance of nodes. It never sees a kernel or a region.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from zonal.tree import Tree

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Joint = Callable[[Rows], Floats]  # rows -> their joint posterior covariance


@dataclass(frozen=True)
class Setting:
    """The numbers about a problem that a policy may know.

    Attributes
    ----------
    arity : int
        K, children a node.
    budget : int
        N, when the study was built.
    h_max : int
        The deepest depth at which nodes are expanded.
    reach : array, shape (h_max + 2, d)
        r_j(h): how far a cell of depth h reaches, along axis j, from the points that are looked at.
    slopes : array, shape (d,), or None
        Prior standard deviation of f's derivative along each axis; None if it has none.
    tie : float
        Values closer than this are equal.
    rng : Generator
        For policies that draw random numbers.
    """

    arity: int
    budget: int
    h_max: int
    reach: Floats
    slopes: Floats | None
    tie: float
    rng: np.random.Generator


class Policy(Protocol):
    """A policy's settings.

    Attributes
    ----------
    empirical : bool
        Whether the belief is each node's own mean reward instead of a Gaussian process.
    whole : bool
        Whether the tree is grown to its smallest regions before the first measurement.
    """

    @property
    def empirical(self) -> bool: ...  # noqa: D102
    @property
    def whole(self) -> bool: ...  # noqa: D102

    def depth(self, arity: int, budget: int, smallest: int | None) -> int:
        """Return h_max, the deepest depth at which nodes are expanded.

        `smallest` is the depth of the space's smallest regions, None if there is no smallest.
        """

    def bind(self, setting: Setting) -> Rules:
        """Return the policy's rules for one problem."""


class Rules(Protocol):
    """A policy bound to a problem."""

    def choose(self, tree: Tree, t: int, joint: Joint) -> int:
        """Return the askable row to measure in round `t`."""

    def refines(self, tree: Tree, node: int, t: int) -> bool:
        """Tell whether `node`, just chosen, is to be split without being measured."""

    def splits(self, tree: Tree, node: int, t: int) -> bool:
        """Tell whether `node`, just measured in round `t`, is to be split."""

    def urgent(self, tree: Tree, rows: Rows, t: int) -> int:
        """Return the row among `rows` that would be split first if one had to be."""

    def bands(self, tree: Tree, t: int) -> tuple[Floats, Floats]:
        """Return confidence and variation of every node in round `t`."""

    def recommend(self, tree: Tree) -> int:
        """Return the row to recommend."""


def best(tree: Tree, rows: Rows, values: Floats, tie: float) -> int:
    """Return the row of the highest value; ties go to the smallest depth, then the smallest index."""
    tied = rows[values >= np.maximum.reduce(values) - tie]
    return int(tied[0]) if len(tied) == 1 else tree.ties(tied)


def deepest_best(tree: Tree, rows: Rows, tie: float) -> int:
    """Return, among the deepest of `rows`, the one of the highest mean; the root if there are none."""
    if len(rows) == 0:
        return 0
    depth = tree.depth[rows]
    rows = rows[depth == depth.max()]
    return best(tree, rows, tree.mean[rows], tie)
