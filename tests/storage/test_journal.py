"""A study's file: what was acknowledged is in it, what is none is left alone, and many may use it."""

import copy
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import zonal as zn
from benchmarks.torture import Tally, check, fast_folder, forked, kill_one, same_walk, settings, step, torture
from effort import tries
from eventful_studies import POLICIES, PRICES, close, lived
from kinds import KINDS, allowed, kernels
from make_golden import expected
from user_defined import AGAIN
from zonal.engine import commands
from zonal.engine.events import Recommended, Told
from zonal.errors import StudyFileError
from zonal.storage import journal
from zonal.storage.schema import EVENTS, FORMAT
from zonal.storage.verify import first_difference
from zonal.study.history import recommended_after

pytestmark = pytest.mark.one_in(2)

GIVEN: dict[str, Any] = {
    "budget": 20,
    "kernel": zn.RBF(0.1, 0.1),
    "noise": 0.1,
    "policy": zn.GPOO(zn.GeometricDelta(2, 0.6), h_max=5),
}
LINE = zn.Box([(0, 1)])


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory: a commit on a busy disk takes long, and nothing here pulls the plug."""
    folder = fast_folder()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def path(folder: Path) -> Path:
    return folder / "sky.db"


def own_noise(region: zn.Region) -> float:
    return 0.1


# Durable and in memory are alike.


@pytest.mark.one_in(5)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", ["line", "plane by thirds", "dna", "mixed", "points", "hierarchy with features"])
def test_an_opened_study_equals_the_live_one(kind: str, policy: str, path: Path) -> None:
    feedback = random.Random(kind + policy).choice(allowed(KINDS[kind]))
    kernel = next(iter(kernels(KINDS[kind]).values())).ours
    given = {"budget": 20, "kernel": kernel, "noise": own_noise, "feedback": feedback, "rng": 3}
    memory = zn.Study(KINDS[kind].space, policy=POLICIES[policy](), **given)
    live = zn.Study.create(path, KINDS[kind].space, policy=POLICIES[policy](), **given)
    lived(memory)
    lived(live)
    same_walk(live, memory)
    opened = zn.Study.open(path, noise=own_noise)
    assert opened.events == live.events
    assert opened.settings == live.settings
    assert opened.id == live.id
    close(opened, live)
    assert opened.ask() == memory_of(opened, live)


def memory_of(opened: zn.Study, live: zn.Study) -> zn.Trial:
    """Return the trial that the other hand on the same file sees pending last."""
    live.refresh()
    assert live.events == opened.events
    return live.pending[-1]


@pytest.mark.parametrize("kind", ["line", "costs on a line", "mixed", "dna", "points", "hierarchy"])
def test_a_learned_study_is_opened_without_learning_again(
    kind: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = PRICES if kind.startswith("costs") else {"budget": 24}
    space = KINDS[kind.removeprefix("costs on a ")].space
    live = zn.Study.create(path, space, direction="minimize", rng=1, **given)
    lived(live)
    with monkeypatch.context() as patch:
        patch.setattr(commands, "_fit", lambda *_: pytest.fail("learned again"))
        opened = zn.Study.open(path)
    assert opened.models == live.models
    close(opened, live)


def test_a_study_in_memory_becomes_durable(path: Path) -> None:
    study = zn.Study(LINE, **GIVEN)
    assert study.path is None
    study.tell(study.ask(), 0.3)
    study.save(path)
    assert study.path == path
    study.tell(study.ask(), 0.4)
    assert [record.value for record in zn.Study.open(path).trials] == [0.3, 0.4]
    with pytest.raises(StudyFileError, match=r"is stored in sky\.db already"):
        study.save(path.with_name("other.db"))


def test_a_copy_of_a_durable_study_is_in_memory(path: Path) -> None:
    study = zn.Study.create(path, LINE, **GIVEN)
    twin = copy.deepcopy(study)
    assert twin.path is None
    twin.ask()
    assert zn.Study.open(path).trials == []


def test_an_ask_is_in_the_file_before_it_is_returned_and_a_batch_is_all_or_nothing(path: Path) -> None:
    study = zn.Study.create(path, LINE, **GIVEN)
    study.ask(3)
    assert len(zn.Study.open(path).pending) == 3
    with pytest.raises(zn.BudgetSpent):
        study.ask(30)
    assert len(zn.Study.open(path).pending) == 3


def test_a_refused_call_writes_nothing(path: Path) -> None:
    study = zn.Study.create(path, LINE, **GIVEN)
    before = path.read_bytes()
    with pytest.raises(zn.InvalidInput):
        study.observe([(0, 1)], float("nan"))
    with pytest.raises(zn.TrialError):
        study.tell(7, 0.1)
    assert path.read_bytes() == before
    study.tell(study.ask(), 0.1)
    written = path.read_bytes()
    study.tell(0, 0.1)  # again
    assert path.read_bytes() == written


def test_the_file_tells_when_everything_happened(path: Path) -> None:
    study = zn.Study.create(path, LINE, **GIVEN)
    study.tell(study.ask(), 0.1)
    rows = study._journal.rows()  # type: ignore[union-attr]
    facts = [[fact["$"] for fact in json.loads(row.event)] for row in rows]
    assert facts == [["Created"], ["Asked"], ["Told", "Split", "Recommended"]]
    assert [row.time for row in rows] == sorted(row.time for row in rows)
    assert list(path.parent.iterdir()) == [path]


def test_answers_after_each_trial_are_kept_in_files_alone_and_added_when_a_study_is_saved(path: Path) -> None:
    stored = zn.Study.create(path, LINE, **GIVEN)
    in_memory = zn.Study(LINE, **GIVEN)
    for study in (stored, in_memory):
        for value in (0.1, 0.4, 0.2):
            study.tell(study.ask(), value)
    assert not any(isinstance(event, Recommended) for call in in_memory.events for event in call)
    in_memory.save(path.with_name("saved.db"))
    for study in (in_memory, zn.Study.open(path.with_name("saved.db"))):
        assert recommended_after(study.events) == recommended_after(stored.events)
        assert [number for number, answer in recommended_after(study.events) if answer] == [0, 1, 2]
    in_memory.tell(in_memory.ask(), 0.3)
    assert len(zn.Study.open(path.with_name("saved.db")).events) == len(in_memory.events)


# What is not in the file.


@pytest.mark.parametrize("name", ["noise", "delta", "forbidden", "policy", "kernel"])
def test_without_its_functions_a_study_is_opened_to_be_looked_at(name: str, path: Path) -> None:
    class Mine(zn.GPOO):
        pass

    functions: dict[str, Any] = {
        "noise": own_noise,
        "delta": lambda depth: 0.5**depth,
        "forbidden": lambda region: False,
        "policy": Mine(zn.GeometricDelta(1, 0.5), h_max=4),
        "kernel": lambda x, y: np.exp(-((x - y.T) ** 2)),
    }
    given = {**GIVEN, name: functions[name]}
    if name == "delta":
        given["policy"] = zn.GPOO(given.pop("delta"), h_max=4)
    study = zn.Study.create(path, zn.Points(np.linspace(0, 1, 16)), **given)
    for _ in range(3):
        study.tell(study.ask(), 0.2)
    blind = zn.Study.open(path)
    assert f"Pass {name}=... to open" in blind.read_only
    assert blind.trials == study.trials
    assert np.array_equal(blind.tree.index, study.tree.index)
    with pytest.raises(StudyFileError, match=f"{name}=..."):
        blind.ask()
    if name == "kernel":
        assert "no posterior" in blind.read_only
        with pytest.raises(StudyFileError, match=r"kernel=\.\.\."):
            blind.recommend()
        assert np.isnan(blind.tree.mean).all()
        study.tell(study.ask(), 0.3)
        blind.refresh()
        assert blind.measured == 4
        assert np.isnan(blind.predict([0, 1]).std)
    else:
        close_but_for_the_next(blind, study)
    whole = zn.Study.open(path, **{name: functions[name]})
    assert whole.read_only == ""
    assert whole.ask() == copy.deepcopy(study).ask()


OWN_DEEDS: dict[str, Any] = {
    "correct": lambda study: study.correct(0, 0.4),
    "retract": lambda study: study.retract(1),
    "give up": lambda study: study.fail(3),
    "give up for ever": lambda study: study.fail(3, retry=False),
    "cancel": lambda study: study.cancel(3),
    "tell": lambda study: study.tell(3, 0.9),
    "observe": lambda study: study.observe(study.trials[0].region, 0.3),
    "extend": lambda study: study.extend(4),
}


@pytest.mark.parametrize("deed", OWN_DEEDS)
@pytest.mark.parametrize("name", ["noise", "delta", "forbidden", "cost", "travel"])
def test_without_a_function_a_study_does_what_needs_none_and_else_changes_nothing(
    name: str, deed: str, path: Path
) -> None:
    functions: dict[str, Any] = {
        "noise": own_noise,
        "delta": lambda depth: 0.5**depth,
        "forbidden": lambda region: False,
        "cost": lambda region: 1.0,
        "travel": lambda start, end: 0.1,
    }
    given = {**GIVEN, name: functions[name]}
    if name == "delta":
        given["policy"] = zn.GPOO(given.pop("delta"), h_max=4)
    study = zn.Study.create(path, LINE, **given)
    for _ in range(3):
        study.tell(study.ask(), 0.2)
    study.ask()
    lacking = zn.Study.open(path)
    with pytest.raises(StudyFileError, match=f"{name}=..."):
        lacking.ask()
    before, refused = path.read_bytes(), ""
    try:
        OWN_DEEDS[deed](lacking)
    except StudyFileError as error:
        refused = str(error)
    if refused:
        assert f"user's own {name}" in refused
        assert path.read_bytes() == before
        assert lacking.events == study.events
        assert (name, deed) not in {("travel", change) for change in OWN_DEEDS}  # that is for asking alone
        assert deed not in ("cancel", "extend")
        return
    done = zn.Study.open(path, **{name: functions[name]})
    OWN_DEEDS[deed](memory := copy.copy(study))
    assert [len(event) for event in done.events] == [len(event) for event in memory.events]
    assert np.array_equal(done.tree.index, memory.tree.index)
    assert done.tree.mean == pytest.approx(memory.tree.mean, abs=1e-9)
    assert lacking.trials == done.trials


def close_but_for_the_next(study: zn.Study, other: zn.Study) -> None:
    np.testing.assert_allclose(study.tree.mean, other.tree.mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(study.predict([0, 1]).mean, other.predict([0, 1]).mean, rtol=0, atol=1e-10)


# Files that are none, or not whole.


def damaged(path: Path, make: Callable[[Path], object], match: str) -> None:
    """Check that a file is refused, and left as it is."""
    make(path)
    before, beside = path.read_bytes(), set(path.parent.iterdir())
    with pytest.raises(StudyFileError, match=match):
        zn.Study.open(path)
    assert path.read_bytes() == before
    assert set(path.parent.iterdir()) == beside


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE events (number)")
    connection.close()


def pragma(line: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        zn.Study.create(path, LINE, **GIVEN)
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute(line)
        connection.close()

    return change


def truncated(path: Path) -> None:
    lived(zn.Study.create(path, LINE, **GIVEN))
    os.truncate(path, path.stat().st_size // 2)


FORGETFUL = "forget AFTER INSERT ON events BEGIN DELETE FROM events WHERE number = NEW.number; END"
DAMAGED: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda path: path.touch(), "not a Zonal study"),
    "text": (lambda path: path.write_text("l,b,value\n" * 99), "not a Zonal study"),
    "foreign": (foreign, "not a Zonal study"),
    "newer": (
        pragma(f"PRAGMA user_version = {FORMAT + 1}"),
        rf"sky.db has format {FORMAT + 1}, and this Zonal reads format {FORMAT} only\. Upgrade Zonal\.",
    ),
    "older": (
        pragma(f"PRAGMA user_version = {FORMAT - 1}"),
        rf"sky.db has format {FORMAT - 1}, and this Zonal reads format {FORMAT} only\. Open it with the release",
    ),
    "another journal mode": (pragma("PRAGMA journal_mode = WAL"), "journal mode"),
    "truncated": (truncated, "damaged"),
    "events lost": (pragma("DELETE FROM events"), "damaged"),
    "event changed": (pragma("UPDATE events SET time = 'now'"), "damaged"),
    "end lost": (pragma("DELETE FROM head"), "damaged"),
    "settings changed": (pragma("UPDATE study SET settings = '{}'"), "not those that were written"),
    "table lost": (pragma("DROP TABLE events"), "damaged"),
    "table too many": (pragma("CREATE TABLE mine (text)"), "table mine, not exactly the tables of a study"),
    "index": (pragma("CREATE INDEX faster ON events (time)"), "index faster, not exactly the tables"),
    "view": (pragma("CREATE VIEW seen AS SELECT * FROM events"), "view seen, not exactly the tables"),
    "trigger": (pragma(f"CREATE TRIGGER {FORGETFUL}"), "trigger forget, not exactly the tables"),
    "column too many": (pragma("ALTER TABLE events ADD COLUMN mine TEXT"), "not exactly the tables of a study"),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_what_is_no_whole_study_is_refused_and_left_alone(what: str, path: Path) -> None:
    damaged(path, *DAMAGED[what])


def test_there_must_be_a_file_to_open_and_none_to_create(path: Path) -> None:
    with pytest.raises(StudyFileError, match=r"there is no file sky\.db"):
        zn.Study.open(path)
    with pytest.raises(StudyFileError, match="nowhere"):
        zn.Study.create(path.parent / "nowhere" / "sky.db", LINE, **GIVEN)
    path.write_text("mine")
    with pytest.raises(StudyFileError, match=r"the file sky\.db already exists"):
        zn.Study.create(path, LINE, **GIVEN)
    assert path.read_text() == "mine"
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_was_replaced_or_put_back_is_not_written_to(path: Path) -> None:
    study = zn.Study.create(path, LINE, **GIVEN)
    shutil.copy(path, path.with_name("old.db"))
    study.ask()
    for other in ("old.db", "new.db"):
        if other == "new.db":
            zn.Study.create(path.with_name("new.db"), LINE, **GIVEN)
        os.replace(path.with_name(other), path)
        before = path.read_bytes()
        with pytest.raises(StudyFileError, match="no longer the same file"):
            study.ask()
        assert path.read_bytes() == before
    path.unlink()
    with pytest.raises(StudyFileError, match="any more: it was deleted or moved"):
        study.ask()
    assert not path.exists()


def test_a_trigger_that_came_later_loses_no_ask(path: Path) -> None:
    study = zn.Study.create(path, LINE, **GIVEN)
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TRIGGER {FORGETFUL}")
    connection.close()
    for call in (study.ask, study.refresh):
        with pytest.raises(StudyFileError, match="trigger forget"):
            call()
    assert study.trials == []


@pytest.mark.tries
def test_random_changes_of_a_file_are_found_or_change_nothing(path: Path) -> None:
    study = zn.Study.create(path, LINE, **GIVEN)
    lived(study, 5)
    whole, events, rng = path.read_bytes(), study.events, random.Random(0)
    opened = 0
    for _ in range(tries(300, 1000)):
        content = bytearray(whole)
        for _ in range(rng.choice([1, 1, 1, 8, 100])):
            content[rng.randrange(len(content))] = rng.randrange(256)
        if rng.random() < 0.1:
            del content[rng.randrange(len(content)) :]
        path.write_bytes(content)
        try:
            again = zn.Study.open(path)
        except StudyFileError:
            assert path.read_bytes() == content
            continue
        assert again.events == events
        opened += 1
        if opened % 5 == 0:
            with_trial = len(again.trials)
            try:
                again.ask()
            except StudyFileError:
                continue
            assert len(zn.Study.open(path).trials) == with_trial + 1
    assert opened > 5


def test_a_full_disk_loses_nothing(path: Path) -> None:
    study = zn.Study.create(path, LINE, **GIVEN)
    trial = study.ask()
    before = len(study.events)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, limits[1]))
        with pytest.raises(StudyFileError, match="disk"):
            study.tell(trial, 0.5, note="x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert len(study.events) == before
    assert study.pending == (trial,)
    study.tell(trial, 0.5)
    assert zn.Study.open(path).measured == 1


READ_ONLY = """
import os, sys, zonal as zn
os.setgid(65534); os.setuid(65534)
study = zn.Study.open(sys.argv[1])
print(study.read_only, len(study.trials))
try:
    study.ask()
