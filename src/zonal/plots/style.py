"""What all plots share: colours, sizes, labels, legends, and how uncertainty is shown.

Colours are those of Okabe and Ito, which colour-blind readers can distinguish, and differ in lightness too.
Colours fade where little is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from zonal.arrays import Floats
from zonal.looking import is_empty
from zonal.spaces import Axis, Interval
from zonal.tables.listings import labelled

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from zonal.reading import Reading


FUNCTION, ESTIMATE, FOUND, INK = "#D55E00", "#0072B2", "#009E73", "#222222"
OTHERS = ("#0072B2", "#E69F00", "#CC79A7", "#56B4E9", "#D55E00", "#999999")
FADED = 0.88  # share of a colour that fades where nothing is known
LEGEND_SIZE = 24.0  # of dots and circles, in square points
LEAST_FONT = 7.0  # points, readable in print
SHADES = 12  # of the legend of uncertainty


@contextmanager
def column_width() -> Iterator[None]:
    """Within this context, fonts and lines suit a printed column, 3.3 or 7 inches wide."""
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
    """Give a line a white outline, so that it stands out from bands also in grey."""
    from matplotlib.patheffects import withStroke

    line.set_path_effects([withStroke(linewidth=width, foreground="white")])


def axes_or_new(ax: Axes | None, width: float = 7.0, height: float = 4.2) -> Axes:
    """Return the axes to draw on: those given, or new ones of this size in inches."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def legend_above(ax: Axes, handles: Sequence[Any] | None = None, columns: int = 3) -> None:
    """Put the legend above the plot, where it covers nothing; titles go above it."""
    from matplotlib.collections import PathCollection

    shown = handles if handles is not None else ax.get_legend_handles_labels()[0]
    if not shown:
        return
    legend = ax.legend(
        handles=shown,
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=columns,
        frameon=False,
        fontsize="small",
        borderaxespad=0.2,
        handlelength=1.4,
        columnspacing=1.2,
    )
    for handle in legend.legend_handles:
        if isinstance(handle, PathCollection):
            handle.set_sizes([LEGEND_SIZE])
    room = ax.inset_axes((0, 1, 1, 0.1), label="<legend>")  # titles avoid axes within axes
    room.set_axis_off()
    room.set_axes_locator(lambda *_: _legend_extent(ax))


def _legend_extent(ax: Axes) -> Any:
    """Return the extent of the legend in the figure, or of the plot if there is no legend."""
    extent = (ax.get_legend() or ax).get_window_extent()
    return extent.transformed(ax.figure.transSubfigure.inverted())


def strength(doubt: Floats) -> Floats:
    """Return the strength of a colour, given the remaining share of the prior standard deviation."""
    return np.asarray(1 - FADED * np.clip(doubt, 0, 1) ** 2)


def colour_bar(study: Reading, ax: Axes, shown: Any, truth: bool = False) -> None:
    """Explain the colours beside the plot: true values, or posterior means, which fade; none if there are none."""
    from matplotlib.patches import Rectangle

    if is_empty(study) and not truth:
        return
    label = f"{'' if truth else 'posterior mean of '}{value_label(study)}"
    bar = ax.figure.colorbar(shown, ax=ax, label=label, pad=0.015, fraction=0.045, aspect=16).ax
    if truth:
        return
    for shade in range(SHADES):
        gone = float(1 - strength(np.array((shade + 0.5) / SHADES)))
        part = Rectangle((shade / SHADES, 0), 1 / SHADES, 1, transform=bar.transAxes, fc=ax.get_facecolor())
        bar.add_patch(part).set(alpha=gone, lw=0, zorder=1.5)
    bar.text(0.5, -0.03, "paler: less\nis known", fontsize=LEAST_FONT, va="top", transform=bar.transAxes)


def regions_of(study: Reading, rows: Any) -> list[Any]:
    """Return the regions of some rows of the tree."""
    depth, index = study.tree.depth[rows].tolist(), study.tree.index[rows].tolist()
    return list(map(study.space.cell, zip(depth, index, strict=True)))


def value_label(study: Reading) -> str:
    """Return what is measured, with its unit."""
    return labelled(study.value_name, study.value_unit)


def colour_map(study: Reading) -> str:
    """Return a colour map in which good is bright."""
    return "cividis" if study.direction == "maximize" else "cividis_r"


def axis_of(space: Any, j: int) -> Axis:
    """Return an axis of a space; a feature of members is drawn as a plain one."""
    axis: Axis = space.axes[j] if space.axes else Interval(space.names[j], 0.0, 1.0)
    return axis


def axis_label(space: Any, j: int) -> str:
    """Return the name of an axis or feature, with its unit."""
    return labelled(axis_of(space, j).name, axis_of(space, j).unit)


def set_axis(ax: Axes, space: Any, j: int, which: str = "x") -> None:
    """Name and scale an axis of a plot like one of the space."""
    axis = axis_of(space, j)
    if axis.scale == "log":
        ax.set(**{f"{which}scale": "log"})
    if axis.scale == "integer":
        ax.locator_params(axis="x" if which == "x" else "y", integer=True)
    ax.set(**{f"{which}label": ", ".join(filter(None, (axis_label(space, j), axis.remark)))})
