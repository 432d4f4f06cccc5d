from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from scipy.linalg import lapack

import zonal as zn
from zonal import _blas
from zonal._blas import SHARED_FROM, eigh, libraries, one_thread


def threads() -> list[int]:
    return [get() for get, _ in libraries()]


def test_blas_uses_one_thread_within_and_the_users_number_afterwards() -> None:
    code = (
        "import numpy, scipy.linalg\n"
        "from zonal._blas import libraries, one_thread\n"
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


def test_lapack_shares_none_of_its_small_problems_during_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """With threads for its tiny LAPACK calls, a search took 450 ms instead of 10 beside one busy core."""
    used: dict[str, list[int]] = {}

    def watched(name: str) -> Callable[..., Any]:
        usual = getattr(lapack, name)

        def call(*arguments: Any, **named: Any) -> Any:
            used.setdefault(name, []).extend(threads())
            return usual(*arguments, **named)

        return call

    for name in ("dpotrf", "dtrtrs", "dpotrs"):
        monkeypatch.setattr(lapack, name, watched(name))
    with ExitStack() as put_back:
        for get, put in libraries():
            put_back.callback(put, get())
            put(2)
        if set(threads()) != {2}:
            pytest.skip("this BLAS has one thread")
        cases: list[dict[str, Any]] = [{"kernel": zn.RBF(0.1, 0.05), "noise": 0.1}, {}]
        for given in cases:
            zn.Study([(0, 1)], budget=20, **given).optimize(lambda region: float(region.center[0]))
        assert set(threads()) == {2}
    assert {number for numbers in used.values() for number in numbers} == {1}, used


def test_a_call_of_a_study_takes_the_threads_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each change wakes the threads: with one around each product, a search took four times the time."""
    number, changes = [2], list[int]()

    def put(threads: int) -> None:
        number[0] = threads
        changes.append(threads)

    monkeypatch.setattr(_blas, "libraries", lambda: [(lambda: number[0], put)])
    study = zn.Study([(0, 1)], budget=20)
    for round_ in range(18):
        changes.clear()
        trial = study.ask()
        study.tell(trial, math.sin(9 * float(trial.region.center[0])))
        assert changes == [1, 2, 1, 2], round_
    changes.clear()
    study.recommend()
    assert changes == [1, 2]
