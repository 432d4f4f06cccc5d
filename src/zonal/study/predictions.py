"""Predicted averages of regions: numbers, a table with the regions, or arrays with one dimension per axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from zonal._types import Floats
from zonal.errors import probability as checked_probability
from zonal.errors import reject, require
from zonal.gp.likelihoods import Likelihood, ends
from zonal.io.files import library
from zonal.io.result_table import Cell, Listing, counted, labelled
from zonal.spaces import Region
from zonal.study.areas import area_frame
from zonal.study.listings import column_of, joined


class _Pair(NamedTuple):
    mean: Any
    std: Any


class Prediction(_Pair):
    """Posterior mean and standard deviation of averages.

    Attributes
    ----------
    mean, std : float or array
        Numbers for one region, arrays for several.
    regions : tuple of Region
        The regions, if there are several.
    unit : str
        Of mean and std.
    likelihood : Counts, Proportion or None
        What was read.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    >>> for trial in study.ask(3):
    ...     study.tell(trial, 1 - trial.node[1])
    >>> prediction = study.predict([(0.2, 0.3)])
    >>> float(prediction.std) < 1
    True
    """

    _regions: Sequence[Region] | Callable[[], Sequence[Region]] = ()
    unit: str = ""
    likelihood: Likelihood | None = None

    def _of(
        self,
        regions: Sequence[Region] | Callable[[], Sequence[Region]],
        unit: str,
        likelihood: Likelihood | None = None,
    ) -> Self:
        self._regions, self.unit, self.likelihood = regions, unit, likelihood
        return self

    @property
    def regions(self) -> tuple[Region, ...]:
        """The regions, if there are several; many are made when they are first asked for."""
        if not isinstance(self._regions, tuple):
            self._regions = tuple(self._regions() if callable(self._regions) else self._regions)
        return self._regions

    def interval(self, probability: float = 0.9) -> tuple[Any, Any]:
        """Return the ends of the central interval that holds each average with a probability, under the model.

        It is normal; of rates it is that of a gamma distribution of this mean and std, of shares of a beta
        distribution, so that no rate is negative.
        """
        return ends(self.likelihood, self.mean, self.std, checked_probability(probability, "probability"))

    def table(self) -> Listing:
        """Return a table of several regions: where each is, mean and standard deviation."""
        _need_regions(self)
        regions, unit = list(self.regions), self.unit
        means: list[Cell] = self.mean.tolist()
        stds: list[Cell] = self.std.tolist()
        ours: dict[str, list[Cell]] = {"region": [region.name for region in regions]}
        ours |= {labelled("mean", unit): means, labelled("std", unit): stds}
        columns = joined(ours, regions, "study")
        mean, std = column_of(columns, means), column_of(columns, stds)
        return Listing(f"Averages of {counted(len(self.regions), 'region')}", columns, {mean: std, std: std})

    def to_geodataframe(self, shapes: Any = None) -> Any:
        """Return a GeoDataFrame of several regions of points or areas: the table, and the shape of each region.

        Parameters
        ----------
        shapes : GeoDataFrame, GeoSeries or sequence of geometries, optional
            One per member; by default those of the GeoDataFrame that the space was made from. A study's file has
            none.
        """
        _need_regions(self)
        return area_frame(self.regions, self.table().to_dict(), shapes)

    def to_grid(self) -> Grid:
        """Return mean and standard deviation as arrays with one dimension per axis, if the regions are a grid."""
        _need_regions(self)
        regions: list[Any] = list(self.regions)
        space = regions[0].space
        fix = "Use table()."
        require(space.axes is not None, "points and areas are not on a grid", space, fix)
        edges = np.array([[part[2] for _, part in region.along] for region in regions])
        shape, places, bounds, axes = [], [], {}, {}
        for j, axis in enumerate(space.axes):
            _, first, place = np.unique(edges[:, j], axis=0, return_index=True, return_inverse=True)
            parts = [regions[at].along[j][1] for at in first.tolist()]
            bounds[axis.name] = np.array([axis.bounds(part) for part in parts])
            axes[axis.name] = np.array(
                [axis.to_json(part) if axis.is_categorical else axis.center(part) for part in parts]
            )
            shape.append(len(parts))
            places.append(place.reshape(-1))
        at = np.ravel_multi_index(places, shape)
        whole = len(np.unique(at)) == len(at) == math.prod(shape)
        require(whole, "these regions are not a grid: not one for each combination of parts", len(at), fix)
        order = np.argsort(at)
        return Grid(self.mean[order].reshape(shape), self.std[order].reshape(shape), axes, bounds)

    def to_xarray(self) -> Any:
        """Return `mean` and `std` as a Dataset of xarray, with the edges of the regions as CF bounds.

        Like `to_grid`, for regions that are a grid. Needs the extra ``raster``.

        Examples
        --------
        >>> import zonal as zn
        >>> study = zn.Study(zn.Box({"x": (0, 1)}, smallest=0.25), budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
        >>> study.predict().to_xarray()["x_bounds"].values[0].tolist()
        [0.0, 0.25]
        """
        return _dataset(self.to_grid(), self.regions[0].space, self.unit)


def _need_regions(prediction: Prediction) -> None:
    fix = "Pass a list of regions, or none for all of the smallest size."
    require(prediction.regions, "a single number has no table and no grid", tuple(prediction), fix)


@dataclass(frozen=True, eq=False)
class Grid:
    """Predicted averages on a grid of regions.

    Attributes
    ----------
    mean, std : array
        With one dimension per axis, in the order of the space.
    axes : dict of str to array
        The centres of the regions along each axis, or its symbols.
    bounds : dict of str to array of shape (n, 2)
        Their lower and upper edges along each axis; the numbers of the symbols on a categorical one.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=9, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    >>> for trial in study.ask(3):
    ...     study.tell(trial, 1 - trial.node[1])
    >>> cells = [[(at / 4, (at + 1) / 4)] for at in range(4)]
    >>> study.predict(cells).to_grid().mean.shape
    (4,)
    """

    mean: Floats
    std: Floats
    axes: dict[str, Any]
    bounds: dict[str, Floats]


def _dataset(grid: Grid, space: Any, unit: str) -> Any:
    """Return a grid as a Dataset that follows the CF conventions."""
    xarray: Any = library("xarray", "a Dataset", "to_xarray", "Run pip install 'zonal[raster]'.")
    names = list(grid.axes)
    taken = [name for name in names if name in ("mean", "std", "bounds") or f"{name}_bounds" in names]
    reject(taken, "an axis has the name of a variable of the Dataset", "Use to_grid().")
    cells = {"cell_methods": " ".join(f"{name}: mean" for name in names)} | ({"units": unit} if unit else {})
    dataset = xarray.Dataset(
        {
            "mean": (names, grid.mean, {"long_name": "posterior mean", "ancillary_variables": "std", **cells}),
            "std": (names, grid.std, {"long_name": "posterior standard deviation of the mean", **cells}),
        },
        attrs={"Conventions": "CF-1.11", "source": "Zonal"},
    )
    for axis in space.axes:
        name, centers = axis.name, grid.axes[axis.name]
        if axis.is_categorical:
            dataset = dataset.assign_coords({name: [str(symbol) for symbol in centers.tolist()]})
            continue
        attributes = {"bounds": f"{name}_bounds"} | ({"units": axis.unit} if axis.unit else {})
        coordinates = {name: (name, centers, attributes)}
        dataset = dataset.assign_coords({**coordinates, f"{name}_bounds": ((name, "bounds"), grid.bounds[name])})
    return dataset
