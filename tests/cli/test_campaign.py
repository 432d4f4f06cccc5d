"""Beginning a study, looking at it and carrying it about, from a shell; exit codes and what is said where."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from matplotlib import pyplot
from numpy.typing import NDArray

import zonal as zn
from damaged_exports import with_digest
from forked_commands import Forked
from recipes import RECIPES, TABLE
from shell import ENVIRONMENT, answer, fill, rows, zonal
from zonal.plotting import Kind


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "areas.csv").write_text(TABLE)
    return tmp_path


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with a few measurements."""
    path = tmp_path_factory.mktemp("measured") / "sky.db"
    words = ["--axis", "l=-180..180:deg", "--axis", "sin_b=-1..1", "--smallest", "0.25"]
    zonal("new", path, *words, "--budget", 20, "--noise", 0.1, "--value", "flux", "--unit", "K", "--seed", 1)
    study = zn.Study.open(path)
    for trial in study.ask(6):
        study.tell(trial, float(trial.region.center[1]))
    study.ask(2)
    return path


@pytest.fixture
def sky(folder: Path, measured: Path) -> Path:
    return Path(shutil.copy(measured, folder))


def test_forbidden_regions_are_said_by_options(folder: Path) -> None:
    words = ["--axis", "x=0..8", "--axis", "dye=red,green", "--smallest", 1, "--budget", 9, "--noise", 0.1]
    zonal("new", "s.db", *words, "--forbidden", "x=0..4, dye=red", "--forbidden", "x=6..8")
    space = zn.Product({"x": (0, 8), "dye": ["red", "green"]}, smallest=1)
    never: list[dict[str, Any]] = [{"x": (0, 4), "dye": "red"}, {"x": (6, 8)}]
    assert (
        zn.Study.open("s.db").settings.forbidden == zn.Study(space, budget=9, forbidden=never).settings.forbidden
    )
    for trial in answer("ask", "s.db", "-n", 5):
        assert not any(
            space.region(own).overlaps(space.region(space.from_text(trial["region"]["name"]))) for own in never
        )
    said = zonal("new", "t.db", *words, "--forbidden", "z=0..4", code=1).stderr
    assert said.startswith(
        "Error: --forbidden: a part of a region must begin with the name of an axis; got 'z=0..4'."
    )


def test_the_template_is_a_recipe_that_works(folder: Path) -> None:
    (folder / "sky.toml").write_text(zonal("new", "--template").stdout)
    assert "0 of 60 measured" in zonal("new", "sky.db", "--recipe", "sky.toml").stderr
    zonal("ask", "sky.db", "-n", 3)


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_every_recipe_can_be_driven_from_a_shell(name: str, folder: Path) -> None:
    (folder / "r.toml").write_text(RECIPES[name])
    zonal("new", "s.db", "--recipe", "r.toml")
    zonal("ask", "s.db", "-n", 2, "--csv", "a.csv")
    fill("a.csv", value=["0.5", "1"])
    zonal("tell", "s.db", "--csv", "a.csv")
    zonal("observe", "s.db", "--csv", "a.csv")
    assert len(answer("predict", "s.db", "--csv", "a.csv")) == 2
    assert answer("show", "s.db")["measured"] == 2
    zonal("show", "s.db", "--all")
    zonal("verify", "s.db")
    zonal("export", "s.db", "--format", "events", "--out", "e.jsonl")
    zonal("import", "t.db", "e.jsonl")
    assert zonal("export", "s.db").stdout == zonal("export", "t.db").stdout
    assert answer("ask", "s.db") == answer("ask", "t.db")


