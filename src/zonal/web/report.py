"""One study as one HTML file: plots as SVG, tables, settings, history, a methods paragraph. No network needed."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from dataclasses import fields
from datetime import UTC, datetime
from html import escape
from typing import Any

from zonal import __version__
from zonal.errors import InvalidInput, StudyFileError, ZonalError
from zonal.looking import headline, is_empty
from zonal.plots import Kind, column_width
from zonal.plots.style import value_label
from zonal.rounds.settings import Settings
from zonal.study import Study
from zonal.tables.listings import Listing, give_or_take, percent

MOST_SVG = 250_000  # bytes of one plot, beyond which its content is a bitmap
MOST_ROWS = 2000
STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 960px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
figure { margin: 1rem 0; background: #fff; color: #000; border-radius: 8px; padding: 8px; }
figure svg { max-width: 100%; height: auto; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 3px 10px 3px 0; border-bottom: 1px solid #8884; vertical-align: top; }
td.num, th.num { text-align: right; } dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 16px; }
dt { color: #777; }
dd { margin: 0; overflow-wrap: anywhere; } .answer { font-size: 1.15rem; white-space: pre-line; }
@media print { body { max-width: none; } }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
FIGURES: dict[str, Kind | None] = {"What is known": None, "How it went": "history", "The model": "model"}
PAPER = (
    "Zhang, M., Tsuchida, R. and Ong, C. S. (2022). Gaussian process bandits with aggregated feedback. "
    "AAAI Conference on Artificial Intelligence."
)
GP = "Rasmussen, C. E. and Williams, C. K. I. (2006). Gaussian Processes for Machine Learning. MIT Press."
KG = (
    "Frazier, P., Powell, W. and Dayanik, S. (2009). The knowledge-gradient policy for correlated normal beliefs. "
    "INFORMS Journal on Computing 21(4), 599-613."
)


def report(study: Study) -> str:
    """Return an HTML page about a study, in one file."""
    parts = [_marked("h1", study._called), _marked("p", _answer(study), " class='answer'")]
    parts += [_figure(study, title, kind) for title, kind in FIGURES.items()]
    if not is_empty(study):
        parts += [_section("Best regions", lambda: _table(study.top(5)))]
    parts.append(_section("Methods", lambda: "".join(_marked("p", own) for own in methods(study))))
    parts.append(_section("Trials, with all that was corrected or retracted", lambda: _table(study.table(True))))
    parts.append(_section("Settings", lambda: _settings(study)))
    body = "\n".join(part for part in parts if part)
    head = f"<meta charset='utf-8'><meta http-equiv='Content-Security-Policy' content=\"{POLICY}\">"
    head += "<meta name='viewport' content='width=device-width, initial-scale=1'>"
    head += f"{_marked('title', headline(study))}<style>{STYLE}</style>"
    return f"<!doctype html>\n<html lang='en'><head>{head}</head>\n<body>\n{body}\n</body></html>\n"


def _marked(tag: str, text: str, more: str = "") -> str:
    """Return a text between the marks of a tag, with its attributes."""
    return f"<{tag}{more}>{escape(text)}</{tag}>"


def _answer(study: Study) -> str:
    try:
        return str(study)
    except ZonalError as error:
        return f"{headline(study)}\n{error}"


def _section(title: str, make: Any) -> str:
    try:
        content = make()
    except (StudyFileError, InvalidInput) as error:  # without its kernel a study has no posterior
        content = _marked("p", str(error))
    return f"{_marked('h2', title)}\n{content}"


def _figure(study: Study, title: str, kind: Kind | None) -> str:
    try:
        drawn = _svg(study, kind)
    except (StudyFileError, InvalidInput):  # this study has no such plot
        return ""
    return f"{_marked('h2', title)}\n<figure role='img' aria-label='{title}'>{drawn}</figure>"


def _svg(study: Study, kind: Kind | None) -> str:
    """Return a plot as SVG, with a bitmap inside if it would be too large."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with column_width(), mpl.rc_context({"svg.hashsalt": "zonal", "svg.fonttype": "none"}):
        figure = Figure(figsize=(9, 5), layout="constrained")
        ax = figure.add_subplot()
        study.plot(kind, ax)
        for again in (False, True):
            out = io.StringIO()
            figure.savefig(out, format="svg", dpi=140, bbox_inches="tight", metadata={"Date": None})
            text = out.getvalue()
            if len(text) < MOST_SVG or again:
                break
            for inner in figure.axes:
                for artist in (*inner.collections, *inner.patches, *inner.lines, *inner.images):
                    artist.set_rasterized(True)
    # Ids must be unique within the page.
    name = kind or "known"
    text = re.sub(r'(\bid="|xlink:href="#|url\(#)', rf"\g<1>{name}-", text[text.index("<svg") :])
    return re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)


