"""What a study's journal says, without its posterior: progress, trials, trials under way; available at once."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

from zonal.plots.lines import along
from zonal.rounds.events import (
    Asked,
    Began,
    Corrected,
    Ended,
    Event,
    Extended,
    Measured,
    Observed,
    Retracted,
    Taken,
)
from zonal.rounds.journal import Journal
from zonal.spaces.region import Region

SHORT_TIME = len("2026-11-16T00:05:51")
NAMED = 12  # most points listed for a trial
SHOWN = 200  # trials whose regions are named before the tree is available
SPARKS = 400  # measurements in the small plot of the overview


def stamp_of(path: Path) -> tuple[int, int, int]:
    """Return a value that changes when a file does."""
    found = os.stat(path)
    return found.st_ino, found.st_mtime_ns, found.st_size


class Record:
    """The content of a journal as last read.

    Attributes
    ----------
    event : int
        Number of events.
    times : list of str
        When each was written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.event = 0
        self.times: list[str] = []
        self.budget: Any = 0
        self.told = 0
        self.paid: dict[int, float] = {}
        self.policy = ""
        self.asked: list[Asked] = []
        self.became: list[dict[str, Any]] = []  # of each trial: state, value, sem, note, ended, earlier
        self.observed: list[dict[str, Any]] = []
        self.pending: dict[int, Asked] = {}
        self.last = ""
        self._places: dict[int, dict[str, Any]] = {}
        self.stamp = stamp_of(path)
        self.journal, events = Journal.open(path, {})
        self.budget = self.settings.budget
        self._take(events)

    @property
    def settings(self) -> Any:
        """The settings."""
        return self.journal.opened.settings

    def refresh(self) -> None:
        """Read what was written since."""
        stamp = stamp_of(self.path)
        self._take(self.journal.unseen(self.event))
        self.stamp = stamp

    def _take(self, events: list[Event]) -> None:
        self.times += [row.time for row in self.journal.rows(len(self.times))][: len(events)]
        for event in events:
            for fact in event:
                self._enter(fact, self.times[self.event])
            self.event += 1

    def _enter(self, fact: Any, time: str) -> None:
        match fact:
            case Began():
                self.policy, self.last = fact.policy, "begun"
            case Asked():
                self.asked.append(fact)
                self.pending[fact.number] = fact
                self.became.append({"state": "asked", "asked": time, "ended": "", "by": fact.by})
                self.last = f"trial {fact.number} asked for"
            case Taken():
                self.pending[fact.number] = self.pending[fact.number]._replace(by=fact.by)
            case Measured():
                own = self.asked[fact.number]
                self.paid[fact.number] = own.cost if fact.time is None else own.cost - own.time + fact.time
                told = {"value": fact.value, "sem": fact.sem, "note": fact.note, "minus": _named(fact.minus)}
                self._became(fact.number, time, state="told", **told)
            case Ended():
                self._became(fact.number, time, state=fact.state)
            case Corrected() if not fact.observed:
                self._became(fact.number, time, value=fact.value, sem=fact.sem, note=fact.note, who=fact.by)
                self.last = f"trial {fact.number} corrected"
            case Retracted() if not fact.observed:
                self._became(fact.number, time, state="retracted", note=fact.note, who=fact.by)
                del self.paid[fact.number]
            case Observed():
                self.observed.append(
                    {"state": "observed", "value": fact.value, "sem": fact.sem, "note": "", "ended": time}
                    | {"region": place(self.settings.space, fact.region, -1)}
                    | {"slope": fact.feedback.slope, "minus": _named(fact.minus)}
                )
                self.last = "a measurement from outside observed"
            case Corrected():
                self.observed[fact.number] |= {"value": fact.value, "sem": fact.sem, "note": fact.note}
            case Retracted():
                self.observed[fact.number] |= {"state": "retracted", "note": fact.note}
            case Extended():
                self.budget += fact.n
                self.last = f"budget extended by {fact.n}"

    def _became(self, number: int, time: str, **said: Any) -> None:
        own = self.became[number]
        if own.get("value") is not None:
            before = {key: own.get(key) for key in ("state", "value", "sem", "note", "ended")}
            own.setdefault("earlier", []).append(before)
        if said.get("state", own["state"]) == "retracted":
            said["value"] = said["sem"] = None
        counted = own["state"] == "told"
        own |= {**said, "ended": time}
        self.told += (own["state"] == "told") - counted
        self.pending.pop(number, None)
        self.last = f"trial {number} {own['state']}"

    @property
    def remaining(self) -> Any:
        """The measurements that may still be asked for, or their cost."""
        if not self.settings.priced:
            return self.budget - self.told - len(self.pending)
        bound = (asked.cost for asked in self.pending.values())
        return max(0.0, math.fsum((self.budget, *(-cost for cost in (*self.paid.values(), *bound)))))

    @property
    def state(self) -> str:
        """The state of the study, in one word."""
        if self.journal.read_only:
            return "read-only"
        if self.pending:
            return "waiting"
        return "spent" if self.remaining <= 0 else "ready" if self.told else "new"

    def place(self, asked: Asked) -> dict[str, Any]:
        """Return where a trial measures, for the page."""
        if asked.row not in self._places:
            space = self.settings.space
            self._places[asked.row] = place(space, space.cell(asked.node), asked.row)
        return self._places[asked.row]

    def head(self, name: str) -> dict[str, Any]:
        """Return the main facts: progress, and the trials under way."""
        settings = self.settings
        pending = [
            {
                "trial": asked.number,
                "look": asked.replicate,
                "asked": self.became[asked.number]["asked"],
                "by": asked.by,
                "region": self.place(asked),
                "time": asked.time,
                "cost": asked.cost,
            }
            for asked in self.pending.values()
        ]
        return {
            "name": name,
            "event": self.event,
            "made": self.times[0],
            "changed": self.times[-1],
            "last": self.last,
            "space": space_words(settings.space),
            "picture": picture(settings.space),
            "value": {"name": settings.value_name, "unit": settings.value_unit},
            "direction": settings.direction,
            "budget": self.budget,
            "told": self.told,
            "observed": sum(own["state"] == "observed" for own in self.observed),
            "remaining": self.remaining,
            "spent": math.fsum(self.paid.values()) if settings.priced else self.told,
            "cost": {"unit": settings.cost_unit, "times": list(settings.times)} if settings.priced else None,
            "state": self.state,
            "read_only": self.journal.read_only,
            "policy": self.policy,
            "feedback": repr(settings.feedback),
            "pending": pending,
        }

    def line(self, name: str) -> dict[str, Any]:
        """Return the study's line in the overview, without the answer."""
        head = self.head(name)
        told = [own["value"] for own in self.became if own.get("value") is not None]
        return {**head, "pending": len(self.pending), "spark": told[-SPARKS:]}

    def trials(self, first: int = 0, named: bool = False) -> dict[str, Any]:
        """Return all trials from a number on, as columns; if `named`, with the names of the last ones' regions."""
        own, asked = self.became[first:], self.asked[first:]
        columns: dict[str, Any] = {
            "event": self.event,
            "number": [one.number for one in asked],
            "row": [one.row for one in asked],
            "look": [one.replicate for one in asked],
            "state": [one["state"] for one in own],
            "value": [one.get("value") for one in own],
            "sem": [one.get("sem") for one in own],
            "time": [one.time for one in asked] if self.settings.times else None,
            "cost": [one.cost for one in asked] if self.settings.priced else None,
            "by": [one["by"] for one in own],
            "asked": [one["asked"][:SHORT_TIME] for one in own],
            "ended": [one["ended"][:SHORT_TIME] for one in own],
            "note": {str(at): one["note"] for at, one in enumerate(own, first) if one.get("note")},
            "minus": {str(at): one["minus"] for at, one in enumerate(own, first) if one.get("minus")},
            "earlier": {str(at): one["earlier"] for at, one in enumerate(own, first) if one.get("earlier")},
            "observed": self.observed,
        }
        if named:
            old = max(len(asked) - SHOWN, 0)
            columns["where"] = [""] * old + [self.place(one)["text"] for one in asked[old:]]
        return columns


