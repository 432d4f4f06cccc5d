"""Moving a study: export, import, verify."""

from __future__ import annotations

from pathlib import Path

import click

from zonal.cli.options import (
    DIFFERENT,
    FILE,
    Refusal,
    budget_line,
    command,
    decimal_option,
    echo_err,
    new_file_argument,
    separator_option,
    study_command,
)
from zonal.errors import require
from zonal.io.files import content_of, write
from zonal.io.spreadsheet import ENDINGS, SheetFile
from zonal.storage.verify import first_difference
from zonal.study.export import MAPS, document, exported, imported, map_file, outcomes
from zonal.study.study import Study


@study_command()
@click.option(
    "--format",
    "kind",
    default="csv",
    show_default=True,
    type=click.Choice(["csv", "json", "events", *MAPS]),
    help="Trials as a sheet; trials as JSON for programs; or everything, for `zonal import`. Of a sky, the pixels "
    "where the best one lies (moc) or all of them (skymap), in FITS; of a grid, all predictions (netcdf).",
)
@click.option("--probability", type=float, help="For moc: that the best pixel is in the set. [default: 0.9]")
@click.option("--out", type=FILE, help="Write here instead of printing; a sheet also as .xlsx or .tsv.")
@separator_option
@decimal_option
def export(
    study: Study,
    kind: str,
    probability: float | None,
    out: Path | None,
    separator: str | None,
    decimal: str | None,
) -> None:
    """Write trials as a sheet or JSON, all events, or a map."""
    if kind != "moc" and probability is not None:
        raise click.UsageError("--probability is for --format moc.")
    if kind != "csv" and (separator or decimal):
        raise click.UsageError("--sep and --decimal are for a sheet: leave --format out.")
    itself = study.path is not None and out is not None and out.exists() and out.samefile(study.path)
    require(not itself, "this is the study itself", str(out), "Name another file.")
    if kind == "csv":
        file = SheetFile(Path("trials.csv") if out is None else out, separator, decimal, new=out is not None)
        if out is None:
            click.echo(file.text(outcomes(study)).encode(), nl=False)
        else:
            file.write(outcomes(study))
            echo_err(f"{out}: {budget_line(study)}")
        return
    plain = out is None or not out.name.lower().endswith(tuple(ENDINGS))
    require(plain, f"--format {kind} is no sheet", str(out), "Leave --format out, or name another file.")
    if kind in MAPS:
        require(out is not None, f"--format {kind} is no text", "standard output", "Name a file with --out.")
        assert out is not None
        write(out, map_file(study, kind, **({} if probability is None else {"probability": probability})))
        echo_err(f"{out}: {budget_line(study)}")
        return
    text = {"json": document, "events": exported}[kind](study)
    if out is None:
        click.echo(text.encode(), nl=False)  # unchanged, since a digest covers every byte
        return
    write(out, text.encode())
    echo_err(f"{out}: {budget_line(study)}")


@command("import")
@new_file_argument
@click.argument("lines", metavar="EVENTS", type=FILE)
def import_(path: Path, lines: Path) -> None:
    """Make a new STUDY from a file of EVENTS.

    `zonal export --format events` writes such a file.
    """
    study = imported(content_of(lines, "the file"))
    study.save(path)
    echo_err(f"{path}: {budget_line(study)}")


@study_command()
def verify(study: Study) -> None:
    """Replay the study, and report the first decision that differs.

    A difference is not damage: another release or machine may decide differently. The study continues from what
    was decided originally.
    """
    difference = first_difference(study.settings, study.events)
    if difference:
        raise Refusal(f"decided again, the result differs: {difference}.", DIFFERENT)
    echo_err(f"{len(study.events)} events replayed: every decision matches. {budget_line(study)}")
