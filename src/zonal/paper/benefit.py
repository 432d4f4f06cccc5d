"""The paper's case for averages: GPOO at S = 1 and S = 10 on the third function, which has a fine ripple."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import zonal as zn
from zonal.paper import authors
from zonal.paper.regret import NOISE, SHOWN
from zonal.paper.results import STYLES, Preset, Settings, Table, save, seed
from zonal.paper.runs import Answer, Task, run_all
from zonal.plots import ESTIMATE, FOUND, FUNCTION, INK, column_width
from zonal.problems import RewardFunction, aggregated_regret, grid_optimum

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEEDBACKS = (1, 10)
# Draws of a node: its colour, from light to dark, its marker and its size. The paper has blue, green and red.
DRAWS = {
    "never drawn": ("#F0E442", "o", 12),
    "drawn once": ("#56B4E9", "s", 12),
    "drawn more than once": (ESTIMATE, "^", 22),
}
ABOVE = 3  # depths above the recommended node that the enlarged part of the tree shows
Floats = NDArray[np.float64]


def search(
    preset: Preset,
    s: int,
    budget: int,
    seed: list[int],
    arity: int = 2,
    variance: bool = False,
    returns: Any = "deepest",
) -> Answer:
    """Run GPOO on the third function.

    Parameters
    ----------
    preset : {"authors", "paper"}
        Whose function and procedure.
    s : int
        S, points a measurement averages.
    budget : int
        N.
    seed : list of int
        Of the noise.
    arity : int
        K.
    variance : bool
        Whether the text's 0.005 is to be a variance in the paper's preset too.
    returns : {"deepest", "highest"}
        What GPOO recommends in the paper's preset.

    Returns
    -------
    dict
        `regret` and `recommended` node after each measurement, nodes `visited`, their `rewards`, nodes `expanded`.
    """
    rng = np.random.default_rng(seed)
    if preset == "authors":
        return _authors_search(s, budget, rng, arity)
    return _paper_search(function(variance), s, budget, rng, arity, returns)


def function(variance: bool = False) -> RewardFunction:
    """Return the third function as the text has it: with 0.005 a standard deviation, or else a variance."""
    f = zn.reward_function("f3", "paper")
    return replace(f, noise=math.sqrt(f.noise)) if variance else f


def _authors_search(s: int, budget: int, rng: np.random.Generator, arity: int) -> Answer:
    task = authors.Task(zn.reward_function("f3", "authors"), s, arity)
    run = authors.gpoo(task, budget, rng)
    return {"regret": task.regrets(run).tolist(), **vars(run)}


def _paper_search(
    f: RewardFunction, s: int, budget: int, rng: np.random.Generator, arity: int, returns: Any
) -> Answer:
    _, f_star = grid_optimum(f)
    instrument = zn.simulate(f, zn.Average(s), NOISE, rng)
    study = zn.Study(
        zn.Box([(0, 1)], arity=arity),
        budget=budget,
        kernel=f.kernel,  # "we use the known GP"
        noise=NOISE,
        feedback=zn.Average(s),
        policy=zn.GPOO(zn.GeometricDelta(14, 0.5), returns=returns),
    )
    found = []
    study.optimize(instrument, callback=lambda study, trial: found.append(study.found))
    tree = study.tree
    return {
        "regret": [aggregated_regret(instrument, region, f_star) for region in found],
        "recommended": [region.node for region in found],
        "visited": [trial.node for trial in study.trials],
        "rewards": [trial.value for trial in study.trials],
        "expanded": np.column_stack([tree.depth, tree.index])[tree.first_child >= 0].tolist(),
    }


@dataclass(frozen=True)
class Nodes:
    """The tree of a run, one entry a node, the root first.

    Attributes
    ----------
    x : array of float
        Centres.
    depth : array of int
        Depths.
    parent : array of int
        Entry of the parent; the root is its own.
    draws : array of int
        Measurements.
    """

    x: Floats
    depth: NDArray[np.int64]
    parent: NDArray[np.int64]
    draws: NDArray[np.int64]


def nodes(run: Answer, arity: int = 2) -> Nodes:
    """Return the tree of a run."""
    children = [(h + 1, arity * i + j) for h, i in run["expanded"] for j in range(arity)]
    listed = sorted([(0, 0), *children])
    entry = {node: k for k, node in enumerate(listed)}
    draws = Counter(map(tuple, run["visited"]))
    space = zn.Box([(0, 1)], arity=arity)
    return Nodes(
        np.array([space.cell(node).center[0] for node in listed]),
        np.array([h for h, _ in listed]),
        np.array([entry[max(h - 1, 0), i // arity] for h, i in listed]),
        np.array([draws[node] for node in listed]),
    )


def predictions(run: Answer, preset: Preset, s: int, x: Floats) -> tuple[Floats, Floats]:
    """Return posterior mean and std of f at points, given a run's rewards as its search weighed them."""
    theirs = preset == "authors"
    sem, kernel = (math.sqrt(authors.LIKELIHOOD), authors.KERNEL) if theirs else (NOISE, function().kernel)
    study = zn.Study([(0, 1)], budget=1, kernel=kernel, noise=sem, feedback=zn.Average(s))
    for node, reward in zip(run["visited"], run["rewards"], strict=True):
        study.observe(study.space.cell(tuple(node)), reward)
    mean, std = study.predict(np.column_stack([x, x])[:, None, :])  # regions of no width are points
    return mean, std