@pytest.mark.parametrize(
    ("flags", "space"),
    [
        (["--axis", "x=0..1", "--smallest", "0.1"], zn.Box({"x": (0, 1)}, smallest=0.1)),
        (
            ["--axis", "c=1e-4..1:M:log", "--axis", "t=0..9", "--smallest", "0.5,3"],
            zn.Box({"c": (1e-4, 1), "t": (0, 9)}, units={"c": "M"}, scale={"c": "log"}, smallest=[0.5, 3]),
        ),
        (
            ["--axis", "x=0..1:m", "--axis", "dye=red,green"],
            zn.Product({"x": (0, 1), "dye": ["red", "green"]}, units={"x": "m"}),
        ),
        (["--sequences", "ACGT,4", "--smallest", "16"], zn.Sequences("ACGT", 4, smallest=16)),
        (
            ["--points", "areas.csv", "--coords", "lon,lat"],
            zn.Points({"lon": [1, 2, 3, 4.5, 5], "lat": [2, 1.5, 0.5, 2.5, 3.5]}),
        ),
        (
            ["--points", "areas.csv", "--levels", "state,town", "--weight", "persons"],
            zn.Hierarchy({"N": ["Ayr", "Bath"], "S": ["Cork", "Deal", "Ely"]}, weights=[10, 20, 30, 5, 8]),
        ),
    ],
)  # fmt: skip
def test_options_say_what_a_recipe_says(flags: list[str], space: object) -> None:
    zonal(
        "new", "s.db", *flags, "--budget", 7, "--minimize", "--max-replicates", 2, "--value", "age", "--unit", "a"
    )
    settings = zn.Study.open("s.db").settings
    assert settings.space == space
    assert (settings.budget, settings.direction, settings.max_replicates) == (7, "minimize", 2)
    assert (settings.value_name, settings.value_unit, settings.noise) == ("age", "a", None)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["new", "s.db"], 1, "needs a budget"),
        (["new"], 2, "STUDY"),
        (["new", "s.db", "--budget", "5"], 1, "given in exactly one way"),
        (["new", "s.db", "--budget", "5", "--axis", "x=1..0"], 1, "--axis: the bounds of axis x must increase"),
        (["new", "s.db", "--budget", "5", "--axis", "x"], 1, "Write x=0..1, or l=-180..180:deg"),
        (["new", "s.db", "--budget", "5", "--axis", "x=0..1", "--noise", "-1"], 1, "--noise: noise must not be"),
        (
            ["new", "s.db", "--budget", "5", "--axis", "x=0..1", "--coords", "a"],
            1,
            "this option needs a table; got '--coords'",
        ),
        (["new", "s.db", "--budget", "5", "--points", "areas.csv", "--coords", "lom"], 1, "Did you mean 'lon'?"),
        (["new", "s.db", "--recipe", "r.toml", "--budget", "5"], 2, "--budget"),
        (["new", "s.db", "--recipe", "nosuch.toml"], 1, "no such file"),
        (["new", "nowhere/s.db", "--budget", "5", "--axis", "x=0..1"], 4, "s.db"),
        (["new", "areas.csv", "--budget", "5", "--axis", "x=0..1"], 4, "areas.csv"),
        (["show", "nosuch.db"], 4, "nosuch.db"),
        (["show", "areas.csv"], 4, "areas.csv"),
        (["import", "s.db", "areas.csv"], 1, "not an export of events"),
        (["ask"], 2, "STUDY"),
        (["axk"], 2, "ask"),
    ],
)
def test_errors_are_one_line_with_an_exit_code(words: list[str], code: int, says: str, folder: Path) -> None:
    result = zonal(*words, code=code)
    assert says in result.stderr
    assert result.stdout == ""
    if code != 2:
        assert result.stderr.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == ["areas.csv"]


PYTHON = re.compile(r"Study\.|study\.|\bzn\.|[a-z_]\(|plot_|=[,. ]")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["new", "sky.db", "--budget", "5", "--axis", "x=0..1"],
            "sky.db already exists. Use it as it is, or choose another name.",
        ),
        (["show", "nosuch.db"], "Make one with `zonal new`."),
        (["tell", "sky.db", "0", "0.25"], "`zonal observe` for a further measurement of its region."),
        (["tell", "sky.db", "77", "0.25"], "Pass a trial that `zonal ask` returned, or its number."),
        (["allow", "sky.db", "l=0..90"], "`zonal export` lists what failed."),
        (["plot", "sky.db", "--kind", "cells"], "Leave --kind out, or use another."),
        (["new", "s.db", "--recipe", "r.toml"], "a set of symbols"),
        (
            ["power", "--axis", "x=0..1", "--smallest", "1e-6", "--noise", "1", "--budget", "5"],
            "a wider smallest.",
        ),
    ],
)
def test_what_is_refused_is_said_in_the_words_of_the_shell(words: list[str], says: str, sky: Path) -> None:
    recipe = "budget = 9\n[axes]\ndye = ['r', 'g']\n[measurement]\nfeedback = 'center'\n"
    Path("r.toml").write_text(recipe)
    file = words[:2] in (["new", "sky.db"], ["show", "nosuch.db"])
    said = zonal(*words, code=4 if file else 1).stderr
    assert says in said
    assert not PYTHON.search(said), said


