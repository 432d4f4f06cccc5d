"""The authors' procedure against its rules, a dense replay of it, and the numbers their own code gave."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest

from reproduction.authors import AuthorsRun, Task, gpoo, gpoo_beta, gptree, gptree_constants, stooo
from zonal.errors import InvalidInput
from zonal.simulation import reward_function

Node = tuple[int, int]
Name = Literal["f1", "f2", "f3"]
Search = Callable[[Task, int, np.random.Generator], AuthorsRun]

BUDGETS = (20, 40, 80)
# Mean and population std over 30 runs of the authors' code, at the three budgets (anchors/authors.json).
THEIRS: dict[tuple[str, Name, int], tuple[tuple[float, float], ...]] = {
    ("gpoo", "f1", 1): ((0.0406, 0.0574), (0.0390, 0.0463), (0.0206, 0.0282)),
    ("gpoo", "f1", 10): ((0.0545, 0.0650), (0.0346, 0.0429), (0.0159, 0.0213)),
    ("gpoo", "f2", 1): ((0.0358, 0.0155), (0.0148, 0.0247), (0.0148, 0.0247)),
    ("gpoo", "f2", 10): ((0.0579, 0.0172), (0.0155, 0.0264), (0.0155, 0.0264)),
    ("gpoo", "f3", 1): ((0.8655, 0.1118), (0.4481, 0.3704), (0.0481, 0.0919)),
    ("gpoo", "f3", 10): ((0.7578, 0.1190), (0.4165, 0.1952), (0.1245, 0.1240)),
    ("gptree", "f1", 1): ((0.2501, 0.1039), (0.2501, 0.1039), (0.2501, 0.1039)),
    ("gptree", "f2", 1): ((0.2805, 0.3695), (0.1025, 0.2336), (0.1025, 0.2336)),
    ("gptree", "f3", 1): ((0.4538, 0.2859), (0.4210, 0.2626), (0.4210, 0.2626)),
    ("stooo", "f1", 1): ((0.0339, 0.0223), (0.0831, 0.0370), (0.0278, 0.0478)),
    ("stooo", "f1", 10): ((0.2269, 0.0412), (0.1276, 0.0375), (0.0490, 0.0541)),
    ("stooo", "f2", 1): ((0.8042, 0.0089), (0.3378, 0.0000), (0.0055, 0.0000)),
    ("stooo", "f2", 10): ((0.6471, 0.0465), (0.4336, 0.0000), (0.0925, 0.0000)),
    ("stooo", "f3", 1): ((0.8487, 0.0241), (0.8207, 0.0373), (0.6941, 0.0688)),
    ("stooo", "f3", 10): ((0.8889, 0.0291), (0.8342, 0.0589), (0.7169, 0.0988)),
}
PRINTED = 5e-5  # their numbers have four decimals
SEARCHES: dict[str, Search] = {"gpoo": gpoo, "gptree": gptree, "stooo": stooo}


def task(name: Name, s: int = 1, arity: int = 2) -> Task:
    return Task(reward_function(name, "authors"), s, arity)


def runs(search: Search, on: Task, number: int, budget: int = 80) -> list[AuthorsRun]:
    return [search(on, budget, np.random.default_rng([2021, seed])) for seed in range(number)]


def regrets(algorithm: str, on: Task, number: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Aggregated regrets at `BUDGETS`, a row per run; StoOO is run anew for every budget."""
    if algorithm == "stooo":
        columns = [[on.regret(run.recommended[-1]) for run in runs(stooo, on, number, n)] for n in BUDGETS]
        return np.array(columns).T
    walks = [run.recommended for run in runs(SEARCHES[algorithm], on, number)]
    return np.array([[on.regret(walk[n - 1]) for n in BUDGETS] for walk in walks])


@pytest.mark.torture
@pytest.mark.one_in(4)
@pytest.mark.parametrize(("algorithm", "name", "s"), THEIRS)
def test_mean_regrets_are_within_three_standard_errors_of_the_authors(algorithm: str, name: Name, s: int) -> None:
    number = 60  # theirs are 30, whose error is the larger part
    ours = regrets(algorithm, task(name, s), number)
    mean, std = np.array(THEIRS[algorithm, name, s]).T
    error = np.sqrt(std**2 / (30 - 1) + ours.var(axis=0, ddof=1) / number)
    difference = ours.mean(axis=0) - mean
    assert (np.abs(difference) <= 3 * error + PRINTED).all(), (difference / error).round(2)


def parent(node: Node, arity: int) -> Node:
    return node[0] - 1, node[1] // arity


def children(node: Node, arity: int) -> list[Node]:
    return [(node[0] + 1, arity * node[1] + j) for j in range(arity)]


