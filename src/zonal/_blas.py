"""One BLAS thread around small products, and eigenvalues that always converge.

Sharing small products among threads costs more than it saves. Worse, if another program uses a core, a small
product waits for that core's next time slice: a triangular solve of 2 x 2 numbers was seen to take 8 ms instead of
2 microseconds. Setting the number of threads costs a few microseconds and wakes them: a call of a study sets it
once, and what it calls finds it set. Elsewhere matrix-vector products that BLAS does not share anyway are left
alone; LAPACK routines share at any size. The user's own number of threads is restored afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHARED_FROM = 9216  # numbers in a matrix from which OpenBLAS shares a matrix-vector product among threads
_LEFT_ALONE = nullcontext()


def one_thread(numbers: int = SHARED_FROM) -> AbstractContextManager[None]:
    """Return a context in which BLAS uses one thread; a null context if there are too few numbers to share."""
    return _LEFT_ALONE if numbers < SHARED_FROM else _OneThread()


def eigh(matrices: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return eigenvalues and eigenvectors of symmetric matrices, as `numpy.linalg.eigh` does.

    LAPACK's fast method does not converge for a few regular matrices (one of 77 cells of a regular grid was seen);
    those are solved by the slower method.
    """
    try:
        values, vectors = np.linalg.eigh(matrices)
    except np.linalg.LinAlgError:
        from scipy.linalg import eigh as slow

        square = matrices.reshape(-1, *matrices.shape[-2:])
        solutions = [slow(matrix, driver="ev") for matrix in square]
        values = np.stack([values for values, _ in solutions]).reshape(matrices.shape[:-1])
        vectors = np.stack([vectors for _, vectors in solutions]).reshape(matrices.shape)
    return values, vectors


@cache
def libraries() -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    """Return functions that get and set the threads of each loaded BLAS; finding them takes milliseconds, once."""
    from threadpoolctl import ThreadpoolController  # when the first study is made, not with `import zonal`

    controllers = ThreadpoolController().select(user_api="blas").lib_controllers
    return [(_counter(library), library.set_num_threads) for library in controllers]


def _counter(library: Any) -> Callable[[], int]:
    """Return what tells the threads of a library: if possible OpenBLAS's own function, as it is asked often."""
    if library.internal_api == "openblas" and library.threading_layer != "openmp":
        for name in library.check_symbols:
            if hasattr(library.dynlib, name):
                get_threads: Callable[[], int] = getattr(library.dynlib, name)
                return get_threads
    get_threads_slowly: Callable[[], int] = library.get_num_threads
    return get_threads_slowly


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
