"""Do the pages show what their commands give now? `make pages-check`, or `python docs/check_pages.py radio dna`.

Tables of the applications and of the method are made together with a file of the regret of every run, in
docs/results. Every row of them must be what its file gives, and of a row or two of each table the first runs are
played again and compared with the file; not of the second tables, of rivals, which take long and need the extra
`arena`. Of other tables a row is played again in full, with the page's own runs and seeds, and compared word by
word. It takes about a minute a page, on one core.

Each page is renewed by one command alone:

- `make applications`: radio_telescope, census, dna, proteins, sewer, power; one of them, or its second table, by
  `python docs/make_applications.py dna rivals:dna`
- `python docs/make_gradients.py`: gradients
- `python -m benchmarks.half`, as docs/method.md says: its tables of half the measurements, parts and bars
- `make arena`: arena, which must be what the runs in docs/arena_runs.jsonl give; then `make readme`: the table in
  README.md
- `make reproduction`: reproduction; `make reliability`: reliability
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, cast

import numpy as np

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path[:0] = [str(ROOT), str(ROOT / "examples"), str(DOCS)]
DATA = Path(os.environ.get("ZONAL_DATA", ROOT.parent / "shared" / "data"))  # tables that are not shipped
AGAIN = ("HOXB7",)  # proteins of which a run is played again
PROTEINS = ("EGR2", "GFI1B", "HOXB7", "KLF1", "NR1H4", "PAX6", "POU3F4", "ZNF655")
RESULTS = DOCS / "results"  # the regret of every run of some tables
CHECKED = {"Zonal", "Zonal, told the plates", "cost-aware"}  # contestants whose first runs are played again
CLOSE = 1e-9  # of regrets that are the same
EXACT = 1e-7  # of the regret of the best region: rounding
SHOWN = 1e-4  # of what reliability.csv has six digits of
AGAIN_AT = 20  # measurements of the campaigns that are played again for reliability
Regrets = dict[str, list[float]]  # by contestant, run by run


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
    skipped : int
        How many of the row's first words `again` leaves out.
    """

    page: str
    above: str
    name: str
    again: Callable[[], str]
    skipped: int = 0

    def shown(self) -> str:
        """Return the row as the page shows it."""
        lines = (DOCS / f"{self.page}.md").read_text(encoding="utf-8").splitlines()
        first = next(at for at, line in enumerate(lines) if line.startswith(self.above))
        return next(line for line in lines[first:] if words(line)[: len(words(self.name))] == words(self.name))

    def difference(self) -> str:
        """Return how the page differs from what is made now; "" if it does not."""
        made = words(self.again())
        shown = words(self.shown())[self.skipped :][: len(made)]
        return "" if shown == made else f"shows {' '.join(shown)}; now it is {' '.join(made)}"


@dataclass(frozen=True)
class Table:
    """A table of a page that was made together with a file of the regret of every run.

    Attributes
    ----------
    page : str
        The page, without its ending.
    above : str
        How a line of the page begins, below which the table stands.
    name : str
        The table's name in the file.
    again : callable
        Page, table and a number of runs to the regrets of the first runs of some contestants, played now.
    runs : int
        How many runs are played again.
    file : str
        The file, without its ending, where it is not the page's own.
    """

    page: str
    above: str
    name: str
    again: Callable[[str, str, int], Regrets]
    runs: int = 1
    file: str = ""

    def kept(self) -> Regrets:
        """Return the regrets of the file."""
        tables = json.loads((RESULTS / f"{self.file or self.page}.json").read_text(encoding="utf-8"))
        return cast("Regrets", tables[self.name])

    def difference(self) -> str:
        """Return how the page differs from the file, or the file from what is played now; "" if neither does."""
        kept = self.kept()
        for row in self.rows(kept):
            if differs := row.difference():
                return f"{differs} (by docs/results/{self.file or self.page}.json)"
        for who, played in (self.again(self.page, self.name, self.runs) if self.runs else {}).items():
            then = kept[who][: len(played)]
            if not np.allclose(played, then, rtol=CLOSE, atol=CLOSE):
                return f"the first regrets of {who} were {then}; now they are {played}"
        return ""

    def rows(self, kept: Regrets) -> list[Row]:
        """Return the rows as the file gives them."""
        if self.page == "proteins":  # each row is a table of the file; noise and the best pool come before
            pairs = [mean_and_error(own) for own in kept.values()]
            return [Row(self.page, self.above, self.name.split(", ")[0], partial(protein_row, pairs), 3)]
        return [Row(self.page, self.above, who, partial(mean_row, who, own)) for who, own in kept.items()]


