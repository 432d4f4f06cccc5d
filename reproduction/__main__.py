"""``python -m reproduction regret --preset paper`` runs one of the paper's experiments; ``all`` runs all."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Literal

import click

from reproduction.sweeps import Plan
from zonal.cli import options
from zonal.cli.main import Group


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]}, epilog=options.CODES)
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
    module = import_module(f"reproduction.{name}")
    started = perf_counter()
    table = module.experiment(settings)
    click.echo(f"\n{name}: {_EXPERIMENTS[name]}\n{table.text()}")
    click.echo(
        f"{perf_counter() - started:.1f} s; {name}.pdf, .png, .csv and .json are in {settings.out.resolve()}"
    )


def _add(name: str, about: str) -> None:
    @paper.command(name, help=about)
    @options.number_option("--runs", default=30, help="Independent runs.")
    @options.number_option("--budget", default=80, minimum=2, help="Measurements per run.")
    @click.option(
        "--preset",
        default="authors",
        show_default=True,
        type=click.Choice(["authors", "paper"]),
        help="The authors' functions and procedure, as in the published figures, or the paper's text.",
    )
    @options.number_option("--seed", default=0, minimum=0, help="Seed of all random numbers.")
    @options.number_option("--jobs", help="Processes  [default: one per core]")
    @click.option(
        "--out",
        default="zonal-paper",
        show_default=True,
        type=options.FilePath(file_okay=False),
        help="Folder for plots, tables and finished runs.",
    )
    def command(
        runs: int, budget: int, preset: Literal["authors", "paper"], seed: int, jobs: int | None, out: Path
    ) -> None:
        settings = Plan(out, runs, budget, preset, seed, jobs or os.cpu_count() or 1)
        try:
            for experiment in _EXPERIMENTS if name == "all" else [name]:
                _experiment(experiment, settings)
        except KeyboardInterrupt:
            kept = f"finished runs are kept in {out}, and the same command goes on from there"
            raise options.Refusal(f"interrupted; {kept}.", options.INTERRUPTED) from None


for _name, _about in {**_EXPERIMENTS, "all": "All of the above."}.items():
    _add(_name, _about)


if __name__ == "__main__":
    paper(prog_name="python -m reproduction")
