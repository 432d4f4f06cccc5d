"""The library walks exactly as the paper's equations do, computed densely by `oracle.py`.

Run as a script, this file prints the walks of symmetric problems as JSON: that is how the walks on other BLAS
kernels, which are chosen when a process starts, are compared with those of this one.
"""

import json
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import threadpoolctl
from numpy.typing import NDArray

import oracle
import zonal as zn
from effort import tries
from zonal.kernels.base import Kernel

pytestmark = pytest.mark.one_in(2)

Array = NDArray[np.float64]
Function = Callable[[Array], Array]
Node = tuple[int, int]
Step = tuple[Node, Node]  # visited, then recommended

PAPER = zn.GeometricDelta(14, 0.5)


@dataclass(frozen=True)
class Problem:
    """One search, said once for the library and once for the oracle (`k` and `kernel` are the same kernel)."""

    bounds: tuple[tuple[float, float], ...]
    f: Function
    kernel: Kernel
    k: oracle.Kernel
    arity: int = 2
    s: int = 1
    noise: float = 0.1
    delta: Callable[[int], float] = PAPER
    theta: float = 0.1
    h_max: int = 10
    mean: float = 0.0
    smallest: tuple[float, ...] | None = None
    budget: int = tries(50, 80)

    def average(self, node: Node) -> float:
        """Return the true average over a node's representative points."""
        return float(self.f(oracle.representatives(self.cell(node), self.s)).mean())

    def cell(self, node: Node) -> Array:
        """Return a node's bounds as the oracle has them."""
        return oracle.cell(self.bounds, self.arity, node, self.smallest)

    def study(self) -> zn.Study:
        """Return the library's study of this problem."""
        return zn.Study(
            zn.Box(self.bounds, arity=self.arity, smallest=self.smallest),
            budget=self.budget,
            kernel=self.kernel,
            noise=self.noise,
            mean=self.mean,
            feedback=zn.Average(self.s),
            policy=zn.GPOO(delta=self.delta, theta=self.theta, h_max=self.h_max),
        )

    def dense(self, noise: Array) -> oracle.Run:
        """Return the oracle's run, with the given noise added to its rewards."""
        draws = iter(noise.tolist())
        return oracle.gpoo(
            self.bounds,
            self.arity,
            self.s,
            self.k,
            self.noise,
            lambda node, box: self.average(node) + next(draws),
            self.budget,
            self.delta,
            self.theta,
            self.h_max,
            self.mean,
            self.smallest,
        )


def paper_problem(name: str, s: int, arity: int) -> Problem:
    """Return one of the paper's experiments: the search's kernel has lengthscale 0.05 for all three."""
    f = oracle.reward_function(name, "authors")  # type: ignore[arg-type]
    return Problem(((0.0, 1.0),), f, zn.RBF(0.1, 0.05), oracle.rbf(0.1, 0.05), arity, s)


def sum_of(*kernels: oracle.Kernel) -> oracle.Kernel:
    return lambda X, Y: np.asarray(sum(k(X, Y) for k in kernels))


def noise_of(problem: Problem, seed: int) -> Array:
    return problem.noise * np.random.default_rng(seed).normal(size=problem.budget)