def posterior(
    seen: list[Node], rewards: list[float], nodes: list[Node], s: int, arity: int
) -> tuple[dict[Node, float], dict[Node, float]]:
    """Mean and predictive std, written densely: all points of all cells, and one linear solve."""
    where = [[(index + (j + 0.5) / s) / arity**depth for j in range(s)] for depth, index in seen + nodes]
    x = np.array(where).ravel()
    point = 0.1 * np.exp(-0.5 * ((x[:, None] - x) / 0.05) ** 2)
    cells = len(where)
    prior = point.reshape(cells, s, cells, s).mean(axis=(1, 3))
    t = len(seen)
    gain = np.linalg.solve(prior[:t, :t] + 0.005 * np.eye(t), prior[:t, t:]).T
    mean = gain @ np.array(rewards)
    variance = prior.diagonal()[t:] - (gain * prior[t:, :t]).sum(axis=1) + 0.005
    return dict(zip(nodes, mean, strict=True)), dict(zip(nodes, np.sqrt(variance), strict=True))


@pytest.mark.parametrize(("name", "s", "arity"), [("f1", 1, 2), ("f3", 10, 3), ("f2", 4, 4)])
def test_gpoo_does_what_a_dense_replay_of_its_rules_does(name: Name, s: int, arity: int) -> None:
    run = gpoo(task(name, s, arity), 40, np.random.default_rng(1))
    leaves = children((0, 0), arity)
    recommended = leaves[-1]
    for n in range(arity, 40):
        seen, rewards = run.visited[:n], run.rewards[:n]
        last = seen[-1]
        mean, std = posterior(seen, rewards, [*dict.fromkeys([*leaves, last, recommended])], s, arity)
        root_beta = math.sqrt(0.1 * math.log(math.pi**2 * n**2 / 0.6))
        value = {leaf: mean[leaf] + root_beta * std[leaf] + 14 / 2 ** leaf[0] for leaf in leaves}
        if 14 / 2 ** last[0] >= root_beta * std[last]:
            leaves.remove(last)
            leaves += children(last, arity)
            del value[last]
            if (last[0], mean[last]) > (recommended[0], mean[recommended]):
                recommended = last
        assert run.recommended[n] == recommended
        assert run.visited[n] == next(leaf for leaf in value if value[leaf] >= max(value.values()) - 3e-10)


@pytest.mark.parametrize("name", ["f1", "f2", "f3"])
def test_gptree_does_what_a_dense_replay_of_its_rules_does(name: Name) -> None:
    run = gptree(task(name), 25, np.random.default_rng(1))
    beta = 0.25 * math.sqrt(math.log(80) + 2)
    c4 = 1 + 2 * math.log(80**2 * math.pi**2 / 6)

    def variation(h: int) -> float:
        g = 0.1 * 0.5**h
        return 4 * g * (math.sqrt(4 + c4 + h * math.log(2) + 4 * math.log(1 / g)) + 1)

    def index(node: Node) -> float:
        value = mean[node] + beta * std[node]
        if node[0]:
            above = parent(node, 2)
            value = min(value, mean[above] + beta * std[above] + variation(above[0]))
        return value + variation(node[0])

    nodes, leaves, recommended, n = [(0, 0)], [(0, 0)], (0, 0), 1
    while n < 25:
        mean, std = posterior(run.visited[:n], run.rewards[:n], nodes, 1, 2)
        highest = max(map(index, leaves))
        top = [leaf for leaf in leaves if index(leaf) >= highest - 3e-10][-1]
        if beta * std[top] <= variation(top[0]):
            leaves.remove(top)
            leaves += children(top, 2)
            nodes += children(top, 2)
            recommended = top if top[0] > recommended[0] else recommended
        else:
            assert run.recommended[n] == recommended
            assert run.visited[n] == top
            n += 1


def test_gpoo_measures_the_children_of_the_root_in_order_and_never_the_root() -> None:
    run = gpoo(task("f1", arity=3), 30, np.random.default_rng(0))
    assert run.visited[:3] == [(1, 0), (1, 1), (1, 2)]
    assert run.recommended[2] == (1, 2)
    assert run.expanded[0] == (0, 0)
    assert (0, 0) not in run.visited


def test_children_of_gpoo_wait_one_round() -> None:
    for run in runs(gpoo, task("f1"), 10):
        for node, following in zip(run.visited[1:], run.visited[2:], strict=False):
            assert parent(following, 2) != node


