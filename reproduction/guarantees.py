"""One search compared with the paper's statements, as printed and as they can be proved (docs/theory.md).

Test problems are functions with a known truth, and cases are ways to search them. For every statement a run keeps
two numbers: the smallest ratio of bound to truth in the run (the statement held if it is at least 1), and a
typical one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

import zonal as zn
from reproduction import bounds
from reproduction.sweeps import Answer, column
from zonal._types import Floats, Smoothness
from zonal.engine.noise import PerWeight
from zonal.policies import beta, deltas
from zonal.policies.lipschitz import certified_constants
from zonal.simulation import aggregated_regret
from zonal.simulation.functions import Field, climbed
from zonal.spaces import Node
from zonal.tree import TreeTable

Ratios = tuple[float, float]  # worst and typical

THETA = 0.1
ARITY = 2
ROUNDING = 1e-9

STEEP = "no slope exceeds L (Assumption 2)"
SMOOTH = "xi_1: f is smooth around x*"
INTERVALS = "xi_2: all confidence intervals hold"
XI = "xi (Lemma 1)"
NEAR = "|I_h| <= C [3 delta(h)]^-d (Lemma 2)"
EXPANDED = "expanded nodes lie in I_h, given xi (Lemma 3)"
STD = "std <= 1 / sqrt(sum of 1 / sigma_k^2) (Proposition 2)"
DRAWS = "draws <= beta_t sigma^2 / delta^2 (Lemma 4 as printed)"
DRAWS_RIGHT = "draws, put right (Lemma 4)"
COUNT = "N <= B_0 + sum |I_h| (1 + K B_{h+1}), given xi"
THEOREM = "R_N <= 3 delta(h_N) (Theorem 1 as printed)"
THEOREM_RIGHT = "R_n <= 3 delta(h_n) at all n <= N (Theorem 1, put right)"
DEEPEST = "R_n <= 3 delta(depth recommended) at all n <= N"
RATE = "R_N <= constant x rate (Corollary, put right)"
GIVEN_XI = (EXPANDED, COUNT)


@dataclass(frozen=True)
class Testbed:
    """Functions, how they are measured, and the tree on the unit cube, whose cells are halved."""

    name: str
    kernel: zn.RBF  # of the model, from which f is drawn unless it is the valley
    d: int  # axes
    noise: float | PerWeight  # of one measurement; the same, or growing as a cell shrinks
    h_max: int  # small, since the confidence intervals of all nodes are checked, not only those of the tree

    @property
    def space(self) -> zn.Box:
        """The unit cube."""
        return zn.Box([(0, 1)] * self.d, arity=ARITY)

    @property
    def counts(self) -> list[int]:
        """Nodes by depth, down to h_max + 1."""
        return [ARITY**h for h in range(self.h_max + 2)]

    @property
    def nodes(self) -> list[Node]:
        """All nodes down to h_max + 1."""
        return [(h, i) for h, count in enumerate(self.counts) for i in range(count)]

    def noise_at(self, depth: int) -> float:
        """Return the noise of one measurement of a cell of a depth."""
        if isinstance(self.noise, PerWeight):
            return (self.noise.std or 0.0) * math.sqrt(self.counts[depth])
        return self.noise

    @property
    def smooth(self) -> Smoothness:
        """How f varies."""
        axes, kernel = self.space.axes, self.kernel
        slopes = np.asarray(kernel.slopes(axes))
        return Smoothness(slopes, kernel.curvatures(axes), kernel.bends(axes), np.ones(self.d))


LINE = Testbed("d = 1", zn.RBF(variance=0.1, lengthscale=0.05), 1, 0.1, 7)
UNEVEN = Testbed("d = 1, noise by size", zn.RBF(variance=0.1, lengthscale=0.05), 1, PerWeight(0.03), 7)
SQUARE = Testbed("d = 2", zn.RBF(variance=0.1, lengthscale=0.5), 2, 0.1, 8)
VALLEY = Testbed("valley", zn.RBF(variance=1.0, lengthscale=0.1), 1, 0.01, 7)
PROBLEMS = {problem.name: problem for problem in (LINE, UNEVEN, SQUARE, VALLEY)}


@dataclass(frozen=True)
class Case:
    """A way to search."""

    where: str  # the problem
    algorithm: str  # GPOO or StoOO
    s: int  # representative points of a cell along an axis
    rule: str  # of delta: "certified" or "heuristic" (`LipschitzDelta`), "c = 14" (the paper's), or an L
    test: bounds.Test  # when line 6 is tested

    @property
    def problem(self) -> Testbed:
        """The test problem."""
        return PROBLEMS[self.where]

    @property
    def feedback(self) -> zn.Average:
        """What a measurement averages."""
        return zn.Average(self.s)

    @property
    def reach(self) -> float:
        """The largest distance between a sampled point and any point of the unit interval."""
        return self.feedback.along(self.problem.space.axes[0]).reach(1.0)

    @cached_property
    def L(self) -> Floats:
        """The Lipschitz constants with which delta fulfils Assumption 3 with equality."""
        smooth = self.problem.smooth
        if self.rule == "certified":
            return np.asarray(certified_constants(smooth, THETA))
        if self.rule == "heuristic":
            return deltas.lipschitz_constants(smooth.slopes, self.problem.h_max, THETA)
        if self.rule == "c = 14":
            return np.array([14 / self.reach])
        return np.array([float(self.rule.removeprefix("L = "))])

    @cached_property
    def deltas(self) -> Floats:
        """Delta by depth, down to h_max + 1."""
        space = self.problem.space
        reach = [space.partition.reach(h, self.feedback) for h in range(self.problem.h_max + 2)]
        return np.array(reach) @ self.L

    def delta(self, depth: int) -> float:
        """Return delta(h); below h_max + 1 as if the tree continued."""
        last = len(self.deltas) - 1
        return float(self.deltas[min(depth, last)] * 0.5 ** (max(depth - last, 0) / self.problem.d))

    def study(self, budget: int) -> zn.Study:
        """Return a search with the policy under test, not started yet."""
        where = self.problem
        deltas = {"certified": zn.LipschitzDelta(certified=True), "heuristic": zn.LipschitzDelta()}
        delta = deltas.get(self.rule) or zn.LipschitzDelta(tuple(self.L))
        policy: zn.Policy = zn.GPOO(delta, theta=THETA, h_max=where.h_max, test=self.test)
        if self.algorithm == "StoOO":
            policy = zn.StoOO(delta, theta=THETA, h_max=where.h_max)
        given: dict[str, Any] = {"kernel": where.kernel, "noise": where.noise, "feedback": self.feedback}
        return zn.Study(where.space, budget=budget, policy=policy, **given)

    def noise(self, depth: int) -> float:
        """Return the sigma of the bounds; AVE-StoOO's are written for rewards in [0, 1], which is sigma 1."""
        return self.problem.noise_at(depth) if self.algorithm == "GPOO" else 1.0

    @property
    def beta(self) -> Callable[[int], float]:
        """beta_t."""
        if self.algorithm == "GPOO":
            return partial(beta.beta_t, log_m=beta.log_nodes(self.problem.counts[:-1]), theta=THETA)
        return partial(beta.beta_stooo, theta=THETA)

    @property
    def steep(self) -> float:
        """The failure probability of xi_1 in Lemma 1: theta if L is certified, else a as printed."""
        if self.rule == "certified":
            return THETA
        rate = bounds.tail_rate(float(self.problem.smooth.slopes[0]))
        return bounds.smoothness_failure(float(self.L[0]), rate, self.problem.h_max)

    @property
    def promised(self) -> float:
        """The probability with which the theorem holds; AVE-StoOO's as claimed, which is true of this noise."""
        if self.algorithm == "StoOO":
            return bounds.event_probability_stooo(THETA)
        failure = max(THETA, bounds.interval_failure(self.problem.counts, THETA))
        return bounds.event_probability(self.steep, failure)


