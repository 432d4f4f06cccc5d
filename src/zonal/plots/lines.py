"""Plots along one axis: the function with its posterior, its cells, and the tree above them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from zonal.arrays import Floats
from zonal.errors import InvalidInput
from zonal.plots import style
from zonal.plots.style import Mark, box, draw_marks, marks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from zonal.reading import Reading

Function = Callable[[Floats], Floats]

SAMPLES = 400  # along the axis
MOST_CURVES = len(style.OTHERS)
MOST_BARS = 200  # measurements drawn one by one


class Curve(NamedTuple):
    """Positions along the axis, the point regions there, and the symbols they are for."""

    name: str
    symbols: dict[str, Any]
    x: Floats
    regions: list[Any]


def along(space: Any) -> int | None:
    """Return the only continuous axis or feature of a space, None if there are none or several."""
    found = space.lines
    return found[0] if len(found) == 1 else None


def plot_function(study: Reading, ax: Axes | None = None, f: Function | None = None) -> Axes:
    """Plot f along its only continuous axis or feature, with its posterior.

    The study is on a box of one axis, on members with one feature, or on a `Product` of one continuous axis and
    symbols. It shows posterior mean and two standard deviations of f, a line for every symbol; measured averages
    as bars as wide as their regions, in the colour of their symbol; what is forbidden, cannot be measured or is
    under way; the region found; and `f`, the true function, (n, 1) to (n,), if it is given.
    """
    space, j = study.space, along(study.space)
    if j is None:
        raise InvalidInput("this plot needs exactly one continuous axis", space.names, "Use study.plot().")
    ax = style.axes_or_new(ax)
    curves, marked = curves_along(study, j), list(marks(study))
    for curve, colour in zip(curves, style.OTHERS, strict=False):
        mean, std = study.predict(curve.regions)
        ax.plot(curve.x, mean, color=colour, lw=1.6, label=curve.name)
        band = "two standard deviations" if curve is curves[0] else None
        low, high = mean - 2 * std, mean + 2 * std
        ax.fill_between(curve.x, low, high, color=colour, alpha=0.2, lw=0, label=band)
        if curve.symbols:
            for label, (look, inside) in _hatched(study, curve, marked, j).items():
                hatch = {"fc": "none", "ec": "#555d66", "hatch": look["hatch"], "lw": 0}
                known = label in ax.get_legend_handles_labels()[1]
                ax.fill_between(curve.x, low, high, where=inside, label=None if known else label, **hatch)
    if f is not None:
        ax.plot(curves[0].x, f(curves[0].x[:, None]), color=style.FUNCTION, lw=1.6, label="reward function f")
    _bars(study, ax, j, curves)
    style.set_axis(ax, space, j)
    ax.set_xlim(float(curves[0].x.min()), float(curves[0].x.max()))
    ax.set_ylabel(style.value_label(study))
    if curves[0].symbols:  # for other symbols the band may be measured
        marked = [_with_symbols(mark) for mark in marked if "hatch" not in mark.style]
    draw_marks(marked, ax, lambda region: [box(region.drawn[j], (0, 1))], across=True)
    style.legend_above(ax, columns=2 if len(curves) == 1 else 3)
    return ax


def _hatched(study: Reading, curve: Curve, marked: list[Mark], j: int) -> dict[str, tuple[dict[str, Any], Any]]:
    """Return which parts of a curve are hatched, and how, by the text of the legend."""
    part, found = study.space.region(curve.symbols), dict[str, tuple[dict[str, Any], Any]]()
    for mark in marked:
        if "hatch" in mark.style and part.overlaps(mark.region):
            low, high = mark.region.drawn[j]
            inside = (curve.x >= low) & (curve.x <= high)
            before = found.get(mark.label, (None, False))[1]
            found[mark.label] = mark.style, inside | before
    return found


def _with_symbols(mark: Mark) -> Mark:
    """Return a mark that names its symbols, beside it or in the legend."""
    region: Any = mark.region
    named = ", ".join(" or ".join(map(str, own)) for own in region.symbols if own is not None)
    return mark._replace(tag=f"{mark.tag} {named}") if mark.tag else mark._replace(label=f"{mark.label}: {named}")


def combinations(region: Any) -> Iterator[dict[str, Any]]:
    """Yield every combination of the symbols of a region, by axis; an empty one if there are no symbols."""
    each = zip(region.space.names, getattr(region, "symbols", ()), strict=False)
    named = {name: symbols for name, symbols in each if symbols is not None}
    for symbols in itertools.product(*named.values()):
        yield dict(zip(named, symbols, strict=True))


def curves_along(study: Reading, j: int) -> list[Curve]:
    """Return where f is drawn: for each combination of symbols, or the best ones if there are too many."""
    space = study.space
    if space.axes is None:
        places = np.argsort(space.features[:, 0], kind="stable")[:: -(-space.size // SAMPLES)]
        members = [space.region([row]) for row in space.rows[places].tolist()]
        return [Curve("posterior mean of f", {}, space.features[places, 0], members)]
    axis = space.axes[j]
    x = axis.spread(SAMPLES)
    curves = []
    for fixed in combinations(space.cell((0, 0))):
        name = ", ".join(map(str, fixed.values())) or "posterior mean of f"
        points = [space.region(fixed | {axis.name: (place, place)}) for place in x.tolist()]
        curves.append(Curve(name, fixed, x, points))
    if len(curves) > MOST_CURVES:
        best = [float(np.max(study._sign * study.predict(curve.regions[::10]).mean)) for curve in curves]
        curves = [curves[at] for at in np.argsort(best)[::-1][:MOST_CURVES]]
    return curves


def _bars(study: Reading, ax: Axes, j: int, curves: list[Curve]) -> None:
    """Draw measured averages as wide as their regions; in a curve's colour if they are of its symbols only."""
    told = [trial for trial in study.trials if trial.state == "told"][-MOST_BARS:]
    if not told:
        return
    each = zip(curves, style.OTHERS, strict=False)
    parts = [(study.space.region(curve.symbols), colour) for curve, colour in each if curve.symbols]
    colours = []
    for trial in told:
        own = (colour for part, colour in parts if part.holds(trial.region))
        colours.append(next(own, style.INK))
    edges = np.array([trial.region.drawn[j] for trial in told])
    values = np.array([trial.value for trial in told], dtype=float)
    middle = np.sqrt(edges.prod(axis=1)) if style.axis_of(study.space, j).scale == "log" else edges.mean(axis=1)
    bars = ax.hlines(values, *edges.T, color=colours, lw=1.4, alpha=0.8, label="measured averages", zorder=2.5)
    bars.set_capstyle("round")
    ax.scatter(middle, values, c=colours, s=5, alpha=0.8, zorder=2.6)


