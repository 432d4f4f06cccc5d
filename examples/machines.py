"""A campaign of simulated measurements on Dask or Ray whose workers die, and a service with many instruments.

    python examples/machines.py dask --measurements 1000 --workers 8
    python examples/machines.py ray --measurements 1000 --workers 8
    python examples/machines.py service --instruments 200 --measurements 400

Needs `distributed`, `ray`, or `zonal[web]`. Everything stays on this machine.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import zonal as zn

TOP = np.array([0.37, 0.71])
DIES = 0.01  # share of measurements during which the worker ends
SPACE = zn.Box({"x": (0, 1), "y": (0, 1)}, smallest=1 / 64)


def measure(region: zn.Region) -> float:
    """Simulate a measurement on a worker, which now and then dies."""
    rng = np.random.default_rng()
    if rng.random() < DIES:
        os._exit(1)
    return float(np.exp(-20 * ((region.center - TOP) ** 2).sum()) + rng.normal(0, 0.1))


def report(study: Any, started: float, cpu: float) -> None:
    """Print what a campaign took and found."""
    seconds, spent = time.perf_counter() - started, time.process_time() - cpu
    lost = sum(trial.state == "failed" for trial in study.trials)
    print(
        f"{study.measured} measured, {lost} trials lost with a worker; {seconds:.1f} s, {spent:.1f} s of CPU here"
    )
    print(f"best {study.recommend().region.name}; the top is at {TOP.tolist()}")


def campaign(executor: Any, measurements: int) -> None:
    """Play one campaign."""
    study = zn.Study(SPACE, budget=measurements, rng=0)
    started, cpu = time.perf_counter(), time.process_time()
    study.optimize(measure, executor, on_error="fail", max_failures=100)
    report(study, started, cpu)


def on_dask(measurements: int, workers: int) -> None:
    """Play it on a Dask cluster of processes; its nannies start dead ones again."""
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        campaign(client, measurements)


class RayExecutor(Executor):
    """Hands functions to Ray, which starts a dead worker again but does not repeat its task."""

    def __init__(self, workers: int) -> None:
        self._max_workers = workers

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        """Return the future of a call."""
        import ray

        future: Future[Any] = ray.remote(max_retries=0)(function).remote(*arguments, **named).future()
        return future


def on_ray(measurements: int, workers: int) -> None:
    """Play it on a Ray of this machine."""
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # Ray listens at 127.0.0.1 alone, as it does elsewhere
    import ray

    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    campaign(RayExecutor(workers), measurements)
    ray.shutdown()


def instrument(address: str, asks: list[float], tells: list[float]) -> None:
    """Ask, measure and tell until the budget is spent; note how long each call took."""
    study, rng = zn.connect(address), np.random.default_rng()
    while True:
        start = time.perf_counter()
        try:
            trial = study.ask()
        except (zn.BudgetSpent, zn.Exhausted):
            return
        asks.append(time.perf_counter() - start)
        value = float(np.exp(-20 * ((trial.region.center - TOP) ** 2).sum()) + rng.normal(0, 0.1))
        start = time.perf_counter()
        study.tell(trial, value)
        tells.append(time.perf_counter() - start)


def service(measurements: int, instruments: int) -> None:
    """Let many instruments share one study behind one service."""
    with TemporaryDirectory() as folder:
        zn.Study.create(Path(folder) / "shared.db", SPACE, budget=measurements, rng=0)
        command = [sys.executable, "-m", "zonal", "serve", folder, "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            address = server.stdout.readline().split("?")[0].strip().rstrip("/") + "/studies/shared"
            started, asks, tells = time.perf_counter(), list[float](), list[float]()
            threads = [
                threading.Thread(target=instrument, args=(address, asks, tells)) for _ in range(instruments)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            seconds = time.perf_counter() - started
            server.terminate()
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        study = zn.Study.open(Path(folder) / "shared.db")
        rate, cpu = study.measured / seconds, spent.ru_utime + spent.ru_stime
        print(f"{instruments} instruments, {study.measured} measured in {seconds:.1f} s: {rate:.1f} a second")
        print(f"{cpu:.1f} s of CPU in the service, {len(study.events)} commits to disk")
        for name, waits in (("ask", asks), ("tell", tells)):
            half, most = np.quantile(waits, [0.5, 0.95])
            print(f"an {name} took {half:.2f} s, 95 in 100 at most {most:.2f} s".replace("an tell", "a tell"))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("where", choices=("dask", "ray", "service"))
    parser.add_argument("--measurements", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--instruments", type=int, default=200)
    given = parser.parse_args()
    if given.where == "dask":
        on_dask(given.measurements, given.workers)
    elif given.where == "ray":
        on_ray(given.measurements, given.workers)
    else:
        service(given.measurements, given.instruments)


if __name__ == "__main__":
    main()