def _table(listing: Listing) -> str:
    """Return a table; if there are very many rows, the last ones."""
    columns = listing.to_dict()
    kinds = ["" if any(isinstance(cell, str) for cell in cells) else ' class="num"' for cells in columns.values()]

    def row(tag: str, cells: Iterable[Any]) -> str:
        shown = (_marked(tag, _cell(cell), kind) for cell, kind in zip(cells, kinds, strict=True))
        return f"<tr>{''.join(shown)}</tr>"

    rows = list(zip(*columns.values(), strict=True))
    note = f"<p>The last {MOST_ROWS} of {len(rows)} rows.</p>" if len(rows) > MOST_ROWS else ""
    body = "".join(row("td", cells) for cells in rows[-MOST_ROWS:])
    whole = f"<table><thead>{row('th', columns)}</thead><tbody>{body}</tbody></table>"
    return f"{note}<div class='scroll'>{whole}</div>"


def _cell(cell: Any) -> str:
    if cell is None or cell != cell:
        return ""
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def _settings(study: Study) -> str:
    given = {own.name: getattr(study.settings, own.name) for own in fields(Settings)}
    found = {name: str(value)[:400] + " ..." * (len(str(value)) > 400) for name, value in given.items()}
    found["budget"] = str(study.budget)
    if study.path is not None:
        found["file"] = study.path.name
        found["begun"] = study.times[0]
        found["last event"] = f"{study.times[-1]} (number {len(study.times) - 1})"
    found["read only"] = study.read_only or "no"
    found["Zonal"] = __version__
    found["this page"] = datetime.now(UTC).isoformat(timespec="seconds")
    listed = (_marked("dt", name) + _marked("dd", own) for name, own in found.items())
    return f"<dl>{''.join(listed)}</dl>"


def methods(study: Study) -> list[str]:
    """Return a methods paragraph for a paper, and its references, as plain text."""
    what, best = value_label(study), "highest" if study.direction == "maximize" else "lowest"
    kind = str(study._state.began.policy).partition("(")[0]
    text = (
        f"We sought the region of the {best} average {what} with Zonal {__version__}. Each of {study.told} "
        f"measurements (of a budget of {study.budget}) returned a noisy average over a region"
    )
    text += f" ({len(study.observations)} earlier measurements were included)" if study.observations else ""
    named, cited = ("the knowledge gradient", 3) if kind == "KnowledgeGradient" else (kind, 1)
    text += f". Regions to measure were chosen one after the other by {named} [{cited}]"
    references = {1: PAPER}
    if study.models:
        text += _modelled(study)
        references[2] = GP
    if cited == 3:
        references[3] = KG
    return [f"{text}. {_lost(study)}{_found(study)}", *(f"[{n}] {own}" for n, own in references.items())]


def _modelled(study: Study) -> str:
    learned = "learned from the measurements" if study._state.problem.learned else "given beforehand"
    kernel = re.sub(r"\d+\.\d{4,}", lambda own: f"{float(own[0]):.3g}", str(study.model.kernel))
    return (
        ", on a Gaussian process model [2], in which the average over a region is a linear functional [1]; "
        f"its kernel, noise and mean were {learned} (now {kernel})"
    )


def _lost(study: Study) -> str:
    """Return a sentence on trials without a value, if there are any."""
    states = [trial.state for trial in study.trials]
    lost = [f"{states.count(own)} were {own}" for own in ("given up", "withdrawn", "retracted") if own in states]
    return f"Of {len(states)} trials {', '.join(lost)}. " if lost else ""


def _found(study: Study) -> str:
    if is_empty(study):
        return "Nothing was measured yet."
    best = study.recommend()
    text = (
        f"The region recommended is {best.region.name}, with a posterior average of "
        f"{give_or_take(best.mean, best.std, best.unit)} (mean and standard deviation)"
    )
    if best.gap == best.gap:
        text += (
            f"; under the model no region of the smallest size is better by more than {best.gap:.3g} with a "
            f"probability of 0.9, and it is the best of all with probability {percent(best.probability_best)}"
        )
    return text + ("." if study.stands_out() else ". No region stands out from the space as a whole.")
