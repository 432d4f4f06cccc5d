"""A space of every kind, with what the user gave it, and the kernels and feedbacks that fit it.

Shared by the tests of all rooms that must work on every space. Where a test needs points and weights of a region,
`block` lists them from what the user gave, not from what the library made of it.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

import oracle
import oracle_regions
import zonal as zn
from oracle_regions import Block
from zonal.kernels.base import Kernel
from zonal.kernels.feedback import Feedback
from zonal.spaces import CategoricalAxis, ContinuousAxis, IntegerAxis, PeriodicAxis, ProductRegion, SubsetRegion

Array = NDArray[np.float64]
Path = tuple[str, ...]

NODES = 10  # of a Gauss rule along an axis: exact to rounding for kernels as smooth as RBF


@dataclass(frozen=True)
class Kind:
    """A space; of one with members also features and weights, in the order in which the user gave them."""

    space: Any
    X: Array | None = None
    w: Array | None = None
    is_categorical: bool = False


def symbols(space: Any) -> list[bool]:
    """Tell axes of symbols from continuous ones, if the space has axes."""
    return [isinstance(axis, CategoricalAxis) for axis in space.axes or ()]


def codes(paths: Sequence[Path]) -> Array:
    """Return a number for each leaf's ancestor at every level; leaves are their own where their way has ended."""
    levels = max(len(path) for path in paths)
    distinct = sorted({path[:level] for path in paths for level in range(1, levels + 1)})
    return np.array(
        [[distinct.index(path[: level + 1]) for level in range(levels)] for path in paths], dtype=float
    )


# Where a region looks, from what the user gave.


def per_axis(feedback: Feedback) -> int | None:
    """Return how many points per axis a feedback looks at, None for all."""
    if isinstance(feedback, zn.Average):
        return feedback.s
    return 1 if isinstance(feedback, zn.Center) else None


def block(kind: Kind, region: Any, feedback: Feedback) -> Block:
    """Return points and weights of a region's average; of an exact mean along a continuous axis a Gauss rule."""
    if isinstance(region, SubsetRegion):
        assert kind.X is not None
        assert kind.w is not None
        rows = region.members
        if per_axis(feedback) is None:
            return kind.X[rows], kind.w[rows] / kind.w[rows].sum()
        seen = kind.space.region(rows, feedback)
        return seen.points, seen.weights
    assert isinstance(region, ProductRegion)
    axes = []
    for (axis, (_, _, (low, high))), named in zip(region.along, region.symbols, strict=True):
        if isinstance(axis, IntegerAxis):
            axes.append(lumped(int(low + 0.5), int(high - 0.5), per_axis(feedback)))
        elif isinstance(axis, ContinuousAxis):
            nodes, weights = np.polynomial.legendre.leggauss(NODES)
            number = per_axis(feedback)
            if number is not None:
                weights = np.full(number, 1 / number)
                nodes = 2 * (np.arange(len(weights)) + 0.5) * weights - 1
            places = low + (high - low) * (nodes + 1) / 2
            if isinstance(axis, PeriodicAxis):
                places = np.where(places >= axis.high, places - axis.side, places)
            axes.append((places, weights / weights.sum()))
        else:
            assert named is not None
            assert isinstance(axis, CategoricalAxis)
            numbers = [axis.symbols.index(symbol) for symbol in named]
            shares = np.array([axis.shares[number] for number in numbers])
            axes.append((np.array(numbers, dtype=float), shares / shares.sum()))
    points = np.array(list(itertools.product(*(place for place, _ in axes))))
    weights = np.array([math.prod(parts) for parts in itertools.product(*(share for _, share in axes))])
    return points, weights


def lumped(first: int, last: int, number: int | None) -> tuple[Array, Array]:
    """Return the whole numbers of a run and their weights, points between two of them belonging to both."""
    if number is None:
        return np.arange(first, last + 1.0), np.full(last - first + 1, 1 / (last - first + 1))
    weights = dict.fromkeys(range(first, last + 1), Fraction(0))
    for i in range(number):
        place = Fraction(2 * i + 1, 2 * number) * (last - first + 1) + first - Fraction(1, 2)
        near = [n for n in weights if abs(n - place) == min(abs(m - place) for m in weights)]
        for n in near:
            weights[n] += Fraction(1, len(near) * number)
    seen = {n: float(weight) for n, weight in weights.items() if weight}
    return np.array(list(seen), dtype=float), np.array(list(seen.values()))


