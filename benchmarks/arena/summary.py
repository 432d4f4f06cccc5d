"""From lines to the numbers of the page: geometric means of regret, paired ratios, intervals, times.

A ratio is Zonal's default over a contestant in the same runs; below 1 Zonal is better. There are two: of the means
over runs, which a few bad runs decide, and of a typical run, from the differences of log regrets. Regrets are in
standard deviations of the averages of all smallest cells, and at least `FLOOR`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.arena.ours import DEFAULT, FIXED, HINDSIGHT
from benchmarks.arena.play import Line, Place
from benchmarks.arena.problems import CASES, DESIGNED_ON, GROUPS
from benchmarks.arena.roster import ROSTER

Floats = NDArray[np.float64]
Runs = dict[int, float]  # number of the run to a value
Ratio = dict[str, float]  # ratio, low, high

FLOOR = 0.01
DRAWS = 4000  # of the bootstrap


def typical_ratio(ours: Mapping[str, Runs], theirs: Mapping[str, Runs]) -> Ratio | None:
    """Return the geometric mean over problems and runs of the ratio of regrets, and its 95 % interval.

    Parameters
    ----------
    ours, theirs : mapping of problem to runs
        Normalised regrets. None is returned if they do not share at least two runs of each problem.
    """
    return _bootstrap(ours, theirs, lambda pairs: np.log(np.maximum(pairs, FLOOR)).mean(axis=-2))


def ratio_of_means(ours: Mapping[str, Runs], theirs: Mapping[str, Runs], floor: float = FLOOR) -> Ratio | None:
    """Return the geometric mean over problems of the ratio of mean regrets, and its 95 % interval."""
    return _bootstrap(ours, theirs, lambda pairs: np.log(np.maximum(pairs.mean(axis=-2), floor)))


def _bootstrap(
    ours: Mapping[str, Runs], theirs: Mapping[str, Runs], logs: Callable[[Floats], Floats]
) -> Ratio | None:
    """Return a ratio and its interval, runs paired and drawn anew within each problem.

    `logs` turns values of shape (..., runs, 2) into the logarithms of two means, shape (..., 2).
    """
    rng, centres, drawn = np.random.default_rng(0), [], []
    for problem, own in ours.items():
        shared = sorted(own.keys() & theirs.get(problem, {}).keys())
        if len(shared) < 2:
            return None
        pairs = np.array([[own[run], theirs[problem][run]] for run in shared])
        picked = logs(pairs[rng.integers(len(pairs), size=(DRAWS, len(pairs)))])
        drawn.append(picked[:, 0] - picked[:, 1])
        centres.append(-float(np.diff(logs(pairs))[0]))
    if not centres:
        return None
    low, high = np.exp(np.percentile(np.mean(drawn, axis=0), [2.5, 97.5]))
    return {"ratio": float(np.exp(np.mean(centres))), "low": float(low), "high": float(high)}


def widened(ratio: Ratio | None, ours: Mapping[str, Runs], theirs: Mapping[str, Runs]) -> Ratio | None:
    """Return a ratio, its interval widened for few runs: draws from n runs vary by 1 - 1/n of what they should.

    The expanded percentile interval (Hesterberg 2015), with the degrees of freedom of all problems.
    """
    if ratio is None:
        return None
    shared = [len(runs.keys() & theirs[problem].keys()) for problem, runs in ours.items()]
    quantile = stats.t.ppf(0.975, sum(n - 1 for n in shared)) / stats.norm.ppf(0.975)
    factor = quantile * np.sqrt(min(shared) / (min(shared) - 1))
    return {name: float(ratio["ratio"] * (value / ratio["ratio"]) ** factor) for name, value in ratio.items()}


def summarise(lines: Mapping[Place, Line], seed: int) -> dict[str, Any]:
    """Return all numbers of the page as plain values.

    Parameters
    ----------
    lines : mapping of place to line
        As `play.valid` returns them.
    seed : int
        Of the runs that count.
    """
    own = [line for line in lines.values() if line["seed"] == seed]
    own += _in_hindsight(own)
    played = {line["problem"] for line in own}
    groups = {}
    for group, title in GROUPS.items():
        names = [name for name, case in CASES.items() if case.group == group and name in played]
        if names:
            groups[group] = {
                "title": title,
                "problems": names,
                "rows": _rows(own, names),
            }
            if DESIGNED_ON in names:
                groups[group]["without"] = _rows(own, [name for name in names if name != DESIGNED_ON])
    versions = sorted({part for line in own for part in line["key"].split(", ") if " r" not in part})
    return {
        "seed": seed,
        "floor": FLOOR,
        "zonal": sorted({line["zonal"] for line in own if ROSTER[line["contestant"]].ours}),
        "commits": sorted({str(line["commit"]) for line in own if line["contestant"] == DEFAULT}),
        "versions": versions,
        "groups": groups,
        "problems": {
            name: {"about": case.about, "budgets": list(case.budgets), "rows": _rows(own, [name])}
            for name, case in CASES.items()
            if name in played
        },
        "contestants": {
            one.name: {"about": one.about, "ours": one.ours}
            for one in ROSTER.values()
            if any(line["contestant"] == one.name for line in own)
        },
    }


def renewed(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return a summary in which groups stay as they were where the default's runs are not kept on all problems."""
    if old["seed"] != new["seed"]:
        return new
    stays = {name for name, group in old["groups"].items() if not _played(new["groups"].get(name), group)}
    if not stays:
        return new
    both: dict[str, Any] = {**new, "groups": {}, "problems": {}}
    for name in GROUPS:
        source = old if name in stays else new
        if name in source["groups"]:
            both["groups"][name] = group = source["groups"][name]
            both["problems"] |= {problem: source["problems"][problem] for problem in group["problems"]}
    for name in ("zonal", "commits", "versions"):
        both[name] = sorted({*old[name], *new[name]})
    shown = {row["contestant"] for own in both["problems"].values() for row in own["rows"]}
    about = {**old["contestants"], **new["contestants"]}
    both["contestants"] = {name: about[name] for name in ROSTER if name in shown}
    return both


