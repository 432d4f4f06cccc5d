"""Files of areas, GeoPackage and GeoJSON, read and written by geopandas (extra `geo`).

A file's attributes are columns like those of any table, and the centroids of its shapes are two more. This module
must not know what they mean.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from zonal.errors import CannotWrite, InvalidInput
from zonal.io.dataframes import as_frame, without_shapes
from zonal.io.files import library

DRIVERS = {".gpkg": "GPKG", ".geojson": "GeoJSON"}
FIX = "Run pip install 'zonal[geo]', or save the table as CSV."
WGS84 = 4326  # what GeoJSON is in


def read_areas(path: Path) -> Any:
    """Return the GeoDataFrame of a file."""
    geopandas: Any = library("geopandas", "a file of areas", str(path), FIX)
    if not path.exists():
        raise InvalidInput("there is no such file", str(path), "Check the path.")
    try:
        frame = geopandas.read_file(path)
        frame.geometry  # noqa: B018  # a table without shapes has none, and says so
    except Exception as error:  # a damaged file can cause any error
        problem = f"the file has no areas that can be read ({error})"
        raise InvalidInput(problem, str(path), "Save it as GeoPackage or GeoJSON.") from None
    return frame


def area_columns(path: Path) -> dict[str, list[float | str]]:
    """Return the attributes of areas, and the centroids of their shapes: lon and lat, or x and y; "" if empty."""
    frame = read_areas(path)
    centroids = as_frame(frame)
    assert centroids is not None
    plain = without_shapes(frame)
    columns = {name: values.tolist() for name, values in centroids.columns.items()}
    columns |= {str(name): plain[name].tolist() for name in plain.columns}
    return {name: list(map(_cell, cells)) for name, cells in columns.items()}


def _cell(cell: Any) -> float | str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    return cell if isinstance(cell, int | float) and not isinstance(cell, bool) else str(cell)


def write_areas(frame: Any, path: Path) -> None:
    """Write a GeoDataFrame by the file's ending; GeoJSON in degrees, as it is defined."""
    driver = DRIVERS[path.suffix.lower()]
    if driver == "GeoJSON" and frame.crs is not None:
        frame = frame.to_crs(WGS84)
    try:
        frame.to_file(path, driver=driver)
    except OSError as error:
        raise CannotWrite(path, error) from error
