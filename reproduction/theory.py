"""The paper's statements, checked on many functions: how often each held, and how often it should."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from reproduction import bounds
from reproduction import guarantees as g
from reproduction.guarantees import LINE, ROUNDING, SQUARE, THETA, UNEVEN, VALLEY, Case
from reproduction.searches import label
from reproduction.sweeps import STYLES, Answer, Cell, Plan, Report, column, columns, sweep
from zonal._types import Floats

DRAWS = 500  # functions per run whose steepest slope is computed without a search
# Functions of each case at the usual number of runs, fewer or more in proportion.
USUAL = 30
CASES = {
    Case(LINE.name, "GPOO", 10, "certified", "before"): 200,
    Case(LINE.name, "GPOO", 1, "certified", "before"): 60,
    Case(UNEVEN.name, "GPOO", 10, "certified", "before"): 50,
    Case(SQUARE.name, "GPOO", 2, "certified", "before"): 50,
    Case(VALLEY.name, "GPOO", 1, "L = 1.3", "before"): 30,
    Case(VALLEY.name, "GPOO", 1, "L = 1.3", "after"): 30,
    Case(LINE.name, "GPOO", 1, "certified", "after"): 30,
    Case(LINE.name, "GPOO", 10, "c = 14", "after"): 30,
    Case(LINE.name, "StoOO", 10, "heuristic", "after"): 30,
}
ORDER = (
    g.SMOOTH, g.INTERVALS, g.XI, g.NEAR, g.EXPANDED, g.STD, g.DRAWS, g.DRAWS_RIGHT, g.COUNT, g.DEEPEST,
    g.THEOREM, g.THEOREM_RIGHT, g.RATE,
)  # fmt: skip


def experiment(plan: Plan) -> Report:
    """Run the searches; write how often each statement held, and a plot of regret, draws and their bounds."""
    number = {case: math.ceil(usual * plan.runs / USUAL) for case, usual in CASES.items()}
    cases = {case: asdict(case) for case in CASES}
    runs = sweep(plan, "theory", g.search_run, cases, number, budget=plan.budget)
    drawn = {case.where: {"where": case.where} for case in CASES if case.where != VALLEY.name}
    steep = sweep(plan, "theory, slopes", g.steep_run, drawn, draws=DRAWS)
    slopes = {where: np.concatenate(parts) for where, parts in columns(steep, "slopes").items()}
    names = "on,algorithm,S,delta,test,statement,promised,held,runs,bound/truth,remark"
    report = Report("theory", names.split(","), notes=_notes(plan, number))
    for case, listed in runs.items():
        named = [case.where, label(case.algorithm, case.s), case.s, case.rule, case.test]
        first = [_steep(case, slopes[case.where])] if case.where in slopes else []
        report.rows.extend([*named, *row] for row in [*first, *_rows(case, listed)])
    return report.publish(plan, _figure(runs, plan))


def promised(case: Case, statement: str) -> float:
    """Return the least frequency with which a statement should hold, as printed or as proved."""
    certified, empirical = case.rule == "certified", case.algorithm == "StoOO"
    if case.where == VALLEY.name:  # one function: nothing is random
        return 1.0
    promises = {
        g.STEEP: 1 - (case.steep if certified else case.steep / case.problem.h_max),
        g.SMOOTH: 1.0 if empirical else 1 - case.steep,
        g.INTERVALS: 1 - (2 if empirical else 1) * THETA,
        **dict.fromkeys((g.XI, g.DEEPEST, g.THEOREM, g.THEOREM_RIGHT, g.RATE), case.promised),
    }
    return promises.get(statement, 1.0)


def _steep(case: Case, slopes: Floats) -> list[Cell]:
    """Return how often no slope exceeded L, over functions that were not searched."""
    ratios = (case.L / slopes).min(axis=1)
    remark = f"L = {', '.join(f'{x:.2f}' for x in case.L)}; drawn without a search"
    return [g.STEEP, promised(case, g.STEEP), *_held([(ratio, ratio) for ratio in ratios]), remark]


def _rows(case: Case, runs: list[Answer]) -> list[list[Cell]]:
    """Return one row for each statement checked; AVE-StoOO's std is its bound."""
    left_out = g.STD if case.algorithm == "StoOO" else ""
    given = [run for run in runs if run["held"][g.XI][0] >= 1 - ROUNDING]
    rows: list[list[Cell]] = []
    for statement in ORDER:
        if statement in runs[0]["held"] and statement != left_out:
            counted = [run["held"][statement] for run in (given if statement in g.GIVEN_XI else runs)]
            rows.append([statement, promised(case, statement), *_held(counted), _remark(statement, runs)])
    return rows


