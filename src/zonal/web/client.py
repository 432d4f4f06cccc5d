"""A study on a server, with the words that it has here: `zn.connect`. The standard library alone speaks HTTP."""

from __future__ import annotations

import json
import math
import os
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, overload
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

import numpy as np

from zonal.driving.hand import Hand
from zonal.driving.run import drive
from zonal.errors import BudgetSpent, Exhausted, InvalidInput, StudyFileError, TrialError, ZonalError
from zonal.rounds.certainty import Outlook
from zonal.rounds.codec import settings_from_json
from zonal.rounds.events import Asked
from zonal.rounds.trials import Likely, Observation, Prediction, Recommendation, Result, Trial, TrialRecord
from zonal.rounds.whose import me, person, run_of_mine
from zonal.spaces import Region
from zonal.tree import TreeTable

if TYPE_CHECKING:
    from zonal.study import Study

PATIENCE = 30.0  # seconds for which a request that may be repeated is, while nobody answers
TIMEOUT = 300.0  # seconds for one answer: a fit may take a while
MEANT: dict[str, type[ZonalError]] = {
    "Budget spent": BudgetSpent,
    "Nothing left to ask for": Exhausted,
    "No such trial, or it has ended": TrialError,
    "The study's file cannot be used": StudyFileError,
    "Not found": StudyFileError,
}
WORDS = (
    "ask", "tell", "correct", "retract", "give_up", "withdraw", "take_up", "forgive", "observe", "allow", "extend",
    "refit", "predict", "probability", "recommend", "above", "below", "outlook", "tree", "under_way", "settings",
    "trials", "pending", "budget", "told", "remaining", "optimize",
)  # fmt: skip


class Refused(ZonalError, RuntimeError):
    """A server refused a request, or nobody answered."""


def connect(address: str, token: str | None = None) -> Remote:
    """Return a study on a server, with the words of `Study`.

    Parameters
    ----------
    address : str
        Of the study's page, such as ``"http://127.0.0.1:8321/studies/sky"``.
    token : str, optional
        What `zonal serve` printed, where it wants one; ``ZONAL_TOKEN`` of the environment by default.
    """
    return Remote(address, os.environ.get("ZONAL_TOKEN", "") if token is None else token)


class _NoRedirects(HTTPRedirectHandler):
    """Follows nobody elsewhere: the token would go along."""

    def redirect_request(self, *arguments: Any) -> None:
        """Do not follow."""


