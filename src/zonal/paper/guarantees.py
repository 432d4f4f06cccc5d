"""The paper's statements, checked: functions drawn from the model, many searches, how often each statement held.

Every statement is checked in full, the confidence intervals of all nodes down to h_max in every round included and
not only those of the tree. That is why h_max is small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import zonal as zn
from zonal import theory
from zonal.paper.results import STYLES, Settings, Table, save, seed
from zonal.paper.runs import Answer, Task, run_all
from zonal.policies import Policy
from zonal.problems import Draw, Simulation, aggregated_regret, draw, true_optimum
from zonal.tree import TreeTable

Floats = NDArray[np.float64]
Node = tuple[int, int]

KERNEL = zn.RBF(variance=0.1, lengthscale=0.05)
SLOPE = math.sqrt(KERNEL.variance) / 0.05  # std of f's derivative
NOISE = 0.1
THETA = 0.1
H_MAX = 7  # 255 nodes, all of them checked in every round
SPACE = zn.Box([(0, 1)], arity=2)
RHO = 1 / SPACE.arity  # on one axis every delta here is geometric
ROUNDING = 1e-9
GRID = np.linspace(0, 1, 4097)
COARSE = GRID[::4]
DRAWS = 40  # functions a run whose slope is looked at without a search


@dataclass(frozen=True)
class Case:
    """An algorithm, what its measurements see, and its delta.

    Attributes
    ----------
    algorithm : {"GPOO", "StoOO"}
    s : int
        Representative points of a cell.
    rule : {"Lipschitz", "c = 14"}
        `LipschitzDelta`, or the paper's ``GeometricDelta(14, 0.5)``.
    """

    algorithm: str
    s: int
    rule: str

    @property
    def name(self) -> str:
        """What a table calls it: StoOO with averages is AVE-StoOO."""
        return "AVE-StoOO" if self.algorithm == "StoOO" and self.s > 1 else self.algorithm

    @property
    def feedback(self) -> zn.Center | zn.Average:
        """What a measurement sees."""
        return zn.Center() if self.s == 1 else zn.Average(self.s)

    @property
    def reach(self) -> float:
        """How far the unit interval reaches from what is seen of it."""
        return self.feedback.reach(SPACE.axes[0], 1.0)

    @property
    def L(self) -> float:
        """The Lipschitz constant with which delta fulfils Assumption 3 with equality."""
        if self.rule == "Lipschitz":
            return float(theory.lipschitz_constants(np.array([SLOPE]), H_MAX, THETA)[0])
        return 14 / self.reach

    @property
    def delta(self) -> zn.GeometricDelta:
        """Delta: L times how far a cell of the unit interval reaches."""
        return zn.GeometricDelta(self.L * self.reach, RHO)

    @property
    def policy(self) -> Policy:
        """The policy under test."""
        delta = zn.LipschitzDelta() if self.rule == "Lipschitz" else zn.GeometricDelta(14, RHO)
        make = zn.GPOO if self.algorithm == "GPOO" else zn.StoOO
        return make(delta, theta=THETA, h_max=H_MAX)

    @property
    def noise(self) -> float:
        """The sigma of the bounds; AVE-StoOO's are written for rewards in [0, 1], which is sigma 1."""
        return NOISE if self.algorithm == "GPOO" else 1.0

    @property
    def beta(self) -> Callable[[int], float]:
        """beta_t."""
        if self.algorithm == "GPOO":
            return partial(theory.beta_t, log_m=theory.log_node_count(SPACE.arity, H_MAX), theta=THETA)
        return partial(theory.beta_stooo, theta=THETA)

    @property
    def a(self) -> float:
        """What Lemma 1 allows xi_1 to fail with."""
        return theory.smoothness_failure(self.L, theory.tail_rate(SLOPE), H_MAX)

    @property
    def promised(self) -> float:
        """The probability with which the theorem holds."""
        if self.algorithm == "GPOO":
            return theory.event_probability(self.a, THETA)
        return theory.event_probability_stooo(THETA)


