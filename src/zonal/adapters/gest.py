"""A generator for engines that speak gest-api: `suggest` regions, `ingest` readings.

A VOCS names scalars, so the edges of a region are two variables: ``x_low`` and ``x_high`` with the same domain
are the axis ``x``. The engine's evaluator averages over what lies between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zonal.adapters import region_points
from zonal.adapters.region_points import HIGH, LOW
from zonal.errors import require
from zonal.io.files import library
from zonal.spaces import Box
from zonal.study.study import Study

Generator: Any = library("gest_api", "zonal.adapters.gest", "gest", "Run pip install 'zonal[gest]'.").Generator

PAIRS = "Name the variables x_low and x_high, both with the domain of x."


class RegionGenerator(Generator):  # type: ignore[misc]  # gest-api has no types
    """A search for the best region, as a generator of gest-api.

    Parameters
    ----------
    vocs : VOCS
        Two variables per axis, ``x_low`` and ``x_high`` with the same domain, and one objective to maximise or
        minimise. A value under the objective's name with ``_sem`` is the standard error of a reading.
    budget : int
        The number of measurements.
    smallest : mapping of axis to number, optional
        The smallest useful size of a region on each axis.
    **settings
        Of `Study`, such as ``noise``.

    Examples
    --------
    >>> from gest_api.vocs import VOCS
    >>> edges = {"x_low": [0.0, 1.0], "x_high": [0.0, 1.0]}
    >>> generator = RegionGenerator(VOCS(variables=edges, objectives={"f": "MAXIMIZE"}), budget=9, noise=0.1)
    >>> [point] = generator.suggest(1)
    >>> generator.ingest([{**point, "f": 0.7}])
    >>> generator.study.measured
    1
    """

    returns_id = True
    study: Study

    def __init__(
        self, vocs: Any, budget: int, smallest: Mapping[str, float] | None = None, **settings: Any
    ) -> None:
        self._validate_vocs(vocs)
        self.vocs = vocs
        [(self.objective, kind)] = vocs.objectives.items()
        self.constants = {name: getattr(constant, "value", constant) for name, constant in vocs.constants.items()}
        direction: Any = "minimize" if type(kind).__name__ == "MinimizeObjective" else "maximize"
        space = Box(_axes(vocs), smallest=smallest)
        self.study = Study(space, budget=budget, direction=direction, **settings)

    def _validate_vocs(self, vocs: Any) -> None:
        """Raise unless the variables are pairs of edges, and there is one objective and no constraint."""
        _axes(vocs)
        kinds = [type(kind).__name__ for kind in vocs.objectives.values()]
        fits = kinds in (["MinimizeObjective"], ["MaximizeObjective"])
        require(fits, "a VOCS must have one objective, to maximise or to minimise", kinds, "Pass one.")
        require(not vocs.constraints, "constraints are not supported", list(vocs.constraints), "Pass forbidden=.")

    def suggest(self, num_points: int | None = None) -> list[dict[str, Any]]:
        """Return the next regions to measure, each with its edges and the number of its trial."""
        return [point | self.constants for point in region_points.suggest(self.study, num_points)]

    def ingest(self, results: list[dict[str, Any]]) -> None:
        """Tell the study what was measured; results without an ``_id`` are observations, NaN is a failure."""
        region_points.ingest(self.study, self.objective, results)


def _axes(vocs: Any) -> dict[str, tuple[float, float]]:
    """Return the bounds of each axis."""
    axes: dict[str, tuple[float, float]] = {}
    for name, variable in vocs.variables.items():
        stem = name.removesuffix(LOW).removesuffix(HIGH)
        domain: Any = getattr(variable, "domain", None)
        pair = [getattr(vocs.variables.get(stem + side), "domain", None) for side in (LOW, HIGH)]
        fits = stem != name and domain is not None and pair == [domain, domain]
        require(fits, "a variable must be an edge of a region, with its other edge beside it", name, PAIRS)
        axes[stem] = (float(domain[0]), float(domain[1]))
    return axes
