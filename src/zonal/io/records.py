"""A table whose rows are objects too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, overload

from zonal.io.result_table import Cell, Listing

R = TypeVar("R")


@dataclass(frozen=True, repr=False)
class Records(Listing, Generic[R]):
    """A table of objects: the rows are in ``records``; iterating, or indexing by number, gives them too."""

    records: tuple[R, ...] = ()

    def text(self, width: int, rows: int | None = None) -> str:
        """Return the table, aligned; only the title if there are no rows."""
        return super().text(width, rows) if self.records else self.title

    def __iter__(self) -> Iterator[R]:  # type: ignore[override]
        """Yield the rows, in their order."""
        return iter(self.records)

    @overload
    def __getitem__(self, at: str) -> Sequence[Cell]: ...
    @overload
    def __getitem__(self, at: int) -> R: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[R, ...]: ...
    def __getitem__(self, at: str | int | slice) -> Sequence[Cell] | R | tuple[R, ...]:
        """Return the cells of a column by its name, or rows by number."""
        return super().__getitem__(at) if isinstance(at, str) else self.records[at]