CASES = (
    Case("GPOO", 1, "Lipschitz"),
    Case("GPOO", 10, "Lipschitz"),
    Case("GPOO", 10, "c = 14"),
    Case("StoOO", 10, "Lipschitz"),
)


@dataclass(frozen=True)
class Truth:
    """A drawn function and what only the simulation knows: maximum, values on `GRID`, averages of all cells."""

    f: Draw
    x_star: float
    f_star: float
    values: Floats
    instrument: Simulation
    averages: dict[Node, float]


def search_run(algorithm: str, s: int, rule: str, budget: int, seed: list[int]) -> Answer:
    """Draw a function, search it, and return which statements held, with the numbers behind them."""
    case = Case(algorithm, s, rule)
    f = draw(KERNEL, 0, 1, np.random.default_rng([*seed, 0]))  # the same in every case
    instrument = zn.simulate(f, case.feedback, NOISE, rng=np.random.default_rng([*seed, 1]))
    nodes = [(h, i) for h in range(H_MAX + 2) for i in range(SPACE.arity**h)]
    averages = {node: instrument.average(SPACE.cell(node)) for node in nodes}
    truth = Truth(f, *true_optimum(f), f(GRID[:, None]), instrument, averages)
    nu = theory.shape_constant(1 - case.reach, case.delta(0))
    epsilons = [3 * case.delta(h) for h in range(H_MAX + 2)]
    near = theory.near_optimality(GRID, truth.values, truth.f_star, nu / 3, epsilons)
    constant = theory.rate_constant(case.noise, RHO, SPACE.arity, near)
    rounds = range(1, budget + 1)
    numbers = (case.noise, case.delta, SPACE.arity, near)
    return {
        "xi_1": _smoothness(case, truth),
        "lemma 2": _nodes(case, truth, near),
        **_search(case, truth, budget),
        "h_N": [theory.regret_depth(n, case.beta(n), *numbers) for n in rounds],
        "counted": [theory.counted_depth(n, case.beta(n), *numbers) for n in rounds],
        "rate": [constant * theory.regret_rate(n, case.beta(n), near.d) for n in rounds],
        "range": truth.f_star - float(truth.values.min()),
        "d": near.d,
        "C": near.C,
    }


def slope_run(draws: int, seed: list[int]) -> Answer:
    """Draw functions without searching them; return the largest slope of each."""
    rng = np.random.default_rng([*seed, 2])
    values = [draw(KERNEL, 0, 1, rng)(COARSE[:, None]) for _ in range(draws)]
    return {"slopes": (np.abs(np.diff(values)).max(axis=1) / COARSE[1]).tolist()}


def _smoothness(case: Case, truth: Truth) -> float:
    """Return the least of L |x - x*| / (f* - f(x)) over representative points of cells with x*: xi_1 if >= 1."""
    sizes = [SPACE.arity**h for h in range(H_MAX + 2)]
    cells = [(h, min(int(truth.x_star * size), size - 1)) for h, size in enumerate(sizes)]
    points = np.concatenate([SPACE.cell(node, case.feedback).points for node in cells])
    allowed = case.L * np.abs(points[:, 0] - truth.x_star) + ROUNDING
    return float(np.min(allowed / np.maximum(truth.f_star - truth.f(points), ROUNDING)))


def _nodes(case: Case, truth: Truth, near: theory.NearOptimality) -> list[float]:
    """Return Lemma 2's bound over the true size of I_h, depth by depth."""
    sizes = np.zeros(H_MAX + 2)
    for (h, _), average in truth.averages.items():
        sizes[h] += average + 3 * case.delta(h) >= truth.f_star
    return [theory.near_optimal_nodes(case.delta(h), near) / max(size, 1) for h, size in enumerate(sizes)]


