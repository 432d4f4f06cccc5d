"""What all commands share: the study's file, options, `--json`, `--debug`, exit codes, and one-line warnings."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import re
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from zonal import _interrupts
from zonal.errors import BudgetSpent, CannotWrite, Exhausted, InvalidInput, StudyFileError, ZonalError
from zonal.io.files import check_writable, content_of, file_path, text_of
from zonal.io.geo_files import read_areas
from zonal.io.result_table import Listing
from zonal.io.spreadsheet import SEPARATORS
from zonal.plotting.maps import GeoJson
from zonal.study import summary
from zonal.study.study import Study

Decorator = Callable[[Callable[..., None]], Callable[..., None]]
MakesCommand = Callable[[Callable[..., None]], click.Command]

# 1: refused; 2 (click's own): wrong usage.
REFUSED, NOTHING_LEFT, BAD_FILE, DIFFERENT, KEEPS_FAILING, INTERRUPTED = 1, 3, 4, 5, 6, _interrupts.INTERRUPTED
OF_ERRORS = {BudgetSpent: NOTHING_LEFT, Exhausted: NOTHING_LEFT, StudyFileError: BAD_FILE, ZonalError: REFUSED}
PICTURES = (".png", ".pdf", ".svg")
CLOSED_PIPE = 128 + 13  # as shells report a program that was ended by SIGPIPE

CODES = """
Exit codes: 0 done, 1 refused, 2 wrong usage, 3 nothing left to ask for, 4 the study's file cannot be used,
5 `verify` found a difference, 6 the program of `run` keeps failing or nothing could be measured, 130 interrupted.
"""


def debug_option() -> click.Option:
    """Return the option that shows tracebacks."""

    def note(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value:
            ctx.find_root().meta["zonal.debug"] = True

    help_text = "Show the traceback of an error."
    return click.Option(["--debug"], is_flag=True, expose_value=False, callback=note, help=help_text)


LASTING = ("serve", "mcp")  # they print while they run: only their errors are JSON


def with_json(built: click.Command) -> None:
    """Give a command `--json` if it has none: then it prints what it says as one JSON object."""
    if any("--json" in param.opts for param in built.params):
        return
    option = click.Option(["--json", "as_json"], is_flag=True, help="Print JSON, for programs; errors too.")
    built.params.append(option)
    if built.name in LASTING:
        option.expose_value = False
        return
    does = built.callback
    assert does is not None

    @wraps(does)
    def call(*arguments: Any, as_json: bool, **named: Any) -> None:
        if not as_json:
            does(*arguments, **named)
            return
        printed, warned = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
        with redirect_stdout(printed), redirect_stderr(warned):
            does(*arguments, **named)
        answer: dict[str, Any] = {"done": built.name, "output": _content(printed)}
        answer["messages"] = _content(warned).splitlines()
        study = named.get("study")
        if isinstance(study, Study):
            study.refresh()
            answer |= {"budget": study.budget, "measured": study.measured, "remaining": study.remaining}
            answer["pending"] = [trial.number for trial in study.pending]
        echo_json(answer)

    built.callback = call


def _content(written: io.TextIOWrapper) -> str:
    written.flush()
    raw: Any = written.buffer
    return str(raw.getvalue().decode("utf-8", "replace"))


def wants_json(ctx: click.Context) -> bool:
    """Tell whether the words after a command ask for JSON, even if they cannot be understood."""
    words = [*ctx._protected_args, *ctx.args]
    return "--json" in (words[: words.index("--")] if "--" in words else words)


# Of exit codes that are no error of the library: the codes for programs.
CODES_OF_EXITS = {
    NOTHING_LEFT: "nothing-left",
    BAD_FILE: "file",
    DIFFERENT: "different",
    KEEPS_FAILING: "keeps-failing",
    INTERRUPTED: "interrupted",
}


def error_code(error: BaseException | None, exit_code: int) -> str:
    """Return the code of an error for programs, as the HTTP service has it; it stays the same."""
    from zonal.web.routes import STATUSES

    for kind, (_, slug, _) in STATUSES.items():
        if isinstance(error, kind):
            return slug
    return CODES_OF_EXITS.get(exit_code, "refused")


@contextmanager
def errors_as_json(wanted: bool) -> Iterator[None]:
    """Print an error as JSON to standard output, if that is wanted, and end with its exit code."""
    try:
        yield
    except click.ClickException as error:
        if not wanted:
            raise
        usage = isinstance(error, click.UsageError)
        code = "usage" if usage else error_code(error.__cause__, error.exit_code)
        echo_json({"error": {"code": code, "message": error.format_message(), "exit_code": error.exit_code}})
        raise click.exceptions.Exit(error.exit_code) from None


class Refusal(click.ClickException):
    """An error as one line, with its exit code."""

    def __init__(self, message: str, code: int = REFUSED) -> None:
        super().__init__(message)
        self.exit_code = code  # type: ignore[misc]


@contextmanager
def plain_errors(ctx: click.Context) -> Iterator[None]:
    """Turn Zonal's errors, and those of the file system, into one line, unless --debug is given."""
    try:
        yield
    except ZonalError as error:
        if ctx.find_root().meta.get("zonal.debug"):
            raise
        code = next(exit_code for kind, exit_code in OF_ERRORS.items() if isinstance(error, kind))
        raise Refusal(for_shell(str(error)), code) from error
    except OSError as error:
        raise _of_system(error) from error
    except KeyboardInterrupt:
        raise Refusal("interrupted.", INTERRUPTED) from None


