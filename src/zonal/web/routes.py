"""What can be said over HTTP, as one table: the service, its OpenAPI description and the client follow from it.

This module must not know how anything is done.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from zonal._types import Json
from zonal.errors import BudgetSpent, Exhausted, StudyFileError, TrialError, UnknownTrial, ZonalError
from zonal.web.answer_schemas import answer_schema

Schema = Mapping[str, Json]  # of a value, as JSON Schema has it

MAX_TRIALS, MAX_REGIONS, MAX_AHEAD, MAX_BUDGET = 100, 1000, 100, 1_000_000
MAX_LISTED = 20_000  # smallest regions that are predicted in one answer
LONGEST, MAX_LETTERS = 2000, 900_000  # characters of a text, and of a sheet


class Unknown(ZonalError, LookupError):
    """There is no such study."""


# Of errors: the status, the type for programs, by which a client raises them again, and the title for people.
STATUSES: dict[type[ZonalError], tuple[int, str, str]] = {
    Unknown: (404, "no-such-study", "Not found"),
    UnknownTrial: (404, "no-such-trial", "No such trial"),
    TrialError: (409, "trial-ended", "The trial has ended"),
    BudgetSpent: (409, "budget-spent", "Budget spent"),
    Exhausted: (409, "nothing-left", "Nothing left to ask for"),
    StudyFileError: (409, "file", "The study's file cannot be used"),
    ZonalError: (422, "refused", "Refused"),
}


@dataclass(frozen=True)
class Route:
    """One operation. Its fields are in the body of a POST, or in the query of a GET."""

    method: str
    path: str  # of those on a study, below /api/v1/studies/{name}
    operation: str  # the method of `Study`, if there is one
    about: str
    fields: Mapping[str, Schema] = field(default_factory=dict)  # `by` and `key` need not be sent
    required: tuple[str, ...] = ()  # the required fields
    answer: str | None = None  # the name of the result beside the progress; "": no result; None: nothing else
    kind: str = "application/json"  # media type of the answer


def whole(low: int, high: int, **more: Json) -> Schema:
    """Return the schema of a whole number."""
    return {"type": "integer", "minimum": low, "maximum": high, **more}


def described_as(about: str, **schema: Json) -> Schema:
    """Return a schema with a description."""
    return {**schema, "description": about}


NUMBER: Schema = {"type": "number"}
TEXT: Schema = {"type": "string", "maxLength": LONGEST}
YES: Schema = {"type": "boolean"}
TRIAL = whole(0, 2**53)
REGION = described_as("As for space.region: bounds, axes to parts, text; {node: [depth, index]}; {row: ...}.")
REGIONS = described_as("Several regions.", type="array", maxItems=MAX_REGIONS, items=REGION)
NOW = {
    "within": described_as("What is possible now: the trial's region lies within one of these.", **REGIONS),
    "avoid": described_as("What is not possible now: the trial's region overlaps none of these.", **REGIONS),
}
RECIPE = described_as("As an object, or as the text of a recipe in TOML.")
TABLE = described_as(
    "The content of the table of points or areas that the recipe names, as CSV.",
    type="string",
    maxLength=MAX_LETTERS,
)
MINUS = {
    "minus": described_as("A region, as above: the value is a difference, from which this one was subtracted.")
}
BY = {"by": described_as("Who does it; by default the client's address.", **TEXT)}
KEY = {"key": described_as("As the header Idempotency-Key: repeating the request does nothing.", **TEXT)}
SIGNED = {"by": described_as("Who does it; kept in the history.", **TEXT), **KEY}
TIME = {"time": described_as("The time really spent, where times are chosen.", **NUMBER)}
MEASURED = {
    "value": NUMBER,
    "sem": NUMBER,
    "note": TEXT,
    "below": described_as("In the place of a value: the reading lies below this limit.", **NUMBER),
    "above": described_as("In the place of a value: the reading lies above this limit.", **NUMBER),
    "exposure": described_as("Of a count: over how much it was made; of a proportion: how many cases.", **NUMBER),
}
SLOPES = {
    "slopes": described_as('Slopes of the region measured with it, and their standard errors: {"x": [0.3, 0.1]}.')
}
FEEDBACK = {"feedback": described_as('The feedback of this measurement, as in settings, such as {"$": "Center"}.')}
OF_TRIAL = {"observation": described_as("The number is that of an observation.", **YES)}
LIMIT = {
    "threshold": NUMBER,
    "probability": NUMBER,
    "sigma": described_as(
        "Instead of a probability: least distance from the threshold, in standard deviations.", **NUMBER
    ),
    "every": described_as("Judge all smallest regions, not only the leaves of the tree.", **YES),
    "patches": described_as("Join regions that touch.", **YES),
    "within": described_as("For patches of points or areas: the largest distance of neighbours.", **NUMBER),
}
WHERE = {
    "on_grid": described_as("The best node of the tree, not a region at any position.", **YES),
    "size": described_as("The size of the region, if not the smallest: l=10,sin_b=0.1.", **TEXT),
    "among": described_as("The regions to choose from, as text, separated by semicolons.", **TEXT),
    "disc": described_as("The best disc around any member, of points or areas.", **YES),
}
AFTER = {"after": whole(-1, 2**53)}
ONE, CSV = "/trials/{trial}", "text/csv"
STREAM = "text/event-stream"

ROUTES = (
    Route("POST", "/ask", "ask", "Ask what to measure next; repeating an Idempotency-Key returns the same trials.",
          {"n": whole(1, MAX_TRIALS, default=1), **KEY, **BY, **NOW}),
    Route("POST", f"{ONE}/tell", "tell", "Tell what was measured; telling the same again does nothing.",
          {**MEASURED, **TIME, **SLOPES, **MINUS, **SIGNED}, (), ""),
    Route("POST", "/sheet", "", "Tell the values of a filled-in sheet, all or none.",
          {"csv": {"type": "string", "maxLength": MAX_LETTERS}, "correct": YES, "changed": YES,
           "decimal": TEXT, **BY, **KEY}, ("csv",)),
    Route("POST", f"{ONE}/correct", "correct", "Replace a value told by mistake.",
          {**MEASURED, **BY, **KEY, **OF_TRIAL}, (), ""),
    Route("POST", f"{ONE}/retract", "retract", "Remove a value that should never have been told.",
          {"note": TEXT, **BY, **KEY, **OF_TRIAL}, (), ""),
    Route("POST", f"{ONE}/set-aside", "set_aside", "Let a reading no longer count, as a gross error.",
          {"note": TEXT, **BY, **KEY, **OF_TRIAL}, (), ""),
    Route("POST", f"{ONE}/reinstate", "reinstate", "Let a reading that was set aside count again.",
          {"note": TEXT, **BY, **KEY, **OF_TRIAL}, (), ""),
    Route("POST", f"{ONE}/fail", "fail", "Fail a trial that could not be measured.",
          {"retry": YES, "note": TEXT, **SIGNED}, (), ""),
    Route("POST", f"{ONE}/cancel", "cancel", "Cancel a trial that was not tried.",
          {"note": TEXT, **SIGNED}, (), ""),
    Route("POST", f"{ONE}/claim", "claim", "Take a pending trial over from whoever was measuring it.",
          {"worker": described_as("Only if this worker still measures it; else null is returned.", **TEXT),
           **BY, **KEY}),
    Route("POST", "/forgive", "_forgive", "Take back the failures of single trials, at the end of a run.",
          {"trials": {"type": "array", "items": TRIAL, "maxItems": MAX_REGIONS}}, ("trials",), ""),
    Route("POST", "/observe", "observe", "Record a measurement made outside the study; it costs no budget.",
          {"region": REGION, **MEASURED, **FEEDBACK, **TIME, **MINUS, **SIGNED}, ("region",),
          "observation"),
    Route("POST", "/observations", "", "Record many measurements made outside the study, all or none.",
          {"measurements": {"type": "array", "maxItems": MAX_LISTED, "items": described_as(
              "As the body of observe, without by and key.", type="object", required=["region", "value"])},
           **SIGNED}, ("measurements",)),
    Route("POST", "/forbid", "forbid", "Forbid a region from now on; the answer has the trials pending there.",
          {"region": REGION, "note": TEXT, **BY, **KEY}, ("region",), "overlapping"),
    Route("POST", "/allow", "allow", "Take back all failures within a region, and what was forbidden there.",
          {"region": REGION, **SIGNED}, ("region",), "allowed"),
    Route("POST", "/extend", "extend", "Add measurements to the budget.", {"n": NUMBER, **SIGNED}, ("n",), ""),
    Route("POST", "/refit", "refit", "Learn the model from scratch, or starting from the last fit.",
          {"from_scratch": YES, **SIGNED}, (), "learned"),
    Route("POST", "/predict", "predict",
          "Predict the averages of any regions, or of all of the smallest size. Nothing changes.",
          {"regions": REGIONS, **FEEDBACK}),
    Route("POST", "/probability", "probability", "The probability that regions are above or below a threshold.",
          {"regions": REGIONS, "above": NUMBER, "below": NUMBER}, ("regions",)),
    Route("GET", "/recommend", "recommend", "The recommended regions, and how certain that is.",
          {"k": whole(1, MAX_TRIALS, default=1), "theta": NUMBER, **WHERE}),
    Route("GET", "/sizes", "sizes", "The best region of every size."),
    Route("GET", "/above", "above", "Regions whose average is probably above a threshold.", LIMIT),
    Route("GET", "/below", "below", "Regions whose average is probably below a threshold.", LIMIT),
    Route("GET", "/outlook", "outlook", "The improvement expected from more measurements.",
          {"n": whole(1, MAX_AHEAD, default=10)}),
    Route("GET", "/why", "why", "Why the recommended region is the answer, or why a trial was asked for.",
          {"trial": TRIAL}),
    Route("GET", "/suspects", "suspects", "Every reading beside what is expected of it, the farthest off first."),
    Route("GET", "/worth", "worth", "What measuring a region would bring, relative to the best.",
          {"region": described_as("The region, as text.", **TEXT)}, ("region",)),
    Route("GET", "/nodes", "tree", "The table of nodes."),
    Route("GET", "/pending", "pending", "The trials pending, and who measures each."),
    Route("GET", "/settings", "settings", "Everything that was given."),
    Route("GET", "/shape", "", "For the page: where the nodes are, from a row on.", {"from": TRIAL}),
    Route("GET", "/values", "", "For the page: what is known of each node."),
    Route("GET", "/picture", "", "For the page: curves, or maps of pairs of axes.",
          {"slice": described_as('Where other axes are held, as JSON: {"x": [0.2, 0.3]}.', **TEXT)}),
    Route("GET", "/history", "", "For the page: the best region after some of the trials."),
    Route("GET", "/ahead", "", "For the page: the improvement expected from ten more measurements, if known."),
    Route("GET", "/trials", "", "All trials, as columns.", {"from": TRIAL, "named": YES}),
    Route("GET", "/journal", "", "The study's events after a number, at most a thousand.", AFTER),
    Route("GET", "/export/trials.csv", "", "All trials, for a spreadsheet.", kind=CSV),
    Route("GET", "/export/trials.json", "", "All trials and observations, with earlier values."),
    Route("GET", "/export/questions.csv", "", "The trials pending, as a sheet to fill in.", kind=CSV),
    Route("GET", "/export/events.jsonl", "", "Settings and events, line by line, for `zonal import`.",
          kind="application/x-ndjson"),
    Route("GET", "/export/study.db", "", "The study's file.", kind="application/vnd.sqlite3"),
    Route("GET", "/export/moc.fits", "to_moc", "Where the best pixel of a sky lies, as a coverage map.",
          {"probability": NUMBER}, kind="application/fits"),
    Route("GET", "/export/skymap.fits", "to_skymap", "All pixels of a sky, as a multi-order map.",
          kind="application/fits"),
    Route("GET", "/export/map.nc", "", "All predictions of a grid, as NetCDF.", kind="application/x-netcdf"),
    Route("GET", "/export/report.html", "report", "One page for a colleague.", kind="text/html"),
)  # fmt: skip

STUDIES, STUDY = "/api/v1/studies", "/api/v1/studies/{name}"
FOLDER = (  # what needs more than one study, or lasts
    Route("GET", STUDIES, "", "All studies of the folder: progress, best region, last event."),
    Route("POST", STUDIES, "", "Start a study from a recipe.",
          {"name": TEXT, "recipe": RECIPE, "table": TABLE, "exist_ok": YES, **SIGNED}, ("name", "recipe")),
    Route("GET", "/api/v1/events", "", "A stream of what changes in the folder.", kind=STREAM),
    Route("GET", "/api/v1/openapi.json", "", "This description."),
    Route("GET", "/api/v1/archive", "", "The studies that were put aside."),
    Route("POST", f"{STUDY}/archive", "", "Put a study aside: it is not listed, and can be restored.", KEY),
    Route("POST", "/api/v1/archive/{name}/restore", "", "Bring a study back that was put aside.", KEY),
    Route("GET", STUDY, "", "The progress of a study, the trials pending, and the answer so far."),
    Route("GET", f"{STUDY}/events", "", "A stream of the study's events after a number.", AFTER, kind=STREAM),
)  # fmt: skip
PUBLIC = [route for route in ROUTES if not route.operation.startswith("_")]  # others are for the client alone
EVERY = (*FOLDER, *(replace(route, path=STUDY + route.path) for route in PUBLIC))

PROBLEM: Schema = {
    "type": "object",
    "required": ["title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What was wrong, with which value, and what to do about it."},
        "field": {"type": "string", "description": "The wrong field, if it is known."},
    },
}
NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 250, "pattern": "^[^/\\\\\\x00]+$"}


def openapi_description(version: str) -> Schema:
    """Return the OpenAPI document."""
    paths: dict[str, dict[str, Json]] = {}
    for route in EVERY:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    about = "Every error is application/problem+json. One token gives all rights; see docs/manual/serve.md."
    return {
        "openapi": "3.1.0",
        "info": {"title": "Zonal", "version": version, "description": about},
        "paths": paths,
        "components": {
            "schemas": {"Problem": PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(route: Route) -> Schema:
    in_path: Mapping[str, Schema] = {"name": NAME, "trial": TRIAL}
    places = [_parameter(name, schema, "path") for name, schema in in_path.items() if f"{{{name}}}" in route.path]
    words = re.sub("[{}]|/api/v1", "", route.path).strip("/")
    called = f"{route.method.lower()}_{re.sub('[-/.]', '_', words)}"
    operation: dict[str, Json] = {"summary": route.about, "operationId": called}
    if route.method == "POST":
        body: Schema = {
            "type": "object",
            "additionalProperties": False,
            "properties": _lenient(route.fields),
            "required": list(route.required),
        }
        content: Schema = {"application/json": {"schema": body}}
        operation["requestBody"] = {"required": bool(route.required), "content": content}
        if "key" in route.fields:
            key: Schema = {"type": "string", "maxLength": LONGEST, "pattern": "^[ -~]*$"}
            places.append(_parameter("Idempotency-Key", key, "header"))
    else:
        places += [
            _parameter(name, schema, "query", name in route.required) for name, schema in route.fields.items()
        ]
    below = route.path.removeprefix(STUDY).removeprefix("/api/v1")
    schema = answer_schema(route.method, below)
    media: Schema = {route.kind: {"schema": schema} if route.kind == "application/json" else {}}
    errors: Schema = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    refused: Schema = {"description": "Refused: what was wrong, and what to do.", "content": errors}
    status = "201" if (route.method, route.path) == ("POST", STUDIES) else "200"
    answers: dict[str, Json] = {status: {"description": "Done.", "content": media}}
    if status == "201":
        answers["200"] = {"description": "It was there already.", "content": media}
    if route.method == "GET":
        answers["304"] = {"description": "Unchanged."}
    return {**operation, "parameters": places, "responses": {**answers, "4XX": refused, "503": refused}}


def _lenient(fields: Mapping[str, Schema]) -> Schema:
    """Return schemas that allow null for optional fields."""
    return {
        name: {**schema, "type": [schema["type"], "null"]} if "type" in schema else dict(schema)
        for name, schema in fields.items()
    }


def _parameter(name: str, schema: Schema, where: str, needed: bool = False) -> Schema:
    return {"name": name, "in": where, "required": needed or where == "path", "schema": schema}
