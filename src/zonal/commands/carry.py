"""Moving a study: export, import, verify."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from zonal.commands.bench import standing
from zonal.commands.frame import (
    DIFFERENT,
    FILE,
    Command,
    Refusal,
    decimal_option,
    new_file_argument,
    say,
    separator_option,
    study_command,
)
from zonal.commands.sheet_rows import outcomes, slope_of
from zonal.errors import InvalidInput, ZonalError, need, refuse
from zonal.looking import for_programs, plain
from zonal.rounds.codec import Opened, settings_from_json, settings_to_json
from zonal.rounds.outcomes import Outcome
from zonal.rounds.recheck import first_difference
from zonal.rounds.trials import Observation, TrialRecord
from zonal.rounds.values import own_classes
from zonal.study import Study
from zonal.tables.files import content_of, write
from zonal.tables.sheet_files import ENDINGS, SheetFile

FORMATS = (1, 2, 3, 4)  # that can be read; 1 had no last line, 1 and 2 no differences, 3 nothing forbidden later
FORMAT = FORMATS[-1]
HEAD, END = "zonal events", "zonal end"


@study_command()
@click.option(
    "--format",
    "kind",
    default="csv",
    show_default=True,
    type=click.Choice(["csv", "json", "events"]),
    help="Trials as a sheet; trials as JSON for programs; or everything, for `zonal import`.",
)
@click.option("--out", type=FILE, help="Write here instead of printing; a sheet also as .xlsx or .tsv.")
@separator_option
@decimal_option
def export(study: Study, kind: str, out: Path | None, separator: str | None, decimal: str | None) -> None:
    """Write a study's trials as a sheet or as JSON, or its events as JSON lines."""
    if kind != "csv" and (separator or decimal):
        raise click.UsageError("--sep and --decimal are for a sheet: leave --format out.")
    itself = study.path is not None and out is not None and out.exists() and out.samefile(study.path)
    need(not itself, "this is the study itself", str(out), "Name another file.")
    if kind == "csv":
        file = SheetFile(Path("trials.csv") if out is None else out, separator, decimal, new=out is not None)
        if out is None:
            click.echo(file.text(outcomes(study)).encode(), nl=False)
        else:
            file.write(outcomes(study))
            say(f"{out}: {standing(study)}")
        return
    plain = out is None or not out.name.lower().endswith(tuple(ENDINGS))
    need(plain, f"--format {kind} is no sheet", str(out), "Leave --format out, or name another file.")
    text = {"json": document, "events": exported}[kind](study)
    if out is None:
        click.echo(text.encode(), nl=False)  # unchanged, since a digest covers every byte
        return
    write(out, text.encode())
    say(f"{out}: {standing(study)}")


def document(study: Study) -> str:
    """Return trials and observations as JSON, for programs."""
    times = study.times

    def said(own: Outcome) -> dict[str, Any]:
        when = {"when": times[own.event]} if times else {}
        return {"state": own.state, "value": own.value, "sem": own.sem, "note": own.note, "by": own.by, **when}

    def seen(one: TrialRecord | Observation) -> dict[str, Any]:
        found = {"slope": slope_of(one) or None, "minus": one.minus}
        return {name: own for name, own in found.items() if own is not None}

    trials, outside = [], []
    for one, (*before, now) in study.history():
        earlier = [said(own) for own in before if own.state != "asked"]
        if isinstance(one, TrialRecord):
            trials.append({**plain(one), **said(now), **seen(one), "earlier": earlier})
        else:
            where = {"observation": one.number, "region": one.region}
            outside.append({**where, **said(now), **seen(one), "earlier": earlier})
    value = {"name": study.value_name, "unit": study.value_unit}
    head: dict[str, Any] = {"budget": study.budget, "direction": study.direction, "value": value}
    return for_programs({**head, "trials": trials, "observations": outside}, indent=1) + "\n"


def exported(study: Study) -> str:
    """Return settings and events, one per line."""
    settings = study.settings
    stored = json.loads(settings_to_json(settings))
    own = [*_own_names(stored), *own_classes(list(study.events))]
    problem = "this study was made with something of the user's own, which no export can hold"
    refuse(own, problem, "Copy the study's file, and open it in Python.")
    head = {"kind": HEAD, "format": FORMAT, "settings": stored}
    as_text = Opened(settings).write
    lines = "\n".join([json.dumps(head), *map(as_text, study.events)]) + "\n"
    return lines + _end(lines.encode())


