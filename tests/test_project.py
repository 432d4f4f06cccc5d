"""What the files of the repository say of the project agrees."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from benchmarks.mutations import FAULTS

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def read(name: str) -> str:
    """Return a file of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_the_same_wherever_it_is_written() -> None:
    version = PROJECT["project"]["version"]
    assert re.findall(r"^version: (.*)$", read("CITATION.cff"), re.MULTILINE) == [version]
    assert re.findall(r'^  version: "(.*)"$', read("conda/recipe.yaml"), re.MULTILINE) == [version]


def test_conda_asks_for_the_packages_that_pip_installs() -> None:
    run = read("conda/recipe.yaml").split("  run:\n")[1].split("\n\n")[0]
    asked = {
        line.strip("- ").replace(" ", "").replace("matplotlib-base", "matplotlib") for line in run.splitlines()
    }
    assert asked == {f"python{PROJECT['project']['requires-python']}", *PROJECT["project"]["dependencies"]}


def test_the_groups_of_uv_are_extras_that_exist() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    for group in PROJECT["dependency-groups"].values():
        for requirement in group:
            (named,) = re.findall(r"^zonal\[(.*)\]$", requirement)
            assert set(named.split(",")) <= set(extras), requirement


def test_every_python_of_the_classifiers_is_tested() -> None:
    (tested,) = re.findall(r"python: \[(.*)\]", read(".github/workflows/test.yml"))
    versions = [line.split(" :: ")[-1] for line in PROJECT["project"]["classifiers"] if ":: 3." in line]
    assert re.findall(r"[\d.]+", tested) == versions
    assert PROJECT["project"]["requires-python"] == f">={versions[0]}"


def test_every_deliberate_fault_can_still_be_made_and_has_its_tests() -> None:
    for name, fault in FAULTS.items():
        assert read(f"src/zonal/{fault.file}").count(fault.right) == 1, name
        assert all((ROOT / "tests" / tests).exists() for tests in fault.tests.split()), name
