"""What every experiment consists of: a plan, many runs of every case, a table and a plot on disk.

A run is a function of plain values, including its seed, so that the number of processes changes nothing; its
answer is a dictionary of plain values. Finished answers are appended to one file: Ctrl-C loses only what was under
way, and a second call computes only what is missing.
"""

from __future__ import annotations

import csv
import json
import math
import os
import platform
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from tqdm import tqdm

from zonal import __version__
from zonal._types import Floats
from zonal.errors import CannotWrite
from zonal.io.files import folder, write, write_picture
from zonal.io.result_table import aligned
from zonal.simulation.process_pool import worker_pool

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Preset = Literal["authors", "paper"]
Answer = dict[str, Any]
Run = Callable[..., Answer]
Cell = str | float | None  # of a table
C = TypeVar("C")  # what tells a case from others

# Okabe and Ito's colours, from dark to light, each with its own line style for printing in grey.
STYLES = [("#0072B2", "-"), ("#D55E00", "--"), ("#009E73", "-."), ("#CC79A7", ":"), ("#E69F00", (0, (5, 1)))]

LINE = 120  # characters


@dataclass(frozen=True)
class Plan:
    """How an experiment is run."""

    out: Path  # the folder of pictures, tables and finished runs
    runs: int = 30  # of each case, independent
    budget: int = 80  # N
    preset: Preset = "authors"  # the authors' functions and procedure, or the paper's
    rng: int = 0  # the seed from which every run's own seed is derived
    jobs: int = 2  # processes


def sweep(
    plan: Plan,
    title: str,
    run: Run,
    cases: Mapping[C, Mapping[str, Any]],
    runs: Mapping[C, int] | None = None,
    /,
    **shared: Any,
) -> dict[C, list[Answer]]:
    """Return the answers of all runs of every case, computing those that are not stored in the folder.

    `run` is a top-level function of a module, called with the plain values of a case (numbers, strings, lists),
    the shared ones, and ``seed=[rng, i]`` in the i-th run; `runs` has their number by case, if it differs.
    """
    tasks: dict[str, dict[str, Any]] = {}  # by name
    names: dict[C, list[str]] = {}
    for case, values in cases.items():
        number = plan.runs if runs is None else runs[case]
        arguments = [{**values, **shared, "seed": [plan.rng, i]} for i in range(number)]
        names[case] = [_name(run, values_of_run) for values_of_run in arguments]
        tasks.update(zip(names[case], arguments, strict=True))
    answers = _answers(run, tasks, plan, title)
    return {case: [answers[name] for name in arguments] for case, arguments in names.items()}


def _name(run: Run, values: dict[str, Any]) -> str:
    """Return the key of a run; it includes the version, so that runs of other versions are not reused."""
    return json.dumps([__version__, f"{run.__module__}.{run.__qualname__}", values], sort_keys=True)


def _answers(run: Run, tasks: dict[str, dict[str, Any]], plan: Plan, title: str) -> dict[str, Answer]:
    """Return all answers by name: those on file, and those computed now, which are appended to it."""
    path = folder(plan.out) / "runs.jsonl"
    answers = _read(path)
    missing = {name: values for name, values in tasks.items() if name not in answers}
    if missing:
        done = len(tasks) - len(missing)
        with (
            path.open("a", encoding="utf-8") as file,
            tqdm(total=len(tasks), initial=done, desc=title, unit="run", disable=None) as bar,
        ):
            try:
                for name, answer in _compute(run, missing, plan.jobs):
                    answers[name] = answer
                    file.write(json.dumps([name, answer]) + "\n")
                    file.flush()
                    bar.update()
            except OSError as error:  # earlier answers stay; an incomplete last line is removed by the next call
                raise CannotWrite(path, error) from error
    return answers


