"""A search on the sky for other programs: coverage maps (MOC) and multi-order maps in HEALPix pixels.

The words are `Study.to_moc` and `Study.to_skymap`; astropy and mocpy are imported when they are called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from zonal._types import Flags, Floats, Ints
from zonal.errors import probability as checked_probability
from zonal.errors import require
from zonal.io.files import library
from zonal.spaces import Hierarchy
from zonal.spaces.healpix import cells_of
from zonal.study.best_regions import BestRegions, best_regions

if TYPE_CHECKING:
    from zonal.study.study import Study

INSTALL = "Run pip install 'zonal[sky]'."
COORDSYS = {"icrs": "C", "galactic": "G"}  # letters of the HEALPix convention in FITS


class Sky(NamedTuple):
    """The smallest regions of a search on the sky."""

    order: Ints
    pixel: Ints
    best: BestRegions

    @property
    def areas(self) -> Floats:
        """The solid angle of each pixel, in steradians."""
        return np.asarray(np.pi / 3 / 4.0**self.order)


def moc(study: Study, probability: float) -> Any:
    """Return the smallest set of pixels that contains the best one with a probability: see `Study.to_moc`."""
    wanted = checked_probability(probability, "probability")
    frame = _frame(study, "a coverage map")
    fix = "Make the space with frame='icrs', or use to_skymap()."
    require(frame == "icrs", "a coverage map counts its pixels in ICRS", frame, fix)
    mocpy: Any = library("mocpy", "a coverage map", "to_moc", INSTALL)
    sky = _sky(study)
    inside = _credible(sky, wanted)
    cells = sky.pixel[inside].astype(np.uint64), sky.order[inside].astype(np.uint8)
    return mocpy.MOC.from_healpix_cells(*cells, max_depth=int(sky.order.max()))


def _credible(sky: Sky, wanted: float) -> Flags:
    """Return the densest pixels that hold a probability.

    One half of the draws puts the pixels in order and the other half is counted: counted by the same draws that
    put it in order, a set would hold less than it says.
    """
    ordered, counted = sky.best.halves
    order = np.lexsort((-sky.best.height, -ordered / sky.areas))
    number = int(np.searchsorted(np.cumsum(counted[order]), wanted - 1e-12)) + 1
    inside = np.zeros(len(order), dtype=bool)
    inside[order[:number]] = True
    return inside


def skymap(study: Study) -> Any:
    """Return the smallest pixels with their probabilities, means and errors: see `Study.to_skymap`."""
    frame = _frame(study, "a sky map")
    table: Any = library("astropy.table", "a sky map", "to_skymap", INSTALL)
    units: Any = library("astropy.units", "a sky map", "to_skymap", INSTALL)
    sky, settings = _sky(study), study.settings
    columns = {
        "UNIQ": 4 ** (sky.order + 1) + sky.pixel,
        "PROBDENSITY": np.mean(sky.best.halves, axis=0) / sky.areas,
        "MEAN": sky.best.mean,
        "STD": sky.best.std,
    }
    unit = units.Unit(settings.value_unit, parse_strict="silent")
    given = unit if settings.value_unit and not isinstance(unit, units.UnrecognizedUnit) else None
    meta = {
        "PIXTYPE": "HEALPIX",
        "ORDERING": "NUNIQ",
        "COORDSYS": COORDSYS[frame],
        "INDXSCHM": "EXPLICIT",
        "MOCORDER": int(sky.order.max()),
        "CREATOR": "Zonal",
    }
    return table.QTable(columns, units={"PROBDENSITY": units.sr**-1, "MEAN": given, "STD": given}, meta=meta)


def _frame(study: Study, what: str) -> str:
    """Return the frame of a sky; raise if the space is none."""
    space = study.space
    is_sky = isinstance(space, Hierarchy) and bool(space.frame)
    require(is_sky, f"{what} needs a sky in HEALPix pixels", space, "Search on zn.Hierarchy.healpix(order).")
    return str(space.frame)


def _sky(study: Study) -> Sky:
    """Return the smallest pixels, and how probable it is that each is the best."""
    best = best_regions(study)
    return Sky(*cells_of(best.regions), best)
