"""Names of axes that a program could not tell apart in its environment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import zonal as zn
from shell import zonal
from zonal.io.recipe_text import parse_recipe
from zonal.study.recipe import space
from zonal.study.region_formats import check_variables

CONFUSED: dict[str, Any] = {
    "upper and lower case": (zn.Box({"T": (300, 600), "t": (1, 5)}), "axis 'T' and axis 't'", "ZONAL_T_LOW"),
    "brackets": (
        zn.Box({"T (K)": (3, 6), "T [K]": (1, 5)}),
        r"axis 'T \(K\)' and axis 'T \[K\]'",
        "ZONAL_T__K__LOW",
    ),
    "features": (zn.Points({"T": [1, 2], "t": [3, 4]}), "axis 'T' and axis 't'", "ZONAL_T_LOW"),
    "a bound": (zn.Product({"x": (0, 1), "X low": ["a", "b"]}), "axis 'x' and axis 'X low'", "ZONAL_X_LOW"),
    "ours": (zn.Product({"x": (0, 1), "region": ["a", "b"]}), "the region and axis 'region'", "ZONAL_REGION"),
}
CLEAR: list[Any] = [
    zn.Box({"region": (0, 1), "time": (0, 2)}),
    zn.Sequences("ACGT", 4),
    zn.Hierarchy({"T": ["a"], "t": ["b"]}),
    zn.Points([[1.0, 2.0], [2.0, 5.0]]),
]


@pytest.mark.parametrize("name", sorted(CONFUSED))
def test_names_that_share_a_variable_are_refused_by_both_names(name: str) -> None:
    confused, says, variable = CONFUSED[name]
    with pytest.raises(zn.InvalidInput, match=f"{says} have the same .* got '{variable}'. Rename one of them."):
        check_variables(confused)


def test_names_that_share_none_are_taken() -> None:
    for clear in CLEAR:
        check_variables(clear)


def test_neither_options_nor_a_recipe_make_such_a_study(tmp_path: Path) -> None:
    words = ["--axis", "T=300..600:K", "--axis", "t=1..5:h", "--budget", 5]
    refused = zonal("new", tmp_path / "y.db", *words, code=1)
    assert "axis 'T' and axis 't' have the same environment variable" in refused.stderr
    assert not (tmp_path / "y.db").exists()
    with pytest.raises(zn.InvalidInput, match=r"recipe, axes\.t: axis 'T' and axis 't'"):
        space(parse_recipe("[axes]\nT = [300, 600]\nt = [1, 5]\n"))


def test_a_run_refuses_them_and_passes_the_json_alone_if_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    zn.Study.create("y.db", {"T": (300, 600), "t": (1, 5)}, budget=1, kernel=zn.RBF(1.0, 1.0), noise=0.1)
    program = ["--", "sh", "-c", "cat > asked; env | grep ^ZONAL_ > told; echo 1"]
    refused = zonal("run", "y.db", *program, code=1)
    assert "'T' and axis 't'" in refused.stderr
    assert "read the JSON on its standard input, and pass --stdin-only." in refused.stderr
    assert not Path("asked").exists()
    zonal("run", "y.db", "--stdin-only", *program)
    assert json.loads(Path("asked").read_text())["region"]["bounds"].keys() == {"T", "t"}
    assert "ZONAL_TRIAL=0" in Path("told").read_text()
    assert "_LOW" not in Path("told").read_text()
