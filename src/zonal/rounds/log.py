"""Lists that only grow, shared by all states that know how much of them is theirs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, Self, TypeVar

from zonal.spaces import Region

T = TypeVar("T")


class Log(Generic[T]):
    """The first entries of a list that may go on for others.

    Entries are never overwritten: whoever adds to a log that someone else has added to works on a copy.
    """

    __slots__ = ("_items", "size")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = list(items)
        self.size = len(self._items)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, at: int) -> T:
        if not 0 <= at < self.size:
            raise IndexError(at)
        return self._items[at]

    def __iter__(self) -> Iterator[T]:
        return iter(self._items[: self.size])

    def plus(self, *more: T) -> Self:
        """Return the log with more entries."""
        longer = object.__new__(type(self))
        self._share(longer)
        longer._items.extend(more)
        longer.size = self.size + len(more)
        return longer

    def _share(self, longer: Log[T]) -> None:
        longer._items = self._items if len(self._items) == self.size else self._items[: self.size]


class Regions(Log[Region]):
    """The regions of the rows of a tree, which can also be found by what they are."""

    __slots__ = ("_places",)

    def __init__(self, items: Iterable[Region] = ()) -> None:
        super().__init__(items)
        self._places: dict[Hashable, int] = {}  # of the first entries, as far as anybody asked

    def find(self, region: Region) -> int | None:
        """Return the row of a region, None if it is not here."""
        for row in range(len(self._places), self.size):
            self._places.setdefault(self._items[row].key, row)
        row_of = self._places.get(region.key)
        return row_of if row_of is not None and row_of < self.size else None

    def _share(self, longer: Log[Region]) -> None:
        super()._share(longer)
        assert isinstance(longer, Regions)
        longer._places = self._places if longer._items is self._items else {}
