"""The tree of a study on any space, as shelves: a region above its children."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zonal.plots.style import FOUND, INK, axes_or_new, colour_map, legend_above, value_label
from zonal.spaces import Hierarchy, Sequences
from zonal.tree import TreeTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from zonal.reading import Reading

Floats = NDArray[np.float64]

NARROWEST = 0.01  # of the picture: narrower rectangles have no room for a name
ROOMY = 0.9  # of a rectangle may be filled by its name


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
        Every leaf of the tree equally wide, coloured by posterior mean, with a dot on every region measured, the
        recommended region and the way to it framed, and the names of regions that are wide enough.
    """
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    ax = axes_or_new(ax, 9.0, 4.5)
    tree, found = study.tree, study.recommend()
    left, width = _shelves(tree)
    rows = range(len(tree))
    boxes = [Rectangle((left[row], tree.depth[row]), width[row], 1) for row in rows]
    thin = np.where(width > 0.004, 0.4, 0.0)
    shelves = PatchCollection(boxes, cmap=colour_map(study), edgecolor="white", linewidths=thin)
    shelves.set_array(tree.mean)
    ax.add_collection(shelves)
    measured = np.flatnonzero(tree.count)
    middle = left + width / 2
    dots = ax.scatter(
        middle[measured], tree.depth[measured] + 0.8, s=12, c="white", edgecolors=INK, linewidths=0.4, zorder=3,
        label="measured",
    )  # fmt: skip
    nodes = list(zip(tree.depth.tolist(), tree.index.tolist(), strict=True))
    row = nodes.index(found.node)
    while row >= 0:
        corner = (left[row], tree.depth[row])
        frame = ax.add_patch(Rectangle(corner, width[row], 1, fill=False, ec=FOUND, lw=2.2, zorder=4))
        row = int(tree.parent[row])
    frame.set_label("region found, and the way to it")
    deepest = int(tree.depth.max())
    ax.set_xlim(0, 1)
    ax.set_ylim(deepest + 1, 0)
    ax.set_yticks([depth + 0.5 for depth in range(deepest + 1)], [str(depth) for depth in range(deepest + 1)])
    ax.set_xticks([])
    _name(study, ax, left, width, nodes)
    ax.set_xlabel(f"regions in the order of the tree; found: {found.region.name}", wrap=True)
    ax.set_ylabel("depth in the tree")
    ax.figure.colorbar(shelves, ax=ax, pad=0.01, fraction=0.04).set_label(
        f"posterior mean of {value_label(study)}"
    )
    legend_above(ax, [dots, frame])
    return ax


def _name(study: Reading, ax: Axes, left: Floats, width: Floats, nodes: list[tuple[int, int]]) -> None:
    """Write the names of regions into their rectangles, where there is room for the whole name."""
    mean = study.tree.mean if study.direction == "maximize" else -study.tree.mean
    bright = mean.min() + 0.6 * (mean.max() - mean.min())
    room = ax.get_window_extent()
    height = room.height / (max(depth for depth, _ in nodes) + 1)
    for row in np.flatnonzero(width > NARROWEST):
        label = _short_name(study.space, nodes[row])
        if not label:
            continue
        text = ax.text(
            left[row] + width[row] / 2, nodes[row][0] + 0.4, label, ha="center", va="center", fontsize=6.5,
            color="black" if mean[row] > bright else "white", clip_on=True,
        )  # fmt: skip
        box = text.get_window_extent()
        if box.width > ROOMY * width[row] * room.width or box.height > ROOMY * height:
            text.remove()


def _shelves(tree: TreeTable) -> tuple[Floats, Floats]:
    """Return left edge and width of every node, all leaves equally wide."""
    leaves = (tree.first_child < 0).astype(float)
    for row in range(len(tree) - 1, 0, -1):  # children come after their parents
        leaves[tree.parent[row]] += leaves[row]
    width = leaves / leaves[0]
    left, filled = np.zeros(len(tree)), np.zeros(len(tree))
    for row in range(1, len(tree)):
        parent = tree.parent[row]
        left[row] = left[parent] + filled[parent]
        filled[parent] += width[row]
    return left, width


def _short_name(space: Any, node: tuple[int, int]) -> str:
    """Return the last part of a region's name."""
    if isinstance(space, Hierarchy):
        return str(space.cell(node).name.split(" > ")[-1])
    return str(space.cell(node).name) if isinstance(space, Sequences) else ""