def assert_same_walk(problem: Problem, seed: int, tolerance: float = 1e-11) -> oracle.Run:
    """Follow the oracle round by round; means and stds of all nodes must agree to prior stds of a point."""
    run = problem.dense(noise_of(problem, seed))
    study = problem.study()
    expanded, visits = set[Node](), Counter[Node]()
    unit = math.sqrt(problem.kernel.point_variance)
    for number, expected in enumerate(run.rounds, start=1):
        where = f"round {number}, seed {seed}"
        trial = study.ask()
        assert trial.node == expected.node, where
        low_high = problem.cell(trial.node)
        scale = np.abs(low_high).max(axis=1, keepdims=True)
        assert np.all(np.abs(trial.region.bounds - low_high) <= 4e-16 * scale), where
        study.tell(trial, expected.reward)
        visits[trial.node] += 1
        if expected.expanded:
            expanded.add(expected.node)

        table = study.tree
        nodes: list[Node] = list(zip(table.depth.tolist(), table.index.tolist(), strict=True))
        assert {node for node, flag in zip(nodes, table.expanded, strict=True) if flag} == expanded, where
        assert table.count.tolist() == [visits[node] for node in nodes], where
        assert sorted(nodes) == sorted(expected.means), where
        best = study.recommend()
        assert best.node == expected.recommended, where

        means = np.array([expected.means[node] for node in nodes])
        stds = np.array([expected.stds[node] for node in nodes])
        assert np.max(np.abs(table.mean - means)) <= tolerance * unit, where
        assert np.max(np.abs(table.std - stds)) <= tolerance * unit, where
        assert best.mean == pytest.approx(expected.means[best.node], rel=0, abs=tolerance * unit), where
        assert best.std == pytest.approx(expected.stds[best.node], rel=0, abs=tolerance * unit), where
    return run


def waves(*frequencies: float) -> Function:
    """Return a function with several hills, a wave an axis."""
    return lambda X: np.asarray(np.sin(X * np.array(frequencies) + 0.4).sum(axis=1))


SKY = Problem(
    ((-180.0, 180.0), (-1.0, 1.0)),
    lambda X: np.exp(-0.5 * (((X - np.array([47.0, -0.3])) / np.array([40.0, 0.3])) ** 2).sum(axis=1)),
    zn.RBF(0.3, (50.0, 0.4)),
    oracle.rbf(0.3, (50.0, 0.4)),
    delta=zn.GeometricDelta(6, 0.7),
    s=3,
)
# Cut in two, its cells have edges and centres without rounding, so that the oracle's own coordinates are exact.
FAR_AWAY = Problem(
    ((1e6, 1e6 + 1), (-4096.0, -4094.0)),
    lambda X: np.cos(5 * (X[:, 0] - 1e6)) + np.sin(3 * (X[:, 1] + 4096)),
    zn.RBF(0.5, (0.25, 0.5)),
    oracle.rbf(0.5, (0.25, 0.5)),
    delta=zn.GeometricDelta(8, 0.7),
    s=4,
)
SOLID = Problem(
    ((0.0, 40.0), (-1.0, 1.0), (0.001, 0.004)),
    waves(0.1, 2.0, 900.0),
    zn.RBF(0.4, (12.0, 0.8, 0.0012)),
    oracle.rbf(0.4, (12.0, 0.8, 0.0012)),
    delta=zn.GeometricDelta(7, 0.75),
    s=2,
    h_max=12,
)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("arity", [2, 3])
@pytest.mark.parametrize("s", [1, 10])
@pytest.mark.parametrize("name", ["f1", "f2", "f3"])
def test_the_papers_experiments_walk_as_its_equations(name: str, s: int, arity: int, seed: int) -> None:
    run = assert_same_walk(paper_problem(name, s, arity), seed)
    assert sum(step.expanded for step in run.rounds) > 30  # there is something to compare


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("s", [1, 3])
@pytest.mark.parametrize("arity", [2, 3])
def test_a_plane_in_native_units_is_walked_as_by_the_equations(arity: int, s: int, seed: int) -> None:
    run = assert_same_walk(replace(SKY, arity=arity, s=s), seed)
    assert max(depth for depth, _ in run.rounds[-1].means) >= 4


