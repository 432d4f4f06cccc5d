"""Find where a sewer's load is highest: a sample at a manhole averages everything upstream of it.

python examples/sewer.py --runs 30 --out sewer.png

The network is that of a town in Kentucky, as the package wntr ships it: sewers are laid along its water mains, the
shortest way to the lowest junction, and what a junction draws it also drains.
"""

import argparse
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import campaigns
import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

import zonal as zn
from zonal.plotting import column_width, plot_regrets
from zonal.simulation import Landscape, from_table
from zonal.simulation.rehearsal import Campaigns, Player, Rehearsal, StudyPlayer, at_random, campaign

Maker = Callable[[zn.Hierarchy, np.random.Generator], np.ndarray]  # of the concentration at each junction
SAMPLES = 30
THIN = 0.5  # share of the flow that Zonal goes up by at a time
NOISE = 0.3  # of one sample, in units of the usual concentration
SCATTER = 0.3  # of the logarithm of the usual concentration, from junction to junction
EXTENT = 6.0  # of a neighbourhood, in thousands of feet
ADDED = 10.0  # concentration at its centre
ALARM = 1.0  # what a single source adds to the concentration at the plant


def section(name: str, text: str) -> list[list[str]]:
    """Return the rows of a section of an EPANET file."""
    lines = text.split(f"[{name}]")[1].split("\n[")[0].splitlines()
    return [words for line in lines if (words := line.split(";")[0].split())]


def sewer(thin: float = 1.0) -> zn.Hierarchy:
    """Return the sewer: a tree of manholes, weighted by their own flow, with coordinates in thousands of feet."""
    file = Path(find_spec("wntr").origin).parent / "library" / "networks" / "ky10.inp"
    text = file.read_text()
    junctions = section("JUNCTIONS", text)
    flow = {name: float(demand) for name, _, demand, *_ in junctions}
    heights = {name: float(height) for name, height, *_ in junctions if float(height) > 0}
    links = [(row[1], row[2], float(row[3])) for row in section("PIPES", text)]
    links += [(row[1], row[2], 1.0) for kind in ("PUMPS", "VALVES") for row in section(kind, text)]
    names = sorted({name for link in links for name in link[:2]})
    at = {name: number for number, name in enumerate(names)}
    ends = [at[first] for first, *_ in links], [at[second] for _, second, _ in links]
    pipes = coo_array(([length for *_, length in links], ends), shape=(len(names), len(names)))
    lowest = at[min(heights, key=heights.get)]
    _, toward = dijkstra(pipes, directed=False, indices=lowest, return_predecessors=True)
    drains = {name: names[to] for name, to in zip(names, toward.tolist(), strict=True) if to >= 0}
    while idle := [name for name in drains if name not in drains.values() and not flow.get(name)]:
        for name in idle:  # nothing comes from there
            del drains[name]
    flow = {name: flow.get(name, 0.0) for name in dict.fromkeys([*drains, *drains.values()])}
    places = {name: (float(x) / 1000, float(y) / 1000) for name, x, y in section("COORDINATES", text)}
    return zn.Hierarchy.from_edges(
        list(drains.items()), flow, features=places, feature_names=("x", "y"), thin=thin
    )


def neighbourhood(network: zn.Hierarchy, rng: np.random.Generator) -> np.ndarray:
    """Return concentrations that are high around one junction."""
    places = network.features[network.place]
    away = ((places - places[rng.integers(network.size)]) ** 2).sum(axis=1)
    return usual(network, rng) + ADDED * np.exp(-away / (2 * EXTENT**2))


def source(network: zn.Hierarchy, rng: np.random.Generator) -> np.ndarray:
    """Return usual concentrations but for one junction, whose load is noticed at the plant."""
    shares = network.weights[network.place] / network.weights.sum()
    at, values = rng.choice(network.size, p=shares), usual(network, rng)
    values[at] += ALARM / shares[at]
    return values


def usual(network: zn.Hierarchy, rng: np.random.Generator) -> np.ndarray:
    """Return what differs from junction to junction without a reason."""
    return np.exp(SCATTER * rng.normal(size=network.size))


KINDS: dict[str, Maker] = {"a neighbourhood": neighbourhood, "one source": source}


def tracing(landscape: Landscape, sample, budget: int, rng: np.random.Generator) -> zn.Region:
    """Go upstream from the plant: at each fork sample all inflows, and follow the highest."""
    space, region = landscape.space, landscape.space.cell((0, 0))
    while space.may_split(region):
        children = space.split(region)
        if len(children) > 1:
            if budget < len(children):
                break
            budget -= len(children)
            children = [children[int(np.argmax([sample(child) for child in children]))]]
        region = children[0]
    return region


