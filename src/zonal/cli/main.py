"""The command line, a thin layer over the library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from zonal import __version__
from zonal.cli import BEFOREHAND, CAMPAIGN, options

if TYPE_CHECKING:
    from zonal.cli.options import Shape
    from zonal.study.study import Study


class Group(click.Group):
    """Shows commands in the order a person meets them; its own errors, and those of the disk, as one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> None:
        """Run a command; errors become one line."""
        wanted = options.wants_json(ctx)
        with options.errors_as_json(wanted), options.plain_errors(ctx), options.plain_warnings():
            super().invoke(ctx)


@click.group(
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"]},
    params=[options.debug_option()],
    epilog=options.CODES,
)
@click.version_option(__version__, prog_name="zonal")
def main() -> None:
    """Find the region with the highest average from noisy averages over regions."""


@main.command()
@options.number_option("--budget", default=80, help="Number of measurements.")
@options.number_option("--seed", default=0, minimum=0, help="Seed of the noise.")
@options.picture_option("zonal-demo.png")
def demo(budget: int, seed: int, out: Path) -> None:
    """Search the paper's first reward function and plot the result."""
    from zonal.simulation.demo import demonstrate

    click.echo(demonstrate(budget, seed, out))
    click.echo(f"picture               {out.resolve()}")


for _command in CAMPAIGN:
    main.add_command(_command)


@options.study_command()
@click.option("-o", "--out", type=options.FILE, help="Where to write it  [default: STUDY.html]")
@options.shapes_option
def report(study: Study, out: Path | None, shapes: list[Shape] | None) -> None:
    """Write one HTML file about a STUDY, readable offline.

    It has plots, tables, settings, and a methods paragraph.
    """
    assert study.path is not None
    target = study.path.with_suffix(".html") if out is None else out
    study.report(target, shapes=shapes)
    click.echo(target.resolve())


main.add_command(report)


@main.command()
@click.argument("folder", default=".", type=options.FilePath(file_okay=False, exists=True))
@click.option(
    "--port", default=8321, show_default=True, type=click.IntRange(0, 65535), help="0 for any free port."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Any other address requires a token.")
@click.option("--name", "names", multiple=True, help="A host name that reaches it, as through a proxy.")
@click.option("--open", "show", is_flag=True, help="Open a browser.")
def serve(folder: Path, port: int, host: str, names: tuple[str, ...], show: bool) -> None:
    """Show a FOLDER of studies in a browser.

    Instruments ask and tell over HTTP.
    """
    try:
        from zonal.web.server import serve
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn", "anyio"):
            raise
        raise click.ClickException("the service needs the extra web: pip install 'zonal[web]'.") from None

    serve(folder, host, port, names, show, click.echo)


@main.command()
@click.argument("folder", default=".", type=options.FilePath(file_okay=False, exists=True))
@click.option("--read-only", is_flag=True, help="Let the agent read, and change nothing.")
@options.number_option("--cap", minimum=0, help="Measurements the agent may ask for  [default: what is budgeted]")
@click.option("--by", default="agent", show_default=True, help="The agent's name; kept in the history.")
def mcp(folder: Path, read_only: bool, cap: int | None, by: str) -> None:
    """Let an agent use a FOLDER of studies.

    It speaks the Model Context Protocol on standard input and output.
    """
    try:
        from zonal.web.mcp_server import mcp_server
    except ModuleNotFoundError as error:
        if error.name != "mcp":
            raise
        raise click.ClickException("agents need the extra mcp: pip install 'zonal[mcp]'.") from None
    from zonal.web.agent_tools import AgentTools

    mcp_server(AgentTools(folder, read_only, cap, by)).run()


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a SHELL.

    Use it as eval "$(zonal completion bash)".
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(main, {}, "zonal", "_ZONAL_COMPLETE").source())


for _command in BEFOREHAND:
    main.add_command(_command)

for _command in main.commands.values():
    options.with_json(_command)
