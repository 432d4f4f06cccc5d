"""The demonstration: GPOO on the paper's first reward function, timed and drawn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from tqdm import tqdm

from zonal.averages.feedback import Average
from zonal.averages.kernels import RBF
from zonal.policies.optimistic import GPOO
from zonal.problems import RewardFunction, Simulation, aggregated_regret, grid_optimum, reward_function, simulate
from zonal.study import Study
from zonal.tables.files import write_picture
from zonal.theory import GeometricDelta

NOISE = 0.1


@dataclass(frozen=True)
class Demonstration:
    """A finished demonstration.

    Attributes
    ----------
    study : Study
        After its last measurement.
    function : RewardFunction
        What was searched.
    instrument : Simulation
        What measured it.
    seconds : float
        Time spent in ask and tell alone.
    """

    study: Study
    function: RewardFunction
    instrument: Simulation
    seconds: float

    def report(self) -> str:
        """Return what was found, beside the truth."""
        found = self.study.recommend()
        depth, space = found.node[0], self.study.space
        rivals = (space.cell((depth, index)) for index in range(space.arity**depth))
        best = max(rivals, key=self.instrument.average)
        true, top = self.instrument.average(found.region), self.instrument.average(best)
        x_star, f_star = grid_optimum(self.function)
        regret = aggregated_regret(self.instrument, found.region, f_star)
        return "\n".join(
            [
                f"region found          {found.region.name}  (depth {depth} of the tree)",
                f"its average           {found.mean:.4f} +- {found.std:.4f} believed, {true:.4f} in truth",
                f"true best average     {top:.4f}, over {best.name}, among the {space.arity**depth} regions of"
                " this depth",
                f"aggregated regret     {regret:.4f}  (f* = {f_star:.4f} at x = {x_star:.4f})",
                f"time of the search    {1000 * self.seconds:.1f} ms for {self.study.told} measurements",
            ]
        )

    def draw(self, path: Path) -> None:
        """Write the picture: function, cells and bands above, the tree below."""
        from matplotlib.figure import Figure

        from zonal.plots import plot_cells, plot_tree

        figure = Figure(figsize=(9, 7), layout="constrained")
        cells, tree = figure.subplots(2, 1, sharex=True, height_ratios=[1.25, 1])
        plot_cells(self.study, cells, self.function)
        cells.set_title(f"GPOO after {self.study.told} noisy averages over cells", fontsize=11)
        plot_tree(self.study, tree)
        figure.legend(*cells.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
        write_picture(figure, path, dpi=150)


def demonstrate(budget: int = 80, rng: int = 0, *, progress: bool = True) -> Demonstration:
    """Run GPOO on the paper's first function: averages of 10 points, noise 0.1.

    Three searches go before the timed one: the first use of everything is slow, and not the search's own time.

    Parameters
    ----------
    budget : int
        Measurements.
    rng : int
        Seed of the noise.
    progress : bool
        Show a progress bar.
    """
    function = reward_function("f1", "authors")
    instrument = simulate(function, Average(10), noise=NOISE, rng=rng)
    for _ in range(3):
        _study(80).optimize(simulate(function, Average(10), noise=NOISE, rng=0))
    study = _study(budget)
    seconds = 0.0
    for _ in tqdm(range(budget), desc="measuring", unit="", disable=None if progress else True):
        start = perf_counter()
        trial = study.ask()
        seconds += perf_counter() - start
        reward = instrument(trial.region)
        start = perf_counter()
        study.tell(trial, reward)
        seconds += perf_counter() - start
    return Demonstration(study, function, instrument, seconds)


def _study(budget: int) -> Study:
    return Study(
        [(0, 1)],
        budget=budget,
        kernel=RBF(variance=0.1, lengthscale=0.05),
        noise=NOISE,
        feedback=Average(10),
        policy=GPOO(GeometricDelta(14, 0.5)),
        value_name="reward",
    )