def mean_and_error(regrets: list[float]) -> tuple[float, float]:
    """Return a mean and its standard error."""
    return float(np.mean(regrets)), float(np.std(regrets, ddof=1)) / math.sqrt(len(regrets))


def mean_row(who: str, regrets: list[float]) -> str:
    """Return the row of a contestant as `Rehearsal.table` has it."""
    mean, error = mean_and_error(regrets)
    exact = sum(regret <= EXACT for regret in regrets)
    return f"{who} {mean:.4g} {0.0 if error < CLOSE * mean else error:.2g} {exact} of {len(regrets)} runs"


def protein_row(pairs: list[tuple[float, float]]) -> str:
    """Return the row of a protein from its first mean on."""
    rounded = tuple((round(mean, 2), round(error, 2)) for mean, error in pairs)
    return " ".join(words(str(example("proteins").Row("", "", 0.0, 0.0, rounded)))[2:])


def words(line: str) -> list[str]:
    """Return the words and numbers of a row, however it is laid out."""
    return re.sub(r"[|*]", " ", line).split()


def example(name: str) -> Any:
    """Return a module of the examples, or one that makes a page."""
    return import_module(name)


def data(name: str) -> Path:
    """Return the path of a table that is not shipped."""
    path = DATA / name
    if not path.exists():
        raise MissingData(f"{name} is not in {DATA}; say where it is with ZONAL_DATA")
    return path


def of(printed: object, name: str) -> str:
    """Return the row of a printed table that begins with a name."""
    return next(line for line in str(printed).splitlines() if words(line)[: len(words(name))] == words(name))


def application(page: str, table: str, runs: int) -> Regrets:
    """Play the first runs of a table of an application again, by the contestants that are checked."""
    module = example(page)
    if page == "census":
        plan = module.plans(data("census_au_sa2.csv"))[table]
    elif page == "proteins":
        protein, signal = table.split(", ")
        plan = module.plan_of(*module.landscapes(data("dna_tfbind8_proteins.csv.gz"))[protein], signal)
    elif table == "by the clock":
        plan = example("telescope_time").clocked()
    elif table == "interference":
        plan = module.disturbed_plan()
    elif table == "plates":
        plan = module.plate_plan()
    else:
        plan = module.plans()[table]
    played = plan.play(runs, *plan.players.keys() & CHECKED, jobs=1)
    return {who: own.regrets.tolist() for who, own in played.campaigns.items()}


def town(page: str, table: str, runs: int) -> Regrets:
    """Play the first towns again."""
    if find_spec("wntr") is None:
        raise MissingData("wntr, which ships the network, is not installed")
    sewer = example("sewer")
    player = {"Zonal": sewer.contestants()["Zonal"]}
    played = sewer.compare(sewer.KINDS[table], player, runs, sewer.SAMPLES)
    return {who: own.regrets.tolist() for who, own in played.campaigns.items()}


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


def power() -> str:
    """Return the row of ten measurements of the quiet instrument."""
    import zonal as zn

    page = example("power")
    return of(zn.power(page.STRIP, [10], noise=page.NOISES["a quiet instrument"], runs=50, jobs=1), "10")


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


def reproduction() -> str:
    """Return the row of the paper's GPOO with S = 1 on f1, from N = 10 to 80."""
    from docs.make_reproduction import shown
    from reproduction.searches import SHOWN, regret_run
    from reproduction.sweeps import Plan, column, sweep

    with TemporaryDirectory() as folder:
        plan = Plan(Path(folder), 300, 80, "paper", 0, 1)
        case = {("f1", "GPOO", 1): {"function": "f1", "policy": "GPOO", "s": 1}}
        runs = next(iter(sweep(plan, "regret", regret_run, case, preset="paper", budget=80).values()))
    curve = column(runs, "regret")
    return " ".join(["GPOO 1 300", *(shown(curve[:, n - 1]) for n in SHOWN)])


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
    Row("radio_telescope", "- **The ring**", "60 pointings", rings),
    Row("power", "a quiet instrument", "10", power),
    Row("gradients", "| f | search | with", "f2 default averages", gradients),
    Row("gradients", "<!-- begin looks -->", "f1 default", equal_looks),
    Row("method", "<!-- begin bars -->", "40, GP-UCB", bars),
    Row("reproduction", "<!-- begin regret-f1 -->", "GPOO 1", reproduction),
)
TABLES = (
    Table("radio_telescope", "box: 64 pointings", "box", application),
    Table("radio_telescope", "a synthetic sky: 64 pointings", "a synthetic sky", application),
    Table("radio_telescope", "HEALPix: 36 pointings", "HEALPix", application, 2),
    Table("radio_telescope", "box, with interference", "interference", application),
    Table("radio_telescope", "box, by the clock", "by the clock", application),
    Table("census", "official areas: 108 questions", "official areas", application),
    Table("census", "bisection: 108 questions", "bisection", application),
    Table("dna", "by prefix: 82 measurements for", "prefix", application),
    Table("dna", "by k-mers: 82 measurements for", "k-mers", application),
    Table("dna", "by prefix, on plates of 12", "plates", application),
    *(
        Table("proteins", f"{signal} signal", f"{protein}, {signal}", application, int(protein in AGAIN))
        for signal in ("strong", "weak")
        for protein in PROTEINS
    ),
    Table("sewer", "a neighbourhood: 30 samples", "a neighbourhood", town, 2),
    Table("sewer", "one source: 30 samples", "one source", town),
    # The rivals of census and dna were last played before their runs were kept.
    Table("radio_telescope", "<!-- rivals -->", "HEALPix", application, 0, "rivals_radio_telescope"),
)


