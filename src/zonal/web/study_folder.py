"""A folder of studies. Each has two threads: whoever looks delays nobody who measures, nor any other study."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from zonal.errors import InvalidInput, StudyFileError
from zonal.storage.journal import REPLACED, is_study
from zonal.study.history import last_digest
from zonal.study.study import Study
from zonal.web.handlers import need_field
from zonal.web.overview import StudyOverview, stamp_of
from zonal.web.routes import Unknown

T = TypeVar("T")

ENDING = ".db"
NEW_NAME = re.compile(r"\w[\w .-]{0,79}")
MAX_OPEN = 64  # studies whose posteriors are kept in memory
ARCHIVE = "archive"  # the folder of studies that were put aside
MAX_KEPT = 50  # answers that are kept of each study
MAX_NAME, ROOM = 255, 32  # bytes of the name of a file, and what SQLite and new files add to it
DEVICES = {"CON", "PRN", "AUX", "NUL", *(f"{port}{n}" for port in ("COM", "LPT") for n in range(1, 10))}


class OpenStudy:
    """One study of the folder: what its file says, available at once, and the study itself, opened when needed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name.removesuffix(ENDING)
        self.study: Study | None = None  # changed by requests that write, in their thread
        self.shown: Study | None = None  # the same file, opened again for those that read
        self.kept: dict[
            Hashable, tuple[str, Any]
        ] = {}  # answers by kind, with the digest of the event they refer to
        self._overview: StudyOverview | None = None
        self._lock = threading.Lock()  # for the overview, which several threads may read
        self._writer = ThreadPoolExecutor(1, thread_name_prefix=f"study {self.name}")
        self._reader = ThreadPoolExecutor(1, thread_name_prefix=f"reading {self.name}")

    def overview(self, surely: bool = False) -> StudyOverview:
        """Return what the file says now; one that was replaced is read from the start.

        If `surely`, it is read even if it seems unchanged.
        """
        with self._lock:
            overview = self._overview
            if overview is None or surely or overview.stamp != stamp_of(self.path):
                overview = self._overview = self._unless_replaced(lambda: StudyOverview(self.path, self._overview))
            return overview

    def submit(self, does: Callable[[Study], T]) -> Future[T]:
        """Run a function that changes the study, in the thread of those that write, after opening it."""

        def on_study() -> T:
            study = self.study = self.study or Study.open(self.path)
            return does(study)

        return self._writer.submit(self._unless_replaced, on_study)

    def read(self, does: Callable[[Study], T]) -> Future[T]:
        """Run a function that only reads the study, in a thread of its own: it delays no tell."""

        def on_study() -> T:
            study = self.shown = self.shown or Study.open(self.path)
            return does(study)

        return self._reader.submit(self._unless_replaced, on_study)

    def _unless_replaced(self, reads: Callable[[], T]) -> T:
        """Return what reading the file gives; one that was replaced meanwhile is read from the start."""
        try:
            return reads()
        except StudyFileError as error:
            if not str(error).endswith(REPLACED.removeprefix("{}")):
                raise
        self._overview = None
        self.forget()
        return reads()

    def answer(self, study: Study, what: Hashable, make: Callable[[Study], T]) -> tuple[str, T]:
        """Return the digest of the last event, and an answer computed once for each; in the thread that reads."""
        study.refresh()
        at = last_digest(study)
        if what not in self.kept or self.kept[what][0] != at:
            content = make(study)
            current = {
                name: kept_answer
                for name, kept_answer in self.kept.items()
                if kept_answer[0] == at or name == "answer"
            }
            self.kept = dict([*current.items()][-MAX_KEPT:]) | {what: (at, content)}
        return self.kept[what]

    def forget(self) -> None:
        """Drop the study from memory; it is opened again when needed."""
        self.study, self.shown, self.kept = None, None, {}

    def end(self) -> None:
        """End the threads when they are done."""
        for thread in (self._writer, self._reader):
            thread.shutdown(wait=False, cancel_futures=True)