def valley(points: Floats) -> Floats:
    """Return a deep valley beside a low hill: one reward in it makes its cell certain to be bad."""
    return np.asarray(VALLEY.kernel(points, [[0.25], [0.7]]) @ [-2.5, 0.1])


class Truth:
    """The function of a seed, the same in every case of a problem, and what only the simulation knows about it."""

    def __init__(self, case: Case, seed: Sequence[int]) -> None:
        problem, noise = case.problem, np.random.default_rng([*seed, 1])
        field = Field(problem.kernel, problem.d, np.random.default_rng([*seed, 0]))
        self.f: Callable[[Floats], Floats] = valley if problem == VALLEY else field
        self.grid = np.linspace(0, 1, 4097 if problem.d == 1 else 129)  # of the points along an axis
        self.values = valley(self.grid[:, None]) if problem == VALLEY else field.on_grid(self.grid)
        top = np.unravel_index(np.argmax(self.values), self.values.shape)
        self.x_star = climbed(self.f, self.grid[list(top)], float(self.grid[1]))
        self.f_star = float(self.f(self.x_star[None, :])[0])
        self.lowest = float(self.values.min())
        self.instrument = zn.simulate(self.f, case.feedback, problem.noise, rng=noise)
        # True averages of all nodes down to h_max + 1.
        self.averages = {node: self.instrument.average(problem.space.cell(node)) for node in problem.nodes}


