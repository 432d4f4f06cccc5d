"""The page and its picture, made from the summary alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.arena.ours import DEFAULT
from benchmarks.arena.why import WHY

Summary = dict[str, Any]
Row = dict[str, Any]

COLOURS = ("#56B4E9", "#0072B2", "#222222")  # from the smallest budget to the largest
INTRODUCTION = """# The arena

Made by `make arena` from [arena.json](arena.json); do not edit.

Everybody measures the same problems through the same noise and settles for one of the smallest cells. Regret is
how much that cell's true average falls short of the best one, in standard deviations of the averages of all
smallest cells, and counts as {floor} at least. Problems are new in every run (shifted, reflected or drawn at
random), and the n-th measurement of a run has the same noise whoever makes it. Means are geometric. **A ratio is
Zonal's default over the contestant, in the same runs, with its 95 % bootstrap interval: below 1 Zonal is better**;
a bold one differs from 1 beyond chance. Seconds are CPU time of a whole search at the largest budget, measuring
excluded.

Zonal and the people of `zonal rehearse` may measure regions of any size. The other peers cannot be told of a
region, so they measure smallest cells. Whoever recommends a larger region is brought to the smallest size: to its
cell of the highest posterior mean where there is a model, else to its middle.
"""


def page(summary: Summary) -> str:
    """Return the page as Markdown."""
    parts = [INTRODUCTION.format(floor=summary["floor"]), "![Ratios by group](images/arena.png)\n"]
    parts += [_group(summary, group) for group in summary["groups"]]
    if summary["half"]:
        parts.append(_half(summary))
    parts.append(_losses(summary))
    parts.append(_who(summary))
    return "\n".join(parts)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def shown(against: dict[str, float] | None) -> str:
    """Return a ratio with its interval, bold if it excludes 1."""
    if against is None:
        return ""
    text = f"{against['ratio']:.2f} ({against['low']:.2f} to {against['high']:.2f})"
    return f"**{text}**" if against["low"] > 1 or against["high"] < 1 else text


def _by_contestant(rows: Iterable[Row]) -> dict[str, dict[int, Row]]:
    found: dict[str, dict[int, Row]] = {}
    for row in rows:
        found.setdefault(row["contestant"], {})[row["budget"]] = row
    return found


def _group(summary: Summary, group: str) -> str:
    """Return the section of a group: all contestants, and its problems one by one at the largest budget."""
    own = summary["groups"][group]
    budgets = sorted({row["budget"] for row in own["rows"]})
    header = ["contestant", "runs", *(f"N = {n}" for n in budgets), *(f"ratio at {n}" for n in budgets), "seconds"]
    rows = []
    for name, at in _by_contestant(own["rows"]).items():
        last = at[max(at)]
        regrets = [f"{at[n]['regret']:.3f}" if n in at else "" for n in budgets]
        ratios = [shown(at[n]["against"]) if n in at else "" for n in budgets]
        rows.append([name, str(last["runs"]), *regrets, *ratios, f"{last['seconds']:.2g}"])
    text = f"## {own['title']}\n\n" + table(header, rows)
    if len(own["problems"]) > 1:
        text += f"\nEach problem at N = {budgets[-1]}:\n\n" + _problems(summary, own["problems"], budgets[-1])
    return (
        text
        + "\n"
        + table(
            ["problem", "what it is"], [[name, summary["problems"][name]["about"]] for name in own["problems"]]
        )
    )


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
        cells = []
        for problem in problems:
            row = found[problem].get(name)
            beaten = row is not None and row["against"] is not None and row["against"]["low"] > 1
            text = "" if row is None else f"{row['regret']:.3f}"
            cells.append(f"**{text}**" if beaten else text)
        rows.append([name, *cells])
    return table(["contestant (bold: better than Zonal beyond chance)", *problems], rows)


def _half(summary: Summary) -> str:
    """Return the section on the paper's own functions: what half the measurements buy."""
    rows = []
    for row in summary["half"]:
        regrets = [f"{row['regrets'][problem]:.4f}" for problem in ("f1", "f2", "f3")]
        rows.append([row["contestant"], str(row["budget"]), str(row["runs"]), *regrets, shown(row["against"])])
    return (
        "## Half the measurements\n\n"
        "The paper's functions, shifted: mean of the paper's aggregated regret, f\\* less the true average over "
        "the region as it was recommended. The ratio is the geometric mean over the three functions of mean regrets, "
        "over that of the paper's search at N = 80, which is given kernel, noise and c.\n\n"
        + table(["contestant", "N", "runs", "f1", "f2", "f3", "ratio"], rows)
    )


