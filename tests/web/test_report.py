"""`study.report` and `zonal report`: one file that shows a study."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import zonal as zn
from shell import zonal
from web.server_process import line
from zonal.web.methods_section import methods
from zonal.web.report import report

SPACES: dict[str, Any] = {
    "map": zn.Box({"x": (0, 1), "y": (0, 1)}),
    "mixed": zn.Product({"x": (0, 1), "y": (0, 1), "dye": ["red", "green"]}),
    "sequences": zn.Sequences("ACGT", length=4),
    "hierarchy": zn.Hierarchy({"A": {"a": ["1", "2"]}, "B": {"b": ["3", "4"]}}),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", SPACES)
def test_every_space_has_a_report_without_a_network(kind: str) -> None:
    study = zn.Study(SPACES[kind], budget=12, rng=0, value_name="<b>yield</b>")
    for _ in range(9):
        trial = study.ask()
        study.tell(trial, float(trial.number % 4), note="</script><script>alert(1)</script>")
    page = report(study)
    assert len(page) < 1_000_000
    assert "<script" not in page
    assert "<b>yield" not in page
    assert page.count("<svg") >= 2
    assert not re.search(r"""(?:src|href)=["'](?!#|data:)""", page.replace("xlink:href", "href"))
    assert len(set(re.findall(r'\bid="([^"]+)"', page))) == len(re.findall(r'\bid="', page))


def test_a_report_has_corrections_settings_versions_and_methods(tmp_path: Path) -> None:
    study = line(tmp_path, told=5)
    study.correct(1, 0.123, note="slip of the pen")
    study.retract(2, note="wrong lamp")
    out = tmp_path / "report.html"
    zonal("report", tmp_path / "line.db", "-o", out)
    page = out.read_text()
    for words in ("slip of the pen", "wrong lamp", "was measured", "RBF(variance=1.0", zn.__version__, "Methods"):
        assert words in page
    text, *references = methods(study)
    assert "4 measurements (of a budget of 30)" in text
    assert "1 value was corrected and 1 value was retracted afterwards" in text
    for number, reference in enumerate(references, 1):
        assert reference.startswith(f"[{number}]")
        assert f"[{number}]" in text


def test_an_empty_or_blind_study_has_one_too(tmp_path: Path) -> None:
    assert "nothing measured yet" in report(line(tmp_path))
    points = zn.Points([[0.0], [0.5], [1.0]])
    study = zn.Study.create(tmp_path / "own.db", points, budget=3, kernel=lambda a, b: a @ b.T + 1, noise=0.1)
    study.tell(study.ask(), 0.5)
    assert "kernel" in report(zn.Study.open(tmp_path / "own.db"))


def test_a_large_map_stays_small() -> None:
    study = zn.Study([(0, 1), (0, 1)], budget=400, kernel=zn.RBF(1.0, 0.05), noise=0.1, policy=zn.GPOO(), rng=0)
    study.optimize(lambda region: float(region.center.sum()), n=200)
    assert len(report(study)) < 1_000_000


def test_a_study_writes_its_own_report(tmp_path: Path) -> None:
    study = line(tmp_path, told=2)
    page = study.report(tmp_path / "own.html")
    assert page.count("line: 2 of 30 measured") == 2  # in its title and answer, not again above each picture
    assert (tmp_path / "own.html").read_text(encoding="utf-8") == page
    with pytest.raises(zn.InvalidInput, match="a path must be text; got 3"):
        study.report(3)  # type: ignore[arg-type]


def test_settings_list_what_was_given_and_no_nothings(tmp_path: Path) -> None:
    study = zn.Study.create(tmp_path / "s.db", [(0, 1)], budget=9, noise=0.5, forbidden=[[(0, 0.25)]], rng=0)
    page = study.report()
    listed = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page.partition(">Settings</h2>")[2]))
    assert "None" not in listed.values()
    assert (listed["noise"], listed["seed"]) == ("0.5", "0")
    assert listed["kernel"] == listed["mean"] == "learned"
    assert listed["forbidden"] == "x 0..0.25"
    assert listed["policy"] == "KnowledgeGradient(depths=&#x27;any&#x27;, off_grid=True), the default"
    assert not {"max_replicates", "cost", "times", "overhead", "travel", "read only"} & {*listed}


def test_chances_in_a_report_read_as_everywhere_and_a_spent_budget_has_no_so_far() -> None:
    study = zn.Study(zn.Box([(0, 1)], smallest=1 / 16), budget=6, kernel=zn.RBF(1.0, 0.1), noise=0.01, rng=0)
    study.optimize(lambda region: float(region.center[0]), n=5)
    assert "best so far" in str(study)
    study.optimize(lambda region: float(region.center[0]))
    page = study.report()
    assert "best so far" not in page
    assert f"best region {study.recommend().region.name}:" in page
    ranks = page.partition("P(best)")[2].partition("</table>")[0]
    assert "&lt; 1 %" in ranks


AREAS = {"A": {"a": ["1", "2"]}, "B": {"b": ["3", "4"]}}


def test_a_report_draws_polygons_from_a_file_of_shapes(tmp_path: Path) -> None:
    squares = [[(x, 0), (x + 1, 0), (x + 1, 1), (x, 1), (x, 0)] for x in range(4)]
    shapes = [{"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [ring]}} for ring in squares]
    places = {str(x + 1): (x + 0.5, 0.5) for x in range(4)}
    space = zn.Hierarchy(AREAS, features=places)
    study = zn.Study.create(tmp_path / "areas.db", space, budget=4, kernel=zn.RBF(1.0, 1.0), noise=0.1)
    study.tell(study.ask(), 0.5)
    (tmp_path / "areas.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": shapes}))
    page = tmp_path / "areas.html"
    zonal("report", tmp_path / "areas.db", "--shapes", tmp_path / "areas.geojson")
    assert "PatchCollection" in page.read_text()
    (tmp_path / "areas.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": shapes[:3]}))
    few = zonal("report", tmp_path / "areas.db", "--shapes", tmp_path / "areas.geojson", code=1)
    assert "shapes must be one for each of 4 members" in few.stderr
    (tmp_path / "areas.geojson").write_text("[1, 2]")
    refused = zonal("report", tmp_path / "areas.db", "--shapes", tmp_path / "areas.geojson", code=1)
    assert "shapes cannot be read" in refused.stderr


def test_probabilities_and_a_gap_of_zero_are_said_as_everywhere_else() -> None:
    space = zn.Product({"dye": ["red", "green", "blue"]})  # with axes of numbers a shifted region may be better
    study = zn.Study(space, budget=12, kernel=zn.Categorical(1.0, 0.3), noise=1e-3, rng=0)
    study.optimize(lambda region: float("red" in region["dye"]))
    assert study.recommend().gap == 0
    page = study.report()
    assert "&gt; 99 %" in page
    assert "&lt; 1 %" in page
    assert "by more than 0" not in page + study._repr_html_()
    assert "no region better" in study._repr_html_()
