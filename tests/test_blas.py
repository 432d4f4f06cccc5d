from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from zonal.blas import SHARED_FROM, eigh, libraries, one_thread


def threads() -> list[int]:
    return [get() for get, _ in libraries()]


def test_blas_uses_one_thread_within_and_the_users_number_afterwards() -> None:
    code = (
        "import numpy, scipy.linalg\n"
        "from zonal.blas import libraries, one_thread\n"
        "count = lambda: [get() for get, _ in libraries()]\n"
        "before = count()\n"
        "with one_thread():\n"
        "    with one_thread():\n"
        "        pass\n"
        "    within = count()\n"
        "print(set(within) == {1}, count() == before, max(before))"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.split()[:2] == ["True", "True"]


def test_the_number_is_restored_after_an_error() -> None:
    before = threads()
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert threads() == before


def test_products_too_small_to_share_are_left_alone() -> None:
    assert one_thread(SHARED_FROM - 1) is one_thread(1)
    assert one_thread(SHARED_FROM) is not one_thread(1)


@pytest.mark.parametrize("shape", [(5, 5), (3, 5, 5)])
def test_eigenvalues_come_where_the_fast_method_does_not_converge(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = np.random.default_rng(0).normal(size=shape)
    matrices = root @ root.swapaxes(-1, -2)
    usual = eigh(matrices)[0]

    def fails(_: object) -> None:
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    monkeypatch.setattr(np.linalg, "eigh", fails)
    values, vectors = eigh(matrices)
    np.testing.assert_allclose(values, usual, rtol=1e-12)
    np.testing.assert_allclose(vectors * values[..., None, :] @ vectors.swapaxes(-1, -2), matrices, atol=1e-12)


def test_a_search_beside_a_busy_core_does_not_wait_for_time_slices() -> None:
    """With threads for its tiny LAPACK calls, this search took 450 ms instead of 10 beside one busy core."""
    code = (
        "import time, zonal as zn\n"
        "for _ in range(4):\n"
        "    study = zn.Study([(0, 1)], budget=60, kernel=zn.RBF(0.1, 0.05), noise=0.1, feedback=zn.Average(10),\n"
        "                     policy=zn.GPOO(zn.GeometricDelta(14, 0.5)))\n"
        "    start = time.perf_counter()\n"
        "    study.optimize(lambda region: float(region.center[0]))\n"
        "    print(time.perf_counter() - start)"
    )
    environment = {key: value for key, value in os.environ.items() if key != "OPENBLAS_NUM_THREADS"}
    command = [sys.executable, "-c", code]
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(max(1, (os.cpu_count() or 1) - 1))
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert min(map(float, done.stdout.split())) < 0.2
