"""The command line: thin, over the library."""

from __future__ import annotations

import math
import os
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import click

from zonal import __version__
from zonal.errors import ZonalError

if TYPE_CHECKING:
    from zonal.paper.results import Settings


class _Group(click.Group):
    """Shows Zonal's own errors as messages, not as tracebacks."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except ZonalError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="zonal")
def main() -> None:
    """Find the region with the highest average from noisy averages over regions."""


@main.command()
@click.option("--budget", default=80, show_default=True, type=click.IntRange(min=1), help="Measurements.")
@click.option("--rng", default=0, show_default=True, type=click.IntRange(min=0), help="Seed of the noise.")
@click.option(
    "--out",
    default="zonal-demo.png",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the picture (PNG, PDF or SVG, by its ending).",
)
def demo(budget: int, rng: int, out: Path) -> None:
    """Search the paper's first reward function and draw what was found."""
    from zonal.demo import demonstrate

    _check_picture(out)
    finished = demonstrate(budget, rng)
    click.echo(finished.report())
    finished.draw(out)
    click.echo(f"picture               {out.resolve()}")


_PICTURES = (".png", ".pdf", ".svg")


def _columns(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Return column names from a list with commas."""
    names = tuple(name.strip() for name in (value or "").split(",") if value)
    if "" in names:
        raise click.BadParameter(f"{value!r} has an empty name between commas.")
    if len(set(names)) < len(names):
        raise click.BadParameter(f"{value!r} names a column twice.")
    return names


@main.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--value", required=True, help="Column of the values whose average counts.")
@click.option("--coords", callback=_columns, help="Columns of coordinates or features, with commas between.")
@click.option(
    "--levels", callback=_columns, help="Columns of nested areas, the coarsest first, with commas between."
)
@click.option("--sequence", help="Column of sequences: all there are of one length.")
@click.option("--weight", help="Column of weights, such as persons  [default: 1 each]")
@click.option(
    "--noise", required=True, type=click.FloatRange(min=0), help="Standard deviation of one measurement."
)
@click.option("--budget", required=True, type=click.IntRange(min=1), help="Measurements of one campaign.")
@click.option(
    "--runs", default=30, show_default=True, type=click.IntRange(min=1), help="Campaigns of each method."
)
@click.option(
    "--smallest",
    type=click.FloatRange(min=0, min_open=True),
    help="Least weight of a region, or sequences of a pool.",
)
@click.option("--minimize", is_flag=True, help="Look for the lowest average.")
@click.option("--rng", default=0, show_default=True, type=click.IntRange(min=0), help="Seed of everything.")
@click.option("--jobs", default=None, type=click.IntRange(min=1), help="Processes  [default: one a core]")
@click.option(
    "--out",
    default="zonal-rehearsal.png",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the picture (PNG, PDF or SVG, by its ending).",
)
def rehearse(table: Path, out: Path, **options: Any) -> None:
    """Play a measuring campaign on a TABLE (.csv, .csv.gz, .tsv, .parquet) before you pay for it.

    Every row is a smallest part: a place (--coords), an area (--levels, with --coords for where it is) or a
    sequence (--sequence). Zonal and three ways to do without it spend the same budget on noisy averages
    computed from the table.
    """
    from zonal.rehearsing import report

    _check_picture(out)
    if not math.isfinite(options["noise"]):
        raise click.BadParameter(f"{options['noise']} is not a finite number.", param_hint="--noise")
    try:
        for line in report(table, out, **options):
            click.echo(line)
    except KeyboardInterrupt:
        raise click.ClickException("interrupted; nothing was written.") from None


def _check_picture(out: Path) -> None:
    if out.suffix.lower() not in _PICTURES:
        raise click.BadParameter(f"{out} does not end in .png, .pdf or .svg.", param_hint="--out")
    if not out.parent.is_dir():
        raise click.BadParameter(f"there is no folder {out.parent}; make it first.", param_hint="--out")
    there = out.exists()
    try:
        out.open("ab").close()
    except OSError as error:
        raise click.BadParameter(f"{out} cannot be written: {error.strerror}.", param_hint="--out") from error
    if not there:
        out.unlink()


@main.group()
def paper() -> None:
    """Regenerate the paper's figures and tables, and check its theory.

    Finished runs are kept in the folder, so that the same command goes on where Ctrl-C stopped it.
    """


_EXPERIMENTS = {
    "figure1": "A tree over its function (Figure 1).",
    "figure2": "All quantities of two consecutive rounds (Figure 2).",
    "regret": "Aggregated regret against budget, all algorithms (Figure 4).",
    "benefit": "Where averages help: the third function.",
    "heatmap": "Regret over numbers of points S and children K.",
    "delta": "The constant c of delta, by cross-validation.",
    "theory": "Every lemma and bound, held against simulations.",
}
_MODULES = {"theory": "guarantees"}


def _experiment(name: str, settings: Settings) -> None:
    """Run one experiment and print its table."""
    module = import_module(f"zonal.paper.{_MODULES.get(name, name)}")
    started = perf_counter()
    table = module.experiment(settings)
    click.echo(f"\n{name}: {_EXPERIMENTS.get(name, '')}\n{table.text()}")
    click.echo(
        f"{perf_counter() - started:.1f} s; {name}.pdf, .png, .csv and .json are in {settings.out.resolve()}"
    )


def _add(name: str, about: str) -> None:
    @paper.command(name, help=about)
    @click.option("--runs", default=30, show_default=True, type=click.IntRange(min=1), help="Independent runs.")
    @click.option(
        "--budget", default=80, show_default=True, type=click.IntRange(min=2), help="Measurements a run."
    )
    @click.option(
        "--preset",
        default="authors",
        show_default=True,
        type=click.Choice(["authors", "paper"]),
        help="The authors' functions and procedure, which the published pictures came from, or the paper's text.",
    )
    @click.option("--rng", default=0, show_default=True, type=click.IntRange(min=0), help="Seed of everything.")
    @click.option("--jobs", default=None, type=click.IntRange(min=1), help="Processes  [default: one a core]")
    @click.option(
        "--out",
        default="zonal-paper",
        show_default=True,
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder of pictures, tables and finished runs.",
    )
    def command(
        runs: int, budget: int, preset: Literal["authors", "paper"], rng: int, jobs: int | None, out: Path
    ) -> None:
        from zonal.paper.results import Settings
        from zonal.paper.runs import Interrupted

        settings = Settings(out, runs, budget, preset, rng, jobs or os.cpu_count() or 1)
        try:
            for experiment in _EXPERIMENTS if name == "all" else [name]:
                _experiment(experiment, settings)
        except Interrupted:
            raise click.ClickException(
                f"interrupted; finished runs are kept in {out}, and the same command goes on from there."
            ) from None


for _name, _about in {**_EXPERIMENTS, "all": "All of the above."}.items():
    _add(_name, _about)
