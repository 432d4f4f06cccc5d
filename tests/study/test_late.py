"""Trials told after they had ended and the budget was spent: the first value counts, as an observation, once."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zonal as zn
from shell import fill, zonal
from web.server_process import serving
from zonal.storage.verify import first_difference
from zonal.web.methods_section import methods


def told_and_retracted(study: zn.Study, trial: zn.Trial) -> None:
    study.tell(trial, 0.4)
    study.retract(trial)


ENDS: dict[str, Callable[[zn.Study, zn.Trial], None]] = {
    "failed": lambda study, trial: study.fail(trial),
    "never again": lambda study, trial: study.fail(trial, retry=False),
    "cancelled": lambda study, trial: study.cancel(trial),
    "retracted": told_and_retracted,
}
each_end = pytest.mark.parametrize("how", ENDS)


def spent(how: str, study: zn.Study | None = None, **more: Any) -> tuple[zn.Study, zn.Trial]:
    """Return a study whose budget is spent, and a trial that ended before."""
    given: dict[str, Any] = {"budget": 1, "kernel": zn.RBF(1.0, 0.2), "noise": 0.1, **more}
    study = zn.Study({"x": (0, 1)}, **given) if study is None else study
    trial = study.ask()
    ENDS[how](study, trial)
    study.tell(study.ask(), 0.1)
    return study, trial


@each_end
def test_a_late_value_counts_once_however_often_it_is_told(how: str) -> None:
    study, trial = spent(how)
    study.tell(trial, 0.7)
    before = study.events
    for again in (
        study,
        zn.Study.replay(study.settings, before),
        zn.Study.replay(study.settings, before, batch=True),
    ):
        again.tell(trial, 0.7)
        again.tell(trial.number, 0.7)
        assert again.events == before
        with pytest.raises(zn.TrialError, match=r"already has the value 0.7"):
            again.tell(trial, 0.9)
    study.extend(3)  # also when it could be paid
    study.tell(trial, 0.7)
    assert (study.measured, len(study.observations)) == (1, 1)
    assert first_difference(study.settings, study.events) == ""


@each_end
def test_a_late_value_is_corrected_and_retracted_by_its_trial_and_may_then_be_told_again(how: str) -> None:
    study, trial = spent(how)
    study.tell(trial, 0.7, slopes={"x": (0.3, 0.1)})
    study.tell(trial, 0.7, slopes={"x": (0.3, 0.1)})
    assert len(study.observations) == 2
    study.correct(trial, 0.8)
    assert study.observations[0].value == 0.8
    with pytest.raises(zn.TrialError, match="already"):
        study.tell(trial, 0.8)  # without its slope
    study.retract(trial)
    assert not study.observations  # its slope is gone too
    for _ in range(2):
        study.tell(trial, 0.5)
    assert [own.value for own in study.observations] == [0.5]
    with pytest.raises(zn.TrialError, match="already"):
        study.tell(trial, 0.8)


@each_end
def test_the_note_of_a_late_value_is_kept_and_shown(how: str, tmp_path: Path) -> None:
    path = tmp_path / "late.db"
    study, trial = spent(how, zn.Study.create(path, {"x": (0, 1)}, budget=1, kernel=zn.RBF(1.0, 0.2), noise=0.1))
    study.tell(trial, 0.7, note="found in the drawer")
    study.observe([(0, 0.5)], 0.3, note="of last year")
    notes = ["found in the drawer", "of last year"]
    for again in (study, zn.Study.open(path), zn.Study.replay(study.settings, study.events)):
        assert [own.note for own in again.observations] == notes
        assert again.table()["note"][-2:] == notes
    for kind in ("csv", "json"):
        exported = zonal("export", path, "--format", kind).stdout
        assert all(note in exported for note in notes)
    study.correct(trial, 0.8)  # without another note
    assert study.observations[0].note == notes[0]
    assert first_difference(study.settings, study.events) == ""
    with pytest.raises(zn.InvalidInput, match="a note must be text"):
        study.observe([(0, 0.5)], 0.3, note=3)  # type: ignore[call-overload]


def test_a_shell_and_a_sheet_may_repeat_themselves(tmp_path: Path) -> None:
    path, sheet = tmp_path / "late.db", tmp_path / "asked.csv"
    study = zn.Study.create(path, {"x": (0, 1)}, budget=1, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    zonal("ask", path, "--csv", sheet)
    zonal("fail", path, 0)
    study.tell(study.ask(), 0.1)
    for _ in range(2):
        zonal("tell", path, 0, "0.7")
    fill(str(sheet), value=["0.7"])
    for _ in range(2):
        zonal("tell", path, "--csv", sheet)
    study.refresh()
    assert [own.value for own in study.observations] == [0.7]
    assert "already" in zonal("tell", path, 0, "0.9", code=1).output
    assert "was 0.7 and is 0.8 now" in zonal("correct", path, 0, "0.8").output
    zonal("retract", path, 0)
    study.refresh()
    assert study.observations == ()
    assert "observation 0 was retracted" in zonal("correct", path, 0, "0.8", "--observation", code=1).output


def test_a_sheet_knows_a_late_value_and_corrects_it(tmp_path: Path) -> None:
    path, sheet = tmp_path / "late.db", tmp_path / "asked.csv"
    study = zn.Study.create(path, {"x": (0, 1)}, budget=1, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    zonal("ask", path, "--csv", sheet)
    zonal("fail", path, 0)
    study.tell(study.ask(), 0.1)

    def tell(value: str, *options: str, code: int = 0) -> list[str]:
        fill(str(sheet), value=[value])
        said: list[str] = zonal("tell", path, "--csv", sheet, *options, code=code).stderr.splitlines()
        study.refresh()
        return said

    assert tell("0.7")[0] == "Row 1 was left out: trial 0 was failed after the sheet was written."
    assert tell("0.7", "--changed")[-1].startswith("1 measured. ")
    before = study.events
    for options in [(), ("--changed",), ("--correct",), ("--correct", "--changed")]:
        (said,) = tell("0.7", *options)
        assert said.startswith("0 measured, 1 known already. ")
    assert study.events == before
    assert "trial 0 already has the value 0.7; got 0.8" in tell("0.8", "--changed", code=1)[1]
    for value, options in [("0.8", ("--correct",)), ("0.9", ("--correct", "--changed"))]:
        was = study.observations[0].value
        said, counts = tell(value, *options)
        assert said == f"trial 0 was {was} and is {value} now."
        assert counts.startswith("0 measured, 1 corrected. ")
    assert tell("0.7")[0] == "Row 1 was left out: trial 0 was corrected to 0.9 after the sheet was written."
    study.retract(0)
    assert tell("0.9")[0] == "Row 1 was left out: trial 0 was retracted after the sheet was written."
    assert tell("0.9", "--changed")[-1].startswith("1 measured. ")
    assert [own.value for own in study.observations] == [0.9]
    assert first_difference(study.settings, study.events) == ""


def test_a_client_whose_answers_are_lost_tells_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zn.Study.create(tmp_path / "late.db", {"x": (0, 1)}, budget=1, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    with serving(tmp_path) as server:
        there, trial = spent("failed", zn.connect(server.url("late")))
        _losing(there, 2, monkeypatch)
        there.tell(trial, 0.7, note="by post")
        assert [(own.value, own.note) for own in there.observations] == [(0.7, "by post")]
        assert there.observe([(0, 0.5)], 0.3, note="by hand").note == "by hand"
        with pytest.raises(zn.TrialError, match="already"):
            there.tell(trial, 0.9)
        seen = there.observations[0]
        there.retract(seen)
        with pytest.raises(zn.TrialError, match="retracted"):  # as here
            there.correct(seen, 0.6)


def _losing(there: Any, answers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the first answers lost on their way."""
    left, opened = [answers], there._line._opener.open

    def lossy(*arguments: Any, **named: Any) -> Any:
        answer = opened(*arguments, **named)
        if left[0]:
            left[0] -= 1
            answer.close()
            raise ConnectionResetError("the answer was lost")
        return answer

    monkeypatch.setattr(time, "sleep", lambda pause: None)
    monkeypatch.setattr(there._line._opener, "open", lossy)


def test_a_late_value_is_no_measurement_from_outside_in_the_methods() -> None:
    study = zn.Study({"x": (0, 1)}, budget=1, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    trial = study.ask()
    study.fail(trial)
    study.tell(study.ask(), 0.1)
    study.tell(trial, 0.7)
    text = methods(study)[0]
    assert "outside the study" not in text
    assert "failed" not in text
