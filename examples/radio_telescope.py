"""Find the brightest patch of the radio sky: as a box in longitude and sin b, and by HEALPix without a seam.

python examples/radio_telescope.py --runs 30 --out radio_telescope.png
"""

import argparse

import healpix
import matplotlib.pyplot as plt
import numpy as np

import zonal as zn
from zonal import data
from zonal.plots import column_width, plot_map, plot_regrets
from zonal.problems import Landscape, from_table
from zonal.rehearsal import everybody, rehearse

NOISE = 2.0  # of an average column density, in 1e20 per cm^2; the sky ranges from 1 to 200


def box() -> Landscape:
    """Return the sky as a box: equal areas, but a seam at 180 degrees. Smallest patches: 64 x 64."""
    axes = {"l": (-180, 180), "sin_b": (-1, 1)}
    return from_table(zn.Box(axes, smallest=[360 / 64, 2 / 64], units={"l": "deg"}), data.sky().T)


def healpix_tree(order: int = 3) -> Landscape:
    """Return the sky as HEALPix pixels in nested order, which is a hierarchy; features are unit vectors."""
    fine, pixels = order + 3, np.arange(12 * 4**order)
    theta, phi = healpix.pix2ang(2**fine, np.arange(12 * 4**fine), nest=True)
    rows = np.minimum((np.cos(theta) + 1) * 64, 127).astype(int)
    columns = ((phi / (2 * np.pi) + 0.5) % 1 * 256).astype(int)
    values = data.sky()[rows, columns].reshape(len(pixels), -1).mean(axis=1)
    levels = {f"order {h}": [f"{h}/{p}" for p in pixels >> 2 * (order - h)] for h in range(order + 1)}
    vectors = np.stack(healpix.pix2vec(2**order, pixels, nest=True), axis=1)
    return from_table(zn.Hierarchy.from_table(levels, vectors), values)


def draw_pixels(study: zn.Study, landscape: Landscape, ax: plt.Axes) -> None:
    """Draw pixels by the longitude and sin b of their unit vectors, with the pointings and the patch found."""
    x, y, z = landscape.space.features.T
    values = [landscape.average(landscape.space.region([row])) for row in landscape.space.rows]
    shown = ax.scatter(np.degrees(np.arctan2(y, x)), z, c=values, cmap="cividis", s=66, marker="D", lw=0)
    seen, best = np.array([trial.region.center for trial in study.trials]), study.recommend().region.center
    longitude = np.degrees(np.arctan2(seen[:, 1], seen[:, 0]))
    ax.scatter(longitude, seen[:, 2], s=30, fc="none", ec="#D55E00")
    ax.scatter(np.degrees(np.arctan2(best[1], best[0])), best[2], s=170, marker="*", color="#009E73", ec="white")
    ax.set(xlim=(-180, 180), ylim=(-1, 1), xlabel="l [deg]", ylabel="sin_b")
    ax.figure.colorbar(shown, ax=ax, pad=0.01, fraction=0.04, label="column density [1e20 / cm$^2$]")


def main(runs: int, share: float, out: str) -> None:
    """Compare Zonal with three ways to do without it, and draw one campaign on each tree."""
    with column_width():
        figure, axes = plt.subplots(2, 2, figsize=(11, 7.4), width_ratios=[1.7, 1], layout="constrained")
        for (sky, regrets), (name, landscape) in zip(
            axes, [("box", box()), ("HEALPix", healpix_tree())], strict=True
        ):
            space, best = landscape.space, landscape.best()
            budget = round(share * space.count(space.deepest()))
            players = everybody(space, value_name="column density", value_unit="1e20 / cm$^2$")
            rehearsal = rehearse(landscape, budget, NOISE, runs, players)
            print(f"{name}: {budget} pointings for {space.count(space.deepest())} patches, {runs} runs")
            print(f"brightest patch: {best.average:.1f} at {best.region.name}\n{rehearsal.table()}\n")
            rng = np.random.default_rng(0)
            shown = next(iter(players))
            study = players[shown].study(landscape, landscape.simulate(NOISE, rng), budget, rng)
            plot_map(study, sky, data.sky().T) if name == "box" else draw_pixels(study, landscape, sky)
            sky.set_title(f"{shown} by {name}: pointings (rings) and the patch found (star)")
            plot_regrets(rehearsal, regrets).set_title(f"{budget} pointings, {runs} runs")
        figure.savefig(out, dpi=130)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--out", default="radio_telescope.png")
    main(**vars(parser.parse_args()))
