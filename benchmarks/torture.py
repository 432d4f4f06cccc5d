"""Kill processes that work on a study at random moments, again and again, and check that nothing is ever lost.

Run by ``make torture`` with 10,000 kills; the tests run a few. What a worker does next is a function of the
study alone, so that one that is killed again and again must walk exactly as one that is not.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import zonal as zn
from zonal.engine.events import Asked, Closed, Corrected, Created, Recommended, Retracted, Told

BUDGET = 40
NEWS = 500  # kills after which to say how far it is
PATIENCE = 0.03  # seconds that a worker lives once it has opened the file, at the most
OPEN = b"open\n"

LINE, PLANE = zn.Box([(0, 1)]), zn.Box([(0, 1), (0, 2)], arity=3)
POINTS = zn.Points(np.random.default_rng(0).uniform(size=(40, 2)))
RBF = zn.RBF(0.1, 0.1)
STUDIES: list[dict[str, Any]] = [
    {"space": LINE, "kernel": RBF, "noise": 0.1, "policy": zn.GPOO(zn.GeometricDelta(2, 0.6), h_max=6)},
    {"space": PLANE, "kernel": RBF, "noise": 0.1, "policy": zn.Thompson(level=2)},
    {"space": zn.Sequences("ACGT", 3), "kernel": zn.Categorical(0.5, 0.5), "noise": 0.2, "mean": 0.1},
    {"space": POINTS, "kernel": zn.Matern(0.1, 0.4), "noise": 0.1, "policy": zn.UCB(level=3)},
    {"space": LINE, "policy": zn.StoOO(zn.GeometricDelta(1, 0.6), h_max=5)},
    {"space": zn.Product({"x": (0, 1), "dye": ["red", "green"]})},
]


def settings(number: int) -> dict[str, Any]:
    """Return what a study is made with: kinds by turns, seeds of their own."""
    return {"budget": BUDGET, "rng": number, **STUDIES[number % len(STUDIES)]}


def value(trial: zn.Trial) -> float:
    """Return what is measured: a function of the trial alone."""
    return float(np.sin(2.1 * trial.node[0] + 1.3 * trial.node[1]) + 0.1 * np.cos(7.0 * trial.number))


def step(study: zn.Study, say: Callable[[str], object]) -> bool:
    """Do the next thing, say so once it is done, and tell whether there was one."""
    for record in study.trials:
        if record.state == "measured" and record.number % 7 == 3 and record.value != value(record):
            study.correct(record, value(record), note="a typo")
            say(f"corrected {record.number}")
            return True
        if record.state == "measured" and record.number % 11 == 5:
            study.retract(record)
            say(f"retracted {record.number}")
            return True
    if study.pending:
        trial = study.pending[0]
        if trial.number % 9 == 8:
            study.fail(trial)
            say(f"failed {trial.number}")
        else:
            study.tell(trial, value(trial) + 0.5 * (trial.number % 7 == 3))
            say(f"told {trial.number}")
        return True
    if not study.remaining:
        return False
    for trial in study.ask(min(1 + len(study.trials) % 3, study.remaining)):
        say(f"asked {trial.number}")
    return True


def work(path: Path, out: int) -> None:
    """Work on a study until it is done; every word is written after the call that it is about has returned."""
    study = zn.Study.open(path)
    os.write(out, OPEN)
    while step(study, lambda word: os.write(out, f"{word}\n".encode())):
        pass
    os.write(out, b"done\n")


def forked(child: Callable[[], object]) -> int:
    """Start a process that does one thing and ends, with 1 if it failed; return its number."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # of forks beside threads: the child needs none of them
        pid = os.fork()
    if pid == 0:
        status = 1
        try:
            child()
            status = 0
        finally:
            os._exit(status)
    return pid


@dataclass
class Tally:
    """What was said by workers of one study, and how often one was killed."""

    kills: int = 0
    words: set[str] = field(default_factory=set)
    done: bool = False


