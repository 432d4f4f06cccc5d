"""The paper's case for averages: GPOO at S = 1 and S = 10 on the third function, which has a fine ripple."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import zonal as zn
from reproduction import authors
from reproduction.searches import NOISE, regret_table, run
from reproduction.sweeps import Answer, Plan, Preset, Report, columns, draw_regrets, sweep
from zonal._types import Floats
from zonal.plotting import ESTIMATE, FOUND, FUNCTION, INK, column_width
from zonal.spaces import Node

FEEDBACKS = (1, 10)
# Draws of a node: its colour, from light to dark, its marker and its size. The paper has blue, green and red.
DRAWS = {
    "never drawn": ("#F0E442", "o", 12),
    "drawn once": ("#56B4E9", "s", 12),
    "drawn more than once": (ESTIMATE, "^", 22),
}
ABOVE = 3  # depths above the recommended node that the enlarged part of the tree shows


def draws(answer: Answer, arity: int = 2) -> dict[Node, int]:
    """Return how often each node of a run's tree was measured, the root first."""
    children = [(h + 1, arity * i + j) for h, i in answer["expanded"] for j in range(arity)]
    visits = Counter(map(tuple, answer["visited"]))
    return {node: visits[node] for node in sorted([(0, 0), *children])}


def predictions(answer: Answer, preset: Preset, s: int, x: Floats) -> tuple[Floats, Floats]:
    """Return mean and std of f at points, given a run's rewards and the noise assumed by its search."""
    of_paper = NOISE, zn.reward_function("f3", "paper").kernel
    sem, kernel = (math.sqrt(authors.LIKELIHOOD), authors.KERNEL) if preset == "authors" else of_paper
    study = zn.Study([(0, 1)], budget=1, kernel=kernel, noise=sem, feedback=zn.Average(s))
    for node, reward in zip(answer["visited"], answer["rewards"], strict=True):
        study.observe(study.space.cell(tuple(node)), reward)
    mean, std = study.predict(np.column_stack([x, x])[:, None, :])  # regions of width 0 are points
    return mean, std


@column_width()
def experiment(plan: Plan) -> Report:
    """Compare S = 1 with S = 10; plot trees, predictions and regrets."""
    runs = compare(plan, "benefit", preset=plan.preset)
    curves = columns(runs, "regret")
    report = regret_table("benefit", ["S"], {(s,): curve for s, curve in curves.items()})
    report.notes.append(f"mean aggregated regret on f3 over {plan.runs} runs; se: standard error of that mean")
    for s, listed in runs.items():
        tree = draws(listed[0])
        counts = Counter(map(_kind, tree.values()))
        drawn = ", ".join(f"{counts[kind]} {kind}" for kind in DRAWS)
        report.notes.append(f"tree drawn for S = {s}: {len(tree)} nodes to depth {max(tree)[0]}; {drawn}")
    figure = _figure({s: listed[0] for s, listed in runs.items()}, curves, plan)
    return report.publish(plan, figure, curves={f"S = {s}": curve.tolist() for s, curve in curves.items()})


def compare(plan: Plan, title: str, policy: str = "GPOO", **how: Any) -> dict[int, list[Answer]]:
    """Run GPOO on the third function many times, by S; `how` as for `searches.run`."""
    cases = {s: {"s": s} for s in FEEDBACKS}
    return sweep(plan, title, run, cases, function="f3", policy=policy, budget=plan.budget, **how)


def _kind(number: int) -> str:
    """Return which entry of `DRAWS` a number of draws belongs to."""
    return list(DRAWS)[min(number, len(DRAWS) - 1)]


