"""Regions on the command line: as texts, as cells of a sheet, and as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from zonal.errors import InvalidInput
from zonal.spaces import Hierarchy, Interval, MemberRegion, MemberSpace, Region, Sequences
from zonal.spaces.product_region import span as shown

LOW, HIGH = "_low", "_high"
ANY = "any"
MOST_DIGITS = 18  # of what can be counted
SPAN = re.compile(r"(?P<low>.+?)\.\.(?P<high>\S+)(?: .*)?")


def as_json(region: Region) -> dict[str, Any]:
    """Return a region for programs: its name, its node, and where it is."""
    found: dict[str, Any] = {"name": region.name, "node": None if region.node is None else list(region.node)}
    space = region.space
    if isinstance(region, MemberRegion):
        found |= {"rows": region.members.tolist(), "weight": region.weight}
        if not space.symbolic:
            found["bounds"] = dict(zip(space.names, region.bounds.tolist(), strict=True))
        return found
    symbols: Any = region.symbols  # type: ignore[attr-defined]
    if isinstance(space, Sequences):
        return {**found, "symbols": [list(pool) for pool in symbols]}
    axes = list(enumerate(space.axes))
    bounds = region.bounds.tolist()
    found["bounds"] = {axis.name: bounds[j] for j, axis in axes if isinstance(axis, Interval)}
    found["units"] = {axis.name: axis.unit for _, axis in axes if isinstance(axis, Interval) and axis.unit}
    found["symbols"] = {axis.name: list(symbols[j]) for j, axis in axes if not isinstance(axis, Interval)}
    return {key: own for key, own in found.items() if own != {}}


def columns(space: Any) -> list[str]:
    """Return the columns of a sheet that say exactly where a region is, beside its name."""
    if isinstance(space, Sequences | Hierarchy):
        return []
    if isinstance(space, MemberSpace):
        return ["rows"]
    names: list[str] = []
    for axis in space.axes:
        names += [axis.name + LOW, axis.name + HIGH] if isinstance(axis, Interval) else [axis.name]
    return names


def cells(region: Region) -> list[float | str]:
    """Return the cells of those columns."""
    space = region.space
    if not columns(space):
        return []
    if isinstance(region, MemberRegion):
        return [" ".join(map(str, region.members.tolist()))]
    symbols: Any = region.symbols  # type: ignore[attr-defined]
    found: list[float | str] = []
    for axis, (low, high), pool in zip(space.axes, region.bounds.tolist(), symbols, strict=True):
        found += [low, high] if isinstance(axis, Interval) else ["|".join(pool)]
    return found


def from_cells(space: Any, row: Mapping[str, float | str]) -> Any:
    """Return what `space.region` takes from the cells of a sheet: exact columns, or the region as text."""
    exact = {name: str(row[name]) for name in columns(space) if row.get(name, "") != ""}
    if not exact:
        if not row.get("region"):
            wanted = ", ".join(columns(space) or ["region"])
            raise InvalidInput("a row must say which region was measured", "", f"Fill in {wanted}.")
        return from_text(space, str(row["region"]))
    if isinstance(space, MemberSpace):
        return _rows(exact["rows"])
    parts: dict[str, Any] = {}
    for axis in space.axes:
        if not isinstance(axis, Interval):
            parts |= {axis.name: exact[axis.name].split("|")} if axis.name in exact else {}
        elif axis.name + LOW in exact or axis.name + HIGH in exact:
            first, last = axis.ends
            low, high = exact.get(axis.name + LOW, repr(first)), exact.get(axis.name + HIGH, repr(last))
            parts[axis.name] = (_edge(low, axis.name), _edge(high, axis.name))
    return parts


def from_text(space: Any, text: str) -> Any:
    """Return what `space.region` takes from a text: ``ATNNNNNN``, ``NSW > Coast``, ``l=0..90, dye=red|green``."""
    if isinstance(space, Sequences | Hierarchy):
        return text
    if isinstance(space, MemberSpace):
        return _rows(text)
    parts: dict[str, Any] = {}
    for part in text.split(","):
        axis = next((one for one in space.axes if re.match(rf"\s*{re.escape(one.name)}\s*[= ]", part)), None)
        if axis is None:
            fix = f"Write {_example(space)}."
            raise InvalidInput("a part of a region begins with the name of an axis", part.strip(), fix)
        what = part.strip()[len(axis.name) :].strip(" =")
        if not isinstance(axis, Interval):
            parts |= {} if what == ANY else {axis.name: what.split("|")}
            continue
        span = SPAN.fullmatch(what)
        if span is None:
            raise InvalidInput(f"a part of axis {axis.name} is a span", what, f"Write {_example(space)}.")
        edges = _edge(span["low"], axis.name), _edge(span["high"], axis.name)
        parts[axis.name] = _unrounded(axis, edges, f"{span['low']}..{span['high']}")
    return parts


def _example(space: Any) -> str:
    axis = space.axes[0]
    if isinstance(axis, Interval):
        low, high = axis.ends
        return f"{axis.name}={low:g}..{high:g}"
    return f"{axis.name}={axis.symbols[0]}|{axis.symbols[1]}"


def _unrounded(axis: Interval, edges: tuple[float, float], text: str) -> tuple[float, float]:
    """Return edges, in place of one beyond the axis its end if a region's name shows that end so, rounded."""
    low, high = max(edges[0], axis.ends[0]), min(edges[1], axis.ends[1])
    return (low, high) if low < high and shown(axis, axis.own(low), axis.own(high)) == text else edges


def _edge(text: str, axis: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"a bound on axis {axis} must be a number", text, "Write for example 0.5.") from None


def _rows(text: str) -> list[int]:
    """Return numbers of rows, with blanks or commas between."""
    rows = [counted(word) for word in text.replace(",", " ").split()]
    if not rows or None in rows:
        raise InvalidInput(
            "a region of points is the numbers of its rows", text, "Write 0 3 17; the first row is 0."
        )
    return [row for row in rows if row is not None]


def counted(text: str) -> int | None:
    """Return the number that a trial or a row is counted by, None if the text is none."""
    if not text.isdecimal():
        return None
    return int(text) if len(text) <= MOST_DIGITS else 10**MOST_DIGITS  # which is too large as well
