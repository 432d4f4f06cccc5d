"""The optimizer of Bluesky Adaptive: by itself, and under a simulated RunEngine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn
from zonal.adapters.bluesky import RegionOptimizer
from zonal.storage.verify import first_difference

PEAK = 0.7


def optimizer(budget: int = 30) -> RegionOptimizer:
    study = zn.Study(zn.Box({"motor": (0, 1)}, smallest=0.05), budget=budget, noise=0.01)
    return RegionOptimizer(study, "counts")


def measured(point: dict[str, Any]) -> dict[str, Any]:
    x = np.linspace(point["motor_low"], point["motor_high"], 50)
    return {"_id": point["_id"], "counts": float(np.mean(np.exp(-(((x - PEAK) / 0.1) ** 2))))}


def test_thirty_measurements_find_the_peak_and_stop() -> None:
    ours = optimizer()
    while not ours.should_stop()[0]:
        ours.ingest([measured(point) for point in ours.suggest(4)])  # and the last two
    assert ours.study.measured == 30
    [(trial, edges, outcome)] = ours.get_best_points()
    assert trial is None or ours.study.trials[trial].region.name == ours.study.recommend().region.name
    assert edges["motor_low"] < PEAK < edges["motor_high"]
    assert outcome["counts"] == pytest.approx(ours.study.recommend().mean)
    with pytest.raises(ValueError, match="budget"):
        ours.suggest()


def test_failures_and_what_others_measured() -> None:
    ours = optimizer(9)
    points = ours.suggest(3)
    ours.register_failures(points[:2])
    ours.ingest([{**points[2], "counts": math.nan}])
    assert ours.study.measured == 0
    assert ours.study.remaining == 9
    ours.ingest([{"motor_low": 0.1, "motor_high": 0.3, "counts": 0.2, "counts_sem": 0.1, "_id": "baseline"}])
    [observation] = ours.study.observations
    assert observation.sem == 0.1
    [point] = ours.suggest()
    for wrong in (
        {"_id": 99, "counts": 0.1},
        {"_id": -1, "counts": 0.1},
        {"_id": 0},
        {"motor_low": 0.1, "counts": 0},
    ):
        with pytest.raises(zn.InvalidInput):
            ours.ingest([{"_id": point["_id"], "counts": 0.5}, wrong])
    assert ours.study.measured == 0  # all of them, or none
    row = {"_id": math.nan, "motor_low": 0.1, "motor_high": 0.2, "counts": 0.3, "counts_sem": math.nan}
    ours.ingest([row])  # as a table has it
    assert [own.sem for own in ours.study.observations] == [0.1, None]
    with pytest.raises(zn.InvalidInput, match="intervals"):
        RegionOptimizer(zn.Study(zn.Sequences("ACGT", 3), budget=9))


def test_a_simulated_run_engine_runs_a_campaign_of_fly_scans(tmp_path: Path) -> None:
    pytest.importorskip("bluesky_adaptive")
    sim = pytest.importorskip("ophyd.sim")
    from bluesky import RunEngine
    from bluesky import plan_stubs as bps
    from bluesky import preprocessors as bpp
    from bluesky_adaptive import protocols
    from bluesky_adaptive.plans import optimize

    motor = sim.SynAxis(name="motor")
    detector = sim.SynGauss("counts", motor, "motor", center=PEAK, Imax=1.0, sigma=0.07)
    space = zn.Box({"motor": (0, 1)}, smallest=0.05)
    study = zn.Study.create(tmp_path / "scan.db", space, budget=30, noise=0.01)
    ours = RegionOptimizer(study, "counts")
    for protocol in ("Optimizer", "TrialFaultAware", "SupportsStoppingCriteria"):
        assert isinstance(ours, getattr(protocols, protocol))

    def fly(suggestions: Sequence[Any], actuators: Any, sensors: Any = None, md: Any = None) -> Any:
        readings: dict[int, list[float]] = {}

        @bpp.set_run_key_decorator("fly")  # type: ignore[untyped-decorator]
        @bpp.run_decorator(md=dict(md or {}))  # type: ignore[untyped-decorator]
        def scan() -> Iterator[Any]:
            for region in suggestions:
                low, high = region["motor_low"], region["motor_high"]
                flyer = sim.MockFlyer(f"trial_{region['_id']}", detector, motor, low, high, 9)
                yield from bps.kickoff(flyer, wait=True)
                yield from bps.complete(flyer, wait=True)
                events = yield from bps.collect(flyer)
                readings[region["_id"]] = [event["data"]["counts"] for event in events]

        yield from scan()
        return readings

    def averages(readings: dict[int, list[float]], suggestions: Sequence[Any]) -> list[dict[str, Any]]:
        return [{"_id": region["_id"], "counts": np.mean(readings[region["_id"]])} for region in suggestions]

    problem: Any = protocols.OptimizationProblem(ours, [motor], [detector], averages, fly)
    RunEngine()(optimize(problem, iterations=None, n_points=3))
    assert study.measured == 30
    assert study.recommend().region.center[0] == pytest.approx(PEAK, abs=0.05)
    assert first_difference(study.settings, study.events) == ""
