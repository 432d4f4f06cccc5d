"""The page and its picture, made from the summary alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from benchmarks.arena.problems import ACTING, DESIGNED_ON
from benchmarks.arena.why import WHY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Summary = dict[str, Any]
Row = dict[str, Any]
Ratio = dict[str, float]

OLDER = "older"  # rows played before commits were kept by row
VIEWS = {"mean": "mean regret", "typical": "typical run"}
COLOURS = ("#56B4E9", "#0072B2", "#222222")  # from the smallest budget to the largest
INTRODUCTION = """# The arena

Made by `make arena` from [arena.json](arena.json); do not edit.

Everybody measures the same problems through the same noise and settles for one of the smallest cells. Regret is
how much that cell's true average falls short of the best one, in standard deviations of the averages of all
smallest cells, and counts as {floor} at least. Problems are new in every run (shifted, reflected or drawn at
random), and the n-th measurement of a run has the same noise whoever makes it.

There are two views of many runs. **Mean regret** is the mean over runs, and over problems the geometric mean: a
few bad runs decide. **A typical run** is the geometric mean over both, from paired differences of log regrets.
A ratio is Zonal's default over the contestant, in the same runs, with its 95 % bootstrap interval, widened
where runs are few: **below 1 Zonal is better**, and a bold one differs from 1 beyond chance. Ratios and bold
type compare only runs that both played: where a contestant has fewer, Zonal's row is not the numerator, and a
bold value may exceed Zonal's. `runs` says how many a row has, `commit` at which commit it was played. A rival's
runs do not depend on Zonal: they are [kept](arena_runs.jsonl), and stand beside newer runs of Zonal on the same
problems with the same noise. Few runs show large differences only. Seconds are CPU time of a whole search at
the largest budget, measuring excluded.

Zonal, BoTorch over regions, region sensing and the people of `zonal rehearse` may measure regions of any size;
the others measure smallest cells, as points. Whoever recommends a larger region is brought to the smallest size:
to its cell of the highest posterior mean where there is a model, else to its middle.

**What is won, and by what.** Where the noise is the same for every size, "Zonal, smallest regions only" is level
with the default: what Zonal wins over others there is not won by measuring large regions. Where noise falls with
the size, or is added for privacy, large regions are what wins.

