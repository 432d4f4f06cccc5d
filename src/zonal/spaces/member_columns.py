"""Columns that users give for members, checked: features from arrays, mappings or data frames, and weights."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from numbers import Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from zonal._types import Floats
from zonal.errors import (
    LARGEST_STD,
    LARGEST_WHOLE,
    InvalidInput,
    is_listed,
    listed,
    mapped,
    named,
    positive_number,
    reject,
    require,
)
from zonal.io.dataframes import Columns, DataSeries, Labels, as_frame, as_label, as_series, in_order, useful
from zonal.spaces.base import ROUNDING, as_array, unnamed


def taken_features(X: Any, what: str) -> tuple[Floats, tuple[str, ...], Labels | None]:
    """Return features, shape (n, d), from an array, a mapping of columns, a data frame or a series.

    Also their names, and the labels of the rows if there are any.
    """
    frame = as_frame(X)
    if frame is None and isinstance(X, Mapping):
        labels = next((series.labels for series in map(as_series, X.values()) if series is not None), None)
        names = [_column_name(name) for name in X]
        reject(repeated(names), "two columns have the same name", "Rename one; 1 and '1' are the same.")
        frame = Columns(dict(zip(names, X.values(), strict=True)), labels)
    if frame is not None:
        return _joined(frame), tuple(frame.columns), useful(frame.labels)
    values, labels = as_series(X) or (X, None)
    table = checked_features(values, what)
    return table, unnamed(table.shape[1]), useful(labels)


def _column_name(name: Any) -> str:
    """Check the name of a column, and return it as text; numbers and dates are names too."""
    label = as_label(name)
    require(label is not None and label == label, "a column needs a name", name, "Name it.")
    return named(label if isinstance(label, str | int) else str(label), "the name of a column")


def told_labels(labels: Sequence[Hashable] | DataSeries, size: int) -> Labels:
    """Check names of rows, and return them."""
    series = as_series(labels)
    problem, fix = f"labels must be {size} names, one per member", "Pass as many."
    names = tuple(listed(labels if series is None else series.values.tolist(), problem, fix))
    hashable = all(isinstance(name, Hashable) for name in names)
    require(len(names) == size and hashable, problem, labels, fix)
    return tuple(map(as_label, names))


def _joined(frame: Columns) -> Floats:
    """Return columns side by side, pandas ones aligned by the labels of the first."""
    label_sets = [] if frame.labels is None else [frame.labels]
    tables, sizes = [], {}
    for name, column in frame.columns.items():
        what = f"column {name}"
        tables.append(checked_features(in_order(column, label_sets, what), what))
        shape = tables[-1].shape
        sizes[name] = shape[0]
        require(shape[1] == 1, f"{what} must hold one number per row", shape, "Pass several columns instead.")
    problem = "there must be at least one column, and all equally long"
    require(len(set(sizes.values())) == 1, problem, sizes, "Pass one number per point in each.")
    return np.hstack(tables)


def checked_features(features: Any, what: str) -> Floats:
    """Check features, and return an array of shape (n, d); an error names the row."""
    table = as_array(features)
    if table.dtype == object and table.ndim == 2 and all(isinstance(value, Real) for value in table.flat):
        with suppress(OverflowError):  # then it stays what it is, and is named below
            table = table.astype(float)
    if table.dtype.kind in "iuf" and table.ndim == 1:
        table = table[:, None]
    if table.dtype.kind not in "iuf" or table.ndim != 2:
        _complain_of_rows(features, what)
    require(table.size, f"{what} must have at least one row and one column", table.shape, "Pass shape (n, d).")
    table = table.astype(float)
    for row, column in np.argwhere(~np.isfinite(table)).tolist():
        problem = f"{what} must be finite, but row {row}, column {column} is not"
        raise InvalidInput(problem, float(table[row, column]), "Correct it.")
    return table


def _complain_of_rows(features: Any, what: str) -> NoReturn:
    fix = "Pass as many numbers in each row."
    width: int | None = None
    for number, row in enumerate(listed(features, f"{what} must be an array of shape (n, d)", fix)):
        numbers = (
            [row] if not is_listed(row) or isinstance(row, str) else listed(row, f"row {number} of {what}", fix)
        )
        width = len(numbers) if width is None else width
        problem = f"row {number} of {what} has {len(numbers)} numbers, not {width}"
        require(len(numbers) == width, problem, row, fix)
        for value in numbers:
            try:
                float(value)
            except Exception:  # whatever a user's object raises
                raise InvalidInput(
                    f"row {number} of {what} has an entry that is not a number", value, fix
                ) from None
    raise InvalidInput(f"{what} must be numbers of shape (n, d)", type(features).__name__, fix)


def checked_weights(weights: ArrayLike | None, size: int) -> Floats:
    """Check weights, and return them as an array, 1 each by default; an error names the row."""
    if weights is None:
        return np.ones(size)
    table = as_array(weights)
    if table.shape != (size,) or table.dtype.kind not in "iuf":
        for row, value in enumerate(weights if isinstance(weights, list | tuple) and len(weights) == size else []):
            positive_number(value, f"the weight of row {row}")
        raise InvalidInput(f"weights must be {size} numbers, one per member", weights, "Pass as many.")
    table = table.astype(float)
    for row in np.flatnonzero(~(np.isfinite(table) & (table > 0))).tolist():
        problem = f"the weight of row {row} must be positive and finite"
        raise InvalidInput(problem, float(table[row]), "Leave out members without weight.")
    largest = float(table.max())
    require(largest <= LARGEST_STD, "weights are too large to add up", largest, "Use a larger unit.")
    return table


def checked_least(smallest: float | None, total: float) -> float:
    """Check the smallest weight of a region, and return it up to rounding; 0 if none was given."""
    if smallest is None:
        return 0.0
    least = positive_number(smallest, "smallest")
    fits = least * (1 - ROUNDING) <= total
    require(fits, "smallest is more than all members together", least, f"Pass less than {total:g}.")
    return least * (1 - ROUNDING)


def by_name(values: Any, leaves: Sequence[Any], what: str) -> Any:
    """Return values in the order of the leaves if they were given by name."""
    if not isinstance(values, Mapping):
        return values
    reject(repeated(leaves), f"{what} by name need leaves with different names", "Pass them in order.")
    given = mapped(values, f"{what} must be a mapping of leaves", "Name every leaf.")
    texts = all(isinstance(name, str | int | float | np.generic) for name in given)
    require(texts, f"{what} must be by name", list(given), "Name every leaf.")
    long = (name for name in given if isinstance(name, int) and abs(name) > LARGEST_WHOLE)  # has no text
    reject(long, f"{what} names something that is not a leaf", "Name leaves only.")
    by_leaf, expected = {str(name): value for name, value in given.items()}, set(leaves)
    strangers = (name for name in by_leaf if name not in expected)
    reject(strangers, f"{what} names something that is not a leaf", "Name leaves only.")
    require(len(by_leaf) == len(given), f"{what} names a leaf twice", list(given), "1 and '1' are the same.")
    reject((leaf for leaf in leaves if leaf not in by_leaf), f"{what} must name every leaf", "Add it.")
    width = as_array(next(iter(by_leaf.values()))).size
    for leaf, value in by_leaf.items():
        _check_leaf(leaf, value, what, width)
    return [by_leaf[leaf] for leaf in leaves]


def _check_leaf(leaf: str, value: Any, what: str, width: int) -> None:
    """Raise unless the value of a leaf is finite numbers: of features `width`, of weights positive ones."""
    numbers = as_array(value).ravel()
    problem = f"features of leaf {leaf!r} are {numbers.size} numbers, not {width}"
    require(what != "features" or numbers.size == width, problem, value, "Correct it.")
    least, kind = (0.0, "positive and finite") if what == "weights" else (-math.inf, "finite numbers")
    right = numbers.dtype.kind in "iuf" and ((numbers > least) & (numbers < math.inf)).all()
    require(right, f"{what} of leaf {leaf!r} must be {kind}", value, "Correct it.")


def repeated(names: Iterable[str]) -> list[str]:
    """Return the names that occur more than once."""
    return [name for name, times in Counter(names).items() if times > 1]