def _held(ratios: list[g.Ratios]) -> tuple[float | str, int, float | str]:
    """Return how often a statement held, in how many runs, and its typical margin."""
    if not ratios:
        return "", 0, ""
    worst, typical = np.array(ratios, dtype=float).T
    return float(np.mean(worst >= 1 - ROUNDING)), len(ratios), float(np.median(typical))


def _remark(statement: str, runs: list[Answer]) -> str:
    """Return a remark on a statement."""
    if statement == g.NEAR:
        return f"estimated: median d {_median(runs, 'd'):.2f}, C {_median(runs, 'C'):.0f}"
    if statement == g.EXPANDED:
        return f"CI > delta before the reward that expanded: {_share([run['late'] for run in runs])}"
    if statement == g.THEOREM_RIGHT:
        empty = _share([run["bound"][-1] > run["range"] for run in runs])
        return f"bound above f* - min f, and so idle: {empty} of runs"
    if statement == g.RATE:
        return _powers(column(runs, "regret"), column(runs, "rate"))
    return ""


def _powers(regret: Floats, rate: Floats) -> str:
    """Return how fast mean regret and the Corollary's bound decrease with N, as powers, from N = 10 on."""
    n = np.arange(10, regret.shape[1] + 1)
    if len(n) < 3:
        return ""
    fall = [np.polyfit(np.log(n), np.log(curve.mean(axis=0)[n - 1]), 1)[0] for curve in (regret, rate)]
    return f"from N = 10 mean regret falls as N^{fall[0]:.2f}, the bound as N^{fall[1]:.2f}"


def _median(runs: list[Answer], key: str) -> float:
    return float(np.median(column(runs, key)))


def _share(held: list[bool]) -> str:
    return f"{100 * float(np.mean(held)):.0f} %"


def _notes(plan: Plan, number: dict[Case, int]) -> list[str]:
    about = [
        f"{case.name}: RBF({case.kernel.variance}, {case.kernel.lengthscale}), noise {case.noise_at(0)}"
        f"{' / sqrt(width)' if case is UNEVEN else ''}, h_max = {case.h_max}"
        for case in (LINE, UNEVEN, SQUARE, VALLEY)
    ]
    return [
        f"functions drawn from the model, the same for every case on a problem; K = 2, theta = {THETA}, "
        f"N = {plan.budget}. {'; '.join(about)}.",
        "valley: f = -2.5 k(., 0.25) + 0.1 k(., 0.7), one function, on which xi holds; what is said of it is "
        "promised for certain.",
        "held: fraction of the runs counted; 'given xi': of the runs in which xi (AVE-StoOO: its event) held; "
        "bound/truth: median over runs of a run's typical ratio.",
        "xi_2: all nodes of depths 0 to h_max on both sides and those of depth h_max + 1 from above, in every "
        f"round; on d = 1 it fails with probability {bounds.interval_failure(LINE.counts, THETA):.3f} at most.",
        "|I_h| in Theorem 1, put right, is the true number; d and C of Lemma 2 and the Corollary are estimated "
        "for each f from its packing numbers. No user could know either.",
        "AVE-StoOO's rewards are not rescaled to [0, 1]: for normal noise of std up to 1/2 its event fails with "
        f"probability 2.02 theta^4 at most, and the noise here is {LINE.noise_at(0)}.",
        f"runs of each case, in the order of the columns: {', '.join(map(str, number.values()))}; "
        f"'no slope exceeds L': {DRAWS * plan.runs} functions.",
    ]


