"""The test problems for the paper's statements: functions with a known truth, and ways to search them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

import zonal as zn
from zonal import theory
from zonal.arrays import Floats
from zonal.policies.rules import Policy
from zonal.problems import PerWeight
from zonal.problems.functions import Field, climbed
from zonal.spaces import Node
from zonal.theory import bounds
from zonal.theory.bounds import Test
from zonal.theory.steepness import Smoothness, certified_constants

THETA = 0.1
ARITY = 2
ROUNDING = 1e-9


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
    test: Test  # when line 6 is tested

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
            return theory.lipschitz_constants(smooth.slopes, self.problem.h_max, THETA)
        if self.rule == "c = 14":
            return np.array([14 / self.reach])
        return np.array([float(self.rule.removeprefix("L = "))])

    @cached_property
    def deltas(self) -> Floats:
        """Delta by depth, down to h_max + 1."""
        space = self.problem.space
        reach = [space.reach(h, self.feedback) for h in range(self.problem.h_max + 2)]
        return np.array(reach) @ self.L

    def delta(self, depth: int) -> float:
        """Return delta(h); below h_max + 1 as if the tree continued."""
        last = len(self.deltas) - 1
        return float(self.deltas[min(depth, last)] * 0.5 ** (max(depth - last, 0) / self.problem.d))

    @property
    def policy(self) -> Policy:
        """The policy under test."""
        known = {"certified": zn.LipschitzDelta(certified=True), "heuristic": zn.LipschitzDelta()}
        delta = known.get(self.rule) or zn.LipschitzDelta(tuple(self.L))
        if self.algorithm == "StoOO":
            return zn.StoOO(delta, theta=THETA, h_max=self.problem.h_max)
        return zn.GPOO(delta, theta=THETA, h_max=self.problem.h_max, test=self.test)

    def noise(self, depth: int) -> float:
        """Return the sigma of the bounds; AVE-StoOO's are written for rewards in [0, 1], which is sigma 1."""
        return self.problem.noise_at(depth) if self.algorithm == "GPOO" else 1.0

    @property
    def beta(self) -> Callable[[int], float]:
        """beta_t."""
        if self.algorithm == "GPOO":
            return partial(theory.beta_t, log_m=theory.log_nodes(self.problem.counts[:-1]), theta=THETA)
        return partial(theory.beta_stooo, theta=THETA)

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
