"""The posterior of weighted averages, dense and slow, and kernels of symbols: what spaces are compared with.

As in `oracle`, everything is computed from scratch from its definition, and nothing is imported from the library.
An average is a block: points (S, d) with weights (S,) that add up to 1.
"""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle import Kernel

Array = NDArray[np.float64]
Block = tuple[Array, Array]


def categorical(variance: float, correlations: ArrayLike) -> Kernel:
    """Return ``variance * prod_j (1 if x_j == y_j else rho_j)``."""

    def k(X: Array, Y: Array) -> Array:
        rho = np.broadcast_to(np.asarray(correlations, dtype=float), (X.shape[1],))
        values = np.full((len(X), len(Y)), variance)
        for j in range(X.shape[1]):
            values[X[:, None, j] != Y[None, :, j]] *= rho[j]
        return values

    return k


def motif(variance: float, rho: float, lengths: Sequence[int]) -> Kernel:
    """Return the mean over lengths of ``variance / places * sum_pq prod_i (1 if x_{p+i} == y_{q+i} else rho)``."""

    def k(X: Array, Y: Array) -> Array:
        values = np.zeros((len(X), len(Y)))
        for long in lengths:
            places = range(X.shape[1] - long + 1)
            for p, q in product(places, places):
                other = X[:, None, p : p + long] != Y[None, :, q : q + long]
                values += rho ** np.count_nonzero(other, axis=2) / len(places)
        return variance * values / len(lengths)

    return k


def mixed(continuous: Kernel, symbols: Kernel, which: Sequence[bool]) -> Kernel:
    """Return one kernel on the columns that are numbers times another on those that are symbols."""
    inside = np.array(which)
    return lambda X, Y: continuous(X[:, ~inside], Y[:, ~inside]) * symbols(X[:, inside], Y[:, inside])


def total(*kernels: Kernel) -> Kernel:
    """Return the sum of kernels."""
    return lambda X, Y: np.asarray(sum(k(X, Y) for k in kernels))


def covariance(k: Kernel, some: Sequence[Block], others: Sequence[Block]) -> Array:
    """Return the prior covariance of averages, each a double sum."""
    Y, v = (np.concatenate(parts) for parts in zip(*others, strict=True))  # one call of k for all of them
    starts = np.cumsum([0, *(len(own) for _, own in others[:-1])])
    return np.array([np.add.reduceat(w @ k(X, Y) * v, starts) for X, w in some])


def posterior(
    k: Kernel, observed: Sequence[Block], rewards: ArrayLike, noise_vars: ArrayLike, wanted: Sequence[Block]
) -> tuple[Array, Array]:
    """Return posterior mean and standard deviation of wanted averages, all rewards at once (prior mean 0)."""
    Q = covariance(k, observed, observed) + np.diag(np.asarray(noise_vars, dtype=float))
    cross = covariance(k, wanted, observed)
    prior = np.array([covariance(k, [one], [one])[0, 0] for one in wanted])
    variance = prior - np.einsum("ij,ji->i", cross, np.linalg.solve(Q, cross.T))
    return cross @ np.linalg.solve(Q, np.asarray(rewards, dtype=float)), np.sqrt(np.maximum(variance, 0))


def beta(t: int, nodes: int, theta: float) -> float:
    """Return beta_t = 2 log(M pi_t / theta) of Lemma 1 for a tree of M nodes."""
    return 2 * math.log(nodes * math.pi**2 * t**2 / 6 / theta)
