"""Maps: a study over two axes or features, or over several pairs of them, or one map a symbol."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from zonal.errors import InvalidInput
from zonal.looking import is_empty
from zonal.plots.marks import area, box, draw_marks, found_label, marks, star
from zonal.plots.shapes import aspect, outlines
from zonal.plots.style import (
    FUNCTION,
    Floats,
    axes_or_new,
    colour_bar,
    colour_map,
    legend_above,
    mean_label,
    set_axis,
    strength,
    value_label,
)
from zonal.spaces import Region
from zonal.tables.dataframes import DataSeries, in_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from zonal.reading import Reading

CELLS = 24  # of a map of predictions, an axis
MOST_PANELS = 12
ACROSS = 3
MANY = 600  # cells, beyond which their edges would hide them
MOST_CIRCLES = 400  # measurements, beyond which they are dots
MARGIN = 0.012  # of the map, around points that are marked together


def plot_map(
    study: Reading,
    ax: Axes | None = None,
    truth: Floats | DataSeries | None = None,
    shapes: Iterable[Any] | None = None,
) -> Axes:
    """Draw a study over the first two coordinates of its space: what is known, what was measured, what was found.

    Parameters
    ----------
    study : Study
        On `Points` or a `Hierarchy` with two features, or on a `Box` of two axes.
    ax : Axes, optional
        Where to draw; on new axes otherwise.
    truth : array or series, optional
        True values to draw underneath: one a member, by its index if it has one, or for a box one a pixel, shape
        (first axis, second axis). The posterior means of the leaves otherwise.
    shapes : GeoDataFrame, GeoSeries or sequence of geometries, optional
        Polygons to draw for the members, one a row as the space was given them; those of the GeoDataFrame that the
        space was made of by default, if it was. Whatever has a ``__geo_interface__`` is a geometry.

    Returns
    -------
    Axes
        Colours fade where little is known. With a circle for every region measured, larger for larger regions;
        regions that are forbidden, cannot be measured or are under way; and the region found in green.
    """
    space = study.space
    if space.lines[:2] != (0, 1) or (space.axes is not None and space.d > 2):
        raise InvalidInput("this map needs two coordinates", space.names, "Use plot_regions.")
    ax = axes_or_new(ax, 7.5, 5.0)
    panel = _Map(study, 0, 1, {}, None if truth is None else _true(space, truth), _outlines(space, shapes))
    shown = panel.draw(ax)
    if truth is not None:
        colour_bar(ax, shown, value_label(study), faded=False)
    elif not is_empty(study):
        colour_bar(ax, shown, mean_label(study))
    legend_above(ax)
    return ax


def plot_pairs(study: Reading, ax: Axes | None = None) -> Axes:
    """Draw a study over pairs of its axes or features, or one map a symbol, panel by panel.

    Parameters
    ----------
    study : Study
        On a `Box` or `Product` of two continuous axes at least, or on members with two features at least.
    ax : Axes, optional
        Whose place the panels take; new axes otherwise.

    Returns
    -------
    Axes
        The frame of the panels. A panel of a box shows posterior means of cells on two axes, the other axes being
        as in the region found; where there are symbols, it is for those in its title. Colours fade where little
        is known.
    """
    panels = [_Map(study, j, k, symbols) for j, k, symbols in _panels(study)]
    if not panels:
        raise InvalidInput("these maps need two coordinates", study.space.names, "Use plot_regions.")
    down, across = math.ceil(len(panels) / ACROSS), min(len(panels), ACROSS)
    ax = axes_or_new(ax, 3.4 * across + 1.2, 2.9 * down + 0.6)
    ax.set_axis_off()
    means = np.concatenate([panel.known[0][~panel.hidden] for panel in panels])
    explained: dict[str, Any] = {}
    for at, panel in enumerate(panels):
        row, column = divmod(at, across)
        inner = ax.inset_axes(((column + 0.19) / across, 1 - (row + 0.82) / down, 0.75 / across, 0.7 / down))
        shown = panel.draw(inner, (float(means.min()), float(means.max())))
        inner.tick_params(labelsize="small")
        inner.set_title(", ".join(map(str, panel.symbols.values())), fontsize="small")
        handles, labels = inner.get_legend_handles_labels()
        explained = dict(zip(labels, handles, strict=True)) | explained
    if not is_empty(study):
        colour_bar(ax, shown, mean_label(study))
    legend_above(ax, list(explained.values()))
    return ax


def _panels(study: Reading) -> list[tuple[int, int, dict[str, str]]]:
    """Return the pairs of axes to draw, for each combination of symbols; the first if there are too many."""
    space, pairs = study.space, list(itertools.combinations(study.space.lines, 2))
    named = [axis for axis in space.axes or () if axis.symbolic]
    chosen = [axis.symbols for axis in named]
    if len(pairs) * math.prod(len(symbols) for symbols in chosen) > MOST_PANELS and named:
        found: Any = study.found
        chosen = [tuple(own) for own in found.symbols if own is not None]
    every = [
        (j, k, {axis.name: symbol for axis, symbol in zip(named, symbols, strict=True)})
        for symbols in itertools.product(*chosen)
        for j, k in pairs
    ]
    return every[:MOST_PANELS]


def _true(space: Any, truth: Any) -> Floats:
    """Return true values in the order of the members, or by pixel."""
    if space.axes is None:
        truth = np.asarray(in_order(truth, space.ways, "truth"))[space.rows]
    return np.asarray(truth)


def _outlines(space: Any, shapes: Any) -> list[list[Floats]] | None:
    """Return the polygons of the members, in the order of the tree; None where they have none."""
    own = getattr(space, "shapes", None) if shapes is None else getattr(shapes, "geometry", shapes)
    if own is None or space.axes is not None:
        return None
    listed = list(in_order(own, space.ways, "shapes"))
    if len(listed) != space.size:
        raise InvalidInput(f"shapes must be one for each of {space.size} members", len(listed), "Pass as many.")
    found = outlines(listed)
    return [found[row] for row in space.rows.tolist()] if any(found) else None


@dataclass(frozen=True, eq=False)
class _Map:
    """One map: two axes or features, for some symbols, with other axes as in the region found.

    Leaves of the tree where these are all axes, else cells of a grid; of members a dot or a polygon each.
    """

    study: Reading
    j: int
    k: int
    symbols: dict[str, str]
    truth: Floats | None = None
    shapes: list[list[Floats]] | None = None

    @cached_property
    def members(self) -> bool:
        return self.study.space.axes is None

    @cached_property
    def whole(self) -> bool:
        """Whether the map has all axes there are, so that the leaves of the tree can be drawn."""
        return self.members or len(self.study.space.axes) == 2

    @cached_property
    def slice(self) -> Any:
        """The part of the space that the map shows: regions that do not touch it are not in it."""
        space = self.study.space
        if self.whole:
            return None
        found = self.study.found.bounds
        others = {space.names[at]: tuple(found[at]) for at in space.lines if at not in (self.j, self.k)}
        return space.region(others | self.symbols)

    @cached_property
    def leaves(self) -> Any:
        tree = self.study.tree
        return np.flatnonzero(tree.first_child < 0)

    @cached_property
    def cells(self) -> list[Any]:
        """The regions that are coloured."""
        space, tree = self.study.space, self.study.tree
        if self.whole:
            nodes = zip(tree.depth[self.leaves].tolist(), tree.index[self.leaves].tolist(), strict=True)
            return [space.cell(node) for node in nodes]
        (x, y), part = (self.edges(at).tolist() for at in (self.j, self.k)), self.slice.as_dict()
        names = space.names[self.j], space.names[self.k]
        return [
            space.region(part | dict(zip(names, (across, up), strict=True)))
            for up in itertools.pairwise(y)
            for across in itertools.pairwise(x)
        ]

    def edges(self, at: int) -> Floats:
        """Return the edges of a grid along an axis, in the user's numbers."""
        axis = self.study.space.axes[at]
        return np.asarray(axis.native(np.linspace(axis.low, axis.high, CELLS + 1)), dtype=float)

    @cached_property
    def known(self) -> tuple[Floats, Floats]:
        """The means of the regions, and how much of their colours is left."""
        study = self.study
        mean, doubt = (study.tree.mean, study.doubt()) if self.whole else study._known(self.cells)
        some = self.leaves if self.whole else slice(None)
        return mean[some], strength(doubt[some])

    @cached_property
    def hidden(self) -> Any:
        """Whether a region is forbidden, and has no colour."""
        if self.whole:
            return self.study.tree.forbidden[self.leaves]
        return np.zeros(len(self.cells), dtype=bool)

    def draw(self, ax: Axes, limits: tuple[float, float] | None = None) -> Any:
        """Draw the map; return what is coloured, between limits if there are several maps."""
        if limits is None:
            shown = self.known[0][~self.hidden] if self.truth is None else self.truth
            limits = float(np.min(shown)), float(np.max(shown))
            if self.members:
                limits = tuple(np.percentile(shown, [1, 99]))
        colours: dict[str, Any] = {"cmap": colour_map(self.study), "clim": limits}
        shown = self._draw_members(ax, colours) if self.members else self._draw_cells(ax, colours)
        set_axis(ax, self.study.space, self.j, "x")
        set_axis(ax, self.study.space, self.k, "y")
        self._circles(ax)
        draw_marks(marks(self.study), ax, self.outline)
        if found_label(self.study) and self._shows(self.study.found):
            star(self.study, ax, *self.study.found.center[[self.j, self.k]])
        return shown

    def _draw_cells(self, ax: Axes, colours: dict[str, Any]) -> Any:
        from matplotlib.collections import PolyCollection

        space = self.study.space
        ends = np.asarray(space.bounds)[[self.j, self.k]] if self.whole else [
            self.edges(at)[[0, -1]] for at in (self.j, self.k)
        ]  # fmt: skip
        ax.set(xlim=ends[0], ylim=ends[1])
        if self.truth is not None:
            extent = (*ends[0], *ends[1])
            ax.imshow(self.truth.T, origin="lower", extent=extent, aspect="auto", cmap=colours["cmap"])
            shown: Any = ax.images[0]
            shown.set_clim(*colours["clim"])
        if self.whole:
            corners = [self.outline(cell)[0] for cell in self.cells]
            edge: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.3}
            if len(corners) > MANY:
                edge = {"edgecolor": "none", "antialiased": False}
            if self.truth is not None:
                ax.add_collection(PolyCollection(corners, facecolor="none", alpha=0.7, **edge))
                return shown
            shown = PolyCollection(corners, **colours, **edge)
            shown.set(array=self.known[0], alpha=self.known[1])
            return ax.add_collection(shown)
        grid: Any = np.reshape(self.known, (2, CELLS, CELLS))

        mesh = ax.pcolormesh(self.edges(self.j), self.edges(self.k), grid[0], rasterized=True, **colours)
        mesh.set_alpha(grid[1])
        return mesh

    def _draw_members(self, ax: Axes, colours: dict[str, Any]) -> Any:
        from matplotlib.collections import PatchCollection

        space = self.study.space
        mean, alpha, hidden = np.empty(space.size), np.empty(space.size), np.zeros(space.size, dtype=bool)
        for cell, *own in zip(self.cells, *self.known, self.hidden, strict=True):
            mean[cell.positions], alpha[cell.positions], hidden[cell.positions] = own
        if self.truth is not None:
            mean, alpha, hidden = self.truth, np.ones(space.size), np.zeros(space.size, dtype=bool)
        x, y = space.features[:, self.j], space.features[:, self.k]
        if self.shapes is not None:
            drawn = [at for at, own in enumerate(self.shapes) if own]
            shown: Any = PatchCollection([area(self.shapes[at]) for at in drawn], **colours)
            shown.set(array=mean[drawn], alpha=alpha[drawn], edgecolor="white", linewidth=0.3)
            ax.add_collection(shown)
            ax.autoscale_view()
            ax.set_aspect(aspect(space.names, y))
            return shown
        shown = ax.scatter(x[~hidden], y[~hidden], c=mean[~hidden], s=12, lw=0, **colours)
        shown.set_alpha(alpha[~hidden])
        if hidden.any():
            ax.scatter(x[hidden], y[hidden], marker="x", s=12, c="#9aa1a8", lw=0.8, label="forbidden")
        return shown

    def outline(self, region: Region) -> list[Floats]:
        """Return where a region is in the map."""
        if not self._shows(region):
            return []
        if not self.members:
            return [box(region.bounds[self.j], region.bounds[self.k])]
        own: Any = region
        if self.shapes is not None:
            return [ring for at in own.positions.tolist() for ring in self.shapes[at]]
        if own.node is not None and own.node in self._forbidden:
            return []  # its members are crossed out
        reach = MARGIN * self.study.space.sides()
        return [box(*(own.bounds + np.outer(reach, (-1, 1)))[[self.j, self.k]])]

    @cached_property
    def _forbidden(self) -> set[Any]:
        return {cell.node for cell, hidden in zip(self.cells, self.hidden, strict=True) if hidden}

    def _shows(self, region: Region) -> bool:
        return self.slice is None or bool(self.slice.overlaps(region))

    def _circles(self, ax: Axes) -> None:
        """Draw a circle for every region measured."""
        study = self.study
        told = {trial.node: trial.region for trial in study.trials if trial.state == "told"}
        seen = [region for region in told.values() if self._shows(region)]
        if not seen:
            return
        x, y = np.array([region.center[[self.j, self.k]] for region in seen]).T
        share = np.array([region.weight for region in seen]) / study.space.cell((0, 0)).weight
        many = len(seen) > MOST_CIRCLES
        ax.scatter(
            x, y, s=3 if many else 8 + 500 * share**0.6, facecolors=FUNCTION if many else "none",
            edgecolors=FUNCTION, linewidths=0 if many else 0.9, zorder=3,
            label="measured" if many else "measured: larger circles, larger regions",
        )  # fmt: skip
