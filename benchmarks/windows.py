"""What windows gain over the cells of the tree, whether their intervals cover, and what a beam's target states.

``python -m benchmarks.windows sky`` plays campaigns on the hydrogen sky; ``draws`` plays draws, the paper's
functions and BBOB with everything learned; ``beams`` plays campaigns with a beam that is told. Regrets are against
the best window of the smallest size at any position of a fine table.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

import zonal as zn
from zonal.simulation import datasets, from_table

Floats = NDArray[np.float64]
WITHIN = 1.6449  # standard deviations either side that hold 90 %
PIXELS = {1: 1024, 2: 128}  # along each axis
CELLS = {1: 32, 2: 16}
LENGTHSCALES = {1: (0.05, 0.08, 0.15), 2: (0.1, 0.15, 0.25)}
KERNELS: dict[str, Any] = {
    "RBF": lambda scale: zn.RBF(1.0, scale),
    "Matern 5/2": lambda scale: zn.Matern(1.0, scale, 2.5),
    "Matern 1/2": lambda scale: zn.Matern(1.0, 2 * scale, 0.5),
}
BBOB = ("sphere", "step-ellipsoid", "Schaffers", "Gallagher 101", "Rastrigin")
HALF = 4.5  # of BBOB's [-5, 5]


def drawn(kernel: Any, d: int, rng: np.random.Generator) -> Floats:
    """Return a function drawn at the centres of pixels; products of kernels over axes only."""
    centers = (np.arange(PIXELS[d]) + 0.5)[:, None] / PIXELS[d]
    root = np.linalg.cholesky(kernel(centers, centers) + 1e-9 * np.eye(PIXELS[d]))
    values = root @ rng.standard_normal((PIXELS[d],) * d)
    return np.asarray(values if d == 1 else values @ root.T)


def steps(rng: np.random.Generator) -> Floats:
    """Return eight plateaus."""
    edges, heights = np.sort(rng.uniform(size=7)), rng.standard_normal(8)
    return np.asarray(heights[np.searchsorted(edges, (np.arange(PIXELS[1]) + 0.5) / PIXELS[1])])


def paper(name: Any, rng: np.random.Generator) -> Floats:
    """Return one of the paper's functions, shifted, of standard deviation 1."""
    f = zn.reward_function(name, "authors", float(rng.uniform(-0.04, 0.04)))
    values = f(((np.arange(PIXELS[1]) + 0.5) / PIXELS[1])[:, None])
    return np.asarray(values / values.std())


def bbob(name: str, rng: np.random.Generator) -> Floats:
    """Return a function of BBOB in two dimensions, its optimum and rotation drawn, of standard deviation 1."""
    centers = -HALF + 2 * HALF * (np.arange(PIXELS[2]) + 0.5) / PIXELS[2]
    grid = np.stack([axis.ravel() for axis in np.meshgrid(centers, centers, indexing="ij")], axis=1)
    turn, optimum = np.linalg.qr(rng.standard_normal((2, 2)))[0], rng.uniform(-4, 4, 2)
    z = (grid - optimum) @ turn
    if name == "sphere":
        cost = (z**2).sum(axis=1)
    elif name == "step-ellipsoid":
        whole = np.where(np.abs(z) > 0.5, np.floor(0.5 + z), np.floor(0.5 + 10 * z) / 10)
        cost = 0.1 * np.maximum(np.abs(z[:, 0]) / 1e4, (whole**2 * [1, 100]).sum(axis=1))
    elif name == "Schaffers":
        s = np.hypot(*(z * [1, 10**0.5]).T)
        cost = (np.sqrt(s) + np.sqrt(s) * np.sin(50 * s**0.2) ** 2) ** 2
    elif name == "Rastrigin":
        cost = 10 * (2 - np.cos(2 * np.pi * z).sum(axis=1)) + (z**2).sum(axis=1)
    else:  # Gallagher's peaks
        peaks, heights = rng.uniform(-4.9, 4.9, (101, 2)), np.append(10.0, rng.uniform(1.1, 9.1, 100))
        scales = 10 ** rng.uniform(0, 1.5, (101, 2))
        far = (((grid[:, None] - peaks) @ turn) ** 2 * scales).sum(axis=2)
        cost = (10 - (heights * np.exp(-far / 4)).max(axis=1)) ** 2
    return np.asarray(-cost / cost.std())


