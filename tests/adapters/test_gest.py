"""The generator of gest-api."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import zonal as zn

vocs_module = pytest.importorskip("gest_api.vocs")
gest = pytest.importorskip("zonal.adapters.gest")

EDGES = {"x_low": [0.0, 1.0], "x_high": [0.0, 1.0]}
PEAK = 0.7


def vocs(**changes: Any) -> Any:
    return vocs_module.VOCS(**({"variables": EDGES, "objectives": {"f": "MAXIMIZE"}} | changes))


def measure(point: dict[str, Any]) -> dict[str, float]:
    """Return the mean of a Gaussian bump between the edges."""
    low, high, width = point["x_low"], point["x_high"], 0.1
    area = math.erf((high - PEAK) / width) - math.erf((low - PEAK) / width)
    return {"f": area * width * math.pi**0.5 / 2 / (high - low)}


def test_thirty_measurements_find_the_peak() -> None:
    generator = gest.RegionGenerator(vocs(), budget=30, smallest={"x": 0.05}, noise=0.01)
    for _ in range(10):
        generator.ingest([point | measure(point) for point in generator.suggest(3)])
    assert generator.study.measured == 30
    assert abs(generator.study.recommend().region.center[0] - PEAK) < 0.05
    with pytest.raises(ValueError, match="budget"):
        generator.suggest(1)


def test_libensemble_runs_a_campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("libensemble")
    from libensemble import Ensemble
    from libensemble.alloc_funcs.start_only_persistent import only_persistent_gens
    from libensemble.specs import AllocSpecs, ExitCriteria, GenSpecs, LibeSpecs, SimSpecs

    monkeypatch.chdir(tmp_path)  # whatever it writes
    generator = gest.RegionGenerator(vocs(), budget=30, smallest={"x": 0.05}, noise=0.01)
    libe = LibeSpecs(comms="threads", nworkers=4, final_gen_send=True, disable_log_files=True)
    Ensemble(
        libE_specs=libe,
        gen_specs=GenSpecs(generator=generator, vocs=vocs(), batch_size=3),
        sim_specs=SimSpecs(simulator=measure, vocs=vocs()),
        alloc_specs=AllocSpecs(alloc_f=only_persistent_gens),
        exit_criteria=ExitCriteria(sim_max=30),
    ).run()
    assert generator.study.measured == 30
    assert abs(generator.study.recommend().region.center[0] - PEAK) < 0.05


def test_xopt_runs_a_campaign() -> None:
    xopt = pytest.importorskip("xopt")
    generator = gest.RegionGenerator(vocs(), budget=30, smallest={"x": 0.05}, noise=0.01)
    engine = xopt.Xopt(generator=generator, evaluator=xopt.Evaluator(function=measure))
    for _ in range(30):
        engine.step()
    assert engine.generator.study.measured == 30
    assert generator.study.measured == 0  # Xopt works on a copy
    assert abs(engine.generator.study.recommend().region.center[0] - PEAK) < 0.05


def test_results_of_others_are_observations_and_nan_is_a_failure() -> None:
    generator = gest.RegionGenerator(vocs(), budget=9, noise=0.01)
    generator.ingest([{"x_low": 0.0, "x_high": 0.5, "f": 0.1, "f_sem": 0.02}])
    [point] = generator.suggest(1)
    generator.ingest([{**point, "f": math.nan}])
    assert len(generator.study.observations) == 1
    assert generator.study.trials[0].state == "failed"
    with pytest.raises(ValueError, match="_id"):
        generator.ingest([{**point, "_id": 99, "f": 0.1}])


def test_a_vocs_that_does_not_describe_regions_is_refused() -> None:
    for changes in (
        {"variables": {"x": [0.0, 1.0]}},
        {"variables": {"x_low": [0.0, 1.0], "x_high": [0.0, 2.0]}},
        {"objectives": {"f": "MAXIMIZE", "g": "MINIMIZE"}},
        {"constraints": {"c": ["LESS_THAN", 1.0]}},
    ):
        with pytest.raises(zn.InvalidInput):
            gest.RegionGenerator(vocs(**changes), budget=9)
