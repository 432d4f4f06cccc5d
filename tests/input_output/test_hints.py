"""Names from elsewhere are answered with those they have here, wherever somebody writes them."""

import inspect
import re
from typing import Any

import pytest

import zonal as zn

STUDY: Any = zn.Study([(0, 1)], budget=3, noise=0.1)
ZONAL: Any = zn


def test_what_a_study_or_a_trial_has_not_is_answered_with_what_it_has() -> None:
    trial: Any = STUDY.ask()
    for owner, name, hint in (
        (STUDY, "optimise", r"optimize\(measure\)"),
        (STUDY, "best_params", r"recommend\(\).region"),
        (trial, "params", r"region.as_dict\(\)"),
        (trial, "suggest_float", "an axis of the space"),
        (ZONAL, "create_study", r"zn.Study\(space, budget=...\)"),
        (ZONAL, "maximise", "zn.maximize"),
        (zn.Study, "load", r"zn.Study.open\(path\)"),
        (STUDY, "load", r"zn.Study.open\(path\)"),
    ):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'. Did you mean {hint}"):
            getattr(owner, name)
        assert not hasattr(owner, name)
    with pytest.raises(AttributeError, match=r"^zonal has no attribute 'colour'\.$"):
        ZONAL.colour  # noqa: B018


@pytest.mark.parametrize(
    ("name", "hint"),
    [("n_trials", "budget= of the study"), ("n_jobs", "workers="), ("callbacks", "callback="), ("seed", "rng=")],
)
def test_an_argument_from_elsewhere_is_answered_with_ours(name: str, hint: str) -> None:
    calls: list[tuple[str, Any]] = [
        ("Study", lambda **named: zn.Study([(0, 1)], budget=3, **named)),
        ("Study.create", lambda **named: zn.Study.create("never.db", [(0, 1)], budget=3, **named)),
        ("optimize", lambda **named: STUDY.optimize(abs, **named)),
        ("maximize", lambda **named: zn.maximize(abs, [(0, 1)], 3, **named)),
        ("power", lambda **named: zn.power([(0, 1)], 3, noise=0.1, **named)),
    ]
    for called, call in calls:
        with pytest.raises(TypeError, match=f"{called.split('.')[0]}.* takes no {name}=. Did you mean {hint}"):
            call(**{name: 3})


SPACES: list[Any] = [
    lambda **named: zn.Box([(0, 1)], **named),
    lambda **named: zn.Product({"x": (0, 1)}, **named),
]


@pytest.mark.parametrize(
    ("call", "name", "hint"),
    [
        *((lambda **named: zn.Study([(0, 1)], budget=3, **named), *own) for own in (
            ("beam", "feedback=zn.Beam("), ("mask", "forbidden="), ("exclude", "forbidden="), ("sigma", "noise="),
            ("unit", "value_unit="), ("name", "value_name="), ("path", "zn.Study.create(path"),
            ("acquisition", "policy="),
        )),
        *((space, *own) for space in SPACES for own in (
            ("wrap", "periodic="), ("log", 'scale="log"'), ("unit", "units="), ("name", "the keys of a mapping"),
            ("resolution", "smallest="), ("beam", "feedback=zn.Beam("),
        )),
        (lambda **named: zn.Points([[0.0]], **named), "population", "weights="),
        (lambda **named: zn.Hierarchy({"A": ["1"]}, **named), "coords", "features="),
        (lambda **named: zn.Hierarchy.from_table({"a": ["1"]}, **named), "population", "weights="),
        (lambda **named: STUDY.above(1, **named), "snr", "sigma="),
        (lambda **named: STUDY.above(1, **named), "confidence", "probability="),
        (lambda **named: STUDY.tell(0, 1.0, **named), "off", "minus="),
        (lambda **named: STUDY.tell(0, 1.0, **named), "sigma", "sem="),
        (lambda **named: STUDY.tell(0, 1.0, **named), "comment", "note="),
        (lambda **named: STUDY.observe([(0, 1)], 1.0, **named), "beam", "feedback=zn.Beam("),
        (lambda **named: STUDY.observe([(0, 1)], 1.0, **named), "noise", "sem="),
        (lambda **named: zn.maximize(abs, [(0, 1)], 3, **named), "mask", "forbidden="),
        (lambda **named: zn.Study.open("never.db", **named), "beam", "feedback=zn.Beam("),
    ],
)  # fmt: skip
def test_what_other_fields_call_an_argument_is_answered_with_what_this_call_takes(
    call: Any, name: str, hint: str
) -> None:
    with pytest.raises(TypeError, match=rf" takes no {name}=\. Did you mean {re.escape(hint)}"):
        call(**{name: 3})


def test_a_call_that_answers_is_still_the_call_that_it_was() -> None:
    assert zn.maximize.__name__ == "maximize"
    assert zn.Study.optimize.__doc__ is not None
    assert zn.Study.optimize.__doc__.startswith("Ask, measure and tell")
    assert STUDY.measured == 0
    assert [*inspect.signature(zn.Box).parameters][:2] == ["bounds", "arity"]
    assert [*inspect.signature(zn.Study.tell).parameters][:3] == ["self", "trial", "value"]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'trial'"):
        STUDY.tell()
