"""One search compared with the paper's statements, as printed and as they can be proved (docs/theory.md).

For every statement a run keeps two numbers: the smallest ratio of bound to truth in the run (the statement held if
it is at least 1), and a typical one.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

import zonal as zn
from zonal.arrays import Floats
from zonal.paper.cases import ARITY, LINE, PROBLEMS, ROUNDING, UNEVEN, Case, Truth
from zonal.paper.sweeps import Answer, column
from zonal.problems import aggregated_regret
from zonal.problems.functions import Field
from zonal.spaces import Node
from zonal.theory import bounds
from zonal.tree import TreeTable

Ratios = tuple[float, float]  # worst and typical

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


def search_run(budget: int, seed: list[int], **case_of: Any) -> Answer:
    """Draw a function, search it as in a `Case`, and return which statements held, and the numbers behind them."""
    case = Case(**case_of)
    true = Truth(case, seed)
    sizes, found = near_sizes(case, true), search(case, true, budget)
    held = {SMOOTH: _all([smoothness(case, true)]), **found.pop("held")}
    held[XI] = _all([held[SMOOTH][0], held[INTERVALS][0]])
    regret, depth = np.maximum(found["regret"], 1e-12), np.array(found["depth"])
    about = case.noise, case.delta, ARITY, sizes.__getitem__, case.problem.h_max, case.test
    proved = [bounds.proved_depth(n, case.beta(n), *about) for n in range(1, budget + 1)]
    bound = 3 * np.array(list(map(case.delta, proved)))
    held[THEOREM_RIGHT] = _last(bound / regret)
    held[DEEPEST] = _last(3 * case.deltas[depth] / regret)
    held[COUNT] = _last(_counts(case, sizes, depth) / np.arange(1, budget + 1))
    answer = {**found, "bound": bound.tolist(), "range": true.f_star - true.lowest}
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
    problem = case.problem
    study = zn.Study(
        problem.space,
        budget=budget,
        kernel=problem.kernel,
        noise=problem.noise,
        feedback=case.feedback,
        policy=case.policy,
    )
    nodes = problem.nodes
    cells = [problem.space.cell(node, case.feedback) for node in nodes]
    averages = np.array([true.averages[node] for node in nodes])
    lowest = np.array([depth > problem.h_max for depth, _ in nodes])  # for these only the upper side is needed
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
            own = np.array([true.averages[int(tree.depth[row]), int(tree.index[row])] for row in seen])
            intervals.append(_slack(np.abs(tree.mean[seen] - own), tree.std[seen], case.beta(t)))
        noise = np.array([case.noise(int(h)) for h in tree.depth[seen]])
        variance.append(noise / np.sqrt(tree.count[seen]) / tree.std[seen])
        draws.append(_draw(case, true, trial.node, t, before, tree))
        best: Any = study.found
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
