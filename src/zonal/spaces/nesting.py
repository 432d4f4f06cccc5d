"""From the forms in which users give nested regions to the path from the top to each leaf.

Nested mappings and lists, a table with one column per level, or links from a name to its parent.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from zonal.arrays import Floats
from zonal.errors import InvalidInput, refuse
from zonal.tables.dataframes import Labels, as_frame, useful

JOINT = " > "
WHOLE = "all"


class Leaves(NamedTuple):
    """The leaves of a tree, in its order."""

    paths: list[tuple[str, ...]]
    rows: Sequence[int]  # the user's row number of each
    levels: tuple[str, ...] = ()  # names, if they were given
    labels: Labels | None = None  # of the user's rows


def of_tree(tree: Any) -> Leaves:
    """Return the leaves of nested mappings and lists."""
    paths = paths_of(tree)
    return Leaves(paths, range(len(paths)))


def of_table(levels: Any) -> Leaves:
    """Return the leaves of a table with one column per level."""
    frame = as_frame(levels)
    named: Any = levels if frame is None else frame.columns
    if not isinstance(named, Mapping):
        listed = enumerate(named, start=1) if np.iterable(named) else ()
        named = {f"level {j}": column for j, column in listed}
    if not named or not all(map(np.iterable, named.values())):
        raise InvalidInput("a table needs one column per level", levels, "Pass at least one.")
    columns = {str(name): _texts(column, str(name)) for name, column in named.items()}
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) != 1 or 0 in sizes.values():
        raise InvalidInput("the columns of levels must be equally long", sizes, "Pass one value per leaf.")
    check_nested(columns)
    labels = None if frame is None else useful(frame.labels)
    return _together(list(zip(*columns.values(), strict=True)), tuple(columns), labels)


def of_parents(parents: Any) -> Leaves:
    """Return the leaves of links from names to parents."""
    return _together(follow(parents))


def _together(paths: list[tuple[str, ...]], *more: Any) -> Leaves:
    """Return leaves with siblings put together, by first appearance."""
    order = np.lexsort(codes(paths).T[::-1]).tolist()
    return Leaves([paths[row] for row in order], order, *more)


def codes(paths: list[tuple[str, ...]]) -> Floats:
    """Return, for each leaf, the number of its ancestor at every level; beyond its depth, its own."""
    depth = max(len(path) for path in paths)
    numbers: dict[tuple[str, ...], int] = {}
    every = [[numbers.setdefault(path[: level + 1], len(numbers)) for level in range(depth)] for path in paths]
    return np.array(every, dtype=float)


def _texts(column: Any, name: str) -> list[str]:
    """Return one level of a table as text."""
    for row, value in enumerate(column):
        if value is None or value != value:
            raise InvalidInput(f"column {name} is empty in row {row}", value, "Name every region.")
    return list(map(str, column))


def paths_of(tree: Any) -> list[tuple[str, ...]]:
    """Return the path to each leaf of nested mappings and lists."""
    paths: list[tuple[str, ...]] = []
    if as_frame(tree) is not None:
        fix = "Use Hierarchy.from_table(frame[[coarsest, ..., finest]])."
        raise InvalidInput("a data frame is a table of leaves, not a tree", type(tree).__name__, fix)

    def walk(subtree: Any, above: tuple[str, ...]) -> None:
        where = JOINT.join(above) or WHOLE
        if isinstance(subtree, (str, bytes)) or not (isinstance(subtree, Mapping) or np.iterable(subtree)):
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
        fix = "Rename one. For a table with one column per level use Hierarchy.from_table."
        refuse(repeated(str(name) for name, _ in pairs), f"two regions within {where} have the same name", fix)
        for name, below in pairs:
            if below is None:
                paths.append((*above, str(name)))
            else:
                walk(below, (*above, str(name)))

    walk(tree, ())
    return paths


def _named(item: Any, place: int) -> list[tuple[str, Any]]:
    """Return names and subtrees of one entry of a list: a leaf, a pair, a mapping, or an unnamed list."""
    if isinstance(item, Mapping):
        return [(str(name), below) for name, below in item.items()]
    if isinstance(item, tuple) and len(item) == 2 and (item[1] is None or isinstance(item[1], (Mapping, list))):
        return [(str(item[0]), item[1])]
    if isinstance(item, (list, tuple)):
        return [(str(place), item)]
    return [(str(item), None)]


def check_nested(columns: dict[str, list[str]], first: int = 0) -> None:
    """Raise if a code has two parents, or a leaf occurs twice; rows are counted from `first`."""
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
    finest = columns[names[-1]]
    for leaf in repeated(finest):
        rows = [row for row, own in enumerate(finest, first) if own == leaf]
        problem = f"column {names[-1]} names the same leaf in rows {rows[0]} and {rows[1]}"
        raise InvalidInput(problem, leaf, "Pass a row per leaf.")
    for name, column in columns.items():
        empty = [row for row, own in enumerate(column, first) if own == ""]
        if empty:
            raise InvalidInput(f"column {name} is empty in row {empty[0]}", "", "Name every region.")


def follow(parents: Mapping[str, str | None]) -> list[tuple[str, ...]]:
    """Return the path to each leaf of parent links, in the order of the links."""
    if not isinstance(parents, Mapping) or not parents:
        raise InvalidInput("parents must map each name to its parent", parents, "Pass {'Sydney': 'NSW', ...}.")
    refuse(repeated(map(str, parents)), "two regions have the same name", "Rename one.")
    ways = {name: _way(parents, name) for name in parents}
    inner = set(parents.values())
    return [tuple(map(str, way)) for name, way in ways.items() if name not in inner]


def _way(parents: Mapping[str, str | None], name: str) -> list[str]:
    """Return the names from the top to one of them."""
    chain = [name]
    while (above := parents[chain[-1]]) is not None:
        if not isinstance(above, Hashable) or above not in parents:
            problem = f"the parent of {chain[-1]!r} is not among the names"
            raise InvalidInput(problem, above, "Add it, with None as its parent.")
        if above in chain:
            raise InvalidInput(f"parent links form a cycle at {above!r}", chain, "Remove one link.")
        chain.append(above)
    return chain[::-1]


def by_name(values: Any, leaves: Sequence[Any], what: str) -> Any:
    """Return values in the order of the leaves if they were given by name."""
    if not isinstance(values, Mapping):
        return values
    refuse(repeated(leaves), f"{what} by name need leaves with different names", "Pass them in order.")
    named, known = {str(name): value for name, value in values.items()}, set(leaves)
    strangers = (name for name in named if name not in known)
    refuse(strangers, f"{what} names something that is not a leaf", "Name leaves only.")
    refuse((leaf for leaf in leaves if leaf not in named), f"{what} must name every leaf", "Add it.")
    width = np.size(next(iter(named.values())))
    for leaf, value in named.items():
        if what == "features" and np.size(value) != width:
            problem = f"features of leaf {leaf!r} are {np.size(value)} numbers, not {width}"
            raise InvalidInput(problem, value, "Correct it.")
        numbers = np.asarray(value).ravel()
        bad = numbers.dtype.kind not in "iuf" or not np.isfinite(numbers.astype(float)).all()
        if bad or (what == "weights" and not (numbers > 0).all()):
            kind = "positive and finite" if what == "weights" else "finite numbers"
            raise InvalidInput(f"{what} of leaf {leaf!r} must be {kind}", value, "Correct it.")
    return [named[leaf] for leaf in leaves]


def repeated(names: Iterable[Any]) -> list[Any]:
    """Return the names that occur more than once."""
    return [name for name, times in Counter(names).items() if times > 1]
