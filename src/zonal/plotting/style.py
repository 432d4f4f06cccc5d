"""What all plots share: colours, labels, legends, how uncertainty is shown, and marks on regions.

Colours are those of Okabe and Ito, which colour-blind readers can distinguish, and differ in lightness too.
Values have colours that are never grey or pale, so that fading to white can only mean that little is known; where
hardly anything is, there are dots. Marks (forbidden, impossible to measure, pending, found) are distinguished by
shape. A plot defines where a region is; what is marked, and how, is the same everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from zonal._types import Flags, Floats, Ints
from zonal.engine.confidence import SURE
from zonal.engine.results import TrialRecord
from zonal.errors import plain_array, positive_number, require
from zonal.io.result_table import labelled
from zonal.spaces import (
    Axis,
    ContinuousAxis,
    Hierarchy,
    IntegerAxis,
    PeriodicAxis,
    ProductRegion,
    Region,
    Sequences,
    Space,
)
from zonal.spaces.axes import Part
from zonal.spaces.hierarchy_names import JOINT
from zonal.study import summary
from zonal.study.summary import best_word, is_empty

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.patches import Patch, PathPatch
    from matplotlib.transforms import Bbox
    from matplotlib.typing import RcKeyType

    from zonal.study.study import Study

Place = tuple[float, float, bool]  # of a text: x and y as shares of the plot, and whether it is below them
Outline = Callable[[Region], list[Floats]]  # corners of a region's polygons in a plot; none if it is outside
# How a mark is drawn: properties of a patch of matplotlib, by name.
Appearance: TypeAlias = dict[str, str | float | tuple[str, float] | tuple[int, tuple[float, float]]]

_figure_width: ContextVar[float | None] = ContextVar("figure width", default=None)  # inches; None for the usual

FUNCTION, ESTIMATE, FOUND, INK = "#D55E00", "#0072B2", "#009E73", "#222222"
OTHERS = ("#0072B2", "#E69F00", "#CC79A7", "#56B4E9", "#D55E00", "#999999")
NARROW = 5.0  # inches: in a figure that is narrower a legend has one column
SQUAREST, FLATTEST = 0.85, 0.45  # least height of a narrow and of a wide figure, as a share of its width
FADED = 0.88  # share of a colour that fades where nothing is known
UNKNOWN = 0.9  # remaining share of the prior standard deviation, above which hardly anything is known
LEGEND_SIZE = 24.0  # of dots and circles, in square points
MIN_FONT = 7.0  # points, readable in print
SHADES = 12  # of the legend of uncertainty

FORBIDDEN: Appearance = {"fc": "#e4e6e8", "ec": "#9aa1a8", "hatch": "////", "lw": 0, "zorder": 2}
BLOCKED: Appearance = {"fc": "none", "ec": "#555d66", "hatch": "xxx", "lw": 0.6, "zorder": 2.1}
PENDING: Appearance = {"fc": "none", "ec": INK, "ls": (0, (3, 1.5)), "lw": 1.4, "zorder": 3.5}
HELD: Appearance = {"fc": (FOUND, 0.25), "ec": "none", "lw": 0, "zorder": 1.4}
UNSURE: Appearance = {"fc": "none", "ec": "#6b737b", "hatch": "....", "lw": 0, "zorder": 1.45}
DOTTED: Appearance = {"fc": "none", "ec": "#b3b9bf", "hatch": "..", "lw": 0, "zorder": 1.3}
BEST: Appearance = {"fc": "none", "ec": FOUND, "lw": 2.2, "zorder": 4}
ON_GRID: Appearance = {"fc": "none", "ec": FOUND, "ls": (0, (2, 2)), "lw": 1.2, "zorder": 3.9}

HIGH = 0.94  # of a plot: text beside a region this high goes below it
LOW = 0.06  # of a plot: the star of a region this low goes above it
STAR_AWAY = 7.5  # points from the edge of the region to the middle of its star
LETTER_WIDE, TAG_HIGH = 0.025, 0.05  # of a plot: the size of a letter of a text, and of the text
SOLID = {"dash_offset": 0, "dash_list": None}

PRINTED: dict[RcKeyType, float] = {  # of matplotlib: sizes of fonts and lines that suit a printed column
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "axes.linewidth": 0.6,
}


@contextmanager
def column_width(inches: float | None = None) -> Iterator[None]:
    """Within this context, fonts and lines suit a printed column.

    Parameters
    ----------
    inches : float, optional
        The width of new figures, such as 3.3 for a column and 7 for two; their height follows. By default they
        are as large as without this context.
    """
    from matplotlib import rc_context

    wide = None if inches is None else positive_number(inches, "the width of a figure")
    before = _figure_width.set(wide)
    try:
        with rc_context(PRINTED):
            yield
    finally:
        _figure_width.reset(before)


def rim(line: Artist, width: float = 3.2) -> None:
    """Give a line a white outline, so that it stands out from bands also in grey."""
    from matplotlib.patheffects import withStroke

    line.set_path_effects([withStroke(linewidth=width, foreground="white")])


def axes_or_new(ax: Axes | None, width: float = 7.0, height: float = 4.2) -> Axes:
    """Return the axes to draw on: those given, or new ones of this size in inches."""
    if ax is not None:
        drawable = hasattr(type(ax), "add_collection") and hasattr(type(ax), "inset_axes")
        require(
            drawable, "ax must be axes of matplotlib", ax, "Pass what plt.subplots() returns second, or nothing."
        )
        fix = "Pass plain axes; for another projection, study.predict().to_grid() has the numbers to draw."
        require(
            ax.name == "rectilinear", "plots are drawn on axes of matplotlib without a projection", ax.name, fix
        )
        return ax
    from matplotlib import pyplot

    if (wide := _figure_width.get()) is not None:
        width, height = wide, wide * max(height / width, SQUAREST if wide <= NARROW else FLATTEST)
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def legend_above(ax: Axes, handles: Sequence[Artist] | None = None, columns: int = 3) -> None:
    """Put the legend above the plot, where it covers nothing; titles go above it."""
    from matplotlib.collections import PathCollection

    shown = handles if handles is not None else ax.get_legend_handles_labels()[0]
    if not shown:
        return
    wide = ax.figure.bbox.width / ax.figure.dpi
    legend = ax.legend(
        handles=shown,
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=columns if wide > NARROW else 1,
        frameon=False,
        fontsize="small",
        borderaxespad=0.2,
        handlelength=1.4,
        columnspacing=1.2,
    )
    for handle in legend.legend_handles:
        if isinstance(handle, PathCollection):
            handle.set_sizes([LEGEND_SIZE])
    legend_axes = ax.inset_axes((0, 1, 1, 0.1), label="<legend>")  # titles avoid axes within axes
    legend_axes.set_axis_off()
    legend_axes.set_axes_locator(lambda *_: _legend_extent(ax))


def _legend_extent(ax: Axes) -> Bbox:
    """Return the extent of the legend in the figure, or of the plot if there is no legend."""
    extent = (ax.get_legend() or ax).get_window_extent()
    return ax.figure.transSubfigure.inverted().transform_bbox(extent)


def strength(relative_std: Floats) -> Floats:
    """Return the strength of a colour, given the remaining share of the prior standard deviation."""
    return np.asarray(1 - FADED * np.clip(relative_std, 0, 1) ** 2)


def colour_bar(study: Study, ax: Axes, shown: ScalarMappable, truth: bool = False) -> None:
    """Explain the colours beside the plot: true values, or posterior means, which fade; none if there are none."""
    from matplotlib.patches import Rectangle

    if is_empty(study) and not truth:
        return
    label = f"{'' if truth else 'posterior mean of '}{value_label(study)}"
    more = _clipped(shown)
    bar = ax.figure.colorbar(shown, ax=ax, label=label, pad=0.015, fraction=0.045, aspect=16, extend=more).ax
    if truth:
        return
    for shade in range(SHADES):
        gone = float(1 - strength(np.array((shade + 0.5) / SHADES)))
        part = Rectangle((shade / SHADES, 0), 1 / SHADES, 1, transform=bar.transAxes, fc=ax.get_facecolor())
        bar.add_patch(part).set(alpha=gone, lw=0, zorder=1.5)
    below = -0.08 if more in ("min", "both") else -0.03  # the arrow
    bar.text(0.5, below, "paler where\nuncertain", fontsize=MIN_FONT, va="top", transform=bar.transAxes)


def _clipped(shown: ScalarMappable) -> str:
    """Return at which ends values lie beyond the colours: "neither", "min", "max" or "both"."""
    values, (low, high) = np.asarray(shown.get_array(), dtype=float), shown.get_clim()
    slack = 1e-9 * max(abs(low), abs(high))
    under, over = bool(np.nanmin(values) < low - slack), bool(np.nanmax(values) > high + slack)
    return {(True, True): "both", (True, False): "min", (False, True): "max"}.get((under, over), "neither")


def regions_of(study: Study, rows: Ints | slice) -> list[Region]:
    """Return the regions of some rows of the tree."""
    depth, index = study.tree.depth[rows].tolist(), study.tree.index[rows].tolist()
    return list(map(study.space.cell, zip(depth, index, strict=True)))


def told(study: Study) -> list[TrialRecord]:
    """Return the trials that were told, in order; of counts, the rates that they stand for."""
    return [
        trial
        if trial.exposure is None or trial.value is None
        else replace(trial, value=trial.value / trial.exposure)
        for trial in study.trials
        if trial.state == "measured"
    ]


def subtracted(study: Study) -> list[Region]:
    """Return the regions that were subtracted in trials told as differences, each once."""
    return list({trial.minus.key: trial.minus for trial in told(study) if trial.minus is not None}.values())


def allowed(values: Floats, forbidden: Flags) -> Floats:
    """Return the values of what may be measured; all of them if nothing may."""
    return values if forbidden.all() else values[~forbidden]


def value_label(study: Study) -> str:
    """Return what is measured, with its unit."""
    return labelled(study.settings.value_name, study.settings.value_unit)


def colour_map(study: Study, cmap: str | None = None) -> str:
    """Return the user's colour map, or one in which good is bright and no colour is grey or pale."""
    return cmap or ("viridis" if study.settings.direction == "maximize" else "viridis_r")


