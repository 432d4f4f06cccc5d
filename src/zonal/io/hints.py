"""Names used by other libraries, so that an error can name the equivalent here."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable
from functools import wraps
from types import FunctionType
from typing import TYPE_CHECKING, NoReturn, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)

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
    "zn.Study.open(path)": "load_study load from_file",
    "zn.minimize(measure, space, budget=...)": "gp_minimize fmin",
    "zn.maximize": "maximise",
    "zn.minimize": "minimise",
    "budget= of the study, or optimize(measure, n=...) for a part of it": "n_trials",
    "budget= of the study": "n_calls n_iter maxiter",
    "workers= for threads, or executor=": "n_jobs",
    "callback=, one function of a study and a trial": "callbacks",
    "progress=True": "show_progress_bar",
    'on_error="fail"': "catch",
    "rng=": "seed random_state",
    "feedback=zn.Beam(...)": "beam psf fwhm",
    "forbidden=": "mask exclude forbid",
    "noise=": "sigma noise_std alpha error errors uncertainty std yerr",
    "sem=": "sigma noise error errors uncertainty std yerr stderr",
    "value_unit=": "unit units",
    "units=": "unit",
    "value_name=": "name label quantity",
    'the keys of a mapping, zn.Box({"x": (0, 1)})': "name names axis_names dims",
    "zn.Study.create(path, space, budget=...)": "storage path file filename",
    "policy=": "acquisition acquisition_function acq_func sampler strategy",
    "periodic=": "wrap wrapped circular cyclic ring",
    'scale="log"': "log log_scale logscale",
    'scale="integer"': "integer integers dtype",
    "smallest=": "resolution min_size min_width cell_size pixel",
    "minus=": "off background reference",
    "note=": "comment remark",
    "probability=": "confidence credibility",
    "sigma=": "nsigma n_sigma snr std",
    "features=": "coords coordinates",
    "weights=": "population sizes counts",
    "direction=": "goal mode",
    "max_replicates=": "max_repeats repeats max_replicates",
    "times=": "exposure exposures durations",
    "time=": "exposure duration",
    "zn.Study.create(path, space, budget=...): the file's name is the study's": "study_name",
    "zn.Study.create(..., exist_ok=True)": "load_if_exists",
    "kernel=zn.RBF(variance, lengthscale)": "lengthscale",
}
ELSEWHERE: dict[str, list[str]] = {}  # of each name from elsewhere: what it is here, by what is called
for _name_here, _names in HERE.items():
    for _name in _names.split():
        ELSEWHERE.setdefault(_name, []).append(_name_here)


def missing(what: str, name: str) -> AttributeError:
    """Return the error for a missing attribute, with the name used here if another library's was used."""
    return AttributeError(f"{what} has no attribute {name!r}.{_meant(name)}")


class Named(type):
    """The type of a class that answers for attributes it does not have, such as ``Study.load``."""

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> NoReturn:
            """Raise AttributeError; where another library's name was used, name the one used here."""
            raise missing(cls.__name__, name)


def hinting(options: type | None = None, *, methods: bool = False) -> Callable[[C], C]:
    """Decorate a class: its constructors, and its public `methods`, answer an unknown argument as `answering`.

    The `options` are further arguments of its constructors.
    """

    def dressed(kind: C) -> C:
        dress, dress_method = answering(options), answering()
        for name, value in list(vars(kind).items()):
            if name.startswith("_") and name != "__init__":
                continue
            if isinstance(value, classmethod):
                setattr(kind, name, classmethod(dress(value.__func__)))
            elif isinstance(value, FunctionType) and name == "__init__":
                setattr(kind, name, dress(value))
            elif isinstance(value, FunctionType) and methods:
                setattr(kind, name, dress_method(value))
        return kind

    return dressed


def answering(options: type | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function: an argument it does not take raises with the name used here.

    Any further arguments of it are those of `options`; without them it stays as it is.
    """

    def dressed(function: Callable[P, R]) -> Callable[P, R]:
        parameters = inspect.signature(function).parameters
        further = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
        if further and options is None:
            return function
        accepted = {*parameters, *(getattr(options, "__annotations__", ()) if further else ())}

        @wraps(function)
        def call(*arguments: P.args, **named: P.kwargs) -> R:
            for name in named:
                if name not in accepted:
                    called = function.__qualname__.removesuffix(".__init__")
                    raise TypeError(f"{called} takes no {name}=.{_meant(name, accepted)}")
            return function(*arguments, **named)

        return call

    return dressed


def guess(word: object, words: Iterable[str]) -> str:
    """Return "Did you mean ...?" with the closest of some words, if one is close."""
    close = difflib.get_close_matches(word, list(words), n=1) if isinstance(word, str) else []
    return f"Did you mean {close[0]!r}? " if close else ""


def _meant(name: str, accepted: Iterable[str] | None = None) -> str:
    """Return a hint for an attribute, or for an argument where others are `accepted`.

    Of what the name may mean here, that which is taken goes first.
    """
    suggestions, taken = ELSEWHERE.get(name, []), set(accepted or ())
    fitting = [words for words in suggestions if re.split(r"\W", words)[0] in taken]
    alone = [words for words in suggestions if re.fullmatch(r"\w+=", words)]  # arguments of some other call
    others = [words for words in suggestions if words not in alone]
    close = [f"{word}=" for word in difflib.get_close_matches(name, taken, n=1)]
    meant = next(iter([*fitting, *others, *(() if accepted is None else alone), *close]), "")
    return f" Did you mean {meant}?" if meant else ""
