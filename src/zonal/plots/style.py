"""What all pictures share: colours, sizes, labels and legends.

Colours are Okabe and Ito's, which colour-blind readers can tell apart, and differ in lightness too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from zonal.tables.listings import labelled

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from zonal.reading import Reading

FUNCTION, ESTIMATE, FOUND, INK = "#D55E00", "#0072B2", "#009E73", "#222222"
OTHERS = ("#0072B2", "#E69F00", "#CC79A7", "#56B4E9", "#D55E00", "#999999")


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


def axes_or_new(ax: Axes | None, width: float = 7.0, height: float = 4.2) -> Axes:
    """Return the axes to draw on: those given, or new ones of a size in inches."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def legend_above(ax: Axes, handles: Sequence[Any] | None = None, columns: int = 3) -> None:
    """Explain the marks above the picture, where they cover nothing."""
    shown = handles if handles is not None else ax.get_legend_handles_labels()[0]
    if shown:
        ax.legend(
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


def value_label(study: Reading) -> str:
    """Return what is measured, with its unit."""
    return labelled(study.value_name, study.value_unit)


def colour_map(study: Reading) -> str:
    """Return a colour map in which good is bright."""
    return "cividis" if study.direction == "maximize" else "cividis_r"


def axis_label(space: Any, j: int) -> str:
    """Return the name of an axis or feature, with its unit."""
    units = getattr(space, "units", None)
    return labelled(space.names[j], units[j] if units else "")


def is_log(space: Any, j: int) -> bool:
    """Tell whether an axis is logarithmic."""
    axes = getattr(space, "axes", None)
    return bool(axes and getattr(axes[j], "log", False))
