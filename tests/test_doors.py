"""Random campaigns through every door at once: memory, file, replay, export, pickle, shell and HTTP agree.

One after the other, each operation is done through all doors to a study of their own. What they answer, or the
class of their refusal, and what is believed afterwards must be the same, however often a study was put away.
"""

import copy
import json
import math
import pickle
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import zonal as zn
from effort import tries
from web.server_process import Server, serving
from zonal.cli.options import OF_ERRORS
from zonal.storage.verify import first_difference
from zonal.study.export import exported, imported
from zonal.study.history import history

pytestmark = pytest.mark.filterwarnings("ignore::zonal.NumericalWarning", "ignore::zonal.ModelWarning")

STATES = {"NSW": {"Coast": ["a", "b", "c"], "West": ["d", "e"]}, "VIC": {"North": ["f", "g", "h"]}}
GRID = np.stack(np.meshgrid(np.arange(4.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
SPACES: list[Callable[[], Any]] = [
    lambda: zn.Box({"x": (0, 1)}),
    lambda: zn.Box({"x": (0, 1), "y": (-2, 2)}, arity=3, smallest={"x": 0.1, "y": 0.4}),
    lambda: zn.Box({"layers": (1, 12)}, scale="integer"),
    lambda: zn.Box({"angle": (0, 360), "p": (0.01, 10)}, periodic=["angle"], scale={"p": "log"}),
    lambda: zn.Product({"x": (0, 1), "dye": ["red", "green", "blue"]}),
    lambda: zn.Sequences("ACGT", length=3),
    lambda: zn.Points(GRID),
    lambda: zn.Hierarchy(STATES),
    lambda: zn.Box({"x": (0, 1), "y": (0, 1)}, smallest=1 / 64),
]
POLICIES: list[Callable[[], Any]] = [
    lambda: None,
    lambda: None,
    lambda: zn.GPOO(zn.GeometricDelta(2.0, 0.6), h_max=5),
    lambda: zn.UCB(level=2),
    lambda: zn.Random(level=2),
    lambda: zn.Above(0.3),
    lambda: zn.Above(top=0.3),
    lambda: zn.KnowledgeGradient("smallest"),
    lambda: zn.GPOO(zn.GeometricDelta(2.0, 0.6), h_max=5, test="before", ahead=True),
    lambda: zn.StoOO(zn.GeometricDelta(2.0, 0.6), h_max=5),
    lambda: zn.GPTree(h_max=4),
    lambda: zn.Thompson(level=2),
    lambda: zn.UniformGrid(),
]
PRICES: list[dict[str, Any]] = [
    {"budget": 40.0, "cost": 1.5, "overhead": 0.5},
    {"budget": 60.0, "times": [1, 2, 4], "overhead": 0.5, "cost_unit": "s"},
    {"budget": 30.0, "travel": 0.7},  # in boxes with one unit of length
]
TRAVELLED = 2  # so many of the spaces are such boxes


class Deed(NamedTuple):
    """One operation: the name of a method, and its arguments."""

    word: str
    arguments: tuple[Any, ...] = ()
    named: dict[str, Any] = {}  # noqa: RUF012  # never changed


class Door:
    """A study, and how it is put away and taken out again between operations."""

    def __init__(self, study: zn.Study, again: Callable[[zn.Study, np.random.Generator], zn.Study]) -> None:
        self.study, self._again = study, again

    def do(self, deed: Deed, rng: np.random.Generator) -> Any:
        """Return what a call answers, or the class of its refusal."""
        self.study = self._again(self.study, rng)
        arguments = deed.arguments
        if deed.word in ("correct", "retract") and isinstance(arguments[0], tuple):  # the number of an observation
            arguments = observation(self.study, *arguments[0]), *arguments[1:]
        try:
            return plain(getattr(self.study, deed.word)(*arguments, **deed.named))
        except zn.ZonalError as error:
            return next(kind for kind in ERRORS if isinstance(error, kind))


class Shell(Door):
    """A study in a file, worked on by commands; refusals are measured by exit codes."""

    def do(self, deed: Deed, rng: np.random.Generator) -> Any:
        options: list[Any] = [item for name in ("sem", "note") for item in _option(name, deed.named)]
        arguments: list[Any] = [_spelt(own) for own in deed.arguments]
        if deed.word == "ask":
            limits = [(f"--{name}", _spelt(place)) for name, places in deed.named.items() for place in places]
            arguments, options = [], ["-n", deed.arguments[0], "--json", *chain.from_iterable(limits)]
        options += ["--no-retry"] if deed.named.get("retry") is False else []
        options += ["--observation"] if deed.arguments and isinstance(deed.arguments[0], tuple) else []
        before = len(self.study.events)
        result = _run(deed.word, self.study.path, *options, "--", *arguments)
        self.study.refresh()
        if result.exit_code:
            assert len(self.study.events) == before
            kinds = [kind for kind in ERRORS if _code(kind) == result.exit_code]
            return set(kinds)
        if deed.word == "ask":
            return [plain(own) for own in self.study.pending[-len(json.loads(result.stdout)) :]]
        return ...


def _run(*words: object) -> Any:
    from click.testing import CliRunner

    from zonal.cli.main import main

    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def _code(kind: type[zn.ZonalError]) -> int:
    return next(code for own, code in OF_ERRORS.items() if issubclass(kind, own))


def _option(name: str, named: dict[str, Any]) -> list[Any]:
    return [f"--{name}", named[name]] if name in named else []


def _spelt(own: Any) -> Any:
    """Return an argument as one types it: a region as commands read it."""
    if isinstance(own, tuple):
        return own[0]
    if not hasattr(own, "space"):
        return own
    if isinstance(own.space, zn.Points):
        return " ".join(map(str, own.members.tolist()))
    if isinstance(own.space, zn.Box):
        return ", ".join(f"{name}={low!r}..{high!r}" for name, (low, high) in own.as_dict().items())
    return own.name


ERRORS = (zn.BudgetSpent, zn.Exhausted, zn.TrialError, zn.StudyFileError, zn.InvalidInput, zn.ZonalError)


def observation(study: zn.Study, number: int) -> Any:
    """Return an observation by its number, a retracted one too."""
    return next(one for one, _ in history(study) if isinstance(one, zn.Observation) and one.number == number)


def plain(answer: Any) -> Any:
    """Return an answer as numbers, without what differs between copies of a study."""
    if isinstance(answer, list):
        return [plain(own) for own in answer]
    if isinstance(answer, zn.Trial):
        return answer.number, answer.node, answer.replicate, answer.time, round(answer.cost, 9)
    return answer.number if isinstance(answer, zn.Observation) else answer


def given(rng: np.random.Generator, typed: bool) -> tuple[Any, dict[str, Any]]:
    """Return a space and settings; what is `typed` in a shell can be written as text."""
    at = int(rng.integers(len(SPACES)))
    while typed and at == 4:
        at = int(rng.integers(len(SPACES)))
    space = SPACES[at]()
    settings: dict[str, Any] = {"budget": int(rng.integers(4, 14)), "rng": int(rng.integers(99))}
    settings["policy"] = POLICIES[int(rng.integers(len(POLICIES)))]()
    if rng.random() < 0.3:
        settings |= PRICES[int(rng.integers(len(PRICES) if at < TRAVELLED else len(PRICES) - 1))]
    how = rng.random()
    if how < 0.8:  # else the model is learned
        scales = {0: 0.2, 1: 0.5, 2: 4.0}
        plain_axes = at in scales
        settings["kernel"] = zn.RBF(1.0, scales[at]) if plain_axes else None
        settings["noise"] = 0.0 if how < 0.35 and plain_axes else 0.1
    if rng.random() < 0.2:
        settings["direction"] = "minimize"
    if rng.random() < 0.2:
        settings["max_replicates"] = 2
    return space, settings


SHARES = {"ask": 3, "tell": 5, "again": 0.7, "otherwise": 0.4, "observe": 1, "fail": 0.7, "never": 0.4}
SHARES |= {"cancel": 0.4, "correct": 0.5, "retract": 0.5, "allow": 0.4, "extend": 0.2}
SHARES |= {"forbid": 0.7, "allow_part": 0.4, "ask_where": 1.5}


def deeds(study: zn.Study, rng: np.random.Generator, number: int, typed: bool) -> Iterator[Deed]:
    """Yield operations that suit the study as it is, and some that it must refuse."""
    truth: dict[int, float] = {}
    shares = np.array([*SHARES.values()])
    yield Deed("ask", (1,))
    for word in rng.choice([*SHARES], size=number, p=shares / shares.sum()).tolist():
        limited = word == "ask_where" or study.forbidden or study.settings.max_replicates
        several = not (typed and limited)  # a command asks for as many as there are, a call for all or none
        yield deed(word, study, rng, truth, several)


def part(study: zn.Study, rng: np.random.Generator) -> Any:
    """Return a region: a node of the tree or, where there is an axis x, sometimes a strip that is no node."""
    if isinstance(study.space, zn.Box) and "x" in study.space.cell((0, 0)).as_dict() and rng.random() < 0.3:
        low = int(rng.integers(5))
        return study.space.region({"x": (low / 7, (low + 3) / 7)})
    row = int(rng.integers(min(1, len(study.tree.depth) - 1), len(study.tree.depth)))
    return study.space.cell((int(study.tree.depth[row]), int(study.tree.index[row])))


def deed(
    word: str, study: zn.Study, rng: np.random.Generator, truth: dict[int, float], several: bool = True
) -> Deed:
    """Return an operation of a kind; `truth` has the values of trials. `several` trials may be asked for."""
    seen, pending = len(study._state.observed), [own.number for own in study.pending]
    trial, new = int(rng.integers(len(study.trials))), round(float(rng.normal()), 3)
    ongoing = int(rng.choice(pending)) if pending and rng.random() < 0.8 else trial
    named: dict[str, Any] = {"sem": 0.3} if rng.random() < 0.2 else {}
    some: Any = (int(rng.integers(seen)),) if seen and rng.random() < 0.5 else trial
    row = int(rng.integers(len(study.tree.depth)))
    match word:
        case "ask" | "ask_where":
            room = several and study.remaining >= (25 if study.settings.priced else 3)
            wanted = int(rng.integers(2, 4)) if room and rng.random() < 0.3 else 1
            names = [("within",), ("avoid",), ("within", "avoid")][int(rng.integers(3))] if word != "ask" else ()
            return Deed(
                "ask", (wanted,), {name: [part(study, rng) for _ in range(1 + seen % 2)] for name in names}
            )
        case "forbid":
            return Deed("forbid", (part(study, rng),), {"note": "wet"})
        case "allow_part":
            every = study.forbidden
            return Deed("allow", (every[trial % len(every)] if every else part(study, rng),))
        case "tell":
            return Deed("tell", (ongoing, truth.setdefault(ongoing, new)), named)
        case "again":
            return Deed("tell", (trial, truth.setdefault(trial, new)))
        case "otherwise":
            return Deed("tell", (trial, truth.setdefault(trial, new) + 1))
        case "observe":
            cell = study.space.cell((int(study.tree.depth[row]), int(study.tree.index[row])))
            return Deed("observe", (cell, new), named)
        case "never":
            return Deed("fail", (ongoing,), {"retry": False, "note": "no access"})
        case "correct":
            return Deed("correct", (some, new), {"note": "slip"})
        case "retract":
            return Deed("retract", (some,), {"note": "spilled"})
        case "allow":
            return Deed("allow", (study.space.cell((0, 0)),))
        case "extend":
            return Deed("extend", (2,))
    return Deed(word, (ongoing,), {"note": "it broke"} if new > 0 else {})


def same(one: zn.Study, other: zn.Study, name: str) -> None:
    """Check that two studies know the same, up to rounding."""
    assert other.trials == [own.__class__(**{**vars(own), "study": other.id}) for own in one.trials], name
    assert (other.measured, len(other.observations)) == (one.measured, len(one.observations)), name
    assert [own.key for own in other.forbidden] == [own.key for own in one.forbidden], name
    assert [own.key for own in other.blocked] == [own.key for own in one.blocked], name
    assert math.isclose(other.remaining, one.remaining, abs_tol=1e-9), name
    here, there = one.tree, other.tree
    assert (here.depth.tolist(), here.index.tolist()) == (there.depth.tolist(), there.index.tolist()), name
    scale = max(1.0, float(np.abs(here.mean).max()))
    np.testing.assert_allclose(there.mean, here.mean, rtol=0, atol=1e-6 * scale, err_msg=name)
    np.testing.assert_allclose(there.std, here.std, rtol=0, atol=1e-6 * scale, err_msg=name)
    assert other.recommend().region == one.recommend().region, name


def reopened(study: zn.Study, rng: np.random.Generator) -> zn.Study:
    assert study.path is not None
    return zn.Study.open(study.path) if rng.random() < 0.5 else study


def replayed(study: zn.Study, rng: np.random.Generator) -> zn.Study:
    return zn.Study.replay(study.settings, study.events, batch=rng.random() < 0.5)


def carried(study: zn.Study, rng: np.random.Generator) -> zn.Study:
    return imported(exported(study).encode()) if rng.random() < 0.5 else study


def copied(study: zn.Study, rng: np.random.Generator) -> zn.Study:
    return pickle.loads(pickle.dumps(study)) if rng.random() < 0.5 else copy.deepcopy(study)


def campaign(seed: int, folder: Path, server: Server | None = None, typed: bool = False, number: int = 22) -> None:
    """Go through all doors at once."""
    rng = np.random.default_rng(seed)
    space, settings = given(rng, typed)
    memory = zn.Study(space, **settings)

    def stored(name: str) -> zn.Study:
        study = copy.deepcopy(memory)
        study.save(folder / f"{name}{seed}.db")
        return study

    doors = {
        "memory": Door(memory, lambda study, rng: study),
        "file": Door(stored("file"), reopened),
        "replay": Door(copy.deepcopy(memory), replayed),
        "export": Door(copy.deepcopy(memory), carried),
        "copy": Door(copy.deepcopy(memory), copied),
    }
    if server is not None:
        stored("there")
        remote = zn.connect(server.url(f"there{seed}"))
        doors["http"] = Door(remote, lambda study, rng: study)
    if typed:
        doors["shell"] = Shell(stored("shell"), reopened)
    for at, own in enumerate(deeds(memory, rng, number, typed)):
        what = f"seed {seed}, operation {at}: {own.word} {own.arguments} {own.named}"
        found = {name: door.do(own, rng) for name, door in doors.items()}
        first = found["memory"]
        for name, answer in found.items():
            kind = {first} if isinstance(first, type) else first
            alike = kind <= answer if isinstance(answer, set) and isinstance(kind, set) else answer == first
            assert alike or (answer is ... and not isinstance(first, type)), (
                f"{what}: {name} {answer}, not {first}"
            )
        if at % 4 == 3:
            for name, door in doors.items():
                same(memory, door.study, f"{what}: {name}")
    for name, door in doors.items():
        same(memory, door.study, f"seed {seed}, at the end: {name}")
    assert first_difference(memory.settings, memory.events) == ""
    if typed:
        verified = _run("verify", doors["shell"].study.path)
        assert verified.exit_code == 0, verified.output


@pytest.mark.parametrize("seed", range(tries(3, 440)))
def test_what_is_put_away_and_taken_out_again_is_the_same_study(seed: int, tmp_path: Path) -> None:
    campaign(seed, tmp_path)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("doors")) as server:
        yield server


@pytest.mark.parametrize("seed", range(1000, 1000 + tries(1, 60)))
def test_commands_and_requests_do_what_calls_do(seed: int, server: Server) -> None:
    campaign(seed, server.folder, server, typed=True, number=16)
