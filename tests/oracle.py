"""The paper's equations, dense and slow: what the library is compared with.

Every quantity is computed from scratch, straight from its definition in "Gaussian Process
Bandits with Aggregated Feedback", with the readings settled in docs/fidelity.md. This module
imports nothing from the library, and the library nothing from here.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Kernel = Callable[[Array, Array], Array]
Node = tuple[int, int]  # (depth h, index i)
Periods = Sequence[float | None] | None  # of each axis the way once around, None for one that is no ring


# Kernels: functions of two arrays of points, (n, d) and (m, d), that return (n, m).


def rbf(variance: float, lengthscales: ArrayLike, periods: Periods = None) -> Kernel:
    """Return the RBF kernel ``variance * exp(-sum_j r_j^2 / (2 l_j^2))``."""
    return _product(lambda r: np.exp(-0.5 * r**2), variance, lengthscales, periods)


def matern(nu: float, variance: float, lengthscales: ArrayLike, periods: Periods = None) -> Kernel:
    """Return the product over axes of one-dimensional Matern kernels, nu = 0.5, 1.5 or 2.5."""

    def kappa(r: Array) -> Array:
        r = math.sqrt(2 * nu) * np.abs(r)
        polynomial = {0.5: np.ones_like(r), 1.5: 1 + r, 2.5: 1 + r + r**2 / 3}[nu]
        return np.asarray(polynomial * np.exp(-r))

    return _product(kappa, variance, lengthscales, periods)


def _product(
    kappa: Callable[[Array], Array], variance: float, lengthscales: ArrayLike, periods: Periods
) -> Kernel:
    """Return the product over axes of functions of the distance in lengthscales, those of rings being wrapped."""

    def k(X: Array, Y: Array) -> Array:
        values = np.full((len(X), len(Y)), variance)
        scales = np.broadcast_to(np.asarray(lengthscales, dtype=np.float64), X.shape[1:])
        rings = periods or [None] * len(scales)
        for axis, (scale, period) in enumerate(zip(scales.tolist(), rings, strict=True)):
            x, at_x = np.unique(X[:, axis], return_inverse=True)  # along an axis, points of grids are few
            y, at_y = np.unique(Y[:, axis], return_inverse=True)
            r = np.abs(x[:, None] - y) / scale
            values *= (kappa(r) if period is None else wrapped(kappa, r, period / scale))[np.ix_(at_x, at_y)]
        return values

    return k


def wrapped(kappa: Callable[[Array], Array], r: Array, period: float) -> Array:
    """Return ``sum_m kappa(r + m P) / sum_m kappa(m P)``, term by term, as far as there is anything to add."""
    turns = math.ceil(45 / period) + 2
    images = [kappa(r + turn * period) for turn in range(-turns, turns + 1)]
    whole = [kappa(np.array(turn * period)) for turn in range(-turns, turns + 1)]
    return np.asarray(sum(images) / sum(whole))


def mean_around(
    kappa: Callable[[Array], Array],
    period: float,
    gap: float,
    breaks: Sequence[float],
    density: Callable[[Array], Array],
) -> float:
    """Return the mean of a wrapped function when the distance is random: quadrature, broken at every kink.

    Parameters
    ----------
    gap : float
        From which the random part is counted.
    breaks, density
        Of the random part: where its density is not smooth, from end to end, and the density.
    """
    first, last = (math.floor((gap + end) / period) for end in (min(breaks), max(breaks)))
    kinks = [turn * period - gap for turn in range(first, last + 2)]
    inner = [kink for kink in kinks if min(breaks) < kink < max(breaks)]
    edges = np.unique([*breaks, *inner])
    nodes, weights = np.polynomial.legendre.leggauss(16)
    pieces = [np.linspace(a, b, math.ceil(2 * (b - a)) + 1)[:-1] for a, b in itertools.pairwise(edges.tolist())]
    fine = np.append(np.concatenate(pieces), edges[-1])
    half = np.diff(fine)[:, None] / 2
    t = fine[:-1, None] + half * (1 + nodes)
    return float((half * weights * wrapped(kappa, gap + t, period) * density(t)).sum())


# The tree of boxes, and the points that stand for a box.


def axes_cut(bounds: ArrayLike, arity: int, depth: int, smallest: Sequence[float] | None = None) -> list[int]:
    """Return the axis on which cells of depths 0 to depth - 1 are cut: by turns, one at its end being passed over.

    An axis is at its end if its parts would become narrower than `smallest`. Fewer than `depth` are
    returned if all axes are at their end before.
    """
    sides = np.ptp(np.array(bounds, dtype=np.float64), axis=1)
    least = np.zeros(len(sides)) if smallest is None else np.asarray(smallest) * (1 - 1e-9)
    cuts, order = [0] * len(sides), list[int]()
    for _ in range(depth):
        able = [axis for axis in range(len(sides)) if sides[axis] / arity ** (cuts[axis] + 1) >= least[axis]]
        if not able:
            break
        axis = min(able, key=lambda axis: cuts[axis])
        cuts[axis] += 1
        order.append(axis)
    return order


def cell(bounds: ArrayLike, arity: int, node: Node, smallest: Sequence[float] | None = None) -> Array:
    """Return the (d, 2) bounds of the cell of a node.

    Child j of node (h, i) is (h + 1, K i + j). A cell at depth h is cut on axis h mod d into K
    equal parts, in order of the coordinate (`axes_cut` has the rest of the rule); so the digits of
    i in base K, from the first to the h-th, say which part was taken at each depth.
    """
    box = np.array(bounds, dtype=np.float64)
    depth, index = node
    position = [0] * len(box)
    parts = [1] * len(box)
    for level, axis in enumerate(axes_cut(bounds, arity, depth, smallest)):
        digit = index // arity ** (depth - 1 - level) % arity
        position[axis] = position[axis] * arity + digit
        parts[axis] *= arity
    ends = [(p / n, (p + 1) / n) for p, n in zip(position, parts, strict=True)]
    return np.asarray(box[:, :1] + (box[:, 1:] - box[:, :1]) * np.array(ends))


def representatives(box: Array, s: int) -> Array:
    """Return the centres of the s^d equal sub-cells of a box, (s^d, d), last axis fastest."""
    axes = [low + (high - low) * (np.arange(s) + 0.5) / s for low, high in box]
    return np.array(list(itertools.product(*axes)))


# The posterior of averages, equation (gp_posterior).


def _averaging(blocks: Sequence[Array]) -> Array:
    """Return A: row p holds 1/S at the points of block p and zero elsewhere (fidelity row 1)."""
    sizes = [len(block) for block in blocks]
    A = np.zeros((len(blocks), sum(sizes)))
    for row, (size, end) in enumerate(zip(sizes, itertools.accumulate(sizes), strict=True)):
        A[row, end - size : end] = 1 / size
    return A


def _condition(
    gram: Array, cross: Array, prior: Array, rewards: ArrayLike, noise_vars: ArrayLike, mean: float
) -> tuple[Array, Array]:
    """Return means and stds of m averages given noisy rewards of t others.

    ``gram`` (t, t) and ``cross`` (m, t) are prior covariances, ``prior`` (m,) prior variances.
    """
    Q = gram + np.diag(np.asarray(noise_vars, dtype=np.float64))
    residual = np.asarray(rewards, dtype=np.float64) - mean
    means = mean + cross @ np.linalg.solve(Q, residual)
    variances = prior - (cross * np.linalg.solve(Q, cross.T).T).sum(axis=1)
    return np.asarray(means), np.sqrt(np.maximum(variances, 0))


def posterior(
    k: Kernel,
    X_blocks: Sequence[Array],
    rewards: ArrayLike,
    noise_vars: ArrayLike,
    test_blocks: Sequence[Array],
    prior_mean: float = 0.0,
) -> tuple[Array, Array]:
    """Return posterior mean and standard deviation of the average of f over each test block.

    Parameters
    ----------
    k : Kernel
        Prior covariance of f.
    X_blocks, test_blocks : sequences of (S, d) arrays
        The points of each observed and of each wanted average; S may differ between blocks.
    rewards, noise_vars : (t,) array_like
        The observed averages, and the noise variance of each.
    prior_mean : float
        The constant prior mean of f.

    Returns
    -------
    means, stds : (m,) arrays
        Of the latent averages: the noise of a future reward is not included.
    """
    X_star, A_star = np.vstack(test_blocks), _averaging(test_blocks)
    prior = np.diag(A_star @ k(X_star, X_star) @ A_star.T)
    if not X_blocks:
        return np.full(len(test_blocks), prior_mean), np.sqrt(prior)
    X, A = np.vstack(X_blocks), _averaging(X_blocks)
    gram = A @ k(X, X) @ A.T
    cross = A_star @ k(X_star, X) @ A.T
    return _condition(gram, cross, prior, rewards, noise_vars, prior_mean)


# GPOO, Algorithm 1.


@dataclass(frozen=True)
class Round:
    """One round of GPOO; ``means`` and ``stds`` hold every node of the tree after it.

    ``expanded`` says whether this round expanded the node (or, at the smallest useful size,
    marked it as if expanded), ``recommended`` what would be returned if the budget ended here.
    """

    node: Node
    reward: float
    expanded: bool
    recommended: Node
    means: dict[Node, float]
    stds: dict[Node, float]


@dataclass(frozen=True)
class Run:
    """All rounds of one run, in order."""

    rounds: list[Round]


def beta(t: int, arity: int, h_max: int, theta: float) -> float:
    """Return beta_t = 2 log(M pi_t / theta) of Lemma 1, M = sum_{h <= h_max} K^h."""
    M = sum(arity**h for h in range(h_max + 1))
    return 2 * (math.log(M) + math.log(math.pi**2 * t**2 / 6) - math.log(theta))


def _first_of_best(values: dict[Node, float], tie: float) -> Node:
    """Return the node of highest value; of those tied, the shallowest, then the leftmost."""
    best = max(values.values())
    return min(node for node, value in values.items() if value >= best - tie)


def gpoo(
    bounds: ArrayLike,
    arity: int,
    s: int,
    k: Kernel,
    noise: float,
    measure: Callable[[Node, Array], float],
    budget: int,
    delta: Callable[[int], float],
    theta: float = 0.1,
    h_max: int = 10,
    prior_mean: float = 0.0,
    smallest: Sequence[float] | None = None,
) -> Run:
    """Run Algorithm 1 on a box, every posterior solved anew from all rewards so far.

    Parameters
    ----------
    bounds : (d, 2) array_like
        The whole space.
    arity, s : int
        Children per node, K, and representative points per axis, so that S = s^d.
    k, prior_mean : Kernel, float
        Prior covariance and constant prior mean of f.
    noise : float
        Standard deviation of a reward's noise; above 0 if a node may be measured twice.
    measure : callable
        Takes a node and its (d, 2) bounds, returns a reward.
    budget : int
        Number of rounds N.
    delta, theta, h_max : callable of the depth, float, int
        The smoothness function, and the constants of Lemma 1 and line 6.
    smallest : sequence of float, optional
        Least useful width of each axis; a cell is not cut into children narrower than this.
    """

    @cache
    def points(node: Node) -> Array:
        return representatives(cell(bounds, arity, node, smallest), s)

    def grown(prior: Array) -> Array:
        """Return the prior covariance of all nodes of the tree, given that of those it had before."""
        every, each, old = np.concatenate([points(node) for node in tree]), len(points(root)), len(prior)
        added = k(every[old * each :], every).reshape(len(tree) - old, each, len(tree), each).mean(axis=(1, 3))
        return np.block([[prior, added[:, :old].T], [added]])

    def children(node: Node) -> list[Node]:
        return [(node[0] + 1, arity * node[1] + j) for j in range(arity)]

    def too_small_to_cut(node: Node) -> bool:
        return len(axes_cut(bounds, arity, node[0] + 1, smallest)) <= node[0]

    def believe() -> tuple[dict[Node, float], dict[Node, float]]:
        rows = [tree.index(node) for node in visits]
        gram, cross = prior[np.ix_(rows, rows)], prior[:, rows]
        both = _condition(gram, cross, prior.diagonal(), rewards, [noise**2] * len(visits), prior_mean)
        means, stds = (dict(zip(tree, column.tolist(), strict=True)) for column in both)
        return means, stds

    root = (0, 0)
    tie = 1e-9 * math.sqrt(k(points(root)[:1], points(root)[:1]).item())
    tree, leaves, expanded = [root], {root}, set[Node]()
    prior = grown(np.zeros((0, 0)))
    visits, rewards, rounds = list[Node](), list[float](), list[Round]()
    means, stds = {root: prior_mean}, {root: math.sqrt(prior[0, 0])}
    for t in range(1, budget + 1):
        width = math.sqrt(beta(t, arity, h_max, theta))
        b_values = {node: means[node] + width * stds[node] + delta(node[0]) for node in leaves}
        node = _first_of_best(b_values, tie)  # line 2, on Z_{1:t-1}
        reward = float(measure(node, cell(bounds, arity, node, smallest)))  # line 3
        visits.append(node)
        rewards.append(reward)
        means, stds = believe()  # lines 4 and 5
        precise = delta(node[0]) >= width * stds[node]  # line 6, on Z_{1:t}
        expand = precise and node[0] <= h_max and node not in expanded
        if expand:
            expanded.add(node)
            if not too_small_to_cut(node):
                tree += children(node)  # line 7
                prior = grown(prior)
                leaves = (leaves - {node}) | set(children(node))  # line 8
                means, stds = believe()
        deepest = max((h for h, _ in expanded), default=0)
        candidates = {n: means[n] for n in expanded if n[0] == deepest}
        recommended = _first_of_best(candidates, tie) if candidates else root
        rounds.append(Round(node, reward, expand, recommended, means, stds))
    return Run(rounds)


# The reward functions of the experiments.


def reward_function(
    name: Literal["f1", "f2", "f3"], preset: Literal["paper", "authors"]
) -> Callable[[Array], Array]:
    """Return a reward function of the paper: a GP's posterior mean, from (n, 1) to (n,).

    The kernel variance is 0.1, and 0.005 the noise's std in the text, its variance in the code.
    The presets also differ in f1's lengthscale and in the number of regions of f2 and f3
    (fidelity rows 8 to 11).
    """
    if name == "f1":
        lengthscale = {"paper": 0.05, "authors": 0.1}[preset]
        x = np.array([0.05, 0.2, 0.4, 0.65, 0.9])
        y = np.array([0.85, 0.1, 0.87, 0.05, 0.98])
    else:
        lengthscale = {"f2": 0.05, "f3": 0.01}[name]
        regions = {"paper": 10, "authors": 9}[preset]
        width = 0.9 / regions
        centres = (np.arange(regions) + 0.5) * width
        x = np.concatenate([centres, centres + 2 / 3 * width, [0.95]])
        y = np.concatenate([np.full(regions, 0.1), np.full(regions, 0.2), [0.9]])
    if name == "f3":
        x = np.concatenate([x, [0.94, 0.945]])
        y = np.concatenate([y, [0.1, 0.2]])
    k = rbf(0.1, lengthscale)
    data = x[:, None]
    noise = {"paper": 0.005**2, "authors": 0.005}[preset]
    weights = np.linalg.solve(k(data, data) + noise * np.eye(len(x)), y)
    return lambda X: np.asarray(k(X, data) @ weights)


# What a measurement of any kind sees, an axis at a time: means over intervals of f or of its derivative.

Piece = tuple[float, float, float, int]  # weight, low, high, and how often f is differentiated along the axis
Pieces = tuple[Piece, ...]
Functional = list[list[Piece]]  # an axis at a time; the product over axes is what is seen


@cache
def profile(kind: float | str, order: int) -> Callable[[Array], Array]:
    """Return a derivative of the one-axis kernel at lengthscale one, of the difference of two places."""
    if kind == "rbf":
        powers: dict[int, Callable[[Array], Array | float]] = {
            0: lambda r: 1.0,
            1: lambda r: -r,
            2: lambda r: r * r - 1,
        }
        polynomial = powers[order]
        return lambda r: np.asarray(polynomial(r) * np.exp(-0.5 * r * r))
    assert isinstance(kind, float)
    c = math.sqrt(2 * kind)
    every: dict[
        tuple[float, int], Callable[[Array], Array]
    ] = {  # by nu and order, of s = c |r|; an odd derivative has the sign of r
        (0.5, 0): lambda s: 1.0 + 0 * s,
        (1.5, 0): lambda s: 1 + s,
        (1.5, 1): lambda s: -s,
        (1.5, 2): lambda s: s - 1,
        (2.5, 0): lambda s: 1 + s + s * s / 3,
        (2.5, 1): lambda s: -s * (1 + s) / 3,
        (2.5, 2): lambda s: (s * s - s - 1) / 3,
    }
    of_s = every[kind, order]

    def k(r: Array) -> Array:
        s = c * np.abs(r)
        return np.asarray(c**order * np.where(r < 0, (-1.0) ** order, 1.0) * of_s(s) * np.exp(-s))

    return k


@cache
def _legendre(nodes: int) -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(nodes)


def _rule(low: float, high: float, breaks: Sequence[float], nodes: int = 14) -> tuple[Array, Array]:
    """Return places and weights of the mean over an interval, in pieces between which a kernel may have kinks."""
    if low == high:
        return np.array([low]), np.ones(1)
    edges = np.array([low, *sorted(x for x in set(breaks) if low < x < high), high])
    x, w = _legendre(nodes)
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    return (middle[:, None] + half[:, None] * x).ravel(), (half[:, None] * w).ravel() / (high - low)


@cache  # measurements of one region have most of their axes in common
def _between(kind: float | str, lengthscale: float, some: Pieces, others: Pieces) -> float:
    """Return the sum of means of derivatives of the kernel over pairs of intervals, or of points."""
    total = 0.0
    for p, q in itertools.product((0, 1), (0, 1)):
        ours, theirs = ([own for own in each if own[3] == order] for each, order in ((some, p), (others, q)))
        if not ours or not theirs:
            continue
        k, sign = profile(kind, p + q), (-1.0) ** q
        points = [[(u, a) for u, a, b, _ in each if a == b] for each in (ours, theirs)]
        (u, x), (v, y) = (np.array(own).reshape(-1, 2).T for own in points)
        found = u @ k(np.subtract.outer(x, y) / lengthscale) @ v
        for one, other in itertools.product(ours, theirs):
            if one[1] < one[2] or other[1] < other[2]:
                found += _mean(k, lengthscale, one, other)
        total += sign * float(found) / lengthscale ** (p + q)
    return total


def _mean(k: Callable[[Array], Array], lengthscale: float, one: Piece, other: Piece) -> float:
    """Return the mean over two intervals, times their weights; the first is broken at each place of the second."""
    (u, a, b, _), (v, c, d, _) = one, other
    total = 0.0
    for y, weight in zip(*_rule(c, d, (a, b)), strict=True):
        x, shares = _rule(a, b, (y,))
        total += weight * float(shares @ k((x - y) / lengthscale))
    return u * v * total


def functional_covariance(
    variance: float, kind: float | str, lengthscales: Sequence[float], one: Functional, other: Functional
) -> float:
    """Return the prior covariance of what two measurements see, under a product of one-axis kernels."""
    each = zip(lengthscales, one, other, strict=True)
    return variance * math.prod(_between(kind, length, tuple(seen), tuple(also)) for length, seen, also in each)


def of_a_constant(seen: Functional) -> float:
    """Return what a measurement sees of f = 1: by this the prior mean enters."""
    return math.prod(sum(0.0 if order else weight for weight, _, _, order in pieces) for pieces in seen)