def test_debug_shows_where_an_error_came_from() -> None:
    for words in (["--debug", "show", "nosuch.db"], ["show", "nosuch.db", "--debug"]):
        run = Forked(*words)
        assert "Traceback" in run.end(60)
        assert run.returncode == 1


def test_a_study_is_shown_to_people_and_to_programs(sky: Path) -> None:
    shown = zonal("show", sky).stdout
    assert shown.startswith("maximize the average flux [K] of a region: 6 of 20 measured, 2 pending, 12 left.")
    for word in ("best regions", "mean [K]", "more measurements would", "pending", "the tree", "\n    l "):
        assert word in shown
    told = answer("show", sky)
    assert (told["measured"], told["remaining"], len(told["pending"]), len(told["best"])) == (6, 12, 2, 5)
    assert sum(node["measurements"] for node in told["tree"]) == 6
    assert len(answer("show", sky, "--all")["tree"]) == len(zn.Study.open(sky).tree)
    best = answer("recommend", sky, "-k", 2)
    assert best == told["best"][:2]
    assert best[0]["mean"] == zn.Study.open(sky).recommend().mean
    (here,) = answer("predict", sky, "l=0..90, sin_b=0.5..1")
    assert (here["mean"], here["std"]) == zn.Study.open(sky).predict([(0, 90), (0.5, 1)])
    assert "l 0..90 deg, sin_b 0.5..1" in zonal("predict", sky, "l=0..90,sin_b=0.5..1").stdout


def test_tables_fit_the_terminal(sky: Path) -> None:
    for columns in (45, 200):
        for words in (["show", sky], ["recommend", sky, "-k", 3], ["ask", sky, "--pending"]):
            for block in zonal(*words, COLUMNS=str(columns)).stdout.split("\n\n")[1:]:
                if "more measurements" not in block and "stands out" not in block:
                    assert max(map(len, block.splitlines())) <= columns


def test_a_picture_is_drawn_of_any_space(sky: Path, folder: Path) -> None:
    zonal("plot", sky, "--out", "a.png")
    assert (folder / "a.png").read_bytes().startswith(b"\x89PNG")
    assert ".png" in zonal("plot", sky, "--out", "a.doc", code=2).stderr
    assert "nowhere" in zonal("plot", sky, "--out", "nowhere/a.png", code=2).stderr
    for name in ("model", "sequences", "points"):
        (folder / "r.toml").write_text(RECIPES[name])
        zonal("new", f"{name}.db", "--recipe", "r.toml")
        zonal("plot", f"{name}.db", "--out", f"{name}.png")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_picture_of_python_is_drawn_from_the_shell_with_its_labels(kind: Kind, folder: Path) -> None:
    if kind == "pools":
        (folder / "r.toml").write_text(RECIPES["sequences"])
        zonal("new", "a.db", "--recipe", "r.toml")
    else:
        line = [
            "--axis",
            "depth=0..30:m",
            "--smallest",
            "2",
            "--noise",
            "0.1",
            "--value",
            "grade",
            "--unit",
            "g/t",
        ]
        zonal("new", "a.db", *(["--axis", "l=0..9"] if kind == "map" else []), *line, "--budget", 9, "--seed", 0)
    study = zn.Study.open("a.db")
    for number, trial in enumerate(study.ask(5)):
        study.tell(trial, 0.1 * number)
    zonal("plot", "a.db", "--out", "a.svg", "--kind", kind)
    drawn = re.sub(r"<!--|-->", "", (folder / "a.svg").read_text())
    figure: Any = study.plot(kind).figure
    labels = [label for ax in figure.axes for label in (ax.get_xlabel(), ax.get_ylabel()) if label]
    assert labels
    for label in labels:
        assert all(word in drawn for word in re.findall(r"\w+", label))
    for ax in figure.axes:
        for text in ax.get_legend().get_texts() if ax.get_legend() else ():
            assert text.get_text().split()[0] in drawn
    pyplot.close("all")