@pytest.mark.parametrize("seed", range(3))
def test_a_plane_far_from_the_origin_is_walked_as_by_the_equations(seed: int) -> None:
    run = assert_same_walk(FAR_AWAY, seed)
    assert max(depth for depth, _ in run.rounds[-1].means) >= 5


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("arity", "s"), [(2, 1), (2, 2), (3, 2)])
def test_a_solid_in_native_units_is_walked_as_by_the_equations(arity: int, s: int, seed: int) -> None:
    run = assert_same_walk(replace(SOLID, arity=arity, s=s), seed)
    assert max(depth for depth, _ in run.rounds[-1].means) >= 4


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("problem", "least"),
    [
        (replace(paper_problem("f1", 10, 2), smallest=(0.06,)), 4),
        (replace(paper_problem("f3", 1, 3), smallest=(1 / 27,)), 3),
        (replace(SKY, smallest=(90.0, 0.25)), 5),
    ],
    ids=["line", "line in threes", "plane"],
)
def test_a_smallest_useful_size_is_walked_as_by_the_equations(problem: Problem, least: int, seed: int) -> None:
    run = assert_same_walk(problem, seed)
    bottom = max(depth for depth, _ in run.rounds[-1].means)
    assert bottom == least
    assert run.rounds[-1].recommended[0] == bottom  # a cell of that size was marked as if expanded


def test_a_prior_mean_is_walked_as_by_the_equations() -> None:
    shifted = paper_problem("f2", 10, 2)
    hills = shifted.f
    assert_same_walk(replace(shifted, f=lambda X: hills(X) + 37.5, mean=37.0), 0)
    assert_same_walk(replace(SKY, mean=-0.8), 1)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_matern_kernels_are_walked_as_by_the_equations(nu: float) -> None:
    line = replace(paper_problem("f1", 10, 2), kernel=zn.Matern(0.1, 0.1, nu=nu), k=oracle.matern(nu, 0.1, 0.1))
    assert_same_walk(line, 0)
    scales = (60.0, 0.5)
    assert_same_walk(replace(SKY, kernel=zn.Matern(0.4, scales, nu=nu), k=oracle.matern(nu, 0.4, scales)), 1)


def test_sums_of_kernels_are_walked_as_by_the_equations() -> None:
    line = replace(
        paper_problem("f3", 10, 3),
        kernel=zn.RBF(0.1, 0.3) + zn.Matern(0.05, 0.02, nu=1.5),
        k=sum_of(oracle.rbf(0.1, 0.3), oracle.matern(1.5, 0.05, 0.02)),
    )
    assert_same_walk(line, 0)
    plane = replace(
        SKY,
        kernel=zn.RBF(0.2, (90.0, 1.0)) + zn.Matern(0.1, (30.0, 0.2), nu=2.5) + zn.RBF(0.05, (10.0, 0.1)),
        k=sum_of(
            oracle.rbf(0.2, (90.0, 1.0)), oracle.matern(2.5, 0.1, (30.0, 0.2)), oracle.rbf(0.05, (10.0, 0.1))
        ),
    )
    assert_same_walk(plane, 1)


def test_other_settings_of_the_policy_are_walked_as_by_the_equations() -> None:
    def halting(depth: int) -> float:  # any callable will do
        return 3.0 / (1 + depth)

    assert_same_walk(replace(paper_problem("f1", 10, 2), theta=0.9, h_max=3), 0)
    assert_same_walk(replace(paper_problem("f2", 10, 2), delta=halting, theta=0.01, h_max=20), 1)


def ridge(X: Array) -> Array:
    """Return a function that does not change when any axis is mirrored, summed in one order everywhere."""
    return np.array([sum(math.cos(3 * x) + 0.1 * x * x for x in row) for row in X.tolist()])


def symmetric(d: int, arity: int, s: int, scale: float) -> Problem:
    """Return a problem without noise in its rewards, on a box mirrored at 0: its walk is full of ties."""
    bounds = tuple((-1.0, 1.0) for _ in range(d))
    return Problem(
        bounds,
        ridge,
        zn.RBF(0.5, scale),
        oracle.rbf(0.5, scale),
        arity,
        s,
        noise=0.2,
        delta=zn.GeometricDelta(10, 0.75),
        h_max=14,
    )


SYMMETRIC = [
    symmetric(1, 2, 10, 0.2),
    symmetric(1, 3, 1, 0.1),
    symmetric(2, 2, 5, 0.6),
    symmetric(2, 3, 1, 0.4),
    symmetric(3, 2, 2, 0.9),
    symmetric(3, 3, 1, 0.7),
]