def _own_names(stored: Any) -> Iterator[str]:
    """Yield the names of the user's own settings in a document, those within others too."""
    if isinstance(stored, dict) and stored.get("$") == "own":
        yield stored["name"]
    elif isinstance(stored, dict | list):
        for part in stored.values() if isinstance(stored, dict) else stored:
            yield from _own_names(part)


def _end(lines: bytes) -> str:
    """Return the last line of an export: the number of events, and a digest of all lines above."""
    events = lines.count(b"\n") - 1
    return json.dumps({"kind": END, "events": events, "sha256": hashlib.sha256(lines).hexdigest()}) + "\n"


@click.command("import", cls=Command)
@new_file_argument
@click.argument("lines", metavar="EVENTS", type=FILE)
@click.option("--edited", is_flag=True, help="EVENTS was changed on purpose; the new study's history will say so.")
def import_(path: Path, lines: Path, edited: bool) -> None:
    """Make a new STUDY from EVENTS, a file written by `zonal export --format events`."""
    study = imported(content_of(lines, "the file"), edited)
    study.save(path)
    say(f"{path}: {standing(study)}{edits(study)}")


def imported(content: bytes, edited: bool = False) -> Study:
    """Return the study of an export; raise if the export was changed.

    If `edited`, it may have been, as long as its events are possible; the history will say so.
    """
    lines = [line for line in content.split(b"\n") if line.strip()] or [b""]
    why, last = _why_not(content), _plain(lines[-1])
    if why and not edited:
        fix = "Export it again; if it was changed on purpose, or comes from an older Zonal, pass --edited."
        raise InvalidInput(f"this is not what was exported: {why}", _shown(lines[0]), fix)
    if last.get("kind") == END:
        lines = lines[:-1] or [b""]
    at = 0

    def texts() -> Iterator[str]:
        nonlocal at
        for at in range(len(lines)):
            text = lines[at].decode("utf-8-sig")
            json.dumps(json.loads(text), ensure_ascii=False).encode()  # raises if no file can hold the text
            yield text

    said = texts()
    try:
        settings = _settings(json.loads(next(said)))
        told = map(settings.read, said)
        return Study.replay(settings.settings, told, at_once=not why, edited=why)
    except Exception as error:  # a changed line can cause any error
        what = str(error) if isinstance(error, ZonalError | ValueError) else type(error).__name__
        problem = f"line {at + 1} is not what was exported ({what})"
        raise InvalidInput(problem, _shown(lines[at]), "Export it again, with --format events.") from error


def _why_not(content: bytes) -> str:
    """Return why an export is not as Zonal wrote it; "" if it is."""
    above, newline, last = content.removesuffix(b"\n").rpartition(b"\n")
    above += newline
    if content == above + _end(above).encode():
        return ""
    end = _plain(last)
    if end.get("kind") != END:
        return "its last line, with a count and a digest of the lines above, is missing"
    number, left = end.get("events"), above.count(b"\n") - 1
    if isinstance(number, int) and number != left:
        return f"there are {left} events, not {number}"
    return "it was changed after it was written"


def _plain(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line; {} if it is not one."""
    try:
        found = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _shown(line: bytes) -> str:
    return line[:60].decode(errors="replace")


def _settings(head: Any) -> Opened:
    known = isinstance(head, dict) and head.get("kind") == HEAD
    need(known, "this is not an export of events", "another file", "Use zonal export --format events.")
    fix = f"This one reads {' and '.join(map(str, FORMATS))}."
    need(head["format"] in FORMATS, "the export comes from another version of Zonal", head["format"], fix)
    opened = settings_from_json(json.dumps(head["settings"]), {})
    problem = "an export cannot hold a setting of the user's own"
    need(not opened.missing, problem, opened.missing, "Leave it out.")
    return opened


def edits(study: Study) -> str:
    """Return a sentence about a history that came from edited exports; "" for any other."""
    return "".join(f" Its history came from an edited export: {why}." for why in study.edited)


@study_command()
def verify(study: Study) -> None:
    """Decide everything again, and report the first difference.

    A difference is not damage: another release or machine may decide differently. The study continues from what
    was decided originally.
    """
    found = first_difference(study.settings, study.events)
    if found:
        raise Refusal(f"decided again, the result differs: {found}.{edits(study)}", DIFFERENT)
    say(f"{len(study.events)} events decided again, all the same. {standing(study)}{edits(study)}")
