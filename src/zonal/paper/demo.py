"""The demonstration: GPOO on the paper's first reward function, timed and drawn."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tqdm import tqdm

import zonal as zn
from zonal.paper.authors import KERNEL
from zonal.paper.searches import NOISE, policies, study
from zonal.plots import plot_cells, plot_tree
from zonal.plots.lines import Function
from zonal.problems import RewardFunction, Simulation, aggregated_regret, grid_optimum
from zonal.tables.files import write_picture

S = 10


def demonstrate(budget: int, rng: int, picture: Path) -> str:
    """Search, plot the tree below the function and its cells, and return the result beside the truth.

    Three searches precede the timed one: the first use of everything is slow, which is not the search's own time.
    """
    f = zn.reward_function("f1", "authors")
    for _ in range(3):
        _study(80).optimize(zn.simulate(f, zn.Average(S), NOISE, rng=0))
    searched, instrument, seconds = _study(budget), zn.simulate(f, zn.Average(S), NOISE, rng=rng), 0.0
    for _ in tqdm(range(budget), desc="measuring", unit="", disable=None):
        started = perf_counter()
        trial = searched.ask()
        asked = perf_counter()
        reward = instrument(trial.region)
        measured = perf_counter()
        searched.tell(trial, reward)
        seconds += perf_counter() - measured + asked - started
    write_picture(_figure(searched, f), picture, dpi=150)
    times = f"time of the search    {1000 * seconds:.1f} ms for {searched.told} measurements"
    return f"{_report(searched, f, instrument)}\n{times}"


def _study(budget: int) -> zn.Study:
    return study(KERNEL, policies()["GPOO"], S, budget)


def _report(searched: zn.Study, f: RewardFunction, instrument: Simulation) -> str:
    found, space = searched.recommend(), searched.space
    depth = found.node[0]
    rivals = [space.cell((depth, index)) for index in range(space.arity**depth)]
    best = max(rivals, key=instrument.average)
    true, top = instrument.average(found.region), instrument.average(best)
    x_star, f_star = grid_optimum(f)
    regret = aggregated_regret(instrument, found.region, f_star)
    return (
        f"region found          {found.region.name}  (depth {depth} of the tree)\n"
        f"its average           {found.mean:.4f} +- {found.std:.4f} believed, {true:.4f} in truth\n"
        f"true best average     {top:.4f}, over {best.name}, among the {len(rivals)} regions of this depth\n"
        f"aggregated regret     {regret:.4f}  (f* = {f_star:.4f} at x = {x_star:.4f})"
    )


def cells_above_tree(searched: zn.Study, f: Function, width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure of a study's cells, with f, above its tree, without legends; and the upper panel."""
    figure = Figure(figsize=(width, height), layout="constrained")
    cells, tree = figure.subplots(2, 1, sharex=True, height_ratios=[1.25, 1])
    plot_cells(searched, cells, f)
    drawn = plot_tree(searched, tree).get_legend()
    if drawn is not None:
        drawn.remove()  # one legend below explains both panels
    return figure, cells


def _figure(searched: zn.Study, f: RewardFunction) -> Figure:
    figure, cells = cells_above_tree(searched, f, 9, 7)
    cells.set_title(f"GPOO after {searched.told} noisy averages over cells", fontsize=11)
    figure.legend(*cells.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure
