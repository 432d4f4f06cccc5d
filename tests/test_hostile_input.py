"""Values that once came through to a raw Python error, or lost a part without a word."""

import enum
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

import zonal as zn
from zonal.kernels.base import Kernel, Sum
from zonal.simulation import from_table
from zonal.simulation.rehearsal import rehearse
from zonal.web.space_data import region_data

PAIR = np.array(["maximize", "minimize"])
BOX = zn.Box([(0, 1)])
POINTS = zn.Points([[1.0], [2.0]])
SEQUENCES = zn.Sequences("AC", 3)
ANY: Any = None
HUGE = 10**5000  # more digits than Python shows
ZERO_D: Any = np.array(3)


class Empty(Kernel):
    """Called a kernel, and none."""

    terms = ()


class Texts(Kernel):
    """Another."""

    terms: Any = ("RBF",)


def study(**settings: Any) -> zn.Study:
    given: dict[str, Any] = {"kernel": zn.RBF(1.0, 0.2), "noise": 0.1}
    return zn.Study(BOX, budget=3, **given | settings)


def measure(region: zn.Region) -> float:
    return 0.5


def told(**what: Any) -> None:
    asked = study()
    asked.tell(asked.ask(), **{"value": 0.5} | what)


REFUSED: dict[str, Callable[[], Any]] = {
    "a lengthscale too long to be squared": lambda: zn.RBF(1.0, 1e200),
    "one of several lengthscales": lambda: zn.Matern(1.0, (1.0, 1e200)),
    "an array as nu": lambda: zn.Matern(1.0, 1.0, nu=np.array([1.5, 2.5])),  # type: ignore[arg-type]
    "an array as direction": lambda: zn.Study(BOX, budget=3, direction=PAIR),  # type: ignore[arg-type]
    "an array as a table's direction": lambda: from_table(BOX, [1.0, 2.0], direction=PAIR),  # type: ignore[arg-type]
    "an array as direction of a power analysis": lambda: zn.power(BOX, 4, noise=0.1, direction=PAIR),  # type: ignore[arg-type]
    "an array as preset": lambda: zn.reward_function("f1", np.array(["authors", "paper"])),  # type: ignore[arg-type]
    "an array as on_error": lambda: zn.Study(BOX, budget=3).optimize(ANY or float, on_error=PAIR),  # type: ignore[arg-type]
    "a number too large for a float": lambda: from_table(BOX, 10**400),
    "a table of such numbers": lambda: from_table(BOX, [10**400, 1]),
    "a complex table": lambda: from_table(BOX, np.array([1 + 2j, 1])),
    "a complex table of sequences": lambda: from_table(zn.Sequences("AC", 1), np.array([1 + 2j, 1])),
    "a complex table of points": lambda: from_table(POINTS, np.array([1 + 2j, 1])),
    "an array without axes as axis": lambda: zn.Product({"x": np.array(1.0)}),
    "an array without axes as points": lambda: zn.Points(np.array(1.0)),
    "an array without axes as column": lambda: zn.Points({"x": np.array(1.0)}),
    "an array without axes as features": lambda: zn.Hierarchy({"a": ["b", "c"]}, features=np.array(1.0)),
    "an old generator": lambda: zn.Study(BOX, budget=3, rng=np.random.RandomState(0)),  # type: ignore[arg-type]
    "an old generator of noise": lambda: zn.simulate(np.sin, zn.Mean(), rng=np.random.RandomState(0)),  # type: ignore[call-overload]
    "true or false as seed": lambda: zn.Study(BOX, budget=3, rng=True),
    "a number as value_name": lambda: study(value_name=3),
    "nothing as value_unit": lambda: study(value_unit=None),
    "bytes as value_unit": lambda: study(value_unit=b"K"),
    "half of a letter in value_name": lambda: study(value_name="\ud800"),
    "a number as a note": lambda: told(note=3),
    "half of a letter in a note": lambda: told(note="a\udcff"),
    "a number as a key": lambda: study().ask(key=3),  # type: ignore[call-overload]
    "a number as who measures": lambda: study().ask(by=3),  # type: ignore[call-overload]
    "a list as a scale": lambda: zn.Box([(1, 2)], scale=[[1, 2]]),  # type: ignore[list-item]
    "an array as a picture": lambda: study().plot(np.array([1, 2])),  # type: ignore[arg-type]
    "a list as a column": lambda: study().top(1)[["mean"]],  # type: ignore[index]
    "sequences longer than memory": lambda: zn.Sequences("AC", 10**9),
    "sequences longer than an index": lambda: zn.Sequences("AC", 10**400),
    "sequences longer than can be shown": lambda: zn.Sequences("AC", HUGE),
    "sequences whose covariances vanish": lambda: zn.Sequences("ACGT", 2000),
    "a smallest pool beyond counting": lambda: zn.Sequences("AC", 3, smallest=HUGE),
    "a position beyond counting": lambda: zn.Sequences("AC", 3, order=[0, 1, HUGE]),
    "more points than memory": lambda: zn.Average(10**9),
    "more points than can be compared": lambda: study(feedback=zn.Average(100_000)),
    "more points than can be shown": lambda: zn.Average(HUGE),
    "an arity beyond memory": lambda: zn.Box([(0, 1)], arity=10**9),
    "a budget beyond counting": lambda: zn.Study(BOX, budget=HUGE),
    "a budget beyond files": lambda: zn.Study(BOX, budget=2**63),
    "more trials than can be shown": lambda: study().ask(HUGE),
    "a trial beyond counting": lambda: study().tell(HUGE, 0.5),
    "a value that cannot be shown": lambda: told(value=HUGE),
    "a part that cannot be shown": lambda: study().optimize(measure, n=HUGE),
    "an extension beyond counting": lambda: study().extend(HUGE),
    "a bound that cannot be shown": lambda: zn.Box([(0, HUGE)]),
    "a row that cannot be shown": lambda: zn.Study(POINTS, budget=3).observe([HUGE], 0.5),
    "a node that cannot be shown": lambda: BOX.cell((3, HUGE)),
    "a seed that no file takes": lambda: study(rng=HUGE),
    "a timeout beyond the clock": lambda: study().optimize(measure, timeout=1e308),
    "a timeout of a thousand years": lambda: study().optimize(measure, workers=2, timeout=3e10),
    "a timeout without end": lambda: study().optimize(measure, timeout=float("inf")),
    "a timeout that is no number": lambda: study().optimize(measure, timeout=float("nan")),
    "a timeout below zero": lambda: study().optimize(measure, timeout=-1.0),
    "a timeout that cannot be shown": lambda: study().optimize(measure, timeout=HUGE),
    "a callback that is none": lambda: study().optimize(measure, callback=3),  # type: ignore[arg-type]
    "an array without axes as hierarchy": lambda: zn.Hierarchy(ZERO_D),
    "one within a hierarchy": lambda: zn.Hierarchy({"a": ZERO_D}),
    "one as a hierarchy's table": lambda: zn.Hierarchy.from_table(ZERO_D),
    "one as a column of that": lambda: zn.Hierarchy.from_table({"a": ZERO_D}),
    "a number as a hierarchy's table": lambda: zn.Hierarchy.from_table(3),  # type: ignore[arg-type]
    "a parent that is a list": lambda: zn.Hierarchy.from_parents({"a": ["b"]}),  # type: ignore[dict-item]
    "an array without axes as names": lambda: zn.Hierarchy({"a": ["b"]}, [[1.0]], feature_names=ZERO_D),
    "a number too long for text as the name of a feature": lambda: zn.Hierarchy(
        {"a": ["b"]},
        [[1.0]],
        feature_names=(HUGE,),  # type: ignore[arg-type]
    ),
    "such a number as the name of a region": lambda: zn.Hierarchy({HUGE: ["b"]}),  # type: ignore[dict-item]
    "such a number as the name of a level": lambda: zn.Hierarchy.from_table({HUGE: ["a", "b"]}),  # type: ignore[dict-item]
    "one among points": lambda: zn.Points([np.array("a")]),
    "one as order": lambda: zn.Sequences("AC", 1, order=ZERO_D),
    "one as symbols": lambda: zn.Product({"x": (0, 1), "dye": ["a", "b"]}).region({"dye": ZERO_D}),
    "a kernel of nothing": lambda: study(kernel=Empty()),
    "a sum of nothing": lambda: study(kernel=Sum(())),
    "a sum of nothing on points": lambda: zn.Study(POINTS, budget=3, kernel=Sum(())),
    "a kernel of texts": lambda: study(kernel=Texts()),
    "a kernel of texts on sequences": lambda: zn.Study(SEQUENCES, budget=3, kernel=Texts()),
    "an object as kernel": lambda: study(kernel=object()),
    "draws from a kernel of nothing": lambda: zn.power(POINTS, 4, noise=0.1, kernel=Sum(())),
    "draws from a kernel of texts": lambda: zn.power(BOX, 4, noise=0.1, kernel=Texts()),
    "an arity beyond counting": lambda: zn.Study(zn.Box([(0, 1)], arity=2**70), budget=3, kernel=zn.RBF(1, 1)),
}