def classes(dimensions: int) -> list[str]:
    """Return the classes of functions of so many dimensions."""
    names = [f"{name}, {dimensions}-D" for name in KERNELS]
    return names + (["steps", "f1", "f2", "f3"] if dimensions == 1 else list(BBOB))


def function(name: str, run: int, rng: np.random.Generator) -> Floats:
    """Return a function of a class, as a table."""
    if name in BBOB:
        return bbob(name, rng)
    if name.startswith("f"):
        return paper(name, rng)
    if name == "steps":
        return steps(rng)
    kernel, _, d = name.partition(", ")
    scale = LENGTHSCALES[int(d[0])][run % 3]
    return drawn(KERNELS[kernel](scale), int(d[0]), rng)


def campaign(name: str, run: int, budget: int, noise: float, **settings: Any) -> list[float]:
    """Return the shortfalls of cell and window, whether both intervals cover and both gaps hold."""
    seed = [sum(map(ord, name)), budget, round(100 * noise), run]
    made, errors, search = (np.random.default_rng(part) for part in np.random.SeedSequence(seed).spawn(3))
    values = function(name, run, made)
    landscape = from_table(zn.Box([(0, 1)] * values.ndim, smallest=1 / CELLS[values.ndim]), values)
    study = zn.Study(landscape.space, budget=budget, rng=search, **settings)
    study.optimize(landscape.simulate(noise, errors))
    answers = study.recommend(on_grid=True), study.recommend()
    truths = [landscape.average(answer.region) for answer in answers]
    pairs = list(zip(answers, truths, strict=True))
    best = landscape.best_window().average
    covers = [float(abs(truth - answer.mean) <= WITHIN * answer.std) for answer, truth in pairs]
    holds = [landscape.best().average - truths[0] <= answers[0].gap, best - truths[1] <= answers[1].gap]
    scores = [(truth - answer.mean) / answer.std for answer, truth in pairs]
    return [best - truths[0], best - truths[1], *covers, *map(float, holds), *scores]


@click.group()
def main() -> None:
    """Play campaigns."""
    warnings.simplefilter("ignore", zn.ModelWarning)


@main.command()
@click.option("--runs", default=40)
@click.option("--budgets", default="40,80")
@click.option("--noises", default="0.1,0.3")
@click.option("--dimensions", default="1,2")
@click.option("--only", default="", help="One class of functions.")
def draws(runs: int, budgets: str, noises: str, dimensions: str, only: str) -> None:
    """Compare shortfalls of cells and windows against the best window, and count what holds."""
    for noise in map(float, noises.split(",")):
        ratios = []
        for d in map(int, dimensions.split(",")):
            for name in classes(d):
                for budget in map(int, budgets.split(",")):
                    if only not in ("", name):
                        continue
                    played = np.array([campaign(name, run, budget, noise) for run in range(runs)])
                    cell, window = played[:, :2].mean(axis=0)
                    less = played[:, 1] - played[:, 0]
                    error = less.std(ddof=1) / np.sqrt(runs)
                    ratios.append(window / cell)
                    covers, scores = played[:, 2:6].mean(axis=0), played[:, 6:]
                    click.echo(
                        f"noise {noise:g}, {name:15s} N = {budget}: cell {cell:.4f}, window {window:.4f}, ratio "
                        f"{window / cell:.2f} (difference {less.mean():+.4f} +- {error:.4f}); intervals cover "
                        f"{covers[0]:.0%}, {covers[1]:.0%}; gaps hold {covers[2]:.0%}, {covers[3]:.0%}; scores "
                        f"{scores[:, 0].mean():+.2f} {scores[:, 0].std():.2f}, "
                        f"{scores[:, 1].mean():+.2f} {scores[:, 1].std():.2f}"
                    )
        if ratios:
            click.echo(f"noise {noise:g}: geometric mean of ratios {np.exp(np.mean(np.log(ratios))):.3f}")


