"""Pictures of a study. Every function draws on the axes it is given and returns them.

Colours are Okabe and Ito's, which colour-blind readers can tell apart, and differ in lightness too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zonal.errors import InvalidInput
from zonal.spaces import Box
from zonal.study import Study

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


def _labelled(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name


def _one_axis(study: Study) -> None:
    if not isinstance(study.space, Box) or study.space.d != 1:
        raise InvalidInput(
            "this picture is for boxes of one axis", study.space.names, "Use plot_regions, or read study.tree."
        )
