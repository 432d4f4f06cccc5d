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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonal.averages.covariance import ProductCovariance
from zonal.averages.feedback import Average, Footprints
from zonal.averages.kernels import RBF
from zonal.beliefs.gp import GaussianBelief
from zonal.errors import whole_number
from zonal.problems import grid_optimum
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
        self.optimum = grid_optimum(function)[1]
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


class AuthorsRun:
    """A run: its tree, a row a node, and what was measured and recommended so far.

    Attributes
    ----------
    recommended : list of (depth, index)
        The recommendation when n = 1, 2, ... measurements were made.
    visited : list of (depth, index)
        The nodes measured, in order.
    rewards : list of float
        What each measurement returned.
    expanded : list of (depth, index)
        The nodes split, in order; the root is among them even where it was never measured.
    parent, depth, leaf, count, total : array
        By row: the parent's row (the root is its own), the depth, whether there are no children, and number and
        sum of the node's own rewards.
    best : int
        The row recommended.
    """

    def __init__(
        self, task: Task, budget: int, rng: np.random.Generator, belief: GaussianBelief | None = None
    ) -> None:
        self._task = task
        self._budget = whole_number(budget, "budget", 1)
        self._rng = rng
        self._belief = belief
        self._nodes: list[Node] = []
        self.recommended: list[Node] = []
        self.visited: list[Node] = []
        self.rewards: list[float] = []
        self.expanded: list[Node] = []
        self.parent, self.depth = np.zeros((2, 0), dtype=np.intp)
        self.leaf = np.zeros(0, dtype=np.bool_)
        self.count, self.total = np.zeros((2, 0))
        self.best = 0
        self._add([(0, 0)], 0)

    @property
    def spent(self) -> bool:
        """Whether the budget is used up."""
        return len(self.rewards) >= self._budget

    def split(self, row: int) -> range:
        """Split a leaf and return the rows of its children."""
        (depth, index), arity, start = self._nodes[row], self._task.arity, len(self._nodes)
        self.expanded.append((depth, index))
        self.leaf[row] = False
        self._add([(depth + 1, arity * index + j) for j in range(arity)], row)
        return range(start, start + arity)

    def _add(self, nodes: list[Node], parent: int) -> None:
        new = len(nodes)
        self._nodes += nodes
        self.parent = np.append(self.parent, [parent] * new)
        self.depth = np.append(self.depth, [depth for depth, _ in nodes])
        self.leaf = np.append(self.leaf, [True] * new)
        self.count, self.total = (np.append(column, [0.0] * new) for column in (self.count, self.total))
        if self._belief is not None:
            self._belief.track(self._task.footprints(nodes))

    def measure(self, row: int) -> None:
        """Measure a node and learn from it.

        Open: a node is judged for recommendation when the next round begins, so the recommendation that goes with
        n measurements does not know what the n-th did to its node.
        """
        node = self._nodes[row]
        reward = self._task.average(node) + REWARD_STD * float(self._rng.standard_normal())
        self.recommended.append(self._nodes[self.best])
        self.visited.append(node)
        self.rewards.append(reward)
        self.count[row] += 1
        self.total[row] += reward
        if self._belief is not None:
            self._belief.observe(row, reward, LIKELIHOOD)


def _posterior(task: Task) -> GaussianBelief:
    """Return what rewards teach under the likelihood's variance, which is not that of the rewards."""
    return GaussianBelief(ProductCovariance(KERNEL, task.feedback, Box([(0, 1)]).axes))


def _std(posterior: GaussianBelief) -> Floats:
    """Return predicted standard deviations of *rewards*; the authors take them for those of the averages."""
    return np.sqrt(posterior.variance + LIKELIHOOD)


def _best(value: Floats) -> NDArray[np.intp]:
    """Return the rows of the highest value in order of creation: one, or those that tie."""
    return np.flatnonzero(value >= np.maximum.reduce(value) - TIE)


def delta(depth: NDArray[np.intp], c: float = C) -> Floats:
    """Return the bound delta(h) = c rho^h on how much f varies within cells of some depths."""
    return c * np.power(RHO, depth)


def gpoo_beta(n: int) -> float:
    """Return GPOO's beta after n measurements, 0.1 log(pi^2 n^2 / 0.6)."""
    return 0.1 * math.log(math.pi**2 * n**2 / (6 * ETA))