class Remote:
    """A study on a server: see `connect`."""

    def __init__(self, address: str, token: str = "") -> None:
        parts = urlsplit(address) if isinstance(address, str) else urlsplit("")
        head, _, name = parts.path.rstrip("/").rpartition("/")
        if parts.scheme not in ("http", "https") or not parts.netloc or head != "/studies" or not name:
            fix = 'Pass the address of its page, such as "http://127.0.0.1:8321/studies/sky".'
            raise InvalidInput("this is not the address of a study", address, fix)
        self._base = f"{parts.scheme}://{parts.netloc}/api/studies/{name}"
        self._address = address
        self._token = token
        # Through no proxy: what is on this machine, or behind a tunnel, is not reached by one.
        local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        self._opener = build_opener(_NoRedirects, *([ProxyHandler({})] if local else []))
        about = self._get("/settings")
        opened = settings_from_json(json.dumps(about["settings"]), {})
        if "space" in opened.missing or "feedback" in opened.missing:
            raise StudyFileError(
                "this study's space or feedback is the user's own. Open its file with Study.open."
            )
        self.id: str = about["id"]
        self.settings = opened.settings
        self.read_only: str = about["read_only"]

    def __repr__(self) -> str:
        """Return where it is."""
        return f"<study at {self._address}>"

    @property
    def space(self) -> Any:
        """Where the study looks."""
        return self.settings.space

    @property
    def feedback(self) -> Any:
        """What a measurement sees of a region."""
        return self.settings.feedback

    @property
    def direction(self) -> str:
        """Whether high or low averages are wanted."""
        return self.settings.direction

    @property
    def value_name(self) -> str:
        """What is measured."""
        return self.settings.value_name

    @property
    def value_unit(self) -> str:
        """In which unit."""
        return self.settings.value_unit

    def _get(self, path: str, **query: Any) -> Any:
        said = {name: own for name, own in query.items() if own is not None}
        return self._send("GET", f"{path}?{urlencode(said)}" if said else path, None, True)

    def _post(self, path: str, again: bool = False, **body: Any) -> Any:
        said = {name: own for name, own in body.items() if own is not None}
        return self._send("POST", path, json.dumps(said, allow_nan=False).encode(), again)

    def _send(self, method: str, path: str, body: bytes | None, again: bool) -> Any:
        """Return the answer to a request, which is sent `again` while nobody answers, if it may be."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
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
                    raise Refused(f"the server at {self._address} does not answer ({error}).") from error
                time.sleep(pause)
                pause = min(2 * pause, 2.0)

    def _trial(self, said: dict[str, Any]) -> Trial:
        node = tuple(said["region"]["node"])
        return Trial(said["trial"], node, self.space.cell(node, self.feedback), said["look"], self.id)

    def _regions(self, regions: Any) -> tuple[list[Any], bool]:
        one = self.space.is_one(regions)
        return [self._said(own) for own in ([regions] if one else regions)], one

    def _said(self, region: Any) -> Any:
        from zonal.web.api import said_of

        return said_of(region if isinstance(region, Region) else self.space.region(region))

    @staticmethod
    def _number(trial: Any) -> int:
        return int(getattr(trial, "number", trial))

    @overload
    def ask(self, n: None = None, *, key: str = "", by: str | None = None) -> Trial: ...
    @overload
    def ask(self, n: int, *, key: str = "", by: str | None = None) -> list[Trial]: ...
    def ask(self, n: int | None = None, *, key: str = "", by: str | None = None) -> Trial | list[Trial]:
        """Return the next trial, or a list of the next `n`: see `Study.ask`."""
        said = self._post("/ask", True, n=1 if n is None else n, key=key or uuid.uuid4().hex, by=by or me())
        trials = [self._trial(own) for own in said]
        return trials[0] if n is None else trials

    def tell(self, trial: Trial | int, value: float, sem: float | None = None, note: str = "") -> None:
        """Take in the measurement of a trial: see `Study.tell`."""
        self._post(f"/trials/{self._number(trial)}/tell", True, value=_finite(value), sem=_some(sem), note=note)

    def correct(
        self, trial: Trial | Observation | int, value: float, sem: float | None = None, note: str = "", *,
        by: str | None = None,
    ) -> None:  # fmt: skip
        """Put another value in the place of one told by mistake: see `Study.correct`."""
        said = {"value": _finite(value), "sem": _some(sem), "note": note, "by": by or person()}
        where = f"/trials/{self._number(trial)}/correct"
        self._post(where, True, **said, observation=isinstance(trial, Observation))

    def retract(self, trial: Trial | Observation | int, note: str = "", *, by: str | None = None) -> None:
        """Take back a value that should never have been told: see `Study.retract`."""
        observed = isinstance(trial, Observation)
        self._post(f"/trials/{self._number(trial)}/retract", note=note, by=by or person(), observation=observed)

    def give_up(self, trial: Trial | int, retry: bool = True) -> None:
        """Take back a trial that could not be measured: see `Study.give_up`."""
        self._post(f"/trials/{self._number(trial)}/give-up", retry=retry)

    def withdraw(self, trial: Trial | int) -> None:
        """Take back a trial that was not tried: see `Study.withdraw`."""
        self._post(f"/trials/{self._number(trial)}/withdraw")

    def take_up(self, by: str, wanted: Callable[[Asked], bool]) -> Trial | None:
        """Return a pending trial, taken from whoever was at it: see `Study.take_up`."""
        for asked in filter(wanted, self.under_way):
            said = self._post(f"/trials/{asked.number}/take-up", by=by, of=asked.by)
            if said is not None:
                return self._trial(said)
        return None

    def forgive(self, trials: Iterable[Trial]) -> None:
        """Take back the give-ups of single trials: see `Study.forgive`."""
        self._post("/forgive", trials=[self._number(trial) for trial in trials])

    def observe(self, region: Any, value: float, sem: float | None = None) -> Observation:
        """Take in a measurement made outside of the study: see `Study.observe`."""
        seen = region if isinstance(region, Region) else self.space.region(region, self.feedback)
        said = self._post("/observe", region=self._said(seen), value=_finite(value), sem=_some(sem))
        return Observation(said["observation"], seen, float(value), sem, study=self.id)

    def allow(self, region: Any) -> int:
        """Take back all give-ups of a region, and of those within it: see `Study.allow`."""
        return int(self._post("/allow", region=self._said(region))["allowed"])

    def extend(self, n: int) -> None:
        """Add `n` measurements to the budget."""
        self._post("/extend", n=n)

    def refit(self) -> bool:
        """Learn the model anew: see `Study.refit`."""
        return bool(self._post("/refit")["learned"])

    def predict(self, regions: Any) -> Prediction:
        """Return posterior mean and standard deviation of any regions' averages: see `Study.predict`."""
        listed, one = self._regions(regions)
        said = self._post("/predict", True, regions=listed)
        mean, std = _floats(said["mean"]), _floats(said["std"])
        return Prediction(float(mean[0]), float(std[0])) if one else Prediction(mean, std)

    def probability(self, regions: Any, *, above: float | None = None, below: float | None = None) -> Any:
        """Return how probably regions are above or below a threshold: see `Study.probability`."""
        listed, one = self._regions(regions)
        said = _floats(self._post("/probability", True, regions=listed, above=above, below=below)["probability"])
        return float(said[0]) if one else said

    @overload
    def recommend(self, k: None = None, *, theta: float = 0.1) -> Recommendation: ...
    @overload
    def recommend(self, k: int, *, theta: float = 0.1) -> list[Recommendation]: ...
    def recommend(self, k: int | None = None, *, theta: float = 0.1) -> Recommendation | list[Recommendation]:
        """Return the region to settle for now, or the `k` best: see `Study.recommend`."""
        found = []
        for own in self._get("/recommend", k=1 if k is None else k, theta=theta):
            node = tuple(own["region"]["node"])
            gap, chance = _floats([own["gap"], own["probability_best"]]).tolist()
            region = self.space.cell(node, self.feedback)
            found.append(Recommendation(region, node, own["mean"], own["std"], gap, chance, own["unit"]))
        return found[0] if k is None else found

    def above(self, threshold: float, probability: float = 0.9) -> list[Likely]:
        """Return the regions that are probably above a threshold, the likeliest first: see `Study.above`."""
        return self._beyond("above", threshold, probability)

    def below(self, threshold: float, probability: float = 0.9) -> list[Likely]:
        """Return the regions that are probably below a threshold, the likeliest first: see `Study.below`."""
        return self._beyond("below", threshold, probability)

    def _beyond(self, side: str, threshold: float, probability: float) -> list[Likely]:
        said = self._get(f"/{side}", threshold=_finite(threshold), probability=probability)["regions"]
        cells = [self.space.cell(tuple(own["region"]["node"]), self.feedback) for own in said]
        return [Likely(**{**own, "region": cell}) for own, cell in zip(said, cells, strict=True)]

    def outlook(self, n: int) -> Outlook:
        """Return what `n` more measurements are expected to bring: see `Study.outlook`."""
        return Outlook(**self._get("/outlook", n=n))

    @property
    def tree(self) -> TreeTable:
        """The table of nodes."""
        said = self._get("/nodes")
        kinds = {"mean": float, "std": float, "noise": float, "reward": float}
        flags = ("expanded", "askable", "smallest", "forbidden")
        columns = {
            own.name: np.array(said[own.name], dtype=kinds.get(own.name, bool if own.name in flags else np.int64))
            for own in fields(TreeTable)
        }
        return TreeTable(**columns)

    @property
    def under_way(self) -> tuple[Asked, ...]:
        """The pending trials as they were asked for, and by whom."""
        found = []
        for own in self._get("/pending")["trials"]:
            trial = self._trial(own)
            found.append(Asked(trial.number, -1, trial.node, trial.replicate, -1, own["by"], ""))
        return tuple(found)

    @property
    def pending(self) -> tuple[Trial, ...]:
        """Trials asked for and not yet told or given up, oldest first."""
        return tuple(self._trial(own) for own in self._get("/pending")["trials"])

    @property
    def trials(self) -> list[TrialRecord]:
        """All trials so far and what became of them."""
        said = self._get("/export/trials.json")["trials"]
        kept = ("state", "value", "sem", "note")
        return [TrialRecord(**vars(self._trial(own)), **{name: own[name] for name in kept}) for own in said]

    @property
    def budget(self) -> int:
        """Measurements that may be made in all."""
        return int(self._get("/pending")["budget"])

    @property
    def told(self) -> int:
        """Trials told."""
        return int(self._get("/pending")["told"])

    @property
    def remaining(self) -> int:
        """Measurements that may still be asked for."""
        return int(self._get("/pending")["remaining"])

    def optimize(
        self,
        measure: Any,
        executor: Any = None,
        *,
        n: int | None = None,
        workers: int | None = None,
        callback: Any = None,
        on_error: Any = "raise",
        max_failures: int | None = None,
        timeout: float | None = None,
        take_over: bool = False,
    ) -> Result:
        """Ask, measure here and tell until the budget, or a part of it, is spent: see `Study.optimize`."""
        told = None if callback is None else lambda _, trial: callback(self, trial)
        with run_of_mine() as run:
            part = Hand(_as_study(self), run, take_over, n)
            why = drive(
                part, measure, executor=executor, workers=workers, callback=told, progress=None,
                enough=None, on_error=on_error, max_failures=max_failures, timeout=timeout,
            )  # fmt: skip
        found, done, budget = self.recommend(), self.told, self.budget
        message = f"{why or part.spent}: {done} of {budget} measurements made"
        sure = (found.mean, found.std, found.gap, found.probability_best)
        success = not why and (n is not None or done == budget)
        return Result(found.region, found.region.x, *sure, done, success, message, study=_as_study(self))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say what to do instead of what no server does."""
            fix = f"On its own machine Study.open has all; here there are {', '.join(WORDS)}."
            raise AttributeError(f"a study on a server has no {name!r}. {fix}")


def _as_study(remote: Any) -> Study:
    """Return the study of a result: it is one in all words that the API has."""
    found: Study = remote
    return found


def _finite(value: Any) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise InvalidInput("a value must be a number", value, "Pass a finite number.") from None
    if not math.isfinite(found):
        raise InvalidInput("a value must be a finite number", value, "Use give_up() if it failed.")
    return found


def _some(sem: Any) -> float | None:
    return None if sem is None else _finite(sem)


def _floats(values: Sequence[float | None]) -> Any:
    return np.array([math.nan if own is None else own for own in values])


def _meant(error: HTTPError) -> ZonalError:
    """Return the error that the library would have raised here."""
    try:
        said = json.load(error)
        detail, title = str(said["detail"]), str(said["title"])
    except (ValueError, KeyError, TypeError, OSError):
        return Refused(f"the server answered {error.code} {error.reason}.")
    kind = MEANT.get(title, Refused)
    if error.code == 422:
        found = InvalidInput.__new__(InvalidInput)
        found.args = (detail,)
        return found
    return kind(detail)
