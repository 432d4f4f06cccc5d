"""Log determinants and quadratic forms of one matrix with many noises, without its eigenvectors.

A symmetric matrix is ``Q T Q'`` with T tridiagonal, which LAPACK finds in a fraction of the time of eigenvectors.
Of ``scale R + shift I`` a likelihood needs the log determinant, and products of a few vectors with its inverse:
those of ``scale T + shift I`` and the vectors times Q, whose LDL' factor takes a pass over its rows.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from zonal._types import Floats

BLOCK = 64  # columns that LAPACK reduces together


def quadratic_forms(
    matrix: Floats, vectors: Floats, scales: Floats, shifts: Floats
) -> tuple[Floats, Floats] | None:
    """Return log determinants, and products of vectors with inverses, of ``scale matrix + shift I`` for each pair.

    The matrix is symmetric, shape (n, n); the vectors have shape (n, k). The results have shapes
    (pairs,) and (pairs, k, k). None if rounding leaves one of the matrices without an inverse.
    """
    size = len(matrix)
    reduced, diagonal, beside, reflections, _ = lapack.dsytrd(matrix.T, lower=1, lwork=BLOCK * size)
    rotated = np.array(vectors, order="F")
    # Q leaves the first row as it is.
    work = BLOCK * vectors.shape[1]
    if size > 1:
        rotated[1:] = lapack.dormqr("L", "T", reduced[1:, : size - 1], reflections, rotated[1:], work)[0]
    # One long matrix with a block for each pair, and zeros between, so that LAPACK is called once.
    long, links = np.outer(scales, diagonal) + shifts[:, None], np.zeros((len(scales), size))
    links[:, : size - 1] = np.outer(scales, beside)
    pivots, ratios, failed = lapack.dpttrf(long.ravel(), links.ravel()[:-1])
    if failed:
        return None
    solved, _ = lapack.dpttrs(pivots, ratios, np.tile(rotated, (len(scales), 1)))
    forms = rotated.T @ solved.reshape(len(scales), size, -1)
    return np.log(pivots).reshape(len(scales), size).sum(axis=1), forms
