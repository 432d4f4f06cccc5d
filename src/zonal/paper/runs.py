"""Many independent runs: on several processes, kept as they finish, resumed where they stopped.

A task is a function of plain values and a name that says everything about it; its answer is a dictionary of plain
values. Finished answers are appended to one file, so that Ctrl-C loses only what was under way and a second call
computes only what is missing. A task's seed is part of its values, so the number of processes changes nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from zonal import __version__
from zonal.driving.workers import worker_pool
from zonal.errors import CannotWrite
from zonal.tables import files

Answer = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One run.

    Attributes
    ----------
    function : callable
        At the top level of a module; called with the values as keywords.
    values : dict
        Plain values (numbers, strings, lists), the seed among them.
    """

    function: Callable[..., Answer]
    values: dict[str, Any]

    @property
    def name(self) -> str:
        """What makes this run this run; another version's runs are not taken for ours."""
        function = f"{self.function.__module__}.{self.function.__qualname__}"
        return json.dumps([__version__, function, self.values], sort_keys=True)


class Interrupted(Exception):
    """Ctrl-C; what had finished is kept."""


def run_all(tasks: Iterable[Task], folder: Path, jobs: int, title: str) -> list[Answer]:
    """Return the answers of all tasks, in order, computing those that are not in the folder yet.

    Parameters
    ----------
    tasks : iterable of Task
        What to run.
    folder : Path
        Where finished runs are kept, in ``runs.jsonl``.
    jobs : int
        Processes.
    title : str
        Of the progress bar.
    """
    tasks = list(tasks)
    path = files.folder(folder) / "runs.jsonl"
    known = _read(path)
    missing = [task for task in tasks if task.name not in known]
    if missing:
        with (
            path.open("a", encoding="utf-8") as file,
            tqdm(total=len(tasks), initial=len(tasks) - len(missing), desc=title, unit="run", disable=None) as bar,
        ):
            try:
                for name, answer in _compute(missing, jobs):
                    known[name] = answer
                    file.write(json.dumps([name, answer]) + "\n")
                    file.flush()
                    bar.update()
            except KeyboardInterrupt:
                raise Interrupted from None
            except OSError as error:  # what was kept before stays; a torn last line is cut off by the next call
                raise CannotWrite(path, error) from error
    return [known[task.name] for task in tasks]


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


def _compute(tasks: list[Task], jobs: int) -> Iterable[tuple[str, Answer]]:
    if jobs == 1:
        for task in tasks:
            yield task.name, _run(task)
        return
    with worker_pool(jobs) as pool:
        for number, answer in pool.as_done(_run, tasks):
            yield tasks[number].name, answer


def _run(task: Task) -> Answer:
    return task.function(**task.values)