def search_run(budget: int, seed: list[int], **case_of: Any) -> Answer:
    """Draw a function, search it as in a `Case`, and return which statements held, and the numbers behind them."""
    case = Case(**case_of)
    true = Truth(case, seed)
    sizes, searched = near_sizes(case, true), search(case, true, budget)
    held = {SMOOTH: _all([smoothness(case, true)]), **searched.pop("held")}
    held[XI] = _all([held[SMOOTH][0], held[INTERVALS][0]])
    regret, depth = np.maximum(searched["regret"], 1e-12), np.array(searched["depth"])
    about = case.noise, case.delta, ARITY, sizes.__getitem__, case.problem.h_max, case.test
    proved = [bounds.proved_depth(n, case.beta(n), *about) for n in range(1, budget + 1)]
    bound = 3 * np.array(list(map(case.delta, proved)))
    held[THEOREM_RIGHT] = _last(bound / regret)
    held[DEEPEST] = _last(3 * case.deltas[depth] / regret)
    held[COUNT] = _last(_counts(case, sizes, depth) / np.arange(1, budget + 1))
    answer = {**searched, "bound": bound.tolist(), "range": true.f_star - true.lowest}
    if case.problem in (LINE, UNEVEN):
        answer |= _packing(case, true, sizes, regret, held)
    return {**answer, "held": held}


def steep_run(where: str, draws: int, seed: list[int]) -> Answer:
    """Draw functions of a problem without searching them; return the largest slope of each along each axis."""
    problem, rng = PROBLEMS[where], np.random.default_rng([*seed, 2])
    grid = np.linspace(0, 1, 1025 if problem.d == 1 else 65)
    fields = [Field(problem.kernel, problem.d, rng) for _ in range(draws)]
    slopes = [[float(np.abs(f.on_grid(grid, j)).max()) for j in range(problem.d)] for f in fields]
    return {"slopes": slopes}


def near_sizes(case: Case, true: Truth) -> list[int]:
    """Return the true number of nodes in I_h, depth by depth."""
    near = Counter(h for (h, _), average in true.averages.items() if average + 3 * case.delta(h) >= true.f_star)
    return [near[h] for h in range(case.problem.h_max + 2)]


def smoothness(case: Case, true: Truth) -> float:
    """Return the smallest L |x - x*| / (f* - f(x)) over representative points of cells with x*: xi_1 if >= 1."""
    space = case.problem.space
    cells = [space.cell(node, case.feedback) for node in case.problem.nodes]
    inside = [np.all((cell.bounds.T[0] <= true.x_star) & (true.x_star <= cell.bounds.T[1])) for cell in cells]
    points = np.concatenate([cell.points for cell, holds in zip(cells, inside, strict=True) if holds])
    allowed = np.abs(points - true.x_star) @ case.L + ROUNDING
    return float(np.min(allowed / np.maximum(true.f_star - true.f(points), ROUNDING)))


def search(case: Case, true: Truth, budget: int) -> dict[str, Any]:
    """Search, and compare every round with what the proofs say about it."""
    problem, study = case.problem, case.study(budget)
    nodes = problem.nodes
    cells = [problem.space.cell(node, case.feedback) for node in nodes]
    averages = np.array(list(true.averages.values()))
    lowest = np.array(nodes)[:, 0] > problem.h_max  # for these only the upper side is needed
    intervals, variance, draws, regret, depth = [], [], [], [], []
    for t in range(1, budget + 1):
        if case.algorithm == "GPOO":  # xi_2: all nodes, with Z_{1:t-1} and beta_t
            mean, std = study.predict(cells)
            error = np.where(lowest, averages - mean, np.abs(averages - mean))
            intervals.append(_slack(error, std, case.beta(t)))
        before = study.tree
        trial = study.ask()
        study.tell(trial, true.instrument(trial.region))
        tree = study.tree
        seen = np.flatnonzero(tree.count)
        if case.algorithm == "StoOO":  # its event: nodes measured so far, with T counted after round t
            averages_seen = np.array([true.averages[int(tree.depth[row]), int(tree.index[row])] for row in seen])
            intervals.append(_slack(np.abs(tree.mean[seen] - averages_seen), tree.std[seen], case.beta(t)))
        noise = np.array([case.noise(int(h)) for h in tree.depth[seen]])
        variance.append(noise / np.sqrt(tree.count[seen]) / tree.std[seen])
        draws.append(_draw(case, true, trial.node, t, before, tree))
        best: Any = study.recommend(on_grid=True).region
        regret.append(aggregated_regret(true.instrument, best, true.f_star))
        depth.append(best.node[0])
    of = {key: column(draws, key) for key in draws[0]}
    weighed = of["depth"] <= problem.h_max
    split = weighed & (of["expanded"] > 0)
    held = {
        INTERVALS: _all(intervals),
        EXPANDED: _all(1 / np.maximum(of["gap"][split], ROUNDING)),
        STD: _all(np.concatenate(variance)),
        DRAWS: _all((of["bound"] / of["count"])[weighed]),
        DRAWS_RIGHT: _all((of["most"] / of["count"])[weighed]),
    }
    late = float(np.mean(of["late"][split])) if split.any() else 0.0
    return {"held": held, "regret": regret, "depth": depth, "draws": draws, "late": late}


