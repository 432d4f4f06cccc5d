"""The user's own nested regions: states, counties and towns, or any tree that somebody drew up before."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from zonal.errors import InvalidInput
from zonal.spaces.members import (
    Ints,
    Level,
    MemberRegion,
    MemberSpace,
    checked_features,
    checked_least,
    checked_weights,
)
from zonal.spaces.region import ROUNDING, Region, Viewer

JOINT = " > "
WHOLE = "all"


class Hierarchy(MemberSpace):
    """Nested regions as the user has them; any number of children a node, features and weights at the leaves.

    Parameters
    ----------
    tree : mapping or sequence
        Nested mappings of name to subtree, or lists of subtrees (named by their number), with lists of names at
        the ends, None standing for a leaf: ``{"NSW": {"Sydney": ["2000", "2001"]}}``. Names of siblings differ.
        See `from_table` and `from_parents` for other forms.
    features : mapping of leaf to numbers, or array_like of shape (n, d), optional
        Where the leaves are, in the order of the tree or by name. Without features, leaves are the more alike the
        more of their ancestors they share.
    weights : mapping of leaf to number, or array_like of shape (n,), optional
        How much each leaf counts in an average; 1 each by default.
    smallest : float, optional
        The least useful weight of a region: a region is not split if a child would be lighter.
    feature_names : sequence of str, optional
        For tables and pictures.

    Examples
    --------
    >>> areas = Hierarchy({"NSW": {"Coast": ["Tea Gardens", "Forster"]}, "ACT": None}, weights=[4, 20, 400])
    >>> areas.cell((3, 0)).name, areas.cell((1, 1)).weight
    ('NSW > Coast > Tea Gardens', 400.0)
    """

    _or_else = ", a name, or a tuple of names"

    def __init__(
        self,
        tree: Mapping[str, Any] | Sequence[Any],
        features: Mapping[str, Any] | ArrayLike | None = None,
        weights: Mapping[str, float] | ArrayLike | None = None,
        smallest: float | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        self._build(_paths(tree), None, features, weights, smallest, feature_names)

    @classmethod
    def from_table(
        cls,
        levels: Mapping[str, Sequence[Any]] | Sequence[Sequence[Any]],
        features: Mapping[str, Any] | ArrayLike | None = None,
        weights: Mapping[str, float] | ArrayLike | None = None,
        smallest: float | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> Hierarchy:
        """Return the hierarchy of a table with one column a level and one row a leaf.

        Parameters
        ----------
        levels : mapping of name to column, or sequence of columns
            From the coarsest to the finest. Codes must be nested: one parent each.
        features, weights, smallest, feature_names
            As for `Hierarchy`, by name or in the order of the rows.
        """
        named = levels if isinstance(levels, Mapping) else {f"level {j + 1}": col for j, col in enumerate(levels)}
        if not named:
            raise InvalidInput("a table needs a column a level", levels, "Pass at least one.")
        columns = {str(name): _labels(column, str(name)) for name, column in named.items()}
        sizes = {name: len(column) for name, column in columns.items()}
        if len(set(sizes.values())) != 1 or 0 in sizes.values():
            raise InvalidInput("the columns of levels must be equally long", sizes, "Pass one value a leaf.")
        check_nested(columns)
        self = cls.__new__(cls)
        paths = list(zip(*columns.values(), strict=True))
        order = _in_order_of_appearance(paths)
        self._build([paths[row] for row in order], order, features, weights, smallest, feature_names)
        return self

    @classmethod
    def from_parents(
        cls,
        parents: Mapping[str, str | None],
        features: Mapping[str, Any] | ArrayLike | None = None,
        weights: Mapping[str, float] | ArrayLike | None = None,
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
        paths = _follow(parents)
        order = np.array(_in_order_of_appearance(paths), dtype=np.intp)
        self = cls.__new__(cls)
        self._build([paths[row] for row in order], order, features, weights, smallest, feature_names)
        return self

    def _build(
        self,
        paths: list[tuple[str, ...]],
        rows: Any,
        features: Any,
        weights: Any,
        smallest: Any,
        feature_names: Any,
    ) -> None:
        size = len(paths)
        self.paths = tuple(paths)
        self.rows = np.arange(size) if rows is None else np.array(rows, dtype=np.intp)
        leaves = [""] * size  # in the order of the user's rows
        for row, path in zip(self.rows.tolist(), paths, strict=True):
            leaves[row] = path[-1]
        self.weights = checked_weights(by_name(weights, leaves, "weights"), size)[self.rows]
        self.symbolic = features is None
        if features is None:
            self.features = _codes(paths)
        else:
            self.features = checked_features(by_name(features, leaves, "features"), size, "features")[self.rows]
        names = [f"x{j}" for j in range(self.d)] if self.d > 1 else ["x"]
        if self.symbolic:
            names = [f"level {j + 1}" for j in range(self.d)]
        if feature_names is not None:
            names = [str(name) for name in feature_names]
            if len(names) != self.d:
                raise InvalidInput(f"feature_names must be {self.d} names", feature_names, "Pass as many.")
        self.names = tuple(names)
        self.smallest = smallest
        least = checked_least(smallest, float(self.weights.sum())) * (1 - ROUNDING)
        for column in (self.features, self.weights, self.rows):
            column.flags.writeable = False
        self._levels = _levels(paths, self.weights, least)

    def _identity(self) -> tuple[Hashable, ...]:
        return self.paths, self.names, self.smallest

    def __repr__(self) -> str:
        return f"Hierarchy({self.size} leaves, {len(self._levels) - 1} levels, smallest={self.smallest})"

    def region(self, what: Any, feedback: Viewer | None = None) -> MemberRegion:
        """Return any set of leaves, in the tree or not.

        Parameters
        ----------
        what : str, tuple of str, or sequence of int
            A name such as ``"NSW > Coast"``, the same as a tuple, or row numbers of leaves.
        feedback : feedback, optional
            How the region is measured; needed for its representative points.
        """
        by_path = isinstance(what, tuple) and all(isinstance(name, str) for name in what)
        if not by_path and not isinstance(what, str):
            return self.subset(what, feedback)
        path = self._path(what) if isinstance(what, str) else what
        inside = [row for row, own in enumerate(self.paths) if own[: len(path)] == path]
        if not inside:
            raise InvalidInput("there is no such region", what, f"Names look like {JOINT.join(self.paths[0])!r}.")
        return self.subset(self.rows[inside], feedback)

    def _path(self, name: str) -> tuple[str, ...]:
        """Return the way to the region of a name; names may hold what joins them, if they stay clear."""
        ways = {own[:depth] for own in self.paths for depth in range(1, len(own) + 1)}
        found = [way for way in ways if JOINT.join(way) == name]
        if len(found) > 1:
            raise InvalidInput("this name means several regions", name, f"Pass a tuple, such as {min(found)}.")
        return found[0] if found else () if name == WHOLE else tuple(name.split(JOINT))

    def is_one(self, what: Any) -> bool:
        """Tell whether `what` describes one region, and not several."""
        if isinstance(what, (Region, str)) or not np.iterable(what):
            return True
        first: Any = next(iter(what), [])
        if isinstance(first, str):
            return isinstance(what, tuple)
        return not np.iterable(first) and not isinstance(first, Region)

    def arrange(self, values: Any, what: str) -> Any:
        """Return values in the order of the user's rows, also if they came by name of the leaf."""
        return by_name(values, [self.paths[place][-1] for place in self.place], what)

    def describe(self, region: MemberRegion) -> str:
        """Return the names from the top down, or how many leaves there are."""
        places = region.positions
        shared = self.paths[places[0]]
        if region.node is not None:
            shared = shared[: region.node[0]]
            return JOINT.join(shared) if shared else WHOLE
        for place in places:
            same = [a == b for a, b in zip(shared, self.paths[place], strict=False)]
            shared = shared[: [*same, False].index(False)]
        if len(shared) and sum(path[: len(shared)] == shared for path in self.paths) == len(places):
            return JOINT.join(shared)
        return WHOLE if len(places) == self.size else f"{len(places)} leaves within {JOINT.join(shared) or WHOLE}"


