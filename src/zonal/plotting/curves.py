"""Plots along one axis: the function with its posterior, its cells, and the tree above them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from zonal._types import Flags, Floats
from zonal.errors import InvalidInput, require
from zonal.plotting import style
from zonal.plotting.style import Mark, box, draw_marks, marks, outline, pieces
from zonal.spaces import ContinuousAxis, ProductRegion, Region, Space
from zonal.spaces.axes import Symbol

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection

    from zonal.study.study import Study

Function = Callable[[Floats], Floats]
Symbols = dict[str, Symbol]  # one of each categorical axis, by name

SAMPLES = 400  # along the axis
MAX_CURVES = len(style.OTHERS)
MAX_BARS = 200  # measurements drawn one by one


class Curve(NamedTuple):
    """Positions along the axis, the point regions there, and the symbols they are for."""

    name: str
    symbols: Symbols
    x: Floats
    regions: list[Region]


def along(space: Space) -> int | None:
    """Return the only continuous axis or feature of a space, None if there are none or several."""
    axes = space.continuous_axes
    return axes[0] if len(axes) == 1 else None


def plot_function(study: Study, ax: Axes | None = None, f: Function | None = None) -> Axes:
    """Plot f along its only continuous axis or feature, with its posterior.

    The study is on a box of one axis, on members with one feature, or on a `Product` of one continuous axis and
    symbols. It shows posterior mean and two standard deviations of f, a line for every symbol; measured averages
    as bars as wide as their regions, in the colour of their symbol; what is forbidden, cannot be measured or is
    pending; the region found; and `f`, the true function, (n, 1) to (n,), if it is given.
    """
    space, j = study.space, along(study.space)
    if j is None:
        raise InvalidInput("this plot needs exactly one continuous axis", space.names, "Use study.plot().")
    ax = style.axes_or_new(ax)
    curves, marked, hatched = curves_along(study, j), list(marks(study)), list[Mark]()
    if curves[0].symbols:  # for other symbols a band across may be measured: the curve is hatched instead
        hatched = [mark for mark in marked if "hatch" in mark.style]
        marked = [_with_symbols(mark) for mark in marked if "hatch" not in mark.style]
    confidence_bands = [
        _posterior(study, ax, *curve_and_colour, hatched, j)
        for curve_and_colour in zip(curves, style.OTHERS, strict=False)
    ]
    confidence_bands[0].set_label("two standard deviations")
    if f is not None:
        ax.plot(curves[0].x, f(curves[0].x[:, None]), color=style.FUNCTION, lw=1.6, label="reward function f")
    _bars(study, ax, j, curves)
    style.set_axis(ax, space, j)
    ax.set_xlim(float(curves[0].x.min()), float(curves[0].x.max()))
    ax.set_ylabel(style.value_label(study))
    draw_marks(marked, ax, lambda region: [box(edges[j], (0, 1)) for edges in pieces(region)], across=True)
    style.legend_above(ax, columns=2 if len(curves) == 1 else 3)
    return ax


def _posterior(study: Study, ax: Axes, curve: Curve, colour: str, hatched: list[Mark], j: int) -> PolyCollection:
    """Draw mean and band of one curve, hatched where it is marked; return the band."""
    mean, std = study.predict(curve.regions)
    ax.plot(curve.x, mean, color=colour, lw=1.6, label=curve.name)
    low, high = mean - 2 * std, mean + 2 * std
    band = ax.fill_between(curve.x, low, high, color=colour, alpha=0.2, lw=0)
    inside: dict[tuple[str, str], Flags] = {}
    for mark in hatched:
        if study.space.region(curve.symbols).overlaps(mark.region):
            left, right = outline(mark.region)[j]
            key = mark.label, str(mark.style["hatch"])
            covered = (curve.x >= left) & (curve.x <= right)
            inside[key] = covered | inside.get(key, np.zeros_like(covered))
    for (label, hatch), where in inside.items():
        is_labelled = label in ax.get_legend_handles_labels()[1]
        fill = ax.fill_between(curve.x, low, high, where=where, label=None if is_labelled else label)
        fill.set(fc="none", ec="#555d66", hatch=hatch, lw=0)
    return band


def _with_symbols(mark: Mark) -> Mark:
    """Return a mark that names its symbols, beside it or in the legend."""
    assert isinstance(mark.region, ProductRegion)
    named = ", ".join(" or ".join(map(str, symbols)) for symbols in mark.region.symbols if symbols is not None)
    return mark._replace(tag=f"{mark.tag} {named}") if mark.tag else mark._replace(label=f"{mark.label}: {named}")


def combinations(region: Region) -> Iterator[Symbols]:
    """Yield every combination of the symbols of a region, by axis; an empty one if there are no symbols."""
    by_axis = region.symbols if isinstance(region, ProductRegion) else ()
    named = {
        name: symbols for name, symbols in zip(region.space.names, by_axis, strict=False) if symbols is not None
    }
    for symbols in itertools.product(*named.values()):
        yield dict(zip(named, symbols, strict=True))


def curves_along(study: Study, j: int) -> list[Curve]:
    """Return where f is drawn: for each combination of symbols, or the best ones if there are too many."""
    space = study.space
    if space.axes is None:
        places = np.argsort(space.features[:, 0], kind="stable")[:: -(-space.size // SAMPLES)]
        members = [space.region([row]) for row in space.rows[places].tolist()]
        return [Curve("posterior mean of f", {}, space.features[places, 0], members)]
    curves = [_curve(space, space.axes[j], symbols) for symbols in combinations(space.cell((0, 0)))]
    if len(curves) > MAX_CURVES:
        best = [float(np.max(study.settings.sign * study.predict(curve.regions[::10]).mean)) for curve in curves]
        curves = [curves[at] for at in np.argsort(best)[::-1][:MAX_CURVES]]
    return curves


def _curve(space: Space, axis: ContinuousAxis, symbols: Symbols) -> Curve:
    """Return the points of an axis where f is drawn for some symbols."""
    x = axis.linspace(SAMPLES)
    points = [space.region(symbols | {axis.name: (place, place)}) for place in x.tolist()]
    return Curve(", ".join(map(str, symbols.values())) or "posterior mean of f", symbols, x, points)


def _bars(study: Study, ax: Axes, j: int, curves: list[Curve]) -> None:
    """Draw measured averages as wide as their regions; in a curve's colour if they are of its symbols only."""
    _references(study, ax, j)
    told = [trial for trial in style.told(study) if trial.minus is None][-MAX_BARS:]
    if not told:
        return
    colours = _colours(study.space, curves, [trial.region for trial in told])
    edges = np.array([outline(trial.region)[j] for trial in told])
    values = np.array([trial.value for trial in told], dtype=float)
    middle = style.middles(study.space, j, edges)
    bars = ax.hlines(values, *edges.T, color=colours, lw=1.4, alpha=0.8, label="measured averages", zorder=2.5)
    bars.set_capstyle("round")
    ax.scatter(middle, values, c=colours, s=5, alpha=0.8, zorder=2.6)


