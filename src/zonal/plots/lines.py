"""Pictures along one axis: the function with what is known of it, its cells, and the tree above them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zonal.errors import InvalidInput
from zonal.plots.style import (
    ESTIMATE,
    FOUND,
    FUNCTION,
    INK,
    OTHERS,
    axes_or_new,
    axis_label,
    is_log,
    legend_above,
    value_label,
)
from zonal.spaces import Box, Interval, MemberRegion, MemberSpace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from zonal.reading import Reading

Floats = NDArray[np.float64]
Function = Callable[[Floats], Floats]

SAMPLES = 400  # along the axis
MOST_CURVES = len(OTHERS)
MOST_BARS = 200  # measurements drawn one by one


class Curve(NamedTuple):
    """Places along the axis, the point regions there, and for which symbols."""

    name: str
    x: Floats
    regions: list[Any]


def along(space: Any) -> int | None:
    """Return the only continuous axis or feature of a space, None if there are none or several."""
    if isinstance(space, MemberSpace):
        return 0 if space.d == 1 and not space.symbolic else None
    lines = [j for j, axis in enumerate(space.axes) if isinstance(axis, Interval)]
    return lines[0] if len(lines) == 1 else None


def plot_function(study: Reading, ax: Axes | None = None, f: Function | None = None) -> Axes:
    """Draw f along its only continuous axis or feature, as the measurements so far have it.

    Parameters
    ----------
    study : Study
        On a box of one axis, on members with one feature, or on a `Product` of one continuous axis and symbols.
    ax : Axes, optional
        Where to draw; on new axes otherwise.
    f : callable, optional
        The true function, vectorised, (n, 1) to (n,).

    Returns
    -------
    Axes
        With posterior mean and two standard deviations of f, a line for every symbol; measured averages as bars as
        wide as their regions; and the region found.
    """
    space, j = study.space, along(study.space)
    if j is None:
        raise InvalidInput("this picture is of one continuous axis", space.names, "Use study.plot().")
    ax = axes_or_new(ax)
    curves = _curves(study, j)
    for curve, colour in zip(curves, OTHERS, strict=False):
        mean, std = study.predict(curve.regions)
        ax.plot(curve.x, mean, color=colour, lw=1.6, label=curve.name)
        band = "two standard deviations" if curve is curves[0] else None
        ax.fill_between(curve.x, mean - 2 * std, mean + 2 * std, color=colour, alpha=0.2, lw=0, label=band)
    if f is not None:
        ax.plot(curves[0].x, f(curves[0].x[:, None]), color=FUNCTION, lw=1.6, label="reward function f")
    _bars(study, ax, j)
    low, high = study.found.bounds[j]
    ax.axvspan(low, high, color=FOUND, alpha=0.35, lw=2 if low == high else 0, label="region found")
    if is_log(space, j):
        ax.set_xscale("log")
    ax.set_xlim(float(curves[0].x.min()), float(curves[0].x.max()))
    ax.set_xlabel(axis_label(space, j))
    ax.set_ylabel(value_label(study))
    legend_above(ax, columns=2 if len(curves) == 1 else 3)
    return ax


def _curves(study: Reading, j: int) -> list[Curve]:
    """Return where f is drawn: for each combination of symbols, the best ones if there are too many."""
    space = study.space
    if isinstance(space, MemberSpace):
        places = np.argsort(space.features[:, 0], kind="stable")[:: -(-space.size // SAMPLES)]
        members = [MemberRegion(space, None, None, place, place + 1) for place in places.tolist()]
        return [Curve("posterior mean of f", space.features[places, 0], members)]
    axis = space.axes[j]
    own = np.linspace(axis.low, axis.high, SAMPLES)
    x = np.asarray(axis.native(own), dtype=float)
    others = [(axis.name, axis.symbols) for _, axis in space.categories]
    combinations = list(itertools.product(*(symbols for _, symbols in others)))
    curves = []
    for symbols in combinations:
        fixed: dict[str, Any] = dict(zip((name for name, _ in others), symbols, strict=True))
        name = ", ".join(symbols) or "posterior mean of f"
        curves.append(Curve(name, x, [space.region(fixed | {axis.name: (place, place)}) for place in x.tolist()]))
    if len(curves) > MOST_CURVES:
        sign = 1 if study.direction == "maximize" else -1
        best = [float(np.max(sign * study.predict(curve.regions[::10]).mean)) for curve in curves]
        curves = [curves[at] for at in np.argsort(best)[::-1][:MOST_CURVES]]
    return curves


def _bars(study: Reading, ax: Axes, j: int) -> None:
    """Draw measured averages, each as wide as its region."""
    told = [trial for trial in study.trials if trial.state == "told"][-MOST_BARS:]
    if not told:
        return
    edges = np.array([trial.region.bounds[j] for trial in told])
    values = np.array([trial.value for trial in told], dtype=float)
    bars = ax.hlines(values, edges[:, 0], edges[:, 1], color=INK, lw=1.2, alpha=0.7, label="measured averages")
    bars.set_capstyle("round")
    ax.plot(
        edges.mean(axis=1) if not is_log(study.space, j) else np.sqrt(edges.prod(axis=1)),
        values,
        ".",
        color=INK,
        ms=3,
        alpha=0.7,
    )


def plot_cells(study: Reading, ax: Axes | None = None, f: Function | None = None) -> Axes:
    """Draw what is known of each leaf of a one-dimensional study, in the spirit of the paper's first figure.

    Parameters
    ----------
    study : Study
        On a space of one axis.
    ax : Axes, optional
        Where to draw; on new axes otherwise.
    f : callable, optional
        The true function, vectorised, (n, 1) to (n,).

    Returns
    -------
    Axes
        With posterior means as lines, confidence as dark and variation of f as light bands.
    """
    _one_axis(study)
    ax = axes_or_new(ax)
    tree, bands, found = study.tree, study.bands(), study.recommend()
    leaves = np.flatnonzero(tree.first_child < 0)
    cells = [study.space.cell((int(tree.depth[row]), int(tree.index[row]))) for row in leaves]
    left, right = np.array([cell.bounds[0] for cell in cells]).T
    width = right - left
    mean, confidence = tree.mean[leaves], bands.confidence[leaves]
    reach = confidence + bands.variation[leaves]
    for half, alpha, label in (
        (reach, 0.18, "plus variation of f within it"),
        (confidence, 0.45, "confidence in the cell's average"),
    ):
        ax.bar(left, 2 * half, width, mean - half, align="edge", color=ESTIMATE, alpha=alpha, lw=0, label=label)
    ax.hlines(mean, left, left + width, color=INK, lw=1.4, label="posterior mean of a cell")
    spread = [float(mean.min()), float(mean.max())]
    if f is not None:
        low, high = study.space.bounds[0]
        x = np.linspace(low, high, 1000)
        y = f(x[:, None])
        ax.plot(x, y, color=FUNCTION, lw=1.8, label="reward function f")
        spread = [min(spread[0], float(y.min())), max(spread[1], float(y.max()))]
    (low, high) = found.region.bounds[0]
    ax.axvspan(low, high, color=FOUND, alpha=0.35, lw=0, label="region found")
    margin = 0.6 * (spread[1] - spread[0]) + 1e-12
    ax.set_ylim(spread[0] - margin, spread[1] + margin)
    ax.set_xlim(*study.space.bounds[0])
    if is_log(study.space, 0):
        ax.set_xscale("log")
    ax.set_ylabel(value_label(study))
    return ax


def plot_tree(study: Reading, ax: Axes | None = None) -> Axes:
    """Draw the tree of a one-dimensional study: nodes above their cells, coloured by number of measurements.

    Parameters
    ----------
    study : Study
        On a space of one axis.
    ax : Axes, optional
        Where to draw; on new axes otherwise.

    Returns
    -------
    Axes
        With the recommended node circled.
    """
    _one_axis(study)
    ax = axes_or_new(ax)
    tree, found = study.tree, study.recommend()
    nodes = zip(tree.depth.tolist(), tree.index.tolist(), strict=True)
    x = np.array([float(study.space.cell(node).center[0]) for node in nodes])
    child = np.flatnonzero(tree.parent >= 0)
    parent = tree.parent[child]
    ax.plot([x[parent], x[child]], [tree.depth[parent], tree.depth[child]], color="#999999", lw=0.6, zorder=1)
    points = ax.scatter(
        x, tree.depth, c=np.minimum(tree.count, 5), cmap="cividis_r", vmin=0, vmax=5,
        s=22, edgecolors=INK, linewidths=0.4, zorder=2,
    )  # fmt: skip
    circle = ax.scatter(
        found.region.center, [found.node[0]], s=130, facecolors="none", edgecolors=FOUND, lw=2, zorder=3,
        label="region found",
    )  # fmt: skip
    ax.set_ylim(int(tree.depth.max()) + 0.6, -0.6)
    ax.set_xlim(*study.space.bounds[0])
    if is_log(study.space, 0):
        ax.set_xscale("log")
    ax.set_xlabel(axis_label(study.space, 0))
    ax.set_ylabel("depth in the tree")
    figure = ax.figure
    bar = figure.colorbar(points, ax=ax, pad=0.01, fraction=0.04, ticks=range(6))
    bar.ax.set_yticklabels(["0", "1", "2", "3", "4", "5+"])
    bar.set_label("measurements")
    legend_above(ax, [circle])
    return ax


def _one_axis(study: Reading) -> None:
    if not isinstance(study.space, Box) or study.space.d != 1:
        raise InvalidInput(
            "this picture is for boxes of one axis", study.space.names, "Use plot_regions, or read study.tree."
        )
