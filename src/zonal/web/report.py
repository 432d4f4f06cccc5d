"""One study as one HTML file: plots as SVG, tables, settings, history, a methods paragraph. No network needed."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Unpack

from zonal.engine.settings import Settings
from zonal.errors import InvalidInput, StudyFileError, ZonalError, require
from zonal.io.files import file_path, write
from zonal.io.result_table import Cell, Listing, Probability, percent
from zonal.plotting import Kind, PlotOptions, column_width
from zonal.plotting.maps import Shapes
from zonal.spaces.base import Overlapping
from zonal.storage.journal import release
from zonal.study.history import policy_of, problem_of
from zonal.study.summary import headline, is_empty
from zonal.study.suspects import hanging, set_aside_line
from zonal.web.methods_section import methods

if TYPE_CHECKING:
    from zonal.study.study import Study

MAX_SVG = 250_000  # bytes of one plot, beyond which its content is a bitmap
MAX_ROWS, MAX_SUSPECTS = 2000, 5
STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 960px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
figure { margin: 1rem 0; background: #fff; color: #000; border-radius: 8px; padding: 8px; }
figure svg { max-width: 100%; height: auto; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 3px 10px 3px 0; border-bottom: 1px solid #8884; vertical-align: top; }
td.n, th.n { text-align: right; } dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 16px; }
dt { color: #777; }
dd { margin: 0; overflow-wrap: anywhere; } .answer { font-size: 1.15rem; white-space: pre-line; }
@page { size: A4 landscape; margin: 12mm; }
@media print {
body { max-width: none; margin: 0; padding: 0; font-size: 10pt; } .scroll { overflow: visible; }
figure, tr, dl { break-inside: avoid; } h2 { break-after: avoid; } thead { display: table-header-group; }
table { width: 100%; font-size: 7pt; } th, td { padding: 1px 4px 1px 0; overflow-wrap: anywhere; }
}
"""
LONGEST = 400  # characters of a setting
UNSET = (None, "", ())  # settings that say nothing
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
FIGURES: dict[str, Kind] = {"How it went": "history", "The model": "model"}


def report(study: Study, path: str | os.PathLike[str] | None = None, shapes: Shapes | None = None) -> str:
    """Return an HTML page about a study, and write it to a file: see `Study.report`."""
    target = None if path is None else file_path(path)
    areas = study.space.axes is None
    require(shapes is None or areas, "shapes are of points and areas", study.space, "Leave them out.")
    parts = [_marked("h1", study._called), _marked("p", _answer(study), " class='answer'")]
    if not is_empty(study):
        parts.append(_section("Best regions", lambda: _table(study.top(5))))
        parts.append(
            _section("Why", lambda: "".join(_marked("p", line) for line in str(study.why()).splitlines()))
        )
        if not problem_of(study).model_free:
            parts.append(_section("The readings", lambda: _readings(study)))
    title = "What is known"
    parts.append(_figure(study, title, None) if shapes is None else _figure(study, title, "map", shapes=shapes))
    parts += [_figure(study, title, kind) for title, kind in FIGURES.items()]
    parts.append(_section("Methods", lambda: "".join(_marked("p", text) for text in methods(study))))
    parts.append(_section("Trials, with all that was corrected or retracted", lambda: _table(study.table(True))))
    parts.append(_section("Settings", lambda: _settings(study)))
    body = "\n".join(part for part in parts if part)
    head = f"<meta charset='utf-8'><meta http-equiv='Content-Security-Policy' content=\"{POLICY}\">"
    head += "<meta name='viewport' content='width=device-width, initial-scale=1'>"
    head += f"{_marked('title', headline(study))}<style>{STYLE}</style>"
    page = f"<!doctype html>\n<html lang='en'><head>{head}</head>\n<body>\n{body}\n</body></html>\n"
    if target is not None:
        write(target, page.encode())
    return page


def _marked(tag: str, text: str, more: str = "") -> str:
    """Return a text between the marks of a tag, with its attributes."""
    return f"<{tag}{more}>{escape(text)}</{tag}>"


def _readings(study: Study) -> str:
    """Return which readings do not count, the likeliest mistakes, and whether the answer hangs on one."""
    listing, sentences = study.suspects(), [set_aside_line(study), hanging(study.recommend().hangs_on)]
    first = Listing(listing.title, {name: cells[:MAX_SUSPECTS] for name, cells in listing.columns.items()})
    return "".join(_marked("p", text) for text in sentences if text) + _table(first)