except zn.errors.StudyFileError as error:
    print(error)
"""


@pytest.mark.skipif(os.name == "nt" or os.getuid() != 0, reason="only root can become somebody else")
def test_a_file_that_may_not_be_written_to_can_be_looked_at(path: Path) -> None:
    zn.Study.create(path, LINE, **GIVEN).ask()
    path.chmod(0o444)
    path.parent.chmod(0o755)
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", READ_ONLY, path], capture_output=True, text=True)
    assert "may not be written to. 1" in done.stdout, done.stderr
    assert "open for reading only" in done.stdout
    assert path.read_bytes() == before


# Many hands.


def test_a_copy_taken_while_the_file_is_in_use_opens(path: Path) -> None:
    study = zn.Study.create(path, LINE, **GIVEN)
    twin = path.with_name("copy.db")
    with study._writing():  # the lock is held, a decision is being made
        shutil.copy(path, twin)
    assert zn.Study.open(twin).events == study.events
    pid = forked(lambda: crowd(path, 0))
    opened = 0
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        shutil.copy(path, twin)
        try:
            copied = zn.Study.open(twin)
        except StudyFileError:  # between two pages of one write; never believed
            continue
        opened += 1
        if copied.remaining:
            copied.ask()
            zn.Study.open(twin)
    assert opened
    assert zn.Study.open(path).measured == 20


def test_two_studies_on_one_file_see_what_the_other_did(path: Path) -> None:
    first = zn.Study.create(path, LINE, **GIVEN)
    second = zn.Study.open(path)
    trial = first.ask()
    assert second.ask() != trial
    second.tell(trial.number, 0.3)
    first.tell(trial, 0.3)  # the same again
    with pytest.raises(zn.TrialError, match="already"):
        first.tell(trial, 0.4)
    first.refresh()
    assert first.events == second.events
    np.testing.assert_allclose(first.tree.mean, second.tree.mean, rtol=0, atol=1e-12)


def crowd(path: Path, number: int) -> None:
    """Ask and tell until the budget is spent, beside others."""
    study = zn.Study.open(path)
    try:
        while True:
            trial = study.ask()
            study.tell(trial, float(trial.number), note=str(number))
    except zn.BudgetSpent:
        pass


def test_four_processes_at_one_study(path: Path) -> None:
    zn.Study.create(path, LINE, **{**GIVEN, "budget": 60})
    children = [forked(partial(crowd, path, number)) for number in range(4)]
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 4
    study = zn.Study.open(path)
    told = [fact for event in study.events for fact in event if isinstance(fact, Told)]
    assert sorted(fact.number for fact in told) == list(range(60))
    assert all(fact.value == fact.number for fact in told)
    assert len({fact.note for fact in told}) > 1
    assert first_difference(study.settings, study.events) == ""


def test_threads_at_two_studies_on_one_file(path: Path) -> None:
    zn.Study.create(path, LINE, **{**GIVEN, "budget": 40})
    both = [zn.Study.open(path), zn.Study.open(path)]

    def work(number: int) -> None:
        with suppress(zn.BudgetSpent):
            while True:
                trial = both[number % 2].ask()
                both[(number + trial.number) % 2].tell(trial, float(trial.number))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    for study in [*both, zn.Study.open(path)]:
        study.refresh()
        assert sorted(record.value or 0.0 for record in study.trials) == list(range(40))
        assert study.events == both[0].events


class Interrupted(BaseException):
    """As Ctrl-C, at a line of the test's choosing."""


