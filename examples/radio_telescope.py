"""Find the brightest patch of the radio sky in a given time: as a box in longitude and sin b, and by HEALPix.

python examples/radio_telescope.py --runs 30 --out radio_telescope.png
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from campaigns import Plan, halving, keep, settled, smallest
from interference import among_transmitters, with_interference
from skies import box, healpix_tree, made_sky, radiometer
from telescope_time import by_the_clock

import zonal as zn
from zonal.plotting import column_width, plot_map, plot_regrets
from zonal.simulation import Landscape, datasets
from zonal.simulation.rehearsal import everybody

SHARE = 1 / 64  # pointings a patch
TIME = 160_000.0  # of the whole campaign, in units of one over the bandwidth: 2 % noise with 64 pointings


def contestants(space) -> dict:
    """Return who plays: everybody, and sequential halving."""
    players = everybody(space, value_name="column density", value_unit="1e20 / cm$^2$")
    return settled({**players, "halving": halving}, radiometer)


def effort(name: str, landscape: Landscape, share: float = SHARE) -> tuple[int, float]:
    """Return the number of pointings, and the noise of one, relative to what it sees."""
    times = 3 if name == "HEALPix" else 1  # whose patches are larger and fewer
    budget = round(times * share * landscape.space.partition.count(landscape.space.max_depth()))
    return budget, (budget / TIME) ** 0.5


def plans(share: float = SHARE) -> dict[str, Plan]:
    """Return what is compared on each sky."""
    skies = {"box": box(datasets.sky()), "a synthetic sky": box(made_sky()), "HEALPix": healpix_tree()}
    return {name: Plan(sky, *effort(name, sky, share), contestants(sky.space)) for name, sky in skies.items()}


def disturbed_plan(share: float = SHARE) -> Plan:
    """Return what is compared among transmitters, with the pointings of the box."""
    return among_transmitters(*effort("box", box(datasets.sky()), share))


def main(runs: int, share: float, out: str, results: Path | None) -> None:
    """Compare Zonal with three ways to do without it, and draw one campaign on each sky."""
    with column_width():
        figure, axes = plt.subplots(3, 2, figsize=(11, 11), width_ratios=[1.7, 1], layout="constrained")
        for (sky, regrets), (name, plan) in zip(axes, plans(share).items(), strict=True):
            landscape, budget = plan.landscape, plan.budget
            space, best, rehearsal = landscape.space, landscape.best(), plan.play(runs)
            keep(results, name, rehearsal)
            studies = {who: plan.first(who) for who in ("Zonal", "Zonal, GPOO")}
            print(
                f"{name}: {budget} pointings for {space.partition.count(space.max_depth())} patches, {runs} runs"
            )
            print(f"brightest patch: {best.average:.1f} at {best.region.name}\n{rehearsal.table()}")
            looks = ", ".join(f"{who} {study.tree.count.max()}" for who, study in studies.items())
            print(f"most measurements of one patch, first run: {looks}\n")
            draw(studies["Zonal"], landscape, sky, name)
            plot_regrets(rehearsal, regrets).set_title(f"{budget} pointings, {runs} runs")
        figure.savefig(out, dpi=110)
    with_interference(disturbed_plan(share), runs, results)
    by_the_clock(runs, share, results)


def draw(study: zn.Study, landscape: Landscape, ax: plt.Axes, name: str) -> None:
    """Draw the sky with the pointings and the patch found; of HEALPix the pixels' unit vectors."""
    if name != "HEALPix":
        image = made_sky() if name == "a synthetic sky" else datasets.sky()
        plot_map(study, ax, {"axes": ("sin_b", "l"), "values": image})
    else:
        x, y, z = landscape.space.features.T
        values = [landscape.average(landscape.space.region([row])) for row in landscape.space.rows]
        shown = ax.scatter(np.degrees(np.arctan2(y, x)), z, c=values, cmap="viridis", s=66, marker="D", lw=0)
        seen, best = np.array([trial.region.center for trial in study.trials]), smallest(study).center
        ax.scatter(np.degrees(np.arctan2(seen[:, 1], seen[:, 0])), seen[:, 2], s=30, fc="none", ec="#D55E00")
        place = np.degrees(np.arctan2(best[1], best[0])), best[2]
        ax.scatter(*place, s=170, marker="*", color="#009E73", ec="white")
        ax.set(xlim=(-180, 180), ylim=(-1, 1), xlabel="l [deg]", ylabel="sin_b")
        ax.figure.colorbar(shown, ax=ax, pad=0.01, fraction=0.04, label="column density [1e20 / cm$^2$]")
    ax.set_title(f"Zonal on {name}: pointings (orange) and the patch found (star)", pad=22)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--share", type=float, default=SHARE)
    parser.add_argument("--out", default="radio_telescope.png")
    parser.add_argument("--results", type=Path, help="where the regret of every run is kept")
    main(**vars(parser.parse_args()))
