"""Pictures of a study. Every function draws on the axes it is given and returns them.

Colours are Okabe and Ito's, which colour-blind readers can tell apart, and differ in lightness too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zonal.errors import InvalidInput
from zonal.rehearsal import Rehearsal
from zonal.spaces import Box, Hierarchy, MemberSpace, Sequences
from zonal.study import Study
from zonal.tree import TreeTable

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

FUNCTION, ESTIMATE, FOUND, INK = "#D55E00", "#0072B2", "#009E73", "#222222"
Function = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@contextmanager
def column_width() -> Iterator[None]:
    """Draw and save within this context for fonts and lines that suit a printed column, 3.3 or 7 inches wide."""
    from matplotlib import rc_context

    small = {
        "font.size": 8,
        "axes.titlesize": 8,
        "axes.labelsize": 8,
        "legend.fontsize": 8,
        "xtick.labelsize": 7.5,
        "ytick.labelsize": 7.5,
        "axes.linewidth": 0.6,
    }
    with rc_context(small):  # type: ignore[arg-type]
        yield


def rim(line: Artist, width: float = 3.2) -> None:
    """Give a line a white rim, so that it stands out from bands in grey too."""
    from matplotlib.patheffects import withStroke

    line.set_path_effects([withStroke(linewidth=width, foreground="white")])


def plot_cells(study: Study, ax: Axes, f: Function | None = None) -> Axes:
    """Draw what is known of each leaf of a one-dimensional study, in the spirit of the paper's first figure.

    Parameters
    ----------
    study : Study
        On a space of one axis.
    ax : Axes
        Where to draw.
    f : callable, optional
        The true function, vectorised, (n, 1) to (n,).

    Returns
    -------
    Axes
        With posterior means as lines, confidence as dark and variation of f as light bands.
    """
    _one_axis(study)
    tree, bands, found = study.tree, study.bands(), study.recommend()
    leaves = np.flatnonzero(tree.first_child < 0)
    cells = [study.space.cell((int(tree.depth[row]), int(tree.index[row]))) for row in leaves]
    left = np.array([cell.edges[0][0] for cell in cells])
    width = np.array([cell.sizes[0] for cell in cells])
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
    ax.set_ylabel(_labelled(study.value_name, study.value_unit))
    return ax


def plot_tree(study: Study, ax: Axes) -> Axes:
    """Draw the tree of a one-dimensional study: nodes above their cells, coloured by number of measurements.

    Parameters
    ----------
    study : Study
        On a space of one axis.
    ax : Axes
        Where to draw.

    Returns
    -------
    Axes
        With the recommended node circled.
    """
    _one_axis(study)
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
    ax.scatter(found.region.center, [found.node[0]], s=130, facecolors="none", edgecolors=FOUND, lw=2, zorder=3)
    ax.set_ylim(int(tree.depth.max()) + 0.6, -0.6)
    ax.set_xlim(*study.space.bounds[0])
    ax.set_xlabel(_labelled(study.space.names[0], study.space.units[0]))
    ax.set_ylabel("depth in the tree")
    figure = ax.figure
    bar = figure.colorbar(points, ax=ax, pad=0.01, fraction=0.04, ticks=range(6))
    bar.ax.set_yticklabels(["0", "1", "2", "3", "4", "5+"])
    bar.set_label("measurements")
    return ax


def plot_regions(study: Study, ax: Axes) -> Axes:
    """Draw the tree of a study on any space as shelves: a region above its children.

    Parameters
    ----------
    study : Study
        On any space.
    ax : Axes
        Where to draw.

    Returns
    -------
    Axes
        Every leaf of the tree equally wide, coloured by posterior mean, with a dot on every region measured, the
        recommended region and the way to it framed, and the names of regions that are wide enough.
    """
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    tree, space, found = study.tree, study.space, study.recommend()
    left, width = _shelves(tree)
    rows = range(len(tree))
    boxes = [Rectangle((left[row], tree.depth[row]), width[row], 1) for row in rows]
    thin = np.where(width > 0.004, 0.4, 0.0)
    shelves = PatchCollection(boxes, cmap="cividis", edgecolor="white", linewidths=thin)
    shelves.set_array(tree.mean)
    ax.add_collection(shelves)
    measured = np.flatnonzero(tree.count)
    middle = left + width / 2
    ax.scatter(
        middle[measured], tree.depth[measured] + 0.8, s=5, c="white", edgecolors=INK, linewidths=0.4, zorder=3
    )
    nodes = list(zip(tree.depth.tolist(), tree.index.tolist(), strict=True))
    row = nodes.index(found.node)
    while row >= 0:
        corner = (left[row], tree.depth[row])
        ax.add_patch(Rectangle(corner, width[row], 1, fill=False, ec=FOUND, lw=2.2, zorder=4))
        row = int(tree.parent[row])
    bright = tree.mean.min() + 0.6 * (tree.mean.max() - tree.mean.min())
    for row in rows:
        label = _short_name(space, nodes[row]) if width[row] > 0.02 else ""
        if label and 0.0085 * len(label) < width[row]:
            colour = "black" if tree.mean[row] > bright else "white"
            ax.text(
                middle[row], tree.depth[row] + 0.4, label, ha="center", va="center", fontsize=6.5, color=colour
            )
    deepest = int(tree.depth.max())
    ax.set_xlim(0, 1)
    ax.set_ylim(deepest + 1, 0)
    ax.set_yticks([depth + 0.5 for depth in range(deepest + 1)], [str(depth) for depth in range(deepest + 1)])
    ax.set_xticks([])
    ax.set_xlabel(f"regions in the order of the tree; found: {found.region.name}")
    ax.set_ylabel("depth in the tree")
    ax.figure.colorbar(shelves, ax=ax, pad=0.01, fraction=0.04).set_label(
        f"posterior mean of {_labelled(study.value_name, study.value_unit)}"
    )
    return ax


def plot_map(study: Study, ax: Axes, truth: NDArray[np.float64] | None = None) -> Axes:
    """Draw a study over the first two coordinates of its space: what was measured, and the region found.

    Parameters
    ----------
    study : Study
        On `Points` or a `Hierarchy` with two features, or on a `Box` of two axes.
    ax : Axes
        Where to draw.
    truth : array, optional
        True values to draw underneath: one a member, or for a box one a pixel, of shape (first axis, second
        axis). The posterior means of the leaves otherwise.

    Returns
    -------
    Axes
        With a circle for every region measured, larger for larger regions, and the region found in green.
    """
    space = study.space
    if isinstance(space, Box) and space.d == 2:
        shown = _draw_box(study, ax, truth)
    elif isinstance(space, MemberSpace) and space.d >= 2 and not space.symbolic:
        shown = _draw_members(study, ax, truth)
    else:
        raise InvalidInput("this map needs two coordinates", space.names, "Use plot_regions.")
    units = getattr(space, "units", ("",) * space.d)
    ax.set_xlabel(_labelled(space.names[0], units[0]))
    ax.set_ylabel(_labelled(space.names[1], units[1]))
    what = "posterior mean of " if truth is None else ""
    ax.figure.colorbar(shown, ax=ax, pad=0.01, fraction=0.04).set_label(
        what + _labelled(study.value_name, study.value_unit)
    )
    return ax


def plot_regrets(rehearsal: Rehearsal, ax: Axes) -> Axes:
    """Draw the regret of every campaign of a rehearsal, with means and their standard errors.

    Parameters
    ----------
    rehearsal : Rehearsal
        Of one or several players.
    ax : Axes
        Where to draw.

    Returns
    -------
    Axes
        A line a player, the first on top.
    """
    names = list(rehearsal.campaigns)
    for place, (name, own) in enumerate(rehearsal.campaigns.items()):
        colour = ESTIMATE if name.startswith("Zonal") else FUNCTION
        runs = len(own.regrets)
        spread = place + 0.24 * (np.arange(runs) / max(runs - 1, 1) - 0.5)
        ax.scatter(own.regrets, spread, s=12, color=colour, alpha=0.35, lw=0)
        error = 0.0 if np.isnan(own.sem) else own.sem
        ax.errorbar(own.mean, place, xerr=error, fmt="o", color=colour, ms=6, capsize=3, mec="white", mew=0.8)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlim(left=min(0.0, ax.get_xlim()[0]))
    ax.set_xlabel("regret: the best average there is,\nless that of the region found")
    ax.grid(axis="x", color="#dddddd", lw=0.6)
    ax.set_axisbelow(True)
    return ax


def _shelves(tree: TreeTable) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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
    name: str = space.cell(node).name
    if isinstance(space, Hierarchy):
        return name.split(" > ")[-1]
    return name if isinstance(space, Sequences) else ""


def _leaf_means(study: Study) -> list[tuple[Any, float]]:
    tree = study.tree
    leaves = np.flatnonzero(tree.first_child < 0)
    nodes = zip(tree.depth[leaves].tolist(), tree.index[leaves].tolist(), strict=True)
    return [(study.space.cell(node), float(mean)) for node, mean in zip(nodes, tree.mean[leaves], strict=True)]


def _visits(study: Study) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return centres of the regions measured, and the sizes of their circles."""
    regions = {trial.node: trial.region for trial in study.trials if trial.state == "told"}
    centers = np.array([region.center[:2] for region in regions.values()]).reshape(-1, 2)
    share = np.array([region.weight for region in regions.values()]) / study.space.cell((0, 0)).weight
    return centers, 8 + 500 * share**0.6


