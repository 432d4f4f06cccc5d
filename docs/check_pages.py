"""Do the pages show what their commands give now? `make pages-check`, or `python docs/check_pages.py radio dna`.

One row of a table of each page is played again in full, with the page's own runs and seeds, and compared with what
the page shows, word by word: a minute or two a page. A page made from a file of results must be what it gives.
Tables of which no row can be played again in that time are renewed by `make applications`, `make arena` and
`make reproduction` alone.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path[:0] = [str(ROOT), str(ROOT / "examples"), str(DOCS)]
DATA = Path(os.environ.get("ZONAL_DATA", ROOT.parent / "shared" / "data"))  # tables that are not shipped
RUNS = 30  # of the applications


class MissingData(Exception):
    """A table that is not shipped is not here."""


@dataclass(frozen=True)
class Row:
    """A row of a page, and what makes it again.

    Attributes
    ----------
    page : str
        The page, without its ending.
    above : str
        How a line of the page begins, below which the row stands.
    name : str
        How the row begins.
    again : callable
        Returns the row as it is made now.
    """

    page: str
    above: str
    name: str
    again: Callable[[], str]

    def shown(self) -> str:
        """Return the row as the page shows it."""
        lines = (DOCS / f"{self.page}.md").read_text(encoding="utf-8").splitlines()
        first = next(at for at, line in enumerate(lines) if line.startswith(self.above))
        return next(line for line in lines[first:] if words(line)[: len(words(self.name))] == words(self.name))

    def difference(self) -> str:
        """Return how the page differs from what is made now; "" if it does not."""
        shown, made = words(self.shown()), words(self.again())
        return "" if shown == made else f"shows {' '.join(shown)}; now it is {' '.join(made)}"


def words(line: str) -> list[str]:
    """Return the words and numbers of a row, however it is laid out."""
    return re.sub(r"[|*]", " ", line).split()


def example(name: str) -> Any:
    """Return a module of the examples, or one that makes a page."""
    return import_module(name)


def table(name: str) -> Path:
    """Return the path of a table that is not shipped."""
    path = DATA / name
    if not path.exists():
        raise MissingData(f"{name} is not in {DATA}; say where it is with ZONAL_DATA")
    return path


def of(printed: object, name: str) -> str:
    """Return the row of a printed table that begins with a name."""
    return next(line for line in str(printed).splitlines() if words(line)[: len(words(name))] == words(name))


def healpix() -> str:
    """Return the row of the default on HEALPix."""
    radio_telescope, skies = example("radio_telescope"), example("skies")
    from zonal.simulation.rehearsal import rehearse

    sky = skies.healpix_tree()
    budget, noise = radio_telescope.effort("HEALPix", sky)
    player = {"Zonal": radio_telescope.contestants(sky.space)["Zonal"]}
    return of(rehearse(sky, budget, noise, RUNS, player).table(), "Zonal")


def by_the_clock() -> str:
    """Return the row of the default that knows what measurements cost."""
    clock, settled = example("telescope_time"), example("campaigns").settled
    from zonal.simulation import datasets
    from zonal.simulation.rehearsal import StudyPlayer, rehearse

    player = settled({"cost-aware": StudyPlayer(clock.COSTS)}, clock.radiometer)
    sky = clock.box(datasets.sky())
    return of(rehearse(sky, clock.SECONDS, clock.CHANNEL**-0.5, RUNS, player).table(), "cost-aware")


def rings() -> str:
    """Return in how many campaigns the ring and the axis cut open found the brightest patch, as the text says."""
    from benchmarks import rings as ring
    from zonal.simulation import datasets
    from zonal.simulation.rehearsal import StudyPlayer, rehearse

    found = []
    for periodic in (["l"], []):
        sky = ring.landscape(datasets.sky(), periodic)
        line = of(rehearse(sky, 60, 2.0, 10, {"Zonal": StudyPlayer()}).table(), "Zonal")
        found.append(line.split(" of ")[0].split()[-1])
    before = "60 pointings (with a noise of 2 everywhere, where the tables above have up to 5 on bright patches): "
    before += "on the sky as it is the search on a ring found the brightest patch in"
    after = "with the sky turned (without `--as-it-is`) so"
    return f"{before} {found[0]} and the one on an axis cut open in {found[1]}; {after}"


def official_areas() -> str:
    """Return the row of the default by the official areas of the census."""
    census, settled = example("census"), example("campaigns").settled
    from zonal.simulation.rehearsal import everybody, rehearse

    areas = census.landscapes(table("census_au_sa2.csv"))["official areas"]
    known = {"noise": census.perturbation, "max_replicates": 1}
    player = settled({"Zonal": everybody(areas.space, **known)["Zonal"]}, census.office)
    budget = round(census.SHARE * areas.space.size)
    return of(rehearse(areas, budget, census.perturbation, RUNS, player).table(), "Zonal")


def by_prefix() -> str:
    """Return the row of the default on pools of DNA by their prefix."""
    dna, settled = example("dna"), example("campaigns").settled
    from zonal.simulation.rehearsal import everybody, rehearse

    pools = dna.by_prefix()
    player = settled({"Zonal": everybody(pools.space, value_name="affinity")["Zonal"]}, dna.assay)
    return of(rehearse(pools, round(dna.SHARE * 4**dna.FIXED), dna.RELATIVE, RUNS, player).table(), "Zonal")


def neighbourhoods() -> str:
    """Return the row of the default in towns where a neighbourhood's load is high."""
    if find_spec("wntr") is None:
        raise MissingData("wntr, which ships the network, is not installed")
    sewer = example("sewer")
    player = {"Zonal": sewer.contestants()["Zonal"]}
    return of(sewer.compare(sewer.neighbourhood, player, RUNS, sewer.SAMPLES).table(), "Zonal")


