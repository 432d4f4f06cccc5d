"""Data frames of any library, taken in as named columns with the labels of their rows.

pandas (and what looks like it), polars, Arrow, narwhals, and whatever speaks the Arrow protocol. None of them is
imported here before one is handed in. Rows of pandas have labels, and labels decide which value belongs to which
row; this room puts values in order by them, or complains. It must not know what the columns mean.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from zonal.errors import InvalidInput

Labels = tuple[Hashable, ...]


class DataFrame(Protocol):
    """A data frame: of pandas, polars, Arrow, narwhals or any other library whose frames have columns."""

    @property
    def columns(self) -> Any:
        """The columns, or their names."""


class DataSeries(Protocol):
    """One column of a data frame."""

    def to_numpy(self) -> Any:
        """Return its values."""


class Frame(NamedTuple):
    """A data frame.

    Attributes
    ----------
    columns : dict of str to array
    labels : tuple or None
        Of the rows, None where the library has none.
    """

    columns: dict[str, Any]
    labels: Labels | None


class Series(NamedTuple):
    """One column.

    Attributes
    ----------
    values : array
    labels : tuple or None
        Of the rows, None where the library has none.
    """

    values: Any
    labels: Labels | None


def as_frame(thing: Any) -> Frame | None:
    """Return a data frame as columns, None if it is no data frame."""
    if isinstance(thing, type | np.ndarray | dict | list | tuple | str):
        return None
    if hasattr(thing, "to_native") and hasattr(thing, "columns"):  # narwhals
        return as_frame(thing.to_native())
    if hasattr(thing, "iloc") and hasattr(thing, "columns"):  # pandas
        if shapes_of(thing) is not None:
            return Frame(_centroids(thing), tuple(thing.index))
        return Frame(_named(thing.columns, lambda j: thing.iloc[:, j].to_numpy()), tuple(thing.index))
    if hasattr(thing, "collect") and hasattr(thing, "lazy"):  # polars' LazyFrame
        raise InvalidInput("a lazy frame has no values yet", type(thing).__name__, "Pass frame.collect().")
    if hasattr(thing, "get_columns"):  # polars
        series = thing.get_columns()
        return Frame(_named(thing.columns, lambda j: series[j].to_numpy()), None)
    if not hasattr(thing, "column_names") and hasattr(thing, "__arrow_c_stream__") and not _is_series(thing):
        thing = _through_arrow(thing)
    if hasattr(thing, "column_names") and hasattr(thing, "column"):  # Arrow
        return Frame(_named(thing.column_names, lambda j: thing.column(j).to_numpy()), None)
    return None


def as_series(thing: Any) -> Series | None:
    """Return one column of a data frame, None if it is none."""
    if isinstance(thing, type) or not _is_series(thing):
        return None
    if hasattr(thing, "to_native"):
        return as_series(thing.to_native())
    if hasattr(thing, "iloc"):
        return Series(thing.to_numpy(), tuple(thing.index))
    return Series(thing.to_numpy(), None)


def shapes_of(thing: Any) -> Any:
    """Return the shapes of a GeoDataFrame, a series with its labels; None of anything else."""
    return thing.geometry if hasattr(thing, "iloc") and hasattr(thing, "geometry") else None


def in_order(values: Any, ways: Sequence[Sequence[Hashable]], what: str) -> Any:
    """Return a series' values in the order of the rows they belong to; anything else as it is.

    Parameters
    ----------
    values : series or anything
        If it has labels, they decide.
    ways : sequence of sequence
        The ways in which the rows are named; the first that fits is taken.
    what : str
        For messages.
    """
    series = as_series(values)
    return values if series is None else series.values[row_order(series.labels, ways, what)]


def row_order(labels: Labels | None, ways: Sequence[Sequence[Hashable]], what: str) -> Any:
    """Return which entry of something labelled belongs to each row."""
    as_they_are = slice(None)
    if labels is None or any(labels == tuple(way) for way in ways):
        return as_they_are
    for way in ways:
        named = [str(label) for label in labels] if all(isinstance(name, str) for name in way) else list(labels)
        place = {label: row for row, label in enumerate(named)}
        if len(place) == len(named) == len(way) and place.keys() == set(way):
            return np.array([place[name] for name in way], dtype=np.intp)
    if labels == tuple(range(len(labels))):  # a default index, which says nothing
        return as_they_are
    known = {str(name) for way in ways for name in way}
    raise InvalidInput(
        f"the index of {what} does not name the same rows, once each",
        next((label for label in labels if str(label) not in known), labels[0]),
        "Give both the same index, or pass .to_numpy() if the order is right as it is.",
    )


def _is_series(thing: Any) -> bool:
    """Tell whether something is one column: of pandas, polars, narwhals or Arrow."""
    return hasattr(thing, "to_numpy") and not hasattr(thing, "columns") and not hasattr(thing, "column_names")


def _named(names: Any, column: Any) -> dict[str, Any]:
    """Return columns by name, or complain that two have the same."""
    columns: dict[str, Any] = {}
    for j, name in enumerate(names):
        if str(name) in columns:
            raise InvalidInput("two columns have the same name", str(name), "Rename one.")
        columns[str(name)] = column(j)
    return columns


def _centroids(frame: Any) -> dict[str, Any]:
    """Return where the shapes of a GeoDataFrame are; its other columns are not places."""
    import shapely

    shapes = np.asarray(frame.geometry)
    empty = np.flatnonzero(shapely.is_missing(shapes) | shapely.is_empty(shapes))
    if len(empty):
        raise InvalidInput("a row has no geometry", frame.index[int(empty[0])], "Leave it out.")
    middle = shapely.centroid(shapes)
    crs = getattr(frame, "crs", None)
    names = ("lon", "lat") if crs is not None and crs.is_geographic else ("x", "y")
    return dict(zip(names, (shapely.get_x(middle), shapely.get_y(middle)), strict=True))


def _through_arrow(thing: Any) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise InvalidInput(
            "reading this table needs pyarrow, which is not installed",
            type(thing).__name__,
            "Run pip install pyarrow, or pass a dict of columns.",
        ) from None
    return pyarrow.table(thing)
