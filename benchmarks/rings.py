"""A ring against the same axis cut open, on a sky turned so that its brightest patch ends at the cut.

.venv/bin/python -m benchmarks.rings --runs 10
"""

import argparse

import numpy as np

import zonal as zn
from zonal import data
from zonal.campaigns.rehearsal import Zonal, rehearse
from zonal.problems import Landscape, from_table

SIDE = 64  # smallest patches along each axis


def landscape(sky: np.ndarray, rings: list[str]) -> Landscape:
    """Return a sky as a box of equal areas."""
    axes, smallest = {"l": (-180, 180), "sin_b": (-1, 1)}, [360 / SIDE, 2 / SIDE]
    return from_table(zn.Box(axes, smallest=smallest, units={"l": "deg"}, periodic=rings), sky.T)


def main(runs: int, budget: int, turned: bool) -> None:
    """Play campaigns with the default, and print what they found."""
    sky = data.sky()
    if turned:
        patches = sky.reshape(SIDE, sky.shape[0] // SIDE, SIDE, -1).mean(axis=(1, 3))
        width = sky.shape[1] // SIDE
        sky = np.roll(sky, -width * (int(patches.max(axis=0).argmax()) + 1), axis=1)
    print(f"{'turned' if turned else 'as it is'}: {budget} pointings with a noise of 2, {runs} runs")
    for name, rings in {"ring": ["l"], "cut open": []}.items():
        print(rehearse(landscape(sky, rings), budget, 2.0, runs, {name: Zonal()}).table())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--budget", type=int, default=60)
    parser.add_argument("--as-it-is", dest="turned", action="store_false")
    main(**vars(parser.parse_args()))