def _played(new: dict[str, Any] | None, old: dict[str, Any]) -> bool:
    """Tell whether the default played all problems of a group."""
    if new is None or not set(old["problems"]) <= set(new["problems"]):
        return False
    return any(row["contestant"] == DEFAULT for row in new["rows"])


def _in_hindsight(lines: Iterable[Line]) -> list[Line]:
    """Return on each problem the lines of the fixed time of the lowest mean regret, as those of one contestant."""
    runs: dict[str, dict[str, list[Line]]] = {}
    for line in lines:
        if line["contestant"] in FIXED:
            runs.setdefault(line["problem"], {}).setdefault(line["contestant"], []).append(line)
    chosen = (
        min(own.values(), key=lambda some: float(np.mean([line["normalised"] for line in some])))
        for own in runs.values()
    )
    return [{**line, "contestant": HINDSIGHT} for some in chosen for line in some]


def _rows(lines: Iterable[Line], problems: list[str]) -> list[dict[str, Any]]:
    """Return a row for every budget and every contestant that played all problems at it."""
    regrets: dict[tuple[int, str], dict[str, Runs]] = {}
    seconds: dict[tuple[int, str], list[float]] = {}
    commits: dict[tuple[int, str], set[str]] = {}
    for line in lines:
        if line["problem"] in problems:
            at = line["budget"], line["contestant"]
            regrets.setdefault(at, {}).setdefault(line["problem"], {})[line["run"]] = line["normalised"]
            seconds.setdefault(at, []).append(line["seconds"])
            commits.setdefault(at, set()).add(str(line["commit"]))
    rows = []
    for budget in sorted({budget for budget, _ in regrets}):
        for name in ROSTER:
            found = regrets.get((budget, name), {})
            if set(found) != set(problems):
                continue
            values = [np.array(list(runs.values())) for runs in found.values()]
            ours = regrets.get((budget, DEFAULT), {})
            rows.append(
                {
                    "budget": budget,
                    "contestant": name,
                    "runs": min(len(runs) for runs in found.values()),
                    "commits": sorted(commits[budget, name]),
                    "mean": _geometric([max(float(own.mean()), FLOOR) for own in values]),
                    "typical": _geometric([_geometric(np.maximum(own, FLOOR)) for own in values]),
                    "seconds": float(np.mean(seconds[budget, name])),
                    "mean_ratio": None if name == DEFAULT else widened(ratio_of_means(ours, found), ours, found),
                    "typical_ratio": None if name == DEFAULT else widened(typical_ratio(ours, found), ours, found),
                }
            )
    return rows


def _geometric(values: Iterable[float]) -> float:
    return float(np.exp(np.mean(np.log(list(values)))))
