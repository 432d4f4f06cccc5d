"""A study to other places and back: export, import, verify."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from zonal.commands import regions, sheets
from zonal.commands.bench import standing, trial_json
from zonal.commands.frame import DIFFERENT, Command, FilePath, Refusal, new_file_argument, say, study_argument
from zonal.errors import InvalidInput, ZonalError
from zonal.rounds.codec import Events, Opened, settings_from_json, settings_to_json
from zonal.rounds.recheck import first_difference
from zonal.study import Study
from zonal.tables.files import write

FORMAT = 1
HEAD = "zonal events"


@click.command(cls=Command)
@study_argument
@click.option(
    "--format",
    "kind",
    default="csv",
    show_default=True,
    type=click.Choice(["csv", "json", "events"]),
    help="Trials as a sheet; trials and answers for programs; or everything, which `zonal import` reads back.",
)
@click.option("--out", type=FilePath(dir_okay=False), help="Write here instead of printing.")
def export(study: Study, kind: str, out: Path | None) -> None:
    """Write a study's trials as CSV or JSON, or its events as JSON lines."""
    text = {"csv": sheets.outcomes, "json": _document, "events": _events}[kind](study)
    if out is None:
        click.echo(text, nl=False)
        return
    if study.path is not None and out.exists() and out.samefile(study.path):
        raise InvalidInput("this is the study itself", str(out), "Name another file.")
    write(out, text.encode())
    say(f"{out}: {standing(study)}")


def _document(study: Study) -> str:
    """Return trials, and measurements from outside, for programs."""
    trials = [
        {**trial_json(one), "state": one.state, "value": one.value, "sem": one.sem, "note": one.note}
        for one in study.trials
    ]
    outside = [
        {"region": regions.as_json(one.region), "value": one.value, "sem": one.sem} for one in study.observations
    ]
    value = {"name": study.value_name, "unit": study.value_unit}
    head: dict[str, Any] = {"budget": study.budget, "direction": study.direction, "value": value}
    return json.dumps({**head, "trials": trials, "observations": outside}, ensure_ascii=False, indent=1) + "\n"


def _events(study: Study) -> str:
    """Return settings and events, one a line."""
    settings = study.settings
    stored = json.loads(settings_to_json(settings))
    own = [name for name, value in stored.items() if isinstance(value, dict) and value.get("$") == "own"]
    if own:
        fix = "Copy the study's file, and open it in Python."
        raise InvalidInput(
            "this study was made with something of the user's own, which no export can hold", own[0], fix
        )
    head = {"kind": HEAD, "format": FORMAT, "settings": stored}
    as_text = Events(Opened(settings, {})).write
    return "\n".join([json.dumps(head), *map(as_text, study.events)]) + "\n"


@click.command("import", cls=Command)
@new_file_argument
@click.argument("lines", metavar="EVENTS", type=FilePath(dir_okay=False))
def import_(path: Path, lines: Path) -> None:
    """Make a new STUDY of EVENTS, a file that `zonal export --format events` wrote."""
    study = _replayed(lines)
    study.save(path)
    say(f"{path}: {standing(study)}")


def _replayed(path: Path) -> Study:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InvalidInput("there is no such file", str(path), "Check the path.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the file cannot be read ({error})", str(path), "Export it anew.") from None
    head, *rest = text.splitlines() or [""]
    at = 1
    try:
        settings = _settings(json.loads(head))
        read = Events(settings).read
        events = []
        while at <= len(rest):
            at += 1
            events.append(read(rest[at - 2]))
        return Study.replay(settings.settings, events, at_once=True)
    except ZonalError:
        raise
    except Exception as error:  # whatever a damaged line can do to the reader
        problem = f"line {at} of {path.name} is not what was exported ({type(error).__name__})"
        shown = ([head, *rest][at - 1])[:60]
        raise InvalidInput(problem, shown, "Export it anew, with --format events.") from error


def _settings(head: Any) -> Opened:
    if not isinstance(head, dict) or head.get("kind") != HEAD:
        raise InvalidInput("this is no export of events", str(head)[:60], "Use zonal export --format events.")
    if head["format"] != FORMAT:
        raise InvalidInput(
            "the export is of another version of Zonal", head["format"], f"This one reads {FORMAT}."
        )
    return settings_from_json(json.dumps(head["settings"]), {})


@click.command(cls=Command)
@study_argument
def verify(study: Study) -> None:
    """Decide everything again, and report the first difference.

    A difference is no damage: another release or another machine may decide otherwise. The study goes on from what
    was decided.
    """
    found = first_difference(study.settings, study.events)
    if found:
        raise Refusal(f"decided again, it comes out differently: {found}", DIFFERENT)
    say(f"{len(study.events)} events decided again, all alike. {standing(study)}")
