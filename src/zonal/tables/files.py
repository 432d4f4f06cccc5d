"""Files on disk, whole or not at all."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zonal.errors import CannotWrite

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write(path: Path, content: bytes) -> None:
    """Write a file beside `path` first, which then takes its place: whatever happens, no half of it stays."""
    beside = _beside(path)
    try:
        try:
            beside.write_bytes(content)
            os.replace(beside, path.resolve())
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise CannotWrite(path, error) from error


def write_picture(figure: Figure, path: Path, **options: Any) -> None:
    """Draw a figure, in the format that the ending says, and write it."""
    drawn = BytesIO()
    figure.savefig(drawn, format=path.suffix[1:], **options)
    write(path, drawn.getvalue())


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
