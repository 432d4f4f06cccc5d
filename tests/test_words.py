"""One table of what can be done to a study: Python, the shell and the manual name the same things."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any, get_type_hints

import click
import pytest

import zonal as zn
from zonal.cli import CAMPAIGN
from zonal.cli.main import main
from zonal.engine.settings import Given
from zonal.study import operations, recipe

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "manual" / "words.md"
CALLED = re.compile(r"\boperations\.(\w+)\(")
EVERYWHERE = {"--debug", "--json", "--help"}


def rows(section: str) -> list[list[str]]:
    """Return the cells of a table of the page."""
    part = PAGE.read_text(encoding="utf-8").split(f"## {section}\n")[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


ACTIONS, SETTINGS = rows("Actions"), rows("Settings")


def codes(cells: list[list[str]], at: int) -> list[str]:
    return [code for row in cells for code in re.findall(r"`([^`]+)`", row[at])]


def options(command: click.Command) -> set[str]:
    return {opt for own in command.params for opt in own.opts if opt.startswith("-")} - EVERYWHERE


def test_python_can_do_what_the_page_says_and_nothing_else() -> None:
    named = {name for code in codes(ACTIONS, 1) for name in re.findall(r"^[Ss]tudy\.(\w+)$", code)}
    methods = {name for name in dir(zn.Study) if not name.startswith("_") and callable(getattr(zn.Study, name))}
    assert methods - named == set()
    assert {name for name in named if not hasattr(zn.Study, name)} == set()
    assert all(hasattr(zn, code.removeprefix("zn.")) for code in codes(ACTIONS, 1) if code.startswith("zn."))


def test_the_shell_can_do_what_the_page_says_and_nothing_else() -> None:
    named: set[str] = set()
    for row in ACTIONS:
        command: click.Command | None = None
        for code in codes([row], 2):
            words = code.split()
            if words[0] == "zonal":
                command = main.commands[words[1]]
                named.add(words[1])
            assert command is not None
            stray = [word for word in words if word.startswith("-") and word not in options(command)]
            assert not stray, code
    assert named == set(main.commands)


def test_the_service_can_do_what_the_page_says_and_nothing_else() -> None:
    from zonal.web.routes import EVERY, STUDY

    said = {tuple(code.split()) for code in codes(ACTIONS, 3) if code.startswith(("GET ", "POST "))}
    named = {(method, path if path.startswith("/") else f"{STUDY}/{path}") for method, path in said}
    assert named == {(route.method, route.path) for route in EVERY}


def test_the_client_says_to_its_server_whatever_changes_a_study() -> None:
    """What it only reads it has from `Study`; what writes would write nowhere."""
    from zonal.web.client import Remote

    def is_write(function: Any) -> bool:
        source = inspect.getsource(function)
        called = [getattr(operations, name, None) for name in CALLED.findall(source)]
        return bool(re.search(r"(self|study)\._writing\(", source)) or any(map(is_write, filter(None, called)))

    writes = {"save"} | {name for name, word in vars(zn.Study).items() if callable(word) and is_write(word)}
    assert len(writes) > 12
    for name in writes:
        assert name in vars(Remote), name
        here, there = (inspect.signature(getattr(kind, name)).parameters for kind in (zn.Study, Remote))
        assert list(here)[1:] == list(there)[1:], name


@pytest.mark.parametrize("row", ACTIONS, ids=lambda row: row[0])
def test_the_manual_speaks_of_every_deed_in_both_tongues(row: list[str]) -> None:
    pages = [(PAGE.parent / link).resolve() for link in re.findall(r"\]\(([^)]+)\)", row[4])]
    assert pages
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    for code in codes([row], 1):
        name = re.split(r"\W", code)[-1] if not code.endswith(")") else "print"
        assert re.search(rf"\b{name}\b", text), f"{code} in {', '.join(page.name for page in pages)}"
    for code in codes([row], 2):
        for command in re.findall(r"^zonal [\w-]+", code):
            assert command in text, f"{command} in {', '.join(page.name for page in pages)}"


def test_the_manual_names_every_option_of_a_command() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    for command in CAMPAIGN:
        missing = [opt for opt in options(command) if not re.search(rf"{opt}\b", text)]
        assert not missing, f"zonal {command.name} {missing}"


def test_recipes_and_options_can_say_what_python_can() -> None:
    python = set(codes(SETTINGS, 1))
    assert python == {"space", "budget", "direction", *get_type_hints(Given)}
    words = {code.strip("[]") for code in codes(SETTINGS, 2)}
    assert {*recipe.TOP} - {"measurement", "model", "policy"} <= words | {"measurement", "model", "policy"}
    assert {*recipe.KEYS["measurement"], "kernel", "mean"} <= words
    said: set[Any] = set(codes(SETTINGS, 3))
    assert said == options(main.commands["new"]) - {"--recipe", "--template", "--by"}  # which are no settings
