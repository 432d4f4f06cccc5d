"""beta_t, which sets the width of confidence intervals: equation 6 for GPOO, equation 12 for AVE-StoOO."""

from __future__ import annotations

import math
from collections.abc import Sequence

from zonal.errors import finite_number, listed, probability, require, whole_number

LOG_PI = math.log(math.pi**2 / 6)


def log_node_count(arity: int, h_max: int) -> float:
    """Return log M with M = sum of K^h for h = 0 .. h_max (Lemma 1), without overflow."""
    arity, h_max = whole_number(arity, "arity", 2), whole_number(h_max, "h_max", 0)
    log_k = math.log(arity)
    top = (h_max + 1) * log_k
    return top + math.log1p(-math.exp(-top)) - math.log(arity - 1)


def log_nodes(counts: Sequence[int]) -> float:
    """Return log M, with M the total number of nodes at depths 0 .. h_max (Lemma 1), for any arity."""
    fix = "Pass the number of nodes at each depth, from 0 on."
    numbers = [
        whole_number(count, "a number of nodes", 0, None) for count in listed(counts, "counts must be a list", fix)
    ]
    require(sum(numbers), "a tree has at least one node", counts, fix)
    return math.log(sum(numbers))


def log_pi_t(t: int) -> float:
    """Return log pi_t with pi_t = pi^2 t^2 / 6 (Lemma 1)."""
    return LOG_PI + 2 * math.log(whole_number(t, "t", 1))


def beta_t(t: int, log_m: float, theta: float) -> float:
    """Return beta_t = 2 log(M pi_t / theta) (Lemma 1)."""
    t, log_m, theta = whole_number(t, "t", 1), finite_number(log_m, "log_m"), probability(theta, "theta")
    return 2 * (log_m + LOG_PI + 2 * math.log(t) - math.log(theta))  # log pi_t written out


def beta_stooo(t: int, theta: float) -> float:
    """Return 2 log(t^2 / theta), the beta_t with which AVE-StoOO's index is GPOO's (equation 12)."""
    return 4 * math.log(whole_number(t, "t", 1)) - 2 * math.log(probability(theta, "theta"))
