"""Regenerate the tables and pictures of docs/reproduction.md. The prose is left alone.

    python docs/make_reproduction.py

runs the experiments with both presets, compares the authors' preset with numbers measured with the authors' code,
copies pictures to docs/images and fills everything between `<!-- begin NAME -->` and `<!-- end NAME -->`. Finished
runs are kept in the folder of `--out` and not computed again, so delete that folder when the library has changed.
`--part heatmap`, and so on, renews that part of the page and leaves the others.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from PIL import Image

import zonal as zn
from reproduction import authors, benefit, heatmap
from reproduction.__main__ import paper
from reproduction.regret import ALGORITHMS, regrets
from reproduction.searches import NOISE, SHOWN, label, regret_run, reward_function, study
from reproduction.sweeps import Answer, Plan, Preset, column, sweep
from zonal.simulation import grid_optimum, true_optimum

Floats = NDArray[np.float64]
Case = tuple[str, str, int]  # function, algorithm, S
Curves = dict[Case, Floats]  # aggregated regret, one row per run, one column per budget, from 1 on

ROOT = Path(__file__).resolve().parents[1]
ANCHORS = ROOT.parent / "shared" / "anchors" / "authors.json"
PRESETS: tuple[Preset, ...] = ("authors", "paper")
FUNCTIONS = ("f1", "f2", "f3")
BOUND = ("GPOO", "GPTree")  # must agree with the authors' code at the next line's budgets
AT = (20, 40, 80)
CLOSE = ("GPOO", "GPOO, before", "GPOO, highest", "GP-UCB")  # run often by the text; the others less
SEEDS = 3  # times that is asked, with new noise
REPEATS = 30  # of the authors' code
ROUNDED = 5e-5  # its regrets have four decimals,
ROUNDED_MORE = 5e-4  # those over S and K three
TIMED = 3  # runs of 80 rounds, as for the authors' seconds
ROUNDS = 80
# How GPOO on the third function is run: preset, what is returned, whether 0.005 is a variance in the text's too.
READINGS: dict[str, dict[str, Any]] = {
    "authors": {"preset": "authors"},
    "paper": {"preset": "paper"},
    "paper, the highest non-leaf": {"preset": "paper", "policy": "GPOO, highest"},
    "paper, 0.005 a variance": {"preset": "paper", "variance": True},
}
BY_PRESET = ("regret", "benefit", "heatmap")  # the other experiments are the same for both presets, and run once
ONCE = ("figure1", "figure2", "figure3", "delta", "theory")
# Pictures of the page: preset and experiment.
PICTURES: dict[str, tuple[Preset, str]] = {
    **{name: ("authors", name) for name in ONCE},
    **{f"{name}-{preset}": (preset, name) for name in BY_PRESET for preset in PRESETS},
}
WIDEST = 1400  # pixels of a picture
COLOURS = 256
MARKER = re.compile(r"(<!-- begin (\S+) -->)(.*?)(<!-- end \2 -->)", re.DOTALL)


@dataclass(frozen=True)
class Job:
    """What to make, and where.

    Attributes
    ----------
    out : Path
        The folder of results and finished runs.
    page, images : Path
        The page to fill and the folder of its pictures.
    anchors : Path
        The numbers of the authors' code.
    runs, many : int
        Runs of the paper's experiments, and of the comparison with the authors' code.
    budget, rng, jobs : int
        As for `python -m reproduction`.
    """

    out: Path
    page: Path
    images: Path
    anchors: Path
    runs: int = 30
    many: int = 300
    budget: int = 80
    rng: int = 0
    jobs: int = 2

    @property
    def shown(self) -> list[int]:
        """Budgets of the tables."""
        return [n for n in SHOWN if n <= self.budget]

    def result(self, preset: Preset, experiment: str) -> dict[str, Any]:
        """Return what an experiment wrote."""
        return dict(json.loads((self.out / preset / f"{experiment}.json").read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Anchors:
    """What was measured with the authors' code.

    Attributes
    ----------
    regret : dict
        Mean over `REPEATS` runs and its standard error, by case and budget.
    seconds : dict
        Of one run of 80 rounds, by case.
    growth : dict
        Seconds of GPOO on f1 with S = 10, by budget.
    optimum : dict
        x* and f*, by function.
    heatmap : dict
        By budget: the repeats, and mean regrets over S and K.
    """

    regret: dict[Case, dict[int, tuple[float, float]]]
    seconds: dict[Case, float]
    growth: dict[int, float]
    optimum: dict[str, tuple[float, float]]
    heatmap: dict[int, tuple[int, Floats]]


def read_anchors(path: Path) -> Anchors:
    """Return the numbers of the authors' code."""
    if not path.exists():
        raise click.ClickException(f"there is no {path}; pass the authors' numbers with --anchors FILE.")
    content = json.loads(path.read_text(encoding="utf-8"))
    tables = {re.findall(r"\d+", name)[0]: (name, np.array(rows)) for name, rows in content["heatmap_f3"].items()}
    return Anchors(
        {
            _case(name): {int(n): (mean, std / math.sqrt(REPEATS - 1)) for n, (mean, std) in row.items()}
            for name, row in content["regret"].items()
        },
        {_case(name): seconds for name, seconds in content["seconds_per_run"].items()},
        {int(n): seconds for n, seconds in content["growth_seconds_GPOO_f1_S10"].items()},
        {name: (x, f) for name, (x, f) in content["optimum"].items()},
        {int(n): (int(re.findall(r"\d+", name)[1]), rows) for n, (name, rows) in tables.items()},
    )