def _labels(column: Any, name: str) -> list[str]:
    """Return the codes of one level as text."""
    labels = []
    for row, value in enumerate(column):
        if value is None or value != value:
            raise InvalidInput(f"column {name} is empty in row {row}", value, "Name every region.")
        labels.append(str(value))
    return labels


def _paths(tree: Any) -> list[tuple[str, ...]]:
    """Return the way to each leaf of nested mappings and lists."""
    paths: list[tuple[str, ...]] = []

    def walk(subtree: Any, above: tuple[str, ...]) -> None:
        where = JOINT.join(above) or WHOLE
        if isinstance(subtree, (str, bytes)) or not isinstance(subtree, (Mapping, Iterable)):
            raise InvalidInput(
                f"below {where} there must be a mapping, a list of names or None",
                subtree,
                "Pass [name, ...]. For links from names to parents use Hierarchy.from_parents.",
            )
        if isinstance(subtree, Mapping):
            pairs = list(subtree.items())
        else:
            pairs = [pair for place, item in enumerate(subtree) for pair in _named(item, place)]
        if not pairs:
            raise InvalidInput(f"region {where} is empty", subtree, "Leave it out, or pass None for a leaf.")
        seen: set[str] = set()
        for name, below in pairs:
            label = str(name)
            if label in seen:
                raise InvalidInput(
                    f"two regions within {where} have the same name",
                    label,
                    "Rename one. For a table with one column a level use Hierarchy.from_table.",
                )
            seen.add(label)
            if below is None:
                paths.append((*above, label))
            else:
                walk(below, (*above, label))

    walk(tree, ())
    return paths