def _read(path: Path) -> dict[str, Answer]:
    """Return finished runs; an incomplete last line, from a crash, is removed."""
    content = path.read_bytes() if path.exists() else b""
    answers, whole = dict[str, Answer](), 0
    with suppress(ValueError):
        for line in content.splitlines(keepends=True):
            name, answer = json.loads(line[: line.index(b"\n")])
            answers[name] = answer
            whole += len(line)
    if whole < len(content):
        os.truncate(path, whole)
    return answers


def _compute(run: Run, tasks: dict[str, dict[str, Any]], jobs: int) -> Iterable[tuple[str, Answer]]:
    if jobs == 1:
        yield from map(partial(_call, run), tasks.items())
        return
    with worker_pool(jobs) as pool:
        yield from (answer for _, answer in pool.as_done(partial(_call, run), tasks.items()))


def _call(run: Run, task: tuple[str, dict[str, Any]]) -> tuple[str, Answer]:
    return task[0], run(**task[1])


def column(runs: Iterable[Answer], key: str) -> Floats:
    """Return one entry of all answers, a number or a list of numbers, as an array with one row per run."""
    return np.array([run[key] for run in runs], dtype=float)


def columns(done: Mapping[C, Iterable[Answer]], key: str) -> dict[C, Floats]:
    """Return one entry of all answers, by case."""
    return {case: column(runs, key) for case, runs in done.items()}


def standard_error(values: Floats) -> Floats:
    """Return the standard error of the mean over the first axis; NaN for one run."""
    spread = values.std(axis=0, ddof=1) if len(values) > 1 else values[0] * math.nan
    return np.asarray(spread / math.sqrt(len(values)))


@dataclass
class Report:
    """Rows of one kind, printed, and written as CSV and JSON."""

    name: str  # of the experiment, and of its files
    columns: Sequence[str]
    rows: list[Sequence[Any]] = field(default_factory=list)  # of plain values
    notes: list[str] = field(default_factory=list)  # printed below the table

    def text(self) -> str:
        """Return the table as aligned text; names of columns are broken if a line would be too long."""
        cells = [[name, *(_show(row[at]) for row in self.rows)] for at, name in enumerate(self.columns)]
        lines = aligned(cells, [True] * len(cells), LINE)
        return "\n".join([*lines, *(textwrap.fill(note, LINE) for note in self.notes)])

    def publish(self, plan: Plan, figure: Figure, **more: Any) -> Report:
        """Write the plot, CSV, and JSON with plan, versions and seed; return the table."""
        lines = StringIO(newline="")
        csv.writer(lines).writerows([self.columns, *self.rows])
        content = {
            "experiment": self.name,
            "settings": {**vars(plan), "out": None},
            "versions": {"zonal": __version__, "numpy": np.__version__, "python": platform.python_version()},
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
            "notes": self.notes,
            **more,
        }
        path = folder(plan.out) / self.name
        write(path.with_suffix(".csv"), lines.getvalue().encode())
        write(path.with_suffix(".json"), json.dumps(content, indent=1).encode())
        save(figure, path)
        return self


def save(figure: Figure, path: Path) -> None:
    """Write a plot as PDF and PNG."""
    undated = {"CreationDate": None}  # with a date no two files would be equal
    write_picture(figure, path.with_suffix(".pdf"), metadata=undated)
    write_picture(figure, path.with_suffix(".png"), dpi=200)


def draw_regrets(ax: Axes, curves: Mapping[str, Floats], width: float, alpha: float) -> None:
    """Plot mean regrets against the budget, and one standard deviation around them; by the text of the legend."""
    for (text, curve), (colour, style) in zip(curves.items(), STYLES, strict=False):
        budgets = np.arange(1, curve.shape[1] + 1)
        mean, std = curve.mean(axis=0), curve.std(axis=0)
        ax.fill_between(budgets, mean - std, mean + std, color=colour, alpha=alpha, lw=0)
        ax.plot(budgets, mean, color=colour, ls=style, lw=width, label=text)
    ax.set(xlabel="budget N (measurements)", ylabel="aggregated regret", xlim=(1, len(budgets)))


def _show(value: Cell) -> str:
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.4f}"
    return str(value)