def _search(case: Case, truth: Truth, budget: int) -> Answer:
    """Search, and compare in every round the search with what the proofs say of it."""
    study = zn.Study(
        SPACE, budget=budget, kernel=KERNEL, noise=NOISE, feedback=case.feedback, policy=case.policy
    )  # fmt: skip
    nodes = [node for node in truth.averages if node[0] <= H_MAX]
    cells = [SPACE.cell(node, case.feedback) for node in nodes]
    averages = np.array([truth.averages[node] for node in nodes])
    confidence, variance, draws, regret, depth = [], [], [], [], []
    for t in range(1, budget + 1):
        if case.algorithm == "GPOO":  # xi_2: all nodes, with Z_{1:t-1} and beta_t
            mean, std = study.predict(cells)
            confidence.append(_slack(mean - averages, std, case.beta(t)))
        before = study.tree
        trial = study.ask()
        study.tell(trial, truth.instrument(trial.region))
        tree = study.tree
        seen = np.flatnonzero(tree.count)
        if case.algorithm == "StoOO":  # its event: nodes measured so far, with T counted after round t
            true = [truth.averages[int(tree.depth[row]), int(tree.index[row])] for row in seen]
            confidence.append(_slack(tree.mean[seen] - true, tree.std[seen], case.beta(t)))
        variance.append([theory.std_bound(int(tree.count[row]), case.noise) / tree.std[row] for row in seen])
        draws.append(_draw(case, truth, trial.node, t, before, tree))
        best = study.recommend()
        regret.append(aggregated_regret(truth.instrument, best.region, truth.f_star))
        depth.append(best.node[0])
    ratios = np.concatenate(variance)
    return {
        "xi_2": min(confidence),
        "proposition 2": [float(ratios.min()), float(np.median(ratios))],
        "draws": draws,
        "regret": regret,
        "depth": depth,
    }


def _slack(error: Floats, std: Floats, beta: float) -> float:
    """Return the least of CI over error: the confidence intervals hold if it is at least 1."""
    return float(np.min((math.sqrt(beta) * std + ROUNDING) / np.maximum(np.abs(error), ROUNDING)))


def _draw(case: Case, truth: Truth, node: Node, t: int, before: TreeTable, after: TreeTable) -> dict[str, Any]:
    """Return what Lemmas 3 and 4 speak of, for the node measured in round t."""
    depth, index = node
    row = int(np.flatnonzero((after.depth == depth) & (after.index == index))[0])
    delta = case.delta(depth)
    return {
        "depth": depth,
        "count": int(after.count[row]),
        "bound": theory.draw_bound(case.beta(t), case.noise, delta),
        "expanded": bool(after.expanded[row] and not before.expanded[row]),
        "gap": (truth.f_star - truth.averages[node]) / (3 * delta),  # in I_h: at most 1
        "late": bool(math.sqrt(case.beta(t)) * before.std[row] > delta),
    }


def experiment(settings: Settings) -> Table:
    """Run the searches, write how often each statement held, and a picture of regret, draws and their bounds."""
    tasks = [
        Task(search_run, {**vars(case), "budget": settings.budget, "seed": seed(settings, i)})
        for case in CASES
        for i in range(settings.runs)
    ]
    tasks += [Task(slope_run, {"draws": DRAWS, "seed": seed(settings, i)}) for i in range(settings.runs)]
    answers = iter(run_all(tasks, settings.out, settings.jobs, "theory"))
    runs = {case: [next(answers) for _ in range(settings.runs)] for case in CASES}
    slopes = np.concatenate([answer["slopes"] for answer in answers])
    columns = ["algorithm", "S", "delta", "statement", "promised", "held", "runs", "bound/truth", "remark"]
    table = Table("theory", columns)
    for case, listed in runs.items():
        rows = [_slope_row(case, slopes), *_events(case, listed), *_lemmas(case, listed), *_regrets(case, listed)]
        table.rows.extend([case.name, case.s, case.rule, *row] for row in rows)
    table.notes.extend(_notes(settings))
    table.write(settings)
    save(_figure(runs, settings), settings, "theory")
    return table


