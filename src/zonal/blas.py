"""One BLAS thread around small products: handing them to several costs more than it saves.

Worse, where another program holds a core, a product of a few numbers waits for that core's next time slice: a
triangular solve of 2 x 2 numbers was seen to take 8 ms instead of 2 microseconds. Setting the number of threads
costs a few microseconds, so matrix-vector products too small for BLAS to share are left alone; LAPACK routines
share at any size. The user's own number of threads is restored afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from types import TracebackType

from threadpoolctl import ThreadpoolController

SHARED_FROM = 9216  # numbers in a matrix from which OpenBLAS shares a matrix-vector product among threads
_LEFT_ALONE = nullcontext()


def one_thread(numbers: int = SHARED_FROM) -> AbstractContextManager[None]:
    """Return a context in which BLAS uses one thread, unless it would anyway for so few numbers."""
    return _LEFT_ALONE if numbers < SHARED_FROM else _OneThread()


@cache
def libraries() -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    """Return how to get and set the threads of each BLAS loaded; finding them takes milliseconds, once."""
    found = ThreadpoolController().select(user_api="blas").lib_controllers
    return [(library.get_num_threads, library.set_num_threads) for library in found]


class _OneThread(AbstractContextManager[None]):
    """Cheaper than `threadpool_limits`, which looks for the loaded libraries on each entry."""

    __slots__ = ("_changed",)

    def __enter__(self) -> None:
        self._changed = []
        for get, put in libraries():
            threads = get()
            if threads != 1:
                put(1)
                self._changed.append((put, threads))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for put, threads in self._changed:
            put(threads)