**f3** was used in designing the default: its prior of lengthscales was kept wide for f3's sake, while BoTorch's
default prior is meant for many dimensions and misses the peak. So f3 is no test of the default. Results without it
stand beside those with it, and BoTorch plays with Zonal's priors too ("matched prior"), with which it finds the
peak.
"""
ON_ACTING = """In the groups on time, travel and sets a look is more than a region: it takes a time that is
chosen, or travel that costs; or the set above a threshold is looked for, and 1 - F1 stands for regret. There
everybody is Zonal, which learns everything, and what is compared is what knowing of time, travel and the
threshold is worth.
"""


def page(summary: Summary) -> str:
    """Return the page as Markdown."""
    parts = [INTRODUCTION.format(floor=summary["floor"])]
    if not set(ACTING).isdisjoint(summary["groups"]):
        parts.append(ON_ACTING)
    parts.append("![Ratios by group](images/arena.png)\n")
    parts += [_group(summary, group) for group in summary["groups"]]
    parts.append(_losses(summary))
    parts.append(_who(summary))
    return "\n".join(parts)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def shown(against: Ratio | None) -> str:
    """Return a ratio with its interval, bold if it excludes 1."""
    if against is None:
        return ""
    text = f"{against['ratio']:.2f} ({against['low']:.2f} to {against['high']:.2f})"
    return f"**{text}**" if against["low"] > 1 or against["high"] < 1 else text


def _group(summary: Summary, group: str) -> str:
    """Return the section of a group: all contestants in both views, and its problems one by one."""
    own = summary["groups"][group]
    budgets = sorted({row["budget"] for row in own["rows"]})
    parts = [
        f"## {own['title']}\n",
        table(["problem", "what it is"], [[name, summary["problems"][name]["about"]] for name in own["problems"]]),
        *(_contestants(own["rows"], budgets, view) for view in VIEWS),
    ]
    if "without" in own:
        parts.append(_without(own["without"], budgets))
    if len(own["problems"]) > 1:
        parts.append(f"Each problem at N = {budgets[-1]}, typical run:\n")
        parts.append(_problems(summary, own["problems"], budgets[-1]))
    return "\n".join(parts)


def _without(rows: list[Row], budgets: list[int]) -> str:
    """Return regrets and ratios of a group without the problem that the default was designed on."""
    listed = []
    for at in _by_contestant(rows).values():
        regrets = [f"{at[n]['mean']:.3f}" if n in at else "" for n in budgets]
        ratios = [shown(at[n][f"{view}_ratio"]) if n in at else "" for view in VIEWS for n in budgets]
        listed.append([at[max(at)]["contestant"], *regrets, *ratios])
    heads = [f"mean regret at {n}" for n in budgets]
    heads += [f"{view}, ratio at {n}" for view in VIEWS.values() for n in budgets]
    return f"Without {DESIGNED_ON}, on which the default was designed:\n\n" + table(["contestant", *heads], listed)


def _by_contestant(rows: list[Row]) -> dict[str, dict[int, Row]]:
    """Return rows by contestant and budget."""
    by_name: dict[str, dict[int, Row]] = {}
    for row in rows:
        by_name.setdefault(row["contestant"], {})[row["budget"]] = row
    return by_name


def _contestants(rows: list[Row], budgets: list[int], view: str) -> str:
    """Return the table of all contestants of a group in one view."""
    listed = []
    for name, at in _by_contestant(rows).items():
        last = at[max(at)]
        regrets = [f"{at[n][view]:.3f}" if n in at else "" for n in budgets]
        ratios = [shown(at[n][f"{view}_ratio"]) if n in at else "" for n in budgets]
        commits = ", ".join(sorted({commit for row in at.values() for commit in row.get("commits", [OLDER])}))
        runs = sorted({row["runs"] for row in at.values()})
        number = f"{runs[0]} to {runs[-1]}" if len(runs) > 1 else str(runs[0])
        listed.append([name, number, commits, *regrets, *ratios, f"{last['seconds']:.2g}"])
    columns = [*(f"N = {n}" for n in budgets), *(f"ratio at {n}" for n in budgets)]
    return table([VIEWS[view], "runs", "commit", *columns, "seconds"], listed)


def _problems(summary: Summary, problems: list[str], budget: int) -> str:
    """Return the regret of everybody on each problem, bold where Zonal's default is worse beyond chance."""
    found = {
        problem: {
            row["contestant"]: row for row in summary["problems"][problem]["rows"] if row["budget"] == budget
        }
        for problem in problems
    }
    rows = []
    for name in summary["contestants"]:
        if not any(name in rows_of for rows_of in found.values()):
            continue
        cells = [str(min(own[name]["runs"] for own in found.values() if name in own))]
        for problem in problems:
            row = found[problem].get(name)
            beaten = row is not None and _lost(row, "typical")
            text = "" if row is None else f"{row['typical']:.3f}"
            cells.append(f"**{text}**" if beaten else text)
        rows.append([name, *cells])
    heads = [f"{name} (designed on)" if name == DESIGNED_ON else name for name in problems]
    return table(["contestant (bold: better than Zonal beyond chance)", "runs", *heads], rows)


def _lost(row: Row, view: str) -> bool:
    """Tell whether the contestant of a row is better than Zonal's default beyond chance."""
    against = row[f"{view}_ratio"]
    return against is not None and against["low"] > 1


def losses(summary: Summary) -> dict[str, list[tuple[Row, str]]]:
    """Return rows and views in which a contestant is better than Zonal's default beyond chance, by place.

    A place is a group, with and without the problem that the default was designed on, or a problem of a group of
    several.
    """
    places = {group: own["rows"] for group, own in summary["groups"].items()}
    places |= {_fair(own)["title"]: own["without"] for own in summary["groups"].values() if "without" in own}
    for own in summary["groups"].values():
        if len(own["problems"]) > 1:
            places |= {name: summary["problems"][name]["rows"] for name in own["problems"]}
    found = {
        where: [(row, view) for row in rows for view in VIEWS if _lost(row, view)]
        for where, rows in places.items()
    }
    return {where: lost for where, lost in found.items() if lost}


def _losses(summary: Summary) -> str:
    """Return the section on where Zonal loses, from the numbers, with a reason where somebody wrote one."""
    found = losses(summary)
    if not found:
        return "## Where Zonal loses\n\nNowhere: no contestant is better beyond chance at any budget.\n"
    compared = sum(row["typical_ratio"] is not None for own in summary["problems"].values() for row in own["rows"])
    lines = [
        "## Where Zonal loses\n",
        f"Whoever is better than the default beyond chance. Of {compared} comparisons by problem, about "
        f"{max(1, round(0.025 * compared))} would be so by luck in each view if all were equally good.\n",
    ]
    for where, lost in found.items():
        lines.append(f"### {summary['groups'].get(where, {}).get('title', where)}\n\n{reason(where)}\n")
        rows = [
            [row["contestant"], str(row["budget"]), VIEWS[view], shown(row[f"{view}_ratio"])] for row, view in lost
        ]
        lines.append(table(["better than Zonal", "N", "by", "ratio"], rows))
    return "\n".join(lines)