def colour_limits(limits: tuple[float, float] | None) -> tuple[float, float] | None:
    """Return the ends of the colours after checking; None if they follow from what is shown."""
    if limits is None:
        return None
    problem, fix = "limits must be two ascending numbers", "Pass for example limits=(0, 1)."
    ends = plain_array(limits, problem, fix, float).ravel().tolist()
    require(len(ends) == 2 and -math.inf < ends[0] < ends[1] < math.inf, problem, limits, fix)
    return ends[0], ends[1]


def axis_of(space: Space, j: int) -> Axis:
    """Return an axis of a space; a feature of members is drawn as a plain one."""
    axis: Axis = space.axes[j] if space.axes else ContinuousAxis(space.names[j], 0.0, 1.0)
    return axis


def is_line(space: Space) -> bool:
    """Return whether a space is a box of one axis."""
    return bool(space.continuous and space.d == 1)


def middles(space: Space, j: int, edges: Floats) -> Floats:
    """Return the middles of some intervals of an axis, on its scale."""
    return np.asarray(np.sqrt(edges.prod(axis=1)) if axis_of(space, j).scale == "log" else edges.mean(axis=1))


def axis_label(space: Space, j: int) -> str:
    """Return the name of an axis or feature, with its unit."""
    return labelled(axis_of(space, j).name, axis_of(space, j).unit)


