"""Rasters as known truths: a DataArray of xarray, or a file that xarray or rioxarray opens.

A raster brings its own space, the box that its pixels cover. Of a DataArray only names, positions and values are
read, so that xarray is imported for files alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from zonal._types import Floats
from zonal.errors import attribute, plain_array, reject, require
from zonal.io.files import file_path, library
from zonal.simulation.ground_truth import Direction, Landscape, from_table
from zonal.spaces import Box

Smallest = float | Mapping[str, float]
INSTALL = "Run pip install 'zonal[raster]'."
GEOTIFF = (".tif", ".tiff")
DEGREES = {"degree", "degrees", "degrees_north", "degrees_east", "degree_north", "degree_east"}  # CF's names


def from_raster(
    raster: Any, smallest: Smallest | None = None, direction: Direction = "maximize", variable: str | None = None
) -> Landscape:
    """Return the landscape of a raster, on the box that its pixels cover: ``.space`` is that box.

    Parameters
    ----------
    raster : DataArray or path
        Evenly spaced positions along every dimension; dimensions of length one are left out. A GeoTIFF is read by
        rioxarray, anything else, such as NetCDF, by xarray: the extra ``raster``.
    smallest : mapping of dimension to number, or float, optional
        The smallest useful size of a region, as for `Box`; by default a pixel, or what halving leads to near it.
    direction : {"maximize", "minimize"}
        Whether high or low averages are best.
    variable : str, optional
        Which variable of a file with several.

    Examples
    --------
    >>> import xarray
    >>> ages = xarray.DataArray([[1.0, 2.0], [9.0, 4.0]], {"y": [20, 10], "x": [0, 1]})
    >>> from_raster(ages).best().region.name
    'y 5..15, x -0.5..0.5'
    """
    array = _opened(raster, variable) if isinstance(raster, str | os.PathLike) else raster
    is_array = all(attribute(array, name) is not None for name in ("dims", "coords", "squeeze"))
    require(is_array, "a raster must be a DataArray or a path", type(array).__name__, "Pass array[name].")
    array = array.squeeze()
    bounds, units = {}, {}
    for name in map(str, array.dims):
        bounds[name], units[name] = _edges(array, name), _unit(attribute(array.coords.get(name), "attrs"))
    require(bounds, "a raster must have more than one pixel", array.shape, "Pass a map.")
    pixels = {name: (high - low) / array.sizes[name] for name, (low, high) in bounds.items()}
    values = plain_array(array.values, "a raster must have numbers", "Convert it.", float)
    gaps = np.argwhere(~np.isfinite(values))
    fix = "Choose an area without gaps, or fill them: raster.fillna(...), raster.rio.interpolate_na()."
    reject(
        (dict(zip(bounds, gap.tolist(), strict=True)) for gap in gaps[:1]),
        "a raster has a pixel without a value",
        fix,
    )
    space = Box(bounds, smallest=pixels if smallest is None else smallest, units=units)
    return from_table(space, array, direction=direction)


def _opened(path: str | os.PathLike[str], variable: str | None) -> Any:
    """Return the array of a file."""
    file = file_path(path)
    require(file.exists(), "there is no such file", str(path), "Check the path.")
    if file.suffix.lower() in GEOTIFF:
        rioxarray: Any = library("rioxarray", "a GeoTIFF", str(path), INSTALL)
        array = rioxarray.open_rasterio(file, masked=True).squeeze()
        fix = "Pass one of them: rioxarray.open_rasterio(path, masked=True).sel(band=1)."
        require("band" not in array.dims, "a raster must have one band", array.sizes.get("band"), fix)
        return array
    xarray: Any = library("xarray", "a raster", str(path), INSTALL)
    with xarray.open_dataset(file) as dataset:
        loaded = dataset.load()
    names = list(map(str, loaded.data_vars))
    chosen = names[0] if variable is None and len(names) == 1 else variable
    require(chosen in names, "a file has several variables, or not this one", variable, f"Pass one of {names}.")
    return loaded[chosen]


def _edges(array: Any, name: str) -> tuple[float, float]:
    """Return the outer edges of the pixels along a dimension, whose positions are their centres."""
    fix = f"Give the array its positions: array.assign_coords({name}=...)."
    require(name in array.coords, f"dimension {name} has no positions", list(array.coords), fix)
    problem = f"positions along {name} must be numbers"
    places: Floats = plain_array(array.coords[name].values, problem, "Pass seconds, or days, for times.", float)
    half = abs(float(places[-1] - places[0])) / (len(places) - 1) / 2
    return float(places.min()) - half, float(places.max()) + half


def _unit(attributes: Mapping[str, Any] | None) -> str:
    unit = str((attributes or {}).get("units", ""))
    return "deg" if unit in DEGREES else unit