def levels(space: Any, most: int = 400, deepest: int = 6) -> Iterator[list[Any]]:
    """Yield whole levels of the tree, by splitting, as deep as the limits allow."""
    level = [space.cell((0, 0))]
    depth = 0
    while level and len(level) <= most and depth <= deepest:
        yield level
        level = [child for cell in level if space.may_split(cell) for child in space.split(cell)]
        depth += 1


def cells(space: Any, most: int = 400, deepest: int = 6) -> list[Any]:
    """Return the cells of the tree, level by level, as deep as the limits allow."""
    return [cell for level in levels(space, most, deepest) for cell in level]


def off_tree(kind: Kind, number: int, seed: int) -> list[Any]:
    """Return regions that need not be in the tree."""
    rng = np.random.default_rng(seed)
    space, made = kind.space, []
    for _ in range(number):
        if kind.X is not None:
            size = int(rng.integers(1, len(kind.X) + 1))
            made.append(space.region(rng.permutation(len(kind.X))[:size].tolist()))
        elif isinstance(space, zn.Sequences):
            made.append(space.region([_some(axis, rng) for axis in space.axes]))
        else:
            made.append(space.region({axis.name: _some(axis, rng) for axis in space.axes}))
    return made


def _some(axis: Any, rng: np.random.Generator) -> Any:
    if isinstance(axis, CategoricalAxis):
        return rng.permutation(axis.symbols)[: int(rng.integers(1, len(axis.symbols) + 1))].tolist()
    if isinstance(axis, IntegerAxis):
        first, last = np.sort(rng.integers(axis.ends[0], axis.ends[1] + 1, 2)).tolist()
        return first, last
    if isinstance(axis, PeriodicAxis):  # some across the cut
        start = float(rng.uniform(axis.low, axis.high))
        return start, start + float(rng.uniform(0, axis.side))
    low, high = np.sort(rng.uniform(axis.ends[0], axis.ends[1], 2))
    return float(low), float(high)


# One space of every kind.


def _points(n: int, d: int, seed: int, grid: int | None = None, **settings: Any) -> Kind:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, grid, (n, d)).astype(float) if grid else rng.uniform(-2, 5, (n, d))
    w = settings.pop("weights", rng.uniform(0.5, 3, n))
    space = zn.Points(X, None if w is None else w, **settings)
    return Kind(space, X, np.ones(n) if w is None else np.asarray(w))


NESTED: Any = {
    "North": {"Coast": ["Reef", "Bay", "Cape"], "Inland": None},
    "South": {"Hills": {"Top": ["Peak"]}, "Plain": ["East", "West"]},
    "Isle": None,
}
NESTED_PATHS: list[Path] = [
    ("North", "Coast", "Reef"),
    ("North", "Coast", "Bay"),
    ("North", "Coast", "Cape"),
    ("North", "Inland"),
    ("South", "Hills", "Top", "Peak"),
    ("South", "Plain", "East"),
    ("South", "Plain", "West"),
    ("Isle",),
]
COLUMNS = {
    "state": ["b", "a", "b", "a", "c", "a", "b", "b"],
    "town": ["b2", "a1", "b1", "a1", "c1", "a2", "b2", "b3"],
    "street": ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"],
}
LINKS = {"w": "e", "e": None, "u": "f", "f": None, "v": "e", "g": None, "t": "f", "x": "w", "y": "w"}
LINK_PATHS: list[Path] = [("f", "u"), ("e", "v"), ("g",), ("f", "t"), ("e", "w", "x"), ("e", "w", "y")]


def _hierarchy(
    make: Callable[..., zn.Hierarchy], paths: Sequence[Path], seed: int | None, **settings: Any
) -> Kind:
    """Return a hierarchy, with features drawn from a seed or without any."""
    rng = np.random.default_rng(7 if seed is None else seed)
    w = rng.uniform(0.5, 4, len(paths))
    if seed is None:
        return Kind(make(weights=w, **settings), codes(paths), w, True)
    X = rng.uniform(-3, 3, (len(paths), 2))
    return Kind(make(features=X, weights=w, **settings), X, w)


def _nested(**settings: Any) -> zn.Hierarchy:
    return zn.Hierarchy(NESTED, **settings)


def _table(**settings: Any) -> zn.Hierarchy:
    return zn.Hierarchy.from_table(COLUMNS, **settings)


