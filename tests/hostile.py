"""Hostile calls: every public constructor and method, each parameter with values that nobody should pass.

A call may succeed, be refused by one of Zonal's own errors, or fail in the user's own function. Run as a program it
makes calls by their numbers, and prints those that end otherwise; see `attack`, which sees crashes and hangs too.
"""

# ruff: noqa: E501

from __future__ import annotations

import io
import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import OrderedDict, UserDict, deque
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

LONGEST = 5.0  # CPU seconds of a call
STUCK = 120.0  # seconds without a sign of life
MEMORY = 8 << 30


class Hung(BaseException):
    """A call took too long."""


class OwnError(Exception):
    """Raised by a function of the user's, and passed on as it is."""


class Raising:
    """Raises in one of its methods."""


def raising(method: str, error: type[Exception] = RuntimeError) -> Any:
    """Return an object of a class, one method of which raises."""

    def method_(*_: Any, **__: Any) -> Any:
        raise error(f"{method} is hostile")

    return type("Raising", (Raising,), {method: method_})()


class Vast:
    """Claims a billion entries."""

    def __len__(self) -> int:
        return 10**9

    def __getitem__(self, at: int) -> float:
        return 0.5

    def __iter__(self) -> Iterator[float]:
        return iter([0.25, 0.5])


class VastMapping(UserDict[str, Any]):
    """Claims a billion entries, too."""

    def __len__(self) -> int:
        return 10**9


class Odd(dict[str, Any]):
    """A mapping that has no keys when it is asked for them."""

    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)


class Claims:
    """Says that it is an array, and is none."""

    ndim, shape, dtype = 1, (3,), "float64"


class Dims:
    """Says that it has named axes."""

    dims, values = ("x", "x"), None


class Sneaky(float):
    """A number that compares with nothing."""

    def __lt__(self, other: object) -> bool:
        raise RuntimeError("hostile comparison")

    __gt__ = __le__ = __ge__ = __lt__


class SneakyText(str):
    """A text that cannot be compared."""

    __hash__ = None  # type: ignore[assignment]


def own_function(*_: Any, **__: Any) -> Any:
    raise OwnError


def recursive_list() -> list[Any]:
    own: list[Any] = []
    own.append(own)
    return own


def recursive_dict() -> dict[str, Any]:
    own: dict[str, Any] = {}
    own["x"] = own
    return own


def deep(depth: int = 1000) -> list[Any]:
    own: list[Any] = [1.0]
    for _ in range(depth):
        own = [own]
    return own


def deep_dict(depth: int = 1000) -> dict[str, Any]:
    own: dict[str, Any] = {"x": 1.0}
    for _ in range(depth):
        own = {"x": own}
    return own


def _pandas(make: Callable[[Any], Any]) -> Callable[[], Any]:
    def made() -> Any:
        import pandas as pd

        return make(pd)

    return made


VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: float("-inf"),
    "-1": lambda: -1,
    "zero": lambda: 0,
    "-0.0": lambda: -0.0,
    "half": lambda: 0.5,
    "1e308": lambda: 1e308,
    "-1e308": lambda: -1e308,
    "1e-320": lambda: 1e-320,
    "1e-200": lambda: 1e-200,
    "10**6": lambda: 10**6,
    "10**12": lambda: 10**12,
    "10**400": lambda: 10**400,
    "10**5000": lambda: 10**5000,
    "2**63": lambda: 2**63,
    "-2**64": lambda: -(2**64),
    "True": lambda: True,
    "False": lambda: False,
    "complex": lambda: 1 + 2j,
    "Decimal": lambda: Decimal("0.3"),
    "Decimal nan": lambda: Decimal("NaN"),
    "Decimal snan": lambda: Decimal("sNaN"),
    "Fraction": lambda: Fraction(1, 3),
    "sneaky float": lambda: Sneaky(0.5),
    "numpy float": lambda: np.float32(0.3),
    "numpy longdouble": lambda: np.longdouble("1e4000"),
    "numpy int": lambda: np.int8(3),
    "numpy bool": lambda: np.bool_(True),
    "numpy text": lambda: np.str_("a"),
    "numpy datetime": lambda: np.datetime64("2020-01-01"),
    "numpy NaT": lambda: np.datetime64("NaT"),
    "0-d array": lambda: np.array(0.3),
    "0-d text": lambda: np.array("a"),
    "1-d array": lambda: np.array([0.25, 0.5]),
    "2-d array": lambda: np.array([[0.0, 1.0], [0.5, 0.75]]),
    "3-d array": lambda: np.zeros((2, 2, 2)),
    "empty array": lambda: np.empty((0, 3)),
    "object array": lambda: np.array([None, "a", 1.0], dtype=object),
    "text array": lambda: np.array(["maximize", "minimize"]),
    "structured array": lambda: np.zeros(2, dtype=[("a", float), ("b", int)]),
    "matrix": lambda: np.matrix([[0.0, 1.0], [0.5, 0.75]]),
    "masked": lambda: np.ma.masked,
    "masked array": lambda: np.ma.array([0.25, 0.5, 0.75], mask=[False, True, False]),
    "masked pairs": lambda: np.ma.array([[0.0, 1.0], [0.5, 0.75]], mask=[[False, False], [False, True]]),
    "text": lambda: "a",
    "number as text": lambda: "0.5",
    "empty text": lambda: "",
    "long text": lambda: "a" * 100_000,
    "NUL": lambda: "a\0b",
    "surrogate": lambda: "a\ud800",
    "unhashable text": lambda: SneakyText("a"),
    "bytes": lambda: b"12",
    "bytearray": lambda: bytearray(b"12"),
    "memoryview": lambda: memoryview(b"12"),
    "empty list": list,
    "empty tuple": tuple,
    "empty dict": dict,
    "set": lambda: {1, "a"},
    "deque": lambda: deque([0.25, 0.5]),
    "range": lambda: range(3),
    "pair": lambda: (0.25, 0.5),
    "texts": lambda: ["a", "b", "c"],
    "ragged": lambda: [[1.0], [2.0, 3.0]],
    "recursive list": recursive_list,
    "recursive dict": recursive_dict,
    "deep list": deep,
    "deep dict": deep_dict,
    "very deep list": lambda: deep(100_000),
    "generator": lambda: (number / 4 for number in range(3)),
    "failing generator": lambda: (1 / number for number in (1, 0)),
    "endless": lambda: iter(int, 1),
    "vast": Vast,
    "vast mapping": lambda: VastMapping(x=(0, 1)),
    "odd mapping": lambda: Odd(x=(0, 1)),
    "ordered": lambda: OrderedDict(x=(0.25, 0.5)),
    "dict view": lambda: {"x": 1}.keys(),
    "dict of numbers": lambda: {1: 2, "1": 3},
    "dict of None": lambda: {None: None},
    "claims": Claims,
    "dims": Dims,
    "raises in len": lambda: raising("__len__"),
    "raises in iter": lambda: raising("__iter__"),
    "raises in float": lambda: raising("__float__"),
    "raises in index": lambda: raising("__index__", ZeroDivisionError),
    "raises in eq": lambda: raising("__eq__"),
    "raises in hash": lambda: raising("__hash__"),
    "raises in bool": lambda: raising("__bool__"),
    "raises in repr": lambda: raising("__repr__"),
    "raises in array": lambda: raising("__array__"),
    "raises in getattr": lambda: raising("__getattr__"),
    "raises in fspath": lambda: raising("__fspath__"),
    "raises in str": lambda: raising("__str__"),
    "NA": _pandas(lambda pd: pd.NA),
    "NaT": _pandas(lambda pd: pd.NaT),
    "Series": _pandas(lambda pd: pd.Series([0.25, 0.5], index=["a", "b"])),
    "Series of NA": _pandas(lambda pd: pd.Series([1, None], dtype="Int64")),
    "frame": _pandas(lambda pd: pd.DataFrame({"x": [0.0, 0.5], "y": [1.0, 0.75]})),
    "empty frame": _pandas(lambda pd: pd.DataFrame()),
    "frame twice": _pandas(lambda pd: pd.DataFrame([[0.0, 1.0], [0.5, 0.75]], columns=["x", "x"])),
    "index": _pandas(lambda pd: pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])),
    "dates": _pandas(lambda pd: pd.date_range("2020-01-01", periods=3)),
    "date": lambda: date(2020, 1, 1),
    "timedelta": lambda: timedelta(seconds=3),
    "class": lambda: float,
    "own class": lambda: Vast,
    "function": lambda: own_function,
    "builtin": lambda: len,
    "partial": lambda: partial(own_function, 1),
    "Ellipsis": lambda: ...,
    "NotImplemented": lambda: NotImplemented,
    "object": object,
    "exception": lambda: ValueError("a"),
    "module": lambda: sys,
    "file": lambda: io.StringIO("0.5"),
    "slice": lambda: slice(0, 1),
    "path": lambda: Path("/nonexistent/a"),
}

