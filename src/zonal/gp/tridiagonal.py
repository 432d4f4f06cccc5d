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
    matrices: Floats, vectors: Floats, scales: Floats, shifts: Floats
) -> tuple[Floats, Floats] | None:
    """Return log determinants, and products of vectors with inverses, of ``scale matrix + shift I`` for each pair.

    The matrices are symmetric, shape (m, n, n), and the vectors of each have shape (k, n). The results have shapes
    (m, pairs) and (m, pairs, k, k). None if rounding leaves one of the matrices without an inverse.
    """
    number, size, _ = matrices.shape
    diagonals, beside, rotated = np.empty((number, size)), np.zeros((number, size)), vectors.copy()
    work = BLOCK * vectors.shape[1]
    for at, matrix in enumerate(matrices):
        reduced, diagonals[at], beside[at, : size - 1], reflections, _ = lapack.dsytrd(
            matrix.T, lower=1, lwork=BLOCK * size
        )
        if size > 1:  # Q leaves the first entry as it is
            later = rotated[at, :, 1:].T
            rotated[at, :, 1:] = lapack.dormqr("L", "T", reduced[1:, : size - 1], reflections, later, work)[0].T
    # One long matrix with a block for each matrix and pair, and zeros between, so that LAPACK is called once.
    long = scales[:, None] * diagonals[:, None] + shifts[:, None]
    pivots, ratios, failed = lapack.dpttrf(long.ravel(), (scales[:, None] * beside[:, None]).ravel()[:-1])
    if failed:
        return None
    right = np.repeat(rotated.swapaxes(0, 1)[:, :, None], len(scales), axis=2)
    solved = lapack.dpttrs(pivots, ratios, right.reshape(len(right), -1).T)[0].T.reshape(right.shape)
    forms = np.stack([np.add.reduce(vector[:, None] * solved, axis=-1) for vector in rotated.swapaxes(0, 1)])
    return np.add.reduce(np.log(pivots).reshape(long.shape), axis=2), forms.transpose(2, 3, 0, 1)
