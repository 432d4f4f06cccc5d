"""What goes into a file comes back as it was, to the last bit; what is the user's own is asked for again."""

import json
import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zonal as zn
from effort import examples, tries
from kinds import KINDS, Kind, allowed, kernels, off_tree, spaces
from user_defined import Fine, MostUncertain, Rough, Tapered, own_delta, own_noise
from zonal.engine.events import (
    Asked,
    Claimed,
    Closed,
    Corrected,
    Created,
    Expanded,
    Extended,
    Fitted,
    Forbidden,
    ModelWarned,
    Noted,
    Observed,
    Reading,
    Retracted,
    Split,
    Told,
    Transaction,
    Unblocked,
)
from zonal.engine.settings import Settings
from zonal.errors import InvalidInput, StudyFileError
from zonal.gp.hyperparameters import Fit, WeightedModel
from zonal.gp.model import Model
from zonal.kernels.base import Kernel
from zonal.kernels.feedback import Feedback
from zonal.storage import encoding, schema
from zonal.storage.encoding import Decoder, encode
from zonal.storage.schema import DecodedSettings, settings_from_json, settings_to_json

numbers = st.floats(allow_nan=False, width=64)
texts = st.text(max_size=8)


def again(value: Any) -> Any:
    """Return a value after a journey through text."""
    return Decoder()(json.loads(json.dumps(encode(value), allow_nan=False)))


def settings_of(space: Any, **given: Any) -> Settings:
    """Return the settings of a study."""
    return zn.Study(space, budget=given.pop("budget", 5), **given).settings


@given(spaces())
@examples(60)
def test_every_space_comes_back(kind: Kind) -> None:
    space = again(kind.space)
    assert space == kind.space
    assert repr(space) == repr(kind.space)
    assert [space.partition.count(depth) for depth in range(4)] == [
        kind.space.partition.count(depth) for depth in range(4)
    ]
    whole = space.cell((0, 0))
    if space.may_split(whole):
        assert [child.key for child in space.split(whole)] == [
            child.key for child in kind.space.split(kind.space.cell((0, 0)))
        ]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kernel_and_feedback_comes_back(kind: str) -> None:
    for pair in kernels(KINDS[kind]).values():
        if isinstance(pair.ours, Kernel):
            assert again(pair.ours) == pair.ours
    for feedback in allowed(KINDS[kind]):
        assert again(feedback) == feedback


DELTAS: list[Any] = [
    zn.GeometricDelta(0.1 + 0.2, 1 / 3),
    zn.LipschitzDelta(),
    zn.LipschitzDelta(0.3),
    zn.SpreadDelta(),
]
POLICIES = [
    None,
    zn.KnowledgeGradient(),
    zn.KnowledgeGradient("smallest"),
    *(zn.GPOO(delta, theta=0.05, h_max=4) for delta in DELTAS),
    zn.StoOO(DELTAS[0]),
    zn.GPTree(h_max=3),
    zn.UCB(level=2),
    zn.Random(level=2),
    zn.Thompson(level=1),
    zn.UniformGrid(),
]


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_settings_with_every_policy_come_back(policy: Any) -> None:
    study = settings_of(
        zn.Box({"å": (-1e-300, 1 / 3)}, units={"å": "µm"}),
        kernel=zn.RBF(1.0, 0.1),
        noise=zn.PerWeight(0.1),
        mean=-1e-17,
        policy=policy,
        direction="minimize",
        max_replicates=3,
        rng=2**61 + 1,
        value_name="yield",
    )
    opened = settings_from_json(settings_to_json(study), {})
    assert opened.settings == study
    assert opened.missing == {}


@pytest.mark.parametrize("kernel", [zn.RBF, zn.Matern, None])
def test_a_kernel_to_be_learned_comes_back(kernel: Any) -> None:
    study = settings_of(zn.Box([(0, 1)]), kernel=kernel)
    assert settings_from_json(settings_to_json(study), {}).settings.kernel is kernel


