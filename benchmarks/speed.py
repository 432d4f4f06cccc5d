"""Speed as ratios within one run: `make bench` prints the table and fails if a bound is broken.

Times are of the search alone (ask and tell); measuring is not counted. Each figure is the best of a few runs.
Machines are noisy: trust the ratios.
"""

from __future__ import annotations

import compileall
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np

import zonal as zn
from benchmarks import scale
from zonal._blas import one_thread
from zonal.engine.settings import Given
from zonal.gp.hyperparameters import fit_posterior
from zonal.gp.kernel_families import ModelSpace
from zonal.gp.model import ModelSpec
from zonal.gp.stats import ObservationStats
from zonal.simulation.ground_truth import from_table

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import oracle

KERNEL = zn.RBF(variance=0.1, lengthscale=0.05)
DELTA = zn.GeometricDelta(14, 0.5)
F1 = zn.reward_function("f1")
NOISE = 0.1
WIDE = "search_seconds(5_000, zn.Box([(0, 1)]), zn.Average(10), zn.GPOO(lambda h: 1e3 * 0.999**h, h_max=30))"
LONG = "search_seconds(20_000, zn.Box([(0, 1)]), zn.Average(10), zn.GPOO(speed.DELTA))"


def search_seconds(
    budget: int,
    space: zn.Box,
    feedback: zn.Average | zn.Center | zn.Mean,
    policy: zn.GPOO,
    kernel: zn.RBF = KERNEL,
) -> float:
    """Return the time spent in ask and tell."""
    measure = zn.simulate(F1 if space.d == 1 else bump, feedback if space.d == 1 else zn.Center(), NOISE, rng=0)
    study = zn.Study(space, budget=budget, kernel=kernel, noise=NOISE, feedback=feedback, policy=policy)
    return rounds_seconds(study, measure)


def rounds_seconds(study: zn.Study, measure: Callable[[zn.Region], float]) -> float:
    """Return the time spent in ask and tell until the budget of a study is spent."""
    seconds = 0.0
    for _ in range(study.budget):
        start = perf_counter()
        trial = study.ask()
        seconds += perf_counter() - start
        reward = measure(trial.region)
        start = perf_counter()
        study.tell(trial, reward)
        seconds += perf_counter() - start
    return seconds


def slowest_round(policy: zn.GPOO, rounds: int = 1_100, neighbours: int = 25) -> float:
    """Return by how much a round takes longer than the median of its neighbours, each the best of three."""
    measure = zn.simulate(F1, zn.Average(10), NOISE, rng=0)
    seconds = np.full(rounds, np.inf)
    for _ in range(3):
        study = zn.Study(
            [(0, 1)], budget=rounds, kernel=KERNEL, noise=NOISE, feedback=zn.Average(10), policy=policy
        )
        for number in range(rounds):
            start = process_time()
            trial = study.ask()
            asking = process_time() - start
            reward = measure(trial.region)
            start = process_time()
            study.tell(trial, reward)
            seconds[number] = min(seconds[number], asking + process_time() - start)
    around = [seconds[max(0, at - neighbours) : at + neighbours + 1] for at in range(rounds)]
    return float(np.max(seconds / [np.median(own) for own in around]))


def bump(x: np.ndarray) -> np.ndarray:
    """Return a smooth bump in any dimension."""
    return np.asarray(np.exp(-np.sum((x - 0.3) ** 2, axis=1) * 4))


def dense_regions() -> float:
    """Time the oracle: every posterior solved anew, covariances of pairs of regions cached."""
    measure = zn.simulate(F1, zn.Average(10), NOISE, rng=0)
    space = zn.Box([(0, 1)])
    measuring = 0.0

    def reward(node: tuple[int, int], bounds: object) -> float:
        nonlocal measuring
        start = perf_counter()
        value = measure(space.cell(node))
        measuring += perf_counter() - start
        return value

    start = perf_counter()
    oracle.gpoo(np.array([[0.0, 1.0]]), 2, 10, oracle.rbf(0.1, 0.05), NOISE, reward, 80, DELTA)
    return perf_counter() - start - measuring