def _named(item: Any, place: int) -> list[tuple[str, Any]]:
    """Return names and subtrees of one entry of a list: a leaf, a pair, a mapping, or a list without a name."""
    if isinstance(item, Mapping):
        return [(str(name), below) for name, below in item.items()]
    if isinstance(item, tuple) and len(item) == 2 and (item[1] is None or isinstance(item[1], (Mapping, list))):
        return [(str(item[0]), item[1])]
    if isinstance(item, (list, tuple)):
        return [(str(place), item)]
    return [(str(item), None)]


def check_nested(columns: dict[str, list[str]], first: int = 0) -> None:
    """Complain of a code with two parents, or of a leaf that is there twice; rows are counted from `first`."""
    names = list(columns)
    for coarse, fine in itertools.pairwise(names):
        parent: dict[str, tuple[str, int]] = {}
        for row, (above, below) in enumerate(zip(columns[coarse], columns[fine], strict=True), first):
            outer, where = parent.setdefault(below, (above, row))
            if outer != above:
                raise InvalidInput(
                    f"column {fine} is not nested in {coarse}: {below!r} is within {outer!r} in row {where} and "
                    f"within {above!r} in row {row}",
                    below,
                    "Use codes, or names that are unique.",
                )
    finest = names[-1]
    seen: dict[str, int] = {}
    for row, leaf in enumerate(columns[finest], first):
        if leaf in seen:
            raise InvalidInput(
                f"column {finest} names the same leaf in rows {seen[leaf]} and {row}", leaf, "Pass one row a leaf."
            )
        seen[leaf] = row
    for name, column in columns.items():
        if "" in column:
            raise InvalidInput(
                f"column {name} is empty in row {column.index('') + first}", "", "Name every region."
            )


def _in_order_of_appearance(paths: list[tuple[str, ...]]) -> list[int]:
    """Return rows so that every region's leaves follow each other, siblings as they first appear."""
    rank: dict[tuple[str, ...], int] = {}
    for path in paths:
        for depth in range(1, len(path) + 1):
            rank.setdefault(path[:depth], len(rank))
    return sorted(
        range(len(paths)), key=lambda row: [rank[paths[row][:depth]] for depth in range(1, len(paths[row]) + 1)]
    )


