"""The command line, a thin layer over the library."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import click

from zonal import __version__
from zonal.commands import BEFOREHAND, CAMPAIGN, frame

if TYPE_CHECKING:
    from zonal.paper.sweeps import Plan
    from zonal.study import Study


class _Group(click.Group):
    """Shows commands in the order a person meets them; its own errors, and those of the disk, as one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> object:
        with frame.plain_errors(ctx), frame.plain_warnings():
            return super().invoke(ctx)


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"]},
    params=[frame.debug_option()],
    epilog=frame.CODES,
)
@click.version_option(__version__, prog_name="zonal")
def main() -> None:
    """Find the region with the highest average from noisy averages over regions."""


@main.command()
@frame.number_option("--budget", default=80, help="Number of measurements.")
@frame.number_option("--rng", default=0, least=0, help="Seed of the noise.")
@frame.picture_option("zonal-demo.png")
def demo(budget: int, rng: int, out: Path) -> None:
    """Search the paper's first reward function and plot the result."""
    from zonal.paper.figure1 import demonstrate

    click.echo(demonstrate(budget, rng, out))
    click.echo(f"picture               {out.resolve()}")


for _command in CAMPAIGN:
    main.add_command(_command)


@main.command(cls=frame.Command)
@frame.study_argument
@click.option("-o", "--out", type=frame.FILE, help="Where to write it  [default: STUDY.html]")
@frame.shapes_option
def report(study: Study, out: Path | None, shapes: list[Any] | None) -> None:
    """Write one HTML file about a STUDY, readable offline: plots, tables, settings, and a methods paragraph."""
    assert study.path is not None
    target = study.path.with_suffix(".html") if out is None else out
    study.report(target, shapes=shapes)
    click.echo(target.resolve())


@main.command()
@click.argument("folder", default=".", type=frame.FilePath(file_okay=False, exists=True))
@click.option(
    "--port", default=8321, show_default=True, type=click.IntRange(0, 65535), help="0 for any free port."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Any other address requires a token.")
@click.option("--name", "names", multiple=True, help="A host name that reaches it, as through a proxy.")
@click.option("--open", "show", is_flag=True, help="Open a browser.")
def serve(folder: Path, port: int, host: str, names: tuple[str, ...], show: bool) -> None:
    """Show a FOLDER of studies in a browser, and let instruments ask and tell over HTTP."""
    try:
        from zonal.web.service import serve
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn", "anyio"):
            raise
        raise click.ClickException("the service needs the extra web: pip install 'zonal[web]'.") from None

    serve(folder, host, port, names, show, click.echo)


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a SHELL; use it as eval "$(zonal completion bash)"."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(main, {}, "zonal", "_ZONAL_COMPLETE").source())


for _command in BEFOREHAND:
    main.add_command(_command)


@main.group(cls=_Group)
def paper() -> None:
    """Regenerate the paper's figures and tables, and check its theory.

    Finished runs are kept in the folder, so that the same command continues after Ctrl-C.
    """


_EXPERIMENTS = {
    "figure1": "A tree over its function (Figure 1).",
    "figure2": "All quantities of two consecutive rounds (Figure 2).",
    "figure3": "The roadmap of the proof: what holds (Figure 3).",
    "regret": "Aggregated regret against budget, all algorithms (Figure 4).",
    "benefit": "Where averages help: the third function (Figure 5).",
    "heatmap": "Regret over numbers of points S and children K (Figure 6).",
    "delta": "The constant c of delta, by cross-validation.",
    "gradients": "Beyond averages: the value of slopes and differences.",
    "theory": "Every lemma and bound, compared with simulations.",
}


def _experiment(name: str, settings: Plan) -> None:
    """Run one experiment and print its table."""
    module = import_module(f"zonal.paper.{name}")
    started = perf_counter()
    table = module.experiment(settings)
    click.echo(f"\n{name}: {_EXPERIMENTS[name]}\n{table.text()}")
    click.echo(
        f"{perf_counter() - started:.1f} s; {name}.pdf, .png, .csv and .json are in {settings.out.resolve()}"
    )


def _add(name: str, about: str) -> None:
    @paper.command(name, help=about)
    @frame.number_option("--runs", default=30, help="Independent runs.")
    @frame.number_option("--budget", default=80, least=2, help="Measurements per run.")
    @click.option(
        "--preset",
        default="authors",
        show_default=True,
        type=click.Choice(["authors", "paper"]),
        help="The authors' functions and procedure, as in the published figures, or the paper's text.",
    )
    @frame.number_option("--rng", default=0, least=0, help="Seed of all random numbers.")
    @frame.number_option("--jobs", help="Processes  [default: one per core]")
    @click.option(
        "--out",
        default="zonal-paper",
        show_default=True,
        type=frame.FilePath(file_okay=False),
        help="Folder for plots, tables and finished runs.",
    )
    def command(
        runs: int, budget: int, preset: Literal["authors", "paper"], rng: int, jobs: int | None, out: Path
    ) -> None:
        from zonal.paper.sweeps import Plan

        settings = Plan(out, runs, budget, preset, rng, jobs or os.cpu_count() or 1)
        try:
            for experiment in _EXPERIMENTS if name == "all" else [name]:
                _experiment(experiment, settings)
        except KeyboardInterrupt:
            kept = f"finished runs are kept in {out}, and the same command goes on from there"
            raise frame.Refusal(f"interrupted; {kept}.", frame.INTERRUPTED) from None


for _name, _about in {**_EXPERIMENTS, "all": "All of the above."}.items():
    _add(_name, _about)
