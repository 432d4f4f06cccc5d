"""Tells beside people who look: three of them load the history of 3,000 trials again and again."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

import zonal as zn
from effort import tries
from web.server_process import Server, serving

TRIALS = 3000
WATCHERS = 3
PAUSE = 1.0  # seconds between two looks of a watcher: a page reads its history again once in 1.5 s at most


def tells(server: Server, number: int) -> list[float]:
    """Ask and tell, and return how long each tell took, in seconds."""
    at, took = "/api/v1/studies/long", list[float]()
    for _ in range(number):
        (trial,) = server.post(f"{at}/ask", {"by": "robot"}).json
        began = time.perf_counter()
        assert server.post(f"{at}/trials/{trial['trial']}/tell", {"value": 0.5}).status == 200
        took.append(time.perf_counter() - began)
    return took


def test_tells_are_hardly_slower_beside_three_who_load_a_long_history(tmp_path: Path) -> None:
    """The 95th percentile is at most twice that without them: in rounds that alternate, the best of five."""
    rng = np.random.default_rng(0)
    space = zn.Box({"l": (-180, 180), "sin_b": (-1, 1)})
    given: dict[str, Any] = {"kernel": zn.RBF(1.0, (40.0, 0.3)), "noise": 0.3, "rng": 0}
    study = zn.Study(space, budget=10_000, policy=zn.GPOO(h_max=9), **given)
    for _ in range(TRIALS):
        trial = study.ask()
        study.tell(trial, float(np.cos(trial.region.center[0] / 40) + 0.3 * rng.normal()))
    study.save(tmp_path / "long.db")
    with serving(tmp_path) as server:
        looked, ended = list[int](), threading.Event()

        def watch(watching: threading.Event) -> None:
            while not ended.is_set():
                if watching.wait(0.1) and not ended.is_set():
                    said = server.get("/api/v1/studies/long/history")
                    looked.append(len(said.json["number"]))
                    ended.wait(PAUSE)

        watching = threading.Event()
        people = [threading.Thread(target=watch, args=(watching,)) for _ in range(WATCHERS)]
        for person in people:
            person.start()
        try:
            tells(server, 3)
            assert server.get("/api/v1/studies/long/history").status == 200  # both are open
            ratios = list[float]()
            for _ in range(5):
                alone, beside = list[float](), list[float]()
                for _ in range(tries(3, 6)):
                    watching.clear()
                    alone += tells(server, 20)
                    watching.set()
                    beside += tells(server, 20)
                ratios.append(float(np.quantile(beside, 0.95) / np.quantile(alone, 0.95)))
                print(f"p95 alone {np.quantile(alone, 0.95):.4f} s, beside {np.quantile(beside, 0.95):.4f} s")
                if ratios[-1] <= 2:
                    break
        finally:
            ended.set()
            for person in people:
                person.join(30)
    assert len(looked) >= WATCHERS
    assert min(looked) >= TRIALS  # the whole history each time
    assert min(ratios) <= 2, ratios
