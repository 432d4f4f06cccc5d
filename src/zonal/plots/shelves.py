"""The tree of a study on any space, as shelves: a region above its children."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zonal.looking import is_empty
from zonal.plots.marks import box, draw_marks, marks
from zonal.plots.style import (
    FOUND,
    INK,
    Floats,
    axes_or_new,
    colour_bar,
    colour_map,
    legend_above,
    mean_label,
    strength,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from zonal.reading import Reading

NARROWEST = 0.01  # of the picture: narrower rectangles have no room for a name
ROOMY = 0.9  # of a rectangle may be filled by its name
EDGED = 0.004  # of the picture: narrower rectangles have no edges
DARK = 0.45  # lightness of a colour on which white letters are read


def plot_regions(study: Reading, ax: Axes | None = None) -> Axes:
    """Draw the tree of a study on any space as shelves: a region above its children.

    Parameters
    ----------
    study : Study
        On any space.
    ax : Axes, optional
        Where to draw; on new axes otherwise.

    Returns
    -------
    Axes
        Every region as wide as its share of the space, coloured by posterior mean, paler where less is known, with
        a dot where it was measured; what is forbidden, cannot be measured or is under way; the recommended region
        and the way to it framed; and the names of regions that are wide enough.
    """
    from matplotlib.collections import LineCollection, PolyCollection

    ax = axes_or_new(ax, 9.0, 4.5)
    tree, found, deepest = study.tree, study.found, int(study.tree.depth.max())
    nodes = list(zip(tree.depth.tolist(), tree.index.tolist(), strict=True))
    left, width = _shelves(study, nodes)
    edges = np.stack([left, left + width], axis=1)
    boxes = [box(x, (depth, depth + 1)) for x, depth in zip(edges, tree.depth.tolist(), strict=True)]
    rows = dict(zip(nodes, range(len(nodes)), strict=True))
    shelves = PolyCollection(boxes, cmap=colour_map(study), edgecolor="white", linewidths=0.4 * (width > EDGED))
    shelves.set(array=tree.mean, alpha=strength(study.doubt()), clim=_limits(tree))
    ax.add_collection(shelves)
    measured = np.flatnonzero(tree.count)
    if len(measured):
        ax.scatter(
            (left + width / 2)[measured], tree.depth[measured] + 0.8, s=12, c="white", edgecolors=INK,
            linewidths=0.4, zorder=3, label="measured",
        )  # fmt: skip
    row, way = rows[found.node], []  # type: ignore[index]
    while row >= 0 and not is_empty(study):
        way.append(boxes[row])
        row = int(tree.parent[row])
    ax.add_collection(LineCollection(way, colors=FOUND, linewidths=1.4, zorder=3.8))
    ax.set(xlim=(0, 1), ylim=(deepest + 1, 0), xticks=[])
    draw_marks(marks(study), ax, lambda region: [boxes[rows[region.node]]] if region.node in rows else [])
    ax.set_yticks(np.arange(deepest + 1) + 0.5, [str(depth) for depth in range(deepest + 1)])
    _name(study, ax, left, width, nodes, shelves)
    best = "" if is_empty(study) else f"; best: {found.name}"
    ax.set_xlabel(f"regions in the order of the tree{best}", wrap=True)
    ax.set_ylabel("depth in the tree")
    if not is_empty(study):
        colour_bar(ax, shelves, mean_label(study))
    legend_above(ax)
    return ax


def _limits(tree: Any) -> tuple[float, float]:
    """Return the range of colours: that of all that may be recommended."""
    shown = tree.mean[~tree.forbidden]
    shown = shown if len(shown) else tree.mean
    return float(shown.min()), float(shown.max())


def _name(
    study: Reading, ax: Axes, left: Floats, width: Floats, nodes: list[tuple[int, int]], shelves: Any
) -> None:
    """Write the names of regions into their rectangles, where there is room for the whole name."""
    if not study.space.cell((0, 0)).label:
        return
    colours = shelves.to_rgba(shelves.get_array())[:, :3] * shelves.get_alpha()[:, None]
    light = colours @ [0.3, 0.59, 0.11] + (1 - shelves.get_alpha())  # on white paper
    room = ax.get_window_extent()
    height = room.height / (max(depth for depth, _ in nodes) + 1)
    for row in np.flatnonzero(width > NARROWEST):
        label = study.space.cell(nodes[row]).label
        text = ax.text(
            left[row] + width[row] / 2, nodes[row][0] + 0.4, label, ha="center", va="center", fontsize=6.5,
            color="white" if light[row] < DARK else "black", clip_on=True, zorder=4.5,
        )  # fmt: skip
        extent = text.get_window_extent()
        if extent.width > ROOMY * width[row] * room.width or extent.height > ROOMY * height:
            text.remove()


def _shelves(study: Reading, nodes: list[tuple[int, int]]) -> tuple[Floats, Floats]:
    """Return left edge and width of every node: its share of the space."""
    parent = study.tree.parent
    weight = np.array([study.space.cell(node).weight for node in nodes])
    within = np.zeros(len(weight))
    np.add.at(within, parent[1:], weight[1:])
    left, width, filled = np.zeros(len(weight)), np.ones(len(weight)), np.zeros(len(weight))
    for row in range(1, len(weight)):  # children come after their parents
        above = parent[row]
        width[row] = width[above] * weight[row] / within[above]
        left[row] = left[above] + filled[above]
        filled[above] += width[row]
    return left, width
