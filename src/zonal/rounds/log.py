"""Lists that only grow, shared by all states that know how much of them is theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

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

    def plus(self, more: T) -> Log[T]:
        """Return the log with one more entry."""
        items, size = self._items, self.size
        if items[size:]:  # somebody else went on from here
            items = items[:size]
        items += (more,)
        longer = object.__new__(Log)
        longer._items, longer.size = items, size + 1
        return longer
