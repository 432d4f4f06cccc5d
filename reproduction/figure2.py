"""The paper's second figure: all quantities of GPOO in two consecutive rounds, of which only the first expands."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, pairwise
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import zonal as zn
from reproduction.figure1 import KERNEL, Scene, scene
from reproduction.searches import NOISE
from reproduction.sweeps import Plan, Report
from zonal._types import Floats
from zonal.plotting import ESTIMATE, FUNCTION, INK, column_width, rim

S = 2
ROUNDS = 12  # later rounds have too many cells to read
FEWEST = 8  # least number of leaves (and of depths, below) for a useful figure
DEPTHS = 3
LIPSCHITZ = "#E69F00"
BY_DEPTH = ["#56B4E9", "#F0E442", "#CC79A7", "#009E73", ESTIMATE]  # Okabe and Ito's, repeated below depth 4


class Leaf(NamedTuple):
    """A leaf just before its round's reward is added (line 4)."""

    lower: float  # edges of the cell
    upper: float
    mean: float  # posterior mean of its average
    average: float  # the truth
    confidence: float  # CI_t
    variation: float  # delta(depth)
    node: tuple[int, int]

    @property
    def b(self) -> float:
        """The b-value, equation (5)."""
        return self.mean + self.confidence + self.variation


class Round(NamedTuple):
    """One round of Algorithm 1."""

    t: int
    leaves: list[Leaf]  # from left to right
    chosen: Leaf
    confidence_after: float  # the chosen leaf's CI_t after its reward, which line 6 compares with delta
    expanded: bool


def rounds(shown: Scene) -> Iterator[Round]:
    """Run the search to its end, round by round."""
    study = shown.study
    while study.remaining:
        t = study.measured + 1
        trial, tree, confidence_bands = study.ask(), study.tree, study.confidence_bands()
        leaves = {}
        for row in np.flatnonzero(tree.first_child < 0).tolist():
            node = int(tree.depth[row]), int(tree.index[row])
            cell = study.space.cell(node)
            mean, ci, delta = (
                float(a[row]) for a in (tree.mean, confidence_bands.confidence, confidence_bands.variation)
            )
            lower, upper = cell.along[0][1][2]
            leaves[row] = Leaf(lower, upper, mean, shown.instrument.average(cell), ci, delta, node)
        study.tell(trial, shown.instrument(trial.region))
        row = next(row for row, leaf in leaves.items() if leaf.node == trial.node)
        after = float(confidence_bands.confidence[row] * study.tree.std[row] / tree.std[row])  # the same beta_t
        yield Round(t, sorted(leaves.values()), leaves[row], after, bool(study.tree.expanded[row]))


def lipschitz(leaf: Leaf, x: Floats, slope: float) -> Floats:
    """Return the W: mean + CI + L times the distance to the nearest representative point.

    As in the paper's figure. It uses the cell's average as the nearest point's value, so it bounds f where that
    point is no better than the others; delta, which uses the largest distance, covers the rest.
    """
    points = zn.Box([(0, 1)]).region([(leaf.lower, leaf.upper)], zn.Average(S)).points
    nearest = np.abs(x[:, None] - points[:, 0]).min(axis=1)
    return np.asarray(leaf.mean + leaf.confidence + slope * nearest)


@column_width()
def experiment(plan: Plan) -> Report:
    """Find two such rounds, plot them and list their leaves."""
    shown, pair = next(_telling(plan))
    columns = "t,depth,index,lower,upper,mean,true average,CI,delta,b-value,selected,expanded"
    report = Report("figure2", columns.split(","))
    for round_ in pair:
        for leaf in round_.leaves:
            *numbers, node = leaf
            selected = leaf is round_.chosen
            report.rows.append([round_.t, *node, *numbers, leaf.b, selected, selected and round_.expanded])
    report.notes += [
        f"GPOO, S = {S}, K = 2, noise {NOISE}; f drawn from a GP with variance {KERNEL.variance} and lengthscale "
        f"{KERNEL.lengthscale}, whatever the preset; delta(h) from f's steepest slope, L = {shown.slope:.3f}",
        *(_verdict(round_) for round_ in pair),
        *(_held(round_, shown) for round_ in pair),
    ]
    return report.publish(plan, _figure(shown, pair))


def _telling(plan: Plan) -> Iterator[tuple[Scene, tuple[Round, Round]]]:
    """Yield pairs of rounds worth showing; about one function in fifty has them."""
    for i in count():
        shown = scene([plan.rng, i], S, ROUNDS)
        for pair in pairwise(rounds(shown)):
            if pair[0].expanded and not pair[1].expanded and all(map(_is_rich, pair)):
                yield shown, pair


def _is_rich(round_: Round) -> bool:
    return len(round_.leaves) >= FEWEST and len({leaf.node[0] for leaf in round_.leaves}) >= DEPTHS