def _references(study: Study, ax: Axes, j: int) -> None:
    """Mark, along the lower edge, where differences were measured, and what was subtracted."""
    measured = [trial.region for trial in style.told(study) if trial.minus is not None]
    marks = ((measured, "D", "measured as a difference"), (style.subtracted(study), "x", "subtracted from it"))
    for regions, mark, label in marks:
        if regions:
            x = style.middles(study.space, j, np.array([outline(region)[j] for region in regions]))
            ax.plot(
                x, [0.03] * len(x), mark, color=style.INK, mfc="none", ms=5, zorder=2.6, label=label,
                transform=ax.get_xaxis_transform(),
            )  # fmt: skip


def _colours(space: Space, curves: list[Curve], regions: list[Region]) -> list[str]:
    """Return the colours of regions: those of the curves whose symbols they have, else black."""
    coloured = zip(curves, style.OTHERS, strict=False)
    parts = [(space.region(curve.symbols), colour) for curve, colour in coloured if curve.symbols]
    fitting = ((colour for part, colour in parts if part.contains(region)) for region in regions)
    return [next(colours, style.INK) for colours in fitting]


def plot_cells(study: Study, ax: Axes | None = None, f: Function | None = None) -> Axes:
    """Plot the posterior of each leaf of a study on a space of one axis, like the paper's first figure.

    Posterior means are lines, confidence a dark and variation of f a light band; `f` as for `plot_function`.
    """
    space = study.space
    require(style.is_line(space), "this plot is for boxes with one axis", space.names, "Use plot_tree.")
    ax = style.axes_or_new(ax)
    tree, confidence_bands = study.tree, study.confidence_bands()
    leaves = np.flatnonzero(tree.first_child < 0)
    left, right = np.array([outline(cell)[0] for cell in style.regions_of(study, leaves)]).T
    mean, confidence = tree.mean[leaves], confidence_bands.confidence[leaves]
    reach = confidence + confidence_bands.variation[leaves]
    x = space.axes[0].linspace(1000)
    y = np.empty(0) if f is None else f(x[:, None])
    low, high = (float(of(np.append(mean, y))) for of in (np.min, np.max))
    # The widest bands are cut off; the narrowest are shown completely.
    finite = reach[np.isfinite(reach)]
    margin = max(0.6 * (high - low), 1.1 * float(finite.min()) if finite.size else 1.0)
    far = 10 * (margin + high - low)
    for half, alpha, label in (
        (np.minimum(reach, far), 0.18, "plus variation of f within it"),
        (np.minimum(confidence, far), 0.45, "confidence in the cell's average"),
    ):
        size = {"height": 2 * half, "width": right - left, "bottom": mean - half}
        ax.bar(left, **size, align="edge", lw=0, color=style.ESTIMATE, alpha=alpha, label=label)
    ax.hlines(mean, left, right, color=style.INK, lw=1.4, label="posterior mean of a cell")
    if f is not None:
        ax.plot(x, y, color=style.FUNCTION, lw=1.8, label="reward function f")
    marked = [mark for mark in marks(study) if "hatch" not in mark.style]
    draw_marks(marked, ax, lambda region: [box(edges[0], (0, 1)) for edges in pieces(region)], across=True)
    ax.set_ylim(low - margin, high + margin)
    ax.set_xlim(*outline(space.cell((0, 0)))[0])
    if style.axis_of(space, 0).scale == "log":
        ax.set_xscale("log")
    ax.set_ylabel(style.value_label(study))
    return ax