def _case(name: str) -> Case:
    function, algorithm, s = name.split("|")
    return function, algorithm, int(s.removeprefix("S="))


# --- Numbers ----------------------------------------------------------------------------------------------------


def error(values: Floats) -> float:
    """Return the standard error of a mean; not a number for a single value."""
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def z_score(ours: Floats, mean: float, spread: float, rounded: float = ROUNDED) -> float:
    """Return our mean less theirs in standard errors, where `spread` is theirs and rounding counts as one."""
    return (float(ours.mean()) - mean) / math.hypot(error(ours), spread, rounded)


def lower(a: Floats, b: Floats) -> bool:
    """Return whether a's mean is below b's by more than two standard errors of the paired difference.

    Of the runs that both have.
    """
    both = min(len(a), len(b))
    apart = b[:both] - a[:both]
    return float(apart.mean()) > max(2 * error(apart), ROUNDED)


# --- Markdown ---------------------------------------------------------------------------------------------------


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def plain(text: str) -> str:
    """Return text that Markdown shows as it is."""
    return text.replace("|", r"\|").replace("*", r"\*")


def shown(values: Floats, strong: bool = False, digits: int = 4) -> str:
    """Return mean and standard error."""
    mean = f"{values.mean():.{digits}f}"
    return f"{f'**{mean}**' if strong else mean} ± {error(values):.{digits}f}"


def fill(page: str, blocks: dict[str, str]) -> str:
    """Return the page with its marked places filled; those on a line of their own get lines of their own."""
    names = [match[2] for match in MARKER.finditer(page)]
    if wrong := set(names) ^ set(blocks):
        raise click.ClickException(
            f"page and generator disagree about {', '.join(sorted(wrong))}; "
            "add or remove the markers <!-- begin NAME --> and <!-- end NAME -->."
        )

    def one(match: re.Match[str]) -> str:
        around = "\n\n" if match[3].startswith("\n") else ""
        return f"{match[1]}{around}{blocks[match[2]]}{around}{match[4]}"

    return MARKER.sub(one, page)


# --- Runs -------------------------------------------------------------------------------------------------------


def run_paper(job: Job, preset: Preset) -> None:
    """Run every experiment that is still to be run, and note how long it took at first."""
    path = job.out / preset / "seconds.json"
    seconds = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in BY_PRESET if preset != PRESETS[0] else [name for name in paper.commands if name != "all"]:
        started = perf_counter()
        paper([name, *_options(job, preset, job.out / preset)], standalone_mode=False)
        seconds.setdefault(name, perf_counter() - started)
        path.write_text(json.dumps(seconds), encoding="utf-8")


