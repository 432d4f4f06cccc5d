"""The authors' procedure, as their published code ran it and not as the paper tells it.

Three searches over cells of [0, 1] with the constants behind the published pictures, written from the
description at the end of docs/fidelity.md. What the description leaves open was settled by the numbers measured
with their code; those places carry a comment that begins with "Open:". The `authors` preset alone uses this
room; it borrows the library's posterior and must not know its policies, searches or studies.

A node is (depth, index). A row is a node's place in order of creation. The authors keep leaves in a dictionary
and take the first of the best, so ties go to the older row, in GPOO and StoOO at least.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonal.averages.covariance import ProductCovariance
from zonal.averages.feedback import Average, Footprints
from zonal.averages.kernels import RBF
from zonal.beliefs.gp import GaussianBelief
from zonal.errors import whole_number
from zonal.spaces import Box

Floats = NDArray[np.float64]
Node = tuple[int, int]

KERNEL = RBF(0.1, 0.05)  # also for f3, whose own lengthscale is 0.01
LIKELIHOOD = 0.005  # a variance, though the paper calls it a standard deviation; predictions include it
REWARD_STD = 0.1
H_MAX = 10
C, RHO = 14.0, 0.5  # delta(h) = 14 / 2^h for every arity
ETA = 0.1  # error probability
TIE = 1e-9 * math.sqrt(KERNEL.variance)  # closer values are equal, as in the library's policies
GRID = np.linspace(0, 1, 1000)  # where f* is sought


@dataclass(frozen=True)
class AuthorsRun:
    """What one run did.

    Attributes
    ----------
    recommended : tuple of (depth, index)
        The recommendation when n = 1 .. budget measurements were made.
    visited : tuple of (depth, index)
        The nodes measured, in order.
    rewards : tuple of float
        What each measurement returned.
    expanded : tuple of (depth, index)
        The nodes split, in order; the root is among them even where it was never measured.
    """

    recommended: tuple[Node, ...]
    visited: tuple[Node, ...]
    rewards: tuple[float, ...]
    expanded: tuple[Node, ...]


class Task:
    """A reward function and what is seen of it: averages over s points of cells split into `arity` parts.

    Share a task between runs: it remembers the average over each cell.

    Parameters
    ----------
    function : callable
        Vectorised: points of shape (n, 1) in [0, 1] to values of shape (n,). See `zonal.problems.reward_function`.
    s : int
        S, representative points of a cell; 1 is its centre.
    arity : int
        K, children of a node.

    Examples
    --------
    >>> from zonal.problems import reward_function
    >>> task = Task(reward_function("f2", "authors"), s=10)
    >>> round(task.regret((4, 15)), 4)
    0.0925
    """

    def __init__(self, function: Callable[[Floats], ArrayLike], s: int, arity: int = 2) -> None:
        self.function = function
        self.feedback = Average(s)
        self.arity = whole_number(arity, "arity", 2)
        self.optimum = float(np.max(np.asarray(function(GRID[:, None]))))
        self._averages: dict[Node, float] = {}

    def average(self, node: Node) -> float:
        """Return the true average of the function over a cell's representative points."""
        if node not in self._averages:
            where = self.footprints([node])
            places, _ = self.feedback.nodes(Box([(0, 1)]).axes[0], float(where.widths[0, 0]))
            points = (where.centers[0] + places)[:, None]
            self._averages[node] = float(np.mean(np.asarray(self.function(points))))
        return self._averages[node]

    def regret(self, node: Node) -> float:
        """Return the aggregated regret of recommending `node`, against the best of 1,000 grid points."""
        return self.optimum - self.average(node)

    def regrets(self, run: AuthorsRun) -> Floats:
        """Return the aggregated regret of a run after each of its measurements, shape (budget,)."""
        return np.array([self.regret(node) for node in run.recommended])

    def footprints(self, nodes: list[Node]) -> Footprints:
        """Return where measurements of some cells look."""
        widths = np.array([[1 / self.arity**depth] for depth, _ in nodes])
        halves = np.array([[index + 0.5] for _, index in nodes])
        return Footprints(halves * widths, widths)


class _Learner(Protocol):
    """What rewards teach about the nodes, which it knows by row."""

    def grow(self, nodes: list[Node]) -> None:
        """Take in new nodes, which get the next rows."""

    def learn(self, row: int, reward: float) -> None:
        """Take in one reward."""


