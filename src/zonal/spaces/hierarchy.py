"""The user's own nested regions: states, counties and towns, or any given tree.

Nested mappings and lists, a table with one column per level, or links from a name to its parent become the path
from the top to each leaf, with leaves of one region together.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from zonal._types import Floats
from zonal.errors import check_choice, is_listed, listed, positive_number, require, text
from zonal.io.dataframes import (
    DataFrame,
    DataSeries,
    as_frame,
    in_order,
    row_order,
    shapes_of,
    useful,
    without_shapes,
)
from zonal.io.hints import guess, hinting
from zonal.kernels.feedback import Feedback
from zonal.spaces.base import PartLike, RegionLike, Values
from zonal.spaces.finite import FiniteSpace, SubsetRegion
from zonal.spaces.healpix import FRAMES, columns_of_sky, frame_of_sky
from zonal.spaces.hierarchy_leaves import (
    Leaves,
    codes_of,
    columns_of_levels,
    leaves_of_parents,
    leaves_of_tree,
    numbered_levels,
    region_name,
    together,
)
from zonal.spaces.hierarchy_links import columns_of_codes, features_of_nodes, leaves_of_edges
from zonal.spaces.hierarchy_names import ANYTHING, JOINT, MEMBERS, WHOLE, named_paths, path_of_levels, path_of_name
from zonal.spaces.member_columns import by_name, checked_least, checked_weights, taken_features
from zonal.spaces.partition import nested_levels

ByLeaf = Mapping[str, Any] | ArrayLike | DataFrame | None
Weights = Mapping[str, float] | ArrayLike | DataSeries | None


@hinting()
@dataclass(frozen=True, init=False, repr=False, eq=False)
class Hierarchy(FiniteSpace):
    """Nested regions given by the user; any number of children per node, features and weights at the leaves.

    Parameters
    ----------
    tree : mapping or sequence
        Nested mappings of name to subtree, or lists of subtrees (named by their number), with lists of names at
        the ends, None meaning a leaf: ``{"NSW": {"Sydney": ["2000", "2001"]}}``. Names of siblings differ.
        See `from_table` and `from_parents` for other forms.
    features : mapping of leaf to numbers, data frame, or array_like of shape (n, d), optional
        Where the leaves are, in the order of the tree or by name. Columns of a data frame name the features and a
        pandas index names the leaves. Without features, leaves are more similar the more ancestors they share.
    weights : mapping of leaf to number, series, or array_like of shape (n,), optional
        How much each leaf counts in an average; 1 each by default. A pandas index names the leaves.
    smallest : float, optional
        The smallest useful weight of a region: a region is not split if a child would weigh less.
    feature_names : sequence of str, optional
        For tables and plots.

    Examples
    --------
    >>> areas = Hierarchy({"NSW": {"Coast": ["Tea Gardens", "Forster"]}, "ACT": None}, weights=[4, 20, 400])
    >>> areas.cell((3, 0)).name, areas.cell((1, 1)).weight
    ('NSW > Coast > Tea Gardens', 400.0)
    """

    levels: tuple[str, ...] = ()  # names of the levels, if made from a table
    paths: tuple[tuple[str, ...], ...] = ()
    _called = "leaves"
    _or_else = ", or the region's name, or a tuple of names"

    def __init__(
        self,
        tree: Mapping[str, Any] | Sequence[Any],
        features: ByLeaf = None,
        weights: Weights = None,
        smallest: float | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        paths, order, levels, labels = tree if isinstance(tree, Leaves) else leaves_of_tree(tree)
        size, rows = len(paths), np.array(order, dtype=np.intp)
        vars(self).update(paths=tuple(paths), levels=levels, labels=labels, rows=rows, shapes=shapes_of(features))
        checked = checked_weights(self.arrange(weights, "weights"), size)[rows]
        table, names = self._features(features)
        if feature_names is not None:
            given = listed(feature_names, "feature_names must be a list", "Pass as many as there are features.")
            names = tuple(region_name(name, "a feature") for name in given)
        problem = f"feature_names must be {table.shape[1]} names"
        require(len(names) == table.shape[1], problem, feature_names, "Pass as many.")
        nested = nested_levels(paths, checked, checked_least(smallest, float(checked.sum())))
        members = {"features": table, "weights": checked, "rows": rows, "labels": labels}
        self._keep(names, nested, is_categorical=features is None, smallest=smallest, **members)

    def _features(self, features: ByLeaf) -> tuple[Floats, tuple[str, ...]]:
        """Return the features of the leaves in the order of the tree, and their names; codes if there are none."""
        if features is None:
            table = codes_of(self.paths)
            return table, numbered_levels(table.shape[1])
        size, label_sets = len(self.paths), self.label_sets
        table, names, labels = taken_features(by_name(features, label_sets[1], "features"), "features")
        require(len(table) == size, f"features must have {size} rows, one per member", len(table), "Pass as many.")
        return table[row_order(labels, label_sets, "features")][self.rows], names

    @classmethod
    def from_table(
        cls,
        levels: Mapping[str, Sequence[Any]] | Sequence[Sequence[Any]] | DataFrame,
        features: ByLeaf = None,
        weights: Weights | str = None,
        smallest: float | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> Hierarchy:
        """Return the hierarchy of a table with one column per level and one row per leaf.

        Parameters
        ----------
        levels : data frame, mapping of name to column, or sequence of columns
            From coarsest to finest. Codes must be nested: each has one parent. The geometry of a GeoDataFrame is
            no level: its centroids are the features, if none are given, and plots draw its shapes.
        features, weights, smallest, feature_names
            As for `Hierarchy`, by name or in the order of the rows; a pandas index is used if it is that of the
            table or names the leaves. Weights may be the name of a column of the table, which is no level then.
        """
        shapes = shapes_of(levels)
        if shapes is not None:
            levels, features = without_shapes(levels), levels if features is None else features
        frame = as_frame(levels)
        named, labels = frame or (levels, None)
        if isinstance(weights, str):
            weights = text(weights, "the name of a column")
            columns: dict[str, Any] = dict(named) if isinstance(named, Mapping) else {}
            fix = f"{guess(weights, columns)}Name a column of the table, or pass the weights."
            require(weights in columns, "the table has no such column of weights", weights, fix)
            named, weights = columns, columns.pop(weights)
        columns = columns_of_levels(named, levels)
        leaves = together(list(zip(*columns.values(), strict=True)), tuple(columns), useful(labels))
        hierarchy = cls(leaves, features, weights, smallest, feature_names)
        vars(hierarchy).update(shapes=shapes if hierarchy.shapes is None else hierarchy.shapes)
        return hierarchy

    @classmethod
    def from_parents(
        cls,
        parents: Mapping[str, str | None],
        features: ByLeaf = None,
        weights: Weights = None,
        smallest: float | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> Hierarchy:
        """Return the hierarchy of parent links.

        Parameters
        ----------
        parents : mapping of name to name of its parent
            None for those at the top.
        features, weights, smallest, feature_names
            As for `Hierarchy`; by name, or in the order of the leaves among the links.
        """
        return cls(leaves_of_parents(parents), features, weights, smallest, feature_names)

    @classmethod
    def from_codes(
        cls,
        codes: Sequence[str] | DataSeries,
        lengths: Sequence[int],
        features: ByLeaf = None,
        weights: Weights = None,
        smallest: float | None = None,
        feature_names: Sequence[str] | None = None,
        *,
        levels: Sequence[str] | None = None,
    ) -> Hierarchy:
        """Return the hierarchy of codes whose first characters name the larger areas, as registers of areas do.

        Parameters
        ----------
        codes : sequence or series of str
            One per leaf, all equally long. Read them as text: numbers have lost their leading zeros.
        lengths : sequence of int
            How many characters name a region at each level, the whole code last: ``[2, 5, 11]`` for the states,
            counties and tracts of the United States.
        features, weights, smallest, feature_names
            As for `Hierarchy`, in the order of the codes or by code. A GeoDataFrame as features gives centroids,
            and shapes for plots.
        levels : sequence of str, optional
            Names of the levels, one per length.

        Examples
        --------
        >>> tracts = Hierarchy.from_codes(["06037101110", "06037101122", "36061000100"], lengths=[2, 5, 11])
        >>> tracts.region("06 > 06037").weight
        2.0
        """
        return cls.from_table(columns_of_codes(codes, lengths, levels), features, weights, smallest, feature_names)

    @classmethod
    def from_edges(
        cls,
        edges: Mapping[str, Sequence[Any]] | Sequence[Sequence[Any]] | DataFrame,
        weights: Mapping[str, float] | None = None,
        smallest: float | None = None,
        features: Mapping[str, Sequence[float]] | None = None,
        feature_names: Sequence[str] | None = None,
        *,
        thin: float = 1.0,
    ) -> Hierarchy:
        """Return the hierarchy of a network that drains into one outlet: a sewer, a river, a power grid.

        A node measures the weighted average of everything upstream, its own share included: a sewer's manhole all
        households above it. What an inner node adds itself is a leaf, named ``"(at NODE)"``.

        Parameters
        ----------
        edges : data frame or mapping with two columns, or sequence of pairs
            From each node, in the first column, to the node into which it drains, in the second. Every node but
            the outlet drains into one other.
        weights : mapping of node to number, optional
            How much each node adds: households, flow, load. Nodes that are not named add nothing; without weights
            every node adds 1.
        smallest, feature_names
            As for `Hierarchy`.
        features : mapping of node to numbers, optional
            Where the nodes are. Without features, nodes are more similar the longer the route they share.
        thin : float
            Measure only at nodes through which at most this share of what passes the next of them downstream
            passes; the others still add theirs. Where many nodes lie in a row, 0.5 makes a shallower tree.

        Examples
        --------
        >>> sewer = Hierarchy.from_edges([("a", "c"), ("b", "c"), ("c", "plant")], weights={"a": 30, "b": 10})
        >>> sewer.region("plant > c").weight, sewer.region("a").weight
        (40.0, 30.0)
        """
        share = positive_number(thin, "thin")
        require(share <= 1, "thin must be at most 1", thin, "Pass a share, such as 0.5; 1 keeps all nodes.")
        nodes, paths, shares = leaves_of_edges(edges, weights, share)
        table = None if features is None else features_of_nodes(features, nodes)
        return cls(together(paths), table, shares, smallest, feature_names)

    @classmethod
    def healpix(cls, order: int, frame: str = "icrs", pixels: Sequence[int] | None = None) -> Hierarchy:
        """Return the sky in HEALPix pixels of nested order: twelve, each split in four, and so on.

        All pixels of an order have the same area. A cell is named ``"order/pixel"``; the features are unit
        vectors, so that the sky has no edge and no pole. Needs the extra ``sky``.

        Parameters
        ----------
        order : int
            Of the smallest pixels: 0 for twelve, 3 for 768, 5 for 12,288.
        frame : {"icrs", "galactic"}
            The coordinates in which the pixels are counted.
        pixels : sequence of int, optional
            The pixels of this order that can be measured, by their nested numbers; by default the whole sky.

        Examples
        --------
        >>> sky = Hierarchy.healpix(3)
        >>> sky.size, sky.region("3/297").name
        (768, '0/4 > 1/18 > 2/74 > 3/297')
        """
        check_choice(frame, "frame", FRAMES)
        levels, vectors = columns_of_sky(order, frame, pixels)
        return cls.from_table(levels, vectors, feature_names=("x", "y", "z"))

    @property
    def frame(self) -> str:
        """The coordinates of a sky in HEALPix pixels, "icrs" or "galactic"; "" for anything else."""
        return frame_of_sky(self.levels, self.paths[0][-1])

    def check(self) -> None:
        """Raise if this hierarchy, read from a file, is not possible."""
        super().check()
        names = [*self.levels, *(name for path in self.paths for name in path or [None])]
        named = len(self.paths) == self.size and all(isinstance(name, str) for name in names)
        require(named, "every leaf needs a name", len(self.paths), f"There are {self.size} leaves.")

    @property
    def level_names(self) -> tuple[str, ...]:
        """The names of the levels, numbered if there are none."""
        return self.levels or numbered_levels(max(map(len, self.paths)))

    @property
    def label_sets(self) -> list[Sequence[Hashable]]:
        """The possible names of leaves, each in the user's order: label or number, name, or path."""
        paths = [self.paths[place] for place in self.place.tolist()]
        return [*super().label_sets, [path[-1] for path in paths], paths]

    def _identity(self) -> tuple[Hashable, ...]:
        return self.paths, self.names, self.labels, self.smallest, self.frame

    def __repr__(self) -> str:
        return f"Hierarchy({self.size} leaves, {len(self._levels) - 1} levels, smallest={self.smallest})"

    def region(self, what: RegionLike, feedback: Feedback | None = None) -> SubsetRegion:
        """Return any set of leaves, whether it is a node of the tree or not.

        Parameters
        ----------
        what : str, tuple of str, mapping of level to name, or sequence of int or of names
            A name such as ``"NSW > Coast"``, the same as a tuple, a name that only one region has, or row numbers
            or names of leaves in a list. A mapping names one level or several, as ``region.as_dict()`` does.
        """
        if isinstance(what, Mapping):
            path = path_of_levels(self, what)
            return self.subset(what[MEMBERS], feedback) if path is None else self._of_path(path, feedback)
        if isinstance(what, str):
            what = text(what, "the name of a region")
        path = path_of_name(self, what) if isinstance(what, str) else cast("tuple[str, ...]", what)
        if isinstance(path, tuple) and all(isinstance(name, str) for name in path):
            require(path or what == WHOLE, "a region needs a name", what, ANYTHING)
            if self.below(path):
                return self._of_path(path, feedback)
            near = guess(what if isinstance(what, str) else path[-1], self.named)
            fix = f"{near}Names look like {JOINT.join(self.paths[0])!r}."
            is_leaf = isinstance(what, Hashable) and what in self._row_of
            require(is_leaf, "there is no such region", what, fix)
        return self.subset(what, feedback)

    def _of_path(self, path: tuple[str, ...], feedback: Feedback | None) -> SubsetRegion:
        """Return the region of a path: a cell, unless the tree ends above it."""
        inside, level = self.below(path), self.partition.level(len(path))
        index = int(np.searchsorted(level.start, inside[0]))
        edges = inside[0], inside[-1] + 1
        if index < len(level.start) and (level.start[index], level.stop[index]) == edges:
            return self.cell((len(path), index), feedback)
        return self._at(inside, feedback)

    @cached_property
    def named(self) -> dict[str, list[tuple[str, ...]]]:
        """The paths to the regions of each name."""
        return named_paths(self.paths)

    def below(self, path: tuple[str, ...]) -> list[int]:
        """Return the positions of the leaves whose paths begin with this one."""
        return [place for place, leaf in enumerate(self.paths) if leaf[: len(path)] == path]

    def _as_dict(self, region: SubsetRegion) -> dict[str, Any]:
        """Return the name at each level from the top down, or the leaves if they share none."""
        shared = self.shared_path(region)
        if not (shared and self._is_whole(region)):
            return {MEMBERS: self.member_names(region)}
        return dict(zip(self.level_names, shared, strict=False))

    def shared_path(self, region: SubsetRegion) -> tuple[str, ...]:
        """Return the names from the top down that all leaves of a region share."""
        places = region.positions
        if region.node is not None:
            return self.paths[places[0]][: region.node[0]]
        paths = [self.paths[place] for place in places]
        first_and_last = zip(min(paths), max(paths), strict=False)
        return tuple(name for name, _ in itertools.takewhile(lambda both: both[0] == both[1], first_and_last))

    def _is_whole(self, region: SubsetRegion) -> bool:
        """Tell whether a region has all leaves below what they share."""
        return region.node is not None or len(self.below(self.shared_path(region))) == len(region.positions)

    def _lists_one(self, what: Iterable[PartLike], first: PartLike) -> bool:
        return isinstance(what, tuple) if isinstance(first, str) else not is_listed(first)

    def arrange(self, values: Values, what: str) -> ArrayLike | None:
        """Return values in the order of the user's rows, given in order or by the name of the leaf."""
        label_sets = self.label_sets
        ordered: ArrayLike | None = in_order(by_name(values, label_sets[1], what), label_sets, what)
        return ordered

    def _describe(self, region: SubsetRegion) -> str:
        """Return the names from the top down, or the number of leaves."""
        name = JOINT.join(self.shared_path(region)) or WHOLE
        return name if self._is_whole(region) else f"{len(region.positions)} leaves within {name}"
