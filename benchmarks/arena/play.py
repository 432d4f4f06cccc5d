"""Runs: on several processes, kept line by line as they finish, resumed where they stopped.

A line is one contestant on one problem at one budget in one run. It counts as long as what it depends on
(`roster.key`) has not changed.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from tqdm import tqdm

from benchmarks.arena.contestants import Contestant, Meter
from benchmarks.arena.problems import CASES, Case
from benchmarks.arena.roster import ROSTER, key
from zonal import __version__
from zonal.simulation.process_pool import worker_pool

Line = dict[str, Any]
Place = tuple[str, str, int, int, int]  # problem, contestant, budget, run, seed


@dataclass(frozen=True)
class Task:
    """One run of one contestant on one problem, at one budget or, for who can be read off, at several."""

    problem: str
    contestant: str
    budgets: tuple[int, ...]
    run: int
    seed: int

    def places(self) -> list[Place]:
        """Return where its results belong."""
        return [(self.problem, self.contestant, n, self.run, self.seed) for n in self.budgets]


def place(line: Line) -> Place:
    """Return where a line belongs."""
    return line["problem"], line["contestant"], line["budget"], line["run"], line["seed"]


def tasks_for(cases: Iterable[Case], contestants: Iterable[Contestant], runs: int | None, seed: int) -> list[Task]:
    """Return everything that is to be played, run by run, so that what is finished early is balanced.

    Every contestant has as many runs as the problem says, unless another number is asked for.
    """
    cases, contestants, tasks = list(cases), list(contestants), []
    for run in range(runs or max((case.runs for case in cases), default=0)):
        for case in cases:
            if run >= (runs or case.runs):
                continue
            for one in contestants:
                budgets = one.budgets(case)
                if not budgets:
                    continue
                together = [budgets] if one.anytime else [(n,) for n in budgets]
                tasks += [Task(case.name, one.name, group, run, seed) for group in together]
    return tasks


def of_budgets(tasks: list[Task], budgets: tuple[int, ...]) -> list[Task]:
    """Return the tasks at some budgets only; all of them if none is named."""
    if not budgets:
        return tasks
    limited = [replace(task, budgets=tuple(n for n in task.budgets if n in budgets)) for task in tasks]
    return [task for task in limited if task.budgets]


def play(task: Task) -> list[Line]:
    """Play one run and return its lines."""
    case, contestant = CASES[task.problem], ROSTER[task.contestant]
    for module in contestant.modules:
        importlib.import_module(module)
    entropy = [task.seed, crc32(task.problem.encode()), task.run]
    # Problem and noise of a run are everybody's: the n-th measurement has the n-th noise, whoever makes it.
    ours, noise, theirs = (np.random.default_rng(one) for one in np.random.SeedSequence(entropy).spawn(3))
    problem = case.draw(task.run, ours)
    instrument = problem.instrument(noise)
    meter = Meter(instrument, max(task.budgets))
    picks = contestant.play(problem, meter, task.budgets, theirs)
    lines = []
    for budget in task.budgets:
        loss = picks[budget].loss  # relative already
        regret = problem.regret(picks[budget].cell) if loss is None else loss
        line = dict(zip(("problem", "contestant", "budget", "run", "seed"), task.places()[0], strict=True))
        line |= {
            "budget": budget,
            "zonal": __version__,
            "commit": commit(),
            "key": key(contestant, case),
            "spent": min(meter.spent, budget),
            "regret": regret,
            "normalised": regret / problem.std if loss is None else loss,
            "seconds": meter.seconds(budget),
        }
        lines.append(line)
    return lines


@cache
def commit() -> str | None:
    """Return the commit of this checkout, with a plus if files have changed since; None outside of a checkout."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def read(path: Path) -> list[Line]:
    """Return the lines of finished runs; a last line torn by a crash is cut off."""
    lines: list[Line] = []
    if not path.exists():
        return lines
    whole = 0
    with path.open("rb") as file:
        for text in file:
            if not text.endswith(b"\n"):
                break
            lines.append(json.loads(text))
            whole += len(text)
    if whole < path.stat().st_size:
        os.truncate(path, whole)
    return lines


def valid(lines: Iterable[Line], stale: bool = False) -> dict[Place, Line]:
    """Return the last line of each place; older versions' lines count only if `stale` ones are accepted.

    Lines of contestants that are not installed here count: nothing says that they have changed.
    """
    kept = {}
    for line in lines:
        case, contestant = CASES.get(line["problem"]), ROSTER.get(line["contestant"])
        if case is None or contestant is None:
            continue
        if stale or key(contestant, case) in (None, line["key"]):
            kept[place(line)] = line
    return kept


def play_all(
    tasks: list[Task], path: Path, jobs: int, stale: bool = False, kept: Iterable[Line] = ()
) -> list[str]:
    """Play what is missing, keep every run as it finishes, and return what failed.

    Parameters
    ----------
    tasks : list of Task
        What to play.
    path : Path
        The file of lines.
    jobs : int
        Processes.
    stale : bool
        Whether lines of older versions count.
    kept : iterable of Line
        Finished runs that are known from elsewhere.
    """
    known = valid([*kept, *read(path)], stale)
    missing = [task for task in tasks if any(one not in known for one in task.places())]
    failures: list[str] = []
    path.parent.mkdir(parents=True, exist_ok=True)
    progress = tqdm(total=len(tasks), initial=len(tasks) - len(missing), unit="run", smoothing=0.02)
    with path.open("a", encoding="utf-8") as file, progress:
        for task, outcome in _outcomes(missing, jobs):
            if isinstance(outcome, str):
                failures.append(f"{task.contestant} on {task.problem}, run {task.run}: {outcome}")
                progress.write(failures[-1])
            else:
                file.write("".join(json.dumps(line) + "\n" for line in outcome))
                file.flush()
            progress.update()
    return failures


def attempt(task: Task) -> list[Line] | str:
    """Play one run; an error of a contestant is an answer, so that it costs nobody else's runs."""
    try:
        return play(task)
    except Exception:
        return traceback.format_exc(limit=-3)


def _outcomes(tasks: list[Task], jobs: int) -> Iterator[tuple[Task, list[Line] | str]]:
    if jobs == 1:
        for task in tasks:
            yield task, attempt(task)
        return
    with worker_pool(jobs) as pool:
        for number, outcome in pool.as_done(attempt, tasks):
            yield tasks[number], outcome