def made_once(job: Job, experiment: str) -> dict[str, Any]:
    """Return what an experiment that is the same for both presets wrote, run now if it was not."""
    if not (job.out / PRESETS[0] / f"{experiment}.json").exists():
        paper([experiment, *_options(job, PRESETS[0], job.out / PRESETS[0])], standalone_mode=False)
    return job.result(PRESETS[0], experiment)


def _options(job: Job, preset: Preset, out: Path) -> list[str]:
    values = {
        "runs": job.runs,
        "budget": job.budget,
        "preset": preset,
        "rng": job.rng,
        "jobs": job.jobs,
        "out": out,
    }
    return [part for name, value in values.items() for part in (f"--{name}", str(value))]


def often(job: Job, rng: int, preset: Preset = "authors") -> Plan:
    """Return the settings of the comparison with the authors' code."""
    return Plan(job.out / "comparison", job.many, job.budget, preset, rng, job.jobs)


def compare(job: Job, rng: int, algorithms: Iterable[str]) -> Curves:
    """Run the authors' preset often, on all three functions."""
    cases = {
        (f, name, s): {"function": f, "policy": name, "s": s}
        for f in FUNCTIONS
        for name, s in ALGORITHMS
        if name in algorithms
    }
    title = f"comparison, seed {rng}"
    done = sweep(often(job, rng), title, regret_run, cases, preset="authors", budget=job.budget)
    return {case: column(runs, "regret") for case, runs in done.items()}


def benefit_runs(job: Job, reading: str) -> dict[int, list[Answer]]:
    """Run GPOO on the third function often, by S."""
    return benefit.compare(often(job, job.rng), f"benefit, {reading}", **READINGS[reading])


def heatmap_runs(job: Job, preset: Preset, budgets: list[int]) -> Floats:
    """Run every S and K often; return regrets of shape (S, K, runs, budgets)."""
    return heatmap.regrets(often(job, job.rng, preset), budgets, f"heatmap, {preset}")


def paper_curves(job: Job) -> Curves:
    """Run every algorithm by the text on the first two functions: GPOO and its closest rival often."""
    plan = Plan(job.out / "comparison", job.runs, job.budget, "paper", job.rng, job.jobs)
    return {case: found for case, found in regrets(plan, dict.fromkeys(CLOSE, job.many)).items()}


# --- The paper's Figure 4: regret against budget ----------------------------------------------------------------


def comparison_table(job: Job, anchors: Anchors, curves: Curves, function: str) -> str:
    """Return the authors' numbers above ours and the z-score; strong where a rival is below GPOO."""
    rows = []
    for name, s in ALGORITHMS:
        curve, gpoo = curves[function, name, s], curves[function, "GPOO", s]
        row = [label(name, s), str(s)]
        for n in job.shown:
            ours, theirs = curve[:, n - 1], anchors.regret[function, name, s][n]
            first = f"{theirs[0]:.4f} ± {theirs[1]:.4f}"
            second = shown(ours, lower(ours, gpoo[:, n - 1]))
            row.append(f"{first}<br>{second}<br>z = {z_score(ours, *theirs):+.1f}")
        rows.append(row)
    return table(["algorithm", "S", *(f"N = {n}" for n in job.shown)], rows)


def agreement(job: Job, anchors: Anchors, curves: Curves) -> str:
    """Return how the z-scores spread, for several seeds."""
    header = ["algorithms", "seed", "comparisons", "\\|z\\| ≤ 1", "≤ 2", "≤ 3", "largest \\|z\\|", "where"]
    rows = [_spread(job, anchors, compare(job, job.rng + k, BOUND), BOUND, job.rng + k) for k in range(SEEDS)]
    rows.append(_spread(job, anchors, curves, ("StoOO",), job.rng))
    return table(header, rows)