def _follow(parents: Mapping[str, str | None]) -> list[tuple[str, ...]]:
    """Return the way to each leaf of parent links, in the order of the links."""
    if not isinstance(parents, Mapping) or not parents:
        raise InvalidInput("parents must map each name to its parent's", parents, "Pass {'Sydney': 'NSW', ...}.")
    texts = [str(name) for name in parents]
    if len(set(texts)) < len(texts):
        twice = next(text for text, times in Counter(texts).items() if times > 1)
        raise InvalidInput("two regions have the same name", twice, "Rename one.")
    ways: dict[str, tuple[str, ...]] = {}
    for start in parents:
        chain = [start]
        while chain[-1] not in ways:
            above = parents[chain[-1]]
            if above is None:
                break
            if above in chain:
                raise InvalidInput(f"parent links go round in a circle from {above!r}", chain, "Break the circle.")
            if above not in parents:
                raise InvalidInput(
                    f"the parent of {chain[-1]!r} is not among the names",
                    above,
                    "Add it, its parent being None.",
                )
            chain.append(above)
        for name in reversed(chain):
            above = parents[name]
            ways.setdefault(name, (*(ways[above] if above is not None else ()), str(name)))
    inner = {above for above in parents.values() if above is not None}
    return [ways[name] for name in parents if name not in inner]


def by_name(values: Any, leaves: list[str], what: str) -> Any:
    """Return values in the order of the leaves if they came by name."""
    if not isinstance(values, Mapping):
        return values
    twice = next((leaf for leaf, times in Counter(leaves).items() if times > 1), None)
    if twice is not None:
        raise InvalidInput(f"{what} by name need leaves of different names", twice, "Pass them in order instead.")
    named, known = {str(name): value for name, value in values.items()}, set(leaves)
    unknown = next((name for name in named if name not in known), None)
    if unknown is not None:
        raise InvalidInput(f"{what} names something that is no leaf", unknown, "Name leaves only.")
    missing = next((leaf for leaf in leaves if leaf not in named), None)
    if missing is not None:
        raise InvalidInput(f"{what} must name every leaf", missing, "Add it.")
    width = np.size(next(iter(named.values())))
    for leaf, value in named.items():
        if what == "features" and np.size(value) != width:
            raise InvalidInput(
                f"features of leaf {leaf!r} are {np.size(value)} numbers, not {width}", value, "Mend it."
            )
        numbers = np.asarray(value).ravel()
        wrong = numbers.dtype.kind not in "iuf" or not np.isfinite(numbers.astype(float)).all()
        if wrong or (what == "weights" and not (numbers > 0).all()):
            kind = "positive and finite" if what == "weights" else "finite numbers"
            raise InvalidInput(f"{what} of leaf {leaf!r} must be {kind}", value, "Mend it.")
    return [named[leaf] for leaf in leaves]


def _codes(paths: list[tuple[str, ...]]) -> Any:
    """Return, for each leaf, the number of its ancestor at every level; a leaf's own where it has ended."""
    depth = max(len(path) for path in paths)
    numbers: dict[tuple[str, ...], int] = {}
    return np.array(
        [[numbers.setdefault(path[: level + 1], len(numbers)) for level in range(depth)] for path in paths],
        dtype=float,
    )


def _levels(paths: list[tuple[str, ...]], weights: Any, least: float) -> list[Level]:
    """Return the levels of the tree, without children that would be too light."""
    runs: list[tuple[int, int]] = [(0, len(paths))]
    levels: list[Level] = []
    while runs:
        depth = len(levels)
        below: list[tuple[int, int]] = []
        first, children = [], []
        for start, stop in runs:
            own: list[tuple[int, int]] = []
            if len(paths[start]) > depth:  # a leaf's way ends here otherwise
                edges = [start]
                for row in range(start + 1, stop):
                    if paths[row][depth] != paths[row - 1][depth]:
                        edges.append(row)
                own = list(zip(edges, [*edges[1:], stop], strict=True))
                if least and min(float(weights[a:b].sum()) for a, b in own) < least:
                    own = []
            first.append(len(below))
            children.append(len(own))
            below += own
        start_, stop_ = (np.array(column, dtype=np.intp) for column in zip(*runs, strict=True))
        levels.append(Level(start_, stop_, _ints(first), _ints(children)))
        runs = below
    return levels


def _ints(values: list[int]) -> Ints:
    return np.array(values, dtype=np.intp)