def block_difference(page: str, name: str, table: str) -> str:
    """Return how what stands between two marks of a page differs from a table; "" if it does not."""
    from benchmarks import marked

    shown = marked.between(name, DOCS / f"{page}.md").splitlines()
    for line, made in zip_longest(shown, table.splitlines(), fillvalue=""):
        if line != made:
            return f"{name} shows {line}; by docs/results it is {made}"
    return ""


def reliability() -> str:
    """Return how docs/reliability.md differs from its file, or the file from what is played now."""
    from benchmarks import reliability as play

    lines = play.in_order(play.read(RESULTS / "reliability.csv"))
    for name, table in play.blocks(lines).items():
        if differs := block_difference("reliability", name, table):
            return differs
    for then in (line for line in lines if line["run"] == 0 and line["N"] == AGAIN_AT):
        now = play.campaign((then["class"], then["N"], 0, then["seed"]))
        for name in play.SAID:
            if not np.isclose(now[name], then[name], rtol=SHOWN, atol=SHOWN):
                return f"{name} of {then['class']} was {then[name]}; now it is {now[name]:.6g}"
    return ""


def half() -> str:
    """Return how the tables of docs/method.md differ from their files, or a file from what is played now."""
    from benchmarks import half as play

    for name, table in (
        ("half", play.comparison(RESULTS / "half.jsonl")),
        ("parts", play.parts_table(RESULTS / "parts")),
    ):
        if differs := block_difference("method", name, table):
            return differs
    for path in (RESULTS / "half.jsonl", play.part_of(RESULTS / "parts", "as it is")):
        for (function, budget), runs in play.read(path).items():
            if budget < play.PAPER:
                seed, then = next(iter(runs.items()))
                now = play.regret(function, seed, budget, seed % 2 == 1)
                if not np.isclose(now, then, rtol=CLOSE, atol=CLOSE):
                    return f"on {function} at N = {budget} the regret of seed {seed} was {then}; now it is {now}"
    return ""


def arena() -> str:
    """Return how docs/arena.md differs from what the runs that are kept give; "" if it does not."""
    from benchmarks.arena import report
    from benchmarks.arena.kept import kept
    from benchmarks.arena.play import place
    from benchmarks.arena.summary import renewed, summarise

    summary = json.loads((DOCS / "arena.json").read_text(encoding="utf-8"))
    runs = {place(line): line for line in kept(DOCS / "arena_runs.jsonl")}
    summary = renewed(summary, summarise(runs, summary["seed"]))
    made, shown = report.page(summary).splitlines(), (DOCS / "arena.md").read_text(encoding="utf-8").splitlines()
    for number, (line, other) in enumerate(zip(shown, made, strict=False), start=1):
        if line != other:
            return f"line {number} shows {line}; now it is {other}"
    return "" if len(made) == len(shown) else f"has {len(shown)} lines; now they are {len(made)}"


def front() -> str:
    """Return how the numbers of README.md differ from those of the pages they come from; "" if they do not."""
    readme = example("make_readme")
    return block_difference("../README", "arena", readme.arena()) or block_difference(
        "../README", "reliability", readme.reliability()
    )


def main(wanted: list[str]) -> int:
    """Check all pages, or those whose names begin with one of the words; return 1 if one differs."""
    every: tuple[Table | Row, ...] = (*TABLES, *ROWS)
    checks = [(row.page, f"{row.above}, {row.name}", row.difference) for row in every]
    checks += [("arena", "the whole page", arena), ("method", "half and parts", half)]
    checks += [("reliability", "the whole page", reliability), ("../README", "its numbers", front)]
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