PLACES: dict[str, Callable[[Any], Any]] = {
    "itself": lambda value: value,
    "in a list": lambda value: [value],
    "in a pair": lambda value: (0.0, value),
    "twice in a pair": lambda value: [(value, value)],
    "for x": lambda value: {"x": value},
    "as a key": lambda value: {value: (0, 1), "x": (0, 1)},
    "in an array": lambda value: _array(value),
}


def _array(value: Any) -> Any:
    made = np.empty(2, dtype=object)
    made[0], made[1] = value, 1.0
    return made


class Call(NamedTuple):
    """A function or method, and what it is called with."""

    function: Callable[..., Any]
    usual: dict[str, Any]
    changes: str = ""  # the kind of the study that it changes


@cache
def spaces() -> dict[str, Any]:
    import zonal as zn

    return {
        "box": zn.Box({"x": (0, 1), "y": (0, 10)}, smallest=[0.125, 2.5], units=["m", "m"]),
        "line": zn.Box({"x": (0, 1)}),
        "ring": zn.Box({"x": (0, 24)}, smallest=3, periodic=["x"]),
        "decades": zn.Box({"x": (1e-3, 10)}, smallest=0.5, scale="log"),
        "integers": zn.Box({"x": (1, 12)}, scale="integer"),
        "product": zn.Product({"x": (0, 1), "dye": ["red", "green"]}, smallest=0.25),
        "sequences": zn.Sequences("ACGT", 3),
        "points": zn.Points({"x": [1.0, 2.0, 4.0, 8.0], "y": [1.0, 0.0, 1.0, 0.0]}, labels=["a", "b", "c", "d"]),
        "hierarchy": zn.Hierarchy({"NSW": {"Coast": ["c1", "c2"], "Inland": ["i1"]}, "ACT": ["a1"]}),
    }


def usual(kind: str) -> dict[str, Any]:
    """Return settings with a given model, so that a study is made at once."""
    import zonal as zn

    if kind == "sequences":
        return {"kernel": zn.Categorical(1.0, 0.5), "noise": 0.1}
    if kind == "product":
        return {"kernel": None, "noise": 0.1}
    return {"kernel": zn.RBF(1.0, 0.3), "noise": 0.1} if kind != "hierarchy" else {"kernel": None, "noise": 0.1}


@cache
def study(kind: str) -> Any:
    """Return a study with trials of all states, one of them pending: number 3."""
    import zonal as zn

    made = zn.Study(spaces()[kind], budget=12, rng=1, **usual(kind))
    for value in (0.5, 0.2):
        made.tell(made.ask(), value)
    made.fail(made.ask())
    made.observe(made.space.cell((1, 0)), 0.3, sem=0.1)
    made.ask()
    return made


def on(kind: str, method: str, changes: bool = True, **usually: Any) -> Call:
    """Return the call of a method of a study."""
    return Call(lambda **given: getattr(study(kind), method)(**given), usually, kind if changes else "")


def _one(kind: str) -> Any:
    return spaces()[kind].cell((1, 0))


def _measure(region: Any) -> float:
    return 0.5


def _point(*_: Any) -> float:
    return 0.5


def _began(**given: Any) -> Any:
    import zonal as zn

    made = zn.Study(**given)
    if not callable(given.get("noise")):
        made.tell(made.ask(), 0.5)
    return made


