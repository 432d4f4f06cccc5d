"""What leaves a study: sheets of trials, JSON for programs, or everything, to be read again by `imported`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from typing import Any

from zonal.engine.results import Observation, Trial, TrialRecord
from zonal.engine.trial_history import Outcome
from zonal.errors import InvalidInput, ZonalError, reject, require
from zonal.io.spreadsheet import PlainCell, Row
from zonal.spaces import Region
from zonal.storage.encoding import JsonObject, user_classes
from zonal.storage.schema import (
    FORMAT,
    DecodedSettings,
    format_fix,
    given_names,
    settings_from_json,
    settings_to_json,
)
from zonal.study.history import history
from zonal.study.region_formats import exact_cells, exact_columns
from zonal.study.sheet_rows import SEEN
from zonal.study.sheets import label_columns, place_of
from zonal.study.study import Study
from zonal.study.summary import jsonable, to_json

HEAD, END = "zonal events", "zonal end"
MAPS = ("moc", "skymap", "netcdf")  # formats of maps for other programs
FIX = "Export it again, with --format events."


def document(study: Study) -> str:
    """Return trials and observations as JSON, for programs."""
    timestamps = study.timestamps

    def outcome_parts(outcome: Outcome) -> JsonObject:
        parts = {name: getattr(outcome, name) for name in ("state", "value", "sem", "note", "by")}
        parts |= {name: part for name in ("limit", "exposure") if (part := getattr(outcome, name))}
        return {**parts, **({"when": timestamps[outcome.event]} if timestamps else {})}

    def functional_parts(record: TrialRecord | Observation) -> dict[str, str | Region | dict[str, str]]:
        parts: dict[str, Any] = {"slope": slope_of(record) or None, "minus": record.minus}
        parts |= {"labels": dict(record.labels)} if record.labels else {}
        return {name: part for name, part in parts.items() if part is not None}

    trials, observations = [], []
    for record, (*before, now) in history(study):
        earlier = [outcome_parts(outcome) for outcome in before if outcome.state != "pending"]
        parts = {**outcome_parts(now), **functional_parts(record), "earlier": earlier}
        if isinstance(record, TrialRecord):
            trials.append({**jsonable(record), **parts})
        else:
            observations.append({"observation": record.number, "region": record.region, **parts})
    value = {"name": study.settings.value_name, "unit": study.settings.value_unit}
    head = {"budget": study.budget, "direction": study.settings.direction, "value": value}
    return to_json({**head, "trials": trials, "observations": observations}, indent=1) + "\n"


def questions(study: Study, trials: Sequence[Trial]) -> list[Row]:
    """Return a sheet of trials to measure, with empty columns for the values."""
    spends, labels = study.settings.spends, label_columns(study)
    counts = ["exposure"] if study.settings.likelihood is not None else []
    header = ["trial", "region", "replicate", *exact_columns(study.space), *spends, *labels.values()]
    empty = [None] * (3 + len(counts))
    rows = ([*_place(trial, spends), *_labels(trial, labels), *empty] for trial in trials)
    return [[*header, "value", *counts, "sem", "note"], *rows]


def _labels(record: Trial | Observation, names: Iterable[str]) -> list[PlainCell]:
    """Return the cells of a trial or an observation with its labels."""
    labels = dict(record.labels)
    return [labels.get(name) for name in names]


def _place(record: Trial | Observation, spends: Sequence[str]) -> list[PlainCell]:
    """Return the cells of a trial or an observation that say what was measured, and for how much."""
    number, replicate = (None, None) if isinstance(record, Observation) else (record.number, record.replicate)
    paid = (getattr(record, name, None) for name in spends)
    return [number, record.region.name, replicate, *exact_cells(record.region), *paid]


def outcomes(study: Study) -> list[Row]:
    """Return all trials and observations as a sheet.

    The numbers of observations, and values that were corrected or retracted, have their own columns, if there are
    any: as rows they might be told again.
    """
    spends = study.settings.spends
    exact, labels = exact_columns(study.space), label_columns(study)
    header = ["trial", "region", "replicate", *exact, *spends, *labels.values(), "state", "value", "sem", "note"]
    rows = [
        [*_place(record, spends), *_labels(record, labels), *_became(record, past)]
        for record, past in history(study)
    ]
    columns = list(zip([*header, *SEEN, "exposure", "observation", "earlier"], *rows, strict=True))
    kept = [column for column in columns if column[0] in header or any(cell is not None for cell in column[1:])]
    return list(zip(*kept, strict=True))


def _became(record: TrialRecord | Observation, past: Sequence[Outcome]) -> list[PlainCell]:
    """Return the cells of a trial or an observation that say what became of it."""
    *before, now = past
    told = [shown_value(outcome) for outcome in before if outcome.value is not None]
    earlier = told[0] if len(told) == 1 else "; ".join(map(str, told)) or None
    seen = slope_of(record) or None, None if record.minus is None else written(record.minus)
    number = record.number if isinstance(record, Observation) else None
    return [now.state, shown_value(now), now.sem, now.note, *seen, now.exposure, number, earlier]


def shown_value(outcome: Outcome) -> float | str | None:
    """Return a value, or a limit as text: "<0.5"."""
    sign = {"": "", "below": "<", "above": ">"}[outcome.limit]
    return f"{sign}{outcome.value!r}" if sign else outcome.value


def slope_of(record: TrialRecord | Observation) -> str:
    """Return the axis along which a slope was measured; "" if none was."""
    return record.region.feedback.slope if isinstance(record, Observation) and record.region.feedback else ""


def written(region: Region) -> str:
    """Return a region as text that defines it exactly: its name, if that does."""
    try:
        exact = region.space.region(place_of(region.space, region.name)).key == region.key
    except ZonalError:
        exact = False
    return region.name if exact else json.dumps(region.as_dict())


def exported(study: Study) -> str:
    """Return settings and events, one per line."""
    settings = json.loads(settings_to_json(study.settings))
    user_defined = [*given_names(settings), *user_classes(list(study.events))]
    problem = "this study was made with something of the user's own, which no export can hold"
    reject(user_defined, problem, "Copy the study's file, and open it in Python.")
    head = {"kind": HEAD, "format": FORMAT, "settings": settings}
    as_text = DecodedSettings(study.settings).write
    lines = "\n".join([json.dumps(head), *map(as_text, study.events)]) + "\n"
    return lines + _end(lines.encode())


def _end(lines: bytes) -> str:
    """Return the last line of an export: the number of events, and a digest of all lines above."""
    events = lines.count(b"\n") - 1
    return json.dumps({"kind": END, "events": events, "sha256": hashlib.sha256(lines).hexdigest()}) + "\n"


def imported(content: bytes) -> Study:
    """Return the study of an export; raise if it has another format, or was changed after it was written."""
    lines, at = content.split(b"\n"), 0
    _check_head(lines[0])
    damage = _damage(content)
    require(not damage, f"this is not what was exported: {damage}", _start_of(lines[0]), FIX)

    def texts() -> Iterator[str]:
        nonlocal at
        for at in range(1, len(lines) - 2):  # the last line is the end, and nothing follows it
            yield lines[at].decode()

    try:
        decoded = settings_from_json(json.dumps(json.loads(lines[0])["settings"]), {})
        require(not decoded.missing, "an export cannot hold a setting of the user's own", decoded.missing, FIX)
        return Study.replay(decoded.settings, map(decoded.read, texts()), batch=True)
    except Exception as error:  # somebody may have changed a line, and the digest too
        reason = str(error) if isinstance(error, ZonalError | ValueError) else type(error).__name__
        problem = f"line {at + 1} is not what was exported ({reason})"
        raise InvalidInput(problem, _start_of(lines[at]), FIX) from error


def _check_head(line: bytes) -> None:
    """Raise unless this is the first line of an export of the format that is read."""
    head = _json_object(line)
    fix = "Use zonal export --format events."
    require(head.get("kind") == HEAD, "this is not an export of events", _start_of(line), fix)
    number = head.get("format")
    require(number == FORMAT, f"this Zonal reads exports of format {FORMAT} only", number, format_fix(number))


def _damage(content: bytes) -> str:
    """Return why an export is not as Zonal wrote it; "" if it is."""
    above, newline, last = content.removesuffix(b"\n").rpartition(b"\n")
    above += newline
    if content == above + _end(above).encode():
        return ""
    end = _json_object(last)
    if end.get("kind") != END:
        return "its last line, with a count and a digest of the lines above, is missing"
    count, left = end.get("events"), above.count(b"\n") - 1
    if isinstance(count, int) and count != left:
        return f"there are {left} events, not {count}"
    return "it was changed after it was written"


def _json_object(line: bytes) -> JsonObject:
    """Return the JSON object of a line; {} if it is not one."""
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _start_of(line: bytes) -> str:
    return line[:60].decode(errors="replace")


def map_file(study: Study, kind: str, probability: float = 0.9) -> bytes:
    """Return the content of a file with a map, of one of the formats in `MAPS`."""
    if kind == "netcdf":
        return bytes(study.predict().to_xarray().to_netcdf(engine="scipy"))
    content = BytesIO()
    if kind == "moc":
        study.to_moc(probability).serialize("fits").writeto(content)
    else:
        study.to_skymap().write(content, format="fits")
    return content.getvalue()
