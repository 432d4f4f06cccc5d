"""The skies that the radio telescope looks at, and what it reads there."""

import healpix
import numpy as np

import zonal as zn
from zonal.simulation import Landscape, datasets, from_table

SYSTEM = 100.0  # what the receiver itself adds, in units of the sky's brightness, which ranges from 1 to 200


def box(sky: np.ndarray) -> Landscape:
    """Return a sky as a box: equal areas, and longitude is a ring. Smallest patches: 64 x 64."""
    axes = {"l": (-180, 180), "sin_b": (-1, 1)}
    return from_table(
        zn.Box(axes, smallest=[360 / 64, 2 / 64], units={"l": "deg"}, periodic=["l"]), sky, axes=("sin_b", "l")
    )


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
    values = datasets.sky()[rows, columns].reshape(len(pixels), -1).mean(axis=1)
    levels = {f"order {h}": [f"{h}/{p}" for p in pixels >> 2 * (order - h)] for h in range(order + 1)}
    vectors = np.stack(healpix.pix2vec(2**order, pixels, nest=True), axis=1)
    return from_table(zn.Hierarchy.from_table(levels, vectors), values)


def radiometer(instrument, region: zn.Region, time: float = 1.0) -> float:
    """Return a brightness whose noise is (system + sky) / sqrt(time), as the radiometer equation has it."""
    brightness = instrument.average(region)
    return brightness + (SYSTEM + brightness) * (instrument(region, time) - brightness)
