"""What the service does with what it is told about a study: checks, and the answer of each operation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from sys import float_info
from typing import Any

from zonal.engine.results import Trial
from zonal.errors import InvalidInput, StudyFileError, require, whole_number
from zonal.io.recipe_text import Recipe, check_values
from zonal.io.spreadsheet import csv_text
from zonal.io.tables import parse_table
from zonal.kernels.feedback import Feedback
from zonal.spaces import Region
from zonal.storage.encoding import DECODE_ERRORS, Decoder
from zonal.storage.schema import settings_to_json
from zonal.study import sheets
from zonal.study.export import document, exported
from zonal.study.history import pending_asked
from zonal.study.operations import recorded
from zonal.study.recipe import arguments
from zonal.study.sheet_rows import outcomes, questions
from zonal.study.study import Study
from zonal.study.summary import jsonable
from zonal.study.windows import size_from_text
from zonal.web import page_data
from zonal.web.overview import StudyOverview
from zonal.web.report import report
from zonal.web.routes import MAX_BUDGET, MAX_LISTED, MAX_REGIONS, Route


def _of_node(space: Any, node: Any) -> Region:
    pair = isinstance(node, list) and [type(number) for number in node] == [int, int]
    require(pair, "a node must be [depth, index]", node, "Write [3, 5].")
    depth, index = node
    exists = 0 <= depth <= (space.max_depth() or depth) and depth < 64 and 0 <= index < space.slots(depth)
    require(exists, "there is no such node", node, "Pass one of the study's.")
    region: Region = space.cell((depth, index))
    return region


def _region(study: Study, described: Any) -> Region:
    """Return the region that a client described."""
    if isinstance(described, Mapping) and described.keys() == {"row"}:
        row = whole_number(described["row"], "a row of the table of nodes", 0, len(study.tree) - 1)
        return study._state.region(row)
    if isinstance(described, Mapping) and described.keys() == {"node"}:
        return _of_node(study.space, described["node"])
    place = study.space.from_text(described) if isinstance(described, str) else described
    missing = isinstance(place, str | list) and not place
    require(not missing, "a region is missing", place, "Send a region.")
    region: Region = study.space.region(place)
    return region


def _regions(study: Study, described: list[Any]) -> list[Region]:
    """Return the regions that a client described, of the study as it is now."""
    study.refresh()
    return [_region(study, region) for region in described]


def _feedback(study: Study, described: Any) -> Feedback | None:
    """Return the feedback that a client described, one of Zonal's own."""
    try:
        feedback: Feedback | None = Decoder()(described)
    except (StudyFileError, InvalidInput, *DECODE_ERRORS):
        raise InvalidInput(
            "this is not a feedback", described, 'Send one as in settings: {"$": "Mean"}.'
        ) from None
    return feedback


def _amount(study: Study, n: float) -> float:
    need_field(n <= MAX_BUDGET, "n", "this is too large", n, f"Send {MAX_BUDGET} at most.")
    return n if study.settings.priced or n % 1 else int(n)


def _among(study: Study, text: str) -> list[Region]:
    return _regions(study, [part.strip() for part in text.split(";")])


READ: dict[str, Callable[[Study, Any], Any]] = {
    "size": lambda study, text: size_from_text(text),
    "among": _among,
    "region": _region,
    "minus": _region,
    "within": _regions,
    "avoid": _regions,
    "feedback": _feedback,
    "trials": lambda study, numbers: [trial for trial in study.trials if trial.number in numbers],
    "n": _amount,
}


def call_study(route: Route, study: Study, **fields: Any) -> Any:
    """Do what the method of a study that is named by a route does, and return its answer."""
    for name in READ.keys() & fields.keys():
        fields[name] = READ[name](study, fields[name])
    if fields.pop("observation", False):
        fields["trial"] = recorded(study, fields["trial"], observation=True)
    answer = getattr(study, route.operation)(**fields)
    if route.answer is None:
        return answer
    return {**({route.answer: answer} if route.answer else {}), **budget_fields(study)}