def test_gpoo_recommends_nodes_it_measured_and_expanded_ever_deeper() -> None:
    for run in runs(gpoo, task("f3", 10), 10):
        depths = [depth for depth, _ in run.recommended[1:]]
        assert depths == sorted(depths)
        for n, node in enumerate(run.recommended[2:], start=2):
            assert node in run.visited[:n]
            assert node in run.expanded or node == (1, 1)


def test_the_floor_of_the_variance_ends_every_gpoo_run_at_depth_seven() -> None:
    for run in runs(gpoo, task("f2"), 20):
        assert run.recommended[-1][0] == 7
        assert max(run.expanded)[0] == 7


def test_a_short_gpoo_run_is_the_beginning_of_a_long_one() -> None:
    on = task("f3", 10)
    long, short = (gpoo(on, budget, np.random.default_rng(3)) for budget in (80, 35))
    assert short.visited == long.visited[:35]
    assert short.recommended == long.recommended[:35]


@pytest.mark.parametrize(("budget", "draws"), [(10, 2), (20, 3), (80, 3)])
def test_stooo_draws_every_node_equally_often_before_it_expands_it(budget: int, draws: int) -> None:
    for run in runs(stooo, task("f1", 10), 5, budget):
        assert run.expanded
        assert run.visited[:draws] == [(0, 0)] * draws
        assert {run.visited.count(node) for node in run.expanded} == {draws}
        assert max(run.visited.count(node) for node in run.visited) == draws


def test_stooo_recommends_the_first_expanded_node_of_the_deepest_depth() -> None:
    for run in runs(stooo, task("f1"), 5):
        deepest = max(run.expanded)[0]
        assert run.recommended[-1] == next(node for node in run.expanded if node[0] == deepest)


def test_gptree_has_the_constants_of_the_ledger() -> None:
    beta, h_max, variation = gptree_constants(80)
    assert beta == pytest.approx(0.631567, abs=1e-6)
    assert h_max == pytest.approx(18.965784, abs=1e-6)
    c4 = 1 + 2 * math.log(6400 * math.pi**2 / 6)
    assert variation[3] == pytest.approx(4 * 0.0125 * (math.sqrt(4 + c4 + 3 * math.log(2) + 4 * math.log(80)) + 1))


def test_gptree_measures_the_root_and_then_refines_without_measuring() -> None:
    for run in runs(gptree, task("f2"), 5):
        assert run.visited[0] == run.expanded[0] == (0, 0)
        assert not {(1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (2, 3)} & set(run.visited)
        assert max(run.expanded)[0] <= 6
        final = run.recommended[-1]
        assert final == next(node for node in run.expanded if node[0] == final[0])


def test_beta_is_the_authors_own() -> None:
    assert gpoo_beta(1) == pytest.approx(0.1 * math.log(math.pi**2 / 0.6))
    assert gpoo_beta(80) == pytest.approx(1.156434, abs=1e-6)


def test_regrets_are_those_their_zero_spreads_betray() -> None:
    # Where all 30 of their runs agree, the regret is that of one cell.
    assert task("f2").regret((3, 7)) == pytest.approx(0.3378, abs=PRINTED)
    assert task("f2").regret((4, 15)) == pytest.approx(0.0055, abs=PRINTED)
    assert task("f2", 10).regret((3, 7)) == pytest.approx(0.4336, abs=PRINTED)
    assert task("f3").regret((1, 0)) == pytest.approx(0.8875, abs=PRINTED)


@pytest.mark.parametrize("algorithm", SEARCHES)
@pytest.mark.parametrize("budget", [1, 2, 3, 12])
def test_every_measurement_is_counted_and_comes_with_a_recommendation(algorithm: str, budget: int) -> None:
    run = SEARCHES[algorithm](task("f3", 3, arity=3), budget, np.random.default_rng(0))
    assert len(run.visited) == len(run.rewards) == len(run.recommended) == budget


@pytest.mark.parametrize("algorithm", SEARCHES)
def test_the_same_generator_gives_the_same_run(algorithm: str) -> None:
    first, second = (SEARCHES[algorithm](task("f1"), 30, np.random.default_rng(8)) for _ in range(2))
    assert (first.visited, first.rewards) == (second.visited, second.rewards)
    assert (first.recommended, first.expanded) == (second.recommended, second.expanded)


def test_noise_has_a_standard_deviation_of_one_tenth() -> None:
    on = task("f1", 10)
    noise = [
        r - on.average(node)
        for run in runs(gpoo, on, 30)
        for node, r in zip(run.visited, run.rewards, strict=True)
    ]
    assert np.std(noise) == pytest.approx(0.1, rel=0.06)


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(InvalidInput, match="arity"):
        task("f1", arity=1)
    with pytest.raises(InvalidInput, match="budget"):
        gpoo(task("f1"), 0, np.random.default_rng(0))
