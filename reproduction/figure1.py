"""The paper's first figure: a reward function, GPOO's posterior of its cells, and the tree of the cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

import zonal as zn
from reproduction.searches import NOISE, study
from reproduction.sweeps import Plan, Report
from zonal.plotting import FOUND, INK, column_width, rim
from zonal.plotting.style import found_label, regions_of
from zonal.simulation import Simulation, draw
from zonal.simulation.demo import cells_above_tree
from zonal.simulation.functions import Field

# The functions of the paper's experiments are so steep that GPOO splits all cells to depth 4 before it prefers
# any. A smoother one shows the tree growing towards the maximum.
KERNEL = zn.RBF(variance=0.1, lengthscale=0.15)
S = 10
ROUNDS = 25  # few enough for cells of different depths side by side
TRIES = 60  # functions to choose from


class Scene(NamedTuple):
    """A function drawn from the model, as in Assumption 1, and a search for its best cell."""

    f: Field
    slope: float  # its steepest, the L of the study's delta
    instrument: Simulation
    study: zn.Study  # GPOO, nothing measured yet


def scene(seed: list[int], s: int, budget: int) -> Scene:
    """Set up a search on the function of a seed, with averages over `s` points."""
    f = draw(KERNEL, 0.0, 1.0, np.random.default_rng([*seed, 0]))
    x = np.linspace(0, 1, 10_001)
    slope = float(np.abs(np.gradient(f(x[:, None]), x)).max())
    instrument = zn.simulate(f, zn.Average(s), NOISE, rng=np.random.default_rng([*seed, 1]))
    return Scene(f, slope, instrument, study(KERNEL, zn.GPOO(zn.LipschitzDelta(slope)), s, budget))


@column_width()
def experiment(plan: Plan) -> Report:
    """Plot the tree of an early stage of a run, and list its nodes."""
    shown = _telling(plan)
    tree = shown.study.tree
    report = Report(
        "figure1", ["depth", "index", "lower", "upper", "count", "mean", "std", "true average", "expanded"]
    )
    order = np.lexsort((tree.index, tree.depth))
    columns = [column[order].tolist() for column in (tree.count, tree.mean, tree.std, tree.expanded)]
    for cell, *numbers, expanded in zip(regions_of(shown.study, order), *columns, strict=True):
        average = shown.instrument.average(cell)
        report.rows.append([*cell.node, *cell.along[0][1][2], *numbers, average, expanded])
    recommended = shown.study.recommend(on_grid=True)
    report.notes += [
        f"GPOO after {shown.study.measured} averages of S = {S} points, noise {NOISE}; f drawn from a GP with "
        f"variance {KERNEL.variance} and lengthscale {KERNEL.lengthscale}, whatever the preset",
        f"delta(h) from f's steepest slope, L = {shown.slope:.3f}; recommended: node {recommended.node}, "
        f"x {recommended.region.bounds[0, 0]:g} to {recommended.region.bounds[0, 1]:g}",
    ]
    return report.publish(plan, _figure(shown))


def _telling(plan: Plan) -> Scene:
    """Return, finished, the search whose leaves have the most different depths."""
    scenes = [scene([plan.rng, i], S, min(ROUNDS, plan.budget)) for i in range(TRIES)]
    for shown in scenes:
        shown.study.optimize(shown.instrument)
    depths = [shown.study.tree.depth[shown.study.tree.first_child < 0] for shown in scenes]
    return scenes[max(range(TRIES), key=lambda i: (len(np.unique(depths[i])), float(depths[i].std())))]


def _figure(shown: Scene) -> Figure:
    study = shown.study
    figure, cells = cells_above_tree(study, shown.f, 3.3, 3.9)
    leaves = study.tree.first_child < 0
    confidence_bands = study.confidence_bands()
    mean, reach = study.tree.mean[leaves], (confidence_bands.confidence + confidence_bands.variation)[leaves]
    low, high = float((mean - reach).min()), float((mean + reach).max())
    cells.set_ylim(low - 0.04 * (high - low), high + 0.04 * (high - low))
    handles = dict(zip(*reversed(cells.get_legend_handles_labels()), strict=True))
    rim(handles["reward function f"])
    handles["reward function f"].set_zorder(1.5)  # below the means
    label = found_label(study)
    handles[label].set(facecolor=(FOUND, 0.35), edgecolor=INK, lw=0.8, ls="--")
    names = {
        "reward function f": "reward function f",
        "posterior mean of a cell": "mean of a cell's average",
        label: "recommended cell",
        "confidence in the cell's average": "± confidence CI",
        "plus variation of f within it": "± (CI + variation δ(h))",
    }
    figure.legend(
        [handles[name] for name in names], list(names.values()), loc="outside lower center", ncols=2,
        frameon=False, handlelength=1.3, columnspacing=1.0, borderpad=0,
    )  # fmt: skip
    return figure
