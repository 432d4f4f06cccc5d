"""The demonstration: GPOO on the paper's first function, its result beside the truth, and a picture."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tqdm import tqdm

from zonal.io.files import write_picture
from zonal.kernels.base import RBF
from zonal.kernels.feedback import Average
from zonal.plotting import plot_cells, plot_tree
from zonal.plotting.curves import Function
from zonal.policies.deltas import GeometricDelta
from zonal.policies.gpoo import GPOO
from zonal.simulation.functions import RewardFunction, aggregated_regret, grid_optimum, reward_function
from zonal.simulation.simulators import Simulation, simulate
from zonal.spaces import Box
from zonal.study.study import Study

NOISE = 0.1
FEEDBACK = Average(10)


def _study(budget: int) -> Study:
    """Return the search, not started yet."""
    return Study(
        Box([(0, 1)]),
        budget=budget,
        kernel=RBF(variance=0.1, lengthscale=0.05),
        noise=NOISE,
        feedback=FEEDBACK,
        policy=GPOO(GeometricDelta(14, 0.5)),
        value_name="reward",
    )


def cells_above_tree(searched: Study, f: Function, width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure of a study's cells, with f, above its tree, without legends; and the upper panel."""
    figure = Figure(figsize=(width, height), layout="constrained")
    cells, tree = figure.subplots(2, 1, sharex=True, height_ratios=[1.25, 1])
    plot_cells(searched, cells, f)
    drawn = plot_tree(searched, tree).get_legend()
    if drawn is not None:
        drawn.remove()  # one legend below explains both panels
    return figure, cells


def demonstrate(budget: int, rng: int, picture: Path) -> str:
    """Search, plot the tree below the function and its cells, and return the result beside the truth.

    Three searches precede the timed one: the first use of everything is slow, which is not the search's own time.
    """
    f = reward_function("f1", "authors")
    for _ in range(3):
        _study(80).optimize(simulate(f, FEEDBACK, NOISE, rng=0))
    searched, seconds = _study(budget), 0.0
    instrument = simulate(f, FEEDBACK, NOISE, rng=rng)
    for _ in tqdm(range(budget), desc="measuring", unit="", disable=None):
        started = perf_counter()
        trial = searched.ask()
        asked = perf_counter()
        reward = instrument(trial.region)
        measured = perf_counter()
        searched.tell(trial, reward)
        seconds += perf_counter() - measured + asked - started
    figure, cells = cells_above_tree(searched, f, 9, 7)
    cells.set_title(f"GPOO after {searched.measured} noisy averages over cells", fontsize=11)
    figure.legend(*cells.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    write_picture(figure, picture, dpi=150)
    times = f"time of the search    {1000 * seconds:.1f} ms for {searched.measured} measurements"
    return f"{_report(searched, f, instrument)}\n{times}"


def _report(searched: Study, f: RewardFunction, instrument: Simulation) -> str:
    recommended, space = searched.recommend(on_grid=True), searched.space
    assert recommended.node is not None
    depth = recommended.node[0]
    rivals = [space.cell((depth, index)) for index in range(space.arity**depth)]
    best = max(rivals, key=instrument.average)
    true, top = instrument.average(recommended.region), instrument.average(best)
    x_star, f_star = grid_optimum(f)
    regret = aggregated_regret(instrument, recommended.region, f_star)
    return (
        f"region found          {recommended.region.name}  (depth {depth} of the tree)\n"
        f"its average           {recommended.mean:.4f} +- {recommended.std:.4f} estimated, {true:.4f} in truth\n"
        f"true best average     {top:.4f}, over {best.name}, among the {len(rivals)} regions of this depth\n"
        f"aggregated regret     {regret:.4f}  (f* = {f_star:.4f} at x = {x_star:.4f})"
    )
