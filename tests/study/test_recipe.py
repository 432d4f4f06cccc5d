"""Recipes: what they mean, and what is said of one that means nothing."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings

import zonal as zn
from recipes import RECIPES, TABLE, mutated, with_table
from zonal.io.recipe_text import Recipe, axis_words, parse_recipe, read_recipe, sequence_words
from zonal.study.recipe import arguments, space, template, where

MUTATIONS = int(os.environ.get("ZONAL_MUTATIONS", "60"))  # `make torture` tries more
BOX = "budget = 10\n[axes]\nx = [0, 1]\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_table(tmp_path_factory.mktemp("recipes"))


def study(text: str, folder: Path = Path()) -> zn.Study:
    recipe = parse_recipe(text, "r.toml", folder)
    given = arguments(recipe)
    with recipe.blamed():
        return zn.Study(**given)


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_every_recipe_makes_a_study_that_works(name: str, folder: Path) -> None:
    search = study(RECIPES[name], folder)
    search.tell(search.ask(), 0.5)
    assert search.measured == 1


def section(name: str, remark: str) -> str:
    """Return a section of the template, as it stands there or as a choice that is not taken."""
    return next(part for part in template().split("\n\n") if part.startswith(f"{remark}[{name}]"))


@pytest.mark.parametrize("name", ["sequences", "points", "hierarchy", "model", "policy"])
def test_every_section_of_the_template_can_be_taken(name: str, tmp_path: Path) -> None:
    rows = "".join(f"{j % 2},{j % 4},{j % 8},{j},{j + 1},{j * j},9000\n" for j in range(16))
    (tmp_path / "areas.csv").write_text("state,sa4,sa3,sa2,lon,lat,persons\n" + rows)
    choice = section(name, "# ")
    taken = "\n".join(line.removeprefix("# ") for line in choice.split("\n"))
    text = template().replace(choice, taken)
    if name not in ("model", "policy"):
        text = text.replace(section("axes", ""), "")
    search = study(text, tmp_path)
    search.tell(search.ask(), 0.5)
    assert search.measured == 1


def test_members_may_have_a_part_of_their_own(folder: Path) -> None:
    text = RECIPES["points"] + "\n[model]\nkernel = 'matern'\nvariance = 2.0\nlengthscale = 0.5\nnugget = 0.1\n"
    assert arguments(parse_recipe(text, folder=folder))["kernel"] == zn.Matern(2.0, 0.5) + zn.Nugget(0.1)
    study(text, folder).ask()
    with pytest.raises(zn.InvalidInput, match=r"Use it with zn\.Points"):
        study(RECIPES["gpoo"].replace("[model]", "[model]\nnugget = 0.1"), folder)


def test_a_recipe_says_what_the_arguments_of_a_study_say(folder: Path) -> None:
    words = arguments(parse_recipe(RECIPES["gpoo"]))
    same = {
        "space": zn.Box({"x": (0, 1), "z": (-1, 1)}, arity=3),
        "budget": 12,
        "kernel": zn.RBF(1.0, [0.2, 0.5]),
        "feedback": zn.Beam({"x": 0.1, "z": 0.2}),
        "policy": zn.GPOO(delta=zn.GeometricDelta(14, 0.5), theta=0.2, h_max=6),
    }
    assert words == same
    words = arguments(parse_recipe(RECIPES["points"], folder=folder))
    columns = {"lon": [1.0, 2.0, 3.0, 4.5, 5.0], "lat": [2.0, 1.5, 0.5, 2.5, 3.5]}
    assert words["space"] == zn.Points(columns, [10, 20, 30, 5, 8], smallest=5)
    assert words["noise"] == zn.PerWeight(0.5)
    learned = RECIPES["points"].replace("per_weight = 0.5", 'per_weight = "learned"')
    assert arguments(parse_recipe(learned, folder=folder))["noise"] == zn.PerWeight()
    words = arguments(parse_recipe(RECIPES["mixed"]))
    axes: dict[str, Any] = {"x": (0, 1), "dye": ["red", "green"], "solvent": {"water": 3, "ethanol": 1}}
    assert words["space"] == zn.Product(axes, smallest={"x": 0.1})
    mixed = (
        RECIPES["mixed"] + '[model]\nkernel = "rbf"\nvariance = 2.0\nlengthscale = 0.3\ncorrelation = [0.1, 0.2]\n'
    )
    kernel = arguments(parse_recipe(mixed))["kernel"]
    assert kernel == zn.RBF(2.0, 0.3) * zn.Categorical(1.0, [0.1, 0.2])
    letters = "budget = 9\n[sequences]\nalphabet = 'ACGT'\nlength = 5\n[model]\nkernel = 'motif'\n"
    assert arguments(parse_recipe(letters))["kernel"] is zn.Motif
    assert arguments(parse_recipe(letters + "variance = 2.0\n"))["kernel"] == zn.Motif(2.0)
    assert arguments(parse_recipe(letters + "variance = 2.0\ncorrelation = 0.1\n"))["kernel"] == zn.Motif(2.0, 0.1)
    assert arguments(parse_recipe(letters + "variance = 2.0\nlengths = [2]\n"))["kernel"] == zn.Motif(
        2.0, lengths=[2]
    )


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("bugdet = 10\n[axes]\nx = [0, 1]", "bugdet", ["'bugdet'", "Did you mean 'budget'?"]),
        ("budget = 0\n[axes]\nx = [0, 1]", "budget", ["got 0", "whole number of 1 or more"]),
        ('budget = "ten"\n[axes]\nx = [0, 1]', "budget", ["'ten'", "whole number"]),
        ("budget = 10\n[axes]\n\nx = [1, 0]", "axes.x", ["(1.0, 0.0)", "lower one first"]),
        ("budget = 10\n[axes]\nx = { low = 0, hgh = 1 }", "axes.x.hgh", ["'hgh'", "Did you mean 'high'?"]),
        ("budget = 10\n[axes.x]\nlow = 0\nhigh = 1\nsmallest = 4", "axes.x.smallest", ["4", "within the axis"]),
        ("budget = 10\n[axes]\nx = { low = 0 }", "axes.x", ["low and high"]),
        ("budget = 10\n[axes]\nx = 3", "axes.x", ["pair", "got 3"]),
        (BOX + "[sequences]\nalphabet = 'AC'\nlength = 3", "sequences", ["axes and sequences", "one of"]),
        (BOX + "[measurement]\nnoise = -1", "measurement.noise", ["-1", "0 or more"]),
        ("forbidden = ['y=0..1']\n" + BOX, "forbidden", ["'y=0..1'", "Write x=0..1"]),
        ("forbidden = ['x=0..7']\n" + BOX, "forbidden", ["7"]),
        ("forbidden = [3]\n" + BOX, "forbidden", ["got 3", "zonal observe"]),
        (BOX + "[measurement]\nfeedback = 'middle'", "measurement.feedback", ["'middle'", "mean, center"]),
        (BOX + "[measurement]\nunit = 3", "measurement.unit", ["got 3", "quotation marks"]),
        (BOX + "[model]\nkernel = 'rbv'", "model.kernel", ["'rbv'", "Did you mean 'rbf'?"]),
        (BOX + "[model]\nkernel = 'rbf'\nvariance = 1", "model", ["lengthscale"]),
        (
            BOX + "[model]\nkernel = 'rbf'\nvariance = 1\nlengthscale = [1, 2]",
            "model.lengthscale",
            ["(1.0, 2.0)", "1 axes"],
        ),
        (
            BOX + "[model]\nkernel = 'rbf'\nvariance = 1\nlengthscale = 1\nnu = 2.5",
            "model.nu",
            ["'nu'", "There are"],
        ),
        (BOX + "[model]\nkernel = 'categorical'", "model.kernel", ["continuous axis"]),
        (BOX + "[policy]\nname = 'gpo'", "policy.name", ["'gpo'", "Did you mean 'gpoo'?"]),
        (BOX + "[policy]\nname = 'gpoo'\nthetta = 1", "policy.thetta", ["'thetta'", "Did you mean 'theta'?"]),
        (BOX + "[policy]\nname = 'gpoo'\ntheta = 2", "policy.theta", ["got 2", "between 0 and 1"]),
        (BOX + "[policy]\nname = 'gpoo'\nh_max = 1000000", "policy.h_max", ["1000000", "at most"]),
        ("arity = 1000000\n" + BOX, "arity", ["1000000", "at most"]),
        (
            BOX + "[measurement]\nfeedback = { average = 1000000 }",
            "measurement.feedback.average",
            ["1000000", "at most"],
        ),
        (BOX + "[policy]\nname = 'stooo'", "policy", ["delta"]),
        (
            "budget = 9\n[sequences]\nalphabet = 'ACGT'\nlength = 1000000",
            "sequences.length",
            ["1000000", "at most"],
        ),
        ("budget = 9\n[sequences]\nalphabet = 'AA'\nlength = 3", "sequences", ["'A'", "once"]),
        ("budget = 9\n[points]\ntable = 'areas.cvs'\ncoords = ['lon']", "points.table", ["areas.cvs", "ending"]),
        (
            "budget = 9\n[points]\ntable = 'areas.csv'\ncoords = ['lom']",
            "points.coords",
            ["'lom'", "Did you mean 'lon'?"],
        ),
        (
            "budget = 9\n[hierarchy]\ntable = 'areas.csv'\nlevels = ['town', 'state', 'town']",
            "hierarchy.levels",
            ["twice"],
        ),
        ("budget = 9\narity = 3\n[hierarchy]\ntable = 'areas.csv'\nlevels = ['state']", "arity", ["no arity"]),
        ("budget = 10\n[axes]\nx = [0, 1\n", "line 3", ["[0, 1"]),
        ("budget = ten\n[axes]\nx = [0, 1]", "line 1", ["budget = ten"]),
        ("budget = 0xffffffffffffffffffffff\n[axes]\nx = [0, 1]", "budget", ["too large"]),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_key_its_value_and_the_fix(
    text: str, place: str, words: list[str], folder: Path
) -> None:
    with pytest.raises(zn.ZonalError) as caught:
        study(text, folder)
    message = str(caught.value)
    assert message.startswith(f"r.toml, {place}: "), message
    assert message.count("r.toml") == 1
    for word in words:
        assert word in message


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=MUTATIONS, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=mutated())
def test_a_mutated_recipe_works_or_is_refused_with_its_place(text: str, folder: Path) -> None:
    refused = ""
    try:
        search = study(text, folder)
        file = folder / f"{uuid4().hex}.db"
        search.save(file)
        search.tell(search.ask(), 0.5)
        assert zn.Study.open(file).settings == search.settings
        search.recommend()
    except zn.ZonalError as error:
        refused = str(error)
    assert not refused or (refused.startswith(("r.toml, ", "r.toml: ")) and ". " in refused)


def test_a_file_that_is_no_recipe_is_refused(tmp_path: Path) -> None:
    for content in (b"\xff\xfe", b"budget = " + b"[" * 5000, b"x = 1" * 3):
        file = tmp_path / "r.toml"
        file.write_bytes(content)
        with pytest.raises(zn.InvalidInput, match=r"r\.toml"):
            arguments(read_recipe(file))
    with pytest.raises(zn.InvalidInput, match="no such file"):
        read_recipe(tmp_path / "nosuch.toml")
    (tmp_path / "bom.toml").write_bytes(b"\xef\xbb\xbf" + BOX.encode())
    assert arguments(read_recipe(tmp_path / "bom.toml"))["budget"] == 10


@pytest.mark.parametrize(
    ("name", "forbidden", "same"),
    [
        ("gpoo", ["x=0..0.5, z=0..1", "x=0.75..1"], [{"x": (0, 0.5), "z": (0, 1)}, {"x": (0.75, 1)}]),
        ("gpoo", "x=0..0.5", [{"x": (0, 0.5)}]),
        ("sequences", ["ATNNN", "CANNN"], ["ATNNN", "CANNN"]),
        ("hierarchy", ["N > Ayr", "S > Cork"], ["N > Ayr", "S > Cork"]),
        ("points", ["0 3"], [[0, 3]]),
    ],
)
def test_forbidden_regions_are_written_as_a_person_writes_them(
    name: str, forbidden: Any, same: Any, folder: Path
) -> None:
    search = study(f"forbidden = {forbidden!r}\n{RECIPES[name]}", folder)
    twin = zn.Study(search.space, budget=9, forbidden=same)
    assert search.settings.forbidden == twin.settings.forbidden
    trial = search.ask()
    assert not any(search.space.region(region).overlaps(trial.region) for region in same)


def test_axes_of_whole_numbers_and_of_numbers_as_symbols_are_said_as_in_python() -> None:
    axes = 'n = { low = 1, high = 12, scale = "integer" }\nk = { symbols = [16, 32] }\nb = [true, false]'
    product = zn.Product({"n": (1, 12), "k": {16: 1, 32: 1}, "b": [True, False]}, scale={"n": "integer"})
    assert study(f"budget = 9\n[axes]\n{axes}\n").space == product
    assert space(where(["n=1..12::integer"])) == zn.Box({"n": (1, 12)}, scale="integer")
    assert space(where(["k=1,2,4.5"])) == zn.Product({"k": [1, 2, 4.5]})


def test_axes_are_logarithmic_as_in_python() -> None:
    axes: dict[str, Any] = {"c": (1e-4, 1.0), "t": (0, 9)}
    text = """budget = 9