@cache
def calls() -> dict[str, Call]:
    """Return every call by its name."""
    import zonal as zn
    from zonal import plotting, simulation
    from zonal.policies import beta
    from zonal.spaces import as_region
    from zonal.web import client

    client.PATIENCE = 0.0  # nobody answers
    rbf, line = zn.RBF(1.0, 0.3), spaces()["line"]
    made: dict[str, Call] = {
        "Box": Call(zn.Box, {"bounds": {"x": (0, 1)}, "arity": 2, "smallest": 0.1, "units": {"x": "m"}, "scale": None, "periodic": ()}),
        "Box of log": Call(zn.Box, {"bounds": {"x": (1, 100)}, "smallest": 0.1, "scale": "log"}),
        "Box of integers": Call(zn.Box, {"bounds": {"x": (1, 12)}, "smallest": 1, "scale": "integer"}),
        "Box of a ring": Call(zn.Box, {"bounds": [(0, 24)], "smallest": 1, "periodic": ["x"]}),
        "Product": Call(zn.Product, {"axes": {"x": (0, 1), "dye": ["red", "green"]}, "arity": 2, "smallest": None, "units": None, "scale": None, "periodic": ()}),
        "Sequences": Call(zn.Sequences, {"alphabet": "ACGT", "length": 3, "order": None, "frequencies": None, "smallest": 1}),
        "Points": Call(zn.Points, {"X": [[1.0], [2.0]], "weights": None, "arity": 2, "smallest": None, "labels": None}),
        "Hierarchy": Call(zn.Hierarchy, {"tree": {"a": ["b", "c"]}, "features": None, "weights": None, "smallest": None, "feature_names": None}),
        "Hierarchy with features": Call(zn.Hierarchy, {"tree": {"a": ["b", "c"]}, "features": {"b": [1.0], "c": [2.0]}, "weights": {"b": 1, "c": 2}, "feature_names": ["f"]}),
        "from_parents": Call(zn.Hierarchy.from_parents, {"parents": {"a": None, "b": "a", "c": "a"}, "features": None, "weights": None, "smallest": None, "feature_names": None}),
        "Hierarchy.from_table": Call(zn.Hierarchy.from_table, {"levels": {"s": ["A", "B"], "t": ["a", "b"]}, "features": None, "weights": None, "smallest": None, "feature_names": None}),
        "RBF": Call(zn.RBF, {"variance": 1.0, "lengthscale": 0.3}),
        "Matern": Call(zn.Matern, {"variance": 1.0, "lengthscale": 0.3, "nu": 2.5}),
        "Categorical": Call(zn.Categorical, {"variance": 1.0, "correlation": 0.5}),
        "Nugget": Call(zn.Nugget, {"variance": 1.0}),
        "Motif": Call(zn.Motif, {"variance": 1.0, "correlation": 0.25, "lengths": (2, 3)}),
        "Average": Call(zn.Average, {"s": 3}),
        "Beam": Call(zn.Beam, {"fwhm": 0.1, "share": None}),
        "Beam of a share": Call(zn.Beam, {"share": 0.1}),
        "Slope": Call(zn.Slope, {"axis": "x"}),
        "GPOO": Call(zn.GPOO, {"delta": zn.GeometricDelta(1.0), "theta": 0.1, "h_max": 5, "test": "after", "returns": "deepest", "ahead": False}),
        "GPTree": Call(zn.GPTree, {"alpha": 0.5, "rho": 0.5, "u": 2.0, "slope": 0.1, "beta": 0.25, "h_max": None}),
        "StoOO": Call(zn.StoOO, {"delta": zn.GeometricDelta(1.0), "theta": 0.1, "h_max": None}),
        "UCB": Call(zn.UCB, {"level": None, "theta": 0.1}),
        "Random": Call(zn.Random, {"level": None}),
        "Thompson": Call(zn.Thompson, {"level": None}),
        "UniformGrid": Call(zn.UniformGrid, {"level": None}),
        "Above": Call(zn.Above, {"threshold": 0.5}),
        "Above top": Call(zn.Above, {"top": 0.1}),
        "KnowledgeGradient": Call(zn.KnowledgeGradient, {"depths": "any"}),
        "GeometricDelta": Call(zn.GeometricDelta, {"c": 1.0, "rho": 0.5}),
        "LipschitzDelta": Call(zn.LipschitzDelta, {"L": None, "certified": False}),
        "PerWeight": Call(zn.PerWeight, {"std": 0.1}),
        "simulate": Call(zn.simulate, {"f": np.sin, "feedback": zn.Mean(), "noise": 0.1, "rng": 0, "slopes": False, "slope_noise": None}),
        "reward_function": Call(zn.reward_function, {"name": "f1", "preset": "authors", "shift": 0.0}),
        "draw": Call(simulation.draw, {"kernel": rbf, "low": 0.0, "high": 1.0, "rng": 0}),
        "grid_optimum": Call(simulation.grid_optimum, {"f": np.sin, "points": 100}),
        "true_optimum": Call(simulation.true_optimum, {"f": zn.reward_function("f1"), "points": 101}),
        "maximize": Call(zn.maximize, {"measure": _measure, "space": line, "budget": 3, "direction": "maximize", "kernel": rbf, "noise": 0.1}),
        "minimize": Call(zn.minimize, {"measure": _measure, "space": line, "budget": 3, "kernel": rbf, "noise": 0.1}),
        "power": Call(zn.power, {"space": zn.Box({"x": (0, 1)}, smallest=0.25), "budgets": [2], "noise": 0.1, "kernel": rbf, "signal": None, "given": True, "landscape": None, "direction": None, "runs": 2, "rng": 0, "jobs": 1, "progress": False}),
        "beta_t": Call(beta.beta_t, {"t": 3, "log_m": 1.0, "theta": 0.1}),
        "beta_stooo": Call(beta.beta_stooo, {"t": 3, "theta": 0.1}),
        "log_node_count": Call(beta.log_node_count, {"arity": 2, "h_max": 5}),
        "log_pi_t": Call(beta.log_pi_t, {"t": 3}),
        "Study.open": Call(zn.Study.open, {"path": "/nonexistent/a.db", "classes": ()}),
        "Study.replay": Call(zn.Study.replay, {"settings": study("line").settings, "events": study("line").events, "batch": True}),
        "Study.create": Call(lambda path: zn.Study.create(path, line, budget=2, kernel=rbf, noise=0.1), {"path": "/nonexistent/b.db"}),
        "save": Call(lambda path: zn.Study(line, budget=2, kernel=rbf, noise=0.1).save(path), {"path": "/nonexistent/b.db"}),
        "connect": Call(zn.connect, {"address": "http://127.0.0.1:1/studies/a", "token": None}),
    }  # fmt: skip
    tables = {"box": np.ones((8, 4)), "points": np.arange(4.0), "sequences": np.arange(64.0), "hierarchy": np.arange(4.0), "product": np.ones((4, 2))}  # fmt: skip
    for kind, values in tables.items():
        own = spaces()[kind]
        made[f"from_table {kind}"] = Call(simulation.from_table, {"space": own, "values": values, "weights": None, "direction": "maximize"})  # fmt: skip
        landscape = simulation.from_table(own, values)
        made[f"landscape.average {kind}"] = Call(landscape.average, {"region": _one(kind), "feedback": None})
        made[f"landscape.simulate {kind}"] = Call(landscape.simulate, {"noise": 0.1, "rng": 0, "feedback": None})
        made[f"landscape.best {kind}"] = Call(landscape.best, {"depth": 1})
        made[f"landscape.regret {kind}"] = Call(landscape.regret, {"region": _one(kind)})
    settings: dict[str, Any] = {
        "budget": 5, "mean": 0.0, "feedback": None, "policy": None, "rng": 0, "direction": "maximize", "max_replicates": None,
        "forbidden": None, "value_name": "v", "value_unit": "m", "cost": None, "times": None, "overhead": 0.0,
        "travel": None, "cost_unit": "",
    }  # fmt: skip
    for kind in ("box", "integers", "product", "sequences", "points", "hierarchy"):
        made[f"Study {kind}"] = Call(_began, {"space": spaces()[kind]} | usual(kind) | settings)
    for kind, own in spaces().items():
        made[f"space.region {kind}"] = Call(own.region, {"what": _one(kind).as_dict(), "feedback": None})
        made[f"space.cell {kind}"] = Call(own.cell, {"node": (1, 0), "feedback": None})
        made[f"space.count {kind}"] = Call(own.partition.count, {"depth": 1})
        made[f"space.as_region {kind}"] = Call(partial(as_region, own), {"what": _one(kind)})
        region = own.cell((1, 0), zn.Mean())
        made[f"region.sample {kind}"] = Call(region.sample, {"n": 3, "rng": 0})
        made[f"region.overlaps {kind}"] = Call(region.overlaps, {"other": region})
        made[f"region.contains {kind}"] = Call(region.contains, {"other": region})
        made[f"region[] {kind}"] = Call(region.__getitem__, {"name": "x"})
        if kind in ("line", "ring", "decades", "integers"):
            continue
        one = _one(kind)
        made |= {
            f"ask {kind}": on(kind, "ask", n=None, key="", by=None),
            f"tell {kind}": on(kind, "tell", trial=3, value=0.5, sem=0.1, note="", time=None, slopes=None, minus=None),
            f"observe {kind}": on(kind, "observe", region=one, value=0.5, sem=0.1, feedback=None, time=None, minus=None),
            f"correct {kind}": on(kind, "correct", trial=0, value=0.4, sem=None, note="", by=None),
            f"retract {kind}": on(kind, "retract", trial=0, note="", by=None),
            f"fail {kind}": on(kind, "fail", trial=3, retry=True),
            f"cancel {kind}": on(kind, "cancel", trial=3),
            f"allow {kind}": on(kind, "allow", region=one),
            f"predict {kind}": on(kind, "predict", False, regions=one),
            f"probability {kind}": on(kind, "probability", False, regions=one, above=0.5, below=None),
            f"relative_std {kind}": on(kind, "relative_std", False, regions=None),
            f"above {kind}": on(kind, "above", False, threshold=0.5, probability=None),
            f"below {kind}": on(kind, "below", False, threshold=0.5, probability=None),
            f"recommend {kind}": on(kind, "recommend", False, k=None, theta=0.1),
            f"top {kind}": on(kind, "top", False, k=3),
            f"outlook {kind}": on(kind, "outlook", False, n=3),
            f"extend {kind}": on(kind, "extend", n=3),
            f"optimize {kind}": on(kind, "optimize", measure=_measure, n=1),
        }  # fmt: skip
    made |= {
        "forgive": on("box", "_forgive", trials=[2]),
        "claim": on("box", "claim", trial=2, by="me"),
        "snapshot": Call(lambda measured: study("box").snapshot(measured), {"measured": 1}),
        "table": on("box", "table", False, history=False),
        "to_csv": Call(lambda path: study("box").table().to_csv(path), {"path": "/nonexistent/c.csv"}),
        "text": Call(lambda width, rows: study("box").table().text(width, rows), {"width": 80, "rows": None}),
        "listing[]": Call(lambda name: study("box").table()[name], {"name": "region"}),
        "refine": on("box", "refine", measure_point=_point, budget=2, noise=0.1, points=None),
        "optimize more": on("box", "optimize", measure=_measure, executor=None, n=1, workers=None, callback=None, tolerance=None, on_error="raise", timeout=None),
        "plot": Call(_drawn, {"kind": "tree", "ax": None}),
        "plot_map": Call(_mapped(plotting), {"study": study("box"), "truth": np.ones((8, 4))}),
    }  # fmt: skip
    return made


