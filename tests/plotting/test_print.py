"""What makes a picture fit for print: limits, sizes, titles, legends, and what it says of itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import zonal as zn
from zonal.plotting import column_width

mpl.use("Agg")


def measured(space: Any) -> zn.Study:
    study = zn.Study(space, budget=4, kernel=zn.RBF(1.0, 0.5), noise=0.1, rng=0)
    study.optimize(lambda region: float(region.weight))
    return study


LINE, PLANE = measured(zn.Box({"x": (0, 1)})), measured(zn.Box({"x": (0, 1), "y": (0, 1)}))
CUBE = measured(
    zn.Box({"T": (20, 80), "pH": (4, 9), "c": (1e-3, 1)}, scale={"c": "log"}, smallest=[15, 1.25, 0.75])
)


def new_axes() -> Axes:
    return Figure(layout="constrained").add_subplot()


def said(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def test_a_title_says_what_is_measured_if_that_has_a_name(tmp_path: Path) -> None:
    study = zn.Study.create(tmp_path / "run7.db", zn.Box({"x": (0, 30)}), budget=3, noise=0.1, value_name="ore")
    study.tell(study.ask(), 1.0)
    assert study.plot(ax=new_axes()).get_title() == "ore: 1 of 3 measured"


def test_the_history_is_limited_to_what_was_measured_and_found() -> None:
    study = zn.Study([(0, 1)], budget=9, rng=0)
    for number in range(8):
        study.tell(study.ask(), 40.0 + number)
    ax = study.plot("history", new_axes())
    (band,) = [own for own in ax.collections if own.get_label() == "two standard deviations"]
    low, high = ax.get_ylim()
    tall = np.concatenate([path.vertices for path in band.get_paths()])[:, 1]
    assert tall.max() - tall.min() > 2 * (high - low)  # that of the first measurements
    best = study.recommend()
    assert low < 40
    assert high > max(47, best.mean + 2 * best.std)
    assert high - low < 1.5 * (max(47, best.mean + 2 * best.std) - min(40, best.mean - 2 * best.std))


@pytest.mark.parametrize("inches", [3.3, 7.0])
def test_a_column_has_its_width(inches: float) -> None:
    with column_width(inches):
        figure: Any = LINE.plot("history").figure
    assert figure.get_figwidth() == inches
    assert 0.4 * inches < figure.get_figheight() < inches
    with pytest.raises(zn.InvalidInput, match="the width of a figure must be positive"), column_width(-1):
        pass


def test_a_map_in_a_projection_is_refused_in_words() -> None:
    with pytest.raises(zn.InvalidInput, match=r"without a projection; got 'mollweide'. Pass plain axes"):
        PLANE.plot(ax=Figure().add_subplot(projection="mollweide"))


def test_a_part_of_a_figure_is_drawn_on_too() -> None:
    parts: Any = Figure(layout="constrained").subfigures(1, 2)
    assert said(LINE.plot("history", parts[0].add_subplot()))


def test_colours_that_are_cut_off_have_an_arrow() -> None:
    points = zn.Points(np.random.default_rng(0).random((200, 2)))
    study = zn.Study(points, budget=9, kernel=zn.RBF(1.0, 0.1), noise=0.1)
    study.observe([0], 50.0)
    study.observe([1], -50.0)
    figure: Any = study.plot(ax=new_axes()).figure
    (bar,) = [own.colorbar for own in figure.axes[0].collections if own.colorbar]
    assert bar.extend == "both"


def test_maps_of_three_axes_say_where_the_third_is_held() -> None:
    study = CUBE
    panels: list[Any] = study.plot("map", new_axes()).child_axes
    titles = [inner.get_title() for inner in panels]
    held = [f"{axis.name} {axis.text(part)} (as found)" for axis, part in study.recommend().region.along]  # type: ignore[attr-defined]
    assert [title for title in titles if title] == held[::-1]


def test_single_models_have_a_neutral_line_in_the_legend() -> None:
    study = zn.Study(
        zn.Box({"x": (0, 3), "y": (1, 100)}, units=["m", ""], scale=["linear", "log"]), budget=30, rng=0
    )
    for _ in range(12):
        trial = study.ask()
        study.tell(trial, float(trial.region.center[0]))
    assert len(study.models) > 1
    ax = study.plot("model", new_axes())
    assert said(ax)[:2] == ["x, 3 m wide", "y, 2 decades wide"]
    lines = {str(line.get_label()): line for line in ax.lines}
    single = lines["single models, in the colour of their axis"]
    assert single.get_color() not in (lines["x, 3 m wide"].get_color(), lines["y, 2 decades wide"].get_color())
    assert lines["x, 3 m wide"].get_linestyle() != lines["y, 2 decades wide"].get_linestyle()
