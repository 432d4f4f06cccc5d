"""Plots of a study. Every function draws on the axes `ax` it is given, or on new ones, and returns them.

They use what a study returns: columns, trials, predictions. matplotlib is imported when something is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from zonal.errors import InvalidInput
from zonal.looking import UNMEASURED, headline, is_empty
from zonal.plots.correlations import plot_model
from zonal.plots.history import plot_history, plot_regrets
from zonal.plots.lines import along, plot_cells, plot_function
from zonal.plots.maps import plot_map, plot_pairs
from zonal.plots.shelves import plot_regions
from zonal.plots.style import ESTIMATE, FOUND, FUNCTION, INK, column_width, legend_above, rim, set_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from zonal.reading import Reading

plot_tree = plot_regions  # the name for spaces with one axis
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


def plot(study: Reading, kind: Kind | None = None, ax: Axes | None = None, **more: Any) -> Axes:
    """Plot a study. An existing title of `ax` stays; else the title is the progress of the study.

    Parameters
    ----------
    study : Study
        On any space.
    kind : {"history", "tree", "model", "regions", "map", "cells"}, optional
        The measurements in order; the tree of regions as shelves, above its axis if there is only one ("tree" and
        "regions" are the same); the correlation of f at two points; a map of two coordinates, or of all pairs; the
        cells along the only axis. By default what suits the space: f with bands along one axis, a map of two, maps
        of all pairs of more axes or one per symbol, shelves for sequences and for hierarchies without features.
    **more
        Further arguments of the plot: see the functions of `zonal.plots`.
    """
    if kind is not None and not (isinstance(kind, str) and kind in get_args(Kind)):
        raise InvalidInput(
            "there is no such plot", kind, f"Choose from {', '.join(get_args(Kind))}, or leave it out."
        )
    drawn: Axes = _picture(study, kind)(study, ax, **more)
    if not drawn.get_title():
        drawn.set_title(headline(study), fontsize="medium")
    if is_empty(study) and kind != "model":
        drawn.text(0.5, 0.5, UNMEASURED, transform=drawn.transAxes, ha="center", va="center", color=INK)
    return drawn


def _picture(study: Reading, kind: Kind | None) -> Any:
    """Return the function that draws a kind of plot of a study."""
    space = study.space
    line, flat = space.continuous and space.d == 1, len(space.lines) == space.d == 2
    named = {
        "history": plot_history,
        "model": plot_model,
        "tree": plot_regions,
        "regions": plot_regions,
        "cells": _explained_cells,
        "map": plot_map if flat else plot_pairs,
    }
    if kind is not None:
        return named[kind]
    known = bool(study.models)  # an empirical belief is limited to nodes of the tree
    if along(space) is not None and (known or line):
        return plot_function if known else named["cells"]
    return named["map" if len(space.lines) > 1 and (known or flat) else "regions"]


def _explained_cells(study: Reading, ax: Axes | None = None, **more: Any) -> Axes:
    """Plot the cells with axis and legend, which figures with several plots add themselves."""
    drawn = plot_cells(study, ax, **more)
    set_axis(drawn, study.space, 0)
    legend_above(drawn, columns=2)
    return drawn
