"""Bad input to spaces and their studies: an error that names the row, key or column, and a study unchanged."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kinds
import zonal as zn
from kinds import KINDS, Kind
from test_bad_input import refused, unchanged
from zonal.simulation import from_table

# Whose arguments are wrong on purpose.
Hierarchy: Any = zn.Hierarchy
Points: Any = zn.Points
Product: Any = zn.Product
Sequences: Any = zn.Sequences

Make = Callable[[], object]
NAN = math.nan
TREE: Any = {"a": ["x", "y"], "b": None}
AMINO = "ACDEFGHIKLMNPQRSTVWY"


def grown(kind: Kind) -> zn.Study:
    """Return a study with told, pending and outside measurements."""
    pair = next(iter(kinds.kernels(kind).values()))
    # The default grows small trees whole, and then every look at all of a study takes long.
    small = kind.space.max_depth() is not None
    policy = None if small else zn.GPOO(zn.GeometricDelta(2, 0.5))
    study = zn.Study(kind.space, budget=30, kernel=pair.ours, noise=0.1, policy=policy)
    for number in range(6):
        study.tell(study.ask(), math.sin(number))
    study.fail(study.ask())
    study.observe(kinds.off_tree(kind, 1, seed=0)[0], 0.4, sem=0.2)
    study.ask(2)
    return study


def table(**changes: Any) -> zn.Hierarchy:
    columns = {"state": ["N", "N", "S"], "town": ["1", "2", "3"]}
    return zn.Hierarchy.from_table(**{"levels": columns, **changes})


def links(parents: Any, **changes: Any) -> zn.Hierarchy:
    return zn.Hierarchy.from_parents(parents, **changes)


# Members: each case is what is wrong, the value that is shown, and what the message must name.
MEMBERS: dict[str, tuple[Make, object, str]] = {
    "ragged rows": (lambda: Points([[1, 2], [3, 4], [5]]), [5], "row 2 of X has 1 numbers, not 2"),
    "text in a row": (
        lambda: Points([[1, 2], ["red", 4]]),
        "red",
        "row 1 of X has an entry that is not a number",
    ),
    "nothing in a row": (lambda: Points([[1.0], [None]]), None, "row 1 of X has an entry that is not a number"),
    "nan": (lambda: Points([[1, 2], [3, NAN]]), NAN, "X must be finite, but row 1, column 1 is not"),
    "infinity": (lambda: Points([1.0, -math.inf]), -math.inf, "row 1, column 0"),
    "nan in a column": (
        lambda: Points({"t": [1, 2], "pH": [7, NAN]}),
        NAN,
        "column pH must be finite, but row 1",
    ),
    "text in a column": (lambda: Points({"t": [1, "2h"]}), "2h", "row 1 of column t"),
    "columns of two lengths": (
        lambda: Points({"t": [1, 2], "pH": [7]}),
        {"t": 2, "pH": 1},
        "all equally long",
    ),
    "no points": (lambda: Points([]), (0, 1), "at least one row and one column"),
    "no features": (lambda: Points(np.zeros((3, 0))), (3, 0), "at least one row and one column"),
    "no columns": (lambda: Points({}), {}, "at least one column"),
    "a number": (lambda: Points(5), 5, "X must be an array of shape"),
    "arity": (lambda: Points([1.0, 2.0], arity=1), 1, "arity"),
    "nan weight": (lambda: Points([1.0, 2.0], weights=[1, NAN]), NAN, "the weight of row 1 must be positive"),
    "zero weight": (lambda: Points([1.0, 2.0], weights=[0, 1]), 0.0, "the weight of row 0 must be positive"),
    "negative weight": (lambda: Points([1.0, 2.0], weights=[1, -2]), -2.0, "the weight of row 1"),
    "too few weights": (
        lambda: Points([1.0, 2.0], weights=[1]),
        [1],
        "weights must be 2 numbers, one per member",
    ),
    "too many weights": (lambda: Points([1.0], weights=[1, 2]), [1, 2], "weights must be 1 numbers"),
    "weights of text": (lambda: Points([1.0], weights=["heavy"]), "heavy", "the weight of row 0"),
    "smallest of 0": (lambda: Points([1.0, 2.0], smallest=0), 0, "smallest must be positive"),
    "smallest too large": (
        lambda: Points([1.0, 2.0], smallest=3),
        3.0,
        "smallest is more than all members together",
    ),
    "a hierarchy's smallest": (lambda: Hierarchy(TREE, smallest=4), 4.0, "smallest is more than all members"),
    "an empty tree": (lambda: Hierarchy({}), {}, "region all is empty"),
    "an empty region": (lambda: Hierarchy({"a": {"b": []}}), [], "region a > b is empty"),
    "an empty table": (lambda: Hierarchy.from_table({}), {}, "a table needs one column per level"),
    "a table without rows": (
        lambda: Hierarchy.from_table({"s": [], "t": []}),
        {"s": 0, "t": 0},
        "columns of levels",
    ),
    "no links": (lambda: links({}), {}, "parents must map each name to its parent"),
    "siblings of one name": (
        lambda: Hierarchy({"a": ["x", "y", "x"]}),
        "x",
        "two regions within a have the same name",
    ),
    "siblings of one name as text": (lambda: Hierarchy([1, "1"]), "1", "two regions within all"),
    "a tree of text": (lambda: Hierarchy({"a": "xy"}), "xy", "below a there must be a mapping, a list"),
    "a leaf twice": (
        lambda: table(levels={"s": ["N", "N", "S"], "t": ["1", "1", "3"]}),
        "1",
        "column t names the same leaf in rows 0 and 1",
    ),
    "levels that are not nested": (
        lambda: table(levels={"s": ["N", "S", "S"], "z": ["p", "q", "p"], "t": ["1", "2", "3"]}),
        "p",
        "column z is not nested in s: 'p' is within 'N' in row 0 and within 'S' in row 2",
    ),
    "a name left out": (
        lambda: table(levels={"s": ["N", "", "S"], "t": ["1", "2", "3"]}),
        "",
        "column s is empty in row 1",
    ),
    "columns of levels of two lengths": (
        lambda: table(levels={"s": ["N"], "t": ["1", "2"]}),
        {"s": 1, "t": 2},
        "columns of levels must be equally",
    ),
    "a circle": (lambda: links({"a": "b", "b": "c", "c": "b"}), ["a", "b", "c"], "form a cycle at 'b'"),
    "its own parent": (lambda: links({"a": "a"}), ["a"], "form a cycle at 'a'"),
    "an orphan": (lambda: links({"a": None, "x": "z"}), "z", "the parent of 'x' is not among the names"),
    "too few features": (lambda: Hierarchy(TREE, features=[[1], [2]]), 2, "features must have 3 rows"),
    "ragged features": (
        lambda: Hierarchy(TREE, features=[[1, 2], [3], [4, 5]]),
        [3],
        "row 1 of features has 1 numbers, not 2",
    ),
    "nan among features": (
        lambda: Hierarchy(TREE, features=[[1], [NAN], [2]]),
        NAN,
        "features must be finite, but row 1, column 0",
    ),
    "a leaf without features": (
        lambda: Hierarchy(TREE, features={"x": [1], "b": [2]}),
        "y",
        "features must name every leaf",
    ),
    "features of no leaf": (
        lambda: Hierarchy(TREE, features={"x": [1], "y": [1], "b": [2], "a": [0]}),
        "a",
        "that is not a leaf",
    ),
    "weights by a name that is there twice": (
        lambda: Hierarchy({"a": ["x"], "b": ["x"]}, weights={"x": 1}),
        "x",
        "leaves with different names",
    ),
    "a leaf without a weight": (
        lambda: links({"a": None, "b": None}, weights={"a": 1}),
        "b",
        "weights must name every",
    ),
    "a leaf of no weight": (
        lambda: Hierarchy(TREE, weights={"x": 1, "y": 0, "b": 2}),
        0,
        "weights of leaf 'y' must be positive",
    ),
    "negative weight in a table": (lambda: table(weights=[1, 1, -1]), -1.0, "the weight of row 2"),
    "names of features": (
        lambda: Hierarchy(TREE, features=[1, 2, 3], feature_names=["u", "v"]),
        ["u", "v"],
        "must be 1 names",
    ),
}


@pytest.mark.parametrize(("make", "shown", "problem"), MEMBERS.values(), ids=MEMBERS)
def test_members_that_cannot_be_used_are_refused_by_row_key_or_column(
    make: Make, shown: object, problem: str
) -> None:
    with refused(shown, problem):
        make()


ALPHABET = [chr(65 + j) for j in range(53)]
SYMBOLS: dict[str, tuple[Make, object, str]] = {
    "one symbol": (lambda: Sequences("A", 3), 1, "axis position 1 must have from 2 to 52 symbols"),
    "53 symbols": (lambda: Sequences(ALPHABET, 3), 53, "axis position 1 must have from 2 to 52"),
    "a symbol twice": (lambda: Sequences("ACA", 3), "A", "axis position 1 has a symbol twice"),
    "a symbol that is a number": (lambda: Sequences(["A", 1], 3), 1, "a symbol that is not text"),
    "an empty symbol": (lambda: Sequences(["A", ""], 3), "", "a symbol that is not text"),
    "an alphabet that is none": (lambda: Sequences(4, 3), 4, "alphabet must be text or a list"),
    "no length": (lambda: Sequences("AC", 0), 0, "length must be at least 1"),
    "half a length": (lambda: Sequences("AC", 2.5), 2.5, "length must be a whole number"),
    "an order too short": (lambda: Sequences("AC", 3, order=[0, 1]), [0, 1], "each position from 0 to 2 once"),
    "an order with a repeat": (lambda: Sequences("AC", 3, order=[0, 1, 1]), [0, 1, 1], "order must name each"),
    "an order that starts at 1": (lambda: Sequences("AC", 3, order=[1, 2, 3]), [1, 2, 3], "order must name each"),
    "an order of fractions": (lambda: Sequences("AC", 1, order=[0.0]), 0.0, "a position in order"),
    "too few frequencies": (lambda: Sequences("ACG", 2, frequencies=[1, 2]), (2,), r"shape \(3,\) or \(2, 3\)"),
    "frequencies the other way": (
        lambda: Sequences("ACG", 2, frequencies=np.ones((3, 2))),
        (3, 2),
        r"shape \(3,\) or \(2, 3\)",
    ),
    "frequencies of text": (lambda: Sequences("AC", 2, frequencies="often"), "often", "frequencies must be num"),
    "a negative frequency": (
        lambda: Sequences("AC", 2, frequencies=[[1, 1], [1, -1]]),
        -1.0,
        "frequency of C on axis position 2",
    ),
    "a frequency of 0": (lambda: Sequences("AC", 2, frequencies=[0, 1]), 0.0, "frequency of A on axis position 1"),
    "a frequency that is nan": (lambda: Sequences("AC", 2, frequencies=[1, NAN]), NAN, "frequency of C"),
    "a smallest of 0": (lambda: Sequences("AC", 2, smallest=0), 0, "smallest must be at least 1"),
    "a smallest beyond all": (
        lambda: Sequences("AC", 2, smallest=5),
        5,
        "smallest exceeds the number of sequences",
    ),
    "no axes": (lambda: Product({}), {}, "axes must be a mapping of name to axis"),
    "axes without names": (lambda: Product([(0, 1)]), [(0, 1)], "axes must be a mapping"),
    "an axis of one symbol": (lambda: Product({"x": (0, 1), "dye": ["red"]}), 1, "axis dye must have from 2"),
    "an axis of 53 symbols": (lambda: Product({"s": ALPHABET}), 53, "axis s must have from 2 to 52"),
    "an axis with a symbol twice": (lambda: Product({"dye": ["r", "g", "r"]}), "r", "axis dye has a symbol twice"),
    "an axis of symbols and lists": (
        lambda: Product({"dye": ["r", [2]]}),
        [2],
        "axis dye has a symbol that is neither",
    ),
    "a symbol that is no number": (
        lambda: Product({"n": ["r", np.inf]}),
        np.inf,
        "a symbol of axis n must be finite",
    ),
    "symbols that are written alike": (lambda: Product({"n": ["1", 1]}), 1, "axis n has a symbol twice"),
    "a number and a truth that are equal": (
        lambda: Product({"n": [1, True, 2]}),
        True,
        "axis n has a symbol twice",
    ),
    "an axis with a negative frequency": (
        lambda: Product({"dye": {"r": 1, "g": -1}}),
        -1,
        "the frequency of g on axis dye must be positive",
    ),
    "an axis with a frequency of text": (lambda: Product({"dye": {"r": 1, "g": "x"}}), "x", "the frequency of g"),
    "an axis that decreases": (lambda: Product({"t": (1, 0)}), (1.0, 0.0), "the bounds of axis t must increase"),
    "an axis of one number": (lambda: Product({"t": (0,)}), (0,), "axis t must be a pair"),
    "an axis of lists": (lambda: Product({"t": [[0], [1], [2]]}), [[0], [1], [2]], "axis t must be a pair"),
    "smallest of an axis of symbols": (
        lambda: Product({"t": (0, 1), "dye": ["r", "g"]}, smallest={"dye": 1, "t": 0.1}),
        "dye",
        "smallest names",
    ),
    "smallest wider than the axis": (
        lambda: Product({"t": (0, 1)}, smallest=2),
        2.0,
        "smallest on axis t is wider",
    ),
    "a product's arity": (lambda: Product({"t": (0, 1)}, arity=1), 1, "arity"),
}


@pytest.mark.parametrize(("make", "shown", "problem"), SYMBOLS.values(), ids=SYMBOLS)
def test_axes_of_symbols_that_cannot_be_used_are_refused(make: Make, shown: object, problem: str) -> None:
    with refused(shown, problem):
        make()


# Regions.

DNA, WORDS = zn.Sequences("ACGT", 4), zn.Sequences(["Ala", "Gly"], 2)
MIXED = zn.Product({"t": (0, 1), "dye": ["red", "green"]})
POINTS, AREAS = zn.Points([3.0, 1.0, 2.0]), zn.Hierarchy(TREE)
REGIONS: dict[str, tuple[Any, Any, object, str]] = {
    "a symbol outside the alphabet": (
        DNA,
        "ACXT",
        "X",
        "'ACXT' has a symbol outside the alphabet at position 3",
    ),
    "small letters of an alphabet that has both": (zn.Sequences("aBC", 2), "ab", "b", "at position 2"),
    "a bracket that is not closed": (zn.Sequences("XY", 2), "X[XY", "X[XY", "a bracket is not closed"),
    "an empty bracket": (zn.Sequences("XY", 2), "X[]", [], "needs a symbol on axis position 2"),
    "a list with a wrong symbol": (DNA, ["A", "C", "N", "T"], "N", "axis position 3 has no such symbol"),
    "a list with an empty set": (DNA, ["A", "C", [], "T"], [], "needs a symbol on axis position 3"),
    "a word outside of the alphabet": (WORDS, "Ala Trp", "Trp", "at position 2"),
    "an unknown axis": (MIXED, {"dye": "red", "pH": (0, 1)}, "pH", "names an axis that is not there"),
    "an unknown symbol": (MIXED, {"dye": "blue"}, "blue", "axis dye has no such symbol"),
    "no symbol": (MIXED, {"dye": []}, [], "needs a symbol on axis dye"),
    "beyond an axis": (MIXED, {"t": (0.5, 1.5)}, (0.5, 1.5), "within axis t"),
    "edges the wrong way": (MIXED, {"t": (0.5, 0.2)}, (0.5, 0.2), "within axis t"),
    "no pair": (MIXED, {"t": 0.5}, 0.5, "a part of axis t must be a pair"),
    "a bound that is nan": (MIXED, {"t": (0, NAN)}, (0.0, NAN), "a region must lie within axis t"),
    "an array for symbols": (MIXED, [(0, 1), (0, 1)], [(0, 1), (0, 1)], "a mapping from axis to part"),
    "a row number too large": (POINTS, [0, 3], 3, "between 0 and 2"),
    "a negative row number": (POINTS, [-1, 2], -1, "between 0 and 2"),
    "rows that are fractions": (POINTS, [0.5], [0.5], "a list of row numbers"),
    "an empty mask": (POINTS, [False, False, False], [False, False, False], "a list of row numbers"),
    "a mask too short": (POINTS, [True, False], [True, False], "a list of row numbers"),
    "one number": (POINTS, 1, 1, "a list of row numbers"),
    "a row number of no leaf": (AREAS, [0, 7], 7, "between 0 and 2"),
    "no such name": (AREAS, "a > z", "a > z", "there is no such region"),
    "no such way": (AREAS, ("b", "x"), ("b", "x"), "there is no such region"),
}


@pytest.mark.parametrize(("space", "what", "shown", "problem"), REGIONS.values(), ids=REGIONS)
def test_regions_that_are_not_there_are_refused_and_change_nothing(
    space: Any, what: Any, shown: object, problem: str
) -> None:
    with refused(shown, problem):
        space.region(what)
    is_categorical = isinstance(space, zn.Hierarchy)
    codes = kinds.codes([("a", "x"), ("a", "y"), ("b",)])
    kind = (
        Kind(space)
        if space.axes is not None
        else Kind(space, codes if is_categorical else space.features, None, is_categorical)
    )
    study = grown(kind)
    with unchanged(study), refused(shown, problem):
        study.observe(what, 0.5)
    with unchanged(study), refused(shown, problem):
        study.predict([what] if isinstance(space, zn.Sequences) else what)


@pytest.mark.parametrize("what", ["ACG", "ACGTA", "", ["A", "C"]], ids=repr)
def test_a_pool_names_every_position(what: Any) -> None:
    study = grown(Kind(DNA))
    with unchanged(study), pytest.raises(zn.InvalidInput, match=f"has 4 positions, not {len(what)}"):
        study.observe(what, 0.5)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("node", [(0, 1), (1, -1), (-1, 0), (0,), None, "00", (0.5, 0), (2, 10**30)], ids=repr)
def test_nodes_that_are_not_there_are_refused(kind: Kind, node: Any) -> None:
    with refused(node, "a node is"):
        kind.space.cell(node)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_values_that_cannot_be_used_change_nothing(kind: Kind) -> None:
    study = grown(kind)
    root = kind.space.cell((0, 0))
    for value in (NAN, math.inf, "high", None):
        with unchanged(study), refused(value, "a measured value"):
            study.tell(study.pending[0], value)
        with unchanged(study), refused(value, "a measured value"):
            study.observe(root, value)  # type: ignore[arg-type]
    with unchanged(study), refused(-1.0, "sem must not be negative"):
        study.observe(root, 0.5, sem=-1.0)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_regions_of_another_space_change_nothing(kind: Kind) -> None:
    study = grown(kind)
    strangers = [zn.Points([7.5, 8.5, 9.5]).cell((0, 0)), zn.Sequences("QZ", 9).cell((1, 0))]
    strangers.append(zn.Box([(100, 101)] * 4).cell((0, 0)))
    for stranger in strangers:
        with unchanged(study), pytest.raises(zn.InvalidInput):
            study.observe(stranger, 0.5)
        with unchanged(study), pytest.raises(zn.InvalidInput):
            study.predict(stranger)


# Feedbacks and kernels that do not fit.


def study_of(space: Any, **changes: Any) -> zn.Study:
    return zn.Study(space, **{"budget": 5, "noise": 0.1, **changes})


@pytest.mark.parametrize("feedback", [zn.Center(), zn.Average(1), zn.Average(4)], ids=repr)
def test_a_pool_has_no_centre_and_no_grid(feedback: Any) -> None:
    with refused(feedback, r"a set of symbols \(position 1\) has no centre and no grid"):
        study_of(DNA, kernel=zn.Categorical(1, 0.5), feedback=feedback)
    with refused(feedback, r"a set of symbols \(a\) has no centre"):
        study_of(KINDS["product of symbols"].space, feedback=feedback)


def test_a_mixed_region_has_no_centre_but_a_grid_along_its_continuous_axes() -> None:
    for feedback in (zn.Center(), zn.Average(1)):
        with refused(feedback, r"a set of symbols \(dye\) has no centre"):
            study_of(MIXED, feedback=feedback)
    assert study_of(MIXED, feedback=zn.Average(3)).ask().region.points.shape == (6, 2)


def outer(x: Any, y: Any) -> Any:
    return np.asarray(x) @ np.asarray(y).T


RBF, CATEGORICAL = zn.RBF(1.0, 0.2), zn.Categorical(1.0, 0.5)
MOTIF = zn.Motif(1.0)
TWO, THREE = zn.Categorical(1.0, (0.1, 0.2)), zn.RBF(1.0, (1.0, 2.0, 3.0))
KERNELS: dict[str, tuple[Any, Any, object, str]] = {
    "distances of sequences": (DNA, RBF, RBF, "this kernel measures distances, and symbols have none"),
    "distances of sequences, to learn": (DNA, zn.Matern, zn.Matern, "symbols, .* have no distances"),
    "symbols on a box": (
        zn.Box([(0, 1)]),
        CATEGORICAL,
        CATEGORICAL,
        "compares symbols, and the space has a continuous",
    ),
    "symbols on a box, to learn": (
        zn.Box([(0, 1)]),
        zn.Categorical,
        zn.Categorical,
        "a continuous axis, or feature, needs",
    ),
    "distances alone on mixed axes": (MIXED, RBF, RBF, "this kernel measures distances"),
    "symbols alone on mixed axes": (MIXED, CATEGORICAL, CATEGORICAL, "this kernel compares symbols"),
    "symbols alone on mixed axes, to learn": (
        MIXED,
        zn.Categorical,
        zn.Categorical,
        "a continuous axis, or feature, needs",
    ),
    "symbols on points, to learn": (
        POINTS,
        zn.Categorical,
        zn.Categorical,
        "or feature, needs a kernel",
    ),
    "a product of two kinds on points": (
        POINTS,
        RBF * CATEGORICAL,
        RBF * CATEGORICAL,
        "a mixed kernel is for spaces of axes",
    ),
    "distances without features": (AREAS, RBF, RBF, "a hierarchy without features, have no distances"),
    "distances without features, to learn": (
        AREAS,
        zn.RBF,
        zn.RBF,
        "a hierarchy without features, have no distances",
    ),
    "motifs on a box": (zn.Box([(0, 1)]), MOTIF, MOTIF, "a Motif kernel is for sequences"),
    "motifs on a box, to learn": (zn.Box([(0, 1)]), zn.Motif, zn.Motif, "motifs can be learned for sequences"),
    "motifs on mixed axes": (MIXED, MOTIF, MOTIF, "a Motif kernel is for sequences"),
    "motifs on points": (POINTS, MOTIF, MOTIF, "a Motif kernel is for sequences, not for points"),
    "motifs on points, to learn": (POINTS, zn.Motif, zn.Motif, "motifs can be learned for sequences"),
    "motifs without features, to learn": (AREAS, zn.Motif, zn.Motif, "motifs can be learned for sequences of 3"),
    "motifs of short sequences, to learn": (zn.Sequences("ACGT", 2), zn.Motif, zn.Motif, "sequences of 3 or more"),
    "motifs without features": (AREAS, MOTIF, MOTIF, "a Motif kernel is for sequences, not for points"),
    "motifs of one letter": (zn.Sequences("ACGT", 1), MOTIF, MOTIF, "a Motif kernel is for sequences"),
    "too few correlations": (DNA, TWO, (0.1, 0.2), "one correlation, or one for each of 4 axes"),
    "too many lengthscales": (POINTS, THREE, (1.0, 2.0, 3.0), "one lengthscale, or one for each of 1 axes"),
    "a function on a box": (zn.Box([(0, 1)]), outer, outer, "kernel must be a kernel, a kernel class or None"),
    "a function on sequences": (DNA, outer, outer, "kernel must be a kernel"),
}


@pytest.mark.parametrize(("space", "kernel", "shown", "problem"), KERNELS.values(), ids=KERNELS)
def test_kernels_that_do_not_fit_the_space_are_refused_with_the_reason(
    space: Any, kernel: Any, shown: object, problem: str
) -> None:
    with refused(shown, problem):
        study_of(space, kernel=kernel)


@pytest.mark.parametrize("correlation", [-0.1, 1.1, NAN, "high", None, True, [], [0.5, 2.0], [[0.5]]], ids=repr)
def test_correlations_lie_between_0_and_1(correlation: Any) -> None:
    with pytest.raises(zn.InvalidInput, match="correlation must"):
        zn.Categorical(1.0, correlation)
    with pytest.raises(zn.InvalidInput, match="correlation must"):
        zn.Motif(1.0, correlation)


@pytest.mark.parametrize("variance", [0, -1, NAN, "big"], ids=repr)
def test_the_variance_of_a_categorical_kernel_is_positive(variance: Any) -> None:
    with refused(variance, "the kernel's variance"):
        zn.Categorical(variance, 0.5)
    with refused(variance, "the kernel's variance"):
        zn.Motif(variance)


def negative(x: Any, y: Any) -> Any:
    return np.abs(x[:, None, 0] - y[None, :, 0]) - 0.1 + 2.0 * (x[:, None, 0] == y[None, :, 0])


def lopsided(x: Any, y: Any) -> Any:
    return np.exp(-np.abs(x[:, None, 0] - 2 * y[None, :, 0]))


def without_variance(x: Any, y: Any) -> Any:
    return np.zeros((len(x), len(y)))


def diagonal(x: Any, y: Any) -> Any:
    return np.ones(len(x))


def square_only(x: Any, y: Any) -> Any:
    return np.eye(len(x))


def of_one_point(x: Any) -> Any:
    return x


def failing(x: Any, y: Any) -> Any:
    raise LookupError("no such distance")


def without_end(x: Any, y: Any) -> Any:
    return np.full((len(x), len(y)), math.inf)


FUNCTIONS: list[tuple[Any, str]] = [
    (negative, "not positive semi-definite"),
    (lopsided, "not symmetric"),
    (without_variance, "positive diagonal"),
    (diagonal, "wrong shape"),
    (square_only, "wrong shape"),
    (of_one_point, "fails on points of shape"),
    (failing, "fails on points of shape .*no such distance"),
    (without_end, "not finite"),
]


@pytest.mark.parametrize(("function", "problem"), FUNCTIONS, ids=lambda value: getattr(value, "__name__", value))
def test_functions_that_are_no_kernels_are_refused(function: Any, problem: str) -> None:
    space = zn.Points(np.arange(40.0))
    with refused(function.__name__, problem):
        study_of(space, kernel=function)
    with refused(function.__name__, problem):
        study_of(zn.Hierarchy(list("abcde"), features=np.arange(5.0)), kernel=function)


# Tables.


def without(missing: str) -> dict[str, float]:
    return {a + b: 0.5 for a in "AC" for b in "AC" if a + b != missing}


SHORT = zn.Sequences("AC", 2)
TABLES: dict[str, tuple[Any, Any, Any, object, str]] = {
    "a sequence is missing": (SHORT, without("CA"), None, "CA", "values must name all 4 sequences"),
    "a symbol outside the alphabet": (SHORT, {"AA": 1.0, "AX": 2.0}, None, "X", "sequence 'AX' in row 1"),
    "too few values": (SHORT, [1.0, 2.0], None, (2,), r"values must have shape \(2, 2\)"),
    "nan by sequence": (SHORT, {**without("CA"), "CA": NAN}, None, NAN, "the value of 'CA' must be finite"),
    "nan by number": (SHORT, [1.0, 2.0, NAN, 3.0], None, NAN, r"entry \(1, 0\) is not"),
    "too long a table": (zn.Sequences("ACGT", 30), [1.0], None, 30, r"all 4\^30 sequences is too long"),
    "too few points": (POINTS, [1.0, 2.0], None, (2,), r"values must have shape \(3\)"),
    "nan among points": (POINTS, [1.0, NAN, 2.0], None, NAN, r"entry \(1,\) is not"),
    "text among points": (
        POINTS,
        ["high", "low", "low"],
        None,
        ["high", "low", "low"],
        "values must be real numbers",
    ),
    "points by name": (POINTS, {"a": 1.0}, None, POINTS, "values by name need members with labels"),
    "a leaf is missing": (AREAS, {"x": 1.0, "b": 2.0}, None, "y", "values must name every leaf"),
    "a weight of 0": (POINTS, [1.0, 2.0, 3.0], [1, 0, 1], 0.0, "the weight of row 1"),
    "too few weights": (AREAS, [1.0, 2.0, 3.0], [1, 1], [1, 1], "weights must be 3 numbers"),
    "an image of one dimension": (zn.Box([(0, 1), (0, 1)]), [1.0, 2.0], None, (2,), r"shape \(pixels, pixels\)"),
    "no pixels": (zn.Box([(0, 1)]), [], None, (0,), r"shape \(pixels\)"),
    "nan among pixels": (zn.Box([(0, 1), (0, 1)]), [[1.0, NAN]], None, NAN, r"entry \(0, 1\) is not"),
    "wrong number of symbols": (MIXED, np.ones((5, 3)), None, (5, 3), r"values must have shape \(pixels, 2\)"),
    "negative weights of pixels": (zn.Box([(0, 1)]), [1.0, 2.0], [1, -1], -1.0, "weights must be positive"),
    "weights of another shape": (zn.Box([(0, 1)]), [1.0, 2.0], [1.0], (1,), "must have shape"),
}


@pytest.mark.parametrize(("space", "values", "weights", "shown", "problem"), TABLES.values(), ids=TABLES)
def test_tables_that_do_not_fit_are_refused_by_row_or_entry(
    space: Any, values: Any, weights: Any, shown: object, problem: str
) -> None:
    with refused(shown, problem):
        from_table(space, values, weights)


def test_landscapes_refuse_directions_depths_and_regions_that_are_not_there() -> None:
    with refused("up", "direction must be"):
        from_table(POINTS, [1.0, 2.0, 3.0], direction="up")  # type: ignore[arg-type]
    landscape = from_table(POINTS, [1.0, 2.0, 3.0])
    for depth in (5, 100):
        with refused(depth, "there are no regions of this depth"):
            landscape.best(depth)
    for other in (zn.Points([1.0, 2.0]).cell((0, 0)), DNA.cell((0, 0))):
        with refused(other.name, "this region belongs to another space"):
            landscape.average(other)
    with refused(POINTS.cell((0, 0)).name, "this region belongs to another space"):
        from_table(SHORT, [1.0, 2.0, 3.0, 4.0]).average(POINTS.cell((0, 0)))
    endless = zn.Box([(0, 1)])
    with refused(endless, "without a smallest region there is no best one"):
        from_table(endless, [1.0, 2.0]).best()


# Numbers of nodes.


@pytest.mark.filterwarnings("ignore:there are 20:UserWarning")
def test_more_nodes_than_64_bits_can_number_are_refused() -> None:
    long = zn.Sequences(AMINO, 30)
    for policy in (zn.GPOO(h_max=29), zn.StoOO(zn.GeometricDelta(1, 0.5), h_max=29), zn.GPTree(h_max=29)):
        with refused(29, "a tree of arity 20 has too many nodes at this depth to number them"):
            study_of(long, policy=policy)
    for level in (None, 4):
        with pytest.raises(zn.InvalidInput, match="more than 4096"):
            study_of(long, policy=zn.UCB(level))
    # Left to themselves, policies go as deep as can be numbered.
    for free in (zn.GPOO(), zn.StoOO(zn.GeometricDelta(1, 0.5))):
        assert study_of(long, kernel=zn.Categorical(1, 0.5), policy=free).ask().node == (0, 0)
    study = study_of(long, kernel=zn.Categorical(1, 0.5), policy=None)
    study.tell(study.ask(), 0.5)
    assert study.recommend().node[0] > 1
