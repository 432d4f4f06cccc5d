"""A study on a server: `zn.connect`, with the standard library's HTTP only.

What changes the study is sent to the server, which decides; what is read is computed here from the study's events,
which are fetched when they are needed.
"""

from __future__ import annotations

import inspect
import json
import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from http.client import HTTPException, HTTPMessage
from typing import IO, Any, Concatenate, NoReturn, NotRequired, ParamSpec, TypedDict, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from zonal import errors
from zonal._types import Json
from zonal.engine import checks
from zonal.engine.events import Transaction
from zonal.engine.labels import LabelsLike, checked_labels, planned_labels
from zonal.engine.readings import RawReading
from zonal.engine.results import Observation, Trial
from zonal.engine.settings import RegionsLike, Settings, checked_feedback
from zonal.engine.state import State
from zonal.errors import InvalidInput, StudyFileError, TrialError, ZonalError, require
from zonal.io.hints import hinting
from zonal.kernels.feedback import Feedback
from zonal.storage.encoding import encode
from zonal.storage.schema import settings_from_json
from zonal.study.history import observation_of, trial_of
from zonal.study.observations import Measurement
from zonal.study.operations import regions_of
from zonal.study.queries import region_of
from zonal.study.study import Study
from zonal.study.worker_id import person, worker_id
from zonal.web.overview import described
from zonal.web.routes import BY, ROUTES, STATUSES, Route, Unknown

PATIENCE = 30.0  # seconds for which a repeatable request is repeated while there is no answer
TIMEOUT = 300.0  # seconds for one answer: a fit may take a while
MEANT = {
    f"/problems/{slug}": StudyFileError if kind is Unknown else kind for kind, (_, slug, _) in STATUSES.items()
}
FAILED = "Pass a finite number; fail() is for what could not be measured."
Changed = list[Trial] | list[Observation] | Observation | int | None  # what a method that changes a study returns
P = ParamSpec("P")
R = TypeVar("R")


class TrialAnswer(TypedDict):
    """A trial as a server answers."""

    trial: int
    replicate: int
    region: Mapping[str, tuple[int, int]]
    time: NotRequired[float]
    cost: NotRequired[float]
    labels: NotRequired[dict[str, str]]


class Refused(ZonalError, RuntimeError):
    """A server refused a request, or did not answer."""


def connect(address: str, token: str | None = None) -> Remote:
    """Return a study on a server, with the methods of `Study`.

    Parameters
    ----------
    address : str
        Of the study's page, such as ``"http://127.0.0.1:8321/studies/sky"``.
    token : str, optional
        The token that `zonal serve` printed, if it requires one; by default ``ZONAL_TOKEN`` of the environment.
    """
    return Remote(address, os.environ.get("ZONAL_TOKEN", "") if token is None else errors.text(token, "token"))


class _NoRedirects(HTTPRedirectHandler):
    """Does not follow redirects: the token would be sent along."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Do not follow."""


class Connection:
    """An HTTP connection to a server, for one study."""

    def __init__(self, address: str, token: str) -> None:
        try:
            parts = urlsplit(str.__str__(address))
        except (TypeError, ValueError):  # no text, or a wrong port or bracket
            parts = urlsplit("")
        head, _, name = parts.path.rstrip("/").rpartition("/")
        fix = 'Pass the address of its page, such as "http://127.0.0.1:8321/studies/sky".'
        fits = parts.scheme in ("http", "https") and parts.netloc and head == "/studies" and name
        require(fits, "this is not the address of a study", address, fix)
        self.address, self.token, self.name = address, token, unquote(name)
        self._base = f"{parts.scheme}://{parts.netloc}/api/v1/studies/{name}"
        # Without a proxy, which cannot reach this machine or a tunnel.
        local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        self._opener = build_opener(_NoRedirects, *([ProxyHandler({})] if local else []))

    def get(self, path: str) -> Any:
        """Return what a path holds."""
        return self._send("GET", path, None, True)

    def post(self, path: str, again: bool = False, **body: Json) -> Any:
        """Send fields and return the answer; if `again`, repeat while there is no answer."""
        fields = {name: value for name, value in body.items() if value is not None}
        return self._send("POST", path, json.dumps(fields, allow_nan=False).encode(), again)

    def _send(self, method: str, path: str, body: bytes | None, again: bool) -> Any:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        until, pause = time.monotonic() + PATIENCE, 0.1
        while True:
            request = Request(self._base + path, body, headers, method=method)
            try:
                with self._opener.open(request, timeout=TIMEOUT) as answer:
                    return json.load(answer)
            except HTTPError as error:
                raise _meant(error) from None
            except (URLError, OSError, HTTPException, ValueError) as error:
                if not again or time.monotonic() > until:
                    fix = "Is `zonal serve` running there?"
                    raise Refused(f"the server at {self.address} does not answer ({error}). {fix}") from error
                time.sleep(pause)
                pause = min(2 * pause, 2.0)


