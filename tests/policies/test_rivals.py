"""StoOO and GPTree against plain, dense implementations of their descriptions that share no code with ours."""

from __future__ import annotations

import math

import numpy as np
import pytest

import oracle
import zonal as zn
from zonal.simulation import RewardFunction

BOUNDS = np.array([[0.0, 1.0]])
Node = tuple[int, int]


def noisy(seed: int) -> tuple[list[float], RewardFunction]:
    return (np.random.default_rng(seed).standard_normal(200) * 0.1).tolist(), zn.reward_function("f2")


def true_average(f: RewardFunction, node: Node, s: int, arity: int) -> float:
    return float(f(oracle.representatives(oracle.cell(BOUNDS, arity, node), s)).mean())


def children(node: Node, arity: int) -> list[Node]:
    return [(node[0] + 1, arity * node[1] + j) for j in range(arity)]


@pytest.mark.parametrize(("s", "arity"), [(1, 2), (10, 2), (10, 3)])
def test_stooo_walks_as_the_appendix_says(s: int, arity: int) -> None:
    noise, f = noisy(3)
    theta, rewards = 0.1, dict[Node, list[float]]()

    def delta(h: int) -> float:
        return 14 * 0.5**h

    leaves, expanded, walk, recommended = [(0, 0)], list[Node](), list[Node](), list[Node]()
    for t in range(1, 81):

        def index(node: Node, t: int = t) -> float:
            seen = rewards.get(node, [])
            if not seen:
                return math.inf
            return float(np.mean(seen)) + math.sqrt(2 * math.log(t**2 / theta) / len(seen)) + delta(node[0])

        best = max(index(node) for node in leaves)
        node = min(leaf for leaf in leaves if index(leaf) >= best - 1e-9 * math.sqrt(0.1))
        walk.append(node)
        rewards.setdefault(node, []).append(true_average(f, node, s, arity) + noise[t])
        if len(rewards[node]) >= 2 * math.log(t**2 / theta) / delta(node[0]) ** 2:
            leaves.remove(node)
            leaves += children(node, arity)
            expanded.append(node)
        deepest = [one for one in expanded if one[0] == max(h for h, _ in expanded)]
        recommended.append(max(deepest, key=lambda one: float(np.mean(rewards[one])), default=(0, 0)))

    study = zn.Study(
        zn.Box([(0, 1)], arity=arity),
        budget=80,
        feedback=zn.Average(s),
        policy=zn.StoOO(zn.GeometricDelta(14, 0.5)),
    )
    for t in range(1, 81):
        trial = study.ask()
        assert trial.node == walk[t - 1], t
        study.tell(trial, true_average(f, trial.node, s, arity) + noise[t])
        assert study.recommend().node == recommended[t - 1], t
    assert study.recommend().mean == pytest.approx(np.mean(rewards[study.recommend().node]))


@pytest.mark.parametrize(("s", "n"), [(1, 60), (4, 30)])
def test_gptree_walks_as_its_description_says(s: int, n: int) -> None:
    noise, f = noisy(5)
    rho, u = 0.5, 2.0
    h_max = math.log(n) * 3 / (2 * 0.5 * math.log(2))
    beta_n = 0.25 * math.sqrt(math.log(n) + u)
    c4 = 1 + 2 * math.log(n**2 * math.pi**2 / 6)
    k = oracle.rbf(0.1, 0.05)

    def variation(h: int) -> float:
        g = 0.1 * rho**h
        return 4 * g * (math.sqrt(2 * u + c4 + h * math.log(2) + 4 * math.log(1 / g)) + 1)

    tree, leaves, walk = [(0, 0)], [(0, 0)], list[Node]()
    blocks, rewards = list[np.ndarray](), list[float]()
    for t in range(n):
        while True:
            tests = [oracle.representatives(oracle.cell(BOUNDS, 2, node), s) for node in tree]
            mean, std = oracle.posterior(k, blocks, rewards, [0.01] * len(rewards), tests)
            upper = {node: m + beta_n * d for node, m, d in zip(tree, mean, std, strict=True)}
            spread = dict(zip(tree, std, strict=True))

            def index(node: Node, upper: dict[Node, float] = upper) -> float:
                h, i = node
                bound = upper[node]
                if h > 0:
                    bound = min(bound, upper[h - 1, i // 2] + variation(h - 1))
                return bound + variation(h)

            best = max(index(leaf) for leaf in leaves)
            node = min(leaf for leaf in leaves if index(leaf) >= best - 1e-9 * math.sqrt(0.1))
            if not (beta_n * spread[node] <= variation(node[0]) and node[0] <= h_max):
                break
            leaves.remove(node)
            leaves += children(node, 2)
            tree += children(node, 2)
        walk.append(node)
        blocks.append(oracle.representatives(oracle.cell(BOUNDS, 2, node), s))
        rewards.append(true_average(f, node, s, 2) + noise[t])

    study = zn.Study(
        [(0, 1)], budget=n, kernel=zn.RBF(0.1, 0.05), noise=0.1, feedback=zn.Average(s), policy=zn.GPTree()
    )
    for t in range(n):
        trial = study.ask()
        assert trial.node == walk[t], t
        study.tell(trial, true_average(f, trial.node, s, 2) + noise[t])
    table = study.tree
    assert set(zip(table.depth.tolist(), table.index.tolist(), strict=True)) == set(tree)


def test_gptree_recommends_a_deepest_refined_node_with_a_measurement_within() -> None:
    study = zn.Study([(0, 1)], budget=40, kernel=zn.RBF(0.1, 0.05), noise=0.1, policy=zn.GPTree())
    study.ask()
    assert study.tree.expanded.any()  # refined before anything was measured
    assert study.recommend().node == (0, 0)
    study.fail(0)
    study.optimize(zn.simulate(zn.reward_function("f2"), zn.Mean(), noise=0.1, rng=0))
    table = study.tree
    row = int(
        np.flatnonzero((table.depth == study.recommend().node[0]) & (table.index == study.recommend().node[1]))[0]
    )
    assert table.expanded[row]
    assert study.recommend().node[0] == table.depth[table.expanded].max()


def test_stooo_needs_neither_kernel_nor_noise_and_says_what_it_cannot_do() -> None:
    study = zn.Study([(0, 1)], budget=5, policy=zn.StoOO(zn.GeometricDelta(1)))
    study.tell(study.ask(), 0.5)
    assert study.predict(study.space.cell((0, 0))) == (0.5, 1.0)
    with pytest.raises(zn.InvalidInput, match="outside the tree"):
        study.predict([(0.1, 0.3)])
    with pytest.raises(zn.InvalidInput, match="only from measurements of that region"):
        study.observe([(0.1, 0.3)], 0.4)
    with pytest.raises(zn.InvalidInput, match="Gaussian belief"):
        study.refine(lambda x: 0.0, 5, points=[[0.5]])


@pytest.mark.parametrize(
    "bad", [{"alpha": 0}, {"rho": 1}, {"u": -1}, {"slope": 0}, {"beta": float("nan")}, {"h_max": -1}]
)
def test_gptree_refuses_constants_that_make_no_sense(bad: dict[str, float]) -> None:
    with pytest.raises(zn.InvalidInput, match=str(next(iter(bad.values())))):
        zn.GPTree(**bad)  # type: ignore[arg-type]