def _verdict(round_: Round) -> str:
    (depth, index), ci, delta = round_.chosen.node, round_.confidence_after, round_.chosen.variation
    what, sign = ("expanded", "≥") if round_.expanded else ("not expanded", "<")
    before = round_.chosen.confidence
    return (
        f"t = {round_.t}: ({depth}, {index}) has the highest b-value; {what}: "
        f"δ({depth}) = {delta:.3f} {sign} CI = {ci:.3f} after its reward, {'≥' if delta >= before else '<'} "
        f"{before:.3f} before"
    )


def _held(round_: Round, shown: Scene) -> str:
    """Return how much of f lies below the W and below the b-values."""
    w = b = 0.0
    for leaf in round_.leaves:
        x = np.linspace(leaf.lower, leaf.upper, 201)
        f, width = shown.f(x[:, None]), leaf.upper - leaf.lower
        w += width * float(np.mean(f <= lipschitz(leaf, x, shown.slope)))
        b += width * float(np.mean(f <= leaf.b))
    return f"t = {round_.t}: f lies below the Lipschitz W on {100 * w:.1f} %, the b-values on {100 * b:.1f} %"


def _figure(shown: Scene, pair: tuple[Round, Round]) -> Figure:
    figure = Figure(figsize=(7, 6.4), layout="constrained")
    panels = figure.subplots(2, 1, sharex=True, sharey=True)
    for ax, round_ in zip(panels, pair, strict=True):
        _panel(ax, round_, shown)
    leaves = [leaf for round_ in pair for leaf in round_.leaves]
    low, high = min(leaf.mean - leaf.confidence for leaf in leaves), max(leaf.b for leaf in leaves)
    panels[1].set(xlabel="x", ylim=(low - 0.1 * (high - low), high + 0.06 * (high - low)))  # space for the names
    figure.legend(
        handles=_keys(sorted({leaf.node[0] for leaf in leaves})),
        loc="outside lower center",
        ncols=4,
        frameon=False,
    )
    return figure


def _panel(ax: Axes, round_: Round, shown: Scene) -> None:
    for leaf in round_.leaves:
        colour, width = BY_DEPTH[leaf.node[0] % len(BY_DEPTH)], leaf.upper - leaf.lower
        top, middle = leaf.mean + leaf.confidence, (leaf.lower + leaf.upper) / 2
        ax.bar(leaf.lower, leaf.variation, width, top, align="edge", color=colour, alpha=0.2, lw=0)
        ax.bar(leaf.lower, 2 * leaf.confidence, width, leaf.mean - leaf.confidence, align="edge", color=colour,
               alpha=0.5, lw=0)  # fmt: skip
        ax.hlines(leaf.mean, leaf.lower, leaf.upper, color=INK, lw=1.6)
        ax.hlines(leaf.average, leaf.lower, leaf.upper, color=INK, lw=1.3, ls=(0, (2, 1.2)))
        ax.vlines(middle, top, leaf.b, color=INK, lw=2.2)
        x = np.linspace(leaf.lower, leaf.upper, 101)
        rim(ax.plot(x, lipschitz(leaf, x, shown.slope), color=LIPSCHITZ, lw=1.4)[0], 2.4)
        ax.annotate(f"{leaf.node[0]},{leaf.node[1]}", (middle, leaf.mean - leaf.confidence), (0, -2),
                    textcoords="offset points", ha="center", va="top", fontsize=7.5)  # fmt: skip
    chosen = round_.chosen
    bottom = chosen.mean - chosen.confidence
    ax.bar(chosen.lower, chosen.b - bottom, chosen.upper - chosen.lower, bottom, align="edge", fill=False,
           edgecolor=INK, lw=1.6, zorder=3)  # fmt: skip
    ax.plot((chosen.lower + chosen.upper) / 2, chosen.b, marker=7, color=INK, ms=8, clip_on=False, zorder=4)
    x = np.linspace(0, 1, 1000)
    rim(ax.plot(x, shown.f(x[:, None]), color=FUNCTION, lw=1.6, zorder=1.5)[0])
    ax.set(title=_verdict(round_), ylabel="reward", xlim=(0, 1))


def _keys(depths: list[int]) -> list[object]:
    """Return the legend's entries."""
    return [
        Line2D([], [], color=FUNCTION, lw=1.6, label="reward function f"),
        Line2D([], [], color=INK, lw=1.6, label="posterior mean of a cell"),
        Line2D([], [], color=INK, lw=1.3, ls=(0, (2, 1.2)), label="true average of a cell"),
        Line2D([], [], color=INK, lw=2.2, marker="|", ms=9, ls="", mew=2.2, label="variation δ(h)"),
        Line2D([], [], color=LIPSCHITZ, lw=1.4, label="Lipschitz bound W"),
        Patch(fill=False, edgecolor=INK, lw=1.6, label="selected cell"),
        *(
            Patch(color=BY_DEPTH[depth % len(BY_DEPTH)], alpha=0.5, lw=0, label=f"mean ± CI, depth {depth}")
            for depth in depths
        ),
        Patch(color="#DDDDDD", lw=0, label="light: up to the b-value"),
    ]