def _of_one_moment(word: Callable[Concatenate[Study, P], R]) -> Callable[Concatenate[Remote, P], R]:
    """Decorate a method that reads the study several times so that it sees one moment."""

    @wraps(word)
    def call(study: Remote, *arguments: P.args, **named: P.kwargs) -> R:
        study.refresh()
        study._still += 1
        try:
            return word(study, *arguments, **named)
        finally:
            study._still -= 1

    return call  # type: ignore[return-value]  # the first argument is never named


class Remote(Study):
    """A study on a server: see `connect`. It is always as on the server; nothing is stored here."""

    id = read_only = _called = ""  # as the server says, where `Study` reads its file

    def __init__(self, address: str, token: str = "") -> None:
        self._line = Connection(address, token)
        self._still = 0
        self._seen: State | None = None
        self._rows: tuple[dict[str, Any], ...] = ()  # of its journal
        about = self._line.get("/settings")
        self._opened = settings_from_json(json.dumps(about["settings"]), {})
        self.id, self.read_only, self._called = about["id"], about["read_only"], self._line.name
        self._renew_lock()

    def __repr__(self) -> str:
        """Return where it is."""
        return f"<study at {self._line.address}>"

    def __reduce__(self) -> tuple[type[Remote], tuple[str, str]]:
        """Pickle as an address: a copy connects to the same study."""
        return Remote, (self._line.address, self._line.token)

    @property
    def settings(self) -> Settings:
        """Everything that was given."""
        return self._opened.settings

    @property
    def timestamps(self) -> tuple[str, ...]:
        """When each event was written, in UTC."""
        self.refresh()
        return tuple(row["time"] for row in self._rows)

    @property
    def _state(self) -> State:  # type: ignore[override]
        if self._seen is None or not self._still:
            self.refresh()
        assert self._seen is not None
        return self._seen

    def refresh(self) -> None:
        """Fetch what was done to the study; all methods do so by themselves."""
        with self._lock:
            events = self._unseen()
            if self._seen is None:
                state = Study._of(self.settings, events)._state
            elif events:
                state = self._seen.apply_transactions(events)
            else:
                return
            self._seen = state if self._opened.has_kernel else state.without_posterior()

    def _unseen(self) -> list[Transaction]:
        """Return new events. The last known one is fetched too, and must be unchanged."""
        rows = list(self._rows)
        self._opened.renew()
        while True:
            n_unchanged = max(len(rows) - 1, 0)
            more: list[dict[str, Any]] = self._line.get(f"/journal?after={n_unchanged - 1}")
            if rows and (not more or more[0] != rows[-1]):
                raise StudyFileError(
                    f"the study at {self._line.address} is no longer the same. Connect again to continue."
                )
            rows[n_unchanged:] = more
            if len(rows) <= n_unchanged + 1:
                break
        new = [self._opened.read(json.dumps(row["events"])) for row in rows[len(self._rows) :]]
        self._rows = tuple(rows)
        return new

    def _trial(self, answer: TrialAnswer) -> Trial:
        if answer["region"]["node"] is None:  # a window, which the history has to the last digit
            state = self._state
            return trial_of(state, state.asked[answer["trial"]])
        depth, index = answer["region"]["node"]
        node = depth, index
        spends = answer.get("time", 1.0), answer.get("cost", 1.0)
        return Trial(
            answer["trial"],
            node,
            self.space.cell(node, self.settings.feedback),
            answer["replicate"],
            self.id,
            *spends,
            tuple(sorted(answer.get("labels", {}).items())),
        )

    def _number(self, trial: Trial | Observation | int, observations: bool = False) -> int:
        """Return the number of a trial, or of an observation if it may be one; raise if it is of another study."""
        if isinstance(trial, Trial | Observation) and trial.study != self.id:
            raise TrialError(f"{trial!r} does not belong to this study. Pass what it returned, or a number.")
        usable = observations or not isinstance(trial, Observation)
        number: Any = getattr(trial, "number", trial) if usable else trial
        return errors.whole_number(number, "a trial", 0, 2**53)

    def _observation(self, number: int) -> Observation:
        event = self._state.observed[number][1]
        return observation_of(self, number, event)

    def _ask(
        self,
        n: int | None,
        key: str,
        by: str | None,
        within: RegionsLike,
        avoid: RegionsLike,
        labels: LabelsLike | Sequence[LabelsLike] = None,
    ) -> list[Trial]:
        number = 1 if n is None else errors.whole_number(n, "the number of trials to ask for", 1)
        limits = {"within": regions_of(self, within, "within"), "avoid": regions_of(self, avoid, "avoid")}
        now = {name: [described(region) for region in regions] or None for name, regions in limits.items()}
        token = errors.text(key, "key") or uuid.uuid4().hex
        planned: Any = None if labels is None else [dict(part) for part in planned_labels(labels, number)]
        answer = self._line.post("/ask", True, n=number, key=token, by=by or worker_id(), labels=planned, **now)
        return [self._trial(trial) for trial in answer]

    def _claim(self, number: int, by: str, worker: str, key: str = "") -> Trial | None:
        token = errors.text(key, "key") or uuid.uuid4().hex
        answer = self._line.post(f"/trials/{number}/claim", True, by=by, worker=worker, key=token)
        return None if answer is None else self._trial(answer)

    def extend(self, n: float, *, by: str | None = None, key: str = "") -> None:
        """Add `n` measurements, or that cost, to the budget."""
        token = errors.text(key, "key") or uuid.uuid4().hex
        self._line.post("/extend", True, n=checks.added(self._state, n), by=by, key=token)

    def _observe(self, measurements: Sequence[Measurement], by: str | None, key: str) -> list[Observation]:
        sent, wrong = list[dict[str, Any]](), list[tuple[int, ZonalError]]()
        for at, measurement in enumerate(measurements):
            try:
                sent.append(_sent(self, measurement))
            except ZonalError as error:
                wrong.append((at, error))
        if wrong:
            raise errors.SeveralWrong(wrong, len(measurements))
        token = errors.text(key, "key") or uuid.uuid4().hex
        answer = self._line.post("/observations", True, measurements=sent, by=by or person(), key=token)
        return [self._observation(number) for number in answer["observations"]]

    def _refit(self, from_scratch: bool = True, by: str | None = None, key: str = "") -> bool:
        token = errors.text(key, "key") or uuid.uuid4().hex
        return bool(self._line.post("/refit", True, from_scratch=from_scratch, by=by, key=token)["learned"])

    def save(self, path: str | os.PathLike[str]) -> NoReturn:
        """Raise: it is stored on the server."""
        raise StudyFileError(f"this study is stored on a server. Download it from its page, {self._line.address}.")


