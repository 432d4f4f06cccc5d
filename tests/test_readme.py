"""What the documents show must run, and what they point at must exist."""

from __future__ import annotations

import doctest
import importlib
import inspect
import itertools
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import zonal as zn
from docs import make_readme
from shell import alone
from zonal.cli.main import main

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(
    (ROOT / "docs").rglob("*.md")
)


def test_the_readme_says_what_its_examples_print_and_finds_the_peak(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    renewed, names = make_readme.run(text, tmp_path)
    assert renewed == text  # `make readme` renews it
    result = names["result"]
    assert isinstance(result, zn.Result)
    assert result.success
    assert (result.region.bounds[:, 0] <= [40, 0.22]).all()  # where the peak is
    assert (result.region.bounds[:, 1] >= [40, 0.22]).all()


README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    zonal ([^#\n]*[^#\n ])", README, re.MULTILINE)
QUICK = {"rehearse": "--budget 3 --runs 1", "power": "--budget 4 --runs 2"}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_readme_run(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    number, rng = 40, np.random.default_rng(0)
    places = {name: rng.uniform(size=number) for name in ("lon", "lat", "mean_age")}
    frame = pl.DataFrame({**places, "persons": rng.integers(100, 900, number)})
    frame.write_csv("areas.csv")
    letters = ["".join(own) for own in itertools.product("ACGT", repeat=3)]
    pl.DataFrame({"sequence": letters, "score": rng.uniform(size=64)}).write_parquet("library.parquet")
    monkeypatch.setattr("zonal.cli.simulate.draw", lambda *_: None)  # others look at the pictures
    words = shlex.split(
        f"{command} {QUICK[command.split()[0]]} --jobs 1"
    )  # of an option given twice the last counts
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "regret" in done.output


def test_the_examples_of_what_a_measurement_sees_run() -> None:
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "feedback.md").read_text(), re.DOTALL)
    assert examples
    exec(compile("\n".join(examples), "feedback.md", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", document.read_text()):
        assert (document.parent / target.split("#")[0]).exists(), target


@pytest.mark.parametrize(
    "module",
    [
        "policies.deltas",
        "kernels.feedback",
        "spaces.box",
        "spaces.sequences",
        "spaces.points",
        "spaces.hierarchy",
        "simulation.simulators",
        "simulation.ground_truth",
        "simulation.functions",
        "study.study",
        "maximize",
        "io.result_table",
        "simulation.power",
        "simulation.datasets",
    ],
)
def test_the_examples_in_docstrings_are_true(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner()
    for example in Examples().find(importlib.import_module(f"zonal.{module}")):
        runner.run(example)
    assert runner.failures == 0
    assert runner.tries > 0


class Examples(doctest.DocTestFinder):
    """Finds the examples of decorated methods too."""

    def _from_module(self, module: Any, thing: Any) -> bool:
        return bool(super()._from_module(module, inspect.unwrap(thing)))  # type: ignore[misc]


def test_every_public_method_and_attribute_of_a_study_has_an_example() -> None:
    members = {name: member for name, member in inspect.getmembers(zn.Study) if not name.startswith("_")}
    assert [name for name, member in members.items() if ">>> " not in (member.__doc__ or "")] == []
    assert [
        name for name in zn.simulation.__all__ if ">>> " not in (getattr(zn.simulation, name).__doc__ or "")
    ] == []


WITHOUT_EXAMPLE = {"connect", "data", "simulation"}  # a server, and two modules, whose functions have theirs


def test_every_public_name_has_an_example_that_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner()
    for name in zn.__all__:
        tries = runner.tries
        for example in Examples(recurse=False).find(getattr(zn, name), name):
            runner.run(example)
        assert runner.tries > tries or name in WITHOUT_EXAMPLE or name.startswith("__"), name
    assert runner.failures == 0


def test_the_algorithm_in_one_file_finds_the_maximum(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "gpoo_in_one_file.py").read_text()
    script = tmp_path / "remembering.py"  # what it would compute again and again
    script.write_text(text.replace("\ndef covariance", "\nfrom functools import cache\n@cache\ndef covariance"))
    said = alone(script)
    low, high = map(float, re.findall(r"recommended: ([\d.]+) to ([\d.]+)", said)[0])
    assert low - 0.02 <= 0.8675 <= high + 0.02


def test_every_public_name_is_there_and_has_a_docstring() -> None:
    for name in zn.__all__:
        assert (getattr(zn, name).__doc__ or "").strip(), name


def test_importing_zonal_loads_nothing_heavy() -> None:
    heavy = (
        "matplotlib",
        "tqdm",
        "click",
        "scipy.optimize",
        "scipy.stats",
        "pandas",
        "polars",
        "pyarrow",
        "narwhals",
    )
    code = f"import sys, zonal; print([module for module in {heavy} if module in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
