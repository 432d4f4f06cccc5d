"""What learning the law of the noise, or the width of a beam, costs and saves: campaigns paired by seed.

``python -m benchmarks.noise_laws play FILE`` plays campaigns of the default and writes a line each: on functions
whose noise is constant, falls as 1 / sqrt(size), or is measured through a beam; told nothing, or what is the case.
``... table FILE [OTHER]`` prints mean regrets, with OTHER (such as those of another version) beside them.
``... speed DIRECTORY`` measures the CPU time of default rounds, alternating with another checkout's.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

import zonal as zn
from benchmarks import marked
from benchmarks.reliability_problems import Problem, cells, draw, paper, relative
from zonal.simulation import from_table

WHOLE = 0.25  # noise at a sixteenth of the space over that at the whole space
FWHM = 0.1  # of the beam, a share of the axis


def _falling(make: Any, run: int, rng: np.random.Generator) -> Problem:
    """Return a problem whose noise falls as 1 / sqrt(size): at a sixteenth of the space it is .1 or .3."""
    case = make(run, rng)
    noise = case.scale * (0.1, 0.3)[run % 2]

    def measure(region: Any) -> float:
        size = region.weight / case.space.cell((0, 0)).weight
        return float(case.average(region) + noise * WHOLE / math.sqrt(size) * rng.standard_normal())

    return Problem(case.space, measure, case.average, case.best, case.scale)


def _beam(run: int, rng: np.random.Generator) -> Problem:
    """Return a draw on a line of 64 cells, read through a beam of a tenth of the line; noise .05 or .1."""
    fine = np.cumsum(rng.standard_normal(4096))
    x = (np.arange(4096) + 0.5) / 4096
    width = (0.05, 0.1, 0.2)[run % 3]
    waves = rng.standard_normal((2, 60)) / (1 + (np.arange(60) * width * 2) ** 2)
    fine = sum(a * np.cos(np.pi * k * x) + b * np.sin(np.pi * k * x) for k, (a, b) in enumerate(waves.T))
    fine = (fine - fine.mean()) / fine.std()
    landscape = from_table(cells(1, 64), fine.reshape(64, -1).mean(axis=1))
    std = FWHM / (2 * math.sqrt(2 * math.log(2)))

    def measure(region: Any) -> float:
        density = np.exp(-0.5 * ((x - float(region.center[0])) / std) ** 2)
        return float(density @ fine / density.sum() + (0.05, 0.1)[run % 2] * rng.standard_normal())

    return Problem(landscape.space, measure, landscape.average, landscape.best().average, 1.0)


DRAWS = {
    "Matern 5/2, 1-D": partial(draw, "Matern 5/2", 1, 256),
    "Matern 1/2, 1-D": partial(draw, "Matern 1/2", 1, 256),
    "RBF, 2-D": partial(draw, "RBF", 2, 16),
    **{name: partial(paper, name) for name in ("f1", "f2", "f3")},
}
CLASSES: dict[str, Any] = {
    **DRAWS,
    **{f"{name}, noise falls": partial(_falling, make) for name, make in DRAWS.items()},
    "relative noise": relative,
    "beam": _beam,
}
TOLD: dict[str, dict[str, Any]] = {"nothing": {}, "told": {"noise": zn.PerWeight()}}
BEAMS: dict[str, Any] = {"nothing": lambda: zn.Beam(), "told": lambda: zn.Beam(FWHM)}


def campaign(name: str, told: str, number: int, run: int, seed: int) -> dict[str, Any]:
    """Play one campaign; return its regret, and what was learned."""
    sequence = np.random.SeedSequence([seed, list(CLASSES).index(name), run])
    function, search = (np.random.default_rng(child) for child in sequence.spawn(2))
    case = CLASSES[name](run, function)
    settings = {"feedback": BEAMS[told]()} if name == "beam" else TOLD[told]
    study = zn.Study(case.space, budget=number, rng=search, **case.settings, **settings)
    start = time.process_time()
    while study.remaining:
        trial = study.ask()
        study.tell(trial, case.measure(trial.region))
    answer = study.recommend(on_grid=True)
    truth = case.average(answer.region)
    laws: dict[str, float] = {}
    for weighted in study.models:
        law = getattr(weighted.model, "law", "constant")
        laws[law] = laws.get(law, 0.0) + weighted.weight
    return {
        "class": name,
        "told": told,
        "N": number,
        "run": run,
        "seed": seed,
        "regret": max(case.best - truth, 0.0) / case.scale,
        "error": (truth - answer.mean) / case.scale,
        "std": answer.std / case.scale,
        "laws": laws,
        "beam": getattr(study.model, "beam", None),
        "seconds": time.process_time() - start,
    }


@click.group()
def main() -> None:
    """Compare campaigns told nothing with those told the truth."""


@main.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--class", "classes", multiple=True, help="Part of the name of a class; all by default.")
@click.option("--exact", is_flag=True, help="Only classes of exactly these names.")
@click.option("--told", "kinds", multiple=True, default=["nothing"], help="nothing, or told; repeatable.")
@click.option("--number", "numbers", type=int, multiple=True, default=[40, 80])
@click.option("--runs", default=20)
@click.option("--seed", default=1)
def play(path: Path, classes: Any, exact: bool, kinds: Any, numbers: Any, runs: int, seed: int) -> None:
    """Play the campaigns that the file lacks."""
    names = [name for name in CLASSES if not classes or any(part in name for part in classes)]
    names = [name for name in names if not exact or name in classes]
    played = {(line["class"], line["told"], line["N"], line["run"], line["seed"]) for line in _read(path)}
    with path.open("a", encoding="utf-8") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", zn.ModelWarning)
        for run in range(runs):
            for task in [
                (name, told, number, run, seed) for name in names for told in kinds for number in numbers
            ]:
                if task not in played:
                    file.write(json.dumps(campaign(*task)) + "\n")
                    file.flush()


def _read(path: Path | None) -> list[dict[str, Any]]:
    """Return the campaigns of a file."""
    exists = path is not None and path.exists()
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path and exists else []


@main.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.argument("other", required=False, type=click.Path(exists=True, path_type=Path))
def table(path: Path, other: Path | None) -> None:
    """Print mean regrets by class, what was told, and N; with OTHER, of the same campaigns there."""
    lines, before = _read(path), {_key(line): line for line in _read(other)}
    rows = []
    for of in sorted({(line["class"], line["told"], line["N"]) for line in lines}):
        chosen = [line for line in lines if (line["class"], line["told"], line["N"]) == of]
        if before:
            chosen = [line for line in chosen if _key(line) in before]
        if not chosen:
            continue
        regrets = np.array([line["regret"] for line in chosen])
        held = np.mean([abs(line["error"]) <= 1.645 * line["std"] for line in chosen])
        falls = np.mean([1 - line["laws"].get("constant", 0.0) for line in chosen])
        row = [*map(str, of), str(len(chosen)), f"{regrets.mean():.4f}", f"{100 * held:.0f}", f"{falls:.2f}"]
        if before:
            there = np.array([before[_key(line)]["regret"] for line in chosen])
            apart = regrets - there
            row += [f"{there.mean():.4f}", f"{apart.mean():+.4f} ± {apart.std() / math.sqrt(len(apart)):.4f}"]
        rows.append(row)
    heads = ["functions", "told", "N", "campaigns", "regret", "90 % intervals hold", "weight of other laws"]
    click.echo(marked.table([*heads, *(["there", "here - there"] if before else [])], rows))


def _key(line: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(line[name] for name in ("class", "told", "N", "run", "seed"))


ROUNDS = """
import sys, time, warnings
import numpy as np, zonal as zn
warnings.simplefilter("ignore")
axes, seed = int(sys.argv[1]), int(sys.argv[2])
parts = {1: 256, 2: 16, 4: 4}[axes]
space, rng = zn.Box([(0, 1)] * axes, smallest=[1 / parts] * axes), np.random.default_rng(seed)
study = zn.Study(space, budget=80, rng=seed)
start = time.process_time()
while study.remaining:
    trial = study.ask()
    x = np.linspace(*trial.region.bounds.T, 65)
    study.tell(trial, float((np.sin(7 * x).sum(axis=1) + x[:, 0]).mean()) + 0.2 * rng.standard_normal())
print(time.process_time() - start)
"""


@main.command()
@click.argument("other", type=click.Path(exists=True, path_type=Path))
@click.option("--runs", default=8)
def speed(other: Path, runs: int) -> None:
    """Print the CPU time of 80 default rounds over that of another checkout, alternating."""
    trees = [Path(zn.__file__).resolve().parents[1], other / "src"]
    rows = []
    for axes in (1, 2, 4):
        seconds: list[list[float]] = [[], []]
        for run in range(runs):
            for tree, spent in zip(trees, seconds, strict=True):
                command = [sys.executable, "-c", ROUNDS, str(axes), str(run)]
                done = subprocess.run(
                    command, env=os.environ | {"PYTHONPATH": str(tree)}, capture_output=True, text=True, check=True
                )
                spent.append(float(done.stdout))
        here, there = (float(np.median(spent)) for spent in seconds)
        rows.append([f"{axes}-D", str(runs), f"{here:.2f}", f"{there:.2f}", f"{here / there:.2f}"])
    click.echo(marked.table(["space", "runs", "here, s", "there, s", "ratio of medians"], rows))


if __name__ == "__main__":
    main()
