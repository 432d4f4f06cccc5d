"""Reading a study: recommend, show, predict, above, below, plot. Nothing here changes it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, get_args

import click
import numpy as np

from zonal.cli import options
from zonal.cli.trials import echo_trials
from zonal.engine.confidence import Outlook
from zonal.engine.results import Recommendation, Trial
from zonal.engine.windows import size_from_text
from zonal.errors import Exhausted, InvalidInput, StudyFileError
from zonal.io.files import write_picture
from zonal.io.geo_files import DRIVERS, read_areas, write_areas
from zonal.io.result_table import Cell, Listing, Probability, counted, labelled
from zonal.io.tables import read_table
from zonal.plotting import Kind, column_width
from zonal.spaces import Node
from zonal.study import sheets, summary
from zonal.study.areas import area_frame
from zonal.study.listings import RegionProbabilities
from zonal.study.queries import Side
from zonal.study.study import Study
from zonal.study.summary import LUCK, UNMEASURED, beyond, is_empty
from zonal.study.suspects import hanging, set_aside_line

SHOWN_NODES = 60


class NodeRow(TypedDict):
    """What is known of a node of the tree."""

    node: Node
    region: str
    measurements: int
    mean: float
    std: float


class Overview(TypedDict):
    """The state of a study for programs; of its regions, as far as they are known."""

    budget: float
    measured: int
    remaining: float
    direction: str
    pending: tuple[Trial, ...]
    forbidden: list[str]
    best: list[Recommendation]
    outlook: Outlook | None
    tree: list[NodeRow]
    value: dict[str, str]
    stands_out: bool
    misclassified: float | None


@options.study_command()
@options.number_option("-k", default=1, help="Number of disjoint regions.")
@click.option("--on-grid", is_flag=True, help="The best node of the tree, not a region at any position.")
@click.option("--size", metavar="AXIS=WIDTH,...", help="The size of the region, if not the smallest.")
@click.option("--among", multiple=True, metavar="REGION", help="A region to choose from; may be repeated.")
@click.option("--disc", is_flag=True, help="The best disc around any member, of points or areas.")
@options.json_option
def recommend(
    study: Study, k: int, on_grid: bool, size: str | None, among: tuple[str, ...], disc: bool, as_json: bool
) -> None:
    """Which region to recommend now, and how certain that is.

    Where there are continuous axes it may lie at any position. A REGION is written as in `zonal observe`.
    """
    regions = [study.space.region(study.space.from_text(region)) for region in among] or None
    width = None if size is None else size_from_text(size)
    best = study.recommend(k, on_grid=on_grid, size=width, among=regions, disc=disc)
    if as_json:
        options.echo_json(best)
    else:
        options.echo_table(_best(study, best, ""))
    if caution := _caution(study):
        options.echo_err(caution)


@options.study_command()
@options.number_option("-k", default=10, help="Number of readings to list.")
@options.json_option
def suspects(study: Study, k: int, as_json: bool) -> None:
    """List the readings that may be mistakes.

    Each stands beside what all others expect of it, the farthest off first. Also says whether the answer depends
    on a single reading.
    """
    listing, hangs_on = study.suspects(), () if is_empty(study) else study.recommend().hangs_on
    if as_json:
        options.echo_json({"title": listing.title, "columns": listing.columns, "hangs_on": list(hangs_on)})
        return
    options.echo_table(Listing(listing.title, {name: cells[:k] for name, cells in listing.columns.items()}))
    if not is_empty(study):
        click.echo(f"\n{hanging(hangs_on)}")


@options.study_command()
@options.number_option("-k", default=5, help="Number of best regions to list.")
@click.option("--all", "whole", is_flag=True, help="The whole tree, not only what was measured.")
@options.number_option("--outlook", "ahead", default=10, help="Number of further measurements to look ahead.")
@click.option("--offsets", "shifts", is_flag=True, help="Only what is known of the offsets of plates, days, ...")
@options.json_option
def show(study: Study, k: int, whole: bool, ahead: int, shifts: bool, as_json: bool) -> None:
    """Show the state of a study: budget, best regions, trials.

    Also says what more measurements are worth, and shows the tree.
    """
    if study.read_only:
        options.echo_err(f"Read only: {options.for_shell(study.read_only)}")
    if shifts:
        offsets = study.offsets()
        return options.echo_json(offsets.columns) if as_json else options.echo_table(offsets)
    overview = _overview(study, k, ahead, whole)
    if as_json:
        options.echo_json(overview)
        return
    what = labelled(study.settings.value_name, study.settings.value_unit)
    click.echo(f"{study.settings.direction} the average {what} of a region: {options.budget_line(study)}")
    measured = not is_empty(study)
    if overview["best"] and measured:
        _echo_best(study, overview)
    elif overview["best"]:
        click.echo(f"\n{UNMEASURED}")
    if aside := set_aside_line(study):
        click.echo(f"\n{aside.rstrip()}")
    if study.pending:
        click.echo("\npending")
        echo_trials(study, study.pending)
    if overview["forbidden"]:
        click.echo(f"\nforbidden since the study began: {'; '.join(overview['forbidden'])}")
    if overview["tree"] and (whole or measured):
        _echo_tree(study, overview["tree"], whole)


def _echo_best(study: Study, overview: Overview) -> None:
    options.echo_table(_best(study, overview["best"], "\nbest regions"))
    if caution := _caution(study):
        click.echo(f"\n{caution}")
    if overview["misclassified"] is not None:
        click.echo(f"\n{beyond(study)}")
    if (outlook := overview["outlook"]) is not None:
        click.echo(
            f"\n{outlook.n} more measurements would improve the answer by about {outlook.gain:.2g} "
            f"(90 % range: {outlook.low:.2g} to {outlook.high:.2g}), under the model."
        )


def _echo_tree(study: Study, nodes: list[NodeRow], whole: bool) -> None:
    title, max_nodes = ("the tree", None) if whole else ("the tree, as far as it was measured", SHOWN_NODES)
    listed = nodes[:max_nodes]
    names = ["  " * node["node"][0] + node["region"] for node in listed]
    counts = {"measurements": [node["measurements"] or None for node in listed]}
    options.echo_table(
        _averages(study, f"\n{title}", names, [(node["mean"], node["std"]) for node in listed], counts)
    )
    if len(listed) < len(nodes):
        click.echo(f"and {len(nodes) - len(listed)} more: zonal show --all")


def _caution(study: Study) -> str:
    """Return a caution if the best region, or what is said about it, means little yet; else ""."""
    if is_empty(study):
        return UNMEASURED
    return "; ".join(filter(None, ["" if study.stands_out() else LUCK, study.recommend().note]))


def _overview(study: Study, k: int, ahead: int, whole: bool) -> Overview:
    overview: Overview = {
        "budget": study.budget,
        "measured": study.measured,
        "remaining": study.remaining,
        "direction": study.settings.direction,
        "pending": study.pending,
        "forbidden": [region.name for region in study.forbidden],
        "best": [],
        "outlook": None,
        "tree": [],
        "value": {"name": study.settings.value_name, "unit": study.settings.value_unit},
        "stands_out": False,
        "misclassified": None,
    }
    try:
        overview["best"] = study.recommend(k)
    except StudyFileError:  # there is no posterior without the user-defined kernel
        return overview
    overview["outlook"], overview["tree"] = _outlook(study, ahead), _nodes(study, whole)
    overview["stands_out"] = not is_empty(study) and study.stands_out()
    overview["misclassified"] = summary.misclassified(study)
    return overview


def _outlook(study: Study, ahead: int) -> Outlook | None:
    try:
        outlook = study.outlook(ahead)
    except (InvalidInput, Exhausted):  # a belief without covariances; nothing left to ask for
        return None
    except StudyFileError as error:  # a user-defined function is missing
        options.echo_err(f"What more measurements would bring is left out: {options.for_shell(str(error))}")
        return None
    return outlook if math.isfinite(outlook.gain) else None


def _best(study: Study, recommended: list[Recommendation], title: str) -> Listing:
    averages = [(best.mean, best.std) for best in recommended]
    sure: dict[str, list[float]] = {"gap": [best.gap for best in recommended]}
    sure["P(best)"] = [Probability(best.probability_best) for best in recommended]
    return _averages(study, title, [best.region.name for best in recommended], averages, sure)


def _averages(
    study: Study,
    title: str,
    names: Sequence[str],
    averages: Iterable[tuple[float, float]],
    more: Mapping[str, Sequence[float | None]],
) -> Listing:
    """Return a table of regions with their means and stds, and more columns."""
    mean, std = zip(*averages, strict=True)
    about = labelled("mean", study.settings.value_unit)
    columns: dict[str, Sequence[Cell]] = {"region": names, about: mean, "std": std, **more}
    return Listing(title, columns, {about: "std", "std": "std", "gap": "std"})


def _nodes(study: Study, whole: bool) -> list[NodeRow]:
    """Return the measured nodes and their ancestors, or the whole tree; parents before children."""
    tree = study.tree
    shown = np.full(len(tree), whole) | (tree.count > 0)
    for row in range(len(tree) - 1, 0, -1):  # children come after their parents
        shown[tree.parent[row]] |= shown[row]
    paths: dict[int, tuple[int, ...]] = {-1: ()}
    for row, (parent, index) in enumerate(zip(tree.parent.tolist(), tree.index.tolist(), strict=True)):
        paths[row] = (*paths[parent], index)
    nodes = []
    for row in sorted(np.flatnonzero(shown).tolist(), key=paths.__getitem__):
        node = int(tree.depth[row]), int(tree.index[row])
        name, count = study.space.cell(node).name, int(tree.count[row])
        nodes.append(
            NodeRow(
                node=node, region=name, measurements=count, mean=float(tree.mean[row]), std=float(tree.std[row])
            )
        )
    return nodes


@options.study_command()
@click.argument("where", nargs=-1, metavar="[REGION]...")
@click.option("--csv", "sheet", type=options.FILE, help="A sheet of regions.")
@click.option("--above", type=float, metavar="THRESHOLD", help="Also the probability that it is above this.")
@click.option("--below", type=float, metavar="THRESHOLD", help="Also the probability that it is below this.")
@click.option(
    "-o",
    "--out",
    type=options.FILE,
    help="Write the table to a CSV file, numbers with all digits; or areas to a .gpkg or .geojson.",
)
@click.option(
    "--shapes", type=options.FILE, help="A file with the shapes of the areas, in the order of their table."
)
@options.decimal_option
@options.json_option
def predict(
    study: Study,
    where: tuple[str, ...],
    sheet: Path | None,
    out: Path | None,
    shapes: Path | None,
    decimal: str | None,
    as_json: bool,
    **limits: float | None,
) -> None:
    """Predict the averages of any REGIONs.

    A REGION is written as in `zonal observe`; without any, all regions of the smallest size are predicted.
    """
    if where and sheet is not None:
        raise click.UsageError("Pass REGIONs, or --csv FILE, not both.")
    if shapes is not None and (out is None or out.suffix.lower() not in DRIVERS):
        raise click.UsageError("--shapes are for --out with a name that ends in .gpkg or .geojson.")
    space = study.space
    asked = [space.region(sheets.place_of(space, text)) for text in where]
    if sheet is not None:
        asked = sheets.places(read_table(sheet, decimal), space)
    prediction = study.predict() if sheet is None and not where else study.predict(asked)
    asked = list(prediction.regions)
    given = {side: limit for side, limit in limits.items() if limit is not None}
    chances = {side: study.probability(asked, **{side: limit}) for side, limit in given.items()}
    if as_json:
        columns: dict[str, Any] = {"region": asked, **prediction._asdict(), **chances}
        options.echo_json(list(Listing("", columns)))
        return
    more = {
        f"{side} {given[side]:g}": list(map(Probability, probabilities)) for side, probabilities in chances.items()
    }
    if out is not None:
        listing = prediction.table()
        if out.suffix.lower() in DRIVERS:
            given_shapes = None if shapes is None else read_areas(shapes)
            write_areas(area_frame(asked, {**listing.to_dict(), **chances}, given_shapes), out)
        else:
            Listing("", {**listing.columns, **more}).to_csv(out)
        click.echo(f"{counted(len(asked), 'region')}: {out.resolve()}")
        return
    options.echo_table(
        _averages(study, "", [region.name for region in asked], zip(*prediction, strict=True), more)
    )


def _beyond(side: Side) -> click.Command:
    """Return the command that lists regions on one side of a threshold."""

    @options.study_command(side, numbers=True)
    @click.argument("threshold", type=float, required=False)
    @click.option("--probability", type=float, help="Least probability  [default: 0.9]")
    @click.option("--sigma", type=float, help="Instead: least distance from THRESHOLD, in standard deviations.")
    @click.option("--every", is_flag=True, help="Judge all smallest regions, not only those the tree has.")
    @click.option("--patches", "joined", is_flag=True, help="Join regions that touch.")
    @click.option("--within", type=float, help="For --patches of points or areas: largest distance of neighbours.")
    @options.json_option
    def command(
        study: Study,
        threshold: float | None,
        probability: float | None,
        sigma: float | None,
        every: bool,
        joined: bool,
        within: float | None,
        as_json: bool,
    ) -> None:
        if within is not None and not joined:
            raise click.UsageError("--within is for --patches.")
        likely: RegionProbabilities = getattr(study, side)(threshold, probability, sigma=sigma, every=every)
        regions = likely.patches(within) if joined else likely
        if as_json:
            options.echo_json(regions)
        else:
            options.echo_table(regions)

    told = f"List regions whose average is probably {side} a THRESHOLD."
    without = "With a policy that searches for a set, THRESHOLD may be left out: then those classified as in it."
    order = "The most probable come first. If there is none, the most probable region is named."
    command.help = f"{told}\n\n{without}\n\n{order}"
    return command


above, below = _beyond("above"), _beyond("below")


@options.study_command()
@options.picture_option("zonal-study.png")
@click.option(
    "--kind",
    type=click.Choice(get_args(Kind)),
    help="history: the measurements in order; tree: all regions, as an icicle; model: "
    "the learned model; map: over two coordinates; cells: along one axis  [default: what suits the space]",
)
@options.shapes_option
def plot(study: Study, out: Path, kind: Kind | None, shapes: list[options.Shape] | None) -> None:
    """Plot what is known, what was measured and what was found."""
    if shapes is not None and kind not in (None, "map"):
        raise click.UsageError("--shapes are for a map.")
    with column_width():
        drawn = study.plot(kind) if shapes is None else study.plot("map", shapes=shapes)
        figure: Any = drawn.figure
        write_picture(figure, out, dpi=150)
    click.echo(f"picture of {counted(study.measured, 'measurement')}: {out.resolve()}")
