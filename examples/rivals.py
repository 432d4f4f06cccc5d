"""Who else plays in the applications, with the budgets, noise and seeds of their tables: BoTorch above all.

    python examples/rivals.py radio_telescope

BoTorch measures smallest regions, as points, as in the arena: with its default model, and with one that has
Zonal's priors. It needs the extra `arena`.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path

import census
import dna
import numpy as np
import radio_telescope
import skies
from campaigns import Look, halving, keep, settled

import zonal as zn
from zonal.simulation import Landscape
from zonal.simulation.rehearsal import Player, cut, everybody, rehearse

ROOT = Path(__file__).resolve().parents[1]  # of the checkout, whose arena has BoTorch
PAGES = ("radio_telescope", "census", "dna")
ABSENT = 3  # exit code where BoTorch is not installed


@dataclass(frozen=True)
class BoTorch:
    """BoTorch over the smallest regions as points, as in the arena.

    Attributes
    ----------
    features : callable
        Region to its coordinates, what is known of where it lies; or to the numbers of its letters.
    noise : callable, optional
        Region to its noise, where that is known; else it is learned.
    once : bool
        Whether a second measurement of a region brings nothing.
    symbols : bool
        Whether features are numbers of symbols, which have no order.
    matched : bool
        Whether the model has the priors of Zonal's, and an output scale.
    by_reading : bool
        Whether it names the region of its highest reading, not that of the highest posterior mean.
    """

    features: Callable[[zn.Region], Iterable[float]]
    noise: Callable[[zn.Region], float] | None = None
    once: bool = False
    symbols: bool = False
    matched: bool = False
    by_reading: bool = False

    def __call__(self, landscape: Landscape, instrument, budget: int, rng: np.random.Generator) -> zn.Region:
        """Return the region that it names."""
        sys.path.insert(0, str(ROOT))
        from benchmarks.arena.botorch_search import search
        from benchmarks.arena.gpytorch_models import default_model, matched_model

        space, readings = landscape.space, dict[int, float]()
        cells = cut(space, space.max_depth())

        def measure(at: int) -> float:
            readings[at] = instrument(cells[at])
            return readings[at]

        named = search(
            measure,
            in_unit_cube(np.array([self.features(cell) for cell in cells], dtype=float), self.symbols),
            [budget],
            rng,
            matched_model if self.matched else default_model,
            symbols=self.symbols,
            noise=None if self.noise is None else np.array([self.noise(cell) for cell in cells]),
            once=self.once,
        )
        return cells[max(readings, key=readings.get) if self.by_reading else named[budget]]


def in_unit_cube(features: np.ndarray, symbols: bool) -> np.ndarray:
    """Return features between 0 and 1; symbols in the middle of equal shares of each axis."""
    width = np.ptp(features, axis=0)
    return (features - features.min(axis=0) + 0.5 * symbols) / (width + symbols)


@dataclass(frozen=True)
class Game:
    """One landscape of an application, and who plays there: BoTorch, and whoever its own table leaves out."""

    name: str
    landscape: Landscape
    budget: int
    noise: float | Callable[[zn.Region], float]
    look: Look
    botorch: BoTorch
    others: dict[str, Player]


def letters(region: zn.Region) -> list[float]:
    """Return the numbers of the fixed letters of a pool."""
    return [float("ACGT".index(letter)) for letter in region.name[: dna.FIXED]]


def games(page: str, country: Path) -> Iterator[Game]:
    """Yield what is played for a page."""
    if page == "radio_telescope":
        sky = skies.healpix_tree()
        budget, noise = radio_telescope.effort("HEALPix", sky)
        yield Game("HEALPix", sky, budget, noise, skies.radiometer, BoTorch(attrgetter("center")), {})
    elif page == "census":
        areas = census.landscapes(country)["bisection"]
        noise, budget = census.perturbation, round(census.SHARE * areas.space.size)
        known = everybody(areas.space, noise=noise, max_replicates=1)
        others = {name: known[name] for name in ("Zonal, UCB", "Zonal, GPOO")} | {"halving": halving}
        player = BoTorch(attrgetter("center"), noise, once=True)
        yield Game("bisection", areas, budget, noise, census.office, player, others)
    else:
        budget = round(dna.SHARE * 4**dna.FIXED)
        own = {"halving": halving}
        yield Game(
            "by prefix", dna.by_prefix(), budget, dna.RELATIVE, dna.assay, BoTorch(letters, symbols=True), own
        )


def ways(botorch: BoTorch) -> dict[str, Player]:
    """Return BoTorch as it is, with Zonal's priors, and, where every reading is of another region, by reading."""
    named: dict[str, Player] = {"BoTorch": botorch}
    if not botorch.symbols:
        named["BoTorch, matched prior"] = replace(botorch, matched=True)
    if botorch.once:
        named["BoTorch, best reading"] = replace(botorch, by_reading=True)
    return named


def main(page: str, runs: int, country: Path, results: Path | None = None) -> int:
    """Print the rows of a page; say so and return another code where BoTorch is not installed."""
    if find_spec("botorch") is None:
        print("BoTorch is not installed: pip install 'zonal[arena]'. Its rows stay as they were.", file=sys.stderr)
        return ABSENT
    for game in games(page, country):
        players = settled({**game.others, **ways(game.botorch)}, game.look)
        rehearsal = rehearse(game.landscape, game.budget, game.noise, runs, players)
        keep(results, game.name, rehearsal)
        print(f"{game.name}: {game.budget} measurements, {runs} runs\n{rehearsal.table()}\n", flush=True)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", choices=PAGES)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--country", type=Path, default=census.TABLE)
    parser.add_argument("--results", type=Path, help="where the regret of every run is kept")
    sys.exit(main(**vars(parser.parse_args())))