def set_axis(ax: Axes, space: Space, j: int, which: str = "x") -> None:
    """Name and scale an axis of a plot like one of the space."""
    axis = axis_of(space, j)
    if axis.scale == "log":
        ax.set(**{f"{which}scale": "log"})
    if axis.scale == "integer":
        ax.locator_params(axis="x" if which == "x" else "y", integer=True)
    ax.set(**{f"{which}label": ", ".join(filter(None, (axis_label(space, j), axis_note(axis))))})


def outline(region: Region) -> Floats:
    """Return lower and upper edge on each axis of a plot, shape (d, 2)."""
    if not isinstance(region, ProductRegion):
        return region.bounds
    return np.array([_edges(axis, part) for axis, part in region.along], dtype=float)


def pieces(region: Region) -> list[Floats]:
    """Return the outlines of a region within a plot: an arc across the cut of a ring is two pieces."""
    drawn = [outline(region)]
    for j, axis in enumerate(region.space.axes or ()):
        if isinstance(axis, PeriodicAxis) and drawn[0][j, 1] > axis.high:
            before, beyond = ([edges.copy() for edges in drawn] for _ in range(2))
            for edges in before:
                edges[j, 1] = axis.high
            for edges in beyond:
                edges[j] = axis.low, edges[j, 1] - axis.side
            drawn = before + beyond
    return drawn