def test_a_picture_that_a_space_cannot_have_is_refused_in_the_words_of_the_shell(sky: Path) -> None:
    said = zonal("plot", sky, "--kind", "cells", code=1).stderr
    assert "one axis" in said
    assert "plot_tree" not in said
    assert "study" not in said


def test_patches_and_all_smallest_regions_are_told_as_in_python(sky: Path) -> None:
    study = zn.Study.open(sky)
    found = answer("above", sky, "0.1", "--sigma", 0.5, "--patches")
    patches = study.above(0.1, sigma=0.5).patches()
    assert [own["size"] for own in found["patches"]] == [patch.size for patch in patches]
    assert found["patches"][0]["centroid"] == patches[0].centroid.tolist()
    assert "Patches of regions" in zonal("below", sky, "0.1", "--probability", 0.1, "--patches").stdout
    assert "--within is for --patches" in zonal("above", sky, "0.1", "--within", 2, code=2).stderr
    every = study.predict()
    assert [own["mean"] for own in answer("predict", sky)] == every.mean.tolist()
    zonal("predict", sky, "--out", "map.csv", "--above", 0.1)
    table = rows("map.csv")
    assert len(table) == len(every.regions)
    assert float(table[-1]["mean [K]"]) == every.mean[-1]
    assert float(table[0]["above 0.1"]) == pytest.approx(study.probability(every.regions[0], above=0.1))
    both = zonal("predict", sky, "l=0..90", "--csv", "map.csv", code=2).stderr
    assert "not both" in both


def test_regions_beyond_a_threshold_are_listed_as_in_python(sky: Path) -> None:
    study = zn.Study.open(sky)
    (here,) = answer("predict", sky, "l=0..90", "--above", "-1", "--below", 0.25)
    assert here["above"] == study.probability({"l": (0, 90)}, above=-1)
    assert here["below"] == study.probability({"l": (0, 90)}, below=0.25)
    shown = zonal("predict", sky, "l=0..90", "--above", "-50").stdout
    assert shown.splitlines()[0].endswith("above -50")
    assert "> 99 %" in shown
    for side in ("above", "below"):
        found = answer(side, sky, "0.1", "--probability", 0.2)
        likely = getattr(study, side)(0.1, 0.2)
        assert [one["probability"] for one in found["regions"]] == [one.probability for one in likely]
        assert [one["region"]["name"] for one in found["regions"]] == [one.region.name for one in likely]
        wide = zonal(side, sky, "0.1", "--probability", 0.2, COLUMNS="300").stdout
        assert len(wide.splitlines()) == 2 + len(likely) > 2
    assert answer("above", sky, 99)["regions"] == []
    name = answer("above", sky, 99)["likeliest"]["region"]["name"]
    said = "no region whose average flux is above 99 K with a probability of 0.9, after 6 measurements."
    assert zonal("above", sky, 99).stdout == f"There is {said} The most probable is {name}: < 1 %.\n"
    assert "probability" in zonal("above", sky, 1, "--probability", 2, code=1).stderr


def test_what_a_best_region_means_is_said_beside_it(sky: Path) -> None:
    zonal("new", "s.db", "--axis", "x=0..1", "--smallest", 0.1, "--budget", 9, "--noise", 0.1, "--seed", 0)
    shown = zonal("show", "s.db").stdout
    assert "\nnothing measured yet\n" in shown
    assert "best regions" not in shown
    result = zonal("recommend", "s.db")
    assert result.stderr == "nothing measured yet\n"
    assert result.stdout.startswith("region")
    assert answer("show", "s.db")["stands_out"] is False
    zonal("observe", "s.db", "x=0..0.5", 0.01)
    assert "no region stands out: " in zonal("recommend", "s.db", "--json").stderr
    assert "\nno region stands out: " in zonal("show", "s.db").stdout
    for x, value in ((0.5, 0.5), (0.7, 2.0), (0.7, 2.0), (0.2, 0.0), (0.9, 0.0)):
        zonal("observe", "s.db", f"x={x}..{x + 0.1}", value, "--sem", 0.01)
    for words in (["show", "s.db"], ["recommend", "s.db"]):
        assert "stands out" not in zonal(*words).output
    assert answer("show", "s.db")["stands_out"] is True


