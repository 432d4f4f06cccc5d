"""Names used by other libraries, so that an error can name the equivalent here."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

ELSEWHERE = {
    "best_params": "recommend().region",
    "best_value": "recommend().mean",
    "best_trial": "recommend()",
    "best_trials": "recommend(k=5), or top(5)",
    "trials_dataframe": "table().to_pandas()",
    "get_trials": "trials",
    "stop": "a callback that raises StopIteration",
    "enqueue_trial": "observe(region, value)",
    "add_trial": "observe(region, value)",
    "suggest": "ask()",
    "report": "tell(trial, value)",
    "provide_recommendation": "recommend()",
    "get_next_trial": "ask()",
    "complete_trial": "tell(trial, value)",
    "get_best_trial": "recommend()",
    "fit": "refit()",
    "posterior": "predict(regions)",
    "minimize": 'zn.minimize(...), or Study(..., direction="minimize")',
    "maximize": "optimize(measure)",
    "optimise": "optimize(measure)",
    "run": "optimize(measure)",
    "best": "recommend()",
    "best_region": "recommend().region",
    # Of a trial: it is a region, not a point.
    "params": "region.as_dict()",
    "suggest_float": 'an axis of the space, zn.Box({"x": (0, 1)}), and trial.region["x"]',
    "suggest_int": 'an axis of the space, zn.Box({"x": (0, 9)}, scale="integer"), and trial.region["x"]',
    "suggest_categorical": 'an axis of the space, zn.Product({"kind": [...]}), and trial.region["kind"]',
    "set_user_attr": 'study.tell(trial, value, note="...")',
    "value": "study.trials[trial.number].value",
    # Of zonal itself.
    "create_study": "zn.Study(space, budget=...), or zn.Study.create(path, space, budget=...)",
    "load_study": "zn.Study.open(path)",
    "gp_minimize": "zn.minimize(measure, space, budget=...)",
    "fmin": "zn.minimize(measure, space, budget=...)",
    "maximise": "zn.maximize",
    "minimise": "zn.minimize",
    # Arguments.
    "n_trials": "budget= of the study, or optimize(measure, n=...) for a part of it",
    "n_calls": "budget= of the study",
    "n_iter": "budget= of the study",
    "maxiter": "budget= of the study",
    "n_jobs": "workers= for threads, or executor=",
    "callbacks": "callback=, one function of a study and a trial",
    "show_progress_bar": "progress=True",
    "catch": 'on_error="give_up"',
    "seed": "rng=",
    "random_state": "rng=",
    "storage": "zn.Study.create(path, space, budget=...)",
    "study_name": "zn.Study.create(path, space, budget=...): the file's name is the study's",
    "load_if_exists": "zn.Study.create(..., exist_ok=True)",
    "lengthscale": "kernel=zn.RBF(variance, lengthscale)",
}


def missing(what: str, name: str) -> AttributeError:
    """Return the error for a missing attribute, with the name used here if another library's was used."""
    return AttributeError(f"{what} has no attribute {name!r}.{_meant(name)}")


def answering(options: type | None = None) -> Callable[[F], F]:
    """Decorate a function: an argument not in its signature or `options` raises with the name used here."""

    def dressed(function: F) -> F:
        known = {*inspect.signature(function).parameters, *getattr(options, "__annotations__", ())}

        @wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            for name in named:
                if name not in known:
                    called = function.__qualname__.removesuffix(".__init__")
                    raise TypeError(f"{called} takes no {name}=.{_meant(name, known)}")
            return function(*arguments, **named)

        return call  # type: ignore[return-value]

    return dressed


def guess(word: object, known: Iterable[str]) -> str:
    """Return "Did you mean ...?" with the closest of some words, if one is close."""
    close = difflib.get_close_matches(str(word), list(known), n=1)
    return f"Did you mean {close[0]!r}? " if close else ""


def _meant(name: str, known: Iterable[str] = ()) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    meant = ELSEWHERE.get(name, f"{close[0]}=" if close else "")
    return f" Did you mean {meant}?" if meant else ""