def _sheet(
    study: Study, csv: str, by: str, correct: bool = False, changed: bool = False, decimal: str | None = None
) -> Any:
    marks = decimal in (None, ".", ",")
    need_field(marks, "decimal", "a decimal mark is a point or a comma", decimal, "Send one of the two.")
    rows = sheets.told(study, parse_table(csv, "the sheet", decimal), correct, changed, by)
    taken = {"new": len(rows.new), "corrected": len(rows.corrected), "known": len(rows.repeated)}
    old = [{"trial": number, "row": row, "how": how} for number, (row, how) in rows.outdated.items()]
    left = [{"trial": number, **note._asdict()} for number, note in rows.notes_left.items()]
    noted = {"notes": len(rows.notes), "notes_left": left}
    return {**taken, "empty": rows.empty, **noted, "outdated": old, **budget_fields(study)}


def _claim(study: Study, trial: int, by: str, worker: str | None = None) -> Trial | None:
    return study.claim(trial, by=by) if worker is None else study._claim(trial, by, worker)


def budget_fields(study: Study) -> dict[str, Any]:
    """Return the progress of a study."""
    return {
        "event": len(study._state.events),
        "budget": study.budget,
        "measured": study.measured,
        "pending": len(study.pending),
        "remaining": study.remaining,
        "spent": study.spent,
    }


def _beyond(side: str, study: Study, **fields: Any) -> Any:
    thresholds = (
        {} if "threshold" in fields else {"threshold": study.threshold, "misclassified": study.misclassified}
    )
    joined, within = fields.pop("patches", False), fields.pop("within", None)
    need_field(joined or within is None, "within", "this is for patches", within, "Send patches as well.")
    likely = getattr(study, side)(**fields)
    return {**jsonable(likely.patches(within) if joined else likely), **thresholds}


def _predict(study: Study, regions: list[Any] | None = None, feedback: Any = None) -> Any:
    by = None if feedback is None else _feedback(study, feedback)
    if regions is not None:
        return study.predict(_regions(study, regions), feedback=by)._asdict()
    study.refresh()
    every = study.predict(feedback=by)
    many = len(every.regions)
    need_field(many <= MAX_LISTED, "regions", "there are too many smallest regions", many, "Send those wanted.")
    return {"regions": every.regions, **every._asdict()}


def _pending(study: Study) -> Any:
    by = {asked.number: asked.by for asked in pending_asked(study)}
    return {
        **budget_fields(study),
        "trials": [{**jsonable(trial), "by": by[trial.number]} for trial in study.pending],
    }


def _settings(study: Study) -> Any:
    return {"id": study.id, "read_only": study.read_only, "settings": json.loads(settings_to_json(study.settings))}


def _journal(overview: StudyOverview, after: int = -1) -> Any:
    rows = overview.journal.rows(after + 1)[:MAX_REGIONS]
    return [{"number": row.number, "time": row.time, "events": json.loads(row.event)} for row in rows]


# What is not simply a method of a study, by path: functions of a study and the fields sent.
HANDLERS: dict[str, Callable[..., Any]] = {
    "/sheet": _sheet,
    "/trials/{trial}/claim": _claim,
    "/refit": lambda study, from_scratch=True: {"learned": study._refit(from_scratch), **budget_fields(study)},
    "/predict": _predict,
    "/probability": lambda study, regions, **limits: {
        "probability": study.probability(_regions(study, regions), **limits)
    },
    "/above": partial(_beyond, "above"),
    "/below": partial(_beyond, "below"),
    "/sizes": lambda study: study.sizes().columns,
    "/nodes": lambda study: study.tree,
    "/pending": _pending,
    "/settings": _settings,
    "/shape": lambda study, **fields: page_data.shape(study, fields.get("from", 0)),
    "/values": page_data.values,
    "/picture": page_data.picture,
    "/history": page_data.history,
    "/ahead": lambda study: page_data.outlook(study, 10),
    "/export/trials.csv": lambda study: csv_text(outcomes(study)),
    "/export/trials.json": document,
    "/export/questions.csv": lambda study: csv_text(questions(study, study.pending)),
    "/export/events.jsonl": exported,
    "/export/report.html": report,
}
# What is answered at once, from the file alone.
OVERVIEW_HANDLERS: dict[str, Callable[..., Any]] = {
    "/trials": lambda overview, **fields: overview.trials(fields.get("from", 0), fields.get("named", False)),
    "/journal": _journal,
    "/export/study.db": lambda overview: overview.journal.copy(),
}


