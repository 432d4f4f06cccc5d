"""The paper's pictures: their numbers, what was drawn of them, and whether a reader can read it."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

import oracle
from reproduction import benefit, figure1, figure2, figure3, heatmap, sweeps
from reproduction.searches import NOISE
from reproduction.searches import run as run_search
from reproduction.sweeps import Answer, Plan, Preset, Report
from zonal.plotting import column_width

EXPERIMENTS: dict[str, ModuleType] = {
    "figure1": figure1,
    "figure2": figure2,
    "benefit": benefit,
    "heatmap": heatmap,
}
SMALL: dict[str, Any] = {"runs": 3, "budget": 12, "jobs": 1}
every_experiment = pytest.mark.parametrize("name", EXPERIMENTS)
both_presets = pytest.mark.parametrize("preset", ["authors", "paper"])
Made = dict[str, tuple[Report, Figure]]


def make(name: str, out: Path, **settings: Any) -> tuple[Report, Figure]:
    """Run an experiment and catch its figure before it is written, which takes longest."""
    caught: list[Figure] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeps, "save", lambda figure, *rest: caught.append(figure))
        table = EXPERIMENTS[name].experiment(Plan(out=out, **{**SMALL, **settings}))
    return table, caught[0]


def rows(name: str, out: Path, **settings: Any) -> list[Sequence[Any]]:
    """Run an experiment for its numbers alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EXPERIMENTS[name], "_figure", lambda *_: None)
        return make(name, out, **settings)[0].rows


@pytest.fixture(scope="module")
def fewer() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heatmap, "POINTS", (1, 10))
        patch.setattr(heatmap, "PARTS", (2, 3, 5))
        patch.setattr(heatmap, "BUDGETS", (7, 12))
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, fewer: None) -> Made:
    out = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figure1, "TRIES", 12)  # enough for cells of three depths
        return {name: make(name, out, budget=40 if name == "figure1" else 12) for name in EXPERIMENTS}


def gpoo_on_f3(preset: Preset, s: int, budget: int, seed: list[int], arity: int = 2) -> Answer:
    return run_search(preset, "f3", "GPOO", s, budget, seed, arity)


def column(table: Report, name: str) -> Any:
    return np.array([row[list(table.columns).index(name)] for row in table.rows])


@cache
def draw(figure: Figure) -> Any:
    with column_width():
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
    return canvas.get_renderer()


def seen_axes(figure: Figure) -> list[Axes]:
    return [ax for ax in figure.axes if ax.axison]


def legends(figure: Figure) -> list[Any]:
    return [*figure.legends, *(ax.get_legend() for ax in figure.axes if ax.get_legend())]


# All pictures.


