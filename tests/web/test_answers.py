"""What the service answers is what its description says, for every operation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

import zonal as zn
from web.server_process import Server, line, serving
from zonal.engine.events import Signed
from zonal.web.answer_schemas import answer_schema

API = "/api/v1"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("studies")
    line(folder, told=6)
    given: dict[str, Any] = {"noise": 0.1, "rng": 0}
    mixed = zn.Product({"x": (0, 1), "y": (0, 1), "dye": ["r", "g"]})
    kernel = zn.RBF(1.0, 0.2) * zn.Categorical(1.0, 0.5)
    set_ = zn.Study.create(folder / "set.db", mixed, budget=30, kernel=kernel, policy=zn.Above(0.3), **given)
    set_.optimize(lambda region: float(region.bounds[0].mean()), n=8)
    set_.observe({"x": (0, 0.5)}, 0.3)
    points = zn.Points(np.random.default_rng(0).uniform(size=(9, 2)))
    of_points = zn.Study.create(folder / "points.db", points, budget=9, kernel=zn.RBF(1.0, 0.3), **given)
    of_points.optimize(lambda region: 1.0, n=3)
    pools = zn.Sequences("ACGT", length=4)
    zn.Study.create(folder / "pools.db", pools, budget=9, kernel=zn.Categorical(1.0, 0.5), **given)
    zn.Study.create(folder / "learned.db", zn.Box({"x": (0, 1)}), budget=9, rng=0)
    plates = zn.Study.create(folder / "plates.db", zn.Box({"x": (0, 1)}), budget=9, offsets=["plate"], **given)
    for trial in plates.ask(4):
        plates.tell(trial, 0.1 * trial.number, labels={"plate": trial.number % 2})
    with serving(folder) as made:
        yield made


def posts() -> dict[str, dict[str, Any]]:
    """Return a request for each operation on the study of a line, in an order in which all are possible."""
    return {
        "/ask": {"n": 5},
        "/trials/{trial}/claim": {"trial": 6, "by": "Ada"},
        "/trials/{trial}/tell": {"trial": 6, "value": 0.5},
        "/trials/{trial}/correct": {"trial": 6, "value": 0.6},
        "/trials/{trial}/retract": {"trial": 6},
        "/trials/{trial}/fail": {"trial": 7, "retry": False},
        "/trials/{trial}/cancel": {"trial": 8},
        "/sheet": {"csv": "trial,value\n9,0.5\n"},
        "/observe": {"region": "x=0..0.5", "value": 0.3},
        "/observations": {"measurements": [{"region": "x=0..0.5", "value": 0.3}]},
        "/trials/{trial}/set-aside": {"trial": 2},
        "/trials/{trial}/reinstate": {"trial": 2},
        "/forbid": {"region": "x=0..0.1"},
        "/allow": {"region": "x=0..1"},
        "/extend": {"n": 2},
        "/refit": {},
        "/predict": {"regions": ["x=0..0.5"]},
        "/probability": {"regions": ["x=0..0.5"], "above": 0.3},
    }


def queries(path: str) -> list[str]:
    """Return what to add to a path so that the operation is possible."""
    return {
        "/above": ["?threshold=0.4", "?threshold=0.4&patches=true"],
        "/below": ["?threshold=0.4"],
        "/why": ["", "?trial=1"],
        "/worth": ["?region=x%3D0..0.5"],
        "/recommend": ["", "?k=2"],
    }.get(path, [""])


def fits(answer: Any, schema: Any) -> bool:
    """Tell whether an answer is what a schema says."""
    checker = pytest.importorskip(
        "jsonschema", reason="jsonschema comes with schemathesis, which is not installed"
    )
    wrong = [error.message[:200] for error in checker.Draft202012Validator(schema).iter_errors(answer)]
    for message in wrong:
        print(message)
    return not wrong


def test_every_answer_fits_its_schema(server: Server) -> None:
    described = server.get(f"{API}/openapi.json").json["paths"]
    unseen = set[tuple[str, str]]()

    def check(method: str, path: str, said: Any) -> None:
        answer = described[path][method]["responses"][str(said.status)]["content"]["application/json"]
        assert answer["schema"], path  # no answer is anything at all
        assert fits(said.json, answer["schema"]), path
        unseen.discard((method, path))

    for path, operations in described.items():
        for method, operation in operations.items():
            contents = next(iter(operation["responses"].values()))["content"]
            if "application/json" in contents:
                unseen.add((method, path))
    study = f"{API}/studies/{{name}}"
    for path in [path for method, path in unseen if method == "get" and path.startswith(study)]:
        below = path.removeprefix(study)
        for name in ("line", "set", "points", "pools", "learned", "plates"):
            for query in queries(below):
                said = server.get(f"{API}/studies/{name}{below}{query}")
                if said.status == 200:
                    check("get", path, said)
                else:
                    assert name != "line" or below == "/offsets", (path, said.json)
    for path, sent in posts().items():
        at = path.replace("{trial}", str(sent.pop("trial", "")))
        said = server.post(f"{API}/studies/line{at}", sent)
        assert said.status == 200, (path, said.json)
        check("post", study + path, said)
    recipe = {"budget": 5, "axes": {"x": {"low": 0, "high": 1}}}
    check("post", f"{API}/studies", server.post(f"{API}/studies", {"name": "made", "recipe": recipe}))
    check("post", f"{study}/archive", server.post(f"{API}/studies/made/archive"))
    for path in ("/archive", "/studies", "/openapi.json"):
        check("get", API + path, server.get(API + path))
    restored = server.post(f"{API}/archive/made/restore")
    check("post", f"{API}/archive/{{name}}/restore", restored)
    assert not unseen


def test_an_answer_that_does_not_fit_would_be_noticed() -> None:
    assert not fits({"event": 3}, answer_schema("POST", "/extend"))
    assert not fits([{"region": {"name": 3}}], answer_schema("GET", "/recommend"))


def test_a_made_study_is_made_once_and_keeps_who_made_it(server: Server, tmp_path: Path) -> None:
    recipe = {"budget": 5, "axes": {"x": {"low": 0, "high": 1}}}
    sent, key = {"name": "once", "recipe": recipe, "by": "Ada"}, {"Idempotency-Key": "monday"}
    first, again = (server.post(f"{API}/studies", sent, **key) for _ in range(2))
    assert (first.status, again.status) == (201, 200)
    assert first.json == again.json
    study = zn.Study.open(server.folder / "once.db")
    assert study.events[0][-1] == Signed("Ada", "monday")
    other = server.post(f"{API}/studies", {**sent, "recipe": {**recipe, "budget": 6}}, **key)
    assert other.status == 409  # this key was used for another study
    assert server.post(f"{API}/studies", sent).json["field"] == "name"
    for action in ("studies/once/archive", "archive/once/restore"):
        key = {"Idempotency-Key": action}
        said = [server.post(f"{API}/{action}", {}, **key).status for _ in range(2)]
        assert said == [200, 200]
        assert server.post(f"{API}/{action}").status == 404
