"""From the forms in which users give nested regions to the path from the top to each leaf.

Nested mappings and lists, a table with one column per level, or links from a name to its parent.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from zonal.errors import InvalidInput
from zonal.tables.dataframes import as_frame

JOINT = " > "
WHOLE = "all"


def texts_of(column: Any, name: str) -> list[str]:
    """Return one level of a table as text."""
    labels = []
    for row, value in enumerate(column):
        if value is None or value != value:
            raise InvalidInput(f"column {name} is empty in row {row}", value, "Name every region.")
        labels.append(str(value))
    return labels


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
        seen: set[str] = set()
        for name, below in pairs:
            label = str(name)
            if label in seen:
                raise InvalidInput(
                    f"two regions within {where} have the same name",
                    label,
                    "Rename one. For a table with one column per level use Hierarchy.from_table.",
                )
            seen.add(label)
            if below is None:
                paths.append((*above, label))
            else:
                walk(below, (*above, label))

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
    finest = names[-1]
    seen: dict[str, int] = {}
    for row, leaf in enumerate(columns[finest], first):
        if leaf in seen:
            raise InvalidInput(
                f"column {finest} names the same leaf in rows {seen[leaf]} and {row}", leaf, "Pass a row per leaf."
            )
        seen[leaf] = row
    for name, column in columns.items():
        if "" in column:
            raise InvalidInput(
                f"column {name} is empty in row {column.index('') + first}", "", "Name every region."
            )


def follow(parents: Mapping[str, str | None]) -> list[tuple[str, ...]]:
    """Return the path to each leaf of parent links, in the order of the links."""
    if not isinstance(parents, Mapping) or not parents:
        raise InvalidInput("parents must map each name to its parent", parents, "Pass {'Sydney': 'NSW', ...}.")
    texts = [str(name) for name in parents]
    if len(set(texts)) < len(texts):
        twice = next(text for text, times in Counter(texts).items() if times > 1)
        raise InvalidInput("two regions have the same name", twice, "Rename one.")
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
    twice = next((leaf for leaf, times in Counter(leaves).items() if times > 1), None)
    if twice is not None:
        raise InvalidInput(f"{what} by name need leaves with different names", twice, "Pass them in order.")
    named, known = {str(name): value for name, value in values.items()}, set(leaves)
    unknown = next((name for name in named if name not in known), None)
    if unknown is not None:
        raise InvalidInput(f"{what} names something that is not a leaf", unknown, "Name leaves only.")
    missing = next((leaf for leaf in leaves if leaf not in named), None)
    if missing is not None:
        raise InvalidInput(f"{what} must name every leaf", missing, "Add it.")
    width = np.size(next(iter(named.values())))
    for leaf, value in named.items():
        if what == "features" and np.size(value) != width:
            raise InvalidInput(
                f"features of leaf {leaf!r} are {np.size(value)} numbers, not {width}", value, "Correct it."
            )
        numbers = np.asarray(value).ravel()
        wrong = numbers.dtype.kind not in "iuf" or not np.isfinite(numbers.astype(float)).all()
        if wrong or (what == "weights" and not (numbers > 0).all()):
            kind = "positive and finite" if what == "weights" else "finite numbers"
            raise InvalidInput(f"{what} of leaf {leaf!r} must be {kind}", value, "Correct it.")
    return [named[leaf] for leaf in leaves]