class _Posterior:
    """The posterior under the likelihood's variance, which is not that of the rewards."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._belief = GaussianBelief(ProductCovariance(KERNEL, task.feedback, Box([(0, 1)]).axes))

    @property
    def mean(self) -> Floats:
        """Predicted mean of every node."""
        return self._belief.mean

    @property
    def std(self) -> Floats:
        """Predicted standard deviation of a *reward* of every node; the authors take it for the average's."""
        return np.sqrt(self._belief.variance + LIKELIHOOD)

    def grow(self, nodes: list[Node]) -> None:
        """Take in new nodes, which get the next rows."""
        self._belief.track(self._task.footprints(nodes))

    def learn(self, row: int, reward: float) -> None:
        """Take in one reward."""
        self._belief.observe(row, reward, LIKELIHOOD)


class _Counts:
    """Sum and number T of every node's own rewards."""

    def __init__(self) -> None:
        self.total = np.zeros(0)
        self.count = np.zeros(0)

    def grow(self, nodes: list[Node]) -> None:
        """Take in new nodes, which get the next rows."""
        self.total = np.pad(self.total, (0, len(nodes)))
        self.count = np.pad(self.count, (0, len(nodes)))

    def learn(self, row: int, reward: float) -> None:
        """Take in one reward."""
        self.total[row] += reward
        self.count[row] += 1


class _Record:
    """A run under way: its tree, a row a node, and what was measured and recommended so far."""

    def __init__(self, task: Task, budget: int, rng: np.random.Generator, learner: _Learner) -> None:
        self._task = task
        self._budget = whole_number(budget, "budget", 1)
        self._rng = rng
        self._learner = learner
        self._nodes: list[Node] = [(0, 0)]
        self.parent = np.zeros(1, dtype=np.intp)  # the root is its own
        self.depth = np.zeros(1, dtype=np.intp)
        self.leaf = np.ones(1, dtype=np.bool_)
        self.best = 0  # row recommended
        self._recommended: list[Node] = []
        self._visited: list[Node] = []
        self._rewards: list[float] = []
        self._expanded: list[Node] = []
        learner.grow(self._nodes)

    @property
    def n(self) -> int:
        """Measurements so far."""
        return len(self._rewards)

    @property
    def spent(self) -> bool:
        """Whether the budget is used up."""
        return self.n >= self._budget

    def split(self, row: int) -> range:
        """Split a leaf and return the rows of its children."""
        (depth, index), arity, start = self._nodes[row], self._task.arity, len(self._nodes)
        children = [(depth + 1, arity * index + j) for j in range(arity)]
        self._nodes += children
        self._expanded.append((depth, index))
        self.leaf[row] = False
        self.leaf = np.append(self.leaf, np.ones(arity, dtype=np.bool_))
        self.parent = np.append(self.parent, np.full(arity, row))
        self.depth = np.append(self.depth, np.full(arity, depth + 1))
        self._learner.grow(children)
        return range(start, start + arity)

    def measure(self, row: int) -> None:
        """Measure a node and learn from it.

        Open: a node is judged for recommendation when the next round begins, so the recommendation that goes with
        n measurements does not know what the n-th did to its node.
        """
        node = self._nodes[row]
        reward = self._task.average(node) + REWARD_STD * float(self._rng.standard_normal())
        self._recommended.append(self._nodes[self.best])
        self._visited.append(node)
        self._rewards.append(reward)
        self._learner.learn(row, reward)

    def finish(self) -> AuthorsRun:
        """Return the run as a value."""
        return AuthorsRun(
            tuple(self._recommended), tuple(self._visited), tuple(self._rewards), tuple(self._expanded)
        )


def _best(value: Floats) -> NDArray[np.intp]:
    """Return the rows of the highest value in order of creation: one, or those that tie."""
    return np.flatnonzero(value >= np.maximum.reduce(value) - TIE)


def delta(depth: NDArray[np.intp], c: float = C) -> Floats:
    """Return the bound delta(h) = c rho^h on how much f varies within cells of some depths."""
    return c * np.power(RHO, depth)


def gpoo_beta(n: int) -> float:
    """Return GPOO's beta after n measurements, 0.1 log(pi^2 n^2 / 0.6)."""
    return 0.1 * math.log(math.pi**2 * n**2 / (6 * ETA))


