"""The authors' procedure, as their published code ran it and not as the paper tells it.

Three searches over cells of [0, 1] with the constants behind the published pictures, written from the
description at the end of docs/fidelity.md. What the description leaves open was settled by the numbers measured
with their code; those places carry a comment that begins with "Open:". The `authors` preset alone uses this
room; it borrows the library's posterior and must not know its policies, searches or studies.

A node is (depth, index). A row is a node's place in order of creation, which is also the order in which ties
are decided: the authors keep leaves in a dictionary and take the first of the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonal.beliefs.gp import GaussianBelief
from zonal.covariance import ProductCovariance
from zonal.errors import whole_number
from zonal.feedback import Average, Footprints
from zonal.kernels import RBF

Floats = NDArray[np.float64]
Node = tuple[int, int]

KERNEL = RBF(0.1, 0.05)  # also for f3, whose own lengthscale is 0.01
LIKELIHOOD = 0.005  # a variance, though the paper calls it a standard deviation; predictions include it
REWARD_STD = 0.1
H_MAX = 10
C, RHO = 14.0, 0.5  # delta(h) = 14 / 2^h for every arity
ETA = 0.1  # error probability
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
            points = self.feedback.points(where.centers[0], where.widths[0])
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


class _Record:
    """A run under way: its tree, a row a node, and what was measured and recommended so far."""

    def __init__(self, task: Task, budget: int, rng: np.random.Generator) -> None:
        self._task = task
        self._rng = rng
        self._budget = whole_number(budget, "budget", 1)
        self.nodes: list[Node] = [(0, 0)]
        self.parent = np.zeros(1, dtype=np.intp)  # the root is its own
        self.depth = np.zeros(1, dtype=np.intp)
        self.leaf = np.ones(1, dtype=np.bool_)
        self.best = 0  # row recommended
        self.rewards: list[float] = []
        self._visited: list[Node] = []
        self._recommended: list[Node] = []
        self._expanded: list[Node] = []

    @property
    def n(self) -> int:
        """Measurements so far."""
        return len(self.rewards)

    @property
    def spent(self) -> bool:
        """Whether the budget is used up."""
        return self.n >= self._budget

    def split(self, row: int) -> range:
        """Split a leaf and return the rows of its children."""
        depth, index = self.nodes[row]
        arity = self._task.arity
        self._expanded.append((depth, index))
        self.nodes += [(depth + 1, arity * index + j) for j in range(arity)]
        self.leaf[row] = False
        self.parent = np.append(self.parent, np.full(arity, row))
        self.depth = np.append(self.depth, np.full(arity, depth + 1))
        self.leaf = np.append(self.leaf, np.ones(arity, dtype=np.bool_))
        return range(len(self.nodes) - arity, len(self.nodes))

    def measure(self, row: int) -> float:
        """Return a noisy average over the cell of `row`.

        Open: a node is judged for recommendation when the next round begins, so the recommendation that goes with
        n measurements does not know what the n-th did to its node.
        """
        node = self.nodes[row]
        reward = self._task.average(node) + REWARD_STD * float(self._rng.standard_normal())
        self.rewards.append(reward)
        self._visited.append(node)
        self._recommended.append(self.nodes[self.best])
        return reward

    def finish(self) -> AuthorsRun:
        """Return the run as a value."""
        return AuthorsRun(
            tuple(self._recommended), tuple(self._visited), tuple(self.rewards), tuple(self._expanded)
        )


class _GaussianRecord(_Record):
    """A run that learns by the posterior. Slots of the belief are rows of the tree."""

    def __init__(self, task: Task, budget: int, rng: np.random.Generator) -> None:
        super().__init__(task, budget, rng)
        self._belief = GaussianBelief(ProductCovariance(KERNEL, task.feedback, 1))
        self._belief.track(task.footprints(self.nodes))

    @property
    def mean(self) -> Floats:
        """Predicted mean of every node."""
        return self._belief.mean

    @property
    def std(self) -> Floats:
        """Predicted standard deviation of a *reward* of every node, which is what the authors use for f's."""
        return np.sqrt(self._belief.variance + LIKELIHOOD)

    def split(self, row: int) -> range:
        """Split a leaf and return the rows of its children."""
        rows = super().split(row)
        self._belief.track(self._task.footprints(self.nodes[rows.start :]))
        return rows

    def measure(self, row: int) -> float:
        """Measure and learn from it, with the likelihood's variance in place of the true noise."""
        reward = super().measure(row)
        self._belief.observe(row, reward, LIKELIHOOD)
        return reward


