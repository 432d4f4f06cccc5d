"""Ray, which has no executor of its own, behind a few lines. Run by `make test-ray`, which installs it."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

import worker_functions
import zonal as zn
from worker_functions import process_and_time, wave

ray = pytest.importorskip("ray")


class RayExecutor(Executor):
    """Hands functions to Ray."""

    def __init__(self, workers: int) -> None:
        self._max_workers = workers

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = ray.remote(function).remote(*arguments, **named).future()
        return future


@pytest.fixture(scope="module")
def executor() -> Iterator[Executor]:
    # Workers find the functions by name, as they would those of a user's own module.
    tests = {"env_vars": {"PYTHONPATH": str(Path(worker_functions.__file__).parent)}}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=tests)
    yield RayExecutor(2)
    ray.shutdown()


def study(level: int) -> zn.Study:
    policy = zn.UniformGrid(level=level)
    return zn.Study([(0, 1)], budget=8, kernel=zn.RBF(0.1, 0.2), noise=0.1, policy=policy)


@pytest.mark.filterwarnings("default")
def test_ray_measures(executor: Executor) -> None:
    own = study(4)
    assert own.optimize(wave, executor).success
    assert [trial.value for trial in own.trials] == [wave(trial.region) for trial in own.trials]


@pytest.mark.filterwarnings("default")
def test_ray_measures_a_region_again_when_it_is_asked_again(executor: Executor) -> None:
    own = study(0)
    own.optimize(process_and_time, executor)
    assert len({trial.value for trial in own.trials}) == 8