def _row(text: str, promised: float, ratios: Any, remark: str = "", worst: Any = None) -> list[Any]:
    """Return a row from one ratio a run, bound over truth; it held where the run's worst ratio is at least 1."""
    worst = np.asarray(ratios if worst is None else worst)
    if len(worst) == 0:
        return [text, promised, "", 0, "", remark]
    held = float(np.mean(worst >= 1 - ROUNDING))
    return [text, promised, held, len(worst), float(np.median(ratios)), remark]


def _slope_row(case: Case, slopes: Floats) -> list[Any]:
    remark = f"L = {case.L:.1f}; drawn without a search; a = 1 is right for fixed points only"
    return _row("|f'| <= L everywhere (Assumption 2, a = 1)", 1 - case.a / H_MAX, case.L / slopes, remark)


def _events(case: Case, runs: list[Answer]) -> list[list[Any]]:
    """Return Lemma 1, at its tightest place in each run."""
    smooth, confident = _column(runs, "xi_1"), _column(runs, "xi_2")
    if case.algorithm == "StoOO":
        return [
            _row("f is smooth around x* (assumed)", 1.0, smooth),
            _row("its event: means within sqrt(2 log(t^2/theta)/T)", case.promised, confident),
        ]
    return [
        _row("xi_1: f is smooth around x*", 1 - case.a, smooth, f"representative points, depths 0..{H_MAX + 1}"),
        _row("xi_2: all confidence intervals hold", 1 - THETA, confident, "all 255 nodes, every round"),
        _row("xi (Lemma 1)", case.promised, np.minimum(smooth, confident)),
    ]


def _given(runs: list[Answer]) -> list[Answer]:
    """Return the runs in which xi held."""
    return [run for run in runs if min(run["xi_1"], run["xi_2"]) >= 1 - ROUNDING]


def _lemmas(case: Case, runs: list[Answer]) -> list[list[Any]]:
    """Return what is said of I_h, of expanded nodes, of variances and of draws."""
    nodes, variance = _column(runs, "lemma 2"), _column(runs, "proposition 2")
    draws = [[one for one in run["draws"] if one["depth"] <= H_MAX] for run in _given(runs)]
    expanded = [[one for one in listed if one["expanded"]] for listed in draws]
    gaps = [[1 / one["gap"] for one in listed] for listed in expanded if listed]
    late = _share([one["late"] for listed in expanded for one in listed])
    bound, bound_1 = ([[(one["bound"] + k) / one["count"] for one in listed] for listed in draws] for k in (0, 1))
    near = f"estimated: median d {_median(runs, 'd'):.2f}, C {_median(runs, 'C'):.0f}"
    name = "beta_t sigma^2 / delta^2" if case.algorithm == "GPOO" else "2 log(t^2/theta) / delta^2"
    rows = [
        _row("|I_h| <= C [3 delta(h)]^-d (Lemma 2)", 1.0, np.median(nodes, axis=1), near, nodes.min(axis=1)),
        _row(
            "expanded nodes lie in I_h, given xi (Lemma 3)",
            1.0,
            [np.median(listed) for listed in gaps],
            f"CI > delta before the last draw, which the proof overlooks: {late}",
            [min(listed) for listed in gaps],
        ),
        _row("std <= sigma / sqrt(T) (Proposition 2)", 1.0, variance[:, 1], "", variance[:, 0]),
        _row(
            f"draws <= {name}, given xi (Lemma 4)",
            1.0,
            [np.median(listed) for listed in bound],
            "below 1 at the root: the draw that expands is not counted",
            [min(listed) for listed in bound],
        ),
        _row("draws <= that + 1", 1.0, [np.median(listed) for listed in bound_1], "", [min(x) for x in bound_1]),
    ]
    return rows if case.algorithm == "GPOO" else [row for row in rows if "Proposition" not in row[0]]


