"""A study's file: its settings and, appended one by one, its events, in SQLite, so that no write is half done.

The file is opened again for every use: it may have been moved or replaced, and connections survive neither a fork
nor pickling. A writer holds the lock from reading new events until its own are on disk. Every row carries a digest
of itself and all rows before it, so that damage is always noticed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple

import numpy as np

try:
    import fcntl
except ImportError:  # a system without it
    fcntl = None  # type: ignore[assignment]

from zonal.engine.events import Transaction
from zonal.engine.settings import Settings
from zonal.errors import StudyFileError, ZonalError
from zonal.io.files import file_path
from zonal.storage.encoding import Storable
from zonal.storage.schema import FORMAT, DecodedSettings, format_fix, settings_from_json, settings_to_json

APPLICATION = 0x5A6F6E61  # "Zona", SQLite's application id
MAGIC, HEADER = b"SQLite format 3\0", 100  # how a database begins, and the length of its header
WAL = b"\2"  # in the header of a file with another kind of journal
PATIENCE = 60.0  # seconds to wait for another process that is writing
FORK_PATIENCE = 5.0  # seconds that a fork waits for other threads to finish with their files
TABLES = {
    # The settings may be long: what is read in each call stands before them.
    "study": "CREATE TABLE study (id INTEGER PRIMARY KEY, digest BLOB, time TEXT, versions TEXT, settings TEXT)",
    "events": "CREATE TABLE events (number INTEGER PRIMARY KEY, time TEXT, event TEXT, digest BLOB)",
    # The number of events and the last digest, so that a missing end is noticed.
    "head": "CREATE TABLE head (id INTEGER PRIMARY KEY, events INTEGER, digest BLOB)",
}
PROBLEMS = {
    sqlite3.SQLITE_BUSY: f"another process has been writing to {{}} for {PATIENCE:g} s. Try again.",
    sqlite3.SQLITE_FULL: "the disk is full; nothing was written to {}. Free some space and try again.",
    sqlite3.SQLITE_READONLY: "{} may not be written to ({}). Change its permissions.",
    sqlite3.SQLITE_IOERR: "{} cannot be read or written ({}); nothing was written. Check the disk and try again.",
    sqlite3.SQLITE_CANTOPEN: "{} or its folder cannot be opened ({}). Check their permissions.",
}
DAMAGED = "{} is damaged or not a Zonal study ({}). Nothing was written; use a backup."
REPLACED = (
    "{} is no longer the same file: another one, or an older copy, was put in its place. Nothing was written; "
    "open it again to continue from there."
)
TAKEN = "the file {} already exists. Open it with Study.open, or choose another name."


class StoredEvent(NamedTuple):
    """An event as stored: its number, when it was written, and its JSON text."""

    number: int
    time: str
    event: str


class Journal:
    """A study's file."""

    def __init__(self, path: Path, opened: DecodedSettings, digest: bytes, read_only: str = "") -> None:
        self.path = path
        self.opened = opened  # the settings, and what is missing of them
        self.read_only = read_only  # why nothing can be written; "" if it can
        self._digests = [digest]  # of the settings, and of every event seen
        self._locked: sqlite3.Connection | None = None  # while its lock is held

    def digest(self, number: int) -> str:
        """Return the digest after so many events, which no other history has."""
        return self._digests[number].hex()[:16]

    @classmethod
    def create(cls, path: str | os.PathLike[str], settings: Settings, events: Iterable[Transaction]) -> Journal:
        """Make a file of settings and events; it appears complete or not at all, and never replaces another."""
        ending = f".{os.urandom(6).hex()}.new"
        target = file_path(path, beside=f".{ending}-journal").absolute()
        if target.exists():
            raise StudyFileError(TAKEN.format(target.name))
        if not target.parent.is_dir():
            raise StudyFileError(f"there is no folder {target.parent} for {target.name}. Make it first.")
        draft = target.with_name(f".{target.name}{ending}")
        with _clear_errors(target):
            text, now, versions = settings_to_json(settings), _now(), _versions()
            journal = cls(target, DecodedSettings(settings), _digest(b"", now, versions, text))
            try:
                with _connected(draft, "IMMEDIATE", new=True) as connection:
                    connection.execute(f"PRAGMA application_id = {APPLICATION}")
                    connection.execute(f"PRAGMA user_version = {FORMAT}")
                    for table in TABLES.values():
                        connection.execute(table)
                    row = (journal._digests[0], now, versions, text)
                    connection.execute("INSERT INTO study VALUES (1, ?, ?, ?, ?)", row)
                    journal._insert(connection, events)
                _put_in_place(draft, target)
            finally:
                draft.unlink(missing_ok=True)
        return journal

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], given: Mapping[str, Storable], classes: Mapping[str, type] | None = None
    ) -> tuple[Journal, list[Transaction]]:
        """Read a file; `given` are settings that the user defined, `classes` the user's classes by name."""
        target = file_path(path).absolute()
        _check_kind(target)
        with _clear_errors(target), _connected(target) as connection:
            (damage,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if damage != "ok":
                raise sqlite3.DatabaseError(damage)
            row = connection.execute("SELECT time, versions, settings, digest FROM study").fetchone()
            if row is None or _digest(b"", *row[:3]) != row[3]:
                raise sqlite3.DatabaseError("the settings are not those that were written")
            with _decoding("the settings make"):
                opened = settings_from_json(row[2], given, classes)
            journal = cls(target, opened, row[3], _why_read_only(target, opened))
            return journal, journal._unseen(connection, 0)

    def rows(self, first: int = 0) -> list[StoredEvent]:
        """Return the stored events from number `first` on."""
        query = "SELECT number, time, event FROM events WHERE number >= ? ORDER BY number"
        with _clear_errors(self.path), _connected(self.path) as connection:
            self._check_same(connection)
            return [StoredEvent(*row) for row in connection.execute(query, (first,))]

    def _check_same(self, connection: sqlite3.Connection) -> None:
        """Raise if another file was put in the place of the one whose events were read."""
        seen = len(self._digests) - 1
        query = "SELECT digest FROM events WHERE number = ?" if seen else "SELECT digest FROM study"
        if connection.execute(query, (seen - 1,) if seen else ()).fetchone() != (self._digests[seen],):
            raise StudyFileError(REPLACED.format(self.path.name))

    def copy(self) -> bytes:
        """Return a copy of the file, taken between two writes."""
        with _clear_errors(self.path), _connected(self.path) as connection:
            connection.execute("COMMIT")
            return connection.serialize()

    def unseen(self, seen: int) -> list[Transaction]:
        """Return the events after the first `seen`, which other processes have appended."""
        with _clear_errors(self.path), _connected(self.path) as connection:
            return self._unseen(connection, seen)

    @contextmanager
    def writing(self, seen: int, partly: bool = False) -> Iterator[list[Transaction]]:
        """Hold the lock, for one `append`; return the events after the first `seen`, by other processes.

        If `partly`, functions of the user's may be missing (they raise if they are called), but not a kernel.
        """
        allowed = partly and self.opened.has_kernel and _is_writable(self.path)
        if self.read_only and not allowed:
            raise StudyFileError(f"{self.path.name} is open for reading only: {self.read_only}")
        with ExitStack() as stack:
            with _clear_errors(self.path):
                self._locked = stack.enter_context(_connected(self.path, "IMMEDIATE"))
                stack.callback(setattr, self, "_locked", None)
                unseen = self._unseen(self._locked, seen)
            yield unseen

    def append(self, events: Iterable[Transaction]) -> None:
        """Append events and release the lock; when this returns they are on disk, else none of them is."""
        assert self._locked is not None, "a study in a file changes while the file's lock is held only"
        with _clear_errors(self.path):
            self._insert(self._locked, events)

    def _unseen(self, connection: sqlite3.Connection, seen: int) -> list[Transaction]:
        """Return the events after the first `seen`, having checked that those are unchanged."""
        ends_query = "SELECT study.digest, head.events, head.digest FROM study, head LIMIT 2"
        ends = connection.execute(ends_query).fetchall()
        query = "SELECT number, time, event, digest FROM events WHERE number >= ? ORDER BY number"
        rows = connection.execute(query, (max(seen - 1, 0),)).fetchall()
        if len(ends) != 1:
            raise sqlite3.DatabaseError("the end of its events is missing")
        ((settings_digest, count, last_digest),) = ends
        before = rows.pop(0)[3] if seen and rows else settings_digest
        if settings_digest != self._digests[0] or before != self._digests[seen]:
            raise StudyFileError(REPLACED.format(self.path.name))
        events, digests = [], self._digests[: seen + 1]
        self.opened.renew()
        for number, (stored_number, time, text, digest) in enumerate(rows, seen):
            digests.append(_digest(digests[-1], stored_number, time, text))
            if stored_number != number or digests[-1] != digest:
                raise sqlite3.DatabaseError(f"event {number} does not follow the events before it")
            with _decoding(f"event {number} makes"):
                events.append(self.opened.read(text))
        # More events than the head counts are fine: a copy may have been taken between two pages.
        if not (isinstance(count, int) and 0 < count < len(digests) and digests[count] == last_digest):
            raise sqlite3.DatabaseError(f"there are {len(digests) - 1} events, not {count}")
        self._digests = digests
        return events

    def _insert(self, connection: sqlite3.Connection, events: Iterable[Transaction]) -> None:
        """Append events to those seen, and commit."""
        digests, now = list(self._digests), _now()
        for number, event in enumerate(events, len(digests) - 1):
            text = self.opened.write(event)
            digests.append(_digest(digests[-1], number, now, text))
            connection.execute("INSERT INTO events VALUES (?, ?, ?, ?)", (number, now, text, digests[-1]))
        connection.execute("INSERT OR REPLACE INTO head VALUES (1, ?, ?)", (len(digests) - 1, digests[-1]))
        connection.execute("COMMIT")
        self._digests = digests

    def applying(self) -> AbstractContextManager[None]:
        """Turn any error while the file's events are applied into one of the file."""
        reason = "its events cannot have happened: {}"
        damaged = partial(DAMAGED.format, self.path.name)
        return applying(StudyFileError, lambda error: StudyFileError(damaged(reason.format(error))))


_USERS: dict[object, int] = {}  # by open file, the thread that uses it
_GATE = threading.RLock()  # held by a thread that forks


def _await_end() -> None:
    """Wait, for a while, until no other thread uses a file: SQLite would keep one that a child inherits locked."""
    until, thread = monotonic() + FORK_PATIENCE, threading.get_ident()
    while any(user != thread for user in list(_USERS.values())) and monotonic() < until:
        sleep(0.001)


if hasattr(os, "register_at_fork"):  # where there are forks
    os.register_at_fork(before=_await_end, after_in_child=_USERS.clear)  # a child has no other threads
    # Called first, and as C functions: Ctrl-C within a Python function could leave the gate locked for ever.
    os.register_at_fork(before=_GATE.acquire, after_in_parent=_GATE.release, after_in_child=_GATE.release)


@contextmanager
def _connected(path: Path, begin: str = "", new: bool = False) -> Iterator[sqlite3.Connection]:
    """Open a file and begin a transaction; without a COMMIT, closing it rolls back.

    Unless it is `new`, it must exist, and hold the tables of a study and nothing else.
    """
    address, use = f"{path.as_uri()}?mode={'rwc' if new else 'rw'}", object()
    options: Any = {"uri": True, "timeout": PATIENCE, "isolation_level": None, "check_same_thread": False}
    try:
        with _GATE:
            _USERS[use] = threading.get_ident()
        with closing(sqlite3.connect(address, **options)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            # When COMMIT returns, the end of the transaction (a deleted file) is on disk too, not only the data.
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute(f"BEGIN {begin}")
            if not new:
                _check_format(path, connection.execute("PRAGMA user_version").fetchone()[0])
                _check_tables(connection)
            yield connection
    finally:
        _USERS.pop(use, None)


def _check_tables(connection: sqlite3.Connection) -> None:
    """Raise if a file does not hold exactly the tables of a study."""
    schema = connection.execute("SELECT type, name, sql FROM sqlite_master LIMIT 9").fetchall()
    if sorted(schema) != sorted(("table", name, sql) for name, sql in TABLES.items()):
        contents = ", ".join(f"{kind} {name}" for kind, name, _ in schema)
        raise sqlite3.DatabaseError(f"it holds {contents}, not exactly the tables of a study")


def _check_kind(path: Path) -> None:
    """Raise if this is not the file of a study, without touching it: no lock, no recovery."""
    if not path.is_file():
        raise StudyFileError(f"there is no file {path.name} in {path.parent}. Make one with Study.create.")
    with _clear_errors(path):
        # Read as plain bytes: where a writer was killed, only opening for writing repairs the file.
        with path.open("rb") as file:
            header = file.read(HEADER)
        if header and header[: len(MAGIC)] != MAGIC:
            raise sqlite3.DatabaseError("file is not a database")
        number, kind = (int.from_bytes(header[at : at + 4], "big") for at in (60, 68))
        if kind == APPLICATION and WAL in header[18:20]:
            raise sqlite3.DatabaseError("another program has changed its journal mode")
    if kind != APPLICATION:
        raise StudyFileError(f"{path.name} is not a Zonal study. Pass a file made by Study.create.")
    _check_format(path, number)


def _check_format(path: Path, number: int) -> None:
    """Raise if a file is of another format: another release may have written to it since it was opened."""
    if number != FORMAT:
        raise StudyFileError(
            f"{path.name} has format {number}, and this Zonal reads format {FORMAT} only. {format_fix(number)}"
        )


def is_study(path: Path) -> bool:
    """Tell whether a file looks like that of a study, by its first bytes."""
    try:
        with path.open("rb") as file:
            header = file.read(HEADER)
    except OSError:
        return False
    return header[: len(MAGIC)] == MAGIC and int.from_bytes(header[68:72], "big") == APPLICATION


def _why_read_only(path: Path, opened: DecodedSettings) -> str:
    """Return why a study can only be read; "" if it can be continued."""
    if opened.missing:
        named = ", ".join(f"{name} ({shown})" for name, shown in opened.missing.items())
        again = ", ".join(f"{name}=..." for name in opened.missing)
        blind = "" if opened.has_kernel else "; without its kernel there are trials, but no posterior"
        return f"it was made with the user's own {named}, which no file can hold. Pass {again} to open it{blind}."
    return "" if _is_writable(path) else "the file or its folder may not be written to."


def _is_writable(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


@contextmanager
def applying(kind: type[ZonalError], refusal: Callable[[str], Exception]) -> Iterator[None]:
    """Turn any error while something stored is read or applied into a refusal, except those of a kind.

    What the user's code raises stays as it is.
    """
    try:
        yield
    except (kind, MemoryError):
        raise
    except Exception as error:
        if "raised_by_user" in vars(error):
            raise
        raise refusal(str(error) if isinstance(error, ZonalError) else repr(error)) from error


def _decoding(what: str) -> AbstractContextManager[None]:
    """Turn what decoding meaningless values raises into an error of the file."""
    return applying(ZonalError, lambda error: sqlite3.DatabaseError(f"{what} no sense ({error})"))


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    """Turn errors of the file system or of SQLite into clear ones."""
    try:
        yield
    except StudyFileError:
        raise
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        problem = _cause(code, path) or PROBLEMS.get(code, DAMAGED)
        raise StudyFileError(problem.format(path.name, error)) from error
    except (UnicodeError, OverflowError) as error:
        raise StudyFileError(DAMAGED.format(path.name, error)) from error
    except OSError as error:
        raise StudyFileError(f"{path.name} cannot be used ({error.strerror}).") from error


def _cause(code: int, path: Path) -> str:
    """Return what the system says where SQLite only says that a file cannot be opened or locked; "" if nothing."""
    if code not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_IOERR):
        return ""
    try:
        # Another file in the same folder: closing the study's own would release its locks.
        with tempfile.TemporaryFile(dir=path.parent) as probe:
            if fcntl is not None:
                fcntl.lockf(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
            return (
                "{} cannot be locked: "
                + f"its file system has no locks ({error.strerror}). Put it on another disk."
            )
        if error.errno in (errno.EMFILE, errno.ENFILE):
            return "{} cannot be opened: " + f"{error.strerror}. Close some files and try again."
    if code == sqlite3.SQLITE_CANTOPEN and not path.exists():
        return "there is no file {} any more: it was deleted or moved. Put it back, or open it where it is now."
    return ""


def _put_in_place(draft: Path, target: Path) -> None:
    """Give a finished file its name, unless the name was taken meanwhile."""
    try:
        os.link(draft, target)
    except FileExistsError:
        raise StudyFileError(TAKEN.format(target.name)) from None
    except OSError:  # a file system without links
        os.rename(draft, target)
    with suppress(OSError):  # not every system opens folders
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _digest(before: bytes, *parts: str | int) -> bytes:
    """Return a digest of a row and, through `before`, of all rows above it."""
    texts = [str(part).encode("utf-8", "surrogatepass") for part in parts]
    return hashlib.blake2b(
        before + b"".join([b"%d:%b" % (len(text), text) for text in texts]), digest_size=16
    ).digest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def release() -> str:
    """Return the version of Zonal that is installed."""
    try:
        return version("zonal")
    except PackageNotFoundError:
        return "unknown"


def _versions() -> str:
    return f"zonal {release()}, numpy {np.__version__}, python {platform.python_version()}"