def _over_http(route: Route) -> Callable[..., Changed]:
    """Return a method of `Study` that is sent to the server."""
    word: Any = getattr(Study, route.operation)
    signature = inspect.signature(word)

    @wraps(word)
    def call(study: Remote, *arguments: Any, **named: Any) -> Changed:
        fields = signature.bind(study, *arguments, **named).arguments
        if route.operation == "observe" and "value" not in fields:
            several: Changed = word(study, *arguments, **named)  # many: `_observe`
            return several
        of, again = fields.pop("trial", 0), route.operation in REPEATED
        del fields["self"]
        number = study._number(of, "observation" in route.fields)
        seen = getattr(fields.get("region"), "feedback", None)
        if route.operation == "observe" and fields.get("feedback") is None and seen is not None:
            fields["feedback"] = seen
        fields = _plain(study, fields, of.region.feedback if isinstance(of, Observation) else None)
        if route.fields.get("by") is BY["by"]:
            fields["by"] = fields.get("by") or person()
        if not again and "key" in route.fields:
            fields["key"], again = fields.get("key") or uuid.uuid4().hex, True
        if "observation" in route.fields:
            fields["observation"] = isinstance(of, Observation)
        answer = study._line.post(route.path.format(trial=number), again, **fields)
        if route.operation == "forbid":
            return [study._trial(trial) for trial in answer["overlapping"]]
        if route.operation == "observe":
            return study._observation(answer["observation"])
        allowed: int | None = answer.get("allowed")
        return allowed

    return call