def search(
    f: Callable[[Floats], ArrayLike], algorithm: str, s: int, budget: int, rng: np.random.Generator, arity: int = 2
) -> dict[str, Any]:
    """Run one of the three procedures.

    Parameters
    ----------
    f : callable
        What is searched, as for `Task`.
    algorithm : {"GPOO", "StoOO", "GPTree"}
    s, arity : int
        S and K.
    budget : int
        Measurements.
    rng : Generator
        Where the noise comes from.

    Returns
    -------
    dict
        `regret` and `recommended` node at each budget, nodes `visited`, their `rewards`, nodes `expanded`.
    """
    task = Task(f, s, arity)
    if algorithm == "StoOO":  # whose widths depend on the budget: a run for each
        runs = [stooo(task, n, rng) for n in range(1, budget + 1)]
        last, recommended = runs[-1], [run.recommended[-1] for run in runs]
    else:
        last = {"GPOO": gpoo, "GPTree": gptree}[algorithm](task, budget, rng)
        recommended = last.recommended
    regret = [task.regret(node) for node in recommended]
    walk = {"visited": last.visited, "rewards": last.rewards, "expanded": last.expanded}
    return {"regret": regret, "recommended": recommended, **walk}


def gpoo(task: Task, budget: int, rng: np.random.Generator, c: float = C) -> AuthorsRun:
    """Run the authors' GPOO, with their c of delta or another.

    Nothing in it depends on the budget: one run serves every smaller one.

    Examples
    --------
    >>> from zonal.problems import reward_function
    >>> run = gpoo(Task(reward_function("f2"), s=1), 80, np.random.default_rng(0))
    >>> run.recommended[-1][0]
    7
    """
    posterior = _posterior(task)
    run = AuthorsRun(task, budget, rng, posterior)
    last = 0
    for last in run.split(0):
        # Open: until all children are measured, the one measured last stands in for the recommendation.
        run.best = last
        run.measure(last)
        if run.spent:
            break
    while not run.spent:
        width = math.sqrt(gpoo_beta(len(run.rewards))) * _std(posterior)
        bound = delta(run.depth, c)
        mean = posterior.mean
        value = np.where(run.leaf, mean + width + bound, -np.inf)
        if bound[last] >= width[last] and run.depth[last] <= H_MAX:
            run.split(last)
            value[last] = -np.inf
            # Open: both means are those of now; the recommendation's is not kept from when it was chosen.
            if (run.depth[last], mean[last]) > (run.depth[run.best], mean[run.best]):
                run.best = last
        last = int(_best(value)[0])  # children just created have no value yet
        run.measure(last)
    return run


def stooo(task: Task, budget: int, rng: np.random.Generator) -> AuthorsRun:
    """Run the authors' StoOO, with s > 1 AVE-StoOO, for one budget.

    Its widths depend on the budget, so that only the last recommendation counts.
    """
    run = AuthorsRun(task, budget, rng)
    half_log = math.log(budget**2 / ETA) / 2
    # Open: the root is measured like any node, and children compete in the very round that made them.
    row = 0
    run.measure(row)
    while not run.spent:
        if run.count[row] >= half_log / run.count[row]:
            run.split(row)
            if run.depth[row] > run.depth[run.best]:
                run.best = row
        value = (run.total + half_log) / np.maximum(run.count, 1) + delta(run.depth)
        value[run.count == 0] = np.inf
        value[~run.leaf] = -np.inf
        row = int(_best(value)[0])
        run.measure(row)
    return run


class GPTreeConstants(NamedTuple):
    """What the authors' GPTree computes from its horizon n and the arity K (fidelity.md, row 14)."""

    beta: float  # beta_n, the factor of standard deviations
    h_max: float  # the deepest depth at which nodes are refined
    variation: Floats  # V(h) for h = 0, 1, ..., one depth beyond any that a refined node can have


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
    """Run the authors' GPTree; `horizon` is the n of its constants.

    They set it to 80 and read that one run at every budget.
    """
    constants = gptree_constants(horizon, task.arity)
    beta, variation = constants.beta, constants.variation
    posterior = _posterior(task)
    run = AuthorsRun(task, budget, rng, posterior)
    # Open: the root is measured, and counted, before anything is refined. Otherwise all cells of a depth would
    # tie and the search would start at the left edge; theirs starts at the centre, and on f1 stays near it.
    run.measure(0)
    while not run.spent:
        spread = beta * _std(posterior)
        upper = posterior.mean + spread
        own = variation[run.depth]
        above = np.where(run.depth > 0, upper[run.parent] + variation[run.depth - 1], np.inf)
        # Open: cells far from all measurements tie, and in their code rounding decides. We take the newest: with
        # the oldest, regrets on f3 come out 2.8 standard errors too high.
        row = int(_best(np.where(run.leaf, np.minimum(upper, above) + own, -np.inf))[-1])
        if spread[row] <= own[row] and run.depth[row] <= constants.h_max:
            run.split(row)
            if run.depth[row] > run.depth[run.best]:
                run.best = row
        else:
            run.measure(row)
    return run
