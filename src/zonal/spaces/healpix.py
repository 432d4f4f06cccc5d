"""The sky in HEALPix pixels of nested order: the number of a pixel says which larger pixels contain it.

A cell is named ``"order/pixel"``, as in the text form of multi-order coverage maps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from zonal._types import Floats, Ints
from zonal.errors import listed, require, whole_number
from zonal.io.files import library

if TYPE_CHECKING:
    from zonal.spaces.finite import SubsetRegion

FRAMES = ("icrs", "galactic")
MAX_ORDER = 29  # the numbers of smaller pixels do not fit into 64 bits
MAX_PIXELS = 100_000


def columns_of_sky(order: int, frame: str, pixels: Sequence[int] | None) -> tuple[dict[str, list[str]], Floats]:
    """Return one column of cells per order, with one row per pixel, and the pixels' unit vectors."""
    order = whole_number(order, "order", 0, MAX_ORDER)
    number = 12 * 4**order
    given = None if pixels is None else listed(pixels, "pixels must be a list of numbers", "Pass [0, 1, ...].")
    size = number if given is None else len(given)
    fix = "Pass a lower order, or pixels= for a part of the sky."
    require(0 < size <= MAX_PIXELS, f"a sky has between 1 and {MAX_PIXELS} pixels", size, fix)
    every = range(size) if given is None else [whole_number(pixel, "a pixel", 0, number - 1) for pixel in given]
    at = np.array(every, dtype=np.int64)
    require(len(np.unique(at)) == size, "a pixel is listed twice", size, "Pass each pixel once.")
    healpix: Any = library("healpix", "a sky of HEALPix pixels", f"order={order}", "Run pip install 'zonal[sky]'.")
    vectors = np.stack(healpix.pix2vec(2**order, at, nest=True), axis=1)
    above = {h: (at >> 2 * (order - h)).tolist() for h in range(order + 1)}
    return {_level(frame, h): [f"{h}/{pixel}" for pixel in cells] for h, cells in above.items()}, vectors


def _level(frame: str, order: int) -> str:
    """Return the name of a level, by which a sky is known again when it was read from a file."""
    return f"{frame} order {order}"


def frame_of_sky(levels: Sequence[str], leaf: str) -> str:
    """Return the frame of a hierarchy with these names of levels, and of its first leaf; "" if it is no sky."""
    if re.fullmatch(r"\d+/\d+", leaf) is None:
        return ""
    return next((name for name in FRAMES if list(levels) == [_level(name, h) for h in range(len(levels))]), "")


def cells_of(regions: Iterable[SubsetRegion]) -> tuple[Ints, Ints]:
    """Return order and number of the pixels that some nodes of a sky are."""
    names = [region.name.rpartition(" ")[2].split("/") for region in regions]
    orders, pixels = np.array(names, dtype=np.int64).reshape(-1, 2).T
    return orders, pixels