class Folder:
    """The studies of an existing folder, by name: the file's name without its ending."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self._entries: dict[str, OpenStudy] = {}
        self._lock = threading.Lock()

    def names(self) -> list[str]:
        """Return the names of all studies, in order."""
        names = (entry.name for entry in os.scandir(self.path))
        of_studies = (name for name in names if (self._file(name) if name.endswith(ENDING) else self._bare(name)))
        return sorted({name.removesuffix(ENDING) for name in of_studies})

    def _bare(self, name: str) -> Path | None:
        """Return the file of this name, if it has no ending and is a study."""
        path = None if "." in name else self._file(name)
        return path if path is not None and is_study(path) else None

    def _file(self, name: str) -> Path | None:
        """Return the file of this name, if it is in this folder and the name does not lead out of it."""
        if name.startswith(".") or set(name) & set("/\\\0") or not 0 < len(_encoded(name)) <= MAX_NAME:
            return None
        path = self.path / name
        return path if path.is_file() and path.resolve().parent == self.path else None

    def entry(self, name: str) -> OpenStudy:
        """Return a study; raise if there is none."""
        path = self._file(name + ENDING) or self._bare(name)
        with self._lock:
            entry = self._entries.pop(name, None)
            if path is None:
                if entry is not None:
                    entry.end()
                raise Unknown(f"there is no study {name!r} in this folder.")
            entry = self._entries[name] = entry or OpenStudy(path)  # the most recently used is the last
            opened = [
                other for other in self._entries.values() if other.study is not None or other.shown is not None
            ]
            for other in opened[:-MAX_OPEN]:
                other.forget()
        return entry

    def new(self, name: str, exist_ok: bool = False) -> Path:
        """Return the path for a new study of this name, after checking the name."""
        fix = "Use up to 80 letters, digits, blanks, dots, hyphens and underscores, such as sky-2."
        device = name.partition(".")[0].strip().upper() in DEVICES
        fits = NEW_NAME.fullmatch(name) is not None and not name.endswith((".", " ")) and not device
        fits = fits and len(_encoded(name)) <= MAX_NAME - len(ENDING) - ROOM
        need_field(fits, "name", "this cannot be the name of a study", name, fix)
        taken = self._bare(name) or self._file(name + ENDING)
        need_field(
            exist_ok or taken is None, "name", "there is a study of this name", name, "Choose another name."
        )
        return self.path / (name + ENDING)

    def archived(self) -> list[str]:
        """Return the names of the studies that were put aside, in order."""
        aside = self.path / ARCHIVE
        names = [entry.name for entry in os.scandir(aside)] if aside.is_dir() else []
        return sorted(name.removesuffix(ENDING) for name in names if name.endswith(ENDING) and _encoded(name))

    def archive(self, name: str) -> None:
        """Put a study aside: its file moves into the folder of archived ones, and comes back by `restore`."""
        entry = self.entry(name)
        aside = self.path / ARCHIVE
        aside.mkdir(exist_ok=True)
        self._move(entry.path, aside / entry.path.name)
        with self._lock:
            self._entries.pop(name, None)
        entry.end()

    def restore(self, name: str) -> None:
        """Bring a study back that was put aside."""
        if name not in self.archived():
            raise Unknown(f"there is no archived study {name!r} in this folder.")
        self._move(self.path / ARCHIVE / (name + ENDING), self.path / (name + ENDING))

    def _move(self, source: Path, target: Path) -> None:
        """Move a file; raise if there is another of its name."""
        try:
            os.link(source, target)  # unlike a rename, it never replaces another file
        except FileExistsError:
            fix = "Rename one of the two files."
            raise InvalidInput("there is a study of this name already", target.stem, fix) from None
        source.unlink()

    def end(self) -> None:
        """End all threads."""
        for entry in self._entries.values():
            entry.end()


def _encoded(name: str) -> bytes:
    """Return the name of a file as UTF-8, nothing if it cannot be: such a file has no address."""
    try:
        return name.encode()
    except UnicodeEncodeError:
        return b""
