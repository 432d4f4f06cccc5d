"""Lists that only grow, shared by all states; each state knows how many entries are its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar, overload

T = TypeVar("T")


class Log(Sequence[T]):
    """The first `size` entries of a list that other logs may share and extend.

    So one more entry costs the same however many there are. Entries are never overwritten: adding to a log that
    another one has extended makes a copy.
    """

    __slots__ = ("_items", "_size")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = list(items)
        self._size = len(self._items)

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...
    def __getitem__(self, at: int | slice) -> T | tuple[T, ...]:
        places = range(self._size)[at]  # raises as a list does
        return self._items[places] if isinstance(places, int) else tuple(self._items[place] for place in places)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items[: self._size])

    def plus(self, more: T) -> Log[T]:
        """Return the log with one more entry."""
        items, size = self._items, self._size
        if len(items) > size:  # another log has extended the list
            items = items[:size]
        items += (more,)
        longer: Log[T] = object.__new__(Log)
        longer._items, longer._size = items, size + 1
        return longer