def _slack(error: Floats, std: Floats, beta: float) -> float:
    """Return the smallest ratio of CI to error: the confidence intervals hold if it is at least 1."""
    return float(np.min((math.sqrt(beta) * std + ROUNDING) / np.maximum(error, ROUNDING)))


def _draw(case: Case, true: Truth, node: Node, t: int, before: TreeTable, after: TreeTable) -> dict[str, Any]:
    """Return the quantities of Lemmas 3 and 4 for the node measured in round t."""
    depth, index = node
    row = int(np.flatnonzero((after.depth == depth) & (after.index == index))[0])
    numbers = case.beta(t), case.noise(depth), case.delta(depth)
    expanded = bool(after.expanded[row] and not before.expanded[row])
    return {
        "gap": (true.f_star - true.averages[node]) / (3 * case.delta(depth)),  # in I_h: at most 1
        "bound": bounds.draw_bound(*numbers),
        "most": bounds.most_draws(*numbers, case.test, expanded),
        "late": bool(math.sqrt(case.beta(t)) * before.std[row] > case.delta(depth)),
        "depth": depth,
        "count": int(after.count[row]),
        "expanded": expanded,
    }


def _counts(case: Case, sizes: list[int], depth: Floats) -> Floats:
    """Return the largest n that the proof of Theorem 1 allows, given the deepest expanded depth after n of them.

    The depth recommended is that one; nothing is claimed when it is h_max. Before anything is expanded, n <= B_0.
    """
    most, h_max = np.full(len(depth), np.inf), case.problem.h_max
    for i in np.flatnonzero(depth < h_max):
        numbers = [(case.beta(int(i) + 1), case.noise(h), case.delta(h), case.test) for h in range(h_max + 1)]
        draws = [bounds.most_draws(*number, expanded=False) for number in numbers]
        inside = sizes[: depth[i] + 1]
        most[i] = draws[0] + sum(size * (1 + ARITY * draws[h + 1]) for h, size in enumerate(inside))
    return most


def _packing(case: Case, true: Truth, sizes: list[int], regret: Floats, held: dict[str, Ratios]) -> dict[str, Any]:
    """Add the statements that need d and C of Definition 4, which are estimated from f itself."""
    deltas, budget = case.deltas.tolist(), len(regret)
    nu = bounds.shape_constant(1 - case.reach, deltas[0])
    near = bounds.near_optimality(true.grid, true.values, true.f_star, nu / 3, [3 * delta for delta in deltas])
    allowed = [bounds.near_optimal_nodes(delta, near) for delta in deltas]
    held[NEAR] = _all(np.array(allowed) / np.maximum(sizes, 1))
    if case.problem is UNEVEN:
        return {"d": near.d, "C": near.C}
    noise, beta = case.noise(0), case.beta(budget)
    printed = bounds.regret_depth(budget, beta, noise, case.delta, ARITY, near)
    held[THEOREM] = _all([3 * case.delta(printed) / float(regret[-1])])
    floor = 3 * deltas[case.problem.h_max]
    about = noise, deltas[0], 1 / ARITY, ARITY, near, case.test
    rates = [max(floor, bounds.proved_rate(n, case.beta(n), *about)) for n in range(1, budget + 1)]
    held[RATE] = _last(np.array(rates) / regret)
    return {"d": near.d, "C": near.C, "rate": rates}


def _all(ratios: list[float] | Floats) -> Ratios:
    """Return the worst and the median; infinity if there is nothing to compare."""
    return (float(np.min(ratios)), float(np.median(ratios))) if np.size(ratios) else (math.inf, math.inf)


def _last(ratios: Floats) -> Ratios:
    """Return the worst and the last."""
    return float(np.min(ratios)), float(ratios[-1])