def given(fields: Any, schemas: Mapping[str, Any], needs: tuple[str, ...]) -> dict[str, Any]:
    """Check the fields a client sent against their schemas, and return them."""
    need_field(isinstance(fields, Mapping), "", "the body must be an object", fields, "Send a JSON object.")
    fix = f"There are {', '.join(schemas) or 'nothing'}."
    for name in fields:
        need_field(name in schemas, str(name), "there is no such field", name, fix)
    checked = {name: value["default"] for name, value in schemas.items() if "default" in value}
    checked |= {name: _checked(name, value, schemas[name]) for name, value in fields.items() if value is not None}
    for name in needs:
        need_field(name in checked, name, f"{name} is missing", None, f"Send {name}.")
    return checked


class Misspoken(InvalidInput):
    """A wrong field; its name is part of the answer."""

    def __init__(self, name: str, problem: str, value: object, fix: str) -> None:
        super().__init__(problem, value, fix)
        self.field = name


def need_field(holds: object, name: str, problem: str, value: object, fix: str) -> None:
    """Raise, with the name of the field, unless something holds."""
    if not holds:
        raise Misspoken(name, problem, value, fix)


# Of each type of field: whether a value fits its schema, what it must be, and how to send it.
FITS: dict[str, tuple[Callable[[Any, Any], bool], str, str]] = {
    "number": (lambda value, schema: type(value) in (int, float) and abs(value) <= float_info.max,
               "a number", "Send a finite number, such as 0.73."),
    "integer": (lambda value, schema: type(value) is int and schema["minimum"] <= value <= schema["maximum"],
                "a whole number", "Send one from {minimum} to {maximum}."),
    "boolean": (lambda value, schema: type(value) is bool, "true or false", "Send one of the two."),
    "string": (lambda value, schema: type(value) is str and len(value) <= schema["maxLength"],
               "text", "Send a string of {maxLength} characters at most."),
    "array": (lambda value, schema: type(value) is list and len(value) <= schema["maxItems"],
              "a list of {maxItems} at most", "Send them as a list: [...]."),
}  # fmt: skip


def _checked(name: str, value: Any, schema: Mapping[str, Any]) -> Any:
    kind = schema.get("type", "")
    fits, what, fix = FITS.get(kind, (lambda value, schema: True, "", ""))
    problem = f"{name} must be {what.format(**schema)}"
    need_field(fits(value, schema), name, problem, value, fix.format(**schema))
    if kind == "array":
        return [_checked(name, entry, schema["items"]) for entry in value]
    return float(value) if kind == "number" else value


FILES = ("points", "hierarchy")  # sections of a recipe whose table is a file


def new_study(recipe: Any) -> dict[str, Any]:
    """Return the arguments of `Study` that a recipe gives; over HTTP it must not name a file."""
    fix = "Send what `zonal new --template` has."
    need_field(isinstance(recipe, Mapping), "recipe", "a recipe must be an object", recipe, fix)
    for section in FILES:
        named = isinstance(recipe.get(section), Mapping) and "table" in recipe[section]
        problem = f"[{section}] table names a file, which no client may"
        need_field(not named, "recipe", problem, "a path", "Make this study on the server, with `zonal new`.")
    words = Recipe(recipe, source="the recipe")
    check_values(words)
    budget = recipe.get("budget")
    huge = isinstance(budget, int) and budget > MAX_BUDGET
    need_field(not huge, "recipe", "the budget is too large", budget, f"Send {MAX_BUDGET} at most.")
    return arguments(words)