def dense_points() -> float:
    """Time the paper's equation as written on one BLAS thread: averaging matrices over cached kernel values."""
    measure = zn.simulate(F1, zn.Average(10), NOISE, rng=0)
    space = zn.Box([(0, 1)])
    study = zn.Study(space, budget=80, kernel=KERNEL, noise=NOISE, feedback=zn.Average(10), policy=zn.GPOO(DELTA))
    visited: list[tuple[int, int]] = []
    sizes: list[int] = []
    for _ in range(80):
        trial = study.ask()
        study.tell(trial, measure(trial.region))
        visited.append(trial.node)
        sizes.append(len(study.tree))
    tree = study.tree
    nodes = list(zip(tree.depth.tolist(), tree.index.tolist(), strict=True))
    at = {node: row for row, node in enumerate(nodes)}
    points = np.concatenate([oracle.representatives(oracle.cell([[0.0, 1.0]], 2, node), 10) for node in nodes])
    cached = oracle.rbf(0.1, 0.05)(points, points)
    rows = np.array([at[node] for node in visited])
    rewards = np.array([record.value for record in study.trials], dtype=float)
    start = perf_counter()
    with one_thread():
        for t, size in enumerate(sizes, 1):
            seen = (rows[:t, None] * 10 + np.arange(10)).ravel()
            a, a_star = np.kron(np.eye(t), np.full(10, 0.1)), np.kron(np.eye(size), np.full(10, 0.1))
            gram = a @ cached[np.ix_(seen, seen)] @ a.T + NOISE**2 * np.eye(t)
            cross = a_star @ cached[np.ix_(np.arange(10 * size), seen)] @ a.T
            prior = np.diag(a_star @ cached[: 10 * size, : 10 * size] @ a_star.T)
            gain = np.linalg.solve(gram, cross.T)
            _ = gain.T @ rewards[:t], prior - np.sum(gain.T * cross, axis=1)
    return perf_counter() - start


def learned_seconds(budget: int, space: zn.Box, feedback: zn.Average | zn.Center) -> float:
    """Return the time of a whole study that is given nothing, measuring included."""
    measure = zn.simulate(F1 if space.d == 1 else bump, feedback, NOISE, rng=0)
    start = perf_counter()
    zn.maximize(measure, space, budget, feedback=feedback)
    return perf_counter() - start


def ask_milliseconds() -> float:
    """Return the mean time of the last asks of the default on a tree of 4,095 nodes."""
    study = zn.Study(zn.Box([(0, 1)] * 2, smallest=(1 / 64, 1 / 32)), budget=80, feedback=zn.Center())
    measure = zn.simulate(bump, zn.Center(), NOISE, rng=0)
    seconds = []
    for _ in range(study.budget):
        start = perf_counter()
        trial = study.ask()
        seconds.append(perf_counter() - start)
        study.tell(trial, measure(trial.region))
    assert len(study.tree) == 4095, len(study.tree)
    return 1000 * float(np.mean(seconds[-12:]))


def fit_seconds() -> float:
    """Return the time of one fit of 1,000 measurements of 100 distinct regions."""
    feedback, ledger, space = zn.Average(10), ObservationStats(), zn.Box([(0, 1)])
    measure = zn.simulate(F1, feedback, NOISE, rng=0)
    cells = [space.cell((h, i)) for h in (4, 5, 6) for i in range(2**h)][:100]
    for k in range(1000):
        ledger = ledger.append(k % 100, measure(cells[k % 100]), None)
    data, unknowns = ledger.data(), ModelSpec(None, True, None)
    frame = ModelSpace(space, feedback)
    keys = frame.layout.keys(feedback.footprints(cells))
    start = perf_counter()
    fit_posterior(data, frame, unknowns, frame.correlate(keys), None, None, 1000, frame.models)
    return perf_counter() - start


def quarters_seconds(space: zn.Box | zn.Sequences, kernel: Any, feedback: zn.Average | zn.Mean) -> float:
    """Return the time of 200 rounds that all split a region into four, the same function being measured."""
    line = zn.Box([(0, 1)], arity=4)
    measure = zn.simulate(F1, zn.Average(10), NOISE, rng=0)
    policy = zn.GPOO(lambda h: 1e3 * 0.999**h, h_max=7)
    study = zn.Study(space, budget=200, kernel=kernel, noise=NOISE, mean=0.0, feedback=feedback, policy=policy)
    seconds = rounds_seconds(study, lambda region: measure(line.cell(region.node or (0, 0))))
    if len(study.tree) != 801:
        raise RuntimeError(f"the tree has {len(study.tree)} nodes, not 801: the comparison is not fair")
    return seconds