def _answer(study: Study) -> str:
    try:
        return str(study)
    except ZonalError as error:
        return f"{headline(study)}\n{error}"


def _section(title: str, make: Callable[[], str]) -> str:
    try:
        content = make()
    except (StudyFileError, InvalidInput) as error:  # without its kernel a study has no posterior
        content = _marked("p", str(error))
    return f"{_marked('h2', title)}\n{content}"


def _figure(study: Study, title: str, kind: Kind | None, **more: Unpack[PlotOptions]) -> str:
    try:
        drawn = _svg(study, kind, **more)
    except (StudyFileError, InvalidInput):  # this study has no such plot
        if more:  # or not with these shapes
            raise
        return ""
    return f"{_marked('h2', title)}\n<figure role='img' aria-label='{title}'>{drawn}</figure>"


def _svg(study: Study, kind: Kind | None, **more: Unpack[PlotOptions]) -> str:
    """Return a plot as SVG, with a bitmap inside if it would be too large."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with column_width(), mpl.rc_context({"svg.hashsalt": "zonal", "svg.fonttype": "none"}):
        figure = Figure(figsize=(9, 5), layout="constrained")
        ax = figure.add_subplot()
        study.plot(kind, ax, **more)
        ax.set_title("")  # the page says it above
        for again in (False, True):
            out = io.StringIO()
            figure.savefig(out, format="svg", dpi=140, bbox_inches="tight", metadata={"Date": None})
            text = out.getvalue()
            if len(text) < MAX_SVG or again:
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
    columns: dict[str, Sequence[Cell]] = {**listing.to_dict()}
    for name, cells in listing.columns.items():
        if any(isinstance(cell, Probability) for cell in cells):
            columns[name] = [percent(cell) if isinstance(cell, Probability) else cell for cell in cells]
    kinds = ["" if any(isinstance(cell, str) for cell in cells) else " class=n" for cells in columns.values()]

    def row(tag: str, cells: Iterable[Cell]) -> str:
        """Return a row without end tags, which HTML does not need and thousands of trials would repeat."""
        shown = (f"<{tag}{kind}>{escape(_cell(cell))}" for cell, kind in zip(cells, kinds, strict=True))
        return f"<tr>{''.join(shown)}\n"

    rows = list(zip(*columns.values(), strict=True))
    note = f"<p>The last {MAX_ROWS} of {len(rows)} rows.</p>" if len(rows) > MAX_ROWS else ""
    body = "".join(row("td", cells) for cells in rows[-MAX_ROWS:])
    whole = f"<table><thead>{row('th', columns)}</thead><tbody>{body}</tbody></table>"
    return f"{note}<div class='scroll'>{whole}</div>"


def _cell(cell: Cell) -> str:
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, Probability):
        return percent(cell)
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def _settings(study: Study) -> str:
    """Return what was given, and what was used where the default has a meaning of its own."""
    settings, problem = study.settings, problem_of(study)
    given = {field.name: getattr(settings, field.name) for field in fields(Settings)}
    usual = {"policy": f"{policy_of(study)}, the default"}
    if not problem.model_free:
        usual |= {"kernel": "learned", "noise": "learned"}
        usual["mean"] = "learned" if problem.unknowns.mean is None else "0, the default with a given kernel"
    shown = {name: usual.get(name) if value is None else value for name, value in given.items()}
    shown |= {"budget": study.budget, "overhead": settings.overhead or None}
    if isinstance(settings.forbidden, Overlapping):
        shown["forbidden"] = "; ".join(region.name for region in settings.forbidden.regions)
    if study.path is not None:
        shown["file"] = study.path.name
        shown["begun"] = study.timestamps[0]
        shown["last event"] = f"{study.timestamps[-1]} (number {len(study.timestamps) - 1})"
    shown["read only"] = study.read_only
    shown["Zonal"] = release()
    shown["this page"] = datetime.now(UTC).isoformat(timespec="seconds")
    texts = {name: str(value) for name, value in shown.items() if value not in UNSET}
    listed = (_marked("dt", name) + _marked("dd", _cut(text)) for name, text in texts.items())
    return f"<dl>{''.join(listed)}</dl>"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