def losses(summary: Summary) -> dict[str, list[Row]]:
    """Return the rows in which a contestant is better than Zonal's default beyond chance, by group or problem."""
    found: dict[str, list[Row]] = {}
    places = {group: own["rows"] for group, own in summary["groups"].items()}
    places |= {name: own["rows"] for name, own in summary["problems"].items()}
    for where, rows in places.items():
        lost = [row for row in rows if row["against"] is not None and row["against"]["low"] > 1]
        if lost:
            found[where] = lost
    return found


def _losses(summary: Summary) -> str:
    """Return the section on where Zonal loses, from the numbers, with a reason where somebody wrote one."""
    found, lines = losses(summary), ["## Where Zonal loses\n"]
    if not found:
        return lines[0] + "\nNowhere: no contestant is better beyond chance on any problem at any budget.\n"
    compared = sum(row["against"] is not None for own in summary["problems"].values() for row in own["rows"])
    lines.append(
        f"Whoever is better than the default beyond chance, by group and by problem. Of {compared} comparisons by "
        f"problem, about {max(1, round(0.025 * compared))} would be so by luck if all were equally good.\n"
    )
    for where, rows in found.items():
        title = summary["groups"].get(where, {}).get("title", where)
        own = [f"{row['contestant']} at N = {row['budget']} {shown(row['against']).strip('*')}" for row in rows]
        kind = (
            "all of it: " if where in summary["groups"] and len(summary["groups"][where]["problems"]) > 1 else ""
        )
        reason = WHY.get(where, "No reason known yet.")
        lines.append(f"- **{title}**, {kind}{'; '.join(own)}. {reason}")
    return "\n".join(lines) + "\n"


def _who(summary: Summary) -> str:
    """Return the section on contestants and versions."""
    rows = [[name, one["about"]] for name, one in summary["contestants"].items()]
    versions = ", ".join(summary["versions"])
    commits = ", ".join(summary["commits"])
    return (
        "## Who takes part\n\n"
        + table(["contestant", "how it plays"], rows)
        + f"\nGreedy descent may leave a few measurements unspent; everybody else spends the whole budget. Seed "
        f"{summary['seed']}; Zonal at {commits}; {versions}.\n"
    )


def picture(summary: Summary, path: Path) -> None:
    """Draw the ratio of every contestant to Zonal's default, a panel a group, a colour a budget."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    groups = summary["groups"]
    names = [name for name in summary["contestants"] if name != DEFAULT]
    height = {name: len(names) - 1 - i for i, name in enumerate(names)}
    figure, axes = plt.subplots(
        1, len(groups), figsize=(2.4 + 1.9 * len(groups), 1.6 + 0.29 * len(names)), sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for ax, own in zip(axes[0], groups.values(), strict=True):
        budgets = sorted({row["budget"] for row in own["rows"]})
        for row in own["rows"]:
            if row["against"] is None:
                continue
            place = budgets.index(row["budget"])
            y = height[row["contestant"]] + 0.24 * ((len(budgets) - 1) / 2 - place)
            colour = COLOURS[len(COLOURS) - len(budgets) + place]
            low, mid, high = (1 / row["against"][what] for what in ("high", "ratio", "low"))
            ax.plot([low, high], [y, y], color=colour, lw=1.2, solid_capstyle="butt")
            ax.plot(mid, y, "o", color=colour, ms=3.2)
        for n, colour in zip(budgets, COLOURS[len(COLOURS) - len(budgets) :], strict=True):
            ax.plot([], [], "o-", color=colour, ms=3.2, lw=1.2, label=f"N = {n}")
        ax.axvline(1, color="#D55E00", lw=1)
        ax.set(xscale="log", ylim=(-0.7, len(names) - 0.3))
        low, high = ax.get_xlim()
        ax.set_xlim(min(low, 0.5), max(high, 2))
        ax.xaxis.set_major_locator(FixedLocator([0.1, 0.3, 1, 3, 10, 30, 100]))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        ax.set_yticks(list(height.values()), list(height))
        ax.tick_params(labelsize=8)
        ax.grid(axis="y", color="#dddddd", lw=0.5)
        ax.set_axisbelow(True)
        ax.set_title(_folded(own["title"]), fontsize=8.5)
        ax.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.06), frameon=False, handlelength=1.2)
    figure.suptitle(
        "regret over that of Zonal's default, with 95 % intervals (right of the line: Zonal is better)",
        fontsize=9.5,
    )
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _folded(title: str, width: int = 24) -> str:
    """Return a title on lines that fit above a panel."""
    import textwrap

    return "\n".join(textwrap.wrap(title, width))