def _of_system(error: OSError) -> Exception:
    """Return how the command ends with an error of the file system."""
    if error.filename is None:  # the output cannot be printed, and must not be tried again at exit
        with suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:  # else there is no real output
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
    if error.errno == errno.EPIPE:  # the reader of the output has closed it
        return click.exceptions.Exit(CLOSED_PIPE)
    return Refusal(f"{error.filename or 'the output'} cannot be used: {error.strerror}.")


# How to say in a shell what a message says in Python, as patterns.
SPOKEN = {
    r"Open it with Study\.open, or": "Use it as it is, or",
    r"Study\.create": "`zonal new`",
    r"Open it with (\w+)=\.\.\.": r"Open it in Python, with its \1.",
    r"study\.table\(\)": "`zonal export`",
    r"Use plot_tree.*|Use study\.plot\(\)\.|Print study\.model instead\.": "Leave --kind out, or use another.",
    r"\b(?:study\.)?(ask|tell|observe|forbid|allow|correct|retract|extend|refit)\(n?\)": r"`zonal \1`",
    r'Pass decimal="(.)"': r"Pass --decimal \1",
    r"\bMean\(\)": "mean",
    r"\bCenter\(\)": "center",
    r"\bzn\.(?=[A-Z])": "",
    r"\b(smallest|level|kernel|noise|nu|sem)=(?=[,.]? |[,.]?$)": r"\1",
}


def for_shell(message: str) -> str:
    """Return a message of the library, reworded for the shell."""
    for pattern, words in SPOKEN.items():
        message = re.sub(pattern, words, message)
    return message


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show warnings as one line; hide deprecation warnings, which are not for users."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.simplefilter("ignore", DeprecationWarning)  # pyparsing's is a UserWarning too
        warnings.showwarning = lambda message, *rest: echo_err(f"Warning: {for_shell(str(message))}")
        yield


def echo_err(text: str) -> None:
    """Print a message to standard error, besides the answer."""
    click.echo(text, err=True)


def budget_line(study: Study) -> str:
    """Return how much of the budget is used, and by what."""
    return f"{summary.budget_line(study)}."


def echo_json(answer: Any) -> None:
    """Print an answer as JSON."""
    click.echo(summary.to_json(answer))


def echo_table(listing: Listing) -> None:
    """Print a table: as wide as the terminal, or in full if there is none."""
    fits = sys.stdout.isatty() or "COLUMNS" in os.environ
    click.echo(listing.text(shutil.get_terminal_size().columns if fits else 1 << 30))


@dataclass(frozen=True)
class Shape:
    """The geometry of a feature of a GeoJSON file."""

    __geo_interface__: GeoJson


def shapes_of(path: Path) -> list[Shape]:
    """Return the shapes of a GeoJSON or GeoPackage file, in order."""
    if path.suffix.lower() == ".gpkg":
        return list(read_areas(path).geometry)
    try:
        document = json.loads(text_of(content_of(path, "the file of shapes"), "the file of shapes", path))
        return [Shape(feature["geometry"]) for feature in document["features"]]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        if isinstance(error, ZonalError):
            raise
        fix = "Pass GeoJSON: a FeatureCollection with a polygon for each member."
        raise InvalidInput("shapes cannot be read", str(path), fix) from None