@pytest.mark.one_in(4)
@every_experiment
def test_picture_and_table_are_written(
    name: str, tmp_path: Path, fewer: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figure1, "TRIES", 4)
    table: Report = EXPERIMENTS[name].experiment(Plan(out=tmp_path, **SMALL))
    assert (tmp_path / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    written = json.loads((tmp_path / f"{name}.json").read_text())
    assert written["rows"] == [list(row) for row in table.rows]
    assert written["settings"]["rng"] == 0
    lines = (tmp_path / f"{name}.csv").read_text().splitlines()
    assert lines[0].split(",") == list(table.columns)
    assert len(lines) == 1 + len(table.rows)


@pytest.mark.one_in(3)
@every_experiment
def test_the_same_seed_gives_the_same_numbers_and_another_seed_others(
    name: str, tmp_path: Path, fewer: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figure1, "TRIES", 4)
    first = rows(name, tmp_path / "a")
    assert rows(name, tmp_path / "b") == first
    assert rows(name, tmp_path / "c", rng=1) != first


@pytest.mark.one_in(2)
@every_experiment
def test_legends_cover_neither_data_nor_labels(name: str, made: Made) -> None:
    figure = made[name][1]
    renderer = draw(figure)
    boxes = [ax.get_tightbbox(renderer) for ax in seen_axes(figure)]
    shown = legends(figure)
    assert shown or name == "heatmap"  # whose legend is its colour bars
    for legend in shown:
        box = legend.get_window_extent(renderer)
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0
        assert not any(box.overlaps(other) for other in boxes if other)


@every_experiment
def test_panels_keep_clear_of_each_other(name: str, made: Made) -> None:
    figure = made[name][1]
    renderer = draw(figure)
    boxes = [box for ax in seen_axes(figure) if (box := ax.get_tightbbox(renderer))]
    # A pixel may be shared by rounding.
    assert not any(a.padded(-1).overlaps(b.padded(-1)) for a, b in combinations(boxes, 2))
    assert all(figure.bbox.x0 - 1 <= box.x0 and box.x1 <= figure.bbox.x1 + 1 for box in boxes)


@every_experiment
def test_fonts_are_legible_at_the_width_of_the_page(name: str, made: Made) -> None:
    figure = made[name][1]
    draw(figure)
    assert figure.get_figwidth() <= 7
    sizes = [float(text.get_fontsize()) for text in figure.findobj(Text) if text.get_text()]
    assert min(sizes) >= 7
    assert max(sizes) <= 9


@every_experiment
def test_every_panel_says_what_its_axes_are(name: str, made: Made) -> None:
    for ax in seen_axes(made[name][1]):
        assert ax.get_ylabel()
        assert ax.get_xlabel() or ax.get_shared_x_axes().get_siblings(ax) != [ax] or ax.get_label() == "<colorbar>"


@pytest.mark.torture
@pytest.mark.one_in(2)
@pytest.mark.parametrize(("name", "preset"), [("benefit", "paper"), ("heatmap", "authors")])
def test_numbers_do_not_depend_on_the_number_of_processes(
    name: str, preset: Preset, tmp_path: Path, made: Made
) -> None:
    one = made[name][0].rows if preset == "authors" else rows(name, tmp_path / "1", preset=preset, jobs=1)
    assert rows(name, tmp_path / "2", preset=preset, jobs=2) == one


@pytest.mark.parametrize("name", ["benefit", "heatmap"])
def test_a_second_call_computes_only_what_is_missing(name: str, tmp_path: Path, made: Made) -> None:
    rows(name, tmp_path, runs=2)
    kept = (tmp_path / "runs.jsonl").read_text()
    again = rows(name, tmp_path, runs=2)
    assert (tmp_path / "runs.jsonl").read_text() == kept
    assert rows(name, tmp_path, runs=3) == made[name][0].rows != again
    assert (tmp_path / "runs.jsonl").read_text().startswith(kept)


# Figure 1.


def test_figure1_shows_cells_of_three_depths_or_more(made: Made) -> None:
    table = made["figure1"][0]
    leaves = ~column(table, "expanded")
    assert len(set(column(table, "depth")[leaves].tolist())) >= 3
    assert column(table, "count").sum() == figure1.ROUNDS


def test_figure1_draws_a_band_for_every_leaf_and_none_is_cut_off(made: Made) -> None:
    table, figure = made["figure1"]
    cells = figure.axes[0]
    leaves = ~column(table, "expanded")
    std, mean, depth = (column(table, name)[leaves] for name in ("std", "mean", "depth"))
    width = math.sqrt(oracle.beta(figure1.ROUNDS + 1, 2, 10, 0.1))
    light, dark = ([patch.get_bbox() for patch in container] for container in cells.containers)
    heights = sorted(box.height for box in dark)
    np.testing.assert_allclose(heights, sorted(2 * width * std), rtol=1e-6)
    assert len(light) == len(mean)
    low, high = cells.get_ylim()
    assert all(low < box.y0 and box.y1 < high for box in light)
    deltas = {
        round(1 / inner.width): (outer.height - inner.height) / 2 for outer, inner in zip(light, dark, strict=True)
    }
    np.testing.assert_allclose([delta * parts for parts, delta in deltas.items()], deltas[8] * 8)
    assert sorted(deltas) == sorted({2**h for h in depth.tolist()})


def test_figure1_lists_true_averages_of_the_function_it_draws(made: Made) -> None:
    table, figure = made["figure1"]
    x, f = (np.asarray(a) for a in figure.axes[0].lines[0].get_data())
    for lower, upper, average in zip(*(column(table, c) for c in ("lower", "upper", "true average")), strict=True):
        points = lower + (np.arange(figure1.S) + 0.5) / figure1.S * (upper - lower)
        assert np.interp(points, x, f).mean() == pytest.approx(average, abs=1e-4)


def test_figure1_puts_every_node_into_the_tree(made: Made) -> None:
    table, figure = made["figure1"]
    extents = [path.get_extents() for path in figure.axes[1].collections[0].get_paths()]
    drawn = {(box.x0, box.x1, box.y0) for box in extents}
    cells = (column(table, name).tolist() for name in ("lower", "upper", "depth"))
    assert drawn == set(zip(*cells, strict=True))


# Figure 2.


def test_figure2_rounds_are_those_of_the_algorithm_written_densely() -> None:
    shown = figure1.scene([3, 5], figure2.S, 10)
    found = list(figure2.rounds(shown))
    rewards = iter([trial.value for trial in shown.study.trials])
    run = oracle.gpoo(
        [[0, 1]],
        2,
        figure2.S,
        oracle.rbf(figure1.KERNEL.variance, 0.15),
        NOISE,
        lambda node, box: next(rewards) or 0.0,
        10,
        lambda h: shown.slope * 0.75 * 0.5**h,  # a cell reaches 3/4 of its width from its points
    )
    root = oracle.representatives(np.array([[0.0, 1.0]]), 2)
    _, prior = oracle.posterior(oracle.rbf(0.1, 0.15), [], [], [], [root])
    before_means, before_stds = {(0, 0): 0.0}, {(0, 0): float(prior[0])}
    for one, dense in zip(found, run.rounds, strict=True):
        width = math.sqrt(oracle.beta(one.t, 2, 10, 0.1))
        for leaf in one.leaves:  # what is known before the round's reward, line 4
            assert leaf.mean == pytest.approx(before_means[leaf.node], abs=1e-9)
            assert leaf.confidence == pytest.approx(width * before_stds[leaf.node], abs=1e-9)
            assert leaf.variation == pytest.approx(shown.slope * 0.75 * 0.5 ** leaf.node[0])
            points = oracle.representatives(np.array([[leaf.lower, leaf.upper]]), 2)
            assert leaf.average == pytest.approx(float(shown.f(points).mean()))
        assert (one.chosen.node, one.expanded) == (dense.node, dense.expanded)
        assert one.confidence_after == pytest.approx(width * dense.stds[dense.node], abs=1e-9)
        before_means, before_stds = dense.means, dense.stds


def test_figure2_expands_in_its_first_round_and_not_in_its_second(made: Made) -> None:
    table = made["figure2"][0]
    t, b = column(table, "t"), column(table, "b-value")
    first, second = sorted(set(t.tolist()))
    assert second == first + 1
    for now in (first, second):
        chosen = np.flatnonzero((t == now) & column(table, "selected"))
        assert chosen.tolist() == [np.flatnonzero(t == now)[np.argmax(b[t == now])]]
        assert len(set(column(table, "depth")[t == now].tolist())) >= 3
    nodes = {now: {tuple(row[1:3]) for row in table.rows if row[0] == now} for now in (first, second)}
    (h, i) = next(tuple(row[1:3]) for row in table.rows if row[-1])
    assert nodes[second] == nodes[first] - {(h, i)} | {(h + 1, 2 * i), (h + 1, 2 * i + 1)}
    assert not column(table, "expanded")[t == second].any()


def test_figure2_draws_confidence_b_values_and_delta_bars_of_every_leaf(made: Made) -> None:
    table, figure = made["figure2"]
    for ax, now in zip(figure.axes, sorted(set(column(table, "t").tolist())), strict=True):
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows if row[0] == now]
        boxes = [c.patches[0].get_bbox() for c in ax.containers]  # type: ignore[attr-defined]
        light, dark, frame = boxes[0:-1:2], boxes[1:-1:2], boxes[-1]
        assert len(light) == len(dark) == len(rows)
        bars = [c.get_segments()[0] for c in ax.collections if np.ptp(c.get_segments()[0][:, 0]) == 0]  # type: ignore[attr-defined]
        level = [c.get_segments()[0] for c in ax.collections if np.ptp(c.get_segments()[0][:, 0]) > 0]  # type: ignore[attr-defined]
        for j, row in enumerate(rows):
            assert (dark[j].x0, dark[j].x1) == (row["lower"], row["upper"])
            assert (dark[j].y0, dark[j].y1) == pytest.approx((row["mean"] - row["CI"], row["mean"] + row["CI"]))
            assert (light[j].y0, light[j].y1) == pytest.approx((row["mean"] + row["CI"], row["b-value"]))
            assert np.ptp(bars[j][:, 1]) == pytest.approx(row["delta"])
            assert (level[2 * j][0, 1], level[2 * j + 1][0, 1]) == (row["mean"], row["true average"])
            if row["selected"]:
                assert (frame.x0, frame.x1, frame.y1) == pytest.approx(
                    (row["lower"], row["upper"], row["b-value"])
                )