def bisection(landscape: Landscape, sample, budget: int, rng: np.random.Generator) -> zn.Region:
    """Sample where half of the flow still suspected passes, and keep the half with the higher average."""
    space = landscape.space
    cells = [space.cell((h, i)) for h in range(space.max_depth() + 1) for i in range(space.partition.count(h))]
    runs = np.array(sorted({(cell.positions[0], cell.positions[-1] + 1) for cell in cells}))
    suspected, weights = np.ones(space.size, dtype=bool), space.weights
    load = np.zeros(space.size)  # of what is not suspected, spread over its members
    times = max(1, budget // 13)  # samples of one manhole: a dozen halvings lead to one junction
    total = float(np.mean([sample(space.cell((0, 0))) for _ in range(times)])) * weights.sum()
    for _ in range(budget // times - 1):
        before = np.append(0.0, np.cumsum(weights * suspected))
        share = (before[runs[:, 1]] - before[runs[:, 0]]) / before[-1]
        if not ((share > 0) & (share < 1)).any():
            break
        low, high = runs[np.argmin(np.abs(share - 0.5))].tolist()
        upstream = np.zeros(space.size, dtype=bool)
        upstream[low:high] = True
        region = space.region(space.rows[low:high].tolist())
        read = float(np.mean([sample(region) for _ in range(times)])) * weights[upstream].sum()
        inside = read - load[upstream].sum()
        within, beyond = suspected & upstream, suspected & ~upstream
        rest = total - inside
        up = inside / weights[within].sum() > rest / weights[beyond].sum()
        cleared, value = (beyond, rest) if up else (within, inside)
        load[cleared] = value * weights[cleared] / weights[cleared].sum()
        suspected, total = (within, inside) if up else (beyond, rest)
    left = np.flatnonzero(suspected)
    return space.region([int(space.rows[rng.choice(left, p=weights[left] / weights[left].sum())])])


def contestants() -> dict[str, Player]:
    """Return who plays; all name one junction."""
    players = {"Zonal": StudyPlayer((("noise", NOISE), ("value_name", "concentration")))}
    players |= {"bisection": bisection, "tracing upstream": tracing, "random": at_random}
    return campaigns.settled(players, lambda instrument, region: instrument(region))


def compare(make: Maker, players: dict[str, Player], runs: int, samples: int, thin: float = THIN) -> Rehearsal:
    """Return what contestants find, each in the same towns; Zonal samples at fewer manholes."""
    every, fewer, results = sewer(), sewer(thin), {}
    values = [make(every, np.random.default_rng([11, run])) for run in range(runs)]
    for who, player in players.items():
        truths = [from_table(fewer if who == "Zonal" else every, truth) for truth in values]
        regions = [campaign(player, truth, NOISE, samples, 0, run) for run, truth in enumerate(truths)]
        regrets = [truth.regret(region) for truth, region in zip(truths, regions, strict=True)]
        results[who] = Campaigns(tuple(regions), np.array(regrets))
    return Rehearsal(from_table(fewer, values[0]), samples, results)


def main(runs: int, share: float, thin: float, out: str, results: Path | None) -> None:
    """Compare Zonal with those who trace and bisect, and draw one campaign of each kind."""
    players, samples = contestants(), max(2, round(SAMPLES * share))
    with column_width():
        figure, axes = plt.subplots(2, 2, figsize=(11, 9), width_ratios=[1.2, 1], layout="constrained")
        for (town, regrets), (kind, make) in zip(axes, KINDS.items(), strict=True):
            result = compare(make, players, runs, samples, thin)
            campaigns.keep(results, kind, result)
            first = result.landscape
            print(f"{kind}: {samples} samples for {first.space.size} junctions, {runs} runs\n{result.table()}\n")
            draw(campaigns.campaign(players["Zonal"], first, samples, NOISE), first, town, kind)
            plot_regrets(result, regrets).set_title(f"{samples} samples, {runs} runs")
        figure.savefig(out, dpi=110)


def draw(study: zn.Study, truth: Landscape, ax: plt.Axes, kind: str) -> None:
    """Draw the concentrations, the manholes that were sampled and the junction found."""
    network = study.space
    values = [truth.average(network.region([row])) for row in network.rows]
    shown = ax.scatter(*network.features.T, c=values, cmap="viridis", s=9, norm="log")
    sampled = np.array([trial.region.center for trial in study.trials])
    ax.scatter(*sampled.T, s=40, fc="none", ec="#D55E00")
    ax.scatter(*campaigns.smallest(study).center, s=170, marker="*", color="#009E73", ec="white")
    ax.set(xlabel="x [1000 ft]", ylabel="y [1000 ft]", aspect="equal")
    ax.figure.colorbar(shown, ax=ax, pad=0.01, label="concentration")
    ax.set_title(f"{kind}: centres of what was sampled (rings), junction found (star)", pad=10)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--thin", type=float, default=THIN, help="which manholes Zonal may sample; 1: all")
    parser.add_argument("--out", default="sewer.png")
    parser.add_argument("--results", type=Path, help="where the regret of every run is kept")
    main(**vars(parser.parse_args()))