@main.command()
@click.option("--runs", default=40)
@click.option("--budgets", default="40,80")
@click.option("--noises", default="0.1,0.3")
@click.option("--dimensions", default="1,2")
@click.option("--seed", default=0, help="Other seeds make other problems.")
def asks(runs: int, budgets: str, noises: str, dimensions: str, seed: int) -> None:
    """Compare the default, which measures windows late in a campaign, with itself on cells alone."""
    for noise, d in itertools.product(map(float, noises.split(",")), map(int, dimensions.split(","))):
        for name, budget in itertools.product(classes(d), map(int, budgets.split(","))):
            policies = [zn.KnowledgeGradient(off_grid=off_grid) for off_grid in (False, True)]
            played = np.array(
                [
                    [campaign(name, run + 1000 * seed, budget, noise, policy=policy) for policy in policies]
                    for run in range(runs)
                ]
            )
            (cells, windows), covers = played[..., 1].mean(axis=0), played[..., 3].mean(axis=0)
            less = played[:, 1, 1] - played[:, 0, 1]
            click.echo(
                f"noise {noise:g}, {name:15s} N = {budget}: cells {cells:.4f}, windows {windows:.4f} (difference "
                f"{less.mean():+.4f} +- {less.std(ddof=1) / np.sqrt(runs):.4f}); intervals cover {covers[0]:.0%}, "
                f"{covers[1]:.0%}"
            )


@main.command()
@click.option("--runs", default=10)
@click.option("--budget", default=64)
def sky(runs: int, budget: int) -> None:
    """Play campaigns on the hydrogen sky with a noise of 2."""
    space = zn.Box({"l": (-180, 180), "sin_b": (-1, 1)}, smallest=[360 / 64, 2 / 64], units={"l": "deg"})
    landscape = from_table(space, datasets.sky().T)
    cell, window = landscape.best().average, landscape.best_window().average
    click.echo(f"best cell {cell:.1f}, best window {window:.1f}")
    reached = []
    for run in range(runs):
        errors, search = (np.random.default_rng(part) for part in np.random.SeedSequence([64, run]).spawn(2))
        study = zn.Study(space, budget=budget, rng=search)
        study.optimize(landscape.simulate(2.0, errors))
        answers = study.recommend(on_grid=True), study.recommend()
        truths = [landscape.average(answer.region) for answer in answers]
        reached.append(truths[1])
        said = "; ".join(
            f"{truth:.1f} (said {a.mean:.1f} +- {a.std:.1f})" for a, truth in zip(answers, truths, strict=True)
        )
        click.echo(f"run {run}: cell, window {said}: {answers[1].region.name}")
    click.echo(f"at least 180 in {np.sum(np.array(reached) >= 180)} of {runs}")


@main.command()
@click.option("--runs", default=50, help="Of each width.")
@click.option("--budget", default=40)
def beams(runs: int, budget: int) -> None:
    """Count how often the stated mean lies within two stds of the region's own average, with a beam told."""
    held: list[bool] = []
    for width in (1, 2, 3, 4):
        for run in range(runs):
            made, errors, search = (
                np.random.default_rng(part) for part in np.random.SeedSequence([width, run]).spawn(3)
            )
            kind = list(KERNELS)[run % 2]
            values = drawn(KERNELS[kind](LENGTHSCALES[1][run % 3]), 1, made)
            landscape = from_table(zn.Box([(0, 1)], smallest=1 / CELLS[1]), values)
            beam = zn.Beam(width / CELLS[1])
            study = zn.Study(landscape.space, budget=budget, feedback=beam, rng=search)
            study.optimize(landscape.simulate((0.1, 0.3)[run // 2 % 2], errors, beam))
            for answer in (study.recommend(on_grid=True), study.recommend()):
                held.append(abs(landscape.average(answer.region) - answer.mean) <= 2 * answer.std)
        cells, windows = held[-2 * runs :: 2], held[1 - 2 * runs :: 2]
        click.echo(
            f"fwhm of {width} cells: within two stds {np.mean(cells):.0%} (cell), {np.mean(windows):.0%} (window)"
        )
    click.echo(f"all {len(held) // 2}: {np.mean(held[::2]):.1%} (cell), {np.mean(held[1::2]):.1%} (window)")


if __name__ == "__main__":
    main()
