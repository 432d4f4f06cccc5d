"""A study as text: trials as JSON for programs, or everything, to be read again by `imported`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from zonal.engine.results import Observation, TrialRecord
from zonal.engine.trial_history import Outcome
from zonal.errors import InvalidInput, ZonalError, need, refuse
from zonal.storage.codec import DecodedSettings, settings_from_json, settings_to_json
from zonal.storage.encoding import own_classes
from zonal.study.history import history
from zonal.study.sheet_rows import slope_of
from zonal.study.study import Study
from zonal.study.summary import jsonable, to_json

FORMATS = (1, 2, 3, 4)  # that can be read; 1 had no last line, 1 and 2 no differences, 3 nothing forbidden later
FORMAT = FORMATS[-1]
HEAD, END = "zonal events", "zonal end"


def document(study: Study) -> str:
    """Return trials and observations as JSON, for programs."""
    times = study.timestamps

    def said(own: Outcome) -> dict[str, Any]:
        when = {"when": times[own.event]} if times else {}
        return {"state": own.state, "value": own.value, "sem": own.sem, "note": own.note, "by": own.by, **when}

    def seen(one: TrialRecord | Observation) -> dict[str, Any]:
        found = {"slope": slope_of(one) or None, "minus": one.minus}
        return {name: own for name, own in found.items() if own is not None}

    trials, outside = [], []
    for one, (*before, now) in history(study):
        earlier = [said(own) for own in before if own.state != "pending"]
        if isinstance(one, TrialRecord):
            trials.append({**jsonable(one), **said(now), **seen(one), "earlier": earlier})
        else:
            where = {"observation": one.number, "region": one.region}
            outside.append({**where, **said(now), **seen(one), "earlier": earlier})
    value = {"name": study.value_name, "unit": study.value_unit}
    head: dict[str, Any] = {"budget": study.budget, "direction": study.direction, "value": value}
    return to_json({**head, "trials": trials, "observations": outside}, indent=1) + "\n"


def exported(study: Study) -> str:
    """Return settings and events, one per line."""
    settings = study.settings
    stored = json.loads(settings_to_json(settings))
    own = [*_own_names(stored), *own_classes(list(study.events))]
    problem = "this study was made with something of the user's own, which no export can hold"
    refuse(own, problem, "Copy the study's file, and open it in Python.")
    head = {"kind": HEAD, "format": FORMAT, "settings": stored}
    as_text = DecodedSettings(settings).write
    lines = "\n".join([json.dumps(head), *map(as_text, study.events)]) + "\n"
    return lines + _end(lines.encode())


def _own_names(stored: Any) -> Iterator[str]:
    """Yield the names of the user's own settings in a document, those within others too."""
    if isinstance(stored, dict) and stored.get("$") == "own":
        yield stored["name"]
    elif isinstance(stored, dict | list):
        for part in stored.values() if isinstance(stored, dict) else stored:
            yield from _own_names(part)


def _end(lines: bytes) -> str:
    """Return the last line of an export: the number of events, and a digest of all lines above."""
    events = lines.count(b"\n") - 1
    return json.dumps({"kind": END, "events": events, "sha256": hashlib.sha256(lines).hexdigest()}) + "\n"


def imported(content: bytes, edited: bool = False) -> Study:
    """Return the study of an export; raise if the export was changed.

    If `edited`, it may have been, as long as its events are possible; the history will say so.
    """
    lines = [line for line in content.split(b"\n") if line.strip()] or [b""]
    why, last = _why_not(content), _plain(lines[-1])
    if why and not edited:
        fix = "Export it again; if it was changed on purpose, or comes from an older Zonal, pass --edited."
        raise InvalidInput(f"this is not what was exported: {why}", _shown(lines[0]), fix)
    if last.get("kind") == END:
        lines = lines[:-1] or [b""]
    at = 0

    def texts() -> Iterator[str]:
        nonlocal at
        for at in range(len(lines)):
            text = lines[at].decode("utf-8-sig")
            json.dumps(json.loads(text), ensure_ascii=False).encode()  # raises if no file can hold the text
            yield text

    said = texts()
    try:
        settings = _settings(json.loads(next(said)))
        told = map(settings.read, said)
        return Study.replay(settings.settings, told, at_once=not why, edited=why)
    except Exception as error:  # a changed line can cause any error
        what = str(error) if isinstance(error, ZonalError | ValueError) else type(error).__name__
        problem = f"line {at + 1} is not what was exported ({what})"
        raise InvalidInput(problem, _shown(lines[at]), "Export it again, with --format events.") from error


def _why_not(content: bytes) -> str:
    """Return why an export is not as Zonal wrote it; "" if it is."""
    above, newline, last = content.removesuffix(b"\n").rpartition(b"\n")
    above += newline
    if content == above + _end(above).encode():
        return ""
    end = _plain(last)
    if end.get("kind") != END:
        return "its last line, with a count and a digest of the lines above, is missing"
    number, left = end.get("events"), above.count(b"\n") - 1
    if isinstance(number, int) and number != left:
        return f"there are {left} events, not {number}"
    return "it was changed after it was written"


def _plain(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line; {} if it is not one."""
    try:
        found = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _shown(line: bytes) -> str:
    return line[:60].decode(errors="replace")


def _settings(head: Any) -> DecodedSettings:
    known = isinstance(head, dict) and head.get("kind") == HEAD
    need(known, "this is not an export of events", "another file", "Use zonal export --format events.")
    fix = f"This one reads {' and '.join(map(str, FORMATS))}."
    need(head["format"] in FORMATS, "the export comes from another version of Zonal", head["format"], fix)
    opened = settings_from_json(json.dumps(head["settings"]), {})
    problem = "an export cannot hold a setting of the user's own"
    need(not opened.missing, problem, opened.missing, "Leave it out.")
    return opened