def _regrets(case: Case, runs: list[Answer]) -> list[list[Any]]:
    """Return the theorem, the step of its proof that is in doubt, and the Corollary."""
    regret = np.maximum(_column(runs, "regret"), 1e-12)
    bounds = {key: 3 * case.delta.c * RHO ** _column(runs, key) for key in ("h_N", "counted", "depth")}
    given = _given(runs)
    # The proof's step is h_N <= depth recommended, at most h_max: as a ratio, delta(h_N) / delta(depth) >= 1.
    depth = _column(given, "depth")
    step, counted = (RHO ** (np.minimum(_column(given, key), H_MAX) - depth) for key in ("h_N", "counted"))
    empty = _share(bounds["h_N"][:, -1] > _column(runs, "range"))
    every = _share((regret <= bounds["h_N"]).all(axis=1))
    theorem = "Theorem 1" if case.algorithm == "GPOO" else "its theorem"
    final = {key: curve[:, -1] / regret[:, -1] for key, curve in bounds.items()}
    rate = _column(runs, "rate")
    return [
        _row(
            f"R_N <= 3 delta(h_N) ({theorem})",
            case.promised,
            final["h_N"],
            f"more than f* - min f in {empty}; held at all N <= budget in {every} of runs",
        ),
        _row("R_N <= 3 delta(depth recommended)", case.promised, final["depth"], "from Lemma 3 alone"),
        _row(
            "h_N <= depth recommended, given xi (its proof)",
            1.0,
            step[:, -1:].min(axis=1),
            f"fails at {_share(step < 1)} of all N <= budget: see theory.counted_depth",
        ),
        _row("the same at all N, all draws counted", 1.0, counted[:, -1:].min(axis=1), "", counted.min(axis=1)),
        _row("R_N <= 3 delta(h_N), all draws counted", case.promised, final["counted"]),
        _row(
            "R_N <= constant x rate (Corollary)", case.promised, rate[:, -1] / regret[:, -1], _powers(regret, rate)
        ),
    ]


def _powers(regret: Floats, rate: Floats) -> str:
    """Return how fast mean regret and the Corollary's bound fall with N, as powers, from N = 10 on."""
    n = np.arange(10, regret.shape[1] + 1)
    if len(n) < 3:
        return ""
    fall = [np.polyfit(np.log(n), np.log(curve.mean(axis=0)[n - 1]), 1)[0] for curve in (regret, rate)]
    return f"from N = 10 mean regret falls as N^{fall[0]:.2f}, the bound as N^{fall[1]:.2f}"


def _column(runs: list[Answer], key: str) -> Floats:
    return np.array([run[key] for run in runs], dtype=float)


def _median(runs: list[Answer], key: str) -> float:
    return float(np.median(_column(runs, key)))


def _share(held: Any) -> str:
    return f"{100 * float(np.mean(held)):.0f} %" if np.size(held) else "-"


def _notes(settings: Settings) -> list[str]:
    return [
        f"f drawn from the model, RBF(0.1, 0.05), noise 0.1, K = 2, theta = {THETA}, h_max = {H_MAX}, "
        f"N = {settings.budget}; {settings.runs} runs, the same functions for every algorithm.",
        "held: fraction of the runs counted; 'given xi': of the runs in which xi (AVE-StoOO: its event) held.",
        "bound/truth: median over runs; for events at the tightest place of a run, for lemmas at its median node.",
        "b = 1/s^2 with s the std of f's slope: a heuristic (Proposition 1 for fixed points). d and C are "
        "estimated for each f from its packing numbers at epsilon = 3 delta(h), which no user could do.",
        "AVE-StoOO's rewards are not rescaled to [0, 1]: its proof needs that only for noise that is sub-Gaussian "
        "with sigma 1, which a noise of 0.1 is.",
    ]