def _figure(runs: dict[Case, list[Answer]], plan: Plan) -> Figure:
    figure = Figure(figsize=(4.8, 7.8), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=[1.15, 1])
    top, bottom = parts[0].subplots(), parts[1].subplots()
    shown = {case: runs[case] for case in list(CASES)[:2]}
    _draw_regret(top, shown)
    _draw_draws(bottom, shown, plan)
    for part, axes in zip(parts, (top, bottom), strict=True):
        handles, labels = axes.get_legend_handles_labels()
        appearance = {"ncols": 2, "frameon": False, "fontsize": 9, "handlelength": 3}
        part.legend(handles, labels, loc="outside lower center", **appearance)
    return figure


def _draw_regret(axes: Any, runs: dict[Case, list[Answer]]) -> None:
    """Plot true regret and its bounds against the budget; a colour per case, a line style per quantity."""
    highest = 1000.0
    for (case, listed), (colour, _), marker in zip(runs.items(), STYLES, ("", "s"), strict=False):
        regret = column(listed, "regret")
        n = np.arange(1, regret.shape[1] + 1)
        curves = [
            (r"$3\delta(h_N)$, put right", "--", column(listed, "bound")),
            ("Corollary, put right", ":", column(listed, "rate")),
            ("true regret", "-", regret),
        ]
        for text, style, curve in curves:
            appearance = {"color": colour, "ls": style, "lw": 1.8, "marker": marker, "ms": 4, "markevery": 0.15}
            axes.plot(n, np.median(curve, axis=0), label=f"{text}, S = {case.s}", **appearance)
        low, high = np.quantile(regret, [0.1, 0.9], axis=0)
        axes.fill_between(n, low, high, color=colour, alpha=0.15, lw=0)
        axes.set_xlim(1, max(2, n[-1]))
    axes.axhspan(_median(listed, "range"), highest, color="black", alpha=0.1, lw=0)
    axes.text(1.1, 1.2 * _median(listed, "range"), r"above $f^* - \min f$ a bound says nothing", fontsize=9)
    axes.set(
        xscale="log", yscale="log", xlabel="budget N (measurements)", ylabel="aggregated regret (value units)"
    )
    axes.set_ylim(1e-3, highest)
    axes.set_title("GPOO, certified: regret (median, 10 to 90 %) and bounds", fontsize=10)
    ticks = [n for n in (1, 2, 5, 10, 20, 40, 80, 160, 320) if n <= max(2, regret.shape[1])]
    axes.set_xticks(ticks, [str(n) for n in ticks])


def _draw_draws(axes: Any, runs: dict[Case, list[Answer]], plan: Plan) -> None:
    """Plot how often expanded nodes were measured, against Lemma 4."""
    depth = np.arange(LINE.h_max + 1)
    for j, ((case, listed), (colour, style), marker) in enumerate(zip(runs.items(), STYLES, "os", strict=False)):
        nodes = {(node["depth"], node["count"]) for run in listed for node in run["draws"] if node["expanded"]}
        points = np.array(sorted(nodes), dtype=float).reshape(-1, 2)
        shift = 0.16 * (j - 0.5)  # side by side
        appearance = {"color": colour, "ls": "", "marker": marker, "ms": 4.5, "label": f"S = {case.s}"}
        axes.plot(points[:, 0] + shift, points[:, 1], **appearance)
        numbers = [(case.beta(plan.budget), case.noise(int(h)), case.delta(int(h))) for h in depth]
        most = [bounds.most_draws(*node, case.test) for node in numbers]
        axes.plot(depth + shift, most, color=colour, ls=style, lw=1.5, label=f"Lemma 4, put right, S = {case.s}")
        printed = [bounds.draw_bound(*node) for node in numbers]
        axes.plot(depth + shift, printed, color=colour, ls=":", lw=1.2, label=f"as printed, S = {case.s}")
    axes.set(yscale="log", xlabel="depth of the node", ylabel="draws until expansion", ylim=(0.3, 150))
    axes.set_title("draws of expanded nodes, all runs", fontsize=10)
