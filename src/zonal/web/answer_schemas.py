"""What the answers of the service look like, as JSON schemas: objects may have further fields.

Answers are described here and made elsewhere; `tests/web/test_answers.py` compares the two for every operation.
"""

from __future__ import annotations

from collections.abc import Mapping

from zonal._types import Json

Schema = Mapping[str, Json]

NUMBER, TEXT, WHOLE, YES = {"type": "number"}, {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
MAYBE: Schema = {"type": ["number", "null"]}
OBJECT: Schema = {"type": "object"}


def record(required: Mapping[str, Json], **optional: Json) -> Schema:
    """Return the schema of an object that has these fields, and perhaps others."""
    return {"type": "object", "required": list(required), "properties": {**required, **optional}}


def several(of: Json) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": of}


def or_null(of: Json) -> Schema:
    """Return the schema of something that may be null."""
    return {"anyOf": [of, {"type": "null"}]}


def columns(of: Json, *names: str) -> dict[str, Json]:
    """Return the fields of columns of equal length."""
    return dict.fromkeys(names, several(of))


NUMBERS, WHOLES, TEXTS = several(MAYBE), several(WHOLE), several(TEXT)
PAIR: Schema = {**several(MAYBE), "minItems": 2, "maxItems": 2}
REGION = record({"name": TEXT}, node=or_null(PAIR), bounds={}, symbols={}, rows=WHOLES, weight=NUMBER)
PROGRESS: dict[str, Json] = {
    "event": WHOLE,
    "budget": NUMBER,
    "measured": WHOLE,
    "pending": WHOLE,
    "remaining": NUMBER,
    "spent": NUMBER,
}
TRIAL = record({"trial": WHOLE, "replicate": WHOLE, "region": REGION}, time=NUMBER, cost=NUMBER)
BEST = record(
    {"region": REGION, "mean": MAYBE, "std": MAYBE}, gap=MAYBE, probability_best=MAYBE, unit=TEXT, note=TEXT
)
PLACE = record({"name": TEXT, "share": MAYBE, "members": MAYBE}, row=WHOLE, text=TEXT)  # a region for the page
PLACED = record({"region": PLACE, "mean": MAYBE, "std": MAYBE})
VALUE = record({"name": TEXT, "unit": TEXT})
STATE = {"enum": ["new", "ready", "waiting", "spent", "read-only", "opening", "bad"]}
HEAD: dict[str, Json] = {
    "name": TEXT,
    "event": WHOLE,
    "created": TEXT,
    "changed": TEXT,
    "space": record({"kind": TEXT}),
    "value": VALUE,
    "direction": {"enum": ["maximize", "minimize"]},
    "state": STATE,
    "read_only": TEXT,
    **{name: NUMBER for name in ("budget", "remaining", "spent")},
    **{name: WHOLE for name in ("measured", "observed")},
}
WAITING = record({"trial": WHOLE, "replicate": WHOLE, "asked": TEXT, "by": TEXT, "region": PLACE})
LIKELY = record({"region": REGION, "mean": MAYBE, "std": MAYBE, "probability": NUMBER, "sigma": MAYBE})
PATCH = record({"regions": several({}), "peak": LIKELY, "mean": MAYBE, "size": NUMBER})
BEYOND = record(
    {"title": TEXT},
    regions=several(LIKELY),
    patches=several(PATCH),
    likeliest=or_null(LIKELY),
    threshold=MAYBE,
    misclassified=MAYBE,
)
READING = record({"number": WHOLE, "observed": YES, "region": REGION, "value": NUMBER, "weight": MAYBE})
WHY = record(
    {"sentences": TEXTS, "region": REGION, "unit": TEXT},
    trial=WHOLE,
    mean=MAYBE,
    std=MAYBE,
    readings=several(READING),
    reason=TEXT,
    changes=several(record({"low": MAYBE, "high": MAYBE, "region": REGION, "probability": NUMBER})),
)
WORTH = record({"sentences": TEXTS, "region": REGION, "gain": MAYBE, "relative": MAYBE, "unit": TEXT})
OUTLOOK = record({"n": WHOLE, "gain": MAYBE, "low": MAYBE, "high": MAYBE})
PREDICTED: Schema = {"anyOf": [NUMBERS, MAYBE]}  # of one region, or of several
RECORD = record(
    {
        "region": REGION,
        "state": TEXT,
        "value": MAYBE,
        "sem": MAYBE,
        "note": TEXT,
        "by": TEXT,
        "when": TEXT,
        "earlier": several(OBJECT),
    },
    trial=WHOLE,
    observation=WHOLE,
)
TRIALS = {
    "event": WHOLE,
    **columns(WHOLE, "number", "row", "replicate"),
    **columns(MAYBE, "value", "sem"),
    **columns(TEXT, "state", "by", "told_by", "asked", "ended"),
    "note": OBJECT,
    "window": OBJECT,
    "observed": several(OBJECT),
}
TREE = {
    **columns(WHOLE, "depth", "index", "parent", "first_child", "count"),
    **columns(MAYBE, "mean", "std", "noise"),
    **columns(YES, "expanded", "askable", "smallest", "forbidden"),
}
CURVE = record({"name": TEXT, "x": NUMBERS, "mean": NUMBERS, "std": NUMBERS})
PANEL = record({"axes": WHOLES, "symbols": OBJECT, "others": OBJECT, "mean": NUMBERS, "std": NUMBERS})
ROW = record({"row": WHOLE, "trial": WHOLE, "how": TEXT})
SHEET = record(
    {
        **{name: WHOLE for name in ("new", "corrected", "known", "empty", "notes")},
        "notes_left": several(ROW),
        "outdated": several(ROW),
        **PROGRESS,
    }
)
NAMED = record({"name": TEXT})
LISTED = record({"name": TEXT, "state": STATE}, error=TEXT, best=or_null(PLACED))
MEMBERS = record({"names": TEXTS, "features": several(NUMBERS), "leaf": WHOLES})

# By method and path below a study, or by the whole path.
ANSWERS: dict[tuple[str, str], Schema] = {
    ("POST", "/ask"): several(TRIAL),
    ("POST", "/sheet"): SHEET,
    ("POST", "/trials/{trial}/claim"): or_null(TRIAL),
    ("POST", "/observe"): record({**PROGRESS, "observation": WHOLE}),
    ("POST", "/observations"): record({**PROGRESS, "observations": WHOLES}),
    ("POST", "/forbid"): record({**PROGRESS, "overlapping": several(TRIAL)}),
    ("POST", "/allow"): record({**PROGRESS, "allowed": WHOLE}),
    ("POST", "/refit"): record({**PROGRESS, "learned": YES}),
    ("POST", "/predict"): record({"mean": PREDICTED, "std": PREDICTED}, regions=several(REGION)),
    ("POST", "/probability"): record({"probability": PREDICTED}),
    ("GET", "/recommend"): several(BEST),
    ("GET", "/sizes"): record({"region": TEXTS, **columns(MAYBE, "mean", "std", "lost")}),
    ("GET", "/offsets"): record(
        {"label": TEXTS, "value": TEXTS, **columns(MAYBE, "offset", "std"), "readings": WHOLES, "in words": TEXTS}
    ),
    ("GET", "/suspects"): record({"columns": OBJECT}),
    ("GET", "/above"): BEYOND,
    ("GET", "/below"): BEYOND,
    ("GET", "/outlook"): OUTLOOK,
    ("GET", "/ahead"): OUTLOOK,
    ("GET", "/why"): WHY,
    ("GET", "/worth"): WORTH,
    ("GET", "/nodes"): record(TREE),
    ("GET", "/pending"): record({**PROGRESS, "trials": several(TRIAL)}),
    ("GET", "/shape"): record({"from": WHOLE, "parent": WHOLES, "share": NUMBERS}, name=TEXTS, members=WHOLES),
    ("GET", "/values"): record(
        {
            "event": WHOLE,
            "count": WHOLES,
            "flags": WHOLES,
            **dict.fromkeys(("mean", "std", "prior"), or_null(NUMBERS)),
        }
    ),
    ("GET", "/picture"): record({}, curves=several(CURVE), panels=several(PANEL), points=MEMBERS),
    ("GET", "/trials"): record(TRIALS),
    ("GET", "/history"): record({**columns(MAYBE, "number", "mean", "std"), "every": YES}),
    ("GET", "/settings"): record({"id": TEXT, "read_only": TEXT, "settings": OBJECT}),
    ("GET", "/journal"): several(record({"number": WHOLE, "time": TEXT, "events": several({})})),
    ("GET", "/export/trials.json"): record(
        {
            "budget": NUMBER,
            "direction": TEXT,
            "value": VALUE,
            "trials": several(RECORD),
            "observations": several(RECORD),
        }
    ),
    ("GET", "/studies"): record({"folder": TEXT, "studies": several(LISTED)}),
    ("POST", "/studies"): record({"name": TEXT, "address": TEXT, **PROGRESS}),
    ("GET", ""): record(
        {**HEAD, "pending": several(WAITING), "best": several(PLACED)},
        busy=YES,
        stands_out=YES,
        model=or_null(OBJECT),
    ),
    ("POST", "/archive"): NAMED,
    ("GET", "/archive"): record({"studies": TEXTS}),
    ("POST", "/archive/{name}/restore"): NAMED,
    ("GET", "/openapi.json"): record({"openapi": TEXT, "info": OBJECT, "paths": OBJECT, "components": OBJECT}),
}


def answer_schema(method: str, path: str) -> Schema:
    """Return the schema of an answer, by default that of a study's progress."""
    return ANSWERS.get((method, path), record(PROGRESS))
