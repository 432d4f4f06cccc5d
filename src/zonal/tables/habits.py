"""Names used by other libraries, so that an error can name the equivalent here."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

HERE = {  # what does here what these names do elsewhere: of a study, a trial, zonal itself, or arguments
    "recommend().region": "best_params best_region",
    "recommend().mean": "best_value",
    "recommend()": "best_trial provide_recommendation get_best_trial best",
    "recommend(k=5), or top(5)": "best_trials",
    "table().to_pandas()": "trials_dataframe",
    "trials": "get_trials",
    "a callback that raises StopIteration": "stop",
    "observe(region, value)": "enqueue_trial add_trial",
    "ask()": "suggest get_next_trial",
    "tell(trial, value)": "report complete_trial",
    "refit()": "fit",
    "predict(regions)": "posterior",
    'zn.minimize(...), or Study(..., direction="minimize")': "minimize",
    "optimize(measure)": "maximize optimise run",
    "region.as_dict()": "params",
    'an axis of the space, zn.Box({"x": (0, 1)}), and trial.region["x"]': "suggest_float",
    'an axis of the space, zn.Box({"x": (0, 9)}, scale="integer"), and trial.region["x"]': "suggest_int",
    'an axis of the space, zn.Product({"kind": [...]}), and trial.region["kind"]': "suggest_categorical",
    'study.tell(trial, value, note="...")': "set_user_attr",
    "study.trials[trial.number].value": "value",
    "zn.Study(space, budget=...), or zn.Study.create(path, space, budget=...)": "create_study",
    "zn.Study.open(path)": "load_study",
    "zn.minimize(measure, space, budget=...)": "gp_minimize fmin",
    "zn.maximize": "maximise",
    "zn.minimize": "minimise",
    "budget= of the study, or optimize(measure, n=...) for a part of it": "n_trials",
    "budget= of the study": "n_calls n_iter maxiter",
    "workers= for threads, or executor=": "n_jobs",
    "callback=, one function of a study and a trial": "callbacks",
    "progress=True": "show_progress_bar",
    'on_error="give_up"': "catch",
    "rng=": "seed random_state",
    "zn.Study.create(path, space, budget=...)": "storage",
    "zn.Study.create(path, space, budget=...): the file's name is the study's": "study_name",
    "zn.Study.create(..., exist_ok=True)": "load_if_exists",
    "kernel=zn.RBF(variance, lengthscale)": "lengthscale",
}
ELSEWHERE = {name: here for here, names in HERE.items() for name in names.split()}


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
