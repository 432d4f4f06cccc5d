"""Find the brightest patch of the radio sky in a given time: as a box in longitude and sin b, and by HEALPix.

python examples/radio_telescope.py --runs 30 --out radio_telescope.png
"""

import argparse
from dataclasses import dataclass

import healpix
import matplotlib.pyplot as plt
import numpy as np

import zonal as zn
from campaigns import campaign, settled, smallest
from zonal import data
from zonal.campaigns.rehearsal import Zonal, everybody, rehearse
from zonal.plots import column_width, plot_map, plot_regrets
from zonal.problems import Landscape, from_table

SYSTEM = 100.0  # what the receiver itself adds, in units of the sky's brightness, which ranges from 1 to 200
TIME = 512_500.0  # of the whole campaign, in units of one over the bandwidth: 2 % noise with 205 pointings


def box(sky: np.ndarray) -> Landscape:
    """Return a sky as a box: equal areas, and longitude is a ring. Smallest patches: 64 x 64."""
    axes = {"l": (-180, 180), "sin_b": (-1, 1)}
    return from_table(zn.Box(axes, smallest=[360 / 64, 2 / 64], units={"l": "deg"}, periodic=["l"]), sky.T)


def made_sky(seed: int = 7) -> np.ndarray:
    """Return a sky nobody surveyed: a warped, clumpy plane, brighter towards one side, and clouds beside it."""
    rng = np.random.default_rng(seed)
    l, b = np.meshgrid(np.linspace(-np.pi, np.pi, 256, endpoint=False), np.linspace(-1, 1, 128))
    bumps = [(k, m, rng.normal(), rng.uniform(0, 7)) for k in range(12) for m in range(6)]
    clumps = np.exp(0.1 * sum(height * np.cos(k * l + 5 * m * b + phase) for k, m, height, phase in bumps))
    plane = 30 * np.exp(-np.abs(b - 0.1 * np.sin(l + 1)) / 0.06) * (1 + 0.5 * np.cos(l - 1.2)) * clumps
    clouds = [(rng.uniform(-np.pi, np.pi), rng.uniform(-0.8, 0.8), rng.uniform(10, 90)) for _ in range(12)]
    away = [((l - x + np.pi) % (2 * np.pi) - np.pi, b - y, h) for x, y, h in clouds]  # the short way round
    return 2 + plane + sum(h * np.exp(-(dl**2) / 0.02 - db**2 / 0.002) for dl, db, h in away)


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


def radiometer(instrument, region: zn.Region) -> float:
    """Return a brightness whose noise is (system + sky) / sqrt(time), as the radiometer equation has it."""
    brightness = instrument.average(region)
    return brightness + (SYSTEM + brightness) * (instrument(region) - brightness)


@dataclass(frozen=True)
class Beamed:
    """A radiometer that sees a patch through a beam as wide, and so a little of what lies beside it."""

    landscape: Landscape
    beam: zn.Beam

    def __call__(self, instrument, region: zn.Region) -> float:
        """Return a brightness as the radiometer does, of the beam's average."""
        seen = self.landscape.average(region, self.beam)
        return seen + (SYSTEM + seen) * (instrument(region) - instrument.average(region))


def through_a_beam(runs: int, share: float) -> None:
    """Compare a search that knows of the beam with one that takes it for a boxcar."""
    landscape, beam = box(data.sky()), zn.Beam(share=1.0)
    told = {"told of the beam": Zonal((("feedback", beam),)), "told of a boxcar": Zonal()}
    budget = round(share * 64 * 64)
    players = settled(told, Beamed(landscape, beam))
    rehearsal = rehearse(landscape, budget, (budget / TIME) ** 0.5, runs, players)
    print(f"box, seen through a beam: {budget} pointings, {runs} runs\n{rehearsal.table()}")


def contestants(space) -> dict:
    """Return who plays: everybody, and GPOO once more with two looks at a patch at most."""
    players = everybody(space, value_name="column density", value_unit="1e20 / cm$^2$")
    names = [*list(players)[:3], "Zonal, GPOO, 2 looks", *list(players)[3:]]
    players["Zonal, GPOO, 2 looks"] = Zonal((*players["Zonal, GPOO"].settings, ("max_looks", 2)))
    return settled({who: players[who] for who in names}, radiometer)


def main(runs: int, share: float, out: str) -> None:
    """Compare Zonal with three ways to do without it, and draw one campaign on each sky."""
    skies = {"box": box(data.sky()), "a made sky": box(made_sky()), "HEALPix": healpix_tree()}
    with column_width():
        figure, axes = plt.subplots(3, 2, figsize=(11, 11), width_ratios=[1.7, 1], layout="constrained")
        for (sky, regrets), (name, landscape) in zip(axes, skies.items(), strict=True):
            space, best = landscape.space, landscape.best()
            budget = round(share * space.count(space.deepest()))
            noise = (budget / TIME) ** 0.5  # of one pointing, relative to what it sees
            players = contestants(space)
            rehearsal = rehearse(landscape, budget, noise, runs, players)
            studies = {who: campaign(players[who], landscape, budget, noise) for who in ("Zonal", "Zonal, GPOO")}
            print(f"{name}: {budget} pointings for {space.count(space.deepest())} patches, {runs} runs")
            print(f"brightest patch: {best.average:.1f} at {best.region.name}\n{rehearsal.table()}")
            looks = ", ".join(f"{who} {study.tree.count.max()}" for who, study in studies.items())
            print(f"most looks at one patch, first run: {looks}\n")
            draw(studies["Zonal"], landscape, sky, name)
            plot_regrets(rehearsal, regrets).set_title(f"{budget} pointings, {runs} runs")
        figure.savefig(out, dpi=110)
    through_a_beam(runs, share)


def draw(study: zn.Study, landscape: Landscape, ax: plt.Axes, name: str) -> None:
    """Draw the sky with the pointings and the patch found; of HEALPix the pixels' unit vectors."""
    if name != "HEALPix":
        plot_map(study, ax, made_sky().T if name == "a made sky" else data.sky().T)
    else:
        x, y, z = landscape.space.features.T
        values = [landscape.average(landscape.space.region([row])) for row in landscape.space.rows]
        shown = ax.scatter(np.degrees(np.arctan2(y, x)), z, c=values, cmap="cividis", s=66, marker="D", lw=0)
        seen, best = np.array([trial.region.center for trial in study.trials]), smallest(study).center
        ax.scatter(np.degrees(np.arctan2(seen[:, 1], seen[:, 0])), seen[:, 2], s=30, fc="none", ec="#D55E00")
        place = np.degrees(np.arctan2(best[1], best[0])), best[2]
        ax.scatter(*place, s=170, marker="*", color="#009E73", ec="white")
        ax.set(xlim=(-180, 180), ylim=(-1, 1), xlabel="l [deg]", ylabel="sin_b")
        ax.figure.colorbar(shown, ax=ax, pad=0.01, fraction=0.04, label="column density [1e20 / cm$^2$]")
    ax.set_title(f"Zonal on {name}: pointings (rings) and the patch found (star)", pad=22)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--out", default="radio_telescope.png")
    main(**vars(parser.parse_args()))
