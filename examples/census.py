"""Find the oldest area of a country: by its official hierarchy, and by bisecting longitude and latitude.

    python examples/census.py --table census_au_sa2.csv --runs 30 --out census.png

The office answers for areas, perturbed by an amount that depends on the area alone: asking again brings nothing.
"""

import argparse
from pathlib import Path
from zlib import crc32

import matplotlib.pyplot as plt
import numpy as np
from campaigns import Plan, keep, settled

import zonal as zn
from zonal.io.tables import read_table
from zonal.plotting import column_width, plot_map, plot_regrets
from zonal.simulation import Landscape, from_table
from zonal.simulation.rehearsal import everybody

TABLE = Path(__file__).resolve().parents[2] / "shared" / "data" / "census_au_sa2.csv"
LEVELS = ("state_name", "sa4_name", "sa3_name", "sa2_name")
SHARE = 0.05  # questions an area
LEAST = 500  # persons; smaller areas are suppressed
YEARS = 283.0  # std of what is added to an area's sum of ages: Laplace noise of scale 100 / epsilon, epsilon = 1/2


def landscapes(path: Path) -> dict[str, Landscape]:
    """Return the country by its official hierarchy, and by halving the population along longitude and latitude."""
    table = read_table(path)
    persons = table.numbers("persons")
    kept = np.flatnonzero(persons >= LEAST)
    places = np.stack([table.numbers("lon")[kept], table.numbers("lat")[kept]], axis=1)
    levels = {name: np.array(table.texts(name))[kept].tolist() for name in LEVELS}
    official = zn.Hierarchy.from_table(levels, places, persons[kept], LEAST, ("lon", "lat"))
    halves = zn.Points({"lon": places[:, 0], "lat": places[:, 1]}, persons[kept], smallest=LEAST)
    ages = table.numbers("mean_age")[kept]
    return {"official areas": from_table(official, ages), "bisection": from_table(halves, ages)}


def perturbation(region: zn.Region) -> float:
    """Return the std of what the office adds to a mean age: the more persons, the less."""
    return YEARS / region.weight


def office(instrument, region: zn.Region) -> float:
    """Return the published mean age of an area: one draw an area and census, however often one asks."""
    census = vars(instrument).setdefault("census", instrument.draw())
    keyed = np.random.default_rng([crc32(region.name.encode()), crc32(repr(census).encode())])
    return instrument.reading(region, float(keyed.laplace(scale=0.5**0.5)))  # of standard deviation 1


def best_way_down(landscape: Landscape) -> zn.Region:
    """Return where the greedy way ends without any noise: into the oldest part each time."""
    region = landscape.space.cell((0, 0))
    while landscape.space.may_split(region):
        region = max(landscape.space.split(region), key=landscape.average)
    return region


def plans(table: Path = TABLE, share: float = SHARE) -> dict[str, Plan]:
    """Return what is compared on each tree."""
    known = {"noise": perturbation, "max_replicates": 1}  # the office says how much it perturbs
    made = {}
    for name, landscape in landscapes(table).items():
        space = landscape.space
        players = settled(everybody(space, **known, value_name="mean age", value_unit="years"), office)
        if name == "bisection":  # who takes long: `rivals.py` plays them
            del players["Zonal, UCB"], players["Zonal, GPOO"]
        made[name] = Plan(landscape, round(share * space.size), perturbation, players)
    return made


def main(table: Path, runs: int, share: float, out: str, results: Path | None) -> None:
    """Compare Zonal with three ways to do without it, and draw one campaign on each tree."""
    with column_width():
        figure, axes = plt.subplots(2, 2, figsize=(11, 8), width_ratios=[1.5, 1], layout="constrained")
        for (country, regrets), (name, plan) in zip(axes, plans(table, share).items(), strict=True):
            landscape, budget = plan.landscape, plan.budget
            space, best, greedy = landscape.space, landscape.best(), best_way_down(landscape)
            rehearsal = plan.play(runs)
            keep(results, name, rehearsal)
            print(f"{name}: {budget} questions about {space.size} areas, {runs} runs")
            print(f"oldest area: {best.average:.2f} years, {best.region.name}")
            print(f"greedy way without noise: {landscape.average(greedy):.2f} years, {greedy.name}")
            print(f"{rehearsal.table()}\n")
            plot_map(plan.first("Zonal"), country).set(xlim=(112, 155), ylim=(-44.5, -9.5))
            country.set_title(f"Zonal by {name}: areas asked for (rings), area found (star)", pad=22)
            plot_regrets(rehearsal, regrets).set_title(f"{budget} questions, {runs} runs")
        figure.savefig(out, dpi=130)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--share", type=float, default=SHARE)
    parser.add_argument("--out", default="census.png")
    parser.add_argument("--results", type=Path, help="where the regret of every run is kept")
    main(**vars(parser.parse_args()))