def test_figure2_draws_a_w_that_touches_the_confidence_and_stays_below_the_b_value(made: Made) -> None:
    table, figure = made["figure2"]
    for ax, now in zip(figure.axes, sorted(set(column(table, "t").tolist())), strict=True):
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows if row[0] == now]
        lines = [line for line in ax.lines if line.get_color() == figure2.LIPSCHITZ]
        assert len(lines) == len(rows)
        for row, line in zip(rows, lines, strict=True):
            x, w = (np.asarray(a) for a in line.get_data())
            top, size = row["mean"] + row["CI"], row["upper"] - row["lower"]
            quarters = np.interp(row["lower"] + np.array([0, 0.25, 0.5, 0.75, 1]) * size, x, w) - top
            # L times 3/4 of the width is delta, so L times a quarter is a third of it.
            np.testing.assert_allclose(quarters, np.array([1, 0, 1, 0, 1]) * row["delta"] / 3, atol=1e-9)
            assert w.max() < row["b-value"]


# Figure 3, which nothing is computed for.


def test_figure3_leads_from_assumptions_to_the_corollary(tmp_path: Path) -> None:
    table = figure3.experiment(Plan(out=tmp_path))
    assert (tmp_path / "figure3.png").exists()
    names = [row[0] for row in table.rows]
    for one in figure3.ROADMAP:
        assert set(one.uses) <= set(names)
        assert all(names.index(used) < names.index(one.name) for used in one.uses)
    assert {one.name for one in figure3.ROADMAP} - {used for one in figure3.ROADMAP for used in one.uses} == {
        "Corollary 1"
    }
    wide, high = 2 * figure3.HALF[0], 2 * figure3.HALF[1]
    for a, b in combinations(figure3.ROADMAP, 2):
        assert abs(a.at[0] - b.at[0]) > wide or abs(a.at[1] - b.at[1]) > high