def experiment(settings: Settings) -> Table:
    """Compare S = 1 with S = 10; draw trees, predictions and regrets."""
    tasks = [
        Task(search, {"preset": settings.preset, "s": s, "budget": settings.budget, "seed": seed(settings, i)})
        for s in FEEDBACKS
        for i in range(settings.runs)
    ]
    answers = iter(run_all(tasks, settings.out, settings.jobs, "benefit"))
    runs = {s: [next(answers) for _ in range(settings.runs)] for s in FEEDBACKS}
    curves = {s: np.array([run["regret"] for run in runs[s]]) for s in FEEDBACKS}
    shown = [n for n in SHOWN if n <= settings.budget]
    table = Table("benefit", ["S", *(f"N={n}" for n in shown), *(f"se {n}" for n in shown)])
    for s, curve in curves.items():
        columns = curve[:, [n - 1 for n in shown]]
        error = columns.std(axis=0, ddof=1) / math.sqrt(len(curve)) if len(curve) > 1 else columns[0] * math.nan
        table.rows.append([s, *columns.mean(axis=0).tolist(), *error.tolist()])
    table.notes.append(f"mean aggregated regret on f3 over {settings.runs} runs; se: standard error of that mean")
    for s in FEEDBACKS:
        tree = nodes(runs[s][0])
        counts = [int(np.sum(_kind(tree.draws) == kind)) for kind in range(len(DRAWS))]
        table.notes.append(
            f"tree drawn for S = {s}: {len(tree.x)} nodes to depth {tree.depth.max()}; "
            + ", ".join(f"{number} {name}" for name, number in zip(DRAWS, counts, strict=True))
        )
    table.write(settings, curves={f"S = {s}": curve.tolist() for s, curve in curves.items()})
    with column_width():
        save(_figure({s: runs[s][0] for s in FEEDBACKS}, curves, settings), settings, "benefit")
    return table


