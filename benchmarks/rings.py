"""A ring against the same axis cut open: on a sky, and on functions drawn on a ring, their peak at the cut or not.

.venv/bin/python -m benchmarks.rings --runs 10   # the sky, its brightest patch turned to the cut
.venv/bin/python -m benchmarks.rings --draws --runs 60 --budget 30
"""

import argparse

import numpy as np

import zonal as zn
from zonal.simulation import Landscape, datasets, from_table
from zonal.simulation.rehearsal import StudyPlayer, rehearse

SIDE = 64  # smallest patches along each axis


def landscape(sky: np.ndarray, rings: list[str]) -> Landscape:
    """Return a sky as a box of equal areas."""
    axes, smallest = {"l": (-180, 180), "sin_b": (-1, 1)}, [360 / SIDE, 2 / SIDE]
    return from_table(zn.Box(axes, smallest=smallest, units={"l": "deg"}, periodic=rings), sky.T)


def drawn(rng: np.random.Generator) -> np.ndarray:
    """Return the averages of a function drawn on a ring, in 1,024 equal parts."""
    lengthscale, waves = np.exp(rng.uniform(np.log(0.04), np.log(0.2))), np.arange(200)
    power = np.exp(-0.5 * (2 * np.pi * waves * lengthscale) ** 2)
    power[1:] *= 2
    cosines, sines = rng.standard_normal((2, len(waves))) * np.sqrt(power / power.sum())
    phase = 2 * np.pi * np.outer((np.arange(1024) + 0.5) / 1024, waves)
    return np.asarray(np.cos(phase) @ cosines + np.sin(phase) @ sines)


def play_draws(runs: int, budget: int) -> None:
    """Print mean regrets on draws, with the best region next to the cut and half way round."""
    for place, to in {"at the cut": 0, "half way round": SIDE // 2}.items():
        regrets: dict[str, list[float]] = {"ring": [], "cut open": []}
        for run in range(runs):
            f = drawn(np.random.default_rng(1000 + run))
            best = int(f.reshape(SIDE, -1).mean(axis=1).argmax())
            f = np.roll(f, (to - best) * (len(f) // SIDE))
            for name, own in regrets.items():
                space = zn.Box({"x": (0, 1)}, smallest=1 / SIDE, periodic=["x"] if name == "ring" else [])
                played = rehearse(from_table(space, f), budget, 0.3, 1, {name: StudyPlayer()}, rng=run, jobs=1)
                own.append(played.campaigns[name].mean)
        ring, cut = (np.array(own) for own in regrets.values())
        print(f"peak {place}: {budget} looks with a noise of 0.3, {runs} runs")
        for name, own in {"ring": ring, "cut open": cut, "ring less cut open": ring - cut}.items():
            print(f"{name:20s} {own.mean():8.4f} +- {own.std(ddof=1) / np.sqrt(runs):.4f}")


def main(runs: int, budget: int, turned: bool, draws: bool) -> None:
    """Play campaigns with the default, and print what they found."""
    if draws:
        return play_draws(runs, budget)
    sky = datasets.sky()
    if turned:
        patches = sky.reshape(SIDE, sky.shape[0] // SIDE, SIDE, -1).mean(axis=(1, 3))
        width = sky.shape[1] // SIDE
        sky = np.roll(sky, -width * (int(patches.max(axis=0).argmax()) + 1), axis=1)
    print(f"{'turned' if turned else 'as it is'}: {budget} pointings with a noise of 2, {runs} runs")
    for name, rings in {"ring": ["l"], "cut open": []}.items():
        print(rehearse(landscape(sky, rings), budget, 2.0, runs, {name: StudyPlayer()}).table())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--budget", type=int, default=60)
    parser.add_argument("--as-it-is", dest="turned", action="store_false")
    parser.add_argument("--draws", action="store_true")
    main(**vars(parser.parse_args()))
