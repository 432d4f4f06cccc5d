"""The command line: thin, over the library."""

from __future__ import annotations

from pathlib import Path

import click

from zonal import __version__
from zonal.errors import ZonalError


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

    if out.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise click.BadParameter(f"{out} does not end in .png, .pdf or .svg.", param_hint="--out")
    if not out.parent.is_dir():
        raise click.BadParameter(f"there is no folder {out.parent}; make it first.", param_hint="--out")
    finished = demonstrate(budget, rng)
    click.echo(finished.report())
    finished.draw(out)
    click.echo(f"picture               {out.resolve()}")