@cache
def walk(problem: Problem) -> list[Step]:
    """Return the library's walk, with exact rewards."""
    study = problem.study()
    steps: list[Step] = []
    for _ in range(problem.budget):
        trial = study.ask()
        study.tell(trial, problem.average(trial.node))
        steps.append((trial.node, study.recommend(on_grid=True).node))
    return steps


def default_walk(d: int, budget: int, given: bool) -> list[Step]:
    """Return the walk of the default policy on a box mirrored at 0, its rewards exact; its advice now and then."""
    model: dict[str, Any] = {"kernel": zn.RBF(0.5, 0.4), "noise": 0.1} if given else {}
    study = zn.Study(zn.Box([(-1.0, 1.0)] * d), budget=budget, feedback=zn.Average(2), **model)
    steps: list[Step] = []
    for number in range(budget):
        trial = study.ask()
        study.tell(trial, float(ridge(trial.region.points).mean()))
        steps.append((trial.node, study.recommend(on_grid=True).node if number % 4 == 3 else trial.node))
    return steps


DEFAULTS = [
    (1, 30, True),
    (2, 50, True),
    (2, 20, False),
    (1, 20, False),
    (3, 12, False),
    (3, 40, True),
    (6, 12, True),
]


def architectures() -> set[str]:
    """Return the processors that the loaded BLAS libraries are running for."""
    return {str(library.get("architecture", "unknown")) for library in threadpoolctl.threadpool_info()}


def tied_rounds(problem: Problem, run: oracle.Run) -> int:
    """Count the rounds in which several leaves have the highest b-value, to rounding."""
    tied = 0
    for t, (before, step) in enumerate(zip(run.rounds, run.rounds[1:], strict=False), start=2):
        width = math.sqrt(oracle.beta(t, problem.arity, problem.h_max, problem.theta))
        b = {
            node: before.means[node] + width * before.stds[node] + problem.delta(node[0]) for node in before.means
        }
        leaves = [node for node in b if (node[0] + 1, node[1] * problem.arity) not in b]
        tied += sum(abs(b[node] - b[step.node]) <= 1e-10 for node in leaves) > 1
    return tied


@pytest.mark.parametrize("problem", SYMMETRIC, ids=lambda p: f"d={len(p.bounds)}, K={p.arity}")
def test_ties_are_broken_as_by_the_equations(problem: Problem) -> None:
    short = replace(problem, budget=50)
    run = short.dense(np.zeros(short.budget))
    assert walk(short) == [(step.node, step.recommended) for step in run.rounds]
    assert tied_rounds(short, run) >= 5


@pytest.mark.one_in(2)
@pytest.mark.parametrize("core", ["Haswell", "Nehalem"])
def test_another_blas_kernel_walks_the_same_way(core: str) -> None:
    environment = {**os.environ, "OPENBLAS_CORETYPE": core}
    answer = subprocess.run(
        [sys.executable, __file__], env=environment, capture_output=True, text=True, check=False
    )
    if answer.returncode < 0:
        pytest.skip(f"this processor cannot run OpenBLAS for {core}: ended by signal {-answer.returncode}")
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    if found["architectures"] != [core]:
        pytest.skip(f"this platform's BLAS ignores OPENBLAS_CORETYPE={core}: it runs {found['architectures']}")
    for here, there in zip(all_walks(), found["walks"], strict=True):
        assert [(tuple(node), tuple(best)) for node, best in there] == here


@cache
def all_walks() -> list[list[Step]]:
    """Return the walks that are compared between processors."""
    some = tries(3, 1)
    defaults = [default_walk(*setting) for setting in DEFAULTS[::some]]
    return [walk(problem) for problem in SYMMETRIC[::some]] + defaults


if __name__ == "__main__":
    print(json.dumps({"architectures": sorted(architectures()), "walks": all_walks()}))