def _edges(axis: Axis, part: Part) -> tuple[float, float]:
    """Return where a part begins and ends; integers reach half a step beyond themselves."""
    return part[2] if isinstance(axis, IntegerAxis) else axis.bounds(part)


def short_name(region: Region) -> str:
    """Return the name that is written into a region: the last part of a nested one's; "" if it has none."""
    if isinstance(region.space, Hierarchy):
        return region.name.split(JOINT)[-1]
    return region.name if isinstance(region.space, Sequences) else ""


def axis_note(axis: Axis) -> str:
    """Return what plots add to the name of an axis."""
    return "periodic" if isinstance(axis, PeriodicAxis) else ""


class Mark(NamedTuple):
    """A region to be marked: its text in the legend, how it is drawn, and the text beside it."""

    region: Region
    label: str
    style: Appearance
    tag: str = ""


def found_label(study: Study) -> str:
    """Return the legend's text for the region found; "" if nothing was measured."""
    if is_empty(study):
        return ""
    return "region found" if study.stands_out() else f"{best_word(study)}, but it does not stand out"


def marks(study: Study, on_grid: bool = False) -> Iterator[Mark]:
    """Yield the marks of a plot of a study; `on_grid`, of the best node of the tree in place of a window."""
    tree = study.tree
    rows = np.flatnonzero((tree.first_child < 0) & tree.forbidden)
    # A leaf above the smallest size may be forbidden because of a part of it.
    label = "forbidden" if tree.smallest[rows].all() else "forbidden, at least in part"
    yield from (Mark(region, label, FORBIDDEN) for region in regions_of(study, rows))
    yield from _held(study)
    for region in study.blocked:
        yield Mark(region, "cannot be measured", BLOCKED)
    for trial in study.pending:
        yield Mark(trial.region, "pending", PENDING, f"#{trial.number}")
    best_label = found_label(study)
    if best_label:
        best = study.recommend(on_grid=on_grid)
        if best.node is None:
            yield Mark(study.recommend(on_grid=True).region, "best cell", ON_GRID)
        yield Mark(best.region, best_label, BEST if study.stands_out() else BEST | {"ls": ":"})


def _held(study: Study) -> Iterator[Mark]:
    """Yield marks for regions classified beyond the policy's threshold, and for uncertain ones."""
    if is_empty(study) or summary.threshold(study) is None:
        return
    side = "above" if study.settings.direction == "maximize" else "below"
    beyond = f"{side} {summary.threshold(study):.4g} {study.settings.value_unit}".rstrip()
    for likely in study.above(probability=1 - SURE):
        sure = likely.probability >= SURE
        label, appearance = (beyond, HELD) if sure else (f"perhaps {beyond}", UNSURE)
        yield Mark(likely.region, label, appearance)


