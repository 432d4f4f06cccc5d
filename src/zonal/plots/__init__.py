"""Pictures of a study. Every function draws on the axes it is given, or on new ones, and returns them.

They read what a study says of itself: columns, trials, predictions. matplotlib is loaded when one is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from zonal.errors import InvalidInput
from zonal.plots.history import plot_history, plot_model
from zonal.plots.lines import along, plot_cells, plot_function, plot_tree
from zonal.plots.maps import plot_map, plot_pairs
from zonal.plots.regrets import plot_regrets
from zonal.plots.shelves import plot_regions
from zonal.plots.style import ESTIMATE, FOUND, FUNCTION, INK, column_width, legend_above, rim
from zonal.spaces import Box, Interval, MemberSpace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from zonal.reading import Reading

Kind = Literal["history", "tree", "model", "regions", "map", "cells"]

__all__ = [
    "ESTIMATE",
    "FOUND",
    "FUNCTION",
    "INK",
    "Kind",
    "column_width",
    "plot",
    "plot_cells",
    "plot_function",
    "plot_history",
    "plot_map",
    "plot_model",
    "plot_pairs",
    "plot_regions",
    "plot_regrets",
    "plot_tree",
    "rim",
]


def plot(study: Reading, kind: Kind | None = None, ax: Axes | None = None) -> Axes:
    """Draw a study.

    Parameters
    ----------
    study : Study
        On any space.
    kind : {"history", "tree", "model", "regions", "map", "cells"}, optional
        The measurements in order; the tree of cells above their axis (of other spaces, as shelves); how alike f is
        at two places; all regions as shelves; a map of two coordinates, or maps of all pairs; the cells along the
        only axis. By default the picture that suits the space: f with bands along one
        axis, a map of two, maps of all pairs of more axes or one for each symbol, shelves for sequences and for
        hierarchies without features.
    ax : Axes, optional
        Where to draw; on new axes otherwise.
    """
    if kind is not None and not (isinstance(kind, str) and kind in get_args(Kind)):
        raise InvalidInput(
            "there is no such picture", kind, f"Choose from {', '.join(get_args(Kind))}, or leave it out."
        )
    space = study.space
    line = isinstance(space, Box) and space.d == 1
    if kind == "history":
        return plot_history(study, ax)
    if kind == "model":
        return plot_model(study, ax)
    if kind == "tree" and line:
        return plot_tree(study, ax)
    if kind == "cells" or (kind is None and line and not study.models):  # an empirical belief knows cells alone
        return _explained(plot_cells(study, ax))
    if kind is None and study.models and along(space) is not None:
        return plot_function(study, ax)
    if kind == "map" or (kind is None and study.models and _has_pairs(space)):
        flat = space.d == 2 and (isinstance(space, Box | MemberSpace))
        return plot_map(study, ax) if flat else plot_pairs(study, ax)
    return plot_regions(study, ax)


def _explained(ax: Axes) -> Axes:
    """Return a picture with its legend, which figures of several leave to their makers."""
    legend_above(ax, columns=2)
    return ax


def _has_pairs(space: object) -> bool:
    """Tell whether a space has two continuous axes, or two features that are numbers."""
    if isinstance(space, MemberSpace):
        return space.d > 1 and not space.symbolic
    return sum(isinstance(axis, Interval) for axis in getattr(space, "axes", ())) > 1
