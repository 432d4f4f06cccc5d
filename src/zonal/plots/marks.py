"""Marks on the regions of a plot, distinguished by shape: forbidden, impossible to measure, under way, found.

A plot defines where a region is; what is marked, and how, is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from zonal.arrays import Floats
from zonal.looking import is_empty
from zonal.plots.style import FOUND, INK, regions_of, rim
from zonal.rounds.certainty import SURE
from zonal.spaces import Region

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import PathPatch

    from zonal.reading import Reading

Outline = Callable[[Region], list[Floats]]  # corners of a region's polygons in a plot; none if it is outside

FORBIDDEN: dict[str, Any] = {"fc": "#e4e6e8", "ec": "#9aa1a8", "hatch": "////", "lw": 0, "zorder": 2}
BARRED: dict[str, Any] = {"fc": "none", "ec": "#555d66", "hatch": "xxx", "lw": 0.6, "zorder": 2.1}
PENDING: dict[str, Any] = {"fc": "none", "ec": INK, "ls": (0, (3, 1.5)), "lw": 1.4, "zorder": 3.5}
HELD: dict[str, Any] = {"fc": (FOUND, 0.25), "ec": "none", "lw": 0, "zorder": 1.4}
UNSURE: dict[str, Any] = {"fc": "none", "ec": "#6b737b", "hatch": "....", "lw": 0, "zorder": 1.45}
BEST: dict[str, Any] = {"fc": "none", "ec": FOUND, "lw": 2.2, "zorder": 4}

HIGH = 0.94  # of a plot: text beside a region this high goes below it
TAG_WIDE, TAG_HIGH = 0.07, 0.05  # of a plot: the size of a text
SOLID = {"dash_offset": 0, "dash_list": None}


class Mark(NamedTuple):
    """A region to be marked: its text in the legend, how it is drawn, and the text beside it."""

    region: Region
    label: str
    style: dict[str, Any]
    tag: str = ""


def found_label(study: Reading) -> str:
    """Return the legend's text for the region found; "" if nothing was measured."""
    if is_empty(study):
        return ""
    return "region found" if study.stands_out() else "best so far, but it does not stand out"


def marks(study: Reading) -> Iterator[Mark]:
    """Yield the marks of a plot of a study."""
    tree = study.tree
    rows = np.flatnonzero((tree.first_child < 0) & tree.forbidden)
    # A leaf above the smallest size may be forbidden because of a part of it.
    label = "forbidden" if tree.smallest[rows].all() else "forbidden, at least in part"
    yield from (Mark(region, label, FORBIDDEN) for region in regions_of(study, rows))
    yield from _held(study)
    for region in study.barred:
        yield Mark(region, "cannot be measured", BARRED)
    for trial in study.pending:
        yield Mark(trial.region, "under way", PENDING, f"#{trial.number}")
    found = found_label(study)
    if found:
        yield Mark(study.found, found, BEST if study.stands_out() else BEST | {"ls": ":"})


def _held(study: Reading) -> Iterator[Mark]:
    """Yield marks for regions classified beyond the policy's threshold, and for uncertain ones."""
    if is_empty(study) or study.threshold is None:
        return
    side = "above" if study.direction == "maximize" else "below"
    beyond = f"{side} {study.threshold:.4g} {study.value_unit}".rstrip()
    for likely in study.above(probability=1 - SURE):
        sure = likely.probability >= SURE
        yield Mark(likely.region, beyond if sure else f"perhaps {beyond}", HELD if sure else UNSURE)


def draw_marks(marked: Iterable[Mark], ax: Axes, outline: Outline, across: bool = False) -> None:
    """Mark regions in a plot; with `across`, the heights of corners are shares of the plot's height."""
    from matplotlib.patheffects import withStroke

    transform = ax.get_xaxis_transform() if across else ax.transData
    groups: dict[str, tuple[dict[str, Any], list[Floats]]] = {}
    tags = []
    for mark in marked:
        corners = outline(mark.region)
        groups.setdefault(mark.label, (mark.style, []))[1].extend(corners)
        if mark.tag and corners:
            tags.append((mark.tag, transform.transform(np.concatenate(corners))))
    for label, (style, corners) in groups.items():
        if not corners:
            continue
        patch = ax.add_patch(area(corners, transform=transform, label=label, **style))
        if across and style is BEST:
            patch.set(fc=(FOUND, 0.3), lw=0.8, zorder=1.5)
        elif style["fc"] == "none" and "hatch" not in style and not across:
            patch.set_path_effects([withStroke(linewidth=style["lw"] + 2, foreground="white", dashes=SOLID)])
    _write(ax, tags, across)


def _write(ax: Axes, tags: list[tuple[str, Floats]], inside: bool) -> None:
    """Write texts beside, or into, their regions; texts that would overlap are joined."""
    written: list[tuple[str, float, float, bool]] = []
    for tag, corners in tags:
        places = ax.transAxes.inverted().transform(corners)
        (left, bottom), (right, top) = places.min(axis=0), places.max(axis=0)
        below = top > HIGH
        x, y = (left + right) / 2, bottom if below and not inside else top
        near = [at for at, own in enumerate(written) if abs(own[1] - x) < TAG_WIDE and abs(own[2] - y) < TAG_HIGH]
        if near:
            before, *place = written[near[0]]
            written[near[0]] = (f"{before} {tag}", *place)  # type: ignore[assignment]
        else:
            written.append((tag, x, y, below))
    for tag, x, y, below in written:
        text = ax.annotate(
            tag, (x, y), (0, -1.5 if below else 1.5), xycoords="axes fraction", textcoords="offset points",
            ha="center", va="top" if below else "bottom", fontsize="x-small", fontweight="bold", color=INK,
            zorder=5,
        )  # fmt: skip
        rim(text, 2.4)


def star(study: Reading, ax: Axes, x: Any, y: Any) -> None:
    """Mark the centre of the region found, hollow if it does not stand out."""
    from matplotlib.patheffects import withStroke

    sure = study.stands_out()
    ax.scatter(
        x, y, marker="*", s=110, color=FOUND if sure else "white", edgecolors="white" if sure else FOUND,
        linewidths=0.8, zorder=5, path_effects=[withStroke(linewidth=2.4, foreground=INK)],
    )  # fmt: skip


def area(rings: list[Floats], **style: Any) -> PathPatch:
    """Return the area within some rings, as one patch."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    return PathPatch(Path.make_compound_path(*(Path(ring, closed=True) for ring in rings)), **style)


def box(x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> Floats:
    """Return the corners of a rectangle, the first repeated to close it."""
    (left, right), (bottom, top) = x, y
    return np.array([(left, bottom), (right, bottom), (right, top), (left, top), (left, bottom)])