@pytest.mark.parametrize("attempt", REFUSED.values(), ids=REFUSED)
def test_it_is_refused_with_a_reason(attempt: Callable[[], Any]) -> None:
    with pytest.raises(zn.InvalidInput, match="; got "):
        attempt()


def test_a_message_shows_the_ends_of_what_is_long_and_says_what_cannot_be_shown() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise RuntimeError

    long = str(zn.InvalidInput("it is long", "a" * 5000 + "z", "Pass less."))
    assert len(long) < 500
    assert long.endswith("z'. Pass less.")
    assert "got a Silent that cannot be shown (RuntimeError)" in str(zn.InvalidInput("it is odd", Silent(), ""))


@pytest.mark.parametrize("rng", [[1, 2], np.random.SeedSequence(3), np.random.PCG64(3), 2**128, np.int64(3)])
def test_whatever_numpy_takes_as_a_seed_is_one(rng: Any) -> None:
    assert study(rng=rng).settings.seed >= 0


def test_what_is_given_again_on_opening_passes_the_checks_of_the_beginning(tmp_path: Any) -> None:
    class OwnKernel(zn.RBF):
        pass

    class OwnFeedback(zn.Mean):
        pass

    own: dict[str, Any] = {"kernel": OwnKernel(1.0, 0.2), "feedback": OwnFeedback()}
    zn.Study.create(tmp_path / "own.db", BOX, budget=3, noise=0.1, **own)
    assert zn.Study.open(tmp_path / "own.db", **own).ask().number == 0
    for name in own:
        for wrong in (object(), 3, "text", []):
            with pytest.raises(zn.InvalidInput, match=f"{name} must be"):
                zn.Study.open(tmp_path / "own.db", **own | {name: wrong})


