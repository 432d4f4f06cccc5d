"""Plots of a study. Every function draws on the axes `ax` it is given, or on new ones, and returns them.

They use what a study returns: columns, trials, predictions. matplotlib is imported when something is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, get_args

from zonal._types import Floats
from zonal.errors import require
from zonal.io.dataframes import DataSeries
from zonal.plotting.curves import Function, plot_cells, plot_function
from zonal.plotting.history import plot_history, plot_regrets
from zonal.plotting.icicle import plot_tree
from zonal.plotting.kernel import plot_model
from zonal.plotting.maps import Shapes, plot_map, plot_pairs
from zonal.plotting.pools import plot_pools
from zonal.plotting.sizes import plot_sizes
from zonal.plotting.style import (
    ESTIMATE,
    FOUND,
    FUNCTION,
    INK,
    column_width,
    is_line,
    legend_above,
    rim,
    set_axis,
)
from zonal.spaces import Sequences, Space
from zonal.study.summary import UNMEASURED, headline, is_empty

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from zonal.study.study import Study

Kind = Literal["history", "tree", "model", "map", "cells", "sizes", "pools"]


class PlotOptions(TypedDict, total=False):
    """What further arguments plots have: see the functions of this package."""

    f: Function
    truth: Floats | DataSeries
    shapes: Shapes
    disc: bool
    cmap: str
    limits: tuple[float, float]


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
    "plot_pools",
    "plot_regrets",
    "plot_sizes",
    "plot_tree",
    "rim",
]


def plot(study: Study, kind: Kind | None = None, ax: Axes | None = None, **more: Unpack[PlotOptions]) -> Axes:
    """Plot a study.

    An existing title of `ax` stays; else it is what is measured (or the name of its file, if that has no name) and
    how far the study is.

    Parameters
    ----------
    study : Study
        On any space.
    kind : {"history", "tree", "model", "map", "cells", "sizes", "pools"}, optional
        The measurements in order; the tree of regions as an icicle, above its axis if there is only one; the
        correlation of f at two points; a map of two coordinates, or of all pairs; the cells along the only axis;
        the best average against the size of the region; the best pools of sequences, and each symbol by position.
        By default what suits the space: f with bands along one axis, a map of two, maps of all pairs of more axes
        or one per symbol, the pools of sequences, the tree of hierarchies without features.
    **more
        Further arguments of the plot: see the functions of `zonal.plotting`.
    """
    is_kind = kind is None or (isinstance(kind, str) and kind in get_args(Kind))
    require(is_kind, "there is no such plot", kind, f"Choose from {', '.join(get_args(Kind))}, or leave it out.")
    drawn = _picture(study, kind)(study, ax, **more)
    if not drawn.get_title():
        drawn.set_title(headline(study, study.settings.value_name), fontsize="medium")
    if is_empty(study) and kind != "model":
        drawn.text(0.5, 0.5, UNMEASURED, transform=drawn.transAxes, ha="center", va="center", color=INK)
    return drawn


def _picture(study: Study, kind: Kind | None) -> Callable[..., Axes]:
    """Return the function that draws a kind of plot of a study."""
    named: dict[str, Callable[..., Axes]] = {
        "history": plot_history,
        "model": plot_model,
        "tree": plot_tree,
        "cells": _explained_cells,
        "function": plot_function,
        "sizes": plot_sizes,
        "pools": plot_pools,
        "map": plot_map if _is_flat(study.space) else plot_pairs,
    }
    return named[kind or _suited(study)]


def _suited(study: Study) -> str:
    """Return the kind of plot that suits the space of a study."""
    space = study.space
    if study.models:
        if isinstance(space, Sequences):
            return "pools"
        return {0: "tree", 1: "function"}.get(len(space.continuous_axes), "map")
    # An empirical belief is limited to nodes of the tree.
    if is_line(space):
        return "cells"
    return "map" if _is_flat(space) else "tree"


def _is_flat(space: Space) -> bool:
    """Return whether a space has two continuous axes or features and no other."""
    return bool(len(space.continuous_axes) == space.d == 2)


def _explained_cells(study: Study, ax: Axes | None = None, f: Function | None = None) -> Axes:
    """Plot the cells with axis and legend, which figures with several plots add themselves."""
    drawn = plot_cells(study, ax, f)
    set_axis(drawn, study.space, 0)
    legend_above(drawn, columns=2)
    return drawn