def _parents(**settings: Any) -> zn.Hierarchy:
    return zn.Hierarchy.from_parents(LINKS, **settings)


_ROWS: list[Path] = list(zip(*COLUMNS.values(), strict=True))
KINDS: dict[str, Kind] = {
    "line": Kind(zn.Box([(0, 1)])),
    "plane by thirds": Kind(zn.Box({"a": (0, 2), "b": (-1, 1)}, arity=3)),
    "plane with a smallest": Kind(zn.Box([(0, 2), (5, 6)], smallest=[0.3, 0.4])),
    "whole numbers": Kind(
        zn.Product({"n": (3, 9), "x": (0, 1)}, scale={"n": "integer"}, smallest={"n": 1, "x": 0.4})
    ),
    "ring": Kind(zn.Box({"l": (-180, 180), "b": (-1, 1)}, periodic=["l"])),
    "ring and symbols": Kind(
        zn.Product({"dye": ["red", "green"], "hour": (0, 24)}, 3, smallest={"hour": 1.0}, periodic=["hour"])
    ),
    "dna": Kind(zn.Sequences("ACGT", 3)),
    "sequences in order": Kind(
        zn.Sequences("XYZ", 3, order=[2, 0, 1], frequencies=[[1, 2, 3], [1, 1, 1], [5, 1, 1]])
    ),
    "sequences with a smallest": Kind(zn.Sequences("AB", 4, smallest=4)),
    "sequences of words": Kind(zn.Sequences(["Ala", "Gly"], 4, frequencies=[1, 3])),
    "mixed": Kind(
        zn.Product(
            {"x": (0, 1), "dye": {"red": 1, "green": 2, "blue": 1}, "t": (10, 20)}, smallest={"x": 0.2, "t": 3}
        )
    ),
    "mixed without end": Kind(zn.Product({"dye": ["red", "green"], "x": (0, 4)}, arity=3)),
    "product of symbols": Kind(zn.Product({"a": ["p", "q"], "b": {"x": 3, "y": 1, "z": 1}})),
    "points": _points(13, 2, 0),
    "points, some of them the same": _points(23, 2, 1, grid=4, arity=3, weights=None),
    "points with a smallest": _points(19, 3, 2, smallest=6.0),
    "hierarchy": _hierarchy(_nested, NESTED_PATHS, None),
    "hierarchy with features": _hierarchy(_nested, NESTED_PATHS, 3),
    "hierarchy with a smallest": _hierarchy(_nested, NESTED_PATHS, 4, smallest=1.0),
    "hierarchy of a table": _hierarchy(_table, _ROWS, None),
    "hierarchy of a table with features": _hierarchy(_table, _ROWS, 5),
    "hierarchy of links": _hierarchy(_parents, LINK_PATHS, None),
    "hierarchy of links with features": _hierarchy(_parents, LINK_PATHS, 6),
}


# Kernels that fit, as the library and as the oracle have them.


@dataclass(frozen=True)
class Pair:
    """A kernel twice; `smooth` tells whether Gauss rules are exact on it."""

    ours: Any
    oracles: oracle.Kernel
    smooth: bool = True


def kernels(kind: Kind) -> dict[str, Pair]:
    """Return kernels for a space, by name."""
    if kind.X is not None:
        columns = range(kind.X.shape[1])
        several = [0.2 + 0.6 * j / len(columns) for j in columns]
        if kind.is_categorical:
            return {**_matching(several), "function": Pair(_alike, _alike)}
        scales = [1.5 + j for j in columns]
        local = oracle_regions.total(oracle.rbf(0.7, scales), _same)
        more = {"nugget": Pair(zn.RBF(0.7, scales) + zn.Nugget(0.3), local), "function": Pair(_dot, _dot)}
        return {**_distances(scales), **more}
    which = symbols(kind.space)
    scales = [0.4 * (axis.high - axis.low) for axis in kind.space.axes if isinstance(axis, ContinuousAxis)]
    periods = [
        axis.side if isinstance(axis, PeriodicAxis) else None
        for axis in kind.space.axes
        if not axis.is_categorical
    ]
    several = [0.2 + 0.6 * j / len(which) for j in range(sum(which))]
    if not several:
        return _distances(scales, periods)
    if not scales:
        return {**_matching(several), **_motifs(kind.space)}
    smooth, rough = zn.RBF(0.7, scales), zn.Matern(0.3, scales[0], nu=1.5)
    one, each = zn.Categorical(0.8, 0.4), zn.Categorical(1.3, several)
    their_smooth = oracle_regions.mixed(
        oracle.rbf(0.7, scales, periods), oracle_regions.categorical(1.3, several), which
    )
    their_rough = oracle_regions.mixed(
        oracle.matern(1.5, 0.3, [scales[0]] * len(scales), periods), oracle_regions.categorical(0.8, 0.4), which
    )
    return {
        "RBF x Categorical": Pair(smooth * each, their_smooth),
        "Categorical x Matern": Pair(one * rough, their_rough, smooth=False),
        "sum": Pair(smooth * each + one * rough, oracle_regions.total(their_smooth, their_rough), smooth=False),
    }


