"""`make arena`, or `python -m benchmarks.arena --help`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click

from benchmarks.arena import report
from benchmarks.arena.kept import joined, keep, kept
from benchmarks.arena.play import of_budgets, place, play_all, read, tasks_for, valid
from benchmarks.arena.problems import CASES, GROUPS
from benchmarks.arena.roster import ROSTER
from benchmarks.arena.summary import renewed, summarise

ROOT = Path(__file__).resolve().parents[2]
KEPT = "arena_runs.jsonl"
RESULTS = ROOT / "benchmarks" / "results" / "arena.jsonl"


@click.command()
@click.option("--group", "groups", multiple=True, type=click.Choice(list(GROUPS)), help="Only these groups.")
@click.option("--problem", "problems", multiple=True, type=click.Choice(list(CASES)), help="Only these problems.")
@click.option(
    "--contestant", "names", multiple=True, type=click.Choice(list(ROSTER)), help="Only these contestants."
)
@click.option("--default", is_flag=True, help="Only who decides by Zonal's default policy.")
@click.option("--budget", "budgets", multiple=True, type=int, help="Only these numbers of measurements.")
@click.option(
    "--runs", type=int, help="Runs of each contestant on each problem; by default what the problem says."
)
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes.")
@click.option("--seed", default=0, show_default=True, help="Of problems, noise and contestants.")
@click.option("--accept-stale", is_flag=True, help="Let results of older versions count.")
@click.option("--report-only", is_flag=True, help="Play nothing; make summary, page and picture of what there is.")
@click.option("--no-report", is_flag=True, help="Play only; leave summary, page and picture as they are.")
@click.option("--results", default=RESULTS, type=click.Path(path_type=Path), help="The file of finished runs.")
@click.option("--docs", default=ROOT / "docs", type=click.Path(path_type=Path), help="Where the page goes.")
def main(
    groups: tuple[str, ...],
    problems: tuple[str, ...],
    names: tuple[str, ...],
    default: bool,
    budgets: tuple[int, ...],
    runs: int | None,
    jobs: int,
    seed: int,
    accept_stale: bool,
    report_only: bool,
    no_report: bool,
    results: Path,
    docs: Path,
) -> None:
    """Play Zonal against its peers and make docs/arena.md. Ctrl-C keeps what is done; the same command goes on."""
    failures: list[str] = []
    if not report_only:
        cases = [
            case
            for case in CASES.values()
            if (not groups or case.group in groups) and (not problems or case.name in problems)
        ]
        present = [one for one in ROSTER.values() if one.versions() is not None]
        for one in ROSTER.values():
            if one not in present:
                click.echo(f"{one.name} sits out: {' or '.join(one.packages)} is not installed", err=True)
        who = [one for one in present if (not names or one.name in names) and (one.default or not default)]
        try:
            tasks = of_budgets(tasks_for(cases, who, runs, seed), budgets)
            failures = play_all(tasks, results, jobs, accept_stale, kept(docs / KEPT))
        except KeyboardInterrupt:
            click.echo("interrupted; what is finished is kept, and the same command goes on from there", err=True)
            sys.exit(130)
    if not no_report:
        make_report(results, docs, seed, accept_stale)
    if failures:
        click.echo(f"{len(failures)} runs failed; the same command tries them again", err=True)
        sys.exit(1)


def make_report(results: Path, docs: Path, seed: int, stale: bool) -> None:
    """Keep finished runs in the docs; renew the summary from all that are kept, page and picture from the summary.

    A group whose default was never kept stays in the summary as it is.
    """
    path = docs / "arena.json"
    lines = joined(kept(docs / KEPT), valid(read(results), stale).values())
    keep(docs / KEPT, lines)
    if lines:
        made = summarise({place(line): line for line in kept(docs / KEPT)}, seed)
        if path.exists():
            made = renewed(json.loads(path.read_text(encoding="utf-8")), made)
        path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    summary = json.loads(path.read_text(encoding="utf-8"))
    (docs / "arena.md").write_text(report.page(summary), encoding="utf-8")
    report.picture(summary, docs / "images" / "arena.png")


if __name__ == "__main__":
    main()