def reason(where: str) -> str:
    """Return why Zonal loses on a problem or a group, as far as somebody wrote it down."""
    return WHY.get(where, "No reason is known yet.")


def _who(summary: Summary) -> str:
    """Return the section on contestants and versions."""
    rows = [[name, one["about"]] for name, one in summary["contestants"].items()]
    versions = ", ".join(summary["versions"])
    commits = ", ".join(summary["commits"])
    return (
        "## Who takes part\n\n"
        + table(["contestant", "how it plays"], rows)
        + f"\nGreedy descent may leave a few measurements unspent; everybody else spends the whole budget. Seed "
        f"{summary['seed']}; Zonal at {commits} (rows that say {OLDER}: one of these); {versions}.\n"
    )


def picture(summary: Summary, path: Path) -> None:
    """Draw a typical run of every contestant against Zonal's default, a panel a group, a colour a budget.

    The problem that the default was designed on is left out.
    """
    import matplotlib.pyplot as plt

    order = list(summary["contestants"])
    panels: list[tuple[dict[str, Any], list[str]]] = []
    for group in summary["groups"].values():
        own = _fair(group)
        compared = {row["contestant"] for row in own["rows"] if row["typical_ratio"]}
        panels.append((own, sorted(compared, key=order.index)))
    columns: tuple[list[Any], list[Any]] = [], []
    for own, names in panels:  # below the shorter column
        min(columns, key=lambda column: sum(len(above) + 4 for _, above in column)).append((own, names))
    filled = [column for column in columns if column]
    high = max(sum(len(names) + 4 for _, names in column) for column in filled)
    figure = plt.figure(figsize=(4.8 * len(filled), 0.8 + 0.2 * high), layout="constrained")
    for part, column in zip(figure.subfigures(1, len(filled), squeeze=False)[0], filled, strict=True):
        heights = [len(names) + 4 for _, names in column]
        for ax, (own, names) in zip(
            part.subplots(len(column), 1, squeeze=False, height_ratios=heights)[:, 0], column, strict=True
        ):
            _panel(ax, own["rows"], names)
            ax.set_title("\n".join(wrap(own["title"], 36)), fontsize=10, loc="left")
    title = "regret over that of Zonal's default, typical run, 95 % intervals; right of the line Zonal is better"
    figure.suptitle("\n".join(wrap(title, 60 * len(filled))), fontsize=10)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _fair(group: dict[str, Any]) -> dict[str, Any]:
    """Return title and rows of a group without the problem that the default was designed on."""
    if "without" not in group:
        return group
    return {"title": f"{group['title']}, without {DESIGNED_ON}", "rows": group["without"]}


def _panel(ax: Axes, rows: list[Row], names: list[str]) -> None:
    """Draw the ratios of a group."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    budgets = sorted({row["budget"] for row in rows})
    colours = dict(zip(budgets, COLOURS[-len(budgets) :], strict=True))
    for n, colour in colours.items():
        ax.plot([], [], "o-", color=colour, ms=3.5, lw=1.3, label=f"N = {n}")
    for row in rows:
        against = row["typical_ratio"]
        if against is None:
            continue
        above = 0.25 * ((len(budgets) - 1) / 2 - budgets.index(row["budget"]))
        y = len(names) - 1 - names.index(row["contestant"]) + above
        ax.plot([1 / against["high"], 1 / against["low"]], [y, y], color=colours[row["budget"]], lw=1.3)
        ax.plot(1 / against["ratio"], y, "o", color=colours[row["budget"]], ms=3.5)
    ax.axvline(1, color="#D55E00", lw=1)
    ax.set(xscale="log", ylim=(-0.7, len(names) - 0.3))
    low, high = ax.get_xlim()
    ax.set_xlim(min(low, 0.4), max(high, 2.5))
    ax.xaxis.set_major_locator(
        FixedLocator([0.01, 0.1, 0.5, 1, 2, 5, 10, 100] if high < 10 else [0.01, 0.1, 1, 10, 100])
    )
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.set_yticks(range(len(names)), names[::-1])
    ax.tick_params(labelsize=9)
    ax.grid(axis="y", color="#dddddd", lw=0.5)
    ax.set_axisbelow(True)
    ax.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1, 1), frameon=False, handlelength=1.2, borderpad=0)