@pytest.mark.tries
@pytest.mark.parametrize("start", range(5))
def test_an_interrupt_at_any_line_loses_nothing(start: int, folder: Path) -> None:
    for at in range(start, 1500, tries(83, 41)):  # an ask and a tell have about so many lines
        path = folder / f"{at}.db"
        study = zn.Study.create(path, LINE, **GIVEN)
        lines = iter(range(at))

        def trace(frame: FrameType, event: str, _: object, lines: Iterator[int] = lines) -> Any:
            if "zonal" in frame.f_code.co_filename and event == "line" and next(lines, None) is None:
                sys.settrace(None)
                raise Interrupted
            return trace

        sys.settrace(trace)
        with suppress(Interrupted):
            study.tell(study.ask(), 0.3)
        sys.settrace(None)
        assert zn.Study.open(path).events[: len(study.events)] == study.events
        study.refresh()
        assert zn.Study.open(path).events == study.events
        trial = study.pending[0] if study.pending else study.ask()
        if trial.number == 0:
            study.tell(trial, 0.3)
        assert study.trials[0].value == 0.3
        path.unlink()


def test_a_writer_that_never_ends_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = zn.Study.create(path, LINE, **GIVEN)
    monkeypatch.setattr(journal, "PATIENCE", 0.05)
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with pytest.raises(StudyFileError, match="another process has been writing"):
        study.ask()
    blocker.close()
    study.ask()