def _distances(scales: list[float], periods: oracle.Periods = None) -> dict[str, Pair]:
    rbf, matern = oracle.rbf(0.7, scales, periods), oracle.matern(1.5, 0.3, scales, periods)
    return {
        "RBF": Pair(zn.RBF(0.7, scales), rbf),
        "Matern": Pair(zn.Matern(0.3, scales, nu=1.5), matern, smooth=False),
        "sum": Pair(
            zn.RBF(0.7, scales) + zn.Matern(0.3, scales, nu=1.5), oracle_regions.total(rbf, matern), smooth=False
        ),
    }


def _matching(several: list[float]) -> dict[str, Pair]:
    one, each = oracle_regions.categorical(0.8, 0.4), oracle_regions.categorical(1.3, several)
    return {
        "one correlation": Pair(zn.Categorical(0.8, 0.4), one),
        "several correlations": Pair(zn.Categorical(1.3, several), each),
        "sum": Pair(zn.Categorical(0.8, 0.4) + zn.Categorical(1.3, several), oracle_regions.total(one, each)),
    }


def _motifs(space: Any) -> dict[str, Pair]:
    if not isinstance(space, zn.Sequences):
        return {}
    lengths = [long for long in (2, 3, 4) if long <= space.length]
    motif, place = oracle_regions.motif(0.9, 0.3, lengths), oracle_regions.categorical(0.4, 0.6)
    return {"motifs": Pair(zn.Motif(0.9, 0.3) + zn.Categorical(0.4, 0.6), oracle_regions.total(motif, place))}


def _dot(X: Array, Y: Array) -> Array:
    return np.asarray(0.5 + X @ Y.T / 10 + np.exp(-np.abs(X[:, None] - Y[None]).sum(axis=2)))


def _same(X: Array, Y: Array) -> Array:
    return np.asarray(0.3 * (X[:, None] == Y[None]).all(axis=2))


def _alike(X: Array, Y: Array) -> Array:
    return np.asarray(0.2 + (X[:, None] == Y[None]).mean(axis=2))


FEEDBACKS: list[Feedback] = [zn.Center(), zn.Average(3), zn.Average(6), zn.Mean()]


def allowed(kind: Kind) -> list[Feedback]:
    """Return the feedbacks that have a meaning on a space."""
    fitting = []
    for feedback in FEEDBACKS:
        try:
            feedback.check(kind.space)
        except zn.InvalidInput:
            continue
        fitting.append(feedback)
    return fitting


def as_kernel(kind: Kind, kernel: Any) -> Kernel:
    """Return a kernel as a study would make it of what the user gave."""
    from zonal.kernels.callable import custom

    return kernel if isinstance(kernel, Kernel) else custom(kernel, kind.space.features)


# Spaces of every kind, drawn.


@st.composite
def boxes(draw: st.DrawFn) -> Kind:
    """Draw boxes in one or two dimensions."""
    d = draw(st.integers(1, 2))
    pairs = [(low, low + draw(st.sampled_from([1.0, 0.3, 7.0]))) for low in [0.0, -3.0][:d]]
    least = [draw(st.floats(0.05, 1)) * (high - low) for low, high in pairs]
    rings = draw(st.sampled_from([[], ["x" if d == 1 else "x0"]]))
    smallest = draw(st.sampled_from([None, least]))
    return Kind(zn.Box(pairs, arity=draw(st.integers(2, 3)), smallest=smallest, periodic=rings))


