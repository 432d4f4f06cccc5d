"""Exports of events: what comes back is what went out, and nothing else is believed."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn
from damaged_exports import NUMBER, changed_value, edited, exports, with_digest
from effort import tries
from eventful_studies import lived
from shell import zonal
from zonal.storage.schema import FORMAT
from zonal.study.export import exported, imported

pytestmark = pytest.mark.one_in(2)

GOLDEN = sorted((Path(__file__).parents[1] / "data" / "golden").glob("*.jsonl"))


@cache
def learned() -> str:
    """Return the export of a study of which everything is learned."""
    return exported(lived(zn.Study([(0, 1)], budget=20, rng=1)))


def lines_of(export: str) -> list[dict[str, Any]]:
    """Return an export as documents: the settings, the events, the end."""
    return [json.loads(line) for line in export.splitlines()]


def text_of(documents: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(document) + "\n" for document in documents).encode()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("number", range(NUMBER))
def test_an_export_comes_back_as_it_was(number: int) -> None:
    content = exports()[number]
    study = imported(content)
    assert exported(study).encode() == content


def test_a_thousand_random_edits_are_refused() -> None:
    rng = random.Random(0)
    for number in range(1000):
        content = edited(exports()[number % len(exports())], rng)
        with pytest.raises(zn.InvalidInput):
            imported(content)


@pytest.mark.tries
def test_a_forged_export_is_imported_or_refused_in_a_sentence() -> None:
    rng, taken = random.Random(1), 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for number in range(tries(60, 300)):
            content = exports()[number % len(exports())]
            changed = edited(content, rng) if number % 5 == 0 else changed_value(content, rng)
            try:
                imported(with_digest(changed))
            except zn.InvalidInput:
                continue
            taken += 1
    assert taken > 3


def test_random_edits_are_refused_from_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = random.Random(2)
    for number in range(20):
        Path("e.jsonl").write_bytes(edited(exports()[number % len(exports())], rng))
        refusal = zonal("import", "t.db", "e.jsonl", code=1).stderr
        assert refusal.count("\n") == 1
        assert not Path("t.db").exists()
    zonal("import", "t.db", "e.jsonl", "--edited", code=2)  # there is no way around it


@pytest.mark.parametrize("number", [1, 4, FORMAT + 1, None, "5"])
def test_an_export_of_another_format_is_refused_by_name(number: Any) -> None:
    documents = lines_of(learned())
    documents[0]["format"] = number
    with pytest.raises(
        zn.InvalidInput, match=rf"reads exports of format {FORMAT} only; got {number!r}\. "
    ) as caught:
        imported(with_digest(text_of(documents)))
    assert str(caught.value).endswith("Upgrade Zonal." if number == FORMAT + 1 else "that wrote it.")


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.stem)
def test_golden_exports_are_what_golden_files_hold(golden: Path) -> None:
    study, live = imported(golden.read_bytes()), zn.Study.open(golden.with_suffix(".db"))
    assert study.events == live.events
    assert exported(study).encode() == golden.read_bytes()


Change = Callable[[list[dict[str, Any]]], object]


def of(kind: str, number: int = 0) -> Callable[[list[Any]], dict[str, Any]]:
    """Return what finds a fact of a kind."""
    return lambda lines: [fact for line in lines[1:-1] for fact in line if fact["$"] == kind][number]


def put(kind: str, **parts: Any) -> Change:
    return lambda lines: of(kind)(lines).update(parts)


def given(**settings: Any) -> Change:
    return lambda lines: lines[0]["settings"].update(settings)


def twice(kind: str) -> Change:
    def double(lines: list[Any]) -> None:
        at = next(at for at, line in enumerate(lines) if at and of(kind)(lines) in line)
        lines.insert(at + 1, lines[at])

    return double


def split(**parts: Any) -> Change:
    """Change the first split of the beginning."""

    def change(lines: list[dict[str, Any]]) -> None:
        of("Split")(lines).update(parts)

    return change


def swapped(lines: list[dict[str, Any]]) -> None:
    lines[2], lines[3] = lines[3], lines[2]


NAN = {"$": "float", "is": "nan"}
IMPOSSIBLE: dict[str, tuple[Change, str]] = {
    "a negative budget": (given(budget=-3), "budget must be at least 1"),
    "a budget that is no number": (given(budget=NAN), "budget must be a whole number"),
    "a strange direction": (given(direction="sideways"), "maximize"),
    "a negative noise": (given(noise=-1.0), "noise must not be negative"),
    "a kernel that is none": (given(kernel=3), "kernel must be a kernel"),
    "a name that is none": (given(value_name=3), "value_name must be text"),
    "no seed": (given(seed=None), "seed must be a whole number"),
    "something of the user's": (given(noise={"$": "given", "name": "noise", "shown": "f"}), "user's own"),
    "begun twice": (twice("Created"), "a study begins once"),
    "told before it was asked": (swapped, "line"),
    "no beginning": (lambda lines: lines.pop(1), "begins with Created"),
    "a value that is no number": (put("Told", value=NAN), "Told.value cannot be nan"),
    "a value that is text": (put("Told", value="0.5"), "Told.value cannot be '0.5'"),
    "a note that is no text": (put("Told", note=3), "Told.note cannot be 3"),
    "an end of another kind": (put("Closed", state="lost"), "Closed.state cannot be 'lost'"),
    "a split of a row that is not there": (split(rows=[77]), "line"),
    "a split that cannot be": (split(checksum=1), "splits the region differently"),
    "a depth beyond all trees": (put("Created", h_max=10**6), "h_max is too large"),
    "a mean that is no number": (
        lambda lines: of("Fitted", 4)(lines)["fit"]["model"].update(mean=NAN),
        "Model.mean cannot be nan",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_makes_no_study_is_refused_with_its_line_if_the_digest_fits(name: str) -> None:
    change, why = IMPOSSIBLE[name]
    documents = lines_of(learned())
    change(documents)
    with pytest.raises(zn.InvalidInput, match="this is not what was exported"):
        imported(text_of(documents))
    with pytest.raises(zn.InvalidInput, match=why) as caught:
        imported(with_digest(text_of(documents)))
    assert str(caught.value).startswith("line ")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda lines: lines[:-6], "its last line, with a count and a digest"),
        (lambda lines: [*lines[:-7], lines[-1]], r"there are 24 events, not 30"),
        (lambda lines: [*lines[:4], *lines[3:]], r"there are 31 events, not 30"),
        (lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]], "changed after it was written"),
        (lambda lines: [line.replace("0.25", "0.26") for line in lines], "changed after it was written"),
        (lambda lines: [], "not an export of events"),
    ],
)
def test_it_is_said_what_is_wrong(change: Callable[[list[str]], list[str]], says: str) -> None:
    lines = learned().splitlines()
    with pytest.raises(zn.InvalidInput, match=says):
        imported("".join(line + "\n" for line in change(lines)).encode())


def test_an_end_without_a_beginning_is_refused() -> None:
    last = exports()[0].rstrip().split(b"\n")[-1]
    with pytest.raises(zn.InvalidInput, match="not an export of events"):
        imported(last + b"\n")


def _height(depth: int) -> float:
    return 0.5**depth


@dataclass(frozen=True)
class Left(zn.Center):
    """A feedback of the user's own."""


def test_what_no_import_could_read_is_not_exported(tmp_path: Path) -> None:
    """Settings within others too, and what only an observation used."""
    given: dict[str, Any] = {"budget": 5, "kernel": zn.RBF(1.0, 0.2), "noise": 0.1}
    path, out = tmp_path / "own.db", tmp_path / "own.jsonl"
    zn.Study.create(path, [(0, 1)], policy=zn.GPOO(_height), **given)
    assert (
        "something of the user's own" in zonal("export", path, "--format", "events", "--out", out, code=1).output
    )
    assert not out.exists()
    study = zn.Study([(0, 1)], **given)
    study.observe([(0, 0.5)], 0.3, feedback=Left())
    with pytest.raises(zn.InvalidInput, match="Left"):
        exported(study)
