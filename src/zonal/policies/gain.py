"""The knowledge gradient of correlated candidates: by how much the best posterior mean is expected to rise.

A measurement of node j moves the posterior means of the candidates along straight lines, ``m_i + b_ji Z`` with Z
standard normal and ``b_ji = Cov(j, i) / sqrt(std_j^2 + noise_j^2)``. The gain is ``E max_i (m_i + b_ji Z) -
max_i m_i`` (Frazier, Powell and Dayanik 2009): on the upper envelope of the lines, with breakpoints c_k between
slopes b_k and b_{k+1}, it is the sum of ``(b_{k+1} - b_k) f(-|c_k|)``, ``f(z) = z Phi(z) + phi(z)``. All in
logarithms: far from a decision, gains are smaller than the smallest float.
"""

from __future__ import annotations

import math

import numpy as np

from zonal._types import Floats

LOG_ROOT_TAU = 0.5 * math.log(2 * math.pi)
FAR = 1e3  # from here on 1 - z R(z) is 1 / z^2 to rounding; before, cancellation costs at most 1e-10
NEGLIGIBLE = 23.0  # natural logarithms: all later breakpoints add less than a ten-billionth


def log_f(z: Floats) -> Floats:
    """Return log f(-z) for z >= 0, ``f(-z) = phi(z) (1 - z R(z))`` with R the Mills ratio."""
    from scipy.special import erfcx  # here, since it takes a twelfth of the time to import Zonal

    near = np.minimum(z, FAR)
    rest = 1 - near * (math.sqrt(math.pi / 2) * erfcx(near / math.sqrt(2)))
    with np.errstate(divide="ignore", over="ignore"):
        square = z * z  # far away 1 / (1 - z R) is z^2 + 3 - 6 / z^2 + 42 / z^4, and so on
        tail = np.where(z < 50, np.log(np.maximum(rest, 1e-300)), -np.log(square + 3 - (6 - 42 / square) / square))
        return np.asarray(-0.5 * square - LOG_ROOT_TAU + tail)


def log_gains(
    means: Floats,  # shape (r, n): of the candidates, one row per question (possibly under different models)
    slopes: Floats,  # shape (r, n): how much each candidate's mean moves with Z
) -> Floats:
    """Return the log of the gain of each question."""
    tied = means >= means.max(axis=1, keepdims=True)
    apart = np.where(tied, slopes, -np.inf).max(axis=1) - np.where(tied, slopes, np.inf).min(axis=1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        at_zero = np.log(apart) - LOG_ROOT_TAU  # leaders with equal means have their breakpoint at Z = 0
        right, left = np.split(_walked(np.concatenate([means, means]), np.concatenate([slopes, -slopes])), 2)
        return np.asarray(np.logaddexp(at_zero, np.logaddexp(right, left)))


def _walked(means: Floats, slopes: Floats) -> Floats:
    """Follow the envelope from Z = 0 to the right; return the log of the sum over its breakpoints there."""
    total = np.full(len(means), -np.inf)
    top = means.max(axis=1, keepdims=True)
    steepest = slopes.max(axis=1)
    at = np.where(means >= top, slopes, -np.inf).argmax(axis=1)  # of equal means the steepest leads right of 0
    rows = lines = np.arange(len(means))
    slope, mean = slopes[lines, at], means[lines, at]
    while len(rows):
        gain = slopes - slope[:, None]
        cross = mean[:, None] - means
        cross /= gain
        cross[gain <= (1e-14 * np.abs(steepest))[:, None]] = np.inf
        at = cross.argmin(axis=1)  # of several that cross at one point, each leads to the next
        near = cross[lines, at]
        weight = log_f(np.maximum(near, 0.0))
        step, left = np.log(slopes[lines, at] - slope) + weight, np.log(steepest - slope) + weight
        going = np.isfinite(near)
        total[rows] = np.where(going, np.logaddexp(total[rows], step), total[rows])
        slope, mean = slopes[lines, at], means[lines, at]
        going &= (slope < steepest) & (left > total[rows] - NEGLIGIBLE)
        if not going.all():
            rows, means, slopes = rows[going], means[going], slopes[going]
            slope, mean, steepest = slope[going], mean[going], steepest[going]
            lines = np.arange(len(rows))
    return total


def log_pairs(
    means: Floats,  # shape (n,): posterior means of the candidates
    slopes: Floats,  # shape (r, n): how much each candidate's mean moves, one row per question
    tie: float = 0.0,  # means closer than this are equal: the first of them leads
) -> Floats:
    """Return the log of a lower bound of each question's gain: that of the best single pair with the leader.

    It is cheap, for ranking: ``f(-z) >= phi(z) / (3 + z^2)``.
    """
    leader = int((means >= means.max() - tie).argmax())
    apart = np.abs(slopes - slopes[:, leader, None])
    np.maximum(apart, 1e-300, out=apart)
    with np.errstate(over="ignore", divide="ignore"):
        z2 = (means[leader] - means) / apart
        z2 *= z2
        apart /= z2 + 3
        bound = np.log(apart, out=apart)
        z2 *= 0.5
        bound -= z2
    bound[:, leader] = -np.inf
    return np.asarray(bound.max(axis=1)) - LOG_ROOT_TAU