@st.composite
def sequences(draw: st.DrawFn) -> Kind:
    """Draw alphabets, lengths, orders and frequencies."""
    alphabet = draw(st.sampled_from(["ACGT", "UGCA", "XY", "pqr", ["Ala", "Gly", "T"], ["on", "off"]]))
    length = draw(st.integers(1, 4))
    order = draw(st.none() | st.permutations(range(length)))
    share = st.floats(0.01, 10)
    row = st.lists(share, min_size=len(alphabet), max_size=len(alphabet))
    frequencies = draw(st.none() | row | st.lists(row, min_size=length, max_size=length))
    smallest = draw(st.integers(1, len(alphabet) ** length))
    return Kind(zn.Sequences(alphabet, length, order, frequencies, smallest))


@st.composite
def products(draw: st.DrawFn) -> Kind:
    """Draw mixtures of continuous axes and axes of symbols."""
    axes: dict[str, Any] = {}
    for j in range(draw(st.integers(1, 3))):
        axis = draw(st.sampled_from(["line", "symbols", "frequencies"]))
        names = ["red", "green", "blue", "grey"][: draw(st.integers(2, 4))]
        if axis == "line":
            axes[f"x{j}"] = (float(j), j + draw(st.sampled_from([1.0, 0.7, 40.0])))
        else:
            axes[f"s{j}"] = names if axis == "symbols" else {name: draw(st.floats(0.1, 5)) for name in names}
    lines = {name: pair for name, pair in axes.items() if isinstance(pair, tuple)}
    least = {name: (pair[1] - pair[0]) * draw(st.floats(0.05, 1)) for name, pair in lines.items()}
    smallest = draw(st.sampled_from([None, least])) if least else None
    return Kind(zn.Product(axes, arity=draw(st.integers(2, 3)), smallest=smallest))


@st.composite
def points(draw: st.DrawFn) -> Kind:
    """Draw points, many of them on a coarse grid so that some are the same."""
    n, d = draw(st.integers(1, 40)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.integers(0, 4, (n, d)).astype(float) if draw(st.booleans()) else rng.normal(size=(n, d)) * 10.0**d
    w = rng.uniform(0.01, 5, n) if draw(st.booleans()) else np.ones(n)
    smallest = draw(st.none() | st.floats(0.01, 1).map(lambda share: share * float(w.sum())))
    return Kind(zn.Points(X, w, draw(st.integers(2, 5)), smallest), X, w)


@st.composite
def hierarchies(draw: st.DrawFn) -> Kind:
    """Draw ragged trees, handed over in each of the three forms."""
    paths: list[Path] = []

    def grow(above: Path, depth: int) -> Any:
        children = draw(st.integers(0 if depth else 1, 4 - depth))
        if not children:
            paths.append(above)
            return None
        names = [f"{above[-1] if above else ''}{letter}" for letter in "abcd"[:children]]
        return {name: grow((*above, name), depth + 1) for name in names}

    tree = grow((), 0)
    form = draw(st.sampled_from(["nested", "table", "links"]))
    rows = list(paths)
    if form != "nested":
        rows = draw(st.permutations(paths))
    if form == "table":  # in which all ways are equally long: the last name stands for all that is missing
        depth = max(len(path) for path in paths)
        rows = [path + tuple(f"{path[-1]}{'.' * j}" for j in range(1, depth - len(path) + 1)) for path in rows]
    w = np.array(draw(st.lists(st.floats(0.01, 9), min_size=len(rows), max_size=len(rows))))
    X = np.random.default_rng(len(rows)).normal(size=(len(rows), 2)) if draw(st.booleans()) else None
    smallest = draw(st.none() | st.floats(0.01, 1).map(lambda share: share * float(w.sum())))
    settings: dict[str, Any] = {"features": X, "weights": w, "smallest": smallest}
    if form == "nested":
        space = zn.Hierarchy(tree, **settings)
    elif form == "table":
        space = zn.Hierarchy.from_table(list(zip(*rows, strict=True)), **settings)
    else:
        inner = {path[:depth] for path in rows for depth in range(1, len(path))}
        links = {path[-1]: path[-2] if len(path) > 1 else None for path in rows}
        links |= {path[-1]: path[-2] if len(path) > 1 else None for path in inner}
        space = zn.Hierarchy.from_parents(links, **settings)
    return Kind(space, codes(rows) if X is None else X, w, X is None)


def spaces() -> st.SearchStrategy[Kind]:
    """Draw spaces of every kind."""
    return st.one_of(boxes(), sequences(), products(), points(), hierarchies())