def gpoo(task: Task, budget: int, rng: np.random.Generator, c: float = C) -> AuthorsRun:
    """Run the authors' GPOO. Nothing in it depends on the budget: one run serves every smaller one.

    Parameters
    ----------
    task : Task
        What is searched.
    budget : int
        Measurements, those of the root's children included.
    rng : Generator
        Where the noise comes from.
    c : float
        Of delta.

    Examples
    --------
    >>> from zonal.problems import reward_function
    >>> run = gpoo(Task(reward_function("f2"), s=1), 80, np.random.default_rng(0))
    >>> run.recommended[-1][0]
    7
    """
    posterior = _Posterior(task)
    record = _Record(task, budget, rng, posterior)
    last = 0
    for last in record.split(0):
        # Open: until all children are measured, the one measured last stands in for the recommendation.
        record.best = last
        record.measure(last)
        if record.spent:
            break
    while not record.spent:
        width = math.sqrt(gpoo_beta(record.n)) * posterior.std
        bound = delta(record.depth, c)
        mean = posterior.mean
        value = np.where(record.leaf, mean + width + bound, -np.inf)
        if bound[last] >= width[last] and record.depth[last] <= H_MAX:
            record.split(last)
            value[last] = -np.inf
            # Open: both means are those of now; the recommendation's is not kept from when it was chosen.
            if (record.depth[last], mean[last]) > (record.depth[record.best], mean[record.best]):
                record.best = last
        last = int(_best(value)[0])  # children just created have no value yet
        record.measure(last)
    return record.finish()


def stooo(task: Task, budget: int, rng: np.random.Generator) -> AuthorsRun:
    """Run the authors' StoOO for one budget, which its widths depend on; only the last recommendation counts.

    Parameters
    ----------
    task : Task
        What is searched; with s > 1 this is AVE-StoOO.
    budget : int
        Measurements.
    rng : Generator
        Where the noise comes from.
    """
    counts = _Counts()
    record = _Record(task, budget, rng, counts)
    half_log = math.log(budget**2 / ETA) / 2
    # Open: the root is measured like any node, and children compete in the very round that made them.
    row = 0
    record.measure(row)
    while not record.spent:
        if counts.count[row] >= half_log / counts.count[row]:
            record.split(row)
            if record.depth[row] > record.depth[record.best]:
                record.best = row
        tried = counts.count > 0
        value = (counts.total + half_log) / np.maximum(counts.count, 1) + delta(record.depth)
        value[~tried] = np.inf
        value[~record.leaf] = -np.inf
        row = int(_best(value)[0])
        record.measure(row)
    return record.finish()


@dataclass(frozen=True)
class GPTreeConstants:
    """What the authors' GPTree computes from its horizon n and the arity K (fidelity.md, row 14).

    Attributes
    ----------
    beta : float
        beta_n, the factor of standard deviations.
    h_max : float
        The deepest depth at which nodes are refined.
    variation : array
        V(h) for h = 0, 1, ..., one depth beyond any a refined node can have.
    """

    beta: float
    h_max: float
    variation: Floats


def gptree_constants(horizon: int, arity: int = 2) -> GPTreeConstants:
    """Return GPTree's constants for a run meant to make `horizon` measurements."""
    alpha = rho = 0.5
    u = 2.0
    log_n = math.log(horizon)
    h_max = log_n * (1 + 1 / alpha) / (2 * alpha * math.log(1 / rho))
    depth = np.arange(math.floor(h_max) + 2)
    g = 0.1 * np.power(rho, depth)
    c4 = 1 + 2 * math.log(horizon**2 * math.pi**2 / 6)
    root = np.sqrt(2 * u + c4 + depth * math.log(arity) + 4 * np.log(1 / g))
    return GPTreeConstants(0.25 * math.sqrt(log_n + u), h_max, 4 * g * (root + 1))


def gptree(task: Task, budget: int, rng: np.random.Generator, horizon: int = 80) -> AuthorsRun:
    """Run the authors' GPTree. They set its horizon to 80 and read that one run at every budget.

    Parameters
    ----------
    task : Task
        What is searched.
    budget : int
        Measurements.
    rng : Generator
        Where the noise comes from.
    horizon : int
        The n of its constants.
    """
    constants = gptree_constants(horizon, task.arity)
    beta, variation = constants.beta, constants.variation
    posterior = _Posterior(task)
    record = _Record(task, budget, rng, posterior)
    # Open: the root is measured, and counted, before anything is refined. Otherwise all cells of a depth would
    # tie and the search would start at the left edge; theirs starts at the centre, and on f1 stays near it.
    record.measure(0)
    while not record.spent:
        spread = beta * posterior.std
        upper = posterior.mean + spread
        own = variation[record.depth]
        above = np.where(record.depth > 0, upper[record.parent] + variation[record.depth - 1], np.inf)
        # Open: cells far from all measurements tie, and in their code rounding decides. We take the newest: with
        # the oldest, regrets on f3 come out 2.8 standard errors too high.
        row = int(_best(np.where(record.leaf, np.minimum(upper, above) + own, -np.inf))[-1])
        if spread[row] <= own[row] and record.depth[row] <= constants.h_max:
            record.split(row)
            if record.depth[row] > record.depth[record.best]:
                record.best = row
        else:
            record.measure(row)
    return record.finish()