[axes]
c = { low = 1e-4, high = 1, scale = "log", smallest = 0.5 }
t = { low = 0, high = 9, smallest = 1 }
"""
    assert arguments(parse_recipe(text))["space"] == zn.Box(axes, smallest={"c": 0.5, "t": 1}, scale={"c": "log"})
    mixed = text + "dye = ['r', 'g']\n"
    assert arguments(parse_recipe(mixed))["space"] == zn.Product(
        axes | {"dye": ["r", "g"]}, smallest={"c": 0.5, "t": 1}, scale={"c": "log"}
    )
    assert space(where(["c=1e-4..1::log", "t=0..9"])) == zn.Box(axes, scale={"c": "log"})
    for wrong, says in (
        (text.replace('"log"', '"lag"'), "lag"),
        (mixed.replace("['r', 'g']", "{ symbols = ['r'], scale = 'log' }"), "no scale"),
    ):
        with pytest.raises(zn.InvalidInput, match=rf"recipe, axes\.\w+.*: .*{says}"):
            arguments(parse_recipe(wrong))


@pytest.mark.parametrize(
    ("word", "scale"),
    [("Log", "log"), ("logarithmic", "log"), ("int", "integer"), ("lin", "linear"), ("ring", "periodic")],
)
def test_a_scale_in_the_units_place_may_be_spelled_otherwise(word: str, scale: str) -> None:
    assert space(where([f"n=1..9:{word}"])) == space(where([f"n=1..9::{scale}"]))


@pytest.mark.parametrize("scale", ["log", "integer", "periodic", "linear"])
def test_a_scale_in_the_place_of_the_unit_is_a_scale(scale: str) -> None:
    kind: Any = scale
    axis = zn.Box({"p": (1, 12)}, scale=kind)
    assert space(where([f"p=1..12:{scale}"])) == space(where([f"p=1..12::{scale}"])) == axis
    assert space(parse_recipe(f'[axes]\np = {{ low = 1, high = 12, unit = "{scale}" }}')) == axis
    united = zn.Box({"p": (1, 12)}, units=[scale])  # somebody's unit, if a scale is given too
    assert space(where([f"p=1..12:{scale}:linear"])) == united


def test_one_smallest_may_be_said_for_all(folder: Path) -> None:
    box = zn.Box({"x": (0, 4), "y": (0, 8)}, smallest=[1, 2])
    assert (
        arguments(parse_recipe("budget = 9\nsmallest = [1, 2]\n[axes]\nx = [0, 4]\ny = [0, 8]\n"))["space"] == box
    )
    assert space(where(["x=0..4", "y=0..8"], smallest=(1, 2))) == box
    dyes = zn.Product({"x": (0, 4), "dye": ["r", "g"]}, smallest=1)
    assert space(where(["x=0..4", "dye=r,g"], smallest=1)) == dyes
    assert space(where(sequences="ACGT,4", smallest=16)) == zn.Sequences("ACGT", 4, smallest=16)
    points: dict[str, Any] = {"table": folder / "areas.csv", "coords": ("lon", "lat"), "weight": "persons"}
    assert vars(space(where(smallest=15, **points)))["smallest"] == 15
    for smallest in ((1, 2, 3), (1, 2)):
        with pytest.raises(zn.InvalidInput, match=r"^--(axis|smallest): .*smallest"):
            space(where(["x=0..4"], smallest=smallest))


def test_tables_are_looked_for_beside_the_recipe(tmp_path: Path) -> None:
    (tmp_path / "areas.csv").write_text(TABLE)
    (tmp_path / "r.toml").write_text(RECIPES["hierarchy"])
    searched = arguments(read_recipe(tmp_path / "r.toml"))["space"]
    assert isinstance(searched, zn.Hierarchy)
    assert searched.size == 5


def test_options_are_read_like_a_recipe() -> None:
    assert axis_words(["l=-180..180:deg", "t=1e-3..2", "dye=red, green"]) == {
        "l": {"low": -180.0, "high": 180.0, "unit": "deg"},
        "t": {"low": 0.001, "high": 2.0},
        "dye": {"symbols": ["red", "green"]},
    }
    assert axis_words(["c=1e-3..1:M:log", "d=1..9::log"]) == {
        "c": {"low": 0.001, "high": 1.0, "unit": "M", "scale": "log"},
        "d": {"low": 1.0, "high": 9.0, "scale": "log"},
    }
    assert sequence_words("ACGT, 8") == {"alphabet": "ACGT", "length": 8}
    for wrong in ("x", "x=1", "x=0,1", "x=a..b", "=1..2", "x=0..1"):
        with pytest.raises(zn.InvalidInput):
            axis_words([wrong, "x=0..1"])
    for wrong in ("ACGT", "ACGT,", "ACGT,-1", "ACGT,9999999999"):
        with pytest.raises(zn.InvalidInput):
            sequence_words(wrong)


AREAS = "lon,lat,persons,state,sa4,sa3,sa2\n" + "".join(
    f"{row % 8},{row // 8},{3000 + row},s{row // 32},a{row // 16},b{row // 8},c{row}\n" for row in range(64)
)
SETTING = re.compile(r"^# (\w+) = ")


def uncommented(wanted: set[str]) -> str:
    """Return the template without the comment marks of some lines, which take the place of those of their key."""
    lines, section = template().splitlines(), ""
    kept: dict[tuple[str, str], int] = {}
    out: list[str] = []
    for line in lines:
        if header := re.match(r"^(?:# )?\[(\w+)\]", line):
            section = header[1]
        text = line[2:] if line in wanted else line
        key = re.match(r"^(\w+) = ", text)
        if key and (section, key[1]) in kept:
            out[kept[section, key[1]]] = "#"
        if key:
            kept[section, key[1]] = len(out)
        out.append(text)
    return "\n".join(out)


def options_of_the_template() -> list[str]:
    """Return the settings of sections in use that the template shows and does not use."""
    in_use, settings = True, []
    for line in template().splitlines():
        if header := re.match(r"^(# )?\[", line):
            in_use = header[1] is None
        if in_use and SETTING.match(line):
            settings.append(line)
    return settings


def study_of(text: str, folder: Path) -> zn.Study:
    (folder / "areas.csv").write_text(AREAS)
    return zn.Study(**arguments(parse_recipe(text, "the template", folder)))


@pytest.mark.parametrize("line", options_of_the_template(), ids=lambda line: line[2:20])
def test_every_line_of_the_template_works_without_its_comment_mark(line: str, tmp_path: Path) -> None:
    text = uncommented({line})
    assert line[2:].split("#")[0].strip() in text
    study_of(text, tmp_path).ask()


def test_the_template_works_with_many_lines_uncommented_at_once(tmp_path: Path) -> None:
    lines = options_of_the_template()
    assert sum("layers" in line for line in lines) == 1
    study = study_of(uncommented({line for line in lines if "beam" not in line}), tmp_path)
    assert {"c", "layers", "filter", "solvent"} <= set(study.space.names)


@pytest.mark.parametrize("name", ["model", "policy"])
def test_whole_sections_of_the_template_work_without_their_comment_marks(name: str, tmp_path: Path) -> None:
    (part,) = (section for section in template().split("\n\n") if section.startswith(f"# [{name}]"))
    taken = "\n".join(line[2:] if re.match(r"# [\[\w]", line) else line for line in part.splitlines())
    study_of(template().replace(part, taken), tmp_path).ask()


def test_single_integers_are_small_enough_beside_axes_with_a_smallest_width() -> None:
    words = {
        "axes": {"x": {"low": 0, "high": 1, "smallest": 0.25}, "n": {"low": 1, "high": 5, "scale": "integer"}}
    }
    box = space(Recipe(words, {}, "here"))
    assert box == zn.Box({"x": (0, 1), "n": (1, 5)}, scale={"n": "integer"}, smallest={"x": 0.25, "n": 1})
