"""Maps: a study over two axes or features, or over several pairs of them, or one map a symbol."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zonal.errors import InvalidInput
from zonal.plots.style import (
    FOUND,
    FUNCTION,
    axes_or_new,
    axis_label,
    colour_map,
    is_log,
    legend_above,
    value_label,
)
from zonal.spaces import Box, Interval, MemberSpace
from zonal.tables.dataframes import DataSeries, in_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from zonal.reading import Reading

Floats = NDArray[np.float64]
Panel = tuple[int, int, dict[str, str]]  # two axes, and the symbols of others

CELLS = 24  # of a map of predictions, an axis
MOST_PANELS = 12
ACROSS = 3


def plot_map(study: Reading, ax: Axes | None = None, truth: Floats | DataSeries | None = None) -> Axes:
    """Draw a study over the first two coordinates of its space: what was measured, and the region found.

    Parameters
    ----------
    study : Study
        On `Points` or a `Hierarchy` with two features, or on a `Box` of two axes.
    ax : Axes, optional
        Where to draw; on new axes otherwise.
    truth : array or series, optional
        True values to draw underneath: one a member, by its index if it has one, or for a box one a pixel, shape
        (first axis, second axis). The posterior means of the leaves otherwise.

    Returns
    -------
    Axes
        With a circle for every region measured, larger for larger regions, and the region found in green.
    """
    space = study.space
    if isinstance(space, Box) and space.d == 2:
        draw: Callable[..., Any] = _draw_box
    elif isinstance(space, MemberSpace) and space.d >= 2 and not space.symbolic:
        draw = _draw_members
    else:
        raise InvalidInput("this map needs two coordinates", space.names, "Use plot_regions.")
    ax = axes_or_new(ax, 7.5, 5.0)
    shown = draw(study, ax, truth)
    _set_axes(study, ax, 0, 1)
    what = "posterior mean of " if truth is None else ""
    ax.figure.colorbar(shown, ax=ax, pad=0.01, fraction=0.04).set_label(what + value_label(study))
    legend_above(ax)
    return ax


def plot_pairs(study: Reading, ax: Axes | None = None) -> Axes:
    """Draw a study over pairs of its axes or features, or one map a symbol, panel by panel.

    Parameters
    ----------
    study : Study
        On a `Box` or `Product` of two continuous axes at least, or on members with two features at least.
    ax : Axes, optional
        Whose place the panels take; new axes otherwise.

    Returns
    -------
    Axes
        The frame of the panels. A panel of a box shows posterior means of cells on two axes, the other axes being
        as in the region found; where there are symbols, it is for those in its title.
    """
    panels = _panels(study)
    if not panels:
        raise InvalidInput("these maps need two coordinates", study.space.names, "Use plot_regions.")
    down = math.ceil(len(panels) / ACROSS)
    across = min(len(panels), ACROSS)
    ax = axes_or_new(ax, 3.4 * across + 1.2, 2.9 * down + 0.6)
    ax.set_axis_off()
    maps = [_map(study, *panel) for panel in panels]
    low, high = (float(pick([pick(own[2]) for own in maps])) for pick in (np.min, np.max))
    marks: dict[str, Any] = {}
    for at, ((j, k, symbols), (x, y, mean)) in enumerate(zip(panels, maps, strict=True)):
        row, column = divmod(at, across)
        inner = ax.inset_axes(((column + 0.19) / across, 1 - (row + 0.82) / down, 0.75 / across, 0.7 / down))
        shown = _draw_panel(study, inner, j, k, x, y, mean, (low, high))
        _mark(study, inner, j, k, symbols)
        _set_axes(study, inner, j, k)
        inner.tick_params(labelsize="small")
        inner.set_title(", ".join(symbols.values()), fontsize="small")
        handles, labels = inner.get_legend_handles_labels()
        marks = dict(zip(labels, handles, strict=True)) | marks
    bar = ax.figure.colorbar(shown, ax=ax, pad=0.01, fraction=0.03)
    bar.set_label(f"posterior mean of {value_label(study)}")
    legend_above(ax, list(marks.values()))
    if sum(isinstance(axis, Interval) for axis in study.space.axes or ()) > 2:
        ax.set_title("other axes: as in the region found", fontsize="small", loc="right")
    return ax


def _panels(study: Reading) -> list[Panel]:
    """Return the pairs of axes to draw, for each combination of symbols; the first if there are too many."""
    space = study.space
    if isinstance(space, MemberSpace):
        pairs = [] if space.symbolic else list(itertools.combinations(range(space.d), 2))
        return [(j, k, {}) for j, k in pairs[:MOST_PANELS]]
    lines = [j for j, axis in enumerate(space.axes) if isinstance(axis, Interval)]
    pairs = list(itertools.combinations(lines, 2))
    named = [axis for _, axis in space.categories]
    found: Any = study.found
    chosen = [axis.symbols for axis in named]
    if len(pairs) * math.prod(len(symbols) for symbols in chosen) > MOST_PANELS:  # those of the region found
        chosen = [tuple(own) for own in found.symbols if own is not None]
    combinations = list(itertools.product(*chosen))
    every = [
        (j, k, {axis.name: symbol for axis, symbol in zip(named, symbols, strict=True)})
        for symbols in combinations
        for j, k in pairs
    ]
    return every[:MOST_PANELS]


def _map(study: Reading, j: int, k: int, symbols: dict[str, str]) -> tuple[Floats, Floats, Floats]:
    """Return places and posterior means for one panel: of cells, edges and one mean a cell; of members, all."""
    space = study.space
    if isinstance(space, MemberSpace):
        return space.features[:, j], space.features[:, k], _member_means(study)
    edges = {
        at: np.asarray(axis.native(np.linspace(axis.low, axis.high, CELLS + 1)), dtype=float).tolist()
        for at, axis in ((j, space.axes[j]), (k, space.axes[k]))
    }
    others = _others(study, j, k)
    cells = [
        others | symbols | {space.names[j]: left, space.names[k]: bottom}
        for bottom in itertools.pairwise(edges[k])
        for left in itertools.pairwise(edges[j])
    ]
    mean = study.predict([space.region(cell) for cell in cells]).mean
    return np.array(edges[j]), np.array(edges[k]), np.reshape(mean, (CELLS, CELLS))


def _others(study: Reading, j: int, k: int) -> dict[str, Any]:
    """Return what the region found is of the continuous axes that a panel does not show."""
    best = study.found
    return {
        axis.name: tuple(best.bounds[at])
        for at, axis in enumerate(study.space.axes)
        if isinstance(axis, Interval) and at not in (j, k)
    }


def _hatch(study: Reading, ax: Axes, j: int, k: int, within: Callable[[Any], bool] = lambda _: True) -> None:
    """Hatch the leaves that are forbidden; a larger one may be so because of a part of it."""
    tree = study.tree
    rows = np.flatnonzero((tree.first_child < 0) & tree.forbidden)
    label: str | None = "forbidden" if tree.smallest[rows].all() else "forbidden, at least in part"
    for row in rows:
        cell = study.space.cell((int(tree.depth[row]), int(tree.index[row])))
        if within(cell):
            patch = _rectangle(
                cell.bounds[[j, k]], fc="#77777766", hatch="////", ec="white", lw=0, zorder=2, label=label
            )
            ax.add_patch(patch)
            label = None


def _draw_panel(
    study: Reading, ax: Axes, j: int, k: int, x: Floats, y: Floats, mean: Floats, limits: tuple[float, float]
) -> Any:
    colours: dict[str, Any] = {"cmap": colour_map(study), "vmin": limits[0], "vmax": limits[1]}
    if isinstance(study.space, MemberSpace):
        return ax.scatter(x, y, c=mean, s=9, lw=0, **colours)
    return ax.pcolormesh(x, y, mean, rasterized=True, **colours)


def _mark(study: Reading, ax: Axes, j: int, k: int, symbols: dict[str, str]) -> None:
    """Mark what was measured and the region found, where they lie within a panel's symbols."""
    space = study.space
    within = (lambda _: True) if not symbols else space.region(symbols).overlaps
    if not isinstance(space, MemberSpace):
        _hatch(study, ax, j, k, space.region(_others(study, j, k) | symbols).overlaps)
    centers, sizes = _visits(study, (j, k), within)
    _circles(ax, centers, sizes)
    best = study.found
    if not within(best):
        return
    if not isinstance(space, MemberSpace):
        ax.add_patch(_rectangle(best.bounds[[j, k]], fill=False, ec=FOUND, lw=2, zorder=4))
    _star(ax, best.center[[j]], best.center[[k]], 110)


