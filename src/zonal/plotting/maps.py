"""Maps: a study over two axes or features, over several pairs of them, or one map per symbol."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, cast

import numpy as np

from zonal._types import Flags, Floats
from zonal.errors import plain_array, require
from zonal.io.dataframes import DataSeries
from zonal.plotting import style
from zonal.plotting.curves import Symbols, combinations
from zonal.plotting.style import (
    FORBIDDEN,
    Mark,
    allowed,
    area,
    box,
    draw_marks,
    found_label,
    marks,
    outline,
    pieces,
    star,
    told,
)
from zonal.spaces import AxisSpace, FiniteSpace, ProductRegion, Region, SubsetRegion
from zonal.spaces.axes import Symbol
from zonal.study.areas import member_shapes
from zonal.study.queries import mean_and_relative_std
from zonal.study.summary import is_empty

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

    from zonal.study.study import Study

Polygon = Sequence[Sequence[Sequence[float]]]  # rings of points: the outer one, then holes


class GeoJson(TypedDict, total=False):
    """A geometry as GeoJSON has it."""

    type: str
    coordinates: Sequence[Polygon]  # of a multipolygon; a polygon has those of one
    geometries: Sequence[GeoJson]
    geometry: GeoJson | None


class Geometry(Protocol):
    """A geometry of any library."""

    @property
    def __geo_interface__(self) -> GeoJson:
        """The geometry as GeoJSON."""


Shapes = Iterable[Geometry]

CELLS = 24  # of a map of predictions, along each axis
MAX_PANELS = 12
ACROSS = 3
MANY = 600  # cells, beyond which their edges are not drawn
MAX_OUTLINED = 400  # measured regions, beyond which they are dots
LEVEL = 85.0  # degrees of latitude beyond which a map is not stretched any further
MARGIN = 0.012  # share of the map, around points that are marked together


def plot_map(
    study: Study,
    ax: Axes | None = None,
    truth: Floats | DataSeries | None = None,
    shapes: Shapes | None = None,
    disc: bool = False,
    cmap: str | None = None,
    limits: tuple[float, float] | None = None,
) -> Axes:
    """Plot a study over the first two coordinates of its space: posterior, measurements and region found.

    Colours fade to white where little is known, with dots where hardly anything is. Every region measured is
    outlined (of members without shapes: a circle, larger for larger regions); regions that are forbidden, cannot
    be measured or are pending are marked; the region found is framed in green.

    Parameters
    ----------
    study : Study
        On `Points` or a `Hierarchy` with two features, or on a `Box` of two axes.
    truth : array or series, optional
        True values to draw underneath: one per member, by its index if it has one, or for a box one per pixel,
        with named axes as `simulation.from_table` takes them (``{"axes": ("sin_b", "l"), "values": image}``);
        without names of shape (first axis, second axis). By default the posterior means of the leaves.
    shapes : GeoDataFrame, GeoSeries or sequence of geometries, optional
        Polygons of the members, one per row in the order in which the space was given them; by default those of
        the GeoDataFrame that the space was made from. A geometry is anything with a ``__geo_interface__``.
    disc : bool
        Ring the members of the best disc too: see `Study.recommend`.
    cmap : str, optional
        A colour map of matplotlib.
    limits : pair of float, optional
        The values at both ends of the colours, for pictures that are to be compared.
    """
    require(hasattr(type(study), "recommend"), "this is not a study", study, "Pass a Study.")
    space = study.space
    fits = space.continuous_axes[:2] == (0, 1) and (space.axes is None or space.d <= 2)
    require(fits, "this map needs two coordinates", space.names, "Use plot_tree.")
    polygons = _outlines(space, shapes)
    ax = style.axes_or_new(ax, 7.5 if polygons is None else _width(space, polygons), 5.0)
    values = None if truth is None else _true_values(space, truth)
    panel = Map(study, 0, 1, {}, values, polygons)
    shown = panel.draw(ax, style.colour_limits(limits), cmap)
    if disc:
        members = cast(SubsetRegion, study.recommend(disc=True).region)
        x, y = members.space.features[members.positions][:, :2].T
        ax.scatter(x, y, s=46, facecolors="none", edgecolors=style.FOUND, lw=1.2, zorder=4.2, label="best disc")
    style.colour_bar(study, ax, shown, truth is not None)
    style.legend_above(ax)
    return ax


def _width(space: AxisSpace | FiniteSpace, polygons: list[list[Floats]]) -> float:
    """Return the width of a figure five inches high in which a map of polygons, drawn to scale, leaves no gap."""
    corners = np.concatenate([ring for rings in polygons for ring in rings])
    east, north = np.ptp(corners, axis=0)
    return float(np.clip(4.0 * east / (north * aspect(space.names, corners[:, 1])), 3.0, 7.0)) + 1.6


def _true_values(space: AxisSpace | FiniteSpace, truth: Floats | DataSeries) -> Floats:
    """Return true values of members or pixels, after checking."""
    fix = "Pass one number per member, or per pixel of the two axes."
    given: Any = truth  # arrays or series: each space takes its own
    arranged: Any = space.arrange(given, "truth")
    values: Floats = plain_array(arranged, "truth must be numbers", fix, float)
    if isinstance(space, FiniteSpace):
        require(values.shape == (space.size,), f"truth must have {(space.size,)}", values.shape, fix)
    else:
        require(values.ndim == 2 and values.size, "truth must have two dimensions", values.shape, fix)
    require(np.isfinite(values).all(), "truth must be finite", values, fix)
    return values


def plot_pairs(
    study: Study, ax: Axes | None = None, cmap: str | None = None, limits: tuple[float, float] | None = None
) -> Axes:
    """Plot a study over pairs of its axes or features, of which there are at least two, in panels within `ax`.

    A panel of a box shows posterior means of cells on two axes, with the other axes as in the region found; its
    title says where that is, and for which symbols. Colours, `cmap` and `limits` are as in `plot_map`.
    """
    panels = [Map(study, j, k, symbols) for j, k, symbols in panels_of(study)]
    require(panels, "these maps need two coordinates", study.space.names, "Use plot_tree.")
    down, across = math.ceil(len(panels) / ACROSS), min(len(panels), ACROSS)
    ax = style.axes_or_new(ax, 3.4 * across + 1.2, 2.9 * down + 0.6)
    ax.set_axis_off()
    means = np.concatenate([panel.values for panel in panels])
    ends = style.colour_limits(limits) or (float(means.min()), float(means.max()))
    explained: dict[str, Artist] = {}
    for at, panel in enumerate(panels):
        row, column = divmod(at, across)
        inner = ax.inset_axes(((column + 0.19) / across, 1 - (row + 0.82) / down, 0.75 / across, 0.7 / down))
        shown = panel.draw(inner, ends, cmap)
        inner.tick_params(labelsize="small")
        inner.set_title(panel.title, fontsize="small")
        handles, labels = inner.get_legend_handles_labels()
        explained = dict(zip(labels, handles, strict=True)) | explained
    style.colour_bar(study, ax, shown)
    style.legend_above(ax, list(explained.values()))
    return ax


def panels_of(study: Study) -> list[tuple[int, int, Symbols]]:
    """Return the pairs of axes to draw, for each combination of symbols; the first ones if there are too many."""
    pairs = list(itertools.combinations(study.space.continuous_axes, 2))
    every = list(itertools.islice(combinations(study.space.cell((0, 0))), MAX_PANELS + 1))
    if len(pairs) * len(every) > MAX_PANELS and every[0]:
        every = list(itertools.islice(combinations(study.recommend().region), MAX_PANELS))
    return [(j, k, symbols) for symbols in every for j, k in pairs][:MAX_PANELS]


def _outlines(space: AxisSpace | FiniteSpace, shapes: Shapes | None) -> list[list[Floats]] | None:
    """Return the polygons of the members, in the order of the tree; None if there are none."""
    geometries = member_shapes(space, shapes)
    polygons = [] if geometries is None else outlines(geometries)
    return polygons if any(polygons) else None


@dataclass(frozen=True, eq=False)
class Map:
    """One map: two axes or features, for some symbols, with other axes as in the region found.

    It shows leaves of the tree if the space has only these axes, else cells of a grid; for members dots or
    polygons.
    """

    study: Study
    j: int
    k: int
    symbols: Symbols
    truth: Floats | None = None
    shapes: list[list[Floats]] | None = None
    at: Mapping[str, Sequence[float]] = field(
        default_factory=dict
    )  # parts of other axes, where not as in the region found

    @cached_property
    def slice(self) -> ProductRegion | None:
        """The part of the space that the map shows, None for all of it."""
        space = self.study.space
        if space.axes is None or len(space.axes) == 2:
            return None
        bounds = self.study.recommend().region.bounds
        others = {space.names[at]: tuple(bounds[at]) for at in space.continuous_axes if at not in (self.j, self.k)}
        given = {name: tuple(part) for name, part in self.at.items() if name in others}
        part: ProductRegion = space.region(others | given | self.symbols)
        return part

    @property
    def title(self) -> str:
        """What the map is for: its symbols, and where the other axes are held."""
        names, lines = [*map(str, self.symbols.values())], self.study.space.continuous_axes
        if self.slice is None or len(lines) == 2:
            return ", ".join(names)
        if len(lines) > 3:
            return ", ".join([*names, "other axes as found"])
        (held,) = (at for at in lines if at not in (self.j, self.k))
        axis, part = self.study.recommend().region.along[held]  # type: ignore[attr-defined]
        return ", ".join([*names, f"{axis.name} {axis.text(part)} (as found)"])

    @cached_property
    def coloured(self) -> tuple[list[Region], Floats, Floats, Flags]:
        """The coloured regions, their means, the strength of their colours, and which are forbidden."""
        study, tree = self.study, self.study.tree
        if self.slice is None:
            leaves = np.flatnonzero(tree.first_child < 0)
            strength = style.strength(study.relative_std()[leaves])
            return style.regions_of(study, leaves), tree.mean[leaves], strength, tree.forbidden[leaves]
        part, ups = self.slice.as_dict(), self.side(self.k)
        cells = [study.space.region(part | across | up) for up in ups for across in self.side(self.j)]
        mean, relative_std = mean_and_relative_std(study, cells)
        return cells, mean, style.strength(relative_std), np.zeros(len(cells), dtype=bool)

    def side(self, j: int) -> list[dict[str, Symbol | list[Symbol]]]:
        """Return the parts of an axis that make the cells of a grid."""
        axis = self.study.space.axes[j]
        number = min(CELLS, axis.places or CELLS)
        return [{axis.name: axis.to_json(axis.cell(at, number))} for at in range(number)]

    @property
    def values(self) -> Floats:
        """The values that colours represent: true ones, or means of what may be measured."""
        _, mean, _, hidden = self.coloured
        return allowed(mean, hidden) if self.truth is None else self.truth

    def draw(self, ax: Axes, limits: tuple[float, float] | None = None, cmap: str | None = None) -> ScalarMappable:
        """Draw the map; return what is coloured, within limits if there are several maps."""
        study, members = self.study, self.study.space.axes is None
        limits = limits or tuple(np.percentile(self.values, [1, 99] if members else [0, 100]))
        shown = self._draw_members(ax) if members else self._draw_cells(ax)
        shown.set_cmap(style.colour_map(study, cmap))
        shown.set_clim(*limits)
        style.set_axis(ax, study.space, self.j, "x")
        style.set_axis(ax, study.space, self.k, "y")
        self._measured(ax)
        draw_marks(self._marks(), ax, self.outline)
        if found_label(study) and self._shows(study.recommend().region):
            star(study, ax, self.outline(study.recommend().region))
        return shown

    def _marks(self) -> Iterator[Mark]:
        """Return the marks; forbidden members without shapes are crossed out instead."""
        crossed = self.study.space.axes is None and self.shapes is None
        return (mark for mark in marks(self.study) if not (crossed and mark.style is FORBIDDEN))

    def _draw_cells(self, ax: Axes) -> ScalarMappable:
        from matplotlib.collections import PolyCollection

        cells, mean, alpha, _ = self.coloured
        corners = [self.outline(cell)[0] for cell in cells]
        low, high = np.min(corners, axis=(0, 1)), np.max(corners, axis=(0, 1))
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        shown = PolyCollection(corners)
        if self.slice is not None or len(cells) > MANY:
            shown.set(antialiased=False, linewidth=0)
        else:
            shown.set(edgecolor="white", linewidth=0.3)
        ax.add_collection(shown)
        if self.truth is None:
            shown.set(array=mean, alpha=alpha)
            unknown = alpha < float(style.strength(np.array(style.UNKNOWN)))
            if unknown.any() and not is_empty(self.study):
                dotted = area([corner for corner, at in zip(corners, unknown.tolist(), strict=True) if at])
                ax.add_patch(dotted).set(label="hardly anything known", **style.DOTTED)
            return shown
        shown.set(facecolor="none", alpha=0.7, zorder=1)
        extent = (low[0], high[0], low[1], high[1])
        return ax.imshow(self.truth.T, origin="lower", extent=extent, aspect="auto")

    def _draw_members(self, ax: Axes) -> ScalarMappable:
        space = self.study.space
        mean, alpha, hidden = np.empty(space.size), np.ones(space.size), np.zeros(space.size, dtype=bool)
        for cell, *values in zip(*self.coloured, strict=True):
            assert isinstance(cell, SubsetRegion)
            mean[cell.positions], alpha[cell.positions], hidden[cell.positions] = values
        if self.truth is not None:
            mean, alpha, hidden = self.truth[space.rows], np.ones(space.size), np.zeros(space.size, dtype=bool)
        x, y = space.features[:, self.j], space.features[:, self.k]
        if self.shapes is not None:
            ax.set_aspect(aspect(space.names, y))
            return _draw_shapes(ax, self.shapes, mean, alpha)
        shown = ax.scatter(x[~hidden], y[~hidden], c=mean[~hidden], s=12, lw=0)
        shown.set(alpha=alpha[~hidden])
        if hidden.any():
            ax.scatter(x[hidden], y[hidden], marker="x", s=12, c="#9aa1a8", lw=0.8, label="forbidden")
        return shown

    def outline(self, region: Region) -> list[Floats]:
        """Return the outline of a region in the map."""
        if not self._shows(region):
            return []
        if self.shapes is not None and isinstance(region, SubsetRegion):
            return [ring for at in region.positions.tolist() for ring in self.shapes[at]]
        if self.study.space.axes is None:
            edges = outline(region) + np.outer(MARGIN * self.study.space.sides(), (-1, 1))
            return [box(edges[self.j], edges[self.k])]
        return [box(edges[self.j], edges[self.k]) for edges in pieces(region)]

    def _shows(self, region: Region) -> bool:
        return self.slice is None or self.slice.overlaps(region)

    def _measured(self, ax: Axes) -> None:
        """Outline every region measured; if regions are scattered members, or very many, mark their centres."""
        study = self.study
        measured = {trial.region.key: trial.region for trial in told(study)}
        seen = [region for region in measured.values() if self._shows(region)]
        if not seen:
            return
        x, y = np.array([region.center[[self.j, self.k]] for region in seen]).T
        share = np.array([region.weight for region in seen]) / study.space.cell((0, 0)).weight
        if len(seen) > MAX_OUTLINED:
            ax.scatter(x, y, s=3, c=style.FUNCTION, linewidths=0, zorder=3, label="measured")
        elif study.space.axes is not None or self.shapes is not None:
            frames = area([ring for region in seen for ring in self.outline(region)])
            ax.add_patch(frames).set(fc="none", ec=style.FUNCTION, lw=0.8, zorder=3, label="measured")
        else:
            circles = ax.scatter(x, y, s=8 + 500 * share**0.6, linewidths=0.9, zorder=3)
            circles.set(fc="none", ec=style.FUNCTION, label="measured (circle size = region size)")
        references = [region for region in style.subtracted(study) if self._shows(region)]
        if references:
            x, y = np.array([region.center[[self.j, self.k]] for region in references]).T
            label = "subtracted in differences"
            ax.scatter(x, y, s=14, c=style.FUNCTION, marker="x", lw=0.9, zorder=3, label=label)


def _draw_shapes(ax: Axes, shapes: list[list[Floats]], values: Floats, alpha: Floats) -> ScalarMappable:
    """Draw polygons, coloured by value; return what is coloured."""
    from matplotlib.collections import PatchCollection

    drawn = [at for at, shape in enumerate(shapes) if shape]
    shown = PatchCollection([area(shapes[at]) for at in drawn])
    shown.set(array=values[drawn], alpha=alpha[drawn], edgecolor="white", linewidth=0.3)
    ax.add_collection(shown)
    ax.autoscale_view()
    return shown


def outlines(shapes: Shapes) -> list[list[Floats]]:
    """Return the rings of each shape: outer ones counter-clockwise, holes clockwise; none for points and lines."""
    return [
        [ring for polygon in _polygons(getattr(shape, "__geo_interface__", None)) for ring in _turned(polygon)]
        for shape in shapes
    ]


def _polygons(geometry: GeoJson | None) -> list[Polygon]:
    """Return the polygons of a geometry, each as its outer ring and its holes."""
    kind = geometry.get("type") if geometry else None
    if not geometry or kind == "Feature":
        return _polygons(geometry["geometry"]) if geometry else []
    if kind == "GeometryCollection":
        return [polygon for part in geometry["geometries"] for polygon in _polygons(part)]
    if kind == "Polygon":
        return [cast(Polygon, geometry["coordinates"])]
    return list(geometry["coordinates"]) if kind == "MultiPolygon" else []


def _turned(polygon: Polygon) -> list[Floats]:
    """Return the rings of a polygon, oriented so that holes are not filled."""
    rings = [np.asarray(ring, dtype=float)[:, :2] for ring in polygon]
    return [ring if (_turn(ring) > 0) == (at == 0) else ring[::-1] for at, ring in enumerate(rings)]


def _turn(ring: Floats) -> float:
    """Return twice the signed area within a ring, positive if it is counter-clockwise."""
    x, y = (ring - ring[0]).T
    return float(x[:-1] @ y[1:] - x[1:] @ y[:-1])


def aspect(names: Sequence[str], y: Floats) -> float:
    """Return the aspect ratio of a map: degrees of longitude are shorter far from the equator."""
    if tuple(names[:2]) != ("lon", "lat"):
        return 1.0
    return 1 / math.cos(math.radians(min(abs(float(np.mean(y))), LEVEL)))