def _spread(job: Job, anchors: Anchors, curves: Curves, names: Sequence[str], rng: int) -> list[str]:
    scores = {
        f"{f}, {label(name, s)}, S = {s}, N = {n}": abs(z_score(curve[:, n - 1], *anchors.regret[f, name, s][n]))
        for (f, name, s), curve in curves.items()
        for n in AT
        if name in names and n <= job.budget
    }
    largest = max(scores, key=lambda where: scores[where])
    counts = [str(sum(z <= limit for z in scores.values())) for limit in (1, 2, 3)]
    return [" and ".join(names), str(rng), str(len(scores)), *counts, f"{scores[largest]:.2f}", largest]


def regret_table(job: Job, curves: Curves, function: str) -> str:
    """Return all algorithms under the paper's settings; strong where one is below GPOO with the same S."""
    rows = [
        [label(name, s), str(s), str(len(c))]
        + [shown(c[:, n - 1], lower(c[:, n - 1], curves[f, "GPOO", s][:, n - 1])) for n in job.shown]
        for (f, name, s), c in curves.items()
        if f == function
    ]
    return table(["algorithm", "S", "runs", *(f"N = {n}" for n in job.shown)], rows)


def beaten(job: Job, curves: Curves) -> str:
    """Return who is below GPOO, and how far, as a table."""
    rows = []
    for function, s in [(f, s) for f in ("f1", "f2") for s in (1, 10)]:
        row = [function, str(s)]
        for n in job.shown:
            gpoo = curves[function, "GPOO", s][:, n - 1]
            rivals = {
                label(name, s): c[:, n - 1]
                for (f, name, k), c in curves.items()
                if (f, k) == (function, s) and not name.startswith("GPOO,")  # readings of GPOO are no rivals
            }
            below = [f"{name} {c.mean():.4f}" for name, c in rivals.items() if lower(c, gpoo)]
            row.append("<br>".join([f"GPOO {gpoo.mean():.4f}", *below]))
        rows.append(row)
    return table(["function", "S", *(f"N = {n}" for n in job.shown)], rows)


def gains(job: Job, curves: Curves) -> str:
    """Return by how much GPOO's regret changes from each budget to the next, strong where it clearly rises."""
    steps, rows = list(pairwise(job.shown)), []
    for function, s in [(f, s) for f in ("f1", "f2") for s in (1, 10)]:
        curve = curves[function, "GPOO", s]
        row = [function, str(s), str(len(curve))]
        for few, many in steps:
            before, after = curve[:, few - 1], curve[:, many - 1]
            change = f"{(after - before).mean():+.4f}"
            row.append(f"{f'**{change}**' if lower(before, after) else change} ± {error(after - before):.4f}")
        rows.append(row)
    return table(["function", "S", "runs", *(f"N = {few} to {many}" for few, many in steps)], rows)


