"""The paper's third figure, the roadmap of its proof: which statement uses which, and what was found."""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from reproduction.sweeps import Plan, Report
from zonal.plotting import INK, column_width

# What was found about a statement: its word in the table, and how its box is drawn.
STYLES = {"as printed": ("#FFFFFF", "-"), "put right": ("#FAF6B8", "-"), "added": ("#C8E6F8", "--")}
HALF = 0.95, 0.36  # of a box's width and height


class Statement(NamedTuple):
    """A box of the roadmap."""

    name: str  # what the paper calls it
    text: str  # what it says
    at: tuple[float, float]  # its position
    uses: tuple[str, ...]  # names of the statements it uses
    fate: str  # what was found about it in docs/theory.md


ROADMAP = (
    Statement("Assumption 2", "no slope\nexceeds L", (0, 4), (), "put right"),
    Statement("Certified L", "Rice, Kac and Rice,\nBorell and TIS", (2.4, 4), (), "added"),
    Statement(
        "Lemma 1",
        "$\\xi$: smooth at $x^*$,\nintervals hold",
        (1.2, 3),
        ("Assumption 2", "Certified L"),
        "put right",
    ),
    Statement("Proposition 2", "std $\\leq \\sigma/\\sqrt{T}$", (4.8, 3), (), "as printed"),
    Statement("Lemma 3", "only $I_h$ is\nexpanded", (1.2, 2), ("Lemma 1",), "put right"),
    Statement("Lemma 2", "$|I_h| \\leq C[3\\delta]^{-d}$", (3.6, 2), (), "as printed"),
    Statement("Lemma 4", "draws of\na node", (6, 2), ("Proposition 2",), "put right"),
    Statement("Theorem 1", "$R_N \\leq 3\\delta(h_N)$", (3.6, 1), ("Lemma 3", "Lemma 2", "Lemma 4"), "put right"),
    Statement("Corollary 1", "$R_N = O((\\beta_N/N)^{1/(d+2)})$", (3.6, 0), ("Theorem 1",), "put right"),
)


@column_width()
def experiment(plan: Plan) -> Report:
    """Plot the roadmap and list its statements."""
    report = Report("figure3", ["statement", "rests on", "in docs/theory.md"])
    report.rows += [[statement.name, ", ".join(statement.uses) or "-", statement.fate] for statement in ROADMAP]
    report.notes.append("an arrow leads from a statement to what is proved with it; nothing here is computed")
    return report.publish(plan, _figure())


def _figure() -> Figure:
    figure = Figure(figsize=(7, 4.6), layout="constrained")
    ax = figure.subplots()
    places = {statement.name: statement.at for statement in ROADMAP}
    for statement in ROADMAP:
        _box(ax, statement)
        for used in statement.uses:
            _arrow(ax, places[used], statement.at)
    ax.set(xlim=(-1.1, 7.1), ylim=(-0.5, 4.5))
    ax.axis("off")
    keys = [Patch(fc=colour, ec=INK, ls=style, label=fate) for fate, (colour, style) in STYLES.items()]
    figure.legend(handles=keys, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _box(ax: Axes, statement: Statement) -> None:
    colour, style = STYLES[statement.fate]
    (x, y), (wide, high) = statement.at, HALF
    ax.add_patch(Rectangle((x - wide, y - high), 2 * wide, 2 * high, fc=colour, ec=INK, ls=style))
    ax.text(x, y + 0.2, statement.name, ha="center", va="center", weight="bold", fontsize=9)
    ax.text(x, y - 0.12, statement.text, ha="center", va="center", fontsize=8.5, linespacing=1.1)


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    drop = HALF[1]
    ax.annotate(
        "", (end[0] + 0.25 * (start[0] - end[0]), end[1] + drop), (start[0], start[1] - drop),
        arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.2, "shrinkA": 0, "shrinkB": 0},
    )  # fmt: skip