class FilePath(click.Path):
    """A path that the system can have."""

    def __init__(self, exists: bool = False, file_okay: bool = True, dir_okay: bool = True) -> None:
        super().__init__(exists, file_okay, dir_okay, path_type=Path)

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        """Return the path, after checking it."""
        path = super().convert(file_path(value), param, ctx)
        assert isinstance(path, Path)
        return path


FILE = FilePath(dir_okay=False)


class _PicturePath(FilePath):
    """A path at which a plot can be written."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        """Return the path; raise now, not after hours, if it cannot be written."""
        path = super().convert(value, param, ctx)
        if path.suffix.lower() not in PICTURES:
            self.fail(f"{path} does not end in .png, .pdf or .svg.", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"there is no folder {path.parent}; make it first.", param, ctx)
        try:
            check_writable(path)
        except CannotWrite as error:
            self.fail(str(error), param, ctx)
        return path


def picture_option(default: str) -> Decorator:
    """Add an option for where to write a plot."""
    told = "Where to write the picture (PNG, PDF or SVG, by its ending)."
    kind = _PicturePath(dir_okay=False)
    return click.option("--out", default=default, show_default=True, type=kind, help=told)


def _opened(ctx: click.Context, param: click.Parameter, path: Path) -> Study | Path:
    """Open the study of a file, unless a shell only completes a command."""
    return path if ctx.resilient_parsing else Study.open(path)


# Of a study that is there already.
study_argument = click.argument("study", metavar="STUDY", type=FilePath(), callback=_opened)
new_file_argument = click.argument("path", metavar="STUDY", type=FILE)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


separator_option = click.option(
    "--sep",
    "separator",
    type=click.Choice(list(SEPARATORS)),
    help="Separator of a .csv; with ; numbers get decimal commas  [default: ,]",
)
note_option = click.option("--note", default="", help="A note kept with the trial, for example why.")
by_option = click.option("--by", metavar="NAME", help="Your name; kept in the history.")
decimal_option = click.option(
    "--decimal", type=click.Choice([".", ","]), help="The decimal mark of the table  [default: found out]"
)


def command(name: str | None = None, epilog: str | None = None, numbers: bool = False) -> MakesCommand:
    """Return what makes a command with `--debug` of a function; a negative one of its `numbers` is no option."""

    def make(function: Callable[..., None]) -> click.Command:
        settings = {"ignore_unknown_options": True} if numbers else None
        built = click.command(name, epilog=epilog, context_settings=settings)(function)
        built.params.append(debug_option())
        return built

    return make


def study_command(name: str | None = None, numbers: bool = False) -> MakesCommand:
    """Return what makes a command of a function whose first argument is a study."""
    return lambda function: command(name, numbers=numbers)(study_argument(function))


def number_option(*names: str, help: str, minimum: int = 1, default: int | None = None) -> Decorator:
    """Return an option that takes a whole number, shown with its default if it has one."""
    return click.option(
        *names, default=default, show_default=default is not None, type=click.IntRange(min=minimum), help=help
    )


class Finite(click.FloatRange):
    """A finite number."""

    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; raise if it is not finite."""
        number: float = super().convert(value, param, ctx)
        return number if math.isfinite(number) else self.fail(f"{number} is not a finite number.", param, ctx)

    def _describe_range(self) -> str:
        """Return the range for the help; click would write "x<=None" where there is none."""
        return "" if self.min is None and self.max is None else super()._describe_range()


def label_pairs(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Return labels written in a shell, by name."""
    pairs = [text.partition("=") for text in given]
    wrong = [text for text, (name, _, value) in zip(given, pairs, strict=True) if not name or not value]
    if wrong:
        raise click.BadParameter(f"a label is a name and a text; got {wrong[0]!r}. Write plate=3.", ctx, param)
    return {name: value for name, _, value in pairs}


labels_option = click.option(
    "--label", "labels", multiple=True, metavar="NAME=TEXT", callback=label_pairs, help="A label; may be repeated."
)
shapes_option = click.option(
    "--shapes",
    callback=lambda ctx, param, value: None if value is None else shapes_of(value),
    type=FILE,
    help="A GeoJSON or GeoPackage file with the polygons of points or areas, in the order of their table.",
)
