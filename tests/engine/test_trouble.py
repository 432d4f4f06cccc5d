"""What a file that cannot be used is said to suffer from."""

import errno
import os
import resource
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

import zonal as zn
from zonal.storage import journal


def stored(path: Path, **settings: Any) -> zn.Study:
    study = zn.Study.create(path, [(0, 1)], budget=5, kernel=zn.RBF(1.0, 0.2), noise=0.1, **settings)
    study.tell(study.ask(), 0.5)
    return study


def test_a_deleted_file_is_called_deleted(tmp_path: Path) -> None:
    study = stored(tmp_path / "a.db")
    (tmp_path / "a.db").unlink()
    for attempt in (study.ask, study.refresh, lambda: study.timestamps):
        with pytest.raises(zn.StudyFileError, match=r"no file a\.db any more: it was deleted or moved"):
            attempt()


def test_the_times_of_a_replaced_file_are_not_those_of_the_study(tmp_path: Path) -> None:
    study = stored(tmp_path / "a.db")
    assert len(study.timestamps) == len(study.events)
    stored(tmp_path / "b.db")
    (tmp_path / "b.db").replace(tmp_path / "a.db")
    with pytest.raises(zn.StudyFileError, match="no longer the same file"):
        study.timestamps  # noqa: B018


def test_a_file_system_without_locks_is_not_called_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = stored(tmp_path / "a.db")
    monkeypatch.setattr(journal, "PATIENCE", 0.01)

    def lockf(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(zn.StudyFileError, match="another process has been writing"):
            study.ask()
        monkeypatch.setattr("fcntl.lockf", lockf)
        with pytest.raises(zn.StudyFileError, match=r"cannot be locked: its file system has no locks \(No locks"):
            study.ask()


def test_running_out_of_files_is_called_that(tmp_path: Path) -> None:
    study = stored(tmp_path / "a.db")
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 20, usual[1]))
    held: list[int] = []
    try:
        with suppress(OSError):
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        said = []
        for attempt in (study.ask, lambda: stored(tmp_path / "b.db"), lambda: zn.Study.open(tmp_path / "a.db")):
            try:
                attempt()
            except zn.StudyFileError as error:
                said.append(str(error))
    finally:
        for number in held:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)
    assert len(said) == 3
    assert all("Too many open files" in own for own in said), said
    assert study.ask().number == 1
    assert not (tmp_path / "b.db").exists()
