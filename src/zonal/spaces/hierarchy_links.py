"""Hierarchies as registers and networks write them: codes whose first digits name the larger areas, and edges.

In a network what flows passes every node downstream, so that a reading at a node averages everything upstream of
it. The tree begins at the outlet. A node that adds something of its own between its inflows gets a leaf for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from zonal.errors import InvalidInput, finite_number, listed, mapped, named, reject, require, whole_number
from zonal.io.dataframes import as_frame, as_series

EDGES = "a network needs a table of edges with two columns, from and to"
ITSELF = "(at {})"  # the leaf of what a node adds to its inflows
LONGEST_ROUTE = 2000  # nodes from the outlet to a source


def columns_of_codes(codes: Any, lengths: Sequence[int], levels: Sequence[str] | None) -> dict[str, list[str]]:
    """Return one column per level: the first digits of each code."""
    fix = "Pass for example lengths=[2, 5, 11], the last of which is that of the whole code."
    problem = "lengths must be a list of rising whole numbers"
    ends = [whole_number(length, "a length", 1) for length in listed(lengths, problem, fix)]
    require(ends and ends == sorted(set(ends)), problem, lengths, fix)
    series = as_series(codes)
    problem = "codes must be a list of texts"
    rows = listed(codes if series is None else series.values.tolist(), problem, "Pass for example ['06037', ...].")
    for row, code in enumerate(rows):
        problem = f"the code in row {row} is not text, and may have lost its leading zeros"
        require(isinstance(code, str), problem, code, "Read the column as text: dtype=str.")
        problem = f"the code in row {row} has {len(code)} characters, not {ends[-1]}"
        require(len(code) == ends[-1], problem, code, "Correct it, or the last of lengths.")
    names = [f"first {end}" for end in ends[:-1]] + ["code"] if levels is None else list(levels)
    require(len(names) == len(ends), f"levels must be {len(ends)} names, one per length", levels, "Pass as many.")
    return {name: [code[:end] for code in rows] for name, end in zip(names, ends, strict=True)}


def leaves_of_edges(
    edges: Any, weights: Mapping[str, float] | None, thin: float
) -> tuple[list[str], list[tuple[str, ...]], list[float]]:
    """Return the nodes that add something, and path from the outlet and weight of the leaf of each."""
    downstream = _downstream(edges)
    nodes = dict.fromkeys([*downstream, *downstream.values()])
    outlets = [node for node in nodes if node not in downstream]
    if not outlets:
        raise InvalidInput(
            "every node drains into another: there is a cycle", _cycle(downstream), "Remove an edge."
        )
    paths = {node: _route(downstream, node) for node in nodes}
    fix = "Pass the edges of one of them, or join them by edges to a common outlet."
    require(len(outlets) == 1, "a network must have one outlet", outlets, fix)
    added = _weights(weights, nodes)
    inner = set(downstream.values())
    light = (node for node in nodes if node not in inner and added[node] == 0)
    reject(light, "a source must have a weight above 0", "Give it one, or leave out its edge.")
    sources = [node for node in nodes if added[node] > 0]
    kept = _kept(paths, added, thin)
    leaves = [
        (*(above for above in paths[node] if above in kept), ITSELF.format(node) if node in inner else node)
        for node in sources
    ]
    return sources, leaves, [added[node] for node in sources]


def _kept(paths: Mapping[str, tuple[str, ...]], added: Mapping[str, float], thin: float) -> set[str]:
    """Return the nodes at which at most a share of what passes the next kept node downstream passes."""
    passes = dict.fromkeys(paths, 0.0)
    for node, route in paths.items():
        for at in route:
            passes[at] += added[node]
    inner = {at for route in paths.values() for at in route[:-1]}
    kept: set[str] = set()
    for node in sorted(inner, key=lambda node: len(paths[node])):
        following = [passes[at] for at in paths[node][:-1] if at in kept]
        if not following or passes[node] <= thin * following[-1]:
            kept.add(node)
    return kept


def features_of_nodes(features: Mapping[str, Sequence[float]], nodes: Sequence[str]) -> list[Sequence[float]]:
    """Return the features of some nodes, in their order."""
    fix = "Pass {node: (x, y), ...}."
    require(isinstance(features, Mapping), "features of a network must be by node", type(features).__name__, fix)
    given = {str(node): numbers for node, numbers in features.items()}
    reject((node for node in nodes if node not in given), "features lack a node that adds something", "Add it.")
    return [given[node] for node in nodes]


def _downstream(edges: Any) -> dict[str, str]:
    """Return the node into which each node drains, from a data frame, a mapping of columns or pairs."""
    frame = as_frame(edges)
    table: Any = edges if frame is None else frame.columns
    fix = "Pass [('a', 'b'), ...], {'from': [...], 'to': [...]} or a data frame."
    if isinstance(table, Mapping):
        columns = [listed(column, EDGES, fix) for column in mapped(table, EDGES, fix).values()]
        even = len(columns) == 2 and len(columns[0]) == len(columns[1])
        require(even, EDGES, list(table), fix)
        pairs: Iterable[Any] = zip(*columns, strict=True)
    else:
        pairs = listed(table, EDGES, fix)
    downstream: dict[str, str] = {}
    for row, pair in enumerate(pairs):
        both = listed(pair, f"row {row} of the edges must have two nodes", fix)
        require(len(both) == 2, f"row {row} of the edges must have two nodes", pair, fix)
        source, target = (node_name(node, row) for node in both)
        require(source != target, f"row {row} of the edges leads from a node to itself", source, "Remove it.")
        earlier = downstream.setdefault(source, target)
        problem = f"node {source!r} drains into {earlier!r} and, in row {row}, into another node"
        require(earlier == target, problem, target, "Keep one of the edges: a node has one way downstream.")
    require(downstream, EDGES, edges, fix)
    return downstream


def node_name(node: Any, row: int) -> str:
    """Check the name of a node, and return it as text; whole numbers are names too."""
    whole = isinstance(node, int) or type(node).__module__ == "numpy"
    return named(str(node) if whole and node == node else node, f"a node in row {row} of the edges")


def _route(downstream: Mapping[str, str], node: str) -> tuple[str, ...]:
    """Return the nodes from the outlet to one of them."""
    route = dict.fromkeys([node])
    while (node := downstream.get(node, "")) != "":
        if node in route:
            raise InvalidInput("edges form a cycle", _cycle(downstream, node), "Remove one of them.")
        route[node] = None
    fix = "Leave out nodes that add nothing and have one inflow."
    require(len(route) <= LONGEST_ROUTE, f"a route has at most {LONGEST_ROUTE} nodes", len(route), fix)
    return tuple(route)[::-1]


def _cycle(downstream: Mapping[str, str], node: str | None = None) -> str:
    """Return a cycle of edges as text, which is known to be there."""
    at = next(iter(downstream)) if node is None else node
    route = [at]
    while (at := downstream[at]) not in route:
        route.append(at)
    return " > ".join([*route[route.index(at) :], at])


def _weights(weights: Mapping[str, float] | None, nodes: Iterable[str]) -> dict[str, float]:
    """Return what each node adds: 1 each by default, and 0 for a node that is not named."""
    added = dict.fromkeys(nodes, 1.0 if weights is None else 0.0)
    if weights is None:
        return added
    fix = "Pass {node: weight}; nodes that are left out add nothing."
    require(isinstance(weights, Mapping), "weights of a network must be by node", type(weights).__name__, fix)
    given = {str(node): weight for node, weight in weights.items()}
    reject((node for node in given if node not in added), "weights name a node that no edge has", "Correct it.")
    for node, weight in given.items():
        added[node] = finite_number(weight, f"the weight of node {node!r}")
        require(added[node] >= 0, f"the weight of node {node!r} must not be negative", weight, "Pass 0 or more.")
    return added