def stuck(job: Job, theirs: Curves, papers: Curves) -> str:
    """Return how many runs of GPTree end where they stood at a quarter and at half of the budget."""
    listed = [("authors", case, c) for case, c in theirs.items()] + [
        ("paper", case, c) for case, c in papers.items()
    ]
    rows = []
    for preset, (function, name, s), curve in listed:
        if name == "GPTree":
            still = [np.ptp(curve[:, job.budget // k - 1 :], axis=1) == 0 for k in (4, 2)]
            parts = [f"{100 * float(part.mean()):.0f} %" for part in still]
            rows.append([preset, function, str(s), str(len(curve)), *parts, shown(curve[:, -1])])
    since = [f"unchanged since N = {job.budget // k}" for k in (4, 2)]
    return table(["preset", "function", "S", "runs", *since, f"regret at N = {job.budget}"], rows)


def optima(anchors: Anchors) -> str:
    """Return where the maxima are: on the grid, refined, and in the authors' code."""
    rows = []
    for preset in PRESETS:
        for name in FUNCTIONS:
            f = zn.reward_function(name, preset)  # type: ignore[arg-type]
            (x, high), (_, true) = grid_optimum(f), true_optimum(f)
            x_theirs, theirs = anchors.optimum[name]
            code = f"{theirs:.4f} at {x_theirs:.4f}" if preset == "authors" else "-"
            rows.append([preset, name, f"{high:.4f} at {x:.4f}", code, f"{true:.4f}", f"{true - high:.5f}"])
    f = reward_function("f3", "paper", variance=True)
    (x, high), (_, true) = grid_optimum(f), true_optimum(f)
    rows.append(
        ["paper, 0.005 a variance", "f3", f"{high:.4f} at {x:.4f}", "-", f"{true:.4f}", f"{true - high:.5f}"]
    )
    header = ["preset", "function", "grid optimum", "the authors' code", "true optimum", "missed by the grid"]
    return table(header, rows)


# --- The paper's Figures 5 and 6: averages, S and K -------------------------------------------------------------


def benefit_table(job: Job) -> str:
    """Return S = 1 against S = 10 on the third function, each by its own measure and both by the same ones."""
    rows = []
    for reading, how in READINGS.items():
        runs = benefit_runs(job, reading)
        f = reward_function("f3", how["preset"], how.get("variance", False))
        one, ten = (authors.Task(f, s) for s in benefit.FEEDBACKS)
        judges = {"its own S": (one, ten), "the centre": (one, one), "10 points": (ten, ten)}
        for name, judge in judges.items():
            a, b = (
                np.array([[task.regret(tuple(run["recommended"][n - 1])) for n in job.shown] for run in runs[s]])
                for s, task in zip(benefit.FEEDBACKS, judge, strict=True)
            )
            rows.append([reading, name, *(_pair(a[:, j], b[:, j]) for j in range(len(job.shown)))])
    return table(["preset", "judged by", *(f"N = {n}" for n in job.shown)], rows)


def _pair(a: Floats, b: Floats) -> str:
    """Return two means and their difference, strong where it is clear."""
    difference = f"{(b - a).mean():+.3f}"
    difference = f"**{difference}**" if lower(a, b) or lower(b, a) else difference
    return f"{a.mean():.3f}, {b.mean():.3f}<br>{difference} ± {error(b - a):.3f}"


def heatmap_blocks(job: Job, anchors: Anchors) -> dict[str, str]:
    """Return our S and K beside the authors', and the means over either."""
    regret = {preset: heatmap_runs(job, preset, list(heatmap.BUDGETS)) for preset in PRESETS}
    blocks, rows = {}, []
    for j, n in enumerate(heatmap.BUDGETS):
        repeats, means = anchors.heatmap[n]
        blocks[f"heatmap-{n}"] = _heatmap(regret["authors"][..., j], repeats, means)
        used = means[: len(heatmap.POINTS), : len(heatmap.PARTS)]
        theirs = [f"{x:.3f}" for axis in (0, 1) for x in used.mean(axis=axis)]
        rows.append([str(n), f"the authors' code, {repeats} runs", *theirs])
        rows += [[str(n), f"ours, `{preset}`", *_margins(regret[preset][..., j])] for preset in PRESETS]
    header = ["N", "source", *(f"K = {k}" for k in heatmap.PARTS), *(f"S = {s}" for s in heatmap.POINTS)]
    return {**blocks, "heatmap-margins": table(header, rows)}


def paper_heatmap_blocks(job: Job, anchors: Anchors) -> dict[str, str]:
    """Return S and K with the paper's settings, cell by cell."""
    regret = heatmap_runs(job, "paper", list(heatmap.BUDGETS))
    return {f"heatmap-paper-{n}": _lowest(regret[..., j]) for j, n in enumerate(heatmap.BUDGETS)}


def _heatmap(ours: Floats, repeats: int, theirs: Floats) -> str:
    """Return one budget; the authors' spread was not kept, so ours stands in for it in z."""
    rows = []
    for i, s in enumerate(heatmap.POINTS):
        row = [str(s)]
        for j in range(len(heatmap.PARTS)):
            spread = float(ours[i, j].std(ddof=1)) / math.sqrt(repeats)
            z = z_score(ours[i, j], theirs[i, j], spread, ROUNDED_MORE)
            row.append(f"{theirs[i, j]:.3f}<br>{shown(ours[i, j], digits=3)}<br>z = {z:+.1f}")
        rows.append(row)
    return table(["S", *(f"K = {k}" for k in heatmap.PARTS)], rows)


def _lowest(regret: Floats) -> str:
    """Return one budget; bold is the lowest of a row, and what is not clearly above it."""
    rows = []
    for s, row in zip(heatmap.POINTS, regret, strict=True):
        lowest = row[int(np.argmin(row.mean(axis=1)))]
        rows.append([str(s), *(shown(own, not lower(lowest, own), 3) for own in row)])
    return table(["S", *(f"K = {k}" for k in heatmap.PARTS)], rows)


def _margins(regret: Floats) -> list[str]:
    """Return means over S, then over K, the lowest of each strong; runs share their noise, so they come first."""
    cells = []
    for axis in (0, 1):
        means = regret.mean(axis=axis)
        lowest = int(np.argmin(means.mean(axis=1)))
        cells += [shown(row, j == lowest, 3) for j, row in enumerate(means)]
    return cells


# --- The constant c, and the theory -----------------------------------------------------------------------------


def delta_blocks(job: Job) -> dict[str, str]:
    """Return the table of c and its notes."""
    content = made_once(job, "delta")
    rows = [[f"{x:.4f}" if isinstance(x, float) else str(x) for x in row] for row in content["rows"]]
    notes = "\n".join(f"- {plain(note)}" for note in content["notes"])
    return {"delta": table(content["columns"], rows), "delta-notes": notes}


def theory_blocks(job: Job) -> dict[str, str]:
    """Return how often each statement held, a column a case: what is proved, and what is not; and the remarks."""
    content = made_once(job, "theory")
    rows = [dict(zip(content["columns"], row, strict=True)) for row in content["rows"]]
    proved = [row for row in rows if row["test"] == "before"]
    remarks = [
        [plain(_named(row)), plain(row["statement"]), plain(row["remark"])] for row in rows if row["remark"]
    ]
    return {
        "theory": _statements(proved),
        "theory-after": _statements([row for row in rows if row["test"] == "after"]),
        "theory-remarks": table(["case", "statement", "remark"], remarks),
        "theory-notes": "\n".join(f"- {plain(note)}" for note in content["notes"]),
    }


def _statements(rows: list[dict[str, Any]]) -> str:
    """Return a table with a statement a row and a case a column."""
    cases = list(dict.fromkeys(_named(row) for row in rows))
    cells = {(row["statement"], _named(row)): _held(row) for row in rows}
    statements = list(dict.fromkeys(row["statement"] for row in rows))
    lines = [[plain(one), *(cells.get((one, case), "") for case in cases)] for one in statements]
    return table(["statement", *map(plain, cases)], lines)


def _named(row: dict[str, Any]) -> str:
    return f"{row['on']}: {row['algorithm']}, S = {row['S']}, {row['delta']}, {row['test']}"


def _held(row: dict[str, Any]) -> str:
    """Return held, promised and how loose the bound is; nothing was counted where xi never held."""
    if row["held"] == "":
        return f"none of {row['promised']:.2f}"
    strong = "**" if row["held"] < row["promised"] else ""
    ratio = row["bound/truth"]
    loose = "∞" if ratio == math.inf else f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.3g}"
    return f"{strong}{row['held']:.2f}{strong} of {row['promised']:.2f}; ×{loose}"


# --- Times ------------------------------------------------------------------------------------------------------


def seconds(call: Callable[[int], object]) -> float:
    """Return the mean CPU time of a call over `TIMED` seeds, after one to warm up."""
    call(0)
    started = process_time()
    for i in range(TIMED):
        call(1 + i)
    return (process_time() - started) / TIMED


def authors_search(function: str, name: str, s: int, budget: int) -> Callable[[int], object]:
    """Return a search of the authors' preset, by seed."""
    search = {"GPOO": authors.gpoo, "StoOO": authors.stooo, "GPTree": authors.gptree}[name]
    f = zn.reward_function(function, "authors")  # type: ignore[arg-type]
    return lambda seed: search(authors.Task(f, s), budget, np.random.default_rng(seed))


def library_search(function: str, s: int, budget: int) -> Callable[[int], object]:
    """Return the library's own GPOO, by seed."""
    f = zn.reward_function(function, "authors")  # type: ignore[arg-type]

    def timed(seed: int) -> object:
        searched = study(authors.KERNEL, zn.GPOO(zn.GeometricDelta(14, 0.5)), s, budget)
        searched.optimize(zn.simulate(f, zn.Average(s), NOISE, rng=seed))
        return searched.recommend(on_grid=True)

    return timed


def run_times(anchors: Anchors) -> str:
    """Return CPU seconds of one run of the authors' procedure, and of the library's own GPOO, beside theirs."""
    rows, sums = [], [0.0, 0.0]
    for (f, name, s), theirs in anchors.seconds.items():
        preset = seconds(authors_search(f, name, s, ROUNDS))
        library = seconds(library_search(f, s, ROUNDS)) if name == "GPOO" else None
        shown = ["", ""] if library is None else [f"{library:.4f}", f"{library / preset:.1f}"]
        rows.append([f, label(name, s), str(s), f"{theirs:.2f}", f"{preset:.4f}", *shown])
        sums = [sums[0] + theirs, sums[1] + preset]
    rows.append(["together", "", "", f"{sums[0]:.1f}", f"{sums[1]:.4f}", "", ""])
    heads = ["the authors' code, s by the clock", "`authors` preset, CPU s", "`Study`, CPU s", "`Study` / preset"]
    return table(["function", "algorithm", "S", *heads], rows)


def growth(job: Job, anchors: Anchors) -> str:
    """Return seconds of GPOO on f1 with S = 10 against the budget."""
    rows = []
    for n, theirs in anchors.growth.items():
        if n <= 4 * job.budget:
            preset, library = seconds(authors_search("f1", "GPOO", 10, n)), seconds(library_search("f1", 10, n))
            ratios = [f"{theirs / ours:.0f}" for ours in (preset, library)]
            rows.append([str(n), f"{theirs:.3g}", f"{preset:.3f}", ratios[0], f"{library:.3f}", ratios[1]])
    heads = ["the authors' code, s", "`authors` preset, CPU s", "ratio", "`Study`, CPU s", "ratio"]
    return table(["N", *heads], rows)


def total_times(job: Job) -> str:
    """Return the seconds that every experiment took when it was run first, by preset."""
    once, again = (json.loads((job.out / p / "seconds.json").read_text(encoding="utf-8")) for p in PRESETS)
    times = {name: (seconds, again.get(name, seconds)) for name, seconds in once.items()}
    rows = [[f"`python -m reproduction {name}`", *(f"{x:.1f}" for x in listed)] for name, listed in times.items()]
    rows.append(["together", *(f"{sum(listed):.1f}" for listed in zip(*times.values(), strict=True))])
    return table(["command", *(f"preset `{p}`, s" for p in PRESETS)], rows)


def made(job: Job) -> str:
    """Return what the page was made with."""
    return "\n".join(
        [
            f"- Zonal {zn.__version__}, numpy {np.__version__}, Python {platform.python_version()}, "
            f"{platform.machine()} with {os.cpu_count()} cores; {job.jobs} processes.",
            f"- Experiments: `--runs {job.runs} --budget {job.budget} --seed {job.rng}`.",
            f"- Comparisons with the authors' code, the benefit of averages, and S and K: {job.many} runs.",
        ]
    )


# --- The page ---------------------------------------------------------------------------------------------------


def comparison_blocks(job: Job, anchors: Anchors) -> dict[str, str]:
    """Return our preset `authors` beside the authors' code."""
    curves = compare(job, job.rng, [name for name, _ in ALGORITHMS])
    tables = {f"comparison-{f}": comparison_table(job, anchors, curves, f) for f in FUNCTIONS}
    return {"agreement": agreement(job, anchors, curves), **tables}


def regret_blocks(job: Job, anchors: Anchors) -> dict[str, str]:
    """Return all algorithms by the text, and where GPTree stands still, by either preset."""
    curves, papers = compare(job, job.rng, ["GPTree"]), paper_curves(job)
    tables = {f"regret-{f}": regret_table(job, papers, f) for f in ("f1", "f2")}
    return {
        **tables,
        "beaten": beaten(job, papers),
        "rises": gains(job, papers),
        "stuck": stuck(job, curves, papers),
    }


def times_blocks(job: Job, anchors: Anchors) -> dict[str, str]:
    """Return what whole commands took, and what the page was made with."""
    return {"made": made(job), "total-times": total_times(job)}


def speed_blocks(job: Job, anchors: Anchors) -> dict[str, str]:
    """Return CPU times of single runs."""
    return {"run-times": run_times(anchors), "growth": growth(job, anchors)}


PARTS: dict[str, Callable[[Job, Anchors], dict[str, str]]] = {
    "optima": lambda job, anchors: {"optima": optima(anchors)},
    "comparison": comparison_blocks,
    "regret": regret_blocks,
    "benefit": lambda job, anchors: {"benefit": benefit_table(job)},
    "heatmap": heatmap_blocks,
    "heatmap-paper": paper_heatmap_blocks,
    "delta": lambda job, anchors: delta_blocks(job),
    "theory": lambda job, anchors: theory_blocks(job),
    "times": times_blocks,
    "speed": speed_blocks,
}


def make_blocks(job: Job, parts: Sequence[str] = ()) -> dict[str, str]:
    """Run what is missing, and return every generated part of the page by name; of some parts, what is theirs."""
    anchors = read_anchors(job.anchors)
    for preset in () if parts else PRESETS:
        run_paper(job, preset)
    return {name: text for part in parts or PARTS for name, text in PARTS[part](job, anchors).items()}


def copy_pictures(job: Job, names: Iterable[str] = PICTURES) -> None:
    """Copy the page's pictures, made small."""
    job.images.mkdir(parents=True, exist_ok=True)
    for name in names:
        preset, experiment = PICTURES[name]
        with Image.open(job.out / preset / f"{experiment}.png") as source:
            picture = source.convert("RGB")
        if picture.width > WIDEST:
            size = WIDEST, round(picture.height * WIDEST / picture.width)
            picture = picture.resize(size, Image.Resampling.LANCZOS)
        small = picture.quantize(COLOURS, dither=Image.Dither.NONE)
        small.save(job.images / f"reproduction-{name}.png", optimize=True)


def make(job: Job, parts: Sequence[str] = ()) -> None:
    """Fill the page, or some parts of it; pictures of both presets are renewed with the whole page."""
    page = job.page.read_text(encoding="utf-8")
    if parts:
        kept = {match[2]: match[3].strip() for match in MARKER.finditer(page)}
        job.page.write_text(fill(page, kept | make_blocks(job, parts)), encoding="utf-8")
        if renewed := [part for part in parts if part in ONCE]:
            copy_pictures(job, renewed)
        return
    filled = fill(page, make_blocks(job))
    copy_pictures(job)
    job.page.write_text(filled, encoding="utf-8")


_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.option("--out", default=ROOT / "build" / "reproduction", type=_FOLDER, help="Results and finished runs.")
@click.option("--page", default=ROOT / "docs" / "reproduction.md", type=_FILE, help="The page to fill.")
@click.option("--images", default=ROOT / "docs" / "images", type=_FOLDER, help="Where its pictures go.")
@click.option("--anchors", default=ANCHORS, type=_FILE, help="Numbers measured with the authors' code.")
@click.option("--runs", default=30, type=click.IntRange(min=1), help="Runs of the paper's experiments.")
@click.option("--many", default=300, type=click.IntRange(min=2), help="Runs of the comparisons.")
@click.option("--budget", default=80, type=click.IntRange(min=20), help="Measurements a run.")
@click.option("--seed", "rng", default=0, type=click.IntRange(min=0), help="Seed of everything.")
@click.option("--jobs", default=os.cpu_count() or 1, type=click.IntRange(min=1), help="Processes.")
@click.option("--part", "parts", multiple=True, type=click.Choice(list(PARTS)), help="Renew this alone.")
def command(parts: tuple[str, ...], **options: Any) -> None:
    """Regenerate the tables and pictures of docs/reproduction.md."""
    try:
        make(Job(**options), parts)
    except KeyboardInterrupt:
        raise click.ClickException("interrupted; the same command goes on from there.") from None


if __name__ == "__main__":
    command()
