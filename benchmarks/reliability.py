"""Does what Zonal says come true? Intervals, gaps, P(best) and outlook against the truth, by class and N.

``python -m benchmarks.reliability play FILE`` plays campaigns of the default, told nothing (or what a user would
know), and writes a line each; it goes on where it stopped. ``... table FILE`` prints shares by class and N, and
``... page FILE`` makes docs/reliability.md and its diagram. The page's campaigns are kept beside it, in
docs/results/reliability.csv; start a new file when decisions or statements have changed.
"""

from __future__ import annotations

import csv
import warnings
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import click
import numpy as np

import zonal as zn
from benchmarks import marked, reliability_problems
from benchmarks.reliability_problems import CLASSES, NUMBERS, PLATES, ROUGH, numbers, problem, standard_error

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reliability.md"
FEWEST = 30  # campaigns of a bin
SAME = 1.2  # N that differ by no more have the same colour
WITHIN = 1.6449  # standard deviations either side that hold 90 %
AHEAD = 5  # measurements of the outlook
Task = tuple[str, int, int, int]  # class, N, run, seed
COUNTED, SAID = ("N", "run", "seed"), ("error", "std", "gap", "regret", "probability", "best", "promised", "came")


def campaign(task: Task) -> dict[str, Any]:
    """Play one campaign; return what was said at its end, and what is true."""
    name, number, run, seed = task
    case, search = problem(name, run, seed)
    study = zn.Study(case.space, budget=number, rng=search, **case.settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zn.ModelWarning)
        _measure(study, case.measure, PLATES.get(name, 1))
        answer = study.recommend(on_grid=True)
        truth = case.average(answer.region)
        regret = max(case.best - truth, 0.0)
        said = {
            "class": name,
            "N": number,
            "run": run,
            "seed": seed,
            "error": (truth - answer.mean) / case.scale,
            "std": answer.std / case.scale,
            "gap": answer.gap / case.scale,
            "regret": regret / case.scale,
            "probability": answer.probability_best,
            "best": regret <= 1e-9 * abs(case.best),
        }
        said["promised"] = study.outlook(AHEAD).gain / case.scale
        study.extend(AHEAD)
        _measure(study, case.measure, 1)
        said["came"] = (case.average(study.recommend(on_grid=True).region) - truth) / case.scale
    return said


def _measure(study: Any, measure: Any, together: int) -> None:
    """Spend the budget, `together` measurements at a time."""
    while study.remaining:
        trials = study.ask(min(together, study.remaining)) if together > 1 else [study.ask()]
        for trial in trials:
            study.tell(trial, measure(trial.region))


def read(path: Path) -> list[dict[str, Any]]:
    """Return the campaigns of a file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [_parsed(row) for row in csv.DictReader(file)]


def in_order(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return campaigns in an order that does not depend on when they were played."""
    return sorted(lines, key=lambda line: (line["class"], line["N"], line["seed"], line["run"]))


def _parsed(row: dict[str, str]) -> dict[str, Any]:
    """Return a campaign from its row."""
    counted = {name: int(row[name]) for name in COUNTED}
    return {"class": row["class"], **counted, **{name: float(row[name]) for name in SAID}}


def row_of(line: dict[str, Any]) -> dict[str, str]:
    """Return the row of a campaign, with six digits."""
    counted = {name: str(line[name]) for name in ("class", *COUNTED)}
    return {**counted, **{name: f"{float(line[name]):.6g}" for name in SAID}}


@click.group()
def main() -> None:
    """Compare what Zonal says with what comes."""


