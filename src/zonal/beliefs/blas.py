"""One BLAS thread around small products: handing them to several costs more than it saves.

Setting the number of threads costs microseconds, so products too small for BLAS to share are left alone, and
the user's own threads are restored afterwards.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from types import TracebackType
from typing import Any

from threadpoolctl import ThreadpoolController

SHARED_FROM = 9216  # numbers in a matrix from which OpenBLAS shares a product with it among threads
_LEFT_ALONE = nullcontext()


def one_thread(numbers: int) -> AbstractContextManager[None]:
    """Return a context in which BLAS uses one thread, if a matrix of so many numbers needs it."""
    return _LEFT_ALONE if numbers < SHARED_FROM else _OneThread()


@cache
def _libraries() -> list[Any]:
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


class _OneThread(AbstractContextManager[None]):
    """Cheaper than `threadpool_limits`, which looks for the loaded libraries on each entry."""

    def __enter__(self) -> None:
        self._before = [library.get_num_threads() for library in _libraries()]
        for library, threads in zip(_libraries(), self._before, strict=True):
            if threads != 1:
                library.set_num_threads(1)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for library, threads in zip(_libraries(), self._before, strict=True):
            if threads != 1:
                library.set_num_threads(threads)
