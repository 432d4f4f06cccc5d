"""Data frames of any library, as named columns with the labels of their rows.

narwhals, imported when a frame is passed, handles the libraries. Rows of pandas have labels, which decide which
value belongs to which row; this module orders values by them, or raises. It must not know what the columns mean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence, Sized
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from zonal._types import Floats, Ints
from zonal.errors import InvalidInput, attribute, reject, require, text
from zonal.io.files import library

Labels = tuple[Hashable, ...]
Order = slice | Ints  # of rows
T = TypeVar("T")


class DataFrame(Protocol):
    """A data frame of pandas, polars, Arrow, narwhals or another library whose frames have columns."""

    @property
    def columns(self) -> Sized:
        """The columns, or their names."""


class DataSeries(Protocol):
    """One column of a data frame."""

    def to_numpy(self) -> NDArray[np.generic]:
        """Return its values."""
        ...


class Columns(NamedTuple):
    """A data frame: its columns by name, and the labels of its rows if the library has any."""

    columns: dict[str, Any]
    labels: Labels | None


class Series(NamedTuple):
    """One column: its values, and the labels of its rows if the library has any."""

    values: Any
    labels: Labels | None


def as_frame(thing: object) -> Columns | None:
    """Return a data frame as columns, None if it is not one."""
    tabular = any(hasattr(type(thing), name) for name in ("columns", "column_names", "__arrow_c_stream__"))
    if not tabular or _is_series(type(thing)):
        return None
    import narwhals as nw

    try:
        frame: Any = nw.from_native(thing, pass_through=True)
        if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
            if not hasattr(thing, "column_names") and not hasattr(thing, "__arrow_c_stream__"):
                return None
            fix = "Run pip install pyarrow, or pass a dict of columns."
            frame = nw.from_native(
                library("pyarrow", "reading this table", type(thing).__name__, fix).table(thing)
            )
    except nw.exceptions.DuplicateError:
        names = Counter(map(str, getattr(thing, "column_names", None) or thing.columns))  # type: ignore[attr-defined]
        raise InvalidInput("two columns have the same name", names.most_common(1)[0][0], "Rename one.") from None
    lazy = isinstance(frame, nw.LazyFrame)
    require(not lazy, "a lazy frame has no values yet", type(thing).__name__, "Pass frame.collect().")
    native = frame.to_native()
    labels = _labels(native)
    shapes = shapes_of(native)
    if shapes is not None:
        return Columns(_centroids(shapes), labels)
    columns = {str(name): frame.get_column(name).to_numpy() for name in frame.columns}
    once = len(columns) == len(frame.columns)
    require(once, "two columns have the same name", list(frame.columns), "Rename one; 1 and '1' are the same.")
    return Columns(columns, labels)


def as_series(thing: object) -> Series | None:
    """Return one column of a data frame, None if it is not one."""
    if not _is_series(type(thing)):
        return None
    native: Any = _native(thing)
    return Series(native.to_numpy(), _labels(native))


def _labels(native: DataFrame | DataSeries) -> Labels | None:
    return tuple(getattr(native, "index", ())) if hasattr(native, "iloc") else None


def shapes_of(thing: object) -> DataSeries | None:
    """Return the shapes of a GeoDataFrame, a series with its labels; None for anything else."""
    native = _native(thing)
    shapes = attribute(native, "geometry") if attribute(native, "iloc") is not None else None
    return shapes if _holds_shapes(shapes) else None  # "geometry" may be any column of a plain frame


def _native(thing: T) -> T:
    """Return a frame of narwhals as that of its own library, anything else unchanged."""
    return getattr(thing, "to_native")() if hasattr(type(thing), "to_native") else thing  # noqa: B009


def _holds_shapes(series: DataSeries | None) -> bool:
    return str(attribute(series, "dtype")) == "geometry"


def without_shapes(frame: T) -> T:
    """Return a GeoDataFrame without its columns of shapes."""
    native: Any = _native(frame)
    plain: T = native.drop(columns=[name for name in native.columns if _holds_shapes(native[name])])
    return plain


def useful(labels: Labels | None) -> Labels | None:
    """Return labels as files hold them, or None if they only number the rows, as a default index does."""
    return None if labels is None or labels == tuple(range(len(labels))) else tuple(map(as_label, labels))


def as_label(label: Hashable) -> Hashable:
    """Return a label as a file holds it: a date, or anything else that is neither text nor number, as its text."""
    if isinstance(label, tuple):
        return tuple(map(as_label, label))
    if isinstance(label, str):
        return text(label, "a label")
    plain = label is None or isinstance(label, int | float | np.number | np.bool_)
    if plain:
        return label
    try:
        return str(label)
    except Exception:  # whatever a user's object raises
        raise InvalidInput("a label must be text, a number or a date", label, "Pass names of the rows.") from None


def in_order(values: T | DataSeries, ways: Sequence[Sequence[Hashable]], what: str) -> T | NDArray[np.generic]:
    """Return a series' values in the order of the rows they belong to; anything else unchanged.

    Of `ways`, the possible names of the rows, the first that fits is used. Messages call the values `what`.
    """
    series = as_series(values)
    if series is None:
        return values  # type: ignore[return-value]  # it is no series
    ordered: NDArray[np.generic] = series.values[row_order(series.labels, ways, what)]
    return ordered


def row_order(labels: Labels | None, ways: Sequence[Sequence[Hashable]], what: str) -> Order:
    """Return which entry of something labelled belongs to each row."""
    as_they_are = slice(None)
    if labels is None or labels in map(tuple, ways):
        return as_they_are
    for way in ways:
        order = _places(labels, way)
        if order is not None:
            return order
    if useful(labels) is None:
        return as_they_are
    names = {str(name) for way in ways for name in way}
    stray = next((label for label in labels if str(label) not in names), labels[0])
    fix = "Give both the same index, or pass .to_numpy() if the order is right as it is."
    raise InvalidInput(f"the index of {what} does not name the same rows, once each", stray, fix)


def _places(labels: Labels, names: Sequence[Hashable]) -> Ints | None:
    """Return where each of some names is among the labels, None unless they are the same, once each."""
    texts = all(isinstance(name, str) for name in names)
    place = {str(label) if texts else label: row for row, label in enumerate(labels)}
    same = len(place) == len(labels) == len(names) and place.keys() == set(names)
    return np.array([place[name] for name in names], dtype=np.intp) if same else None


def _is_series(kind: type) -> bool:
    """Tell whether a class is that of columns: of pandas, polars, narwhals or Arrow."""
    return (
        hasattr(kind, "to_numpy")
        and hasattr(kind, "__len__")
        and not hasattr(kind, "columns")
        and not hasattr(kind, "column_names")
    )


def _centroids(series: DataSeries) -> dict[str, Floats]:
    """Return the centroids of the shapes of a GeoDataFrame, whose other columns are not coordinates."""
    import shapely

    shapes = np.asarray(series)
    empty = np.flatnonzero(shapely.is_missing(shapes) | shapely.is_empty(shapes))
    labels = _labels(series) or range(len(shapes))
    reject((labels[int(row)] for row in empty), "a row has no geometry", "Leave it out.")
    middle = shapely.centroid(shapes)
    crs = getattr(series, "crs", None)
    names = ("lon", "lat") if crs is not None and crs.is_geographic else ("x", "y")
    return dict(zip(names, (shapely.get_x(middle), shapely.get_y(middle)), strict=True))
