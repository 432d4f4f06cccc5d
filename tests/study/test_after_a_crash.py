"""After a process was killed: what it left pending is shown, and taken up by the same script."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import zonal as zn
from processes import wait_for

SCRIPT = """
import sys, time
import zonal as zn

def hang(region):
    open(sys.argv[2], "w").close()
    time.sleep(600)

study = zn.Study.create(sys.argv[1], [(0, 1)], budget=4, kernel=zn.RBF(1.0, 0.2), noise=0.1, exist_ok=True)
study.optimize(hang, by=sys.argv[3] or None)
"""


def killed(folder: Path, by: str = "") -> Path:
    """Return the file of a study whose process was killed while it measured its first trial."""
    file, begun = folder / "sky.db", folder / "begun"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(file), str(begun), by])
    try:
        wait_for(begun.exists)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    return file


def test_what_a_killed_process_left_is_named_and_the_same_script_measures_it_first(tmp_path: Path) -> None:
    study = zn.Study.open(killed(tmp_path))
    (left,) = study.pending
    assert f"pending: trial 0, {left.region.name}\n" in str(study)
    measured = []
    study.optimize(lambda region: measured.append(region.name) or 1.0)  # type: ignore[func-returns-value]
    assert (measured[0], study.measured, study.pending) == (left.region.name, 4, ())
    assert "pending" not in str(study)


@pytest.mark.parametrize("by", ["", "receiver 1"])
def test_from_another_host_only_the_run_of_the_same_name_takes_it_up(
    by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = killed(tmp_path, by)
    monkeypatch.setattr("socket.gethostname", lambda: "another")
    study = zn.Study.open(file)
    study.optimize(lambda region: 1.0, by="receiver 2")
    assert (study.measured, len(study.pending)) == (3, 1)
    study.optimize(lambda region: 1.0, by="receiver 1")
    assert (study.measured, len(study.pending)) == ((4, 0) if by else (3, 1))
    study.optimize(lambda region: 1.0, take_over=True)
    assert (study.measured, len(study.pending)) == (4, 0)