def _kind(draws: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return which entry of `DRAWS` a number of draws belongs to."""
    return np.minimum(draws, len(DRAWS) - 1)


def _figure(runs: dict[int, Answer], curves: dict[int, Floats], settings: Settings) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 8.8), layout="constrained")
    # Legends have rows of their own: they cover nothing, and the columns stay aligned.
    rows = [[f"{part} {s}" for s in FEEDBACKS] for part in ("tree", "part", "fit")]
    mosaic = [rows[0], rows[1], ["tree key"] * 2, rows[2], ["fit key"] * 2, ["regret"] * 2, ["regret key"] * 2]
    panels = figure.subplot_mosaic(mosaic, height_ratios=[1.1, 0.75, 0.1, 1.1, 0.1, 1.1, 0.1])  # type: ignore[arg-type]
    trees = {s: nodes(run) for s, run in runs.items()}
    bottom = max(int(tree.depth.max()) for tree in trees.values()) + 0.7
    for s, run in runs.items():
        depth, index = run["recommended"][-1]
        top = max(depth - ABOVE, 0)
        cell = zn.Box([(0, 1)]).cell((top, index >> (depth - top)))
        for part in ("tree", "part"):
            _draw_tree(panels[f"{part} {s}"], trees[s], (depth, index))
        panels[f"tree {s}"].set(title=f"S = {s}: tree after {settings.budget} measurements", ylim=(bottom, -0.7))
        panels[f"part {s}"].set(
            title=f"S = {s}: the tree around the recommended cell", xlim=cell.edges[0], ylim=(bottom, top - 0.5)
        )
        _draw_fit(panels[f"fit {s}"], run, s, settings.preset)
    low, high = zip(*(panels[f"fit {s}"].get_ylim() for s in FEEDBACKS), strict=True)
    for s in FEEDBACKS:
        panels[f"fit {s}"].set_ylim(min(low), max(high))
    _draw_regret(panels["regret"], curves)
    for part in ("tree", "fit", "regret"):
        key, drawn = panels[f"{part} key"], panels["regret" if part == "regret" else f"{part} {FEEDBACKS[0]}"]
        key.axis("off")
        key.legend(*drawn.get_legend_handles_labels(), loc="center", ncols=4, frameon=False)
    return figure


def _draw_tree(ax: Axes, tree: Nodes, found: tuple[int, int]) -> None:
    lines = [tree.x[tree.parent], tree.x], [tree.depth[tree.parent], tree.depth]
    ax.plot(*lines, color="#999999", lw=0.5, zorder=1)
    for kind, (name, (colour, marker, size)) in enumerate(DRAWS.items()):
        of_kind = _kind(tree.draws) == kind
        ax.scatter(
            tree.x[of_kind], tree.depth[of_kind], s=size, color=colour, marker=marker, edgecolors=INK,
            linewidths=0.4, zorder=2 + kind, label=name,
        )  # fmt: skip
    depth, index = found
    ax.scatter((index + 0.5) / 2**depth, depth, s=90, facecolors="none", edgecolors=FOUND, lw=1.6, zorder=6,
               label="recommended")  # fmt: skip
    ax.set(xlabel="x", ylabel="depth in the tree", xlim=(-0.02, 1.02))


def _draw_fit(ax: Axes, run: Answer, s: int, preset: Preset) -> None:
    x = np.linspace(0, 1, 1001)
    f = zn.reward_function("f3", preset)
    mean, std = predictions(run, preset, s, x)
    ax.fill_between(x, mean - 2 * std, mean + 2 * std, color=ESTIMATE, alpha=0.25, lw=0, label="± 2 std of f")
    ax.plot(x, f(x[:, None]), color=FUNCTION, lw=0.9, label="reward function f3")
    ax.plot(x, mean, color=ESTIMATE, lw=1.4, ls="--", label="posterior mean of f")
    centers = [(index + 0.5) / 2**depth for depth, index in run["visited"]]
    ax.plot(centers, run["rewards"], "x", color=INK, ms=3, mew=0.7, label="measurement, at its cell's centre")
    ax.set(title=f"S = {s}: posterior of f", xlabel="x", ylabel="reward", xlim=(-0.02, 1.02))


def _draw_regret(ax: Axes, curves: dict[int, Floats]) -> None:
    for (s, curve), (colour, style) in zip(curves.items(), STYLES, strict=False):
        budgets = np.arange(1, curve.shape[1] + 1)
        mean, std = curve.mean(axis=0), curve.std(axis=0)
        ax.fill_between(budgets, mean - std, mean + std, color=colour, alpha=0.18, lw=0)
        ax.plot(budgets, mean, color=colour, ls=style, lw=1.6, label=f"S = {s}, mean ± 1 std of {len(curve)} runs")
    ax.set(xlabel="budget N (measurements)", ylabel="aggregated regret", xlim=(1, len(budgets)))