def _drawn(kind: Any, ax: Any) -> Any:
    from matplotlib.figure import Figure

    return study("box").plot(kind, Figure().subplots() if ax is None else ax)


def _mapped(plotting: Any) -> Callable[..., Any]:
    from matplotlib.figure import Figure

    return lambda study, truth: plotting.plot_map(study, Figure().subplots(), truth)


WORK = {"budget", "budgets", "runs"}  # as much work as is asked for


class Case(NamedTuple):
    """One hostile call."""

    call: str
    parameter: str
    place: str
    value: str


@cache
def cases(number: int, seed: int) -> list[Case]:
    """Return some hostile calls: every value in every parameter, and in one of four cases within something."""
    rng = random.Random(seed)
    plain = [
        Case(call, name, "itself", value)
        for call in calls()
        for name in calls()[call].usual
        for value in VALUES
        if not (name in WORK and value in ("10**6", "10**12"))
    ]
    rng.shuffle(plain)
    chosen = plain[: number - number // 4]
    within = (rng.choice(plain)._replace(place=rng.choice([*PLACES][1:])) for _ in range(number - len(chosen)))
    return [*chosen, *within]


def attempt(case: Case) -> str:
    """Make a call, use what it returns, and return what was wrong about it, if anything was."""
    import zonal as zn

    call = calls()[case.call]
    try:
        hostile = PLACES[case.place](VALUES[case.value]())
    except Exception:
        return ""  # no such thing, as a list for a key
    state = study(call.changes)._state if call.changes else None
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        repr(call.function(**call.usual | {case.parameter: hostile}))
    except (zn.ZonalError, OwnError):
        if (
            state is not None
            and study(call.changes)._state is not state
            and case.call.split()[0] not in ("optimize", "refine")
        ):
            return "refused, but the study has changed"
    except Hung:
        return "hangs"
    except Exception as error:
        if _is_of_user(case, error):
            return ""
        frames = [own for own in traceback.extract_tb(error.__traceback__) if "/src/zonal/" in own.filename]
        where = f"{frames[-1].filename.split('zonal/')[-1]}:{frames[-1].lineno}" if frames else "?"
        return f"{type(error).__name__} at {where}: {error}"[:300]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        if state is not None and study(call.changes)._state is not state:
            study.cache_clear()
    return ""


CALLED = {
    "measure",
    "measure_point",
    "f",
    "wanted",
    "noise",
    "cost",
    "travel",
    "forbidden",
    "callback",
    "delta",
    "kernel",
}
CALLABLE = {"class", "own class", "builtin", "raises in getattr"}


def _is_of_user(case: Case, error: Exception) -> bool:
    """Tell whether a function of the user's failed, which Zonal calls and cannot know."""
    return "raised_by_user" in getattr(error, "__dict__", ()) or (
        case.parameter in CALLED and case.value in CALLABLE
    )


def _hang(*_: object) -> None:
    raise Hung


def main(number: int, seed: int, start: int, stop: int, log: str) -> None:
    """Make some of the calls; write the number of each before, and what was wrong about it after."""
    signal.signal(signal.SIGPROF, _hang)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    with open(log, "a", encoding="utf-8") as out:
        for at in range(start, stop):
            print(at, file=out, flush=True)
            wrong = attempt(cases(number, seed)[at])
            if wrong:
                print(json.dumps([at, wrong]), file=out, flush=True)


def attack(number: int, seed: int) -> dict[Case, str]:
    """Make hostile calls in other processes, and return what was wrong: raw errors, hangs and crashes."""
    wrong, start = dict[Case, str](), 0
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        while start < number:
            log.write_text("")
            words = [sys.executable, __file__, *map(str, (number, seed, start, number, log))]
            with subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
                silent = time.monotonic()
                size = 0
                while process.poll() is None:
                    time.sleep(0.02)
                    if log.stat().st_size != size:
                        silent, size = time.monotonic(), log.stat().st_size
                    if time.monotonic() - silent > STUCK:
                        process.kill()
                assert process.stderr is not None
                last = process.stderr.read().decode(errors="replace")[-300:]
            lines = [json.loads(line) for line in log.read_text().splitlines()]
            wrong |= {cases(number, seed)[own[0]]: own[1] for own in lines if isinstance(own, list)}
            done = [own for own in lines if isinstance(own, int)]
            if process.returncode == 0:
                break
            assert done, last
            wrong[cases(number, seed)[done[-1]]] = f"ends the interpreter ({process.returncode}): {last}"
            start = done[-1] + 1
    return wrong


if __name__ == "__main__":
    number, seed, start, stop = map(int, sys.argv[1:5])
    main(number, seed, start, stop, sys.argv[5])
