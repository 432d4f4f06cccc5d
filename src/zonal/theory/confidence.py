"""The width of confidence intervals: M, pi_t and beta_t of Lemma 1.

This module knows numbers only: no tree, no kernel, no region.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

LOG_PI = math.log(math.pi**2 / 6)


def log_node_count(arity: int, h_max: int) -> float:
    """Return log M with M = sum of K^h for h = 0 .. h_max (Lemma 1), without overflow."""
    log_k = math.log(arity)
    top = (h_max + 1) * log_k
    return top + math.log1p(-math.exp(-top)) - math.log(arity - 1)


def log_nodes(counts: Sequence[int]) -> float:
    """Return log M, with M the total number of nodes at depths 0 .. h_max (Lemma 1), for any arity."""
    return math.log(sum(counts))


def log_pi_t(t: int) -> float:
    """Return log pi_t with pi_t = pi^2 t^2 / 6 (Lemma 1)."""
    return LOG_PI + 2 * math.log(t)


def beta_t(t: int, log_m: float, theta: float) -> float:
    """Return beta_t = 2 log(M pi_t / theta) (Lemma 1)."""
    return 2 * (log_m + LOG_PI + 2 * math.log(t) - math.log(theta))  # log pi_t written out


def beta_stooo(t: int, theta: float) -> float:
    """Return 2 log(t^2 / theta), the beta_t with which AVE-StoOO's index is GPOO's (equation 8)."""
    return 4 * math.log(t) - 2 * math.log(theta)