@st.composite
def fits(draw: st.DrawFn) -> Fit:
    kernel = draw(
        st.sampled_from(
            [
                zn.RBF(1 / 3, (0.1, 0.7)),
                zn.Matern(0.1, 0.2, nu=1.5),
                zn.RBF(1, 1) * zn.Categorical(2, 0.3),
                zn.Motif(1 / 3, lengths=[2, 3]) + zn.Categorical(2, 0.3),
                zn.Matern(1 / 3, 0.2) + zn.Nugget(2),
            ]
        )
    )
    model = Model(
        kernel,
        draw(st.none() | numbers),
        draw(numbers),
        draw(st.dictionaries(texts, st.floats(), max_size=3)),
        draw(st.integers(0, 99)),
    )
    members = tuple(WeightedModel(draw(numbers), model) for _ in range(draw(st.integers(1, 2))))
    return Fit(model, members, ((draw(st.integers(0, 3)), (draw(st.integers(-9, 9)), 0)),))


@cache
def opened(kind: str, feedback: Feedback) -> DecodedSettings:
    return DecodedSettings(settings_of(KINDS[kind].space, feedback=feedback), {})


@st.composite
def events(draw: st.DrawFn) -> tuple[Transaction, DecodedSettings]:
    """Draw an event of any kind, and the settings of a study in which it may have happened."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    feedback = draw(st.sampled_from(allowed(KINDS[kind])))
    region = replace(off_tree(KINDS[kind], 1, draw(st.integers(0, 99)))[0], feedback=feedback)
    if draw(st.booleans()):
        region = KINDS[kind].space.cell((1, 0), feedback)
    regions = st.lists(st.just(region), max_size=2).map(tuple)
    whole, sem, minus = st.integers(0, 2**62), st.none() | numbers, st.none() | st.just(region)
    node = st.tuples(st.integers(0, 60), whole)
    rows = st.lists(st.integers(0, 9), min_size=1, max_size=3).map(tuple)
    labels = st.lists(st.tuples(texts, texts), max_size=2).map(tuple)
    limits = st.sampled_from(["", "below", "above"])
    reading = st.none() | st.builds(Reading, limits, sem, numbers, numbers)
    noise, forbidden = st.lists(numbers, max_size=3).map(tuple), st.lists(st.booleans(), max_size=3).map(tuple)
    fact = st.one_of(
        st.builds(
            Created, texts, whole, texts, whole, whole, numbers, st.booleans(), cheapest=numbers, time=numbers
        ),
        st.builds(Split, rows, st.booleans(), noise, forbidden, st.none() | st.integers(0, 2**32 - 1)),
        st.builds(Expanded, whole),
        st.builds(
            Asked,
            whole,
            whole,
            node,
            whole,
            whole,
            texts,
            texts,
            numbers,
            numbers,
            regions,
            regions,
            minus,
            labels,
        ),
        st.builds(Forbidden, st.just(region), texts, texts),
        st.builds(Claimed, whole, texts),
        st.builds(Told, whole, numbers, sem, texts, sem, minus, reading=reading, labels=labels),
        st.builds(Closed, whole, st.sampled_from(["failed", "cancelled"]), st.booleans(), texts),
        st.builds(Noted, whole, texts),
        st.builds(
            Observed,
            st.just(region),
            numbers,
            sem,
            numbers,
            st.just(feedback),
            numbers,
            minus,
            reading=reading,
            labels=labels,
        ),
        st.builds(Corrected, whole, st.booleans(), numbers, sem, texts, texts, reading=reading, labels=labels),
        st.builds(Retracted, whole, st.booleans(), texts, texts),
        st.builds(Fitted, fits(), st.booleans()),
        st.builds(ModelWarned, texts),
        st.builds(Extended, whole),
        st.builds(Unblocked, st.lists(whole, max_size=70).map(tuple), st.lists(whole, max_size=3).map(tuple)),
    )
    return tuple(draw(st.lists(fact, min_size=1, max_size=4))), opened(kind, feedback)


@given(events())
@pytest.mark.tries
@settings(max_examples=tries(40, 150), deadline=None)
def test_every_event_comes_back(case: tuple[Transaction, DecodedSettings]) -> None:
    event, opened = case
    texts = opened
    back = texts.read(texts.write(event))
    assert repr(back) == repr(event)  # of numbers that are not there (NaN) no two are equal
    if "nan" not in repr(event):
        assert back == event


@pytest.mark.parametrize("number", [math.inf, -math.inf, 5e-324, 1.7976931348623157e308, -0.0, 0.1 + 0.2])
def test_every_number_comes_back(number: float) -> None:
    assert again(number).hex() == number.hex()
    assert math.isnan(again(math.nan))


def test_long_tuples_and_arrays_are_packed() -> None:
    rows = tuple(range(1000))
    assert again(rows) == rows
    assert len(json.dumps(encode(rows))) < 3000
    array = np.linspace(0, 1, 7).reshape(7, 1)
    assert np.array_equal(again(array), array)
    assert not again(array).flags.writeable


def test_arrays_are_bounded_together_and_what_cannot_be_read_is_not_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    space = zn.Points(np.linspace(0, 1, 40))
    text = settings_to_json(settings_of(space))
    monkeypatch.setattr(schema, "MAX_BYTES", 2000)
    with pytest.raises(InvalidInput, match="bytes cannot be stored in a file; got "):
        settings_to_json(settings_of(space))
    decode = Decoder(left=2000)
    with pytest.raises(StudyFileError, match="bytes cannot be stored in a file"):
        decode(json.loads(text)["space"])


def test_many_events_may_be_read_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    study = zn.Study(zn.Points(np.arange(200.0)), budget=3, kernel=zn.RBF(1, 0.1), noise=0.1)
    study.observe(range(0, 200, 2), 0.5)
    events = DecodedSettings(study.settings, {})
    text = events.write(study.events[-1])
    monkeypatch.setattr(schema, "MAX_BYTES", 2000)
    for _ in range(5):
        events.renew()
        assert events.read(text) == study.events[-1]
    with pytest.raises(StudyFileError, match="bytes cannot be stored in a file"):
        events.read(text)


AXIS: Any = encode(zn.Box([(0, 1)]).axes[0])
POINTS = zn.Points({"dose": [1.0, 2.0, 4.0, 8.0]}, labels=["a", "b", "c", "d"])
AREAS = zn.Hierarchy({"N": ["Ayr", "Bath"], "S": ["Cork"]})
FORGED: dict[str, tuple[Any, dict[str, Any]]] = {
    "axes that are none": (zn.Box([(0, 1)]), {"axes": []}),
    "a symbol in a box": (zn.Box([(0, 1)]), {"axes": encode(zn.Sequences("AC", 2).axes)}),
    "an axis from high to low": (zn.Box([(0, 1)]), {"axes": [{**AXIS, "low": 2.0}]}),
    "an axis without an end": (
        zn.Box([(0, 1)]),
        {"axes": [{**AXIS, "high": {"$": "float", "is": "inf"}}]},
    ),
    "one child": (zn.Box([(0, 1)]), {"arity": 1}),
    "something else": (zn.Box([(0, 1)]), {"cell": 3}),
    "an order that leaves one out": (zn.Sequences("AC", 2), {"order": [0, 0]}),
    "another arity": (zn.Sequences("AC", 2), {"arity": 3}),
    "shares that are not whole": (
        zn.Sequences("AC", 1),
        {"axes": [{"$": "CategoricalAxis", "name": "position 0", "symbols": ["A", "C"], "shares": [0.9, 0.9]}]},
    ),
    "rows that are not all": (POINTS, {"rows": encode(np.array([0, 0, 1, 2]))}),
    "rows that are not there": (POINTS, {"rows": encode(np.array([0, 1, 2, 9]))}),
    "a weight of nothing": (POINTS, {"weights": encode(np.zeros(4))}),
    "a feature that is no number": (POINTS, {"features": encode(np.full((4, 1), np.nan))}),
    "labels of others": (POINTS, {"labels": ["a"]}),
    "labels that are no names": (POINTS, {"labels": [{"$": "dict", "items": {}}] * 4}),
    "no levels": (POINTS, {"_levels": []}),
    "levels that end too early": (POINTS, {"_levels": [encode(level) for level in POINTS._levels[:-1]]}),
    "levels upside down": (POINTS, {"_levels": [encode(level) for level in reversed(POINTS._levels)]}),
    "more children than there are": (
        POINTS,
        {"_levels": [encode(replace(level, children=level.children * 10**9)) for level in POINTS._levels]},
    ),
    "children that overlap": (
        POINTS,
        {"_levels": [encode(replace(level, start=np.zeros_like(level.start))) for level in POINTS._levels]},
    ),
    "leaves without a way": (AREAS, {"paths": [["N", "Ayr"]]}),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_space_that_nobody_could_have_made_is_refused(name: str) -> None:
    space, parts = FORGED[name]
    stored: Any = encode(space)
    assert Decoder()(stored) == space
    with pytest.raises(encoding.DECODE_ERRORS):
        Decoder()(stored | parts)


OWN: dict[str, dict[str, Any]] = {
    "noise": {"noise": own_noise, "kernel": zn.RBF(1, 0.1)},
    "delta": {"policy": zn.GPOO(own_delta, h_max=3), "kernel": zn.RBF(1, 0.1), "noise": 0.1},
    "forbidden": {"forbidden": lambda region: False},
    "kernel": {"kernel": Rough(1.0, 0.1), "noise": 0.1},
}


@pytest.mark.parametrize("name", OWN)
def test_what_is_the_users_own_is_asked_for_again(name: str) -> None:
    study = settings_of(zn.Box([(0, 1)]), **OWN[name])
    text = settings_to_json(study)
    value = OWN[name].get(name, own_delta)
    assert settings_from_json(text, {name: value}).settings == study
    opened = settings_from_json(text, {})
    assert list(opened.missing) == [name]
    assert opened.has_kernel == (name != "kernel")


def test_what_is_in_the_file_is_not_to_be_given_again() -> None:
    text = settings_to_json(settings_of(zn.Box([(0, 1)]), noise=0.1))
    with pytest.raises(InvalidInput, match="noise is stored in its file"):
        settings_from_json(text, {"noise": 0.2})


def test_a_stand_in_says_what_is_missing_when_it_is_needed() -> None:
    text = settings_to_json(settings_of(zn.Box([(0, 1)]), **OWN["noise"]))
    noise = settings_from_json(text, {}).settings.noise
    assert callable(noise)
    with pytest.raises(StudyFileError, match=r"Open it with noise=\.\.\."):
        noise(zn.Box([(0, 1)]).cell((0, 0)))


@pytest.mark.parametrize(
    "kernel",
    [Rough, Rough(1.0, 0.1), zn.RBF(1, 0.3) + Rough(1.0, 0.1), lambda x, y: np.exp(-((x - y.T) ** 2))],
    ids=["class", "kernel", "sum", "function"],
)
def test_models_of_a_kernel_of_the_users_own_come_back(kernel: Any) -> None:
    space = zn.Points(np.linspace(0, 1, 9)) if not isinstance(kernel, type | Kernel) else zn.Box([(0, 1)])
    study = zn.Study(space, budget=12, kernel=kernel, rng=0)
    for number in range(8):
        study.tell(study.ask(), float(np.sin(3 * number)))
    texts = settings_from_json(settings_to_json(study.settings), {"kernel": kernel})
    assert tuple(texts.read(texts.write(event)) for event in study.events) == study.events
    blind = settings_from_json(settings_to_json(study.settings), {})
    seen = zn.Study.replay(blind.settings, map(blind.read, map(texts.write, study.events)), batch=True)
    assert seen.trials == study.trials


def test_what_a_later_release_has_added_is_named() -> None:
    with pytest.raises(StudyFileError, match="holds a Whatever, which this version of Zonal does not know"):
        Decoder()({"$": "Whatever", "size": 3})


@pytest.mark.parametrize("name", ["space", "feedback"])
def test_without_its_space_or_feedback_nothing_can_be_seen(name: str) -> None:
    value: Any = Fine([(0, 1)]) if name == "space" else Tapered()
    study = zn.Study(
        **{"space": zn.Box([(0, 1)]), "budget": 5, "kernel": zn.RBF(1, 0.1), "noise": 0.1, name: value}
    )
    study.observe([(0.1, 0.7)], 0.3)
    text = settings_to_json(study.settings)
    with pytest.raises(StudyFileError, match=f"Open it with {name}="):
        settings_from_json(text, {})
    opened = settings_from_json(text, {name: value})
    events = opened
    assert tuple(events.read(events.write(event)) for event in study.events) == study.events


@pytest.mark.parametrize("beam", [zn.Beam(0.1), zn.Beam({"x": 0.2}), zn.Beam(share=0.8)], ids=repr)
def test_a_beam_comes_back(beam: zn.Beam) -> None:
    assert again(beam) == beam


BY_CLASS: dict[str, Any] = {
    "space": Fine([(0, 1)], smallest=1 / 8),
    "kernel": Rough(1.0, 0.1),
    "feedback": Tapered(),
    "policy": MostUncertain(level=2),
}


def lived(**given: Any) -> zn.Study:
    """Return a study in which something has happened."""
    usual: dict[str, Any] = {"space": zn.Box([(0, 1)]), "budget": 9, "kernel": zn.RBF(1, 0.1), "noise": 0.1}
    study = zn.Study(**usual | given)
    for number in range(4):
        study.tell(study.ask(), 0.1 * number)
    return study


@pytest.mark.parametrize("name", [*BY_CLASS, "all", "delta"])
@pytest.mark.parametrize("way", ["class", "classes", "value"])
def test_what_is_of_a_class_of_the_users_own_needs_the_class_alone(name: str, way: str, tmp_path: Any) -> None:
    user_defined = (
        BY_CLASS if name == "all" else {name: BY_CLASS[name]} if name in BY_CLASS else {"delta": Halving(0.7)}
    )
    study = lived(**user_defined) if name != "delta" else lived(policy=zn.GPOO(user_defined["delta"], h_max=4))
    study.save(tmp_path / "own.db")
    kinds = {name: type(value) for name, value in user_defined.items()}
    ways: dict[str, Any] = {"class": kinds, "classes": {"classes": list(kinds.values())}, "value": user_defined}
    opened = zn.Study.open(tmp_path / "own.db", **ways[way])
    assert opened.read_only == ""
    assert opened.settings == study.settings
    assert opened.events == study.events
    assert opened.ask().node == zn.Study.replay(study.settings, study.events).ask().node


@dataclass(frozen=True)
class Halving:
    """A delta."""

    first: float

    def __call__(self, depth: int) -> float:
        return float(self.first * 0.5**depth)


def test_other_feedbacks_of_the_users_own_are_observed_by_and_kept(tmp_path: Any) -> None:
    study = lived()
    study.save(tmp_path / "own.db")
    study.observe([(0.1, 0.4)], 0.3, feedback=Tapered())
    with pytest.raises(StudyFileError, match=r"holds a Tapered, .*classes=\[Tapered\]"):
        zn.Study.open(tmp_path / "own.db")
    assert zn.Study.open(tmp_path / "own.db", classes=[Tapered]).events == study.events


def test_another_value_than_was_given_is_refused(tmp_path: Any) -> None:
    lived(kernel=Rough(1.0, 0.1)).save(tmp_path / "own.db")
    with pytest.raises(InvalidInput, match="made with another kernel"):
        zn.Study.open(tmp_path / "own.db", kernel=Rough(1.0, 0.2))


def test_a_class_that_is_called_like_one_of_zonals_is_not_taken_for_it(tmp_path: Any) -> None:
    impostor: Any = dataclass(frozen=True)(type("RBF", (Rough,), {}))
    lived(kernel=impostor(1.0, 0.1)).save(tmp_path / "own.db")
    assert zn.Study.open(tmp_path / "own.db").read_only
    again = zn.Study.open(tmp_path / "own.db", kernel=impostor(1.0, 0.1))
    assert type(again.settings.kernel) is impostor


class Steep(Rough):
    """A kernel that is made otherwise than of its fields."""

    def __init__(self, steepness: float) -> None:
        super().__init__(1.0, 1 / steepness)


def test_what_cannot_be_made_of_its_fields_is_given_again_itself(tmp_path: Any) -> None:
    lived(kernel=Steep(5.0)).save(tmp_path / "own.db")
    for classes in ([Steep], []):
        assert "kernel" in zn.Study.open(tmp_path / "own.db", classes=classes).read_only
    assert zn.Study.open(tmp_path / "own.db", kernel=Steep(5.0)).read_only == ""


def test_nothing_is_looked_up_beyond_what_is_public_or_given() -> None:
    for name in ("Popen", "Study", "Path", "os.system", "Journal", "Missing", "Custom", "__class__", "Decoder"):
        with pytest.raises(StudyFileError, match="does not know"):
            Decoder()({"$": name})
    assert {zn.RBF, zn.Box, zn.Points, Fit, Asked, zn.GPOO} <= set(encoding.zonal_classes().values())
