"""Lists that only grow, shared by all states; each state knows how many entries are its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Log(Generic[T]):
    """The first `size` entries of a list that other logs may share and extend.

    Entries are never overwritten: adding to a log that another one has extended makes a copy.
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

    def since(self, start: int) -> list[T]:
        """Return the entries from number `start` on."""
        return self._items[start : self.size]

    def plus(self, more: T) -> Log[T]:
        """Return the log with one more entry."""
        items, size = self._items, self.size
        if items[size:]:  # another log has extended the list
            items = items[:size]
        items += (more,)
        longer = object.__new__(Log)
        longer._items, longer.size = items, size + 1
        return longer