def members_seconds(**given: Any) -> tuple[float, float]:
    """Return the times of building a space of 100,000 points in five dimensions, and of 200 rounds on it."""
    X = np.random.default_rng(0).uniform(size=(100_000, 5))
    start = perf_counter()
    space = zn.Points(X)
    building = perf_counter() - start
    measure = from_table(space, bump(X)).simulate(NOISE, 0)
    return building, rounds_seconds(zn.Study(space, budget=200, **given), measure)


def opening_seconds(budget: int, regions: int, space: zn.Box, policy: Any) -> float:
    """Return the time of opening the file of a study with so many trials in so many distinct regions."""
    study = zn.Study(space, budget=budget, kernel=KERNEL, noise=NOISE, feedback=zn.Average(10), policy=policy)
    rounds_seconds(study, zn.simulate(F1, zn.Average(10), NOISE, rng=0))
    if len({record.node for record in study.trials}) != regions:
        raise RuntimeError(f"not {regions} distinct regions: the measurement would not be of what it says")
    with TemporaryDirectory() as folder:
        study.save(Path(folder) / "study.db")
        start = perf_counter()
        zn.Study.open(Path(folder) / "study.db")
        return perf_counter() - start


def commits_of_a_call(rounds: int = 100) -> float:
    """Return what an ask or a tell on disk takes more than one in memory, in bare commits to the same disk."""
    space, given = zn.Box([(0, 1)]), Given(kernel=KERNEL, noise=NOISE, policy=zn.GPOO(DELTA))
    seconds: dict[str, list[float]] = {name: [] for name in ("bare", "ask", "tell", "ask on disk", "tell on disk")}

    def timed(name: str, call: Callable[[], Any]) -> Any:
        start = perf_counter()
        result = call()
        seconds[name].append(perf_counter() - start)
        return result

    with TemporaryDirectory() as folder:
        memory = zn.Study(space, budget=rounds, **given)
        disk = zn.Study.create(Path(folder) / "study.db", space, budget=rounds, **given)
        bare = sqlite3.connect(Path(folder) / "bare.db", isolation_level=None)
        bare.execute("PRAGMA synchronous = EXTRA")
        bare.execute("CREATE TABLE bare (text)")

        def commit() -> None:
            bare.execute("BEGIN IMMEDIATE")
            bare.execute("INSERT INTO bare VALUES (?)", ("x" * 200,))
            bare.execute("COMMIT")

        for _ in range(rounds):
            trial = timed("ask", memory.ask)
            timed("ask on disk", disk.ask)
            timed("bare", commit)
            timed("tell", partial(memory.tell, trial, 0.1))
            timed("tell on disk", partial(disk.tell, trial.number, 0.1))
        bare.close()
    median = {name: float(np.median(times)) for name, times in seconds.items()}
    return max(median[f"{call} on disk"] - median[call] for call in ("ask", "tell")) / median["bare"]