def _figure(runs: dict[Case, list[Answer]], settings: Settings) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.8, 7.8), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=[1.15, 1])
    top, bottom = parts[0].subplots(), parts[1].subplots()
    _draw_regret(top, {case: runs[case] for case in CASES[:2]})
    _draw_draws(bottom, {case: runs[case] for case in CASES if case.rule == "Lipschitz"}, settings)
    for part, axes in zip(parts, (top, bottom), strict=True):
        handles, labels = axes.get_legend_handles_labels()
        look = {"ncols": 2, "frameon": False, "fontsize": 9, "handlelength": 3}
        part.legend(handles, labels, loc="outside lower center", **look)
    return figure


def _draw_regret(axes: Any, runs: dict[Case, list[Answer]]) -> None:
    """Draw true regret and the bounds on it against the budget; a case has a colour, a quantity a line style."""
    highest = 200.0
    for (case, listed), (colour, _), marker in zip(runs.items(), STYLES, ("", "s"), strict=False):
        regret = _column(listed, "regret")
        n = np.arange(1, regret.shape[1] + 1)
        curves = [
            (r"$3\delta(h_N)$, Theorem 1", "--", 3 * case.delta.c * RHO ** _column(listed, "h_N")),
            ("Corollary", ":", _column(listed, "rate")),
            ("true regret", "-", regret),
        ]
        for text, style, curve in curves:
            look = {"color": colour, "ls": style, "lw": 1.8, "marker": marker, "ms": 4, "markevery": 0.15}
            axes.plot(n, np.median(curve, axis=0), label=f"{text}, S = {case.s}", **look)
        low, high = np.quantile(regret, [0.1, 0.9], axis=0)
        axes.fill_between(n, low, high, color=colour, alpha=0.15, lw=0)
        axes.set_xlim(1, max(2, n[-1]))
    axes.axhspan(_median(listed, "range"), highest, color="black", alpha=0.1, lw=0)
    axes.text(1.1, highest / 1.3, r"above $f^* - \min f$ a bound says nothing", va="top", fontsize=9)
    axes.set(
        xscale="log", yscale="log", xlabel="budget N (measurements)", ylabel="aggregated regret (value units)"
    )
    axes.set_ylim(1e-3, highest)
    axes.set_title("GPOO: regret (median, 10 to 90 % of runs) and bounds", fontsize=10)
    ticks = [n for n in (1, 2, 5, 10, 20, 40, 80, 160, 320) if n <= max(2, regret.shape[1])]
    axes.set_xticks(ticks, [str(n) for n in ticks])


def _draw_draws(axes: Any, runs: dict[Case, list[Answer]], settings: Settings) -> None:
    """Draw how often expanded nodes were measured, against Lemma 4."""
    for j, ((case, listed), (colour, _), marker) in enumerate(zip(runs.items(), STYLES, "osD", strict=False)):
        nodes = {(one["depth"], one["count"]) for run in listed for one in run["draws"] if one["expanded"]}
        points = np.array(sorted(nodes), dtype=float).reshape(-1, 2)
        shift = 0.12 * (j - 1)  # beside each other, not on top
        look = {"color": colour, "ls": "", "marker": marker, "ms": 4.5, "label": f"{case.name}, S = {case.s}"}
        axes.plot(points[:, 0] + shift, points[:, 1], **look)
    for j, (case, (colour, style)) in enumerate(zip(runs, STYLES, strict=False)):
        depth = range(H_MAX + 1)
        bound = [theory.draw_bound(case.beta(settings.budget), case.noise, case.delta(h)) for h in depth]
        axes.plot(
            np.array(depth) + 0.12 * (j - 1), bound, color=colour, ls=style, lw=1.5, label="its bound, Lemma 4"
        )
    axes.set(yscale="log", xlabel="depth of the node", ylabel="draws until expansion", ylim=(0.3, 1500))
    axes.text(-0.25, 1000, "above its line: the draw that\nexpands is not in the bound", va="top", fontsize=9)
    axes.set_title("draws of expanded nodes, all runs", fontsize=10)
