"""The tree of a study on any space, as shelves: a region above its children."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zonal._types import Flags, Floats, Ints
from zonal.plotting import style
from zonal.plotting.style import box, draw_marks, marks, outline, short_name
from zonal.spaces import Node, Region
from zonal.study.summary import is_empty

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import Collection

    from zonal.study.study import Study

NARROWEST = 0.01  # of the plot: narrower rectangles are too narrow for a name
ROOMY = 0.9  # of a rectangle may be filled by its name
EDGED = 0.004  # of the plot: narrower rectangles have no edges
LIGHTNESS = (0.3, 0.59, 0.11)  # of red, green and blue
MAX_MEASUREMENTS = 5  # beyond which a dot does not grow
DARK = 0.45  # lightness below which text is white


def plot_tree(
    study: Study, ax: Axes | None = None, cmap: str | None = None, limits: tuple[float, float] | None = None
) -> Axes:
    """Plot the tree of a study as shelves, a region above its children; above its axis, if there is only one.

    Every region is as wide as its share of the space, coloured by posterior mean, paler where uncertain, with
    a dot where it was measured. What is forbidden, cannot be measured or is pending is marked, the recommended
    region and its ancestors are framed, and regions that are wide enough have names. `cmap` and `limits` are as in
    `plot_map`.
    """
    ax, tree, space = style.axes_or_new(ax, 9.0, 4.5), study.tree, study.space
    cells = style.regions_of(study, slice(None))
    rows = {cell.node: row for row, cell in enumerate(cells)}
    edges = _shelves(study, [cell.weight for cell in cells])
    wide, line = edges[:, 1] - edges[:, 0] > EDGED, style.is_line(space)
    if line:
        edges = np.array([outline(cell)[0] for cell in cells])
        style.set_axis(ax, space, 0)
    boxes = [box(x, (depth, depth + 1)) for x, depth in zip(edges, tree.depth.tolist(), strict=True)]
    shelves = _coloured(study, ax, boxes, wide)
    shelves.set_cmap(style.colour_map(study, cmap))
    shelves.set_clim(*(style.colour_limits(limits) or shelves.get_clim()))
    deepest = int(tree.depth.max())
    ax.set(xlim=edges[0], ylim=(deepest + 1, 0), ylabel="depth in the tree")
    ax.set_yticks(np.arange(deepest + 1) + 0.5, list(map(str, range(deepest + 1))))
    _dots(study, ax, style.middles(space, 0, edges) if line else edges.mean(axis=1))
    draw_marks(
        marks(study, on_grid=True), ax, lambda region: [boxes[rows[region.node]]] if region.node in rows else []
    )
    best = "" if is_empty(study) else _framed(study, ax, boxes, rows)
    style.colour_bar(study, ax, shelves)
    if not line:
        ax.set_xticks([])
        ax.set_xlabel(f"regions in the order of the tree{best}", wrap=True)
    if short_name(cells[0]):
        on_paper = style.strength(study.relative_std())[:, None]
        light = (shelves.to_rgba(tree.mean)[:, :3] * on_paper + 1 - on_paper) @ LIGHTNESS
        _name(ax, edges, tree.depth, cells, light)
    style.legend_above(ax)
    return ax


def _coloured(study: Study, ax: Axes, boxes: list[Floats], wide: Flags) -> Collection:
    """Draw the rectangles, coloured by posterior mean, with edges if they are wide; return what is coloured."""
    from matplotlib.collections import PolyCollection

    tree = study.tree
    shown = style.allowed(tree.mean, tree.forbidden)
    shelves = PolyCollection(boxes, edgecolor="white", linewidths=0.4 * wide)
    shelves.set(array=tree.mean, alpha=style.strength(study.relative_std()), clim=(shown.min(), shown.max()))
    ax.add_collection(shelves)
    return shelves


def _dots(study: Study, ax: Axes, middle: Floats) -> None:
    """Draw a dot in every region measured."""
    measured, count = np.flatnonzero(study.tree.count), study.tree.count
    if len(measured):
        ax.scatter(
            middle[measured], study.tree.depth[measured] + 0.8,
            s=4 + 8 * np.minimum(count[measured], MAX_MEASUREMENTS), c="white",
            edgecolors=style.INK, linewidths=0.4, zorder=3, label="measured (larger dot: more often)",
        )  # fmt: skip


def _framed(study: Study, ax: Axes, boxes: list[Floats], rows: dict[Node | None, int]) -> str:
    """Frame the region found and its ancestors, and return its name for the label of the axis."""
    from matplotlib.collections import LineCollection

    row, path = rows[study.recommend(on_grid=True).node], []
    while row >= 0:
        path.append(boxes[row])
        row = int(study.tree.parent[row])
    ax.add_collection(LineCollection(path, colors=style.FOUND, linewidths=1.4, zorder=3.8))
    return f"; best: {study.recommend(on_grid=True).region.name}"


def _name(ax: Axes, edges: Floats, depth: Ints, cells: list[Region], light: Floats) -> None:
    """Write the names of regions into their rectangles, if they fit."""
    extent_of_axes, width = ax.get_window_extent(), edges[:, 1] - edges[:, 0]
    height = extent_of_axes.height / ax.get_ylim()[0]
    for row in np.flatnonzero(width > NARROWEST):
        label = short_name(cells[row])
        text = ax.text(
            edges[row].mean(), depth[row] + 0.4, label, ha="center", va="center", fontsize=6.5, clip_on=True,
            color="white" if light[row] < DARK else "black", zorder=4.5,
        )  # fmt: skip
        extent = text.get_window_extent()
        if extent.width > ROOMY * width[row] * extent_of_axes.width or extent.height > ROOMY * height:
            text.remove()


def _shelves(study: Study, weight: list[float]) -> Floats:
    """Return both edges of every node: its share of the space, from 0 to 1."""
    parent, within = study.tree.parent, np.zeros(len(weight))
    np.add.at(within, parent[1:], weight[1:])
    edges, filled = np.zeros((len(weight), 2)), np.zeros(len(weight))
    edges[0, 1] = 1
    for row in range(1, len(weight)):  # children come after their parents
        above = parent[row]
        width = (edges[above, 1] - edges[above, 0]) * weight[row] / within[above]
        edges[row] = edges[above, 0] + filled[above] + np.array((0.0, width))
        filled[above] += width
    return edges