def power() -> str:
    """Return the row of ten measurements of the quiet instrument."""
    import zonal as zn

    page = example("power")
    return of(zn.power(page.STRIP, [10], noise=page.NOISES["a quiet instrument"], runs=50), "10")


def gradients() -> str:
    """Return the row of the default with averages on f2."""
    from reproduction.gradients import BUDGETS, run

    regrets = [
        [run("authors", "f2", "default", "averages", n, [0, i])["regret"] for i in range(100)] for n in BUDGETS
    ]
    means = [f"{np.mean(values):.4f}" for values in regrets]
    errors = [f"{np.std(values, ddof=1) / np.sqrt(len(values)):.4f}" for values in regrets]
    return " ".join(["f2 default averages", *means, *errors])


def equal_looks() -> str:
    """Return a row of the table that follows from the table above it."""
    return str(next(line for line in example("make_gradients").at_equal_looks() if "| f1 | default" in line))


def half() -> str:
    """Return the row of f2 at N = 20 of the table on half the measurements."""
    from benchmarks.arena.summary import ratio_of_means
    from benchmarks.half import LOST, regret

    seeds = range(90000, 90200)
    ours, paper = ({at: regret("f2", at, n, at % 2 == 1) for at in seeds} for n in (20, 80))
    values = np.array(list(ours.values()))
    ratio = ratio_of_means({"f2": ours}, {"f2": paper}, floor=0.0)
    assert ratio is not None
    mean, error = values.mean(), values.std() / np.sqrt(len(values))
    against = f"{ratio['ratio']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})"
    return f"20 f2 {len(values)} {mean:.4f} ± {error:.4f} {np.mean(values > LOST):.1%} {against}"


def bars() -> str:
    """Return the row of GP-UCB given the kernel."""
    from benchmarks.half import FUNCTIONS, search

    name = "40, GP-UCB over 256 cells, given kernel and noise"
    cells = []
    for function in FUNCTIONS:
        values = [search(function, at, 40, at % 2 == 1, "UCB").regret() for at in range(95000, 95040)]
        cells.append(f"{np.mean(values):.4f} ± {np.std(values) / np.sqrt(len(values)):.4f}")
    return " ".join([name, *cells])


ROWS = (
    Row("radio_telescope", "HEALPix: 36 pointings", "Zonal", healpix),
    Row("radio_telescope", "box, by the clock", "cost-aware", by_the_clock),
    Row("radio_telescope", "- **The ring**", "60 pointings", rings),
    Row("census", "official areas: 108 questions", "Zonal", official_areas),
    Row("dna", "by prefix: 82 measurements for", "Zonal", by_prefix),
    Row("sewer", "a neighbourhood: 30 samples", "Zonal", neighbourhoods),
    Row("power", "a quiet instrument", "10", power),
    Row("gradients", "| f | search | with", "f2 default averages", gradients),
    Row("gradients", "<!-- begin looks -->", "f1 default", equal_looks),
    Row("method", "<!-- begin half -->", "20 f2", half),
    Row("method", "<!-- begin bars -->", "40, GP-UCB", bars),
)


def arena() -> str:
    """Return how docs/arena.md differs from what docs/arena.json gives; "" if it does not."""
    from benchmarks.arena import report

    summary = json.loads((DOCS / "arena.json").read_text(encoding="utf-8"))
    made, shown = report.page(summary).splitlines(), (DOCS / "arena.md").read_text(encoding="utf-8").splitlines()
    for number, (line, other) in enumerate(zip(shown, made, strict=False), start=1):
        if line != other:
            return f"line {number} shows {line}; now it is {other}"
    return "" if len(made) == len(shown) else f"has {len(shown)} lines; now they are {len(made)}"


def main(wanted: list[str]) -> int:
    """Check all pages, or those whose names begin with one of the words; return 1 if one differs."""
    checks = [(row.page, f"{row.above}, {row.name}", row.difference) for row in ROWS]
    checks.append(("arena", "the whole page", arena))
    failed = 0
    for page, row, difference in checks:
        if wanted and not any(page.startswith(name) for name in wanted):
            continue
        started = perf_counter()
        try:
            outcome = difference() or "ok"
        except MissingData as error:
            outcome = f"skipped: {error}"
        failed += not outcome.startswith(("ok", "skipped"))
        print(f"docs/{page}.md, {row}: {outcome} ({perf_counter() - started:.0f} s)", flush=True)
    return int(failed > 0)


if __name__ == "__main__":  # below it, because every worker process reads this file
    sys.exit(main(sys.argv[1:]))