def _draw_box(study: Study, ax: Axes, truth: NDArray[np.float64] | None) -> Any:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    (left, right), (bottom, top) = study.space.bounds
    leaves = _leaf_means(study)
    corners = [Rectangle(tuple(cell.bounds[:, 0]), *cell.widths) for cell, _ in leaves]
    if truth is None:
        shown: Any = PatchCollection(corners, cmap="cividis", edgecolor="white", linewidth=0.2)
        shown.set_array([mean for _, mean in leaves])
        ax.add_collection(shown)
    else:
        shown = ax.imshow(
            truth.T, origin="lower", extent=(left, right, bottom, top), cmap="cividis", aspect="auto"
        )
        ax.add_collection(PatchCollection(corners, facecolor="none", edgecolor="white", linewidth=0.3, alpha=0.7))
    centers, sizes = _visits(study)
    ax.scatter(
        centers[:, 0], centers[:, 1], s=sizes, facecolors="none", edgecolors=FUNCTION, linewidths=0.8, zorder=3
    )
    best = study.recommend().region
    ax.add_patch(
        Rectangle(
            tuple(best.bounds[:, 0]), *best.widths, fill=False, ec=FOUND, lw=2.5, zorder=4, label="region found"
        )
    )
    ax.scatter(
        best.center[0],
        best.center[1],
        marker="*",
        s=150,
        color=FOUND,
        edgecolors="white",
        linewidths=0.8,
        zorder=5,
    )
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    return shown


def _draw_members(study: Study, ax: Axes, truth: NDArray[np.float64] | None) -> Any:
    space = study.space
    if truth is None:
        colour = np.empty(space.size)
        for cell, mean in _leaf_means(study):
            colour[cell.positions] = mean
    else:
        colour = np.asarray(truth)[space.rows]
    x, y = space.features[:, 0], space.features[:, 1]
    low, high = np.percentile(colour, [1, 99])
    shown = ax.scatter(x, y, c=colour, cmap="cividis", s=9, lw=0, vmin=low, vmax=high)
    centers, sizes = _visits(study)
    ax.scatter(
        centers[:, 0], centers[:, 1], s=sizes, facecolors="none", edgecolors=FUNCTION, linewidths=0.8, zorder=3
    )
    best: Any = study.recommend().region
    ax.scatter(
        x[best.positions], y[best.positions], marker="*", s=150, color=FOUND, edgecolors="white", linewidths=0.8,
        zorder=5, label="region found",
    )  # fmt: skip
    return shown


def _labelled(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name


def _one_axis(study: Study) -> None:
    if not isinstance(study.space, Box) or study.space.d != 1:
        raise InvalidInput(
            "this picture is for boxes of one axis", study.space.names, "Use plot_regions, or read study.tree."
        )