def draw_marks(marked: Iterable[Mark], ax: Axes, outline: Outline, across: bool = False) -> None:
    """Mark regions in a plot; with `across`, the heights of corners are shares of the plot's height."""
    transform, share = ax.get_xaxis_transform() if across else ax.transData, ax.transAxes.inverted()
    groups: dict[str, tuple[Appearance, list[Floats]]] = {}
    tags = []
    for mark in marked:
        corners = outline(mark.region)
        groups.setdefault(mark.label, (mark.style, []))[1].extend(corners)
        if mark.tag and corners:
            tags.append((mark.tag, share.transform(transform.transform(np.concatenate(corners)))))
    for label, (style, corners) in groups.items():
        if corners:
            patch = area(corners)
            patch.set(transform=transform, label=label, **style)
            _set_off(ax.add_patch(patch), style, across)
    _write(ax, _joined(tags, across))


def _set_off(patch: Patch, style: Appearance, across: bool) -> None:
    """Make a mark stand out: the region found as a band across the plot, other frames with a white outline."""
    from matplotlib.patheffects import withStroke

    if across and style is BEST:
        patch.set(fc=(FOUND, 0.3), lw=0.8, zorder=1.5)
    elif style["fc"] == "none" and "hatch" not in style and not across:
        patch.set_path_effects([withStroke(linewidth=patch.get_linewidth() + 2, foreground="white", dashes=SOLID)])


def _joined(tags: list[tuple[str, Floats]], inside: bool) -> dict[Place, str]:
    """Return texts by their places, given the corners of their regions; those that would overlap are joined."""
    written: dict[Place, str] = {}
    for tag, corners in tags:
        (left, bottom), (right, top) = corners.min(axis=0), corners.max(axis=0)
        below = top > HIGH
        x, y = (left + right) / 2, bottom if below and not inside else top
        near = (
            place
            for place, text in written.items()
            if abs(place[0] - x) < LETTER_WIDE * (len(text) + len(tag)) / 2 and abs(place[1] - y) < TAG_HIGH
        )
        place = next(near, (x, y, below))
        written[place] = f"{written.get(place, '')} {tag}".lstrip()
    return written


def _write(ax: Axes, written: dict[Place, str]) -> None:
    """Write texts beside, or into, their regions."""
    for (x, y, below), tag in written.items():
        text = ax.annotate(
            tag, (x, y), (0, -1.5 if below else 1.5), xycoords="axes fraction", textcoords="offset points",
            ha="center", va="top" if below else "bottom", fontsize="x-small", fontweight="bold", color=INK,
            zorder=5,
        )  # fmt: skip
        rim(text, 2.4)


def star(study: Study, ax: Axes, rings: list[Floats]) -> None:
    """Point out the region found: a star beside it, not over it, hollow if the region does not stand out."""
    from matplotlib.patheffects import withStroke
    from matplotlib.transforms import ScaledTranslation

    corners = np.concatenate(rings)
    (left, bottom), (right, top) = corners.min(axis=0), corners.max(axis=0)
    over = ax.transAxes.inverted().transform(ax.transData.transform((left, bottom)))[1] < LOW
    inside, edge = (FOUND, "white") if study.stands_out() else ("white", FOUND)
    beside = ScaledTranslation(0, (STAR_AWAY if over else -STAR_AWAY) / 72, ax.figure.dpi_scale_trans)
    ax.scatter(
        (left + right) / 2, top if over else bottom, marker="*", s=80, color=inside, edgecolors=edge,
        linewidths=0.8, zorder=5, transform=ax.transData + beside,
        path_effects=[withStroke(linewidth=2.4, foreground=INK)],
    )  # fmt: skip


def area(rings: list[Floats]) -> PathPatch:
    """Return the area within some rings, as one patch."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    return PathPatch(Path.make_compound_path(*(Path(ring, closed=True) for ring in rings)))


def box(x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> Floats:
    """Return the corners of a rectangle, the first repeated to close it."""
    (left, right), (bottom, top) = x, y
    return np.array([(left, bottom), (right, bottom), (right, top), (left, top), (left, bottom)])
