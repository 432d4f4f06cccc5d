"""Columns that users give for members, checked: features from arrays, mappings or data frames, and weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from zonal.arrays import Floats
from zonal.errors import LARGEST_STD, InvalidInput, positive_number, refuse
from zonal.spaces.region import ROUNDING
from zonal.tables.dataframes import Columns, Labels, as_frame, as_series, in_order, useful


def taken_features(X: Any, what: str) -> tuple[Floats, tuple[str, ...], Labels | None]:
    """Return features, shape (n, d), from an array, a mapping of columns, a data frame or a series.

    Also their names, and the labels of the rows if there are any.
    """
    frame, series = as_frame(X), as_series(X)
    if frame is None and isinstance(X, Mapping):
        labels = next((own.labels for own in map(as_series, X.values()) if own is not None), None)
        frame = Columns({str(name): column for name, column in X.items()}, labels)
    if frame is not None:
        return _joined(frame), tuple(frame.columns), useful(frame.labels)
    table = checked_features(X if series is None else series.values, what)
    names = ("x",) if table.shape[1] == 1 else tuple(f"x{j}" for j in range(table.shape[1]))
    return table, names, None if series is None else useful(series.labels)


def told_labels(labels: Any, size: int) -> Labels:
    """Check names of rows, and return them."""
    series = as_series(labels)
    listed = tuple(labels if series is None else series.values.tolist()) if np.iterable(labels) else ()
    if len(listed) != size or isinstance(labels, str):
        raise InvalidInput(f"labels must be {size} names, one per member", labels, "Pass as many.")
    return listed


def _joined(frame: Columns) -> Floats:
    """Return columns side by side, pandas ones aligned by the labels of the first."""
    ways = [] if frame.labels is None else [frame.labels]
    tables, sizes = [], {}
    for name, own in frame.columns.items():
        what = f"column {name}"
        tables.append(checked_features(in_order(own, ways, what), what))
        sizes[name], width = tables[-1].shape
        if width != 1:
            shape = tables[-1].shape
            raise InvalidInput(f"{what} must hold one number per row", shape, "Pass several columns instead.")
    if len(set(sizes.values())) != 1:
        problem = "there must be at least one column, and all equally long"
        raise InvalidInput(problem, sizes, "Pass one number per point in each.")
    return np.hstack(tables)


def checked_features(features: Any, what: str) -> Floats:
    """Check features, and return an array of shape (n, d); an error names the row."""
    try:
        table = np.asarray(features)
    except ValueError:
        table = np.empty(0, dtype=object)
    if table.dtype == object and table.ndim == 2 and all(isinstance(value, Real) for value in table.flat):
        table = table.astype(float)
    if table.dtype.kind in "iuf" and table.ndim == 1:
        table = table[:, None]
    if table.dtype.kind not in "iuf" or table.ndim != 2:
        _complain_of_rows(features, what)
    if table.shape[0] == 0 or table.shape[1] == 0:
        raise InvalidInput(f"{what} must have at least one row and one column", table.shape, "Pass shape (n, d).")
    table = table.astype(float)
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise InvalidInput(
            f"{what} must be finite, but row {row}, column {column} is not",
            float(table[row, column]),
            "Correct it.",
        )
    return table


def _complain_of_rows(features: Any, what: str) -> None:
    fix = "Pass as many numbers in each row."
    if not np.iterable(features):
        raise InvalidInput(f"{what} must be an array of shape (n, d)", features, fix)
    width: int | None = None
    for number, row in enumerate(features):
        numbers = [row] if not np.iterable(row) or isinstance(row, str) else list(row)
        width = len(numbers) if width is None else width
        if len(numbers) != width:
            raise InvalidInput(f"row {number} of {what} has {len(numbers)} numbers, not {width}", row, fix)
        for value in numbers:
            try:
                float(value)
            except (TypeError, ValueError):
                raise InvalidInput(f"row {number} of {what} has an entry that is no number", value, fix) from None
    raise InvalidInput(f"{what} must be numbers of shape (n, d)", type(features).__name__, fix)


def checked_weights(weights: Any, size: int) -> Floats:
    """Check weights, and return them as an array, 1 each by default; an error names the row."""
    if weights is None:
        return np.ones(size)
    try:
        table = np.asarray(weights)
        table = table.astype(float) if table.dtype.kind in "iuf" else np.empty(0)
    except ValueError:
        table = np.empty(0)
    if table.shape != (size,):
        for row, value in enumerate(weights if isinstance(weights, Sequence) and len(weights) == size else []):
            positive_number(value, f"the weight of row {row}")
        raise InvalidInput(f"weights must be {size} numbers, one per member", weights, "Pass as many.")
    if not (np.isfinite(table) & (table > 0)).all():
        row = int(np.flatnonzero(~(np.isfinite(table) & (table > 0)))[0])
        raise InvalidInput(
            f"the weight of row {row} must be positive and finite",
            float(table[row]),
            "Leave out members without weight.",
        )
    if table.max() > LARGEST_STD:
        raise InvalidInput("weights are too large to add up", float(table.max()), "Use a larger unit.")
    return table


def checked_least(smallest: Any, total: float) -> float:
    """Check the smallest weight of a region, and return it up to rounding; 0 if none was given."""
    if smallest is None:
        return 0.0
    least = positive_number(smallest, "smallest")
    if least * (1 - ROUNDING) > total:
        raise InvalidInput("smallest is more than all members together", least, f"Pass less than {total:g}.")
    return least * (1 - ROUNDING)


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