def test_a_study_with_nothing_left_to_ask_for_is_shown(folder: Path) -> None:
    zonal("new", "two.db", "--sequences", "AC,1", "--budget", 9, "--max-replicates", 1, "--noise", 0.1)
    zonal("ask", "two.db", "-n", 7, "--csv", "a.csv")
    fill("a.csv", value=["0.5"] * len(zn.Study.open("two.db").trials))
    zonal("tell", "two.db", "--csv", "a.csv")
    assert "best regions" in zonal("show", "two.db").stdout


def test_how_far_to_look_ahead_is_said_by_an_option(sky: Path) -> None:
    assert answer("show", sky, "--outlook", 3)["outlook"]["n"] == 3
    assert "\n3 more measurements would" in zonal("show", sky, "--outlook", 3).stdout


def test_a_model_is_learned_anew_from_the_shell(folder: Path) -> None:
    zonal("new", "s.db", "--axis", "x=0..1", "--smallest", 0.1, "--budget", 9, "--seed", 0)
    assert "nothing to learn" in zonal("refit", "s.db").stderr
    twin = zn.Study.open("s.db")
    for at in range(31):
        twin.observe([(at / 40, at / 40 + 0.1)], at % 7)
    copied = zn.Study.replay(twin.settings, twin.events)
    assert "learned again." in zonal("refit", "s.db").stderr
    copied.refit()
    assert zn.Study.open("s.db").model == copied.model
    assert "nothing to learn" in zonal("refit", "s.db").stderr


def test_exports_hold_all_trials(sky: Path, folder: Path) -> None:
    zonal("observe", sky, "l=0..90", 0.5)
    rows = list(csv.DictReader(zonal("export", sky).stdout.splitlines()))
    assert [row["state"] for row in rows] == ["measured"] * 6 + ["pending"] * 2 + ["observed"]
    assert {"l_low", "l_high", "sin_b_low", "sin_b_high"} < set(rows[0])
    document = json.loads(zonal("export", sky, "--format", "json").stdout)
    assert [one["value"] for one in document["trials"]] == [one.value for one in zn.Study.open(sky).trials]
    assert document["observations"][0]["region"]["bounds"]["l"] == [0, 90]
    before = sky.read_bytes()
    assert "the study itself" in zonal("export", sky, "--out", sky, code=1).stderr
    assert "cannot be written" in zonal("export", sky, "--out", "nowhere/x.csv", code=1).stderr
    assert sky.read_bytes() == before


def test_verify_reports_the_first_difference(sky: Path, folder: Path) -> None:
    assert "every decision matches" in zonal("verify", sky).stderr
    lines = zonal("export", sky, "--format", "events").stdout.splitlines()
    told = next(at for at, line in enumerate(lines) if '"Told"' in line)
    changed = json.loads(lines[told])
    changed[0]["value"] = 0.25
    forged = "\n".join([*lines[:told], json.dumps(changed), *lines[told + 1 :]]).encode()
    (folder / "e.jsonl").write_bytes(with_digest(forged))
    zonal("import", "t.db", "e.jsonl")
    assert f"event {told - 1}" in zonal("verify", "t.db", code=5).stderr