def _set_axes(study: Reading, ax: Axes, j: int, k: int) -> None:
    """Name the axes, logarithmic where the space is."""
    if is_log(study.space, j):
        ax.set_xscale("log")
    if is_log(study.space, k):
        ax.set_yscale("log")
    ax.set_xlabel(axis_label(study.space, j))
    ax.set_ylabel(axis_label(study.space, k))


def _leaf_means(study: Reading) -> list[tuple[Any, float]]:
    tree = study.tree
    leaves = np.flatnonzero(tree.first_child < 0)
    nodes = zip(tree.depth[leaves].tolist(), tree.index[leaves].tolist(), strict=True)
    return [(study.space.cell(node), float(mean)) for node, mean in zip(nodes, tree.mean[leaves], strict=True)]


def _member_means(study: Reading) -> Floats:
    """Return the posterior mean of the leaf of the tree in which each member is."""
    means = np.empty(study.space.size)
    for cell, mean in _leaf_means(study):
        means[cell.positions] = mean
    return means


def _visits(
    study: Reading, axes: tuple[int, int] = (0, 1), within: Callable[[Any], bool] = lambda _: True
) -> tuple[Floats, Floats]:
    """Return centres of the regions measured, and the sizes of their circles."""
    told = {trial.node: trial.region for trial in study.trials if trial.state == "told" and within(trial.region)}
    centers = np.array([region.center[list(axes)] for region in told.values()]).reshape(-1, 2)
    share = np.array([region.weight for region in told.values()]) / study.space.cell((0, 0)).weight
    return centers, 8 + 500 * share**0.6