def place(space: Any, region: Region, row: int) -> dict[str, Any]:
    """Return where a region is, for the page: its parts of axes, or its name and number of members."""
    found: dict[str, Any] = {"row": row, "text": region.name, "name": "", "part": None, "members": None}
    found["share"] = share(space, region)
    if space.axes is None:
        members: Any = region.members  # type: ignore[attr-defined]
        named = [str(space.ways[0][row]) for row in members[:NAMED].tolist()] if space.columns else []
        return found | {"name": region.name, "members": len(members), "which": named}
    if space.spelled:
        size = len(space.alphabet) ** space.length
        return found | {"name": region.name, "members": round(found["share"] * size)}
    symbols: Any = region.symbols  # type: ignore[attr-defined]
    edges = zip(region.bounds.tolist(), symbols, strict=True)
    return found | {"part": [bounds if own is None else list(own) for bounds, own in edges]}


def _named(region: Region | None) -> str:
    """Return the name of a region that was subtracted; "" if none was."""
    return "" if region is None else region.name


def share(space: Any, region: Region) -> float:
    """Return a region's share of a space; every symbol counts as one."""
    if space.axes is None:
        return float(region.weight / space.weights.sum())
    along: Any = region.along  # type: ignore[attr-defined]
    found = 1.0
    for axis, part in along:
        found *= len(axis.symbols_in(part)) / axis.places if axis.symbolic else part[1] / axis.side
    return found


def space_words(space: Any) -> dict[str, Any]:
    """Return what the page needs to know about a space."""
    if space.axes is None:
        return {"kind": "points" if space.columns else "hierarchy", "size": space.size}
    if space.spelled:
        return {"kind": "sequences", "length": space.length, "alphabet": list(space.alphabet)}
    axes: list[dict[str, Any]] = []
    for axis in space.axes:
        if not axis.symbolic:
            low, high = axis.ends
            kind = {"log": axis.scale == "log", "whole": axis.scale == "integer", "remark": axis.remark}
            axes.append({"name": axis.name, "unit": axis.unit, "low": low, "high": high, **kind})
        else:
            axes.append({"name": axis.name, "unit": "", "symbols": list(axis.symbols)})
    return {"kind": "box", "axes": axes}


def picture(space: Any) -> str:
    """Return which kind of plot suits a space."""
    if space.axes is None:
        return "scatter" if space.columns else "tiles"
    if not space.lines:
        return "shelves"
    if along(space) is not None:
        return "line"
    return "map" if len(space.axes) == 2 else "panels"
