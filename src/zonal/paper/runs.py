"""The sweep that every experiment is: many runs of every case, on several processes, kept as they finish.

A run is a function of plain values, its seed among them, so that the number of processes changes nothing; its
answer is a dictionary of plain values. Finished answers are appended to one file: Ctrl-C loses only what was under
way, and a second call computes only what is missing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from zonal import __version__
from zonal.driving.workers import worker_pool
from zonal.errors import CannotWrite
from zonal.paper.results import Settings
from zonal.tables import files

Answer = dict[str, Any]
Case = TypeVar("Case")


class Interrupted(Exception):
    """Ctrl-C; what had finished is kept."""


def sweep(
    settings: Settings,
    title: str,
    function: Callable[..., Answer],
    cases: Mapping[Case, Mapping[str, Any]],
    runs: Mapping[Case, int] | None = None,
    /,
    **shared: Any,
) -> dict[Case, list[Answer]]:
    """Return the answers of all runs of every case, computing those that are not in the folder yet.

    Parameters
    ----------
    settings : Settings
        Whose folder, number of runs, seed and number of processes are used.
    title : str
        Of the progress bar.
    function : callable
        At the top level of a module; called with the values of a case, the shared ones, and ``seed=[rng, i]`` in
        the i-th run.
    cases : mapping
        The plain values (numbers, strings, lists) of each case.
    runs : mapping, optional
        Runs of each case where they differ.
    **shared
        Values of all cases.
    """
    tasks: dict[str, dict[str, Any]] = {}  # by name
    plan: dict[Case, list[str]] = {}
    for case, values in cases.items():
        number = settings.runs if runs is None else runs[case]
        own = [{**values, **shared, "seed": [settings.rng, i]} for i in range(number)]
        plan[case] = [_name(function, one) for one in own]
        tasks.update(zip(plan[case], own, strict=True))
    path = files.folder(settings.out) / "runs.jsonl"
    known = _read(path)
    missing = {name: values for name, values in tasks.items() if name not in known}
    if missing:
        with (
            path.open("a", encoding="utf-8") as file,
            tqdm(total=len(tasks), initial=len(tasks) - len(missing), desc=title, unit="run", disable=None) as bar,
        ):
            try:
                for name, answer in _compute(function, missing, settings.jobs):
                    known[name] = answer
                    file.write(json.dumps([name, answer]) + "\n")
                    file.flush()
                    bar.update()
            except KeyboardInterrupt:
                raise Interrupted from None
            except OSError as error:  # what was kept before stays; a torn last line is cut off by the next call
                raise CannotWrite(path, error) from error
    return {case: [known[name] for name in names] for case, names in plan.items()}


def column(runs: Iterable[Answer], key: str) -> NDArray[np.float64]:
    """Return one number, or list of numbers, of every run, a row a run."""
    return np.array([run[key] for run in runs], dtype=float)


def _name(function: Callable[..., Answer], values: dict[str, Any]) -> str:
    """Return what makes a run this run; another version's runs are not taken for ours."""
    return json.dumps([__version__, f"{function.__module__}.{function.__qualname__}", values], sort_keys=True)


def _read(path: Path) -> dict[str, Answer]:
    """Return finished runs; a last line torn by a crash is cut off."""
    known: dict[str, Answer] = {}
    if not path.exists():
        return known
    whole = 0
    with path.open("rb") as file:
        for line in file:
            try:
                name, answer = json.loads(line)
            except ValueError:
                break
            if not line.endswith(b"\n"):
                break
            known[name] = answer
            whole += len(line)
    if whole < path.stat().st_size:
        os.truncate(path, whole)
    return known


def _compute(
    function: Callable[..., Answer], tasks: dict[str, dict[str, Any]], jobs: int
) -> Iterable[tuple[str, Answer]]:
    if jobs == 1:
        yield from ((name, function(**values)) for name, values in tasks.items())
        return
    names = list(tasks)
    with worker_pool(jobs) as pool:
        for number, answer in pool.as_done(partial(_call, function), tasks.values()):
            yield names[number], answer


def _call(function: Callable[..., Answer], values: dict[str, Any]) -> Answer:
    return function(**values)
