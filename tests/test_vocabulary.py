"""One word for one thing: README, manual, help, messages and page use none of the words that were replaced."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import zonal as zn
from zonal.cli.main import main

HERE = Path(__file__).parent.parent
SOURCE = HERE / "src" / "zonal"
PAGE = SOURCE / "web" / "page"

# Each phrase that was replaced: the pattern, the words in its place, and a text that has it.
PHRASES = {
    r"\b(?:a|each|every|first|second|per|\d+) looks?\b(?! (?:at|into|for)\b)": ("measurement", "costs 1 a look"),
    r"\blooks (?:of time|made|near|instead)\b": ("measurements", "two looks of time 4"),
    r"\bmax_looks\b|--max-looks\b": ("max_replicates", "Study(max_looks=2)"),
    r"\bof \d+ told\b|\btold (?:measurements?|trials?)\b": ("measured", "60 of 80 told"),
    r"\bunder[ _]?way\b": ("pending", "3 trials under way"),
    r"\b(?:give|gives|gave|given|giving)(?:[ _]| (?:its|the) trial )up\b": ("fail", "give_up(trial)"),
    r"\bwithdr(?:aw|ew)\w*": ("cancel", "it was withdrawn"),
    r"\bbarred\b": ("blocked", "study.barred"),
    r"\b(?:take|takes|taken|took)[ _]up\b": ("claim", "study.take_up(trial)"),
    r"--never\b|--not-tried\b": ("--no-retry, zonal cancel", "zonal fail 3 --never"),
    r"--rng\b": ("--seed", "zonal demo --rng 3"),
    r"\bdoubt(?:s|ed)?\b": ("uncertainty, relative_std", "Doubt: strong where sure"),
    r"\bbest with\b": ("P(best)", "gap, best with 90 %"),
    r"\bopening (?:sweep|design|measurements?)\b": ("initial design", "after an opening sweep"),
    r"\btours?\b": ("route", "a short tour"),
    r"\bdeeds?\b": ("command", "the deeds of a study"),
    r"\b(?:the|this) (?:house|floors?|rooms?)\b": ("package, layer", "the house of twelve rooms"),
    r"(?-i:\bWhich token\b|\bCome in\b|\bGive it back\b|\bLeave it\b(?! out))": (
        "Token, Sign in, Cancel",
        "Come in",
    ),
    r"\bzonal paper\b|\bzn\.theory\b": ("make paper", "zonal paper regret"),
    r"\bgets? (?:it|(?:its|their) (?:cost|budget)) back\b|\b(?:cost|budget) (?:comes|back)\b": (
        "its cost is refunded",
        "the budget gets their cost back",
    ),
    r"\btold already\b|\btold otherwise\b": ("already has the value", "trial 3 was told already"),
    r"\b(?:decides?|decided) everything again\b": ("replay", "it decides everything again"),
    r"\bnine chances in ten\b|\bas of then\b": ("with 90 % probability, then", "with nine chances in ten"),
    r"(?-i:\bBegin it\b|\bTell it\b(?! first)|\bTake it away\b)": ("Create, Save, Download", "Begin it"),
    r"\b180 is -180\b|\bless is known\b": ("periodic, paler where uncertain", "ring: 180 is -180"),
    r"\bmeasurements? from outside\b": ("an earlier measurement", "a measurement from outside"),
    r"\bis no number\b": ("is not a number", "column city is no number"),
}
# Names that were replaced, as identifiers anywhere in the library.
NAMES = {
    "give_up", "take_up", "withdraw", "max_looks", "under_way", "barred", "looks", "deeds", "Began",
    "Measured", "Ended", "Taken", "Doubted", "Mended", "Setting", "Look", "Draw", "Knowledge", "Learner",
    "Unknowns", "Weighted", "Explorer", "Tally", "Ledger", "Frame", "SubsetFrame", "Tracked", "Pools",
    "Alike", "Repeated", "Book", "Distances", "Matches", "MemberSpace", "MemberRegion", "Opened", "Absent",
    "Hand", "Elsewhere", "Kit", "Plea", "Filled", "Record", "Chance", "worked_out", "at_once", "thrifty",
    "weigh", "summit", "first_guess", "standard_units", "usual_noise", "usual_root", "for_programs",
    "run_of_mine",
}  # fmt: skip
NOT_RERUN = {HERE / "docs" / "arena.md"}  # its labels are those of stored results
PRINTED = {(HERE / "docs" / "radio_telescope.md", "tour")}  # a method's name in printed results


def replaced(text: str) -> list[str]:
    """Return the phrases in a text that were replaced."""
    return [match[0] for pattern in PHRASES for match in re.finditer(pattern, text, re.IGNORECASE)]


@pytest.mark.parametrize("pattern", PHRASES)
def test_every_phrase_that_was_replaced_is_noticed_and_its_successor_is_not(pattern: str) -> None:
    successor, example = PHRASES[pattern]
    assert re.search(pattern, example, re.IGNORECASE)
    assert replaced(successor) == []


PAGES = [
    *(HERE / f"{name}.md" for name in ("README", "AGENTS", "ARCHITECTURE", "CONTRIBUTING", "SECURITY")),
    *sorted((HERE / "docs").glob("*.md")),
    *sorted((HERE / "docs").glob("*/*.md")),
    SOURCE / "recipe.toml",
]


@pytest.mark.parametrize("path", [path for path in PAGES if path not in NOT_RERUN], ids=lambda path: path.name)
def test_pages_have_no_phrase_that_was_replaced(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [phrase for phrase in replaced(text) if (path, phrase) not in PRINTED] == []


def commands(group: click.Group) -> Iterator[click.Command]:
    for command in group.commands.values():
        yield command
        if isinstance(command, click.Group):
            yield from commands(command)


@pytest.mark.parametrize("command", list(commands(main)), ids=lambda command: command.name)
def test_help_has_no_phrase_that_was_replaced(command: click.Command) -> None:
    assert replaced(command.get_help(click.Context(command, info_name=command.name))) == []


def texts(tree: ast.Module) -> Iterator[str]:
    """Yield the texts of a module that are not docstrings: messages, labels, names of columns."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = (node.body for node in ast.walk(tree) if isinstance(node, documented))
    docstrings = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def names(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a module defines: of functions, classes, arguments, variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr


def modules(package: str) -> list[Path]:
    """Return the modules of a package; those of no package for ""."""
    return sorted((SOURCE / package).rglob("*.py") if package else SOURCE.glob("*.py"))


PACKAGES = ["", *sorted(path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__")]


@pytest.mark.parametrize("package", PACKAGES)
def test_messages_and_names_of_a_package_have_none_that_was_replaced(package: str) -> None:
    for path in modules(package):
        module = ast.parse(path.read_text(encoding="utf-8"))
        assert [phrase for text in texts(module) for phrase in replaced(text)] == [], path.name
        assert {*names(module)} & NAMES == set(), path.name


@pytest.mark.parametrize("name", zn.__all__)
def test_docstrings_of_public_names_have_no_phrase_that_was_replaced(name: str) -> None:
    public = getattr(zn, name)
    members = vars(public).items() if inspect.isclass(public) else ()
    documented = [public, *(member for key, member in members if not key.startswith("_"))]
    assert [phrase for one in documented for phrase in replaced(inspect.getdoc(one) or "")] == []


@pytest.mark.parametrize("path", sorted(PAGE.rglob("*.[jh][st]*")), ids=lambda path: path.name)
def test_the_page_has_no_phrase_that_was_replaced(path: Path) -> None:
    assert replaced(path.read_text(encoding="utf-8")) == []