def test_shells_complete_commands_and_options() -> None:
    assert "_ZONAL_COMPLETE" in zonal("completion", "fish").stdout
    for words, at, found in (("zonal fa", 1, "fail"), ("zonal ask nosuch.db --p", 3, "--pending")):
        env = {**ENVIRONMENT, "_ZONAL_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(at)}
        assert found in Forked(env=env).end(60)


def test_a_study_with_functions_of_the_users_own_can_be_looked_at(folder: Path) -> None:
    def kernel(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.exp(-np.abs(x - y.T))

    study = zn.Study.create("own.db", zn.Points({"a": [1, 2, 3, 4]}), budget=5, kernel=kernel, noise=0.1)
    study.tell(study.ask(), 1.0)
    study.ask(by="bench")
    shown = zonal("show", "own.db")
    assert "the user's own kernel" in shown.stderr
    assert "1 of 5 measured, 1 pending" in shown.stdout
    assert len(answer("ask", "own.db", "--pending")) == 1
    for words in (["ask"], ["tell", 1, 0.5], ["recommend"], ["extend", 1]):
        assert "kernel" in zonal(words[0], "own.db", *words[1:], code=4).stderr
    assert "user's own" in zonal("export", "own.db", "--format", "events", code=1).stderr
    zonal("verify", "own.db", code=5)


def slewing(here: zn.Region, there: zn.Region) -> float:
    return 0.1


def test_a_study_without_its_travel_function_is_shown_told_and_corrected(folder: Path) -> None:
    study = zn.Study.create("sky.db", [(0, 1)], budget=9.0, noise=0.1, kernel=zn.RBF(1.0, 0.2), travel=slewing)
    for _ in range(3):
        study.tell(study.ask(), 0.5)
    study.ask(3)
    shown = zonal("show", "sky.db")
    assert "best regions" in shown.stdout
    assert "more measurements would" not in shown.stdout
    assert "What more measurements would bring is left out: this needs the user's own travel" in shown.stderr
    assert answer("show", "sky.db")["outlook"] is None
    zonal("correct", "sky.db", 0, 0.7)
    zonal("retract", "sky.db", 1)
    zonal("fail", "sky.db", 3)
    zonal("cancel", "sky.db", 4)
    zonal("tell", "sky.db", 5, 0.4)
    states = [one.state for one in zn.Study.open("sky.db").trials]
    assert states == ["measured", "retracted", "measured", "failed", "cancelled", "measured"]
    assert "travel" in zonal("ask", "sky.db", code=4).stderr
    whole = zn.Study.open("sky.db", travel=slewing)
    assert whole.outlook(2).n == 2
    whole.ask()


def test_the_gap_is_the_same_however_many_regions_are_listed(sky: Path) -> None:
    alone, listed = answer("recommend", sky), answer("recommend", sky, "-k", 9)
    assert listed[:1] == alone
    assert answer("recommend", sky, "-k", 4) == listed[:4]
    assert answer("show", sky)["best"][0] == alone[0]


def test_predict_and_allow_read_regions_as_json_as_observe_does(sky: Path) -> None:
    region = '{"l": [-90, 0], "sin_b": [0, 0.5]}'
    zonal("observe", sky, region, 0.5)
    (one,), (other,) = answer("predict", sky, region), answer("predict", sky, "l=-90..0, sin_b=0..0.5")
    assert one == other
    assert "cannot be read" in zonal("predict", sky, "{nonsense", code=1).stderr
    trial = zn.Study.open(sky).pending[0]
    zonal("fail", sky, trial.number, "--no-retry")
    assert "1 failure taken back" in zonal("allow", sky, json.dumps(trial.region.as_dict())).stderr


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there are no such devices")
def test_an_endless_file_is_refused_in_a_line() -> None:
    for words in (["import", "x.db", "/dev/zero"], ["new", "x.db", "--recipe", "/dev/zero"]):
        said = zonal(*words, code=1).stderr
        assert "is a device; got '/dev/zero'" in said


def test_polygons_of_areas_come_from_a_file_of_shapes(folder: Path) -> None:
    corners = [(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)]
    areas = zn.Points([[0.5, 0.5], [1.5, 0.5], [2.5, 0.5]])
    study = zn.Study.create("areas.db", areas, budget=3, kernel=zn.RBF(1.0, 1.0), noise=0.1)
    study.tell(study.ask(), 1.0)
    rings = [[[x + at, y] for x, y in corners] for at in range(3)]
    features = [{"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [ring]}} for ring in rings]
    Path("three.json").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    Path("two.json").write_text(json.dumps({"type": "FeatureCollection", "features": features[:2]}))
    zonal("report", "areas.db", "--out", "plain.html")
    zonal("report", "areas.db", "--out", "shaped.html", "--shapes", "three.json")
    assert Path("shaped.html").read_text() != Path("plain.html").read_text()
    assert Path("shaped.html").read_text().count("PatchCollection") > Path("plain.html").read_text().count(
        "PatchC"
    )
    zonal("plot", "areas.db", "--out", "map.png", "--shapes", "three.json")
    said = zonal("report", "areas.db", "--shapes", "two.json", code=1).stderr
    assert "shapes must be one for each of 3 members" in said
    Path("bad.json").write_text("{}")
    assert "shapes cannot be read" in zonal("report", "areas.db", "--shapes", "bad.json", code=1).stderr
    pyplot.close("all")