def megabytes_of(call: str) -> float:
    """Return the peak memory of a process that makes one call of this module."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import speed, zonal as zn\n"
        f"speed.{call}\n"
        "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout.split()[0])


def import_seconds(modules: str) -> float:
    """Return the time a fresh process needs to import modules."""
    code = f"from time import perf_counter as t; s = t(); import {modules}; print(t() - s)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True) for _ in range(7)]
    return min(float(run.stdout) for run in runs)


def best(runs: int, timed: Callable[[], float]) -> float:
    """Return the shortest of several times."""
    return min(timed() for _ in range(runs))


def main() -> None:
    """Print the table; exit with 1 if a bound is broken."""
    line, six = zn.Box([(0, 1)]), zn.Box([(0, 1)] * 6)
    gpoo, ten = zn.GPOO(DELTA), zn.Average(10)
    rows: list[tuple[str, float, str, float | None]] = []

    short = best(20, lambda: search_seconds(80, line, ten, gpoo))
    rows.append(("80 rounds, averages of 10 points", 1e3 * short, "ms", None))
    rows.append(
        ("  dense in points (equation 4 as written), kernel cached", best(2, dense_points) / short, "x", -30)
    )
    rows.append(("  dense in regions, covariances cached", best(3, dense_regions) / short, "x", None))
    rows.append(
        ("  exact means instead", best(5, lambda: search_seconds(80, line, zn.Mean(), gpoo)) / short, "x", None)
    )
    long = best(2, lambda: search_seconds(2_000, line, ten, gpoo))
    longer = best(1, lambda: search_seconds(20_000, line, ten, gpoo))
    rows.append(("20,000 rounds against 2,000", longer / long, "x", 15))
    rows.append(("  a round of 20,000", 1e6 * longer / 20_000, "us", None))
    rows.append(("  memory of 20,000 rounds", megabytes_of(LONG), "MB", 300))
    always = zn.GPOO(lambda h: 1e3 * 0.999**h, h_max=30)
    thousand = best(2, lambda: search_seconds(1_000, line, ten, always))
    rows.append(
        (
            "2,000 rounds that all expand against 1,000",
            search_seconds(2_000, line, ten, always) / thousand,
            "x",
            12,
        )
    )
    rows.append(("  memory of 5,000 distinct regions", megabytes_of(WIDE), "MB", 1500))
    rows.append(("  the slowest of 1,100 rounds against its neighbours", slowest_round(always), "x", 5))
    wide = zn.RBF(0.1, 0.5)
    center = best(5, lambda: search_seconds(200, six, zn.Center(), gpoo, wide))
    rows.append(
        (
            "six axes: 10^6 points per cell against the centre",
            best(5, lambda: search_seconds(200, six, ten, gpoo, wide)) / center,
            "x",
            2.5,
        )
    )
    learned = best(3, lambda: learned_seconds(80, line, ten))
    rows.append(("80 rounds of the default, everything learned", learned, "s", 1.5))
    four = zn.Box([(0, 1)] * 4)
    rows.append(("  the same on four axes", best(2, lambda: learned_seconds(80, four, zn.Center())), "s", 5))
    rows.append(("  an ask with 4,000 nodes", best(2, ask_milliseconds), "ms", 60))
    rows.append(("  a fit of 1,000 measurements of 100 regions", best(5, fit_seconds), "s", 0.2))
    quarters = best(5, lambda: quarters_seconds(zn.Box([(0, 1)], arity=4), KERNEL, ten))
    pools = best(5, lambda: quarters_seconds(zn.Sequences("ACGT", 8), zn.Categorical(0.1, 0.5), zn.Mean()))
    rows.append(("a round on ACGT^8 against one on a line by quarters", pools / quarters, "x", 3))
    building, rounds = (min(times) for times in zip(*(members_seconds() for _ in range(2)), strict=True))
    rows.append(("100,000 points in 5 dimensions: building the space", building, "s", 2))
    rows.append(("  200 rounds on them, everything learned", rounds, "s", 10))
    known = members_seconds(kernel=zn.RBF(0.1, 0.5), noise=NOISE, mean=0.5)[1]
    rows.append(("  200 rounds with kernel, noise and mean given", known, "s", None))
    rows.append(("  memory", megabytes_of("members_seconds()"), "MB", 1000))
    wide_tree, deep_tree = zn.Box([(0, 1)], arity=200), zn.GPOO(lambda h: 1e3 * 0.999**h, h_max=30)
    grid = zn.UniformGrid(level=1)
    rows.append(("opening 5,000 trials in 200 regions", opening_seconds(5_000, 200, wide_tree, grid), "s", 2))
    rows.append(("  2,000 trials in as many regions", opening_seconds(2_000, 2_000, line, deep_tree), "s", 15))
    rows.append(("an ask or tell on disk, in bare commits", best(3, commits_of_a_call), "x", 3))
    rows += scale.rows()
    compileall.compile_dir(Path(zn.__file__).parent, quiet=1)  # as an installer does
    base = import_seconds("numpy, scipy.linalg")
    rows.append(("import zonal against numpy and scipy.linalg", import_seconds("zonal") / base, "x", 1.5))

    broken = False
    print(f"{'what':58} {'measured':>10}    bound")
    for what, value, unit, bound in rows:
        limit = "" if bound is None else f"{'at most' if bound > 0 else 'at least'} {abs(bound):g} {unit}"
        fine = bound is None or (value <= bound if bound > 0 else value >= -bound)
        broken |= not fine
        print(f"{what:58} {value:10.2f} {unit:2} {limit}{'' if fine else '   BROKEN'}")
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    sys.exit(broken)


if __name__ == "__main__":
    main()
