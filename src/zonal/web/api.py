"""The HTTP API of a study as one table, from which routes, description and checks are made."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from zonal.commands import sheets
from zonal.commands.carry import document, exported
from zonal.errors import BudgetSpent, Exhausted, InvalidInput, StudyFileError, TrialError, ZonalError
from zonal.looking import plain
from zonal.recipe import arguments
from zonal.rounds.codec import settings_to_json
from zonal.rounds.trials import Observation, Prediction
from zonal.study import Study
from zonal.tables import parse_table
from zonal.tables.wording import Recipe, check_values
from zonal.web import documents
from zonal.web.folder import Unknown
from zonal.web.regions import feedback_of, region_of

MOST_TRIALS, MOST_REGIONS, MOST_AHEAD, MOST_BUDGET = 100, 1000, 100, 1_000_000
LONGEST, MOST_LETTERS = 2000, 900_000  # characters of a text, and of a sheet

NUMBER = {"type": "number"}
TEXT = {"type": "string", "maxLength": LONGEST}
YES = {"type": "boolean"}
REGION: dict[str, Any] = {
    "description": "As for space.region: bounds, axes to parts, text; {node: [depth, index]}; {row: ...}."
}
FEEDBACK = {"description": 'The feedback of this measurement, as in settings, such as {"$": "Center"}.'}
MINUS = {"description": "A region, as above: the value is a difference, from which this one was subtracted."}
SLOPES = {"description": 'Slopes of the region measured with it, and their standard errors: {"x": [0.3, 0.1]}.'}
REGIONS = {"type": "array", "maxItems": MOST_REGIONS, "items": REGION, "description": "Several regions."}
BY = {**TEXT, "description": "Who does it; by default the client's address."}


# Of errors, for programs; a client raises them again by their titles.
STATUSES: dict[type[ZonalError], tuple[int, str]] = {
    Unknown: (404, "Not found"),
    TrialError: (409, "No such trial, or it has ended"),
    BudgetSpent: (409, "Budget spent"),
    Exhausted: (409, "Nothing left to ask for"),
    StudyFileError: (409, "The study's file cannot be used"),
    ZonalError: (422, "Refused"),
}


def whole(low: int, high: int) -> dict[str, Any]:
    """Return the schema of a whole number."""
    return {"type": "integer", "minimum": low, "maximum": high}


TRIAL = whole(0, 2**53)


Does = Callable[..., Any]


@dataclass(frozen=True)
class Route:
    """One operation on a study.

    Attributes
    ----------
    method, path : str
        Below ``/api/studies/{name}``.
    word : str
        The method of `Study`, "" if there is none.
    does : callable, or str
        Called with a study and the fields sent, returns the answer; or the name of a method of the service.
    says : dict
        Schemas of the fields: in the body of a POST, in the query of a GET. `by` and `key` are taken from the
        request unless they are sent.
    needs : tuple of str
        The required fields.
    kind : str
        Media type of the answer.
    """

    method: str
    path: str
    word: str
    about: str
    does: Does | str
    says: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    kind: str = "application/json"


READ: dict[str, Callable[[Study, Any], Any]] = {
    "region": region_of,
    "minus": region_of,
    "regions": lambda study, said: [region_of(study, own) for own in said],
    "feedback": lambda study, said: feedback_of(said),
}


def _says(word: str, answer: str | None = None) -> Does:
    """Return a function that calls a method of a study: its result, under a name if given, and the progress.

    Without a name the result is the whole answer.
    """

    def does(study: Study, **said: Any) -> Any:
        for name in READ.keys() & said.keys():
            said[name] = READ[name](study, said[name])
        if said.pop("observation", False):
            said["trial"] = _observation(study, said["trial"])
        found = getattr(study, word)(**said)
        return found if answer is None else {**({answer: found} if answer else {}), **standing(study)}

    return does


def _sheet(study: Study, csv: str, by: str, correct: bool = False) -> Any:
    found = sheets.answers(parse_table(csv, "the sheet"), study, correct)
    sheets.take(found, study, by)
    taken = {"new": len(found.new), "corrected": len(found.changed), "known": len(found.known)}
    return {**taken, "empty": found.empty, **standing(study)}


def _observation(study: Study, number: int) -> Observation:
    every = [own for own, _ in study.history() if isinstance(own, Observation)]
    if number >= len(every):
        raise InvalidInput("there is no such observation", number, f"There are {len(every)}, counted from 0.")
    return every[number]


def _take_up(study: Study, trial: int, by: str, of: str) -> Any:
    return study.take_up(by, lambda asked: asked.number == trial and asked.by == of)


def _forgive(study: Study, trials: list[int]) -> Any:
    study.forgive([study.trials[number] for number in trials if number < len(study.trials)])
    return standing(study)


def _extend(study: Study, n: float) -> Any:
    if n > MOST_BUDGET:
        raise Misspoken("n", "this is too large", n, f"Send {MOST_BUDGET} at most.")
    study.extend(n if study.settings.priced or n % 1 else int(n))
    return standing(study)


def standing(study: Study) -> dict[str, Any]:
    """Return the progress of a study."""
    return {
        "event": len(study._state.events),
        "budget": study.budget,
        "told": study.told,
        "pending": len(study.under_way),
        "remaining": study.remaining,
        "spent": study.spent,
    }


def _elsewhere(word: str) -> Does:
    """Return a function that answers about any regions, each part of the answer under its name."""
    says = _says(word)

    def does(study: Study, **said: Any) -> Any:
        study.refresh()
        found = says(study, **said)
        return found._asdict() if isinstance(found, Prediction) else {word: found}

    return does


def _beyond(side: str) -> Does:
    def does(study: Study, **said: Any) -> Any:
        known = {} if "threshold" in said else {"threshold": study.threshold, "misclassified": study.misclassified}
        return {**plain(getattr(study, side)(**said)), **known}

    return does


def _under_way(study: Study) -> Any:
    by = {asked.number: asked.by for asked in study.under_way}
    return {**standing(study), "trials": [{**plain(own), "by": by[own.number]} for own in study.pending]}


def _settings(study: Study) -> Any:
    return {"id": study.id, "read_only": study.read_only, "settings": json.loads(settings_to_json(study.settings))}


MANY = {"n": whole(1, MOST_TRIALS)}
ONE = "/trials/{trial}"
TIME = {**NUMBER, "description": "The time really spent, where times are chosen."}
MEASURED = {"value": NUMBER, "sem": NUMBER, "note": TEXT}
OTHERWISE = {"feedback": FEEDBACK, "time": TIME, "minus": MINUS}  # than the study's own measurements
OF_TRIAL = {"observation": {**YES, "description": "The number is that of an observation."}}
LIMIT = {"threshold": NUMBER, "probability": NUMBER}

ROUTES = (
    Route("POST", "/ask", "ask", "Ask what to measure next; repeating an Idempotency-Key returns the same trials.",
          lambda study, n=1, **said: study.ask(n, **said), {**MANY, "key": TEXT, "by": BY}),
    Route("POST", f"{ONE}/tell", "tell", "Tell what was measured; telling the same again does nothing.",
          _says("tell", ""), {**MEASURED, "time": TIME, "slopes": SLOPES, "minus": MINUS}, ("value",)),
    Route("POST", "/sheet", "", "Tell the values of a filled-in sheet, all or none.",
          _sheet, {"csv": {"type": "string", "maxLength": MOST_LETTERS}, "correct": YES, "by": BY}, ("csv",)),
    Route("POST", f"{ONE}/correct", "correct", "Replace a value told by mistake.",
          _says("correct", ""), {**MEASURED, "by": BY, **OF_TRIAL}, ("value",)),
    Route("POST", f"{ONE}/retract", "retract", "Remove a value that should never have been told.",
          _says("retract", ""), {"note": TEXT, "by": BY, **OF_TRIAL}),
    Route("POST", f"{ONE}/give-up", "give_up", "Give up a trial that could not be measured.",
          _says("give_up", ""), {"retry": YES}),
    Route("POST", f"{ONE}/withdraw", "withdraw", "Withdraw a trial that was not tried.",
          _says("withdraw", "")),
    Route("POST", f"{ONE}/take-up", "take_up", "Take over a trial under way from its worker.",
          _take_up, {"by": TEXT, "of": TEXT}, ("by", "of")),
    Route("POST", "/forgive", "forgive", "Take back the give-ups of some trials.",
          _forgive, {"trials": {"type": "array", "items": TRIAL, "maxItems": MOST_REGIONS}}, ("trials",)),
    Route("POST", "/observe", "observe", "Record a measurement made outside the study; it costs no budget.",
          _says("observe", "observation"), {"region": REGION, "value": NUMBER, "sem": NUMBER, **OTHERWISE},
          ("region", "value")),
    Route("POST", "/allow", "allow", "Take back all give-ups of a region, and of those within it.",
          _says("allow", "allowed"), {"region": REGION}, ("region",)),
    Route("POST", "/extend", "extend", "Add measurements to the budget.",
          _extend, {"n": NUMBER}, ("n",)),
    Route("POST", "/refit", "refit", "Learn the model from scratch, or starting from the last fit.",
          _says("_refit", "learned"), {"anew": YES}),
    Route("POST", "/predict", "predict", "Predict the averages of any regions. Nothing changes.",
          _elsewhere("predict"), {"regions": REGIONS}, ("regions",)),
    Route("POST", "/probability", "probability", "The probability that regions are above or below a threshold.",
          _elsewhere("probability"), {"regions": REGIONS, "above": NUMBER, "below": NUMBER}, ("regions",)),
    Route("GET", "/recommend", "recommend", "The recommended regions, and how certain that is.",
          lambda study, k=1, **said: study.recommend(k, **said), {"k": whole(1, MOST_TRIALS), "theta": NUMBER}),
    Route("GET", "/above", "above", "Regions whose average is probably above a threshold.",
          _beyond("above"), LIMIT),
    Route("GET", "/below", "below", "Regions whose average is probably below a threshold.",
          _beyond("below"), LIMIT),
    Route("GET", "/outlook", "outlook", "The improvement expected from more measurements.",
          lambda study, n=10: study.outlook(n), {"n": whole(1, MOST_AHEAD)}),
    Route("GET", "/nodes", "tree", "The table of nodes.", lambda study: study.tree),
    Route("GET", "/pending", "under_way", "The trials under way, and who measures each.", _under_way),
    Route("GET", "/settings", "settings", "Everything that was given.", _settings),
    Route("GET", "/shape", "", "For the page: where the nodes are, from a row on.",
          lambda study, **said: documents.shape(study, said.get("from", 0)), {"from": TRIAL}),
    Route("GET", "/values", "", "For the page: what is known of each node.",
          lambda study: documents.values(study)),
    Route("GET", "/picture", "", "For the page: curves, or maps of pairs of axes.",
          lambda study: documents.picture(study)),
    Route("GET", "/history", "", "For the page: the best region after some of the trials.",
          lambda study: documents.history(study)),
    Route("GET", "/ahead", "", "For the page: the improvement expected from ten more measurements, if known.",
          lambda study: documents.outlook(study, 10)),
    Route("GET", "/export/trials.csv", "", "All trials, for a spreadsheet.",
          lambda study: sheets.outcomes(study), kind="text/csv"),
    Route("GET", "/export/trials.json", "", "All trials and observations, with earlier values.",
          lambda study: document(study)),
    Route("GET", "/export/questions.csv", "", "The trials under way, as a sheet to fill in.",
          lambda study: sheets.questions(study, study.pending), kind="text/csv"),
    Route("GET", "/export/events.jsonl", "", "Settings and events, line by line, for `zonal import`.",
          lambda study: exported(study), kind="application/x-ndjson"),
)  # fmt: skip


def given(said: Any, schemas: Mapping[str, Any], needs: tuple[str, ...]) -> dict[str, Any]:
    """Check the fields a client sent against their schemas, and return them."""
    if not isinstance(said, Mapping):
        raise Misspoken("", "the body must be an object", said, "Send a JSON object.")
    for name in said:
        if name not in schemas:
            known = ", ".join(schemas) or "nothing"
            raise Misspoken(str(name), "there is no such field", name, f"There are {known}.")
    found = {name: _checked(name, own, schemas[name]) for name, own in said.items() if own is not None}
    for name in needs:
        if name not in found:
            raise Misspoken(name, f"{name} is missing", None, f"Send {name}.")
    return found


class Misspoken(InvalidInput):
    """A wrong field; its name is part of the answer."""

    def __init__(self, name: str, problem: str, value: object, fix: str) -> None:
        super().__init__(problem, value, fix)
        self.field = name


def _checked(name: str, value: Any, schema: Mapping[str, Any]) -> Any:
    kind = schema.get("type")
    if kind == "number":
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise Misspoken(name, f"{name} must be a number", value, "Send a finite number, such as 0.73.")
        try:
            return float(value)
        except OverflowError:
            raise Misspoken(name, f"{name} is too large", "a whole number", "Send a smaller one.") from None
    if kind == "integer":
        low, high = schema["minimum"], schema["maximum"]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise Misspoken(name, f"{name} must be a whole number", value, f"Send one from {low} to {high}.")
    if kind == "boolean" and not isinstance(value, bool):
        raise Misspoken(name, f"{name} must be true or false", value, "Send one of the two.")
    if kind == "string" and not isinstance(value, str):
        raise Misspoken(name, f"{name} must be text", value, "Send a string.")
    if kind == "string" and len(value) > schema["maxLength"]:
        raise Misspoken(name, f"{name} is too long", len(value), f"Send {schema['maxLength']} characters at most.")
    if kind == "array":
        if not isinstance(value, list) or len(value) > schema["maxItems"]:
            most = schema["maxItems"]
            raise Misspoken(name, f"{name} must be a list of {most} at most", value, "Send fewer.")
        return [_checked(name, own, schema["items"]) for own in value]
    return value


FILES = {"points": "table", "hierarchy": "table"}  # keys of a recipe that name a file


def new_study(recipe: Any) -> dict[str, Any]:
    """Return the arguments of `Study` that a recipe gives; over HTTP it must not name a file."""
    if not isinstance(recipe, Mapping):
        raise Misspoken("recipe", "a recipe must be an object", recipe, "Send what `zonal new --template` has.")
    for section, key in FILES.items():
        if isinstance(recipe.get(section), Mapping) and key in recipe[section]:
            fix = "Make this study on the server, with `zonal new`."
            raise Misspoken("recipe", f"[{section}] {key} names a file, which no client may", "a path", fix)
    words = Recipe(recipe, source="the recipe")
    check_values(words)
    budget = recipe.get("budget")
    if isinstance(budget, int) and budget > MOST_BUDGET:
        raise Misspoken("recipe", "the budget is too large", budget, f"Send {MOST_BUDGET} at most.")
    return arguments(words)