def plot_cells(study: Reading, ax: Axes | None = None, f: Function | None = None) -> Axes:
    """Plot the posterior of each leaf of a study on a space of one axis, like the paper's first figure.

    Posterior means are lines, confidence a dark and variation of f a light band; `f` as for `plot_function`.
    """
    if not (study.space.continuous and study.space.d == 1):
        raise InvalidInput("this plot is for boxes with one axis", study.space.names, "Use plot_regions.")
    ax = style.axes_or_new(ax)
    tree, bands = study.tree, study.bands()
    leaves = np.flatnonzero(tree.first_child < 0)
    left, right = np.array([cell.drawn[0] for cell in style.regions_of(study, leaves)]).T
    mean, confidence = tree.mean[leaves], bands.confidence[leaves]
    reach = confidence + bands.variation[leaves]
    spread = [float(mean.min()), float(mean.max())]
    if f is not None:
        x = study.space.axes[0].spread(1000)
        y = f(x[:, None])
        spread = [min(spread[0], float(y.min())), max(spread[1], float(y.max()))]
    # The widest bands are cut off; the narrowest are shown completely.
    known = reach[np.isfinite(reach)]
    margin = max(0.6 * (spread[1] - spread[0]), 1.1 * float(known.min(initial=np.inf)) if known.size else 1.0)
    far = 10 * (margin + spread[1] - spread[0])
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
    draw_marks(marked, ax, lambda region: [box(region.drawn[0], (0, 1))], across=True)
    ax.set_ylim(spread[0] - margin, spread[1] + margin)
    ax.set_xlim(*study.space.cell((0, 0)).drawn[0])
    if style.axis_of(study.space, 0).scale == "log":
        ax.set_xscale("log")
    ax.set_ylabel(style.value_label(study))
    return ax
