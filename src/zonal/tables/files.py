"""Files on disk: paths that can be, and files written whole or not at all."""

from __future__ import annotations

import errno
import importlib
import os
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zonal.errors import CannotWrite, InvalidInput

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def file_path(path: Any, beside: str = "") -> Path:
    """Return what a user passed as a path, or complain that the system can have no file of that name.

    Parameters
    ----------
    path : str or path
    beside : str
        The longest ending of a file that will be made next to it.
    """
    try:
        found = Path(path)
        os.lstat(f"{found}{beside}")
    except TypeError:
        raise InvalidInput("a path must be text", path, "Pass the name of a file.") from None
    except ValueError:
        raise InvalidInput("a path has a letter that no path can have", str(path), "Leave it out.") from None
    except PermissionError:
        fix = "Change its permissions, or name another place."
        raise InvalidInput("a path leads through a folder that may not be entered", str(path), fix) from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InvalidInput("a path is too long", str(path), "Pass a shorter one.") from None
    return found  # whether there is such a file is not the question


def content_of(path: Path, what: str) -> bytes:
    """Return all that is in a file, or complain that it cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InvalidInput("there is no such file", str(path), "Check the path.") from None
    except OSError as error:
        raise InvalidInput(f"{what} cannot be read ({error.strerror})", str(path), "Check the path.") from None


def library(name: str, what: str, value: str, fix: str) -> Any:
    """Return a library that only some need, or say what needs it and what to do about it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InvalidInput(f"{what} needs {name}, which is not installed", value, fix) from None


def write(path: Path, content: bytes) -> None:
    """Write a file beside `path` first, which then takes its place: whatever happens, no half of it stays."""
    beside = _beside(path)
    try:
        if path.exists() and not path.is_file():  # a pipe or a device, whose place no file may take
            path.write_bytes(content)
            return
        try:
            beside.write_bytes(content)
            os.replace(beside, path.resolve())
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise CannotWrite(path, error) from error


def write_picture(figure: Figure, path: Path, **options: Any) -> None:
    """Draw a figure, in the format that the ending says, and write it; no window shows it any more."""
    from matplotlib import pyplot

    drawn = BytesIO()
    try:
        figure.savefig(drawn, format=path.suffix[1:], **options)
        write(path, drawn.getvalue())
    finally:
        pyplot.close(figure)


def check_writable(path: Path) -> None:
    """Complain now, and not after hours, if a file could not be written; an existing one is left as it is."""
    beside = _beside(path)
    try:
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        beside.touch()
        beside.unlink()
    except OSError as error:
        raise CannotWrite(path, error) from error


def folder(path: Path) -> Path:
    """Return a folder that exists now, made if need be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(path, error) from error
    return path


def _beside(path: Path) -> Path:
    """Return a place in the same folder, links followed; another process has another."""
    target = path.resolve()
    return target.with_name(f".{target.name}.{os.getpid()}")
