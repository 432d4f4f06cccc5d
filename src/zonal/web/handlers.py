"""What the service does with what it is told about a study: checks, and the answer of each operation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from sys import float_info
from typing import Any

from zonal._types import Json
from zonal.engine.results import Trial
from zonal.engine.windows import size_from_text
from zonal.errors import InvalidInput, SeveralWrong, StudyFileError, ZonalError, require, whole_number
from zonal.io.recipe_text import Recipe, check_values, parse_recipe
from zonal.io.spreadsheet import csv_text
from zonal.io.tables import parse_table
from zonal.kernels.feedback import Feedback
from zonal.spaces import Region, Space
from zonal.storage.encoding import DECODE_ERRORS, Decoder
from zonal.storage.schema import settings_to_json
from zonal.study import sheets, summary
from zonal.study.export import document, exported, map_file, outcomes, questions
from zonal.study.history import n_events, pending_asked, region_of_row
from zonal.study.observations import Measurement
from zonal.study.operations import recorded
from zonal.study.queries import Side
from zonal.study.recipe import Arguments, arguments
from zonal.study.study import Study
from zonal.study.summary import Answer, jsonable, to_json
from zonal.web import page_data
from zonal.web.overview import StudyOverview
from zonal.web.report import report
from zonal.web.routes import MAX_BUDGET, MAX_LISTED, MAX_REGIONS, ROUTES, SIGNED, Route, Schema


def dumped(answer: Answer) -> bytes:
    """Return an answer as JSON, with null for NaN."""
    return to_json(answer, separators=(",", ":")).encode()


def _of_node(space: Space, node: Json) -> Region:
    match node:
        case [int(depth), int(index)] if bool not in (type(depth), type(index)):
            possible = 0 <= depth <= (space.max_depth() or depth) and depth < 64
            exists = possible and 0 <= index < space.partition.slots(depth)
            require(exists, "there is no such node", node, "Pass one of the study's.")
            return space.cell((depth, index))
    raise InvalidInput("a node must be [depth, index]", node, "Write [3, 5].")


def _region(study: Study, described: Json) -> Region:
    """Return the region that a client described."""
    if isinstance(described, Mapping) and described.keys() == {"row"}:
        row = whole_number(described["row"], "a row of the table of nodes", 0, len(study.tree) - 1)
        return region_of_row(study, row)
    if isinstance(described, Mapping) and described.keys() == {"node"}:
        return _of_node(study.space, described["node"])
    place = study.space.from_text(described) if isinstance(described, str) else described
    missing = isinstance(place, str | list) and not place
    require(not missing, "a region is missing", place, "Send a region.")
    region: Region = study.space.region(place)
    return region


def _regions(study: Study, described: Sequence[Json]) -> list[Region]:
    """Return the regions that a client described, of the study as it is now."""
    study.refresh()
    return [_region(study, region) for region in described]


def _feedback(study: Study, described: Json) -> Feedback | None:
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


def call_study(route: Route, study: Study, **fields: Json) -> Answer:
    """Do what the method of a study that is named by a route does, and return its answer."""
    is_observation = fields.pop("observation", False)
    has_value = "below" not in route.fields or fields.keys() & {"value", "below", "above"}
    need_field(bool(has_value), "value", "value is missing", None, "Send value, or below or above.")
    given: dict[str, Any] = {
        name: READ[name](study, value) if name in READ else value for name, value in fields.items()
    }
    if is_observation:
        given["trial"] = recorded(study, given["trial"], observation=True)
    answer: Answer = getattr(study, route.operation)(**given)
    if route.answer is None:
        return answer
    return {**({route.answer: answer} if route.answer else {}), **budget_fields(study)}


def _sheet(
    study: Study,
    csv: str,
    by: str,
    correct: bool = False,
    changed: bool = False,
    decimal: str | None = None,
    key: str = "",
) -> Answer:
    marks = decimal in (None, ".", ",")
    need_field(marks, "decimal", "a decimal mark is a point or a comma", decimal, "Send one of the two.")
    rows = sheets.told(study, parse_table(csv, "the sheet", decimal), correct, changed, by, key)
    taken: dict[str, Answer] = {
        "new": len(rows.new),
        "corrected": len(rows.corrected),
        "known": len(rows.repeated),
    }
    old: list[Answer] = [{"trial": number, "row": row, "how": how} for number, (row, how) in rows.outdated.items()]
    left: list[Answer] = [{"trial": number, **note._asdict()} for number, note in rows.notes_left.items()]
    noted: dict[str, Answer] = {"notes": len(rows.notes), "notes_left": left}
    return {**taken, "empty": rows.empty, **noted, "outdated": old, **budget_fields(study)}


OBSERVED = next(route for route in ROUTES if route.operation == "observe")


def _observe_many(study: Study, measurements: Sequence[Json], by: str | None = None, key: str = "") -> Answer:
    """Record many measurements; what is wrong with any of them is said with its number."""
    study.refresh()
    schemas = {name: schema for name, schema in OBSERVED.fields.items() if name not in SIGNED}
    read, wrong = list[Measurement](), list[tuple[int, ZonalError]]()
    for at, entry in enumerate(measurements):
        try:
            fields = given(entry, schemas, OBSERVED.required)
            read.append(Measurement(**{k: READ[k](study, v) if k in READ else v for k, v in fields.items()}))
        except ZonalError as error:
            wrong.append((at, error))
    if wrong:
        raise SeveralWrong(wrong, len(measurements))
    numbers = [observation.number for observation in study._observe(read, by, key)]
    return {"observations": numbers, **budget_fields(study)}


def _claim(study: Study, trial: int, by: str, worker: str | None = None, key: str = "") -> Trial | None:
    return study.claim(trial, by=by, key=key) if worker is None else study._claim(trial, by, worker, key)


def budget_fields(study: Study) -> dict[str, Json]:
    """Return the progress of a study."""
    return {
        "event": n_events(study),
        "budget": study.budget,
        "measured": study.measured,
        "pending": len(study.pending),
        "remaining": study.remaining,
        "spent": study.spent,
    }


def _beyond(
    side: Side, study: Study, patches: bool = False, within: float | None = None, **limits: float
) -> Answer:
    thresholds = (
        {}
        if "threshold" in limits
        else {"threshold": summary.threshold(study), "misclassified": summary.misclassified(study)}
    )
    need_field(patches or within is None, "within", "this is for patches", within, "Send patches as well.")
    likely = getattr(study, side)(**limits)
    return {**jsonable(likely.patches(within) if patches else likely), **thresholds}


def _predict(study: Study, regions: Sequence[Json] | None = None, feedback: Json = None) -> Answer:
    by = None if feedback is None else _feedback(study, feedback)
    if regions is not None:
        return study.predict(_regions(study, regions), feedback=by)._asdict()
    study.refresh()
    every = study.predict(feedback=by)
    many = len(every.regions)
    need_field(many <= MAX_LISTED, "regions", "there are too many smallest regions", many, "Send those wanted.")
    return {"regions": every.regions, **every._asdict()}


def _picture(study: Study, **fields: Any) -> Answer:
    """Return the picture; a slice is where its maps hold the axes that they do not show."""
    text = fields.get("slice", "{}")
    try:
        parts = json.loads(text)
    except (ValueError, RecursionError):
        parts = None
    lines = {study.space.names[axis] for axis in study.space.continuous_axes} if study.space.axes else set()
    fits = isinstance(parts, dict) and parts.keys() <= lines and all(map(_is_part, parts.values()))
    need_field(fits, "slice", "this is not a slice", text[:200], 'Send axes and parts: {"x": [0.2, 0.3]}.')
    return page_data.picture(study, parts)


def _is_part(part: Any) -> bool:
    return isinstance(part, list) and [type(end) in (int, float) for end in part] == [True, True]


def _pending(study: Study) -> Answer:
    by = {asked.number: asked.by for asked in pending_asked(study)}
    return {
        **budget_fields(study),
        "trials": [{**jsonable(trial), "by": by[trial.number]} for trial in study.pending],
    }


def _suspects(study: Study) -> Answer:
    listing, answer = study.suspects(), study.recommend()
    return {"title": listing.title, "columns": listing.columns, "hangs_on": list(answer.hangs_on)}


def _settings(study: Study) -> Answer:
    return {"id": study.id, "read_only": study.read_only, "settings": json.loads(settings_to_json(study.settings))}


def _journal(overview: StudyOverview, after: int = -1) -> Answer:
    rows = overview.journal.rows(after + 1)[:MAX_REGIONS]
    return [{"number": row.number, "time": row.time, "events": json.loads(row.event)} for row in rows]


# What is not simply a method of a study, by path: functions of a study and the fields sent.
HANDLERS: dict[str, Callable[..., Answer | bytes]] = {
    "/sheet": _sheet,
    "/observations": _observe_many,
    "/trials/{trial}/claim": _claim,
    "/refit": lambda study, **fields: {"learned": study._refit(**fields), **budget_fields(study)},
    "/predict": _predict,
    "/probability": lambda study, regions, **limits: {
        "probability": study.probability(_regions(study, regions), **limits)
    },
    "/above": partial(_beyond, "above"),
    "/below": partial(_beyond, "below"),
    "/sizes": lambda study: study.sizes().columns,
    "/suspects": _suspects,
    "/nodes": lambda study: study.tree,
    "/pending": _pending,
    "/settings": _settings,
    "/shape": lambda study, **fields: page_data.shape(study, fields.get("from", 0)),
    "/values": page_data.values,
    "/picture": _picture,
    "/history": page_data.history,
    "/ahead": lambda study: page_data.outlook(study, 10),
    "/export/trials.csv": lambda study: csv_text(outcomes(study)),
    "/export/trials.json": document,
    "/export/questions.csv": lambda study: csv_text(questions(study, study.pending)),
    "/export/events.jsonl": exported,
    "/export/moc.fits": lambda study, **fields: map_file(study, "moc", **fields),
    "/export/skymap.fits": lambda study: map_file(study, "skymap"),
    "/export/map.nc": lambda study: map_file(study, "netcdf"),
    "/export/report.html": report,
}
# What is answered at once, from the file alone.
OVERVIEW_HANDLERS: dict[str, Callable[..., Answer | bytes]] = {
    "/trials": lambda overview, **fields: overview.trials(fields.get("from", 0), fields.get("named", False)),
    "/journal": _journal,
    "/export/study.db": lambda overview: overview.journal.copy(),
}


def given(fields: Json, schemas: Mapping[str, Schema], needs: tuple[str, ...]) -> dict[str, Any]:
    """Check the fields a client sent against their schemas, and return them."""
    if not isinstance(fields, Mapping):
        raise Misspoken("", "the body must be an object", fields, "Send a JSON object.")
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

    def __init__(self, name: str, problem: str, value: Json, fix: str) -> None:
        super().__init__(problem, value, fix)
        self.field = name

    @classmethod
    def again(cls, error: InvalidInput, name: str) -> Misspoken:
        """Return an error with the name of the field that it is about."""
        named = cls.__new__(cls)
        named.args, named.field = error.args, name
        return named


def need_field(holds: bool, name: str, problem: str, value: Json, fix: str) -> None:
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


def _checked(name: str, value: Json, schema: Schema) -> Json:
    kind = str(schema.get("type", ""))
    fits, what, fix = FITS.get(kind, (lambda value, schema: True, "", ""))
    problem = f"{name} must be {what.format(**schema)}"
    need_field(fits(value, schema), name, problem, value, fix.format(**schema))
    items = schema.get("items")
    if isinstance(value, list) and isinstance(items, Mapping):
        return [_checked(name, entry, items) for entry in value]
    return float(value) if kind == "number" and isinstance(value, int) else value


MAX_AXES, MAX_NAME = 100, 200  # axes of a study that is begun over HTTP, and letters of its names and units
FILES = ("points", "hierarchy")  # sections of a recipe whose table is a file
SENT = "the recipe"  # what messages call it


def new_study(recipe: Json, table: str | None = None) -> Arguments:
    """Return the arguments of `Study` that a recipe gives, as text or read; `table` is the content of its table.

    Over HTTP a recipe must not name a file of the server.
    """
    if isinstance(recipe, str):
        recipe = parse_recipe(recipe, SENT).words
    if not isinstance(recipe, Mapping):
        fix = "Send what `zonal new --template` has."
        raise Misspoken("recipe", "a recipe must be an object", recipe, fix)
    tables = {}
    for section in FILES:
        words = recipe.get(section)
        if isinstance(words, Mapping) and "table" in words:
            problem = f"[{section}] table names a file, which no client may"
            fix = "Send its content as `table`, or make this study on the server, with `zonal new`."
            need_field(table is not None, "table", problem, "a path", fix)
            tables[str(words["table"])] = table or ""
    need_field(bool(tables) or table is None, "table", "the recipe names no table", None, "Write table = ...")
    _check_sizes(recipe)
    written = Recipe(recipe, source=SENT, tables=tables)
    check_values(written)
    budget = recipe.get("budget")
    huge = isinstance(budget, int) and budget > MAX_BUDGET
    need_field(not huge, "recipe", "the budget is too large", budget, f"Send {MAX_BUDGET} at most.")
    try:
        return arguments(written)
    except InvalidInput as error:  # its message begins with where the cause is written
        place = re.match(rf"{SENT}, (.+?): ", str(error))
        raise Misspoken.again(error, f"recipe.{place[1]}" if place else "recipe") from None


def _check_sizes(recipe: Mapping[str, Json]) -> None:
    """Raise if names are so long, or axes so many, that they would harm whoever lists the studies."""
    axes, measurement = recipe.get("axes"), recipe.get("measurement")
    listed = axes if isinstance(axes, Mapping) else {}
    many = f"there are {len(listed)} axes"
    need_field(len(listed) <= MAX_AXES, "recipe", many, len(listed), f"Use {MAX_AXES} at most.")
    words = [listed, *listed.values(), measurement]
    for text in (
        text for section in words if isinstance(section, Mapping) for text in [*section, *section.values()]
    ):
        if isinstance(text, str) and len(text) > MAX_NAME:
            fix = f"Use {MAX_NAME} letters at most."
            raise Misspoken("recipe", f"a name has {len(text)} letters", f"{text[:50]}...", fix)