# The benefit of averages.


@both_presets
@pytest.mark.parametrize("s", [1, 10])
def test_predictions_at_points_are_the_posterior_given_the_rewards(preset: Preset, s: int) -> None:
    run = gpoo_on_f3(preset, s, 15, [2])
    x = np.linspace(0, 1, 17)
    blocks = [oracle.representatives(oracle.cell([[0, 1]], 2, node), s) for node in run["visited"]]
    variance, scale = (0.005, 0.05) if preset == "authors" else (0.01, 0.01)  # the text: "we use the known GP"
    mean, std = oracle.posterior(
        oracle.rbf(0.1, scale), blocks, run["rewards"], [variance] * 15, list(x[:, None, None])
    )
    found = benefit.predictions(run, preset, s, x)
    np.testing.assert_allclose(found[0], mean, atol=1e-8)
    np.testing.assert_allclose(found[1], std, atol=1e-8)


@both_presets
@pytest.mark.parametrize("arity", [2, 3])
def test_trees_hold_every_draw_and_the_children_of_every_expanded_node(preset: Preset, arity: int) -> None:
    run = gpoo_on_f3(preset, 10, 30, [0], arity)
    tree = benefit.draws(run, arity)
    assert sum(tree.values()) == 30
    assert next(iter(tree)) == (0, 0)
    assert len(tree) == 1 + arity * len(run["expanded"])
    families = Counter((h - 1, i // arity) for h, i in tree if h)
    assert set(families) == {tuple(node) for node in run["expanded"]} <= set(tree)
    assert set(families.values()) == {arity}


def test_the_presets_search_different_functions_by_different_procedures() -> None:
    ours, theirs = (gpoo_on_f3(preset, 1, 5, [0]) for preset in ("paper", "authors"))
    assert tuple(ours["visited"][0]) == (0, 0)  # Algorithm 1 measures the root, their code does not
    assert tuple(theirs["visited"][0]) == (1, 0)


def test_benefit_draws_its_nodes_by_number_of_draws(made: Made) -> None:
    figure = made["benefit"][1]
    for ax, s in zip(figure.axes[:2], benefit.FEEDBACKS, strict=True):
        draws = np.array(list(benefit.draws(gpoo_on_f3("authors", s, 12, [0, 0])).values()))
        drawn = [len(np.asarray(points.get_offsets())) for points in ax.collections]
        assert drawn == [np.sum(draws == 0), np.sum(draws == 1), np.sum(draws > 1), 1]
    lightness = [
        float(np.dot(to_rgb(colour), [0.2126, 0.7152, 0.0722])) for colour, _, _ in benefit.DRAWS.values()
    ]
    assert lightness[0] - lightness[1] > 0.15
    assert lightness[1] - lightness[2] > 0.15
    assert len({marker for _, marker, _ in benefit.DRAWS.values()}) == 3


def test_benefit_draws_and_lists_the_mean_regret_and_one_standard_deviation(made: Made) -> None:
    table, figure = made["benefit"]
    ax = next(ax for ax in figure.axes if ax.get_ylabel() == "aggregated regret")
    for s, row, line, band in zip(benefit.FEEDBACKS, table.rows, ax.lines, ax.collections, strict=True):
        curve = np.array([gpoo_on_f3("authors", s, 12, [0, i])["regret"] for i in range(3)])
        np.testing.assert_allclose(np.asarray(line.get_ydata()), curve.mean(axis=0))
        corners = band.get_paths()[0].vertices
        top = [np.asarray(corners)[np.asarray(corners)[:, 0] == n, 1].max() for n in range(1, 13)]
        np.testing.assert_allclose(top, (curve.mean(axis=0) + curve.std(axis=0)))
        assert row[0] == s
        assert row[1] == pytest.approx(curve[:, 9].mean())
        assert row[2] == pytest.approx(curve[:, 9].std(ddof=1) / math.sqrt(3))


def test_benefit_marks_every_measurement_at_the_centre_of_its_cell(made: Made) -> None:
    figure = made["benefit"][1]
    panels = [ax for ax in figure.axes if ax.get_title().endswith("posterior of f")]
    for ax, s in zip(panels, benefit.FEEDBACKS, strict=True):
        run = gpoo_on_f3("authors", s, 12, [0, 0])
        marks = ax.lines[-1].get_data()
        np.testing.assert_allclose(np.asarray(marks[0], float), [(i + 0.5) / 2**h for h, i in run["visited"]])
        np.testing.assert_array_equal(marks[1], run["rewards"])


# The heatmap.


def test_heatmap_lists_means_errors_and_logarithms_of_all_runs(made: Made) -> None:
    table = made["heatmap"][0]
    assert len(table.rows) == 2 * 2 * 3
    for n, s, k, mean, error, log in table.rows:
        regrets = np.array([gpoo_on_f3("authors", s, 12, [0, i], k)["regret"][n - 1] for i in range(3)])
        assert mean == pytest.approx(regrets.mean())
        assert error == pytest.approx(regrets.std(ddof=1) / math.sqrt(3))
        assert log == pytest.approx(math.log(regrets.mean()))


def test_heatmap_writes_its_values_readably_into_its_cells(made: Made) -> None:
    table, figure = made["heatmap"]
    panels = [ax for ax in figure.axes if ax.images]
    assert [ax.get_title() for ax in panels] == ["N = 7, 3 runs", "N = 12, 3 runs"]
    for ax, n in zip(panels, (7, 12), strict=True):
        logs = column(table, "log mean")[column(table, "N") == n]
        (image,) = ax.images
        np.testing.assert_allclose(np.asarray(image.get_array()).ravel(), logs)
        assert image.get_clim() == pytest.approx((logs.min(), logs.max()))  # a colour bar of its own
        assert [text.get_text() for text in ax.texts] == [f"{value:.2f}" for value in logs]
        for text, value in zip(ax.texts, logs, strict=True):
            behind = np.asarray(image.cmap(image.norm(value)))
            assert contrast(to_rgb(text.get_color()), tuple(behind[:3].tolist())) > 4


def contrast(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    """Return the contrast ratio of two colours as the web's accessibility guidelines define it."""
    light = []
    for colour in (a, b):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
        light.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(light) + 0.05) / (min(light) + 0.05)


def test_heatmap_of_a_small_budget_has_one_panel(tmp_path: Path, fewer: None) -> None:
    table, figure = make("heatmap", tmp_path, budget=5, runs=1)
    assert set(column(table, "N").tolist()) == {5}
    assert sum(bool(ax.images) for ax in figure.axes) == 1
    assert np.isnan(column(table, "se")).all()


def test_a_printed_table_fits_its_line_and_keeps_every_number() -> None:
    names = [f"a rather long name of column number {j}" for j in range(6)]
    table = Report("wide", names, [[j + 0.5 for j in range(6)]], ["a note that goes on and on " * 12])
    lines = table.text().splitlines()
    assert max(map(len, lines)) <= 120
    assert " ".join(lines).split().count("column") == 6
    assert [line.split() for line in lines if "0.5000" in line] == [[f"{j}.5000" for j in range(6)]]