def kill_one(path: Path, tally: Tally, rng: random.Random, prepare: Callable[[], object] = lambda: None) -> None:
    """Start a worker, kill it at a random moment, and note what it said.

    One in five is killed while it starts. The others live the longer the more were killed before: however slow the
    machine, there is an end.
    """
    read, write = os.pipe()

    def child() -> None:
        os.close(read)
        prepare()
        work(path, write)

    pid = forked(child)
    os.close(write)
    said = b""
    if rng.random() > 0.2:
        said = os.read(read, len(OPEN))
    time.sleep(rng.uniform(0, PATIENCE * (1 + tally.kills / 20)))
    os.kill(pid, signal.SIGKILL)
    with os.fdopen(read, "rb") as pipe:
        words = (said + pipe.read()).decode().split("\n")[:-1]  # a word without its end was not said
    _, status = os.waitpid(pid, 0)
    tally.kills += os.WIFSIGNALED(status)
    tally.done |= "done" in words
    tally.words |= {word for word in words if " " in word}


def check(path: Path, tally: Tally) -> zn.Study:
    """Open the file and find everything that was acknowledged in it, once."""
    study = zn.Study.open(path)
    became = {record.number: record for record in study.trials}
    for word in tally.words:
        what, _, number = word.rpartition(" ")
        record = became[int(number)]
        if what == "told" and record.number % 11 != 5:
            assert record.state == "measured", word
            assert record.number % 7 == 3 or record.value == value(record), word
        if what == "corrected" and record.number % 11 != 5:
            assert record.value == value(record), word
        if what in ("failed", "retracted"):
            assert record.state == what, word
    facts = [fact for event in study.events for fact in event]
    ended = [fact.number for fact in facts if isinstance(fact, Told | Closed)]
    assert len(set(ended)) == len(ended), "told or failed twice"
    mended = [(type(fact), fact.number) for fact in facts if isinstance(fact, Corrected | Retracted)]
    assert len(set(mended)) == len(mended), "corrected or retracted twice"
    return study


def anonymous(study: zn.Study) -> list[Any]:
    """Return the facts of a study's history, but for who asked, what tells it from others and what files add."""
    return [
        fact._replace(by="")
        if isinstance(fact, Asked | Corrected | Retracted)
        else fact._replace(id="")
        if isinstance(fact, Created)
        else fact
        for event in study.events
        for fact in event
        if not isinstance(fact, Recommended)
    ]


def same_walk(study: zn.Study, alone: zn.Study) -> None:
    """Check that a study went the same way as another that was never interrupted."""
    one, two = anonymous(study), anonymous(alone)
    assert len(one) == len(two)
    for number, (event, other) in enumerate(zip(one, two, strict=True)):
        assert type(event) is type(other), number
        for name in ("number", "node", "replicate", "draw", "value", "state"):
            assert getattr(event, name, None) == getattr(other, name, None), (number, name)
    assert np.array_equal(study.tree.index, alone.tree.index)
    np.testing.assert_allclose(study.tree.mean, alone.tree.mean, rtol=0, atol=1e-8)


def torture(folder: Path, kills: int, seed: int) -> tuple[int, int]:
    """Kill so many workers; return how many studies that took, and how many things were acknowledged."""
    rng, done, number, said = random.Random(seed), 0, 0, 0
    while done < kills:
        path, given, tally = folder / f"{number}.db", settings(number), Tally()
        alone = zn.Study(**given)
        zn.Study.create(path, **given)
        while not tally.done and done + tally.kills < kills:
            kill_one(path, tally, rng)
            check(path, tally)
        study = check(path, tally)
        for resumed in (study, alone):
            while step(resumed, lambda _: None):
                pass
        same_walk(study, alone)
        said += len(tally.words)
        if (done + tally.kills) // NEWS > done // NEWS:
            print(f"{done + tally.kills} killed ...", file=sys.stderr, flush=True)
        done, number = done + tally.kills, number + 1
        path.unlink()
    return number, said


def fast_folder() -> Path:
    """Return a folder in memory where there is one: a killed process needs no disk to be killed on."""
    return Path(tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None))


def main() -> None:
    """Kill as many as the first argument says."""
    kills, seed = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000, int(time.time())
    warnings.simplefilter("ignore", zn.ModelWarning)  # of the typos, which are measured on purpose
    folder, start = fast_folder(), time.monotonic()
    try:
        studies, said = torture(folder, kills, seed)
    finally:
        shutil.rmtree(folder)
    took = time.monotonic() - start
    print(
        f"{kills} workers killed in {took:.0f} s (seed {seed}): {studies} studies, {said} calls acknowledged, "
        "none lost"
    )


if __name__ == "__main__":
    main()
