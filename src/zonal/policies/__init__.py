"""Policies answer three questions: which node next, split it or not, which node to recommend.

A policy reads the columns of the tree and knows a few numbers about the problem (`Setting`). It never sees a
kernel or a region.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from zonal.tree import Tree

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """The numbers about a problem that a policy may know.

    Attributes
    ----------
    arity : int
        K, children a node.
    reach : array, shape (h_max + 2, d)
        r_j(h): how far a cell of depth h reaches, along axis j, from the points that are looked at.
    slopes : array, shape (d,), or None
        Prior standard deviation of f's derivative along each axis; None if it has none.
    tie : float
        Values closer than this are equal.
    """

    arity: int
    reach: Floats
    slopes: Floats | None
    tie: float


class Rules(Protocol):
    """A policy bound to a problem."""

    def choose(self, tree: Tree, t: int) -> int:
        """Return the askable row to measure in round `t`."""

    def splits(self, tree: Tree, node: int, t: int) -> bool:
        """Tell whether `node`, just measured in round `t`, is to be split."""

    def urgent(self, tree: Tree, rows: NDArray[np.intp], t: int) -> int:
        """Return the row among `rows` that would be split first if one had to be."""

    def bands(self, tree: Tree, t: int) -> tuple[Floats, Floats]:
        """Return confidence and variation of every node in round `t`."""

    def recommend(self, tree: Tree) -> int:
        """Return the row to recommend."""


class Policy(Protocol):
    """A policy's settings."""

    @property
    def h_max(self) -> int:
        """The deepest depth at which nodes are expanded."""

    def bind(self, setting: Setting) -> Rules:
        """Return the policy's rules for one problem."""


def best(tree: Tree, rows: NDArray[np.intp], values: Floats, tie: float) -> int:
    """Return the row of the highest value; ties go to the smallest depth, then the smallest index."""
    tied = rows[values >= np.maximum.reduce(values) - tie]
    return int(tied[0]) if len(tied) == 1 else tree.ties(tied)
