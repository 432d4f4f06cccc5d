"""What the answers of the service look like, as JSON schemas; what is not listed here may be any JSON."""

from __future__ import annotations

from collections.abc import Mapping

from zonal._types import Json

Schema = Mapping[str, Json]

NUMBER, TEXT, WHOLE = {"type": "number"}, {"type": "string"}, {"type": "integer"}
MAYBE: Schema = {"type": ["number", "null"]}


def record(required: Mapping[str, Json], **optional: Json) -> Schema:
    """Return the schema of an object that has these fields, and perhaps others."""
    return {"type": "object", "required": list(required), "properties": {**required, **optional}}


def several(of: Json) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": of}


REGION = record({"name": TEXT}, node={"type": ["array", "null"]}, bounds={"type": "object"})
PROGRESS: dict[str, Json] = {
    "event": WHOLE,
    "budget": NUMBER,
    "measured": WHOLE,
    "pending": WHOLE,
    "remaining": NUMBER,
    "spent": NUMBER,
}
TRIAL = record({"trial": WHOLE, "replicate": WHOLE, "region": REGION}, time=NUMBER, cost=NUMBER)
BEST = record({"region": REGION, "mean": MAYBE, "std": MAYBE}, gap=MAYBE, probability_best=MAYBE)
COLUMNS = {name: several({}) for name in ("number", "row", "replicate", "state", "value", "sem", "by", "told_by")}
STUDY = record({"name": TEXT, "state": TEXT})

# By method and path below a study, or by the whole path.
ANSWERS: dict[tuple[str, str], Schema] = {
    ("POST", "/ask"): several(TRIAL),
    ("GET", "/recommend"): several(BEST),
    ("GET", "/pending"): record({**PROGRESS, "trials": several(TRIAL)}),
    ("GET", "/trials"): record({"event": WHOLE, **COLUMNS}),
    ("GET", "/history"): record({name: several(MAYBE) for name in ("number", "mean", "std")}),
    ("GET", "/settings"): record({"id": TEXT, "read_only": TEXT, "settings": {"type": "object"}}),
    ("GET", "/journal"): several(record({"number": WHOLE, "time": TEXT, "events": {"type": "array"}})),
    ("GET", "/studies"): record({"folder": TEXT, "studies": several(STUDY)}),
    ("POST", "/studies"): record({"name": TEXT, "address": TEXT, **PROGRESS}),
    ("GET", "/archive"): record({"studies": several(TEXT)}),
}


def answer_schema(method: str, path: str, result: str | None) -> Schema:
    """Return the schema of an answer; `result` is the name of what is beside the progress, "" if nothing is."""
    schema = ANSWERS.get((method, path))
    if schema is not None:
        return schema
    if method == "POST" and result is not None:
        return record(PROGRESS, **({result: {}} if result else {}))
    return {}