def delta(depth: NDArray[np.intp]) -> Floats:
    """Return the bound delta(h) = c rho^h on how much f varies within cells of some depths."""
    return C * np.power(RHO, depth)


def gpoo_beta(n: int) -> float:
    """Return GPOO's beta after n measurements, 0.1 log(pi^2 n^2 / 0.6)."""
    return 0.1 * math.log(math.pi**2 * n**2 / (6 * ETA))


def gpoo(task: Task, budget: int, rng: np.random.Generator) -> AuthorsRun:
    """Run the authors' GPOO. Nothing in it depends on the budget: one run serves every smaller one.

    Parameters
    ----------
    task : Task
        What is searched.
    budget : int
        Measurements, those of the root's children included.
    rng : Generator
        Where the noise comes from.

    Examples
    --------
    >>> from zonal.problems import reward_function
    >>> run = gpoo(Task(reward_function("f2"), s=1), 80, np.random.default_rng(0))
    >>> run.recommended[-1][0]
    7
    """
    record = _GaussianRecord(task, budget, rng)
    last = 0
    for last in record.split(0):
        # Open: until all children are measured, the one measured last stands in for the recommendation.
        record.best = last
        record.measure(last)
        if record.spent:
            return record.finish()
    while True:
        width = math.sqrt(gpoo_beta(record.n)) * record.std
        bound = delta(record.depth)
        value = np.where(record.leaf, record.mean + width + bound, -np.inf)
        if bound[last] >= width[last] and record.depth[last] <= H_MAX:
            record.split(last)
            value[last] = -np.inf
            # Open: both means are those of now; the recommendation's is not kept from when it was chosen.
            mean, depth = record.mean, record.depth
            if (depth[last], mean[last]) > (depth[record.best], mean[record.best]):
                record.best = last
        last = int(np.argmax(value))  # children just created have no value yet
        record.measure(last)
        if record.spent:
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
    record = _Record(task, budget, rng)
    total, count = np.zeros(1), np.zeros(1)
    half_log = math.log(budget**2 / ETA) / 2
    row = 0  # Open: the root is measured like any node, and new children compete in the round that made them.
    while True:
        total[row] += record.measure(row)
        count[row] += 1
        if record.spent:
            return record.finish()
        if count[row] >= half_log / count[row]:
            fresh = len(record.split(row))
            total, count = np.pad(total, (0, fresh)), np.pad(count, (0, fresh))
            if record.depth[row] > record.depth[record.best]:
                record.best = row
        tried = np.maximum(count, 1)
        value = np.where(count > 0, (total + half_log) / tried + delta(record.depth), np.inf)
        row = int(np.argmax(np.where(record.leaf, value, -np.inf)))


@dataclass(frozen=True)
class GPTreeConstants:
    """What the authors' GPTree computes from its horizon n and the arity K (fidelity.md, row 14).

    Attributes
    ----------
    beta : float
        beta_n, the factor of standard deviations.
    h_max : float
        The depth from which nodes are not refined.
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
    record = _GaussianRecord(task, budget, rng)
    # Open: the root is measured before anything is refined. (Without a measurement all cells of a depth tie and the
    # search would start at the left edge; on f1 it starts at the centre and stays there.)
    record.measure(0)
    while not record.spent:
        spread = beta * record.std
        upper = record.mean + spread
        own = variation[record.depth]
        above = np.where(record.depth > 0, upper[record.parent] + variation[record.depth - 1], np.inf)
        row = int(np.argmax(np.where(record.leaf, np.minimum(upper, above) + own, -np.inf)))
        if spread[row] <= own[row] and record.depth[row] <= constants.h_max:
            record.split(row)
            if record.depth[row] > record.depth[record.best]:
                record.best = row
        else:
            record.measure(row)
    return record.finish()