def _circles(ax: Axes, centers: Floats, sizes: Floats) -> None:
    ax.scatter(
        centers[:, 0], centers[:, 1], s=sizes, facecolors="none", edgecolors=FUNCTION, linewidths=0.8, zorder=3,
        label="measured: larger circles, larger regions",
    )  # fmt: skip


def _star(ax: Axes, x: Any, y: Any, size: float) -> None:
    ax.scatter(
        x, y, marker="*", s=size, color=FOUND, edgecolors="white", linewidths=0.8, zorder=5, label="region found"
    )


def _draw_box(study: Reading, ax: Axes, truth: Floats | None) -> Any:
    from matplotlib.collections import PatchCollection

    (left, right), (bottom, top) = study.space.bounds
    leaves = _leaf_means(study)
    corners = [_rectangle(cell.bounds) for cell, _ in leaves]
    if truth is None:
        shown: Any = PatchCollection(corners, cmap=colour_map(study), edgecolor="white", linewidth=0.2)
        shown.set_array([mean for _, mean in leaves])
        ax.add_collection(shown)
    else:
        shown = ax.imshow(
            truth.T, origin="lower", extent=(left, right, bottom, top), cmap=colour_map(study), aspect="auto"
        )
        ax.add_collection(PatchCollection(corners, facecolor="none", edgecolor="white", linewidth=0.3, alpha=0.7))
    _circles(ax, *_visits(study))
    best: Any = study.found
    ax.add_patch(_rectangle(best.bounds, fill=False, ec=FOUND, lw=2.5, zorder=4))
    _hatch(study, ax, 0, 1)
    _star(ax, best.center[0], best.center[1], 150)
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    return shown


def _rectangle(bounds: Floats, **style: Any) -> Any:
    from matplotlib.patches import Rectangle

    (left, right), (bottom, top) = bounds
    return Rectangle((left, bottom), right - left, top - bottom, **style)


def _draw_members(study: Reading, ax: Axes, truth: Any) -> Any:
    space = study.space
    colour = (
        _member_means(study) if truth is None else np.asarray(in_order(truth, space.ways, "truth"))[space.rows]
    )
    x, y = space.features[:, 0], space.features[:, 1]
    low, high = np.percentile(colour, [1, 99])
    shown = ax.scatter(x, y, c=colour, cmap=colour_map(study), s=9, lw=0, vmin=low, vmax=high)
    _circles(ax, *_visits(study))
    best: Any = study.found
    _star(ax, x[best.positions], y[best.positions], 150)
    return shown
