"""Files on disk: valid paths, files written completely or not at all, and texts that spreadsheets leave alone.

A spreadsheet runs a cell that begins with certain characters as a formula. Such a text gets an apostrophe in
front, as does a text that begins with one, so that every text can be read back exactly.
"""

from __future__ import annotations

import errno
import importlib
import os
import stat
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from zonal.errors import CannotWrite, InvalidInput, require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

APOSTROPHE = "'"
SIGNS = (APOSTROPHE, *"=+-@\t\r\n", *"＝＋－＠")  # East Asian editions also treat the wide forms as formulas


def file_path(path: str | os.PathLike[str], beside: str = "") -> Path:
    """Return a path; raise if the system cannot have a file of that name, or of that name and `beside`."""
    try:
        file = Path(path)
        os.lstat(f"{file}{beside}")
    except ValueError:
        raise InvalidInput("a path has a character that is not allowed", path, "Leave it out.") from None
    except PermissionError:
        fix = "Change its permissions, or name another place."
        raise InvalidInput("a path leads through a folder without access", str(path), fix) from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InvalidInput("a path is too long", str(path), "Pass a shorter one.") from None
    except Exception:  # whatever a user's object raises
        raise InvalidInput("a path must be text", path, "Pass the name of a file.") from None
    return file  # it need not exist


def content_of(path: Path, what: str) -> bytes:
    """Return the content of a file; raise if it cannot be read."""
    try:
        kind = path.stat().st_mode
        require(not (stat.S_ISCHR(kind) or stat.S_ISBLK(kind)), f"{what} is a device", str(path), "Name a file.")
        return path.read_bytes()
    except MemoryError:
        raise InvalidInput(f"{what} is too large for the memory", str(path), "Check the path.") from None
    except FileNotFoundError:
        raise InvalidInput("there is no such file", str(path), "Check the path.") from None
    except OSError as error:
        raise InvalidInput(f"{what} cannot be read ({error.strerror})", str(path), "Check the path.") from None


def text_of(content: bytes, what: str, path: str | Path) -> str:
    """Return the text of a file, with or without a byte order mark; raise if it is not UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"{what} is not UTF-8 text", str(path), "Save it again, encoded in UTF-8.") from None


def library(name: str, what: str, value: str, fix: str) -> ModuleType:
    """Import an optional library; raise with what needs it and how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InvalidInput(f"{what} needs {name}, which is not installed", value, fix) from None


def write(path: Path, content: bytes) -> None:
    """Write a temporary file that then replaces `path`, so that an incomplete file never remains."""
    beside = _beside(path)
    try:
        if path.exists() and not path.is_file():  # a pipe or a device, which must not be replaced
            path.write_bytes(content)
            return
        try:
            beside.write_bytes(content)
            os.replace(beside, path.resolve())
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise CannotWrite(path, error) from error


def write_picture(
    figure: Figure, path: Path, dpi: float | None = None, metadata: Mapping[str, None] | None = None
) -> None:
    """Save a figure in the format of the ending, and close it."""
    from matplotlib import pyplot

    drawn = BytesIO()
    try:
        figure.savefig(drawn, format=path.suffix[1:], dpi="figure" if dpi is None else dpi, metadata=metadata)
        write(path, drawn.getvalue())
    finally:
        pyplot.close(figure)


def check_writable(path: Path) -> None:
    """Raise now, not after hours, if a file cannot be written; an existing one is left unchanged."""
    beside = _beside(path)
    try:
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        beside.touch()
        beside.unlink()
    except OSError as error:
        raise CannotWrite(path, error) from error


def folder(path: Path) -> Path:
    """Return a folder, made if it does not exist."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(path, error) from error
    return path


def _beside(path: Path) -> Path:
    """Return a temporary name in the same folder, after following links; unique to this process."""
    target = path.resolve()
    return target.with_name(f".{target.name}.{os.getpid()}")


def escaped(text: str) -> str:
    """Return a text as a cell that no spreadsheet takes for a formula."""
    return APOSTROPHE + text if text.startswith(SIGNS) else text


def unescaped(cell: str) -> str:
    """Return the text that `escaped` turned into this cell; other cells are unchanged."""
    return cell[1:] if cell.startswith(APOSTROPHE) and cell[1:].startswith(SIGNS) else cell


def parsed(text: str) -> float | None:
    """Return the number in a text, None if there is none; 1_000, which Python reads, is not accepted."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None
