"""Exports of events: what comes back is what went out, and nothing else is believed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import zonal as zn
from edits import NUMBER, changed_value, edited, exports
from effort import tries
from lives import lived
from shell import answer, zonal
from zonal.engine.events import Edited, Fitted
from zonal.storage.verify import first_difference
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
    assert study.edited == ()
    assert imported(content, edited=True).events == study.events  # it was not: nothing is said of it


def test_a_thousand_random_edits_are_refused() -> None:
    rng = random.Random(0)
    for number in range(1000):
        content = edited(exports()[number % len(exports())], rng)
        with pytest.raises(zn.InvalidInput, match="not what was exported"):
            imported(content)


@pytest.mark.tries
def test_edited_on_purpose_it_is_refused_or_every_later_call_works(tmp_path: Path) -> None:
    rng, taken = random.Random(1), 0
    for number in range(tries(30, 150)):
        content = exports()[number % len(exports())]
        changed = edited(content, rng) if number % 5 == 0 else changed_value(content, rng)
        try:
            study = imported(changed, edited=True)
        except zn.InvalidInput:
            continue
        if changed != content:
            taken += 1
            goes_on(study, tmp_path / f"{number}.db")
    assert taken > 3


def goes_on(study: zn.Study, path: Path) -> None:
    """Check that whatever one does with a study can be done with this one."""
    assert len(study.edited) == 1
    assert imported(exported(study).encode()).trials == study.trials
    study.save(path)
    again = zn.Study.open(path)
    assert again.edited == study.edited
    first_difference(again.settings, again.events)
    again.extend(4)
    try:
        again.tell(again.ask(), 0.3)
        again.fail(again.ask())
    except zn.Exhausted:  # of regions that the export forbids, or bars
        pass
    again.observe(again.space.cell((0, 0)), 0.4)
    again.refit()
    assert len(again.recommend(2)) > 0
    assert str(again.table())
    assert zn.Study.open(path).trials == again.trials


@pytest.mark.tries
def test_a_few_random_edits_from_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng, export, taken, left = random.Random(2), Path("e.jsonl"), 0, tries(2, 5)
    for number in range(40):
        content = exports()[number % len(exports())]
        changed = edited(content, rng) if number < 20 else content.replace(b"as told", b"as sold", number)
        export.write_bytes(changed)
        said = zonal("import", "t.db", "e.jsonl", code=1).stderr
        assert said.count("\n") == 1
        assert "--edited" in said
        assert not Path("t.db").exists()
        if number < 40 - left:
            continue
        zonal("import", "t.db", "e.jsonl", "--edited")
        taken += 1
        assert "edited export: it was changed after it was written" in zonal("show", "t.db").stdout
        assert answer("show", "t.db")["edited"] == ["it was changed after it was written"]
        zonal("recommend", "t.db")
        zonal("export", "t.db")
        zonal("export", "t.db", "--format", "json")
        zonal("ask", "t.db", "-n", 1)
        zonal("extend", "t.db", 1)
        Path("t.db").unlink()
    assert taken == left


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
    "something of the user's own": (given(noise={"$": "own", "name": "noise", "shown": "f"}), "user's own"),
    "told twice": (twice("Measured"), "was told already"),
    "asked twice": (twice("Asked"), "is not the next one"),
    "failed twice": (twice("Ended"), "was failed"),
    "begun twice": (twice("Began"), "a study begins once"),
    "told before it was asked": (swapped, "was never asked for"),
    "no beginning": (lambda lines: lines.pop(1), "begins with Created"),
    "a value that is no number": (put("Measured", value=NAN), "a measured value must be finite"),
    "a value that is text": (put("Measured", value="0.5"), "a measured value must be a single number"),
    "a value beyond all bounds": (put("Measured", value=1e200), "too far from the prior mean"),
    "a negative sem": (put("Measured", sem=-1), "sem must not be negative"),
    "a note that is no text": (put("Measured", note=3), "a note must be text"),
    "a note that no file can hold": (put("Measured", note="\ud800"), "surrogates not allowed"),
    "another number": (put("Asked", number=5), "is not the next one"),
    "another row": (put("Asked", row=10**6), "is not the next one"),
    "another node": (put("Asked", node=[1, 1]), "is not the next one"),
    "another draw": (put("Asked", draw=99), "is not the next one"),
    "an end of another kind": (put("Ended", state="lost"), "failed or cancelled"),
    "a withdrawal that bars": (put("Ended", state="cancelled", blocked=True), "failed or cancelled"),
    "an extension by less than nothing": (put("Extended", n=-5), "must be at least 1"),
    "a region beyond the space": (put("Observed", region={"$": "ProductRegion"}), "not a region of the space"),
    "a split of a row that is not there": (split(rows=[77]), "no such node"),
    "a split with a negative noise": (split(noise=[-1.0, 0.1]), "noise must not be negative"),
    "a split into one": (split(noise=[0.1], forbidden=[False]), "one entry per child"),
    "a split that cannot be": (split(checksum=1), "splits the region differently"),
    "a depth beyond all trees": (put("Began", h_max=10**6), "h_max is too large"),
    "an opening below the tree": (put("Began", opening=99), "opening is too large"),
    "a model without weight": (
        lambda lines: of("Fitted", 4)(lines)["fit"]["members"][0].update(weight=0.0),
        "the weight of a model must be positive",
    ),
    "a mean that is no number": (
        lambda lines: of("Fitted", 4)(lines)["fit"]["model"].update(mean=NAN),
        "a prior mean must be finite",
    ),
    "a model that starts nowhere": (
        lambda lines: of("Fitted", 4)(lines)["fit"].update(best=[[77, [0]]]),
        "a family of models is too large",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_cannot_have_happened_is_refused_also_if_it_was_edited_on_purpose(name: str) -> None:
    change, why = IMPOSSIBLE[name]
    documents = lines_of(learned())
    change(documents)
    with pytest.raises(zn.InvalidInput, match=r"pass --edited"):
        imported(text_of(documents))
    with pytest.raises(zn.InvalidInput, match=why) as caught:
        imported(text_of(documents), edited=True)
    assert str(caught.value).startswith("line ")


def test_more_trials_than_the_budget_has_are_refused() -> None:
    study = zn.Study([(0, 1)], budget=3, kernel=zn.RBF(1, 0.2), noise=0.1)
    study.ask(3)
    documents = lines_of(exported(study))
    documents[0]["settings"]["budget"] = 2
    with pytest.raises(zn.InvalidInput, match="is used up"):
        imported(text_of(documents), edited=True)


def test_exact_measurements_that_contradict_each_other_are_refused() -> None:
    study = zn.Study([(0, 1)], budget=3, kernel=zn.RBF(1, 0.2), noise=0.1)
    study.observe([(0, 1)], 0.5, sem=0.0)
    study.observe([(0, 1)], 0.5, sem=0.0)
    documents = lines_of(exported(study))
    of("Observed")(documents)["value"] = 0.7
    with pytest.raises(zn.InvalidInput, match="contradicts an earlier one"):
        imported(text_of(documents), edited=True)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda lines: lines[:-6], "its last line, with a count and a digest"),
        (lambda lines: [*lines[:-7], lines[-1]], r"there are 24 events, not 30"),
        (lambda lines: [*lines[:4], *lines[3:]], r"there are 31 events, not 30"),
        (lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]], "changed after it was written"),
        (lambda lines: [line.replace("0.25", "0.26") for line in lines], "changed after it was written"),
        (lambda lines: [], "its last line"),
    ],
)
def test_it_is_said_what_is_wrong(change: Callable[[list[str]], list[str]], says: str) -> None:
    lines = learned().splitlines()
    with pytest.raises(zn.InvalidInput, match=says):
        imported("".join(line + "\n" for line in change(lines)).encode())


def test_a_corrected_value_is_taken_and_models_are_learned_from_it() -> None:
    study = imported(learned().encode())
    documents = lines_of(exported(study))
    wrong = of("Measured", 2)(documents)
    right = wrong["value"] = wrong["value"] + 3.0
    again = imported(text_of(documents), edited=True)
    assert again.edited == ("it was changed after it was written",)
    assert again.trials[wrong["number"]].value == right
    assert len(again.events) == len(study.events) + 1
    said, last = again.events[-1]
    assert isinstance(said, Edited)
    assert isinstance(last, Fitted)
    assert last.fit.model.measurements == again.measured + len(again.observations)
    assert again.model.kernel.point_variance > study.model.kernel.point_variance
    assert not again.refit()  # there is nothing more to learn
    assert imported(exported(again).encode()).edited == again.edited
    assert first_difference(again.settings, again.events)  # other decisions would have followed


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.stem)
def test_exports_without_a_digest_are_taken_by_saying_so(golden: Path, tmp_path: Path) -> None:
    with pytest.raises(zn.InvalidInput, match="from an older Zonal, pass --edited"):
        imported(golden.read_bytes())
    study = imported(golden.read_bytes(), edited=True)
    assert study.edited == ("its last line, with a count and a digest of the lines above, is missing",)
    live = zn.Study.open(golden.with_suffix(".db"))
    assert study.trials == live.trials
    assert study.events[:-1] == live.events
    goes_on(study, tmp_path / "s.db")


def test_a_study_says_that_its_history_was_edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    documents = lines_of(learned())[:-1]
    Path("e.jsonl").write_bytes(text_of(documents))
    assert "edited export" in zonal("import", "t.db", "e.jsonl", "--edited").stderr
    said = zonal("verify", "t.db").stderr
    assert "all the same" in said
    assert "edited export" in said
    study = zn.Study.open("t.db")
    assert "edited export" in study._repr_html_()
    assert zn.Study.replay(study.settings, study.events).edited == study.edited


def test_an_end_without_a_beginning_is_refused() -> None:
    last = exports()[0].rstrip().split(b"\n")[-1]
    with pytest.raises(zn.InvalidInput):
        imported(last + b"\n", edited=True)


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