class Indexed:
    """Can be read by number but not listed, as a lazy data frame."""

    def __getitem__(self, at: int) -> float:
        raise KeyError(at)


HOSTILE: dict[str, Callable[[], object]] = {
    "no box": lambda: zn.Box(cast(Any, Indexed())),
    "no widths": lambda: zn.Box([(0, 1)], smallest=cast(Any, Indexed())),
    "no rings": lambda: zn.Box([(0, 1)], periodic=cast(Any, Indexed())),
    "no order": lambda: zn.Sequences("AC", 2, order=cast(Any, Indexed())),
    "no levels": lambda: zn.Hierarchy.from_table(cast(Any, Indexed())),
    "no lengths": lambda: zn.Motif(1.0, lengths=cast(Any, Indexed())),
    "no times": lambda: study(times=Indexed(), overhead=1.0),
    "rings in an array": lambda: zn.Box([(0, 1), (1, 2)], periodic=cast(Any, np.array([[0, 1]]))),
    "names of two kinds": lambda: zn.Box({"x": (0, 1)}, smallest=cast(Any, {1: 2, "q": 3})),
    "lists as a name": lambda: zn.Points([[1.0], [2.0]]).region(([0], [1])),
    "a huge feature": lambda: zn.Points([[10**400]]),
    "huge features": lambda: zn.Points([10**400, 1]),
    "a huge frequency": lambda: zn.Sequences("AC", 2, frequencies=[10**400, 1]),
    "no frequencies": lambda: zn.Sequences("ACG", 2, frequencies=pd.DataFrame()),
    "no name": lambda: zn.Hierarchy.from_parents(cast(Any, {None: None})),
    "a name not available": lambda: zn.Hierarchy.from_table({"a": ["x", pd.NA]}),
    "arrays as names": lambda: zn.Hierarchy.from_table(cast(Any, {"a": np.zeros((2, 2))})),
    "uneven weights": lambda: zn.Hierarchy({"q": ["a", "b"]}, weights=cast(Any, {"a": [[1], [2, 3]], "b": 1})),
    "uneven values": lambda: from_table(zn.Sequences("AC", 1), cast(Any, [[1, 2], 3])),
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_a_space_of_hostile_parts_is_refused_in_a_sentence(make: Callable[[], object]) -> None:
    with pytest.raises(zn.InvalidInput, match=r"; got .*\. [A-Z]"):
        make()


@pytest.mark.parametrize("one", [False, True])
def test_forbidden_regions_from_a_generator_all_count(one: bool) -> None:
    box = zn.Box({"x": (0, 1)}, smallest=0.1)
    regions = [{"x": (0.0, 0.25)}, {"x": (0.5, 0.75)}][: 1 if one else 2]
    given: tuple[Any, ...] = regions, map(box.region, regions)
    listed, made = (zn.Study(box, budget=4, forbidden=own) for own in given)
    assert made.settings.forbidden == listed.settings.forbidden is not None


def test_the_page_counts_sequences_beyond_any_float() -> None:
    region = zn.Sequences("ACGT", 600).cell((1, 0))
    assert region_data(region)["members"] == 4**599


class Own(Kernel):
    """A kernel that does without the help of `ProductKernel`."""

    variance = 1.0

    def along(self, symbols: Any) -> Any:
        return zn.RBF(1.0, 0.2).along(symbols)

    def variation(self, axes: Any) -> Any:
        return np.array([25.0 for _ in axes])

    def on_points(self, x: Any, y: Any) -> Any:
        return zn.RBF(1.0, 0.2).on_points(x, y)


class Bare(Kernel):
    """Says nothing at all."""


def test_a_kernel_of_ones_own_counts_alone_and_in_a_sum() -> None:
    both = zn.RBF(1.0, 0.1) + Own()
    assert (both.point_variance, len(both.terms)) == (2.0, 2)
    assert study(kernel=Own()).predict([[(0, 1)]]).std == study(kernel=zn.RBF(1.0, 0.2)).predict([[(0, 1)]]).std
    with pytest.raises(zn.InvalidInput, match="a sum must be of kernels"):
        zn.RBF(1.0, 0.1) + Bare()
    with pytest.raises(zn.InvalidInput, match="kernel must be a kernel"):
        study(kernel=Bare())


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_direction_of_an_enumeration_is_the_text_it_equals(direction: str) -> None:
    kind: Any = enum.Enum("kind", {"OWN": direction}, type=str)
    assert study(direction=kind.OWN).settings.direction == direction


@pytest.mark.parametrize(("space", "kernel"), [(BOX, zn.Motif), (SEQUENCES, zn.RBF), (BOX, zn.Categorical)])
def test_where_nothing_is_learned_a_kernel_class_need_not_suit_the_space(space: Any, kernel: Any) -> None:
    own = zn.Study(space, budget=2, policy=zn.StoOO(zn.GeometricDelta(1, 0.5)), kernel=kernel)
    own.tell(own.ask(), 0.5)
    assert zn.Study.replay(own.settings, own.events).measured == 1


def test_what_is_no_fact_cannot_have_happened() -> None:
    own = study()
    own.tell(own.ask(), 0.5)
    events: list[Any] = [(5,), (own.events[-1],)]
    for event in events:
        with pytest.raises(zn.InvalidInput, match="these events do not make a study"):
            zn.Study.replay(own.settings, [*own.events, event])


def test_seeds_of_a_rehearsal_and_what_has_no_use_beside_a_landscape_are_named() -> None:
    box = zn.Box([(0, 1)], smallest=0.25)
    landscape = from_table(box, [0.1, 0.4, 0.2, 0.3])
    with pytest.raises(zn.InvalidInput, match="rng must be at least 0; got -1"):
        rehearse(landscape, budget=3, runs=1, noise=0.1, rng=-1)
    with pytest.raises(zn.InvalidInput, match=r"no functions are drawn; got 0\.0"):
        zn.power(box, budgets=3, noise=0.1, landscape=landscape, signal=0.0)