def _plain(study: Remote, fields: Mapping[str, Any], by: Feedback | None = None) -> dict[str, Any]:
    """Return the arguments of a call as they are sent; quantities are in the unit of what `by` measures."""
    feedback = fields.get("feedback")
    by, fields = by if feedback is None else checked_feedback(feedback, study.space), {**fields}
    if "moe" in fields:
        fields["sem"] = errors.from_margin(fields.get("sem"), fields.pop("moe"))
    if isinstance(fields.get("value"), str):  # "<0.5"
        number_of, limit = RawReading(fields.pop("value")).number()
        fields[limit or "value"] = number_of
    for name in ("value", "below", "above", "sem"):
        if fields.get(name) is not None:
            called = "a measured value" if name == "value" else name
            fields[name] = checks.bare(study.settings, fields[name], called, by)
    return fields | {name: describe(study, fields[name]) for name, describe in DESCRIBED.items() if name in fields}


def _sent(study: Remote, given: Measurement) -> dict[str, Any]:
    """Return one of many measurements as it is sent."""
    seen = getattr(given.region, "feedback", None) if given.feedback is None else given.feedback
    sent = _plain(study, given._replace(feedback=seen)._asdict())
    return {name: value for name, value in sent.items() if value not in (None, "")}


def _slopes(study: Remote, given: Mapping[str, tuple[float, float]]) -> dict[str, list[float]]:
    """Return slopes and their standard errors as plain numbers, by axis."""
    plain = {}
    for by, *pair in checks.slope_pairs(study.space, given):
        slope, sem = (
            checks.bare(study.settings, number, name, by)
            for number, name in zip(pair, ("a measured value", "sem"), strict=True)
        )
        plain[by.axis] = [errors.finite_number(slope, "a slope"), errors.standard_deviation(sem, "sem")]
    return plain


REPEATED = ("tell", "correct", "_forgive")  # safe to repeat
DESCRIBED: dict[str, Callable[[Remote, Any], Any]] = {
    "feedback": lambda study, feedback: (
        None if feedback is None else encode(checked_feedback(feedback, study.space))
    ),
    "region": lambda study, region: described(region_of(study, region)),
    "value": lambda study, value: None if value is None else errors.finite_number(value, "a value", FAILED),
    "below": lambda study, limit: None if limit is None else errors.finite_number(limit, "below"),
    "above": lambda study, limit: None if limit is None else errors.finite_number(limit, "above"),
    "exposure": lambda study, exposure: None if exposure is None else errors.positive_number(exposure, "exposure"),
    "sem": lambda study, sem: None if sem is None else errors.standard_deviation(sem, "a standard error"),
    "minus": lambda study, region: None if region is None else described(region_of(study, region)),
    "slopes": lambda study, given: None if given is None else _slopes(study, given),
    "labels": lambda study, given: dict(checked_labels(given)) or None,
    "trials": lambda study, trials: [
        study._number(trial)
        for trial in errors.listed(trials, "trials must be a list", "Pass [trial], even for one.")
    ],
}
SHOWN = ("table", "top", "suspects", "plot", "report", "snapshot", "refine", "why", "worth")
for _word in (*SHOWN, "__str__", "_repr_html_"):
    setattr(Remote, _word, _of_one_moment(getattr(Study, _word)))
ABOUT_TRIALS = {"tell", "correct", "retract", "set_aside", "reinstate", "fail", "cancel", "_forgive"}
SENT = ABOUT_TRIALS | {"forbid", "allow", "observe"}
for _route in ROUTES:
    if _route.operation in SENT:
        setattr(Remote, _route.operation, _over_http(_route))
hinting(methods=True)(Remote)


def _meant(error: HTTPError) -> ZonalError:
    """Return the error that the library would have raised here."""
    try:
        problem = json.load(error)
        detail, kind = str(problem["detail"]), str(problem["type"])
    except (ValueError, KeyError, TypeError, OSError):
        return Refused(f"the server answered {error.code} {error.reason}.")
    if error.code != 422:
        return MEANT.get(kind, Refused)(detail)
    refusal = InvalidInput.__new__(InvalidInput)
    refusal.args = (detail,)
    return refusal
