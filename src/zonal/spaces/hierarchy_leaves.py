"""The leaves of nested mappings and lists, of a table with a column per level, and of links to parents, checked.

A leaf is the path to it: the names of the regions that contain it, from the top.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import Any, NamedTuple

import numpy as np

from zonal._types import Floats
from zonal.errors import InvalidInput, attribute, listed, mapped, named, reject, require, text
from zonal.io.dataframes import Labels, as_frame
from zonal.spaces.hierarchy_names import JOINT, WHOLE
from zonal.spaces.member_columns import repeated

TABLE = "a table needs one column per level", "Pass at least one."
DEEPEST_TREE = 200  # levels of nested mappings and lists


class Leaves(NamedTuple):
    """The leaves of a tree, in its order."""

    paths: list[tuple[str, ...]]
    rows: Sequence[int]  # the user's row number of each
    levels: tuple[str, ...] = ()  # names, if they were given
    labels: Labels | None = None  # of the user's rows


def leaves_of_tree(tree: Any) -> Leaves:
    """Return the leaves of nested mappings and lists."""
    fix = "Use Hierarchy.from_table(frame[[coarsest, ..., finest]])."
    require(as_frame(tree) is None, "a data frame is a table of leaves, not a tree", type(tree).__name__, fix)
    paths = list(_paths(tree, ()))
    return Leaves(paths, range(len(paths)))


def _paths(subtree: Any, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the path to each leaf of nested mappings and lists."""
    where = JOINT.join(above) or WHOLE
    require(
        len(above) < DEEPEST_TREE, f"a tree has at most {DEEPEST_TREE} levels", subtree, "Does it contain itself?"
    )
    fix = "Pass [name, ...]. For links from names to parents use Hierarchy.from_parents."
    problem = f"below {where} there must be a mapping, a list of names or None"
    items = [subtree] if isinstance(subtree, Mapping) else listed(subtree, problem, fix)
    entries = [pair for place, item in enumerate(items) for pair in _named(item, place)]
    pairs = [(region_name(name, f"a region within {where}"), below) for name, below in entries]
    require(pairs, f"region {where} is empty", subtree, "Leave it out, or pass None for a leaf.")
    fix = "Rename one. For a table with one column per level use Hierarchy.from_table."
    reject(repeated(name for name, _ in pairs), f"two regions within {where} have the same name", fix)
    for name, below in pairs:
        path = (*above, name)
        yield from [path] if below is None else _paths(below, path)


def _named(item: Any, place: int) -> list[tuple[Any, Any]]:
    """Return names and subtrees of one entry of a list: a leaf, a pair, a mapping, or an unnamed list."""
    if isinstance(item, Mapping):
        return list(mapped(item, "a region must be a mapping", "Pass {name: subtree}.").items())
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], Mapping | list | None):
        return [item]
    return [(place, item)] if isinstance(item, (list, tuple)) else [(item, None)]


def columns_of_levels(table: Any, levels: Any) -> dict[str, list[str]]:
    """Return the names of regions in the columns of a table, one per level; `levels` is what the user passed."""
    if not isinstance(table, Mapping):
        given = listed(table, *TABLE)
        table = dict(zip(numbered_levels(len(given)), given, strict=True))
    table = mapped(table, *TABLE)
    require(table, TABLE[0], levels, TABLE[1])
    columns = {
        region_name(name, "a level"): list(map(_text, _not_shapes(name, listed(column, *TABLE))))
        for name, column in table.items()
    }
    once = len(columns) == len(table)
    require(once, "two levels have the same name", list(table), "Rename one; 1 and '1' are the same.")
    sizes = {name: len(column) for name, column in columns.items()}
    even = len(set(sizes.values())) == 1 and 0 not in sizes.values()
    require(even, "the columns of levels must be equally long", sizes, "Pass one value per leaf.")
    check_nested(columns)
    return columns


def region_name(name: Any, what: str) -> str:
    """Check the name of a region, level or feature, and return it as text; numbers and dates are names too."""
    plain = isinstance(name, str | int | float | date | np.generic) and name == name
    try:
        written = str(name) if plain and not isinstance(name, str) else name
    except ValueError:  # a whole number of thousands of digits
        raise InvalidInput(
            f"{what} has a number too long to be a name", name, "Pass text, or a shorter one."
        ) from None
    return named(written, what)


def _not_shapes(name: str, column: list[Any]) -> list[Any]:
    """Return a column of names; raise if there are shapes in it."""
    fix = f"Leave the column out, or pass geopandas.GeoDataFrame(table, geometry={name!r})."
    shapes = (value for value in column if attribute(type(value), "__geo_interface__") is not None)
    reject(shapes, f"column {name} has shapes, not names of regions", fix)
    return column


def _text(name: Any) -> str:
    """Return the name of a region in a table as text, "" if there is none."""
    with suppress(Exception):  # pandas' NA is neither equal to itself nor not; an array is no name
        return "" if name is None or name != name else text(str(name), "a name")
    return ""


def check_nested(columns: dict[str, list[str]], first: int = 0) -> None:
    """Raise if a region has no name or two parents, or a leaf occurs twice; rows are counted from `first`."""
    for name, column in columns.items():
        if "" in column:
            row = first + column.index("")
            raise InvalidInput(f"column {name} is empty in row {row}", "", "Name every region.")
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
        rows = [row for row, name in enumerate(finest, first) if name == leaf]
        problem = f"column {names[-1]} names the same leaf in rows {rows[0]} and {rows[1]}"
        raise InvalidInput(problem, leaf, "Pass a row per leaf.")


def leaves_of_parents(parents: Mapping[str, str | None]) -> Leaves:
    """Return the leaves of links from each name to its parent."""
    problem, fix = "parents must map each name to its parent", "Pass {'Sydney': 'NSW', ...}."
    require(isinstance(parents, Mapping), problem, parents, fix)
    parents = mapped(parents, problem, fix)
    require(parents, problem, parents, fix)
    require(None not in parents, "every region needs a name", None, "Name it.")
    reject(
        repeated(region_name(name, "a region") for name in parents),
        "two regions have the same name",
        "Rename one.",
    )
    paths = {name: _path(parents, name) for name in parents}
    inner = set(parents.values())
    return together([tuple(map(str, path)) for name, path in paths.items() if name not in inner])


def _path(parents: Mapping[str, str | None], name: str) -> list[str]:
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


def numbered_levels(number: int) -> tuple[str, ...]:
    """Return names for levels that the user gave none."""
    return tuple(f"level {j}" for j in range(1, number + 1))


def together(paths: list[tuple[str, ...]], levels: tuple[str, ...] = (), labels: Labels | None = None) -> Leaves:
    """Return leaves with siblings put together, by first appearance."""
    order = np.lexsort(codes_of(paths).T[::-1]).tolist()
    return Leaves([paths[row] for row in order], order, levels, labels)


def codes_of(paths: Sequence[tuple[str, ...]]) -> Floats:
    """Return, for each leaf, the number of its ancestor at every level; beyond its depth, its own."""
    depth = max(len(path) for path in paths)
    numbers: dict[tuple[str, ...], int] = {}
    every = [[numbers.setdefault(path[: level + 1], len(numbers)) for level in range(depth)] for path in paths]
    return np.array(every, dtype=float)