def _figure(runs: dict[int, Answer], curves: dict[int, Floats], plan: Plan) -> Figure:
    figure = Figure(figsize=(7, 8.8), layout="constrained")
    # Legends have their own rows: they cover nothing, and the columns stay aligned.
    pairs = ["tree 1", "tree 10"], ["part 1", "part 10"], ["fit 1", "fit 10"]
    keys = {"tree key": "tree 1", "fit key": "fit 1", "regret key": "regret"}  # and what they explain
    mosaic = [*pairs[:2], ["tree key"] * 2, pairs[2], ["fit key"] * 2, ["regret"] * 2, ["regret key"] * 2]
    panels = figure.subplot_mosaic(mosaic, height_ratios=[1.1, 0.75, 0.1, 1.1, 0.1, 1.1, 0.1])  # type: ignore[arg-type]
    trees = {s: draws(searched) for s, searched in runs.items()}
    bottom = max(max(tree)[0] for tree in trees.values()) + 0.7
    for s, searched in runs.items():
        depth, index = searched["recommended"][-1]
        top = max(depth - ABOVE, 0)
        cell = zn.Box([(0, 1)]).cell((top, index >> (depth - top)))
        for part in ("tree", "part"):
            _draw_tree(panels[f"{part} {s}"], trees[s], (depth, index))
        panels[f"tree {s}"].set(title=f"S = {s}: tree after {plan.budget} measurements", ylim=(bottom, -0.7))
        panels[f"part {s}"].set(
            title=f"S = {s}: the tree around the recommended cell",
            xlim=cell.along[0][1][2],
            ylim=(bottom, top - 0.5),
        )
        _draw_fit(panels[f"fit {s}"], searched, s, plan.preset)
    low, high = zip(*(panels[f"fit {s}"].get_ylim() for s in FEEDBACKS), strict=True)
    for s in FEEDBACKS:
        panels[f"fit {s}"].set_ylim(min(low), max(high))
    about = {f"S = {s}, mean ± 1 std of {len(curve)} runs": curve for s, curve in curves.items()}
    draw_regrets(panels["regret"], about, 1.6, 0.18)
    for key, explained in keys.items():
        panels[key].axis("off")
        panels[key].legend(*panels[explained].get_legend_handles_labels(), loc="center", ncols=4, frameon=False)
    return figure


def _draw_tree(ax: Axes, tree: dict[Node, int], recommended: Node) -> None:
    depth, index = np.array(list(tree)).T
    above = np.maximum(depth - 1, 0)  # the root is its own parent
    x, x_above = (index + 0.5) / 2.0**depth, (index // 2 + 0.5) / 2.0**above
    ax.plot([x_above, x], [above, depth], color="#999999", lw=0.5, zorder=1)
    kinds = np.array([_kind(number) for number in tree.values()])
    for order, (kind, (colour, marker, size)) in enumerate(DRAWS.items(), start=2):
        of_kind = kinds == kind
        ax.scatter(
            x[of_kind], depth[of_kind], s=size, color=colour, marker=marker, edgecolors=INK, linewidths=0.4,
            zorder=order, label=kind,
        )  # fmt: skip
    at, level = (recommended[1] + 0.5) / 2 ** recommended[0], recommended[0]
    ax.scatter(at, level, s=90, facecolors="none", edgecolors=FOUND, lw=1.6, zorder=6, label="recommended")
    ax.set(xlabel="x", ylabel="depth in the tree", xlim=(-0.02, 1.02))


def _draw_fit(ax: Axes, answer: Answer, s: int, preset: Preset) -> None:
    x = np.linspace(0, 1, 1001)
    f = zn.reward_function("f3", preset)
    mean, std = predictions(answer, preset, s, x)
    ax.fill_between(x, mean - 2 * std, mean + 2 * std, color=ESTIMATE, alpha=0.25, lw=0, label="± 2 std of f")
    ax.plot(x, f(x[:, None]), color=FUNCTION, lw=0.9, label="reward function f3")
    ax.plot(x, mean, color=ESTIMATE, lw=1.4, ls="--", label="posterior mean of f")
    centers = [(index + 0.5) / 2**depth for depth, index in answer["visited"]]
    ax.plot(centers, answer["rewards"], "x", color=INK, ms=3, mew=0.7, label="measurement, at its cell's centre")
    ax.set(title=f"S = {s}: posterior of f", xlabel="x", ylabel="reward", xlim=(-0.02, 1.02))