@pytest.mark.tries
def test_killed_processes_lose_nothing(folder: Path) -> None:
    torture(folder, tries(12, 30), seed=1)


def test_a_worker_killed_with_the_disk_full_loses_nothing(path: Path) -> None:
    given, tally, rng = settings(0), Tally(), random.Random(0)
    zn.Study.create(path, **given)

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 2000, resource.RLIM_INFINITY))

    for number in range(6):
        kill_one(path, tally, rng, small if number % 2 == 0 else lambda: None)
        check(path, tally)
    alone = zn.Study(**given)
    study = check(path, tally)
    while step(study, lambda _: None):
        pass
    while step(alone, lambda _: None):
        pass
    same_walk(study, alone)


def test_the_examples_of_the_page_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    page = (Path(__file__).parents[2] / "docs" / "files.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert examples
    exec(compile("\n".join(examples), "files.md", "exec"), {})


def test_the_page_lists_every_fact_and_where_notes_are() -> None:
    page = (Path(__file__).parents[2] / "docs" / "files.md").read_text()
    listed = dict(re.findall(r"^\| `([A-Z]\w+)` \| (.*) \|$", page, re.MULTILINE))
    assert listed.keys() == {fact.__name__ for fact in EVENTS}
    for noted in (fact.__name__ for fact in EVENTS if "note" in fact._fields):
        assert re.search(r"\b(note|why)\b", listed[noted]), noted


# Files of all releases of this format.

GOLDEN = sorted((Path(__file__).parents[1] / "data" / "golden").glob("*.db"))


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.stem)
def test_golden_files_open_and_go_on(golden: Path, path: Path) -> None:
    shutil.copy(golden, path)
    again = AGAIN.get(golden.stem, {})
    study, wanted = zn.Study.open(path, **again), json.loads(golden.with_suffix(".json").read_text())
    opened = json.loads(json.dumps(expected(study)))
    for name in ("trials", "observed", "tree", "budget"):
        assert opened[name] == wanted[name], name
    np.testing.assert_allclose(opened["mean"], wanted["mean"], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(
        np.array(opened["std"], dtype=float), np.array(wanted["std"], dtype=float), rtol=1e-6, atol=1e-8
    )
    assert study.read_only == ""
    study.tell(study.ask(), 0.5)
    assert zn.Study.open(path, **again).measured == study.measured


@pytest.mark.one_in(3)
@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.stem)
def test_golden_histories_are_decided_again_in_the_same_way(golden: Path) -> None:
    study = zn.Study.open(golden, **AGAIN.get(golden.stem, {}))
    assert first_difference(study.settings, study.events) == ""


def test_a_file_of_another_program_is_not_called_damaged_whatever_its_journal_mode(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("CREATE TABLE own (x)")
    with pytest.raises(StudyFileError, match=r"other\.db is not a Zonal study\. Pass a file"):
        zn.Study.open(tmp_path / "other.db")


def test_a_handle_does_not_write_to_a_file_that_a_newer_release_went_on_with(tmp_path: Path) -> None:
    path = tmp_path / "newer.db"
    study = zn.Study.create(path, [(0, 1)], budget=5, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA user_version = {FORMAT + 1}")
    before = path.read_bytes()
    for call in (study.ask, study.refresh, lambda: study.observe([(0, 1)], 0.1)):
        with pytest.raises(zn.StudyFileError, match="Upgrade Zonal"):
            call()
    assert path.read_bytes() == before
