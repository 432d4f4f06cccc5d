"""Files changed by hand, with digests that fit again: each opens, or is refused in a sentence."""

import copy
import json
import math
import random
import signal
import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn
from effort import tries
from zonal.storage import journal

LEAVES: list[Any] = [
    None, True, False, 0, 1, -1, 7, 2**31, 2**63, 10**30, 1.5, -0.5, 1e308, -1e308, math.nan, math.inf, "", "a",
    "RBF", "Created", "zonal", "AAAA", [], [1], [[1]], {}, {"a": 1}, {"$": "RBF"}, {"$": "numbers"},
    {"$": "tuple", "of": []},
]  # fmt: skip
LONGEST = 20.0  # seconds of CPU time


def measured(space: Any, budget: int = 9, **settings: Any) -> zn.Study:
    """Return a study in which everything has happened."""
    study = zn.Study(space, budget=budget, rng=1, **settings)
    for at in range(4):
        study.tell(study.ask(), math.sin(at), note="n")
    study.fail(study.ask(), retry=False)
    study.cancel(study.ask())
    seen = study.observe(study.space.cell((1, 0)), 0.3, sem=0.1)
    study.correct(0, 0.7, note="typing error", by="me")
    study.retract(seen, by="me")
    study.observe(study.space.cell((1, 0)), 0.2, sem=0.1, minus=study.space.cell((0, 0)))
    study.extend(2)
    study.ask(key="k")
    return study


def bases() -> Iterator[zn.Study]:
    """Yield studies of all kinds."""
    plane = zn.Box({"x": (0, 1), "y": (0, 10)}, smallest=[0.125, 2.5])
    yield measured(plane, kernel=zn.RBF(1.0, 0.3), noise=0.1)
    yield measured(plane, times=[1.0, 2.0], overhead=1.0, budget=90)
    yield measured(
        zn.Box({"c": (1, 100), "n": (1, 9)}, scale={"c": "log", "n": "integer"}), noise=zn.PerWeight(0.1)
    )
    yield measured(zn.Product({"h": (0, 24), "dye": ["red", "green"]}, periodic=["h"]), forbidden={"dye": "red"})
    yield measured(zn.Sequences("ACGT", 3), kernel=zn.Categorical(1.0, 0.5), noise=0.1)
    yield measured(zn.Points({"x": [1.0, 2.0, 4.0, 8.0]}, labels=["a", "b", "c", "d"]), feedback=zn.Average(2))
    yield measured(zn.Hierarchy({"NSW": {"Coast": ["c1", "c2"]}, "ACT": None}), policy=zn.Above(0.3))
    yield measured([(0, 1)], kernel=zn.RBF(1.0, 0.3), noise=0.1, policy=zn.GPOO(zn.GeometricDelta(1.0), h_max=5))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every part of a value."""
    yield path
    for key, part in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from places(part, (*path, key))


def mutated(text: str, rng: random.Random) -> str:
    """Return JSON with a part replaced, removed or repeated."""
    value = json.loads(text)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        ways = [way for way in places(value) if way]
        if not ways:
            return json.dumps(rng.choice(LEAVES))
        *way, last = rng.choice(ways)
        inner = value
        for key in way:
            inner = inner[key]
        how = rng.random()
        if how < 0.15:
            del inner[last]
        elif how < 0.25 and isinstance(inner, list):
            inner.insert(last, copy.deepcopy(inner[last]))
        elif how < 0.4 and isinstance(inner[last], int | float) and not isinstance(inner[last], bool):
            inner[last] = rng.choice([inner[last] + 1, inner[last] - 1, -inner[last], inner[last] * 1000])
        else:
            inner[last] = copy.deepcopy(rng.choice(LEAVES))
    return json.dumps(value)


def forged(source: Path, target: Path, rng: random.Random) -> None:
    """Copy a file with a mutation of its settings or of an event, and digests that fit."""
    target.write_bytes(source.read_bytes())
    with closing(sqlite3.connect(target)) as file, file:
        time, versions, settings = file.execute("SELECT time, versions, settings FROM study").fetchone()
        rows = file.execute("SELECT number, time, event FROM events ORDER BY number").fetchall()
        at = rng.randrange(-2, len(rows))
        if at < 0:
            settings = mutated(settings, rng)
        else:
            rows[at] = (*rows[at][:2], mutated(rows[at][2], rng))
        digest = journal._digest(b"", time, versions, settings)
        file.execute("UPDATE study SET settings = ?, digest = ?", (settings, digest))
        for number, when, event in rows:
            digest = journal._digest(digest, number, when, event)
            file.execute("UPDATE events SET event = ?, digest = ? WHERE number = ?", (event, digest, number))
        file.execute("UPDATE head SET digest = ?", (digest,))


def used(path: Path) -> None:
    """Open a study, and read and change it."""
    study = zn.Study.open(path)
    repr(study)
    study.recommend()
    repr(study.table(history=True))
    study.tell(study.ask(), 0.3)
    study.refit()


def _hang(*_: object) -> None:
    raise TimeoutError("it hangs")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder, files = tmp_path_factory.mktemp("sources"), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, study in enumerate(bases()):
            files.append(folder / f"{number}.db")
            study.save(files[-1])
    return files


@pytest.mark.tries
def test_a_forged_file_opens_or_is_refused_in_a_sentence(sources: list[Path], tmp_path: Path) -> None:
    before = signal.signal(signal.SIGPROF, _hang)
    wrong = []
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for seed in range(tries(24, 600)):
                path = tmp_path / f"{seed}.db"
                forged(sources[seed % len(sources)], path, random.Random(seed))
                signal.setitimer(signal.ITIMER_PROF, LONGEST)
                try:
                    used(path)
                except zn.ZonalError:
                    pass
                except Exception as error:
                    wrong.append((seed, repr(error)))
                finally:
                    signal.setitimer(signal.ITIMER_PROF, 0)
                    path.unlink()
    finally:
        signal.signal(signal.SIGPROF, before)
    assert not wrong
