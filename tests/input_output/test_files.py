"""Files are written whole or not at all, and the command line says in one line why not."""

import errno
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import zonal as zn
from zonal.cli.main import main
from zonal.cli.options import CLOSED_PIPE
from zonal.errors import CannotWrite, InvalidInput
from zonal.io import files

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def no_room(*arguments: Any) -> None:
    raise FULL


def run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def test_a_file_takes_its_place_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    files.write(path, b"old")
    files.write(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.csv"
    files.write(path, b"old")
    monkeypatch.setattr("zonal.io.files.os.replace", no_room)
    with pytest.raises(CannotWrite, match=r"a\.csv cannot be written: No space left on device\. Free space"):
        files.write(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "there" / "a.csv", tmp_path / "link.csv"
    files.folder(target.parent)
    link.symlink_to(target)
    files.write(link, b"new")
    assert target.read_bytes() == b"new"
    assert link.is_symlink()


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    end = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    files.write(path, b"new")
    assert os.read(end, 10) == b"new"
    os.close(end)
    assert path.is_fifo()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("path", [None, 3, b"a.csv", ["a"], "a\0b", "\ud800", "a" * 300, "b/" * 5000])
def test_what_can_be_no_path_is_refused(path: Any) -> None:
    with pytest.raises(InvalidInput, match="path"):
        files.file_path(path)


def test_a_path_through_a_closed_folder_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(path: str) -> None:  # to root, as whom tests may run, no folder is
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr("zonal.io.files.os.lstat", closed)
    with pytest.raises(InvalidInput, match="without access; got 'closed/"):
        files.file_path("closed/a.db")


def test_a_path_leaves_room_for_what_is_made_beside_it(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 250)
    assert files.file_path(path) == path
    with pytest.raises(InvalidInput, match="a path is too long"):
        files.file_path(path, beside=".draft")


def test_a_check_leaves_everything_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    files.check_writable(path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(CannotWrite, match="it is a folder"):
        files.check_writable(tmp_path)
    with pytest.raises(CannotWrite, match="No such file"):
        files.check_writable(tmp_path / "nowhere" / "a.png")


SMALL = ["--budget", 5, "--runs", 2, "--noise", 0.1, "--jobs", 1]


@pytest.mark.parametrize("command", ["demo", "power", "rehearse"])
def test_a_full_disk_is_one_line_and_no_half_of_a_file(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, table = tmp_path / "picture.png", tmp_path / "table.csv"
    table.write_text("x,v\n" + "".join(f"{i},{i * i}\n" for i in range(32)))
    words: dict[str, list[object]] = {
        "demo": ["demo", "--budget", 5, "--out", out],
        "power": ["power", "--axis", "x=0..1", "--smallest", 0.1, *SMALL, "--out", out],
        "rehearse": ["rehearse", table, "--value", "v", "--coords", "x", *SMALL, "--out", out],
    }
    monkeypatch.setattr("zonal.io.files.os.replace", no_room)
    code, output = run(*words[command])
    assert code == 1
    (error,) = [line for line in output.splitlines() if line.startswith("Error")]
    assert error.endswith("cannot be written: No space left on device. Free space, or try another place.")
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def program(*words: object, **how: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    call = [sys.executable, "-B", "-c", "from zonal.cli.main import main; main()", *map(str, words)]
    return subprocess.run(call, text=True, stderr=subprocess.PIPE, timeout=120, **how)


def small_files_only() -> None:
    """Have the system refuse files of more than 8 kB."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))


def test_a_picture_too_large_for_the_disk_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "demo.pdf"
    done = program("demo", "--budget", 5, "--out", out, stdout=subprocess.DEVNULL, preexec_fn=small_files_only)
    assert done.returncode == 1
    assert done.stderr == f"Error: {out} cannot be written: File too large. Free space, or try another place.\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_printed_is_one_line(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = program("show", zn.Study.create(tmp_path / "s.db", [(0, 1)], budget=5).path, stdout=full)
    assert (done.returncode, done.stderr) == (1, "Error: the output cannot be used: No space left on device.\n")


def test_a_reader_that_has_had_enough_ends_it_without_a_word(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = program("demo", "--budget", 5, "--out", tmp_path / "demo.png", stdout=write)
    os.close(write)
    assert (done.returncode, done.stderr) == (CLOSED_PIPE, "")
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