@main.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--class", "classes", multiple=True, help="Part of the name of a class; all by default.")
@click.option("--runs", default=100, help="Of each class and N.")
@click.option("--seed", default=39, help="Other seeds make other problems.")
@click.option("--number", "wanted", type=int, multiple=True, help="Only these N.")
@click.option("--processes", default=2)
@click.option(
    "--census", type=click.Path(path_type=Path), default=reliability_problems.CENSUS, help="Not shipped."
)
def play(path: Path, classes: Any, runs: int, seed: int, wanted: Any, processes: int, census: Path) -> None:
    """Play the campaigns that the file lacks; the census only if its table is there."""
    reliability_problems.CENSUS = census
    known = {(line["class"], line["N"], line["run"], line["seed"]) for line in read(path)}
    names = [name for name in CLASSES if not classes or any(part in name for part in classes)]
    names = [name for name in names if name != "census" or census.exists()]
    tasks = [
        (name, number, run, seed)
        for run in range(runs)
        for name in names
        for number in numbers(name)
        if (not wanted or number in wanted) and (name, number, run, seed) not in known
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", newline="") as file, get_context("fork").Pool(processes) as pool:
        writer = csv.DictWriter(file, ("class", *COUNTED, *SAID), lineterminator="\n")
        if not file.tell():  # a run interrupted before its first campaign leaves the header alone
            writer.writeheader()
        for said in pool.imap_unordered(campaign, tasks):
            writer.writerow(row_of(said))
            file.flush()


@main.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.argument("other", required=False, type=click.Path(exists=True, path_type=Path))
def table(path: Path, other: Path | None) -> None:
    """Print what came true by class and N; with OTHER, widths and regrets relative to it, on the same problems."""
    click.echo(marked.table(*_table(read(path), read(other) if other else [])))


@main.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
def page(path: Path) -> None:
    """Make docs/reliability.md and its diagram."""
    lines = in_order(read(path))
    draw(lines, PAGE.parent / "images" / "reliability.png")
    for name, text in blocks(lines).items():
        marked.put(name, text, PAGE)


def blocks(lines: list[dict[str, Any]]) -> dict[str, str]:
    """Return what stands between the marks of the page."""
    seeds = ", ".join(map(str, sorted({line["seed"] for line in lines})))
    total = f"{len(lines)} campaigns, seed {seeds}. Of {len(lines)} intervals {intervals(lines).mean():.0%} held, "
    below = [f"{name} ({', '.join(what)})" for name, what in shortfalls(lines).items()]
    return {
        "all": f"{total}of the gaps {gaps(lines).mean():.0%}.",
        "by class": marked.table(*_table(lines, [])),
        "below": "\n".join(f"- {text}" for text in below) or "None.",
        "P(best)": marked.table(*_bins(lines)),
        "outlook": marked.table(*_outlooks(lines)),
    }


def column(lines: list[dict[str, Any]], name: str) -> Any:
    """Return one number of each campaign."""
    return np.array([line[name] for line in lines], dtype=float)


def intervals(lines: list[dict[str, Any]]) -> Any:
    """Return which intervals held the truth."""
    return np.abs(column(lines, "error")) <= WITHIN * column(lines, "std")


def gaps(lines: list[dict[str, Any]]) -> Any:
    """Return which gaps held."""
    return column(lines, "regret") <= column(lines, "gap") + 1e-9


HELD = {"intervals": intervals, "gaps": gaps}


def cells(lines: list[dict[str, Any]]) -> dict[str, dict[int, list[dict[str, Any]]]]:
    """Return campaigns by class and N, in the order of the classes."""
    by_class: dict[str, dict[int, list[dict[str, Any]]]] = {}
    for name in CLASSES:
        for number in numbers(name):
            chosen = [line for line in lines if line["class"] == name and line["N"] == number]
            if chosen:
                by_class.setdefault(name, {})[number] = chosen
    return by_class


def bound(name: str) -> float:
    """Return the share of 90 % statements that must come true."""
    return 0.8 if name in ROUGH else 0.85


def shortfalls(lines: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return, by class, what came true less often than its bound: pooled over N, or by two standard errors."""
    found: dict[str, list[str]] = {}
    for name, by_number in cells(lines).items():
        for what, held in HELD.items():
            pooled = held([line for chosen in by_number.values() for line in chosen])
            parts = [f"{pooled.mean():.0%} of {what}"] if pooled.mean() < bound(name) else []
            for number, chosen in by_number.items():
                share, error = held(chosen).mean(), standard_error(bound(name), len(chosen))
                if share < bound(name) - 2 * error:
                    parts.append(f"{share:.0%} of {what} at N = {number}")
            if parts:
                found.setdefault(name, []).extend(parts)
    return found


def _table(lines: list[dict[str, Any]], others: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows: a class a row."""
    heads = [
        "functions",
        "campaigns of each N",
        "N",
        "90 % intervals hold",
        "90 % gaps hold",
        "std",
        "gap",
        "regret",
    ]
    rows, before = [], cells(others)
    for name, by_number in cells(lines).items():
        shares = {
            what: ", ".join(f"{100 * held(chosen).mean():.0f}" for chosen in by_number.values())
            for what, held in HELD.items()
        }
        widths = []
        for quantity in ("std", "gap", "regret"):
            texts = []
            for number, chosen in by_number.items():
                mean = column(chosen, quantity).mean()
                earlier = before.get(name, {}).get(number)
                texts.append(
                    f"{mean / max(column(earlier, quantity).mean(), 1e-9):.2f}" if earlier else f"{mean:.3f}"
                )
            widths.append(", ".join(texts))
        runs = "/".join(dict.fromkeys(str(len(chosen)) for chosen in by_number.values()))
        rows.append([name, runs, ", ".join(map(str, by_number)), *shares.values(), *widths])
    return heads, rows


def _bins(lines: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return what P(best) said, in bins, and how often the region was the best."""
    rows = []
    for said, share, error, number in said_best(lines):
        rows.append([f"{said:.2f}", f"{share:.2f} ± {error:.2f}", str(number)])
    return ["P(best) said, mean of the bin", "was the best", "campaigns"], rows


def said_best(lines: list[dict[str, Any]]) -> list[tuple[float, float, float, int]]:
    """Return for each bin of P(best) its mean, the share that was the best, its standard error, and the number."""
    said, best = column(lines, "probability"), column(lines, "best")
    found = []
    for low in np.arange(0, 1, 0.1):
        inside = (said >= low) & ((said < low + 0.1) | (low > 0.85))
        if inside.sum() >= FEWEST:
            share = float(best[inside].mean())
            error = standard_error(share, int(inside.sum()))
            found.append((float(said[inside].mean()), share, error, int(inside.sum())))
    return found


def _outlooks(lines: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return what five more measurements were to bring, and what they brought, by class."""
    rows = []
    for name, by_number in cells(lines).items():
        chosen = [line for part in by_number.values() for line in part]
        came = column(chosen, "came")
        error = came.std() / np.sqrt(len(came))
        rows.append([name, f"{column(chosen, 'promised').mean():.3f}", f"{came.mean():.3f} ± {error:.3f}"])
    return ["functions", f"{AHEAD} more promise", f"{AHEAD} more brought"], rows


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    """Draw what came true by class and N, and P(best) against how often it was true."""
    import matplotlib.pyplot as plt

    by_class = cells(lines)
    names = list(by_class)
    figure, axes = plt.subplots(
        1, 3, figsize=(13, 0.32 * len(names) + 1.6), width_ratios=[1, 1, 0.9], layout="constrained"
    )
    colours = plt.get_cmap("viridis")(np.linspace(0.85, 0.05, 4))
    for ax, (what, held) in zip(axes[:2], HELD.items(), strict=True):
        for row, name in enumerate(names):
            ax.plot(
                [bound(name)] * 2,
                [row - 0.4, row + 0.4],
                color="#c03030",
                lw=2,
                label="bound" if row == 0 else None,
            )
            for number, chosen in by_class[name].items():
                rank = int(np.searchsorted(NUMBERS, number / SAME))  # 24, 48 and 96 as 20, 40 and 80
                label = str(NUMBERS[rank]) if row == 0 else None
                ax.plot(
                    held(chosen).mean(), row + 0.15 * (rank - 1.5), "o", ms=6, color=colours[rank], label=label
                )
        ax.axvline(0.9, color="#888888", lw=1)
        ax.set(title=f"90 % {what} that came true", xlim=(0, 1.03), ylim=(len(names) - 0.5, -0.5))
        ax.set_yticks(range(len(names)), names if ax is axes[0] else [""] * len(names))
        ax.grid(axis="x", alpha=0.3)
    axes[0].legend(loc="lower left", title="measurements", fontsize=8)
    bins = said_best(lines)
    axes[2].plot([0, 1], [0, 1], color="#888888", lw=1)
    if bins:
        said, share, error, _ = np.array(bins).T
        axes[2].errorbar(said, share, 2 * error, fmt="o-", color=colours[2], capsize=3)
    axes[2].set(
        title="P(best): said, and how often it was", xlabel="said", ylabel="was the best", xlim=(0, 1), ylim=(0, 1)
    )
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
