"""The API, fuzzed from its own description; bounded by examples."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import zonal as zn
from effort import tries
from web.server_process import Server, line, serving

FEW = settings(
    max_examples=tries(3, 5), deadline=None, derandomize=True, phases=[Phase.generate], database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("studies")
    line(folder, told=5, budget=500)
    with serving(folder) as made:
        yield made


@pytest.mark.tries
def test_no_request_that_fits_the_description_breaks_it(server: Server) -> None:
    """Every operation, with what its schemas allow: an answer, or a problem with a sentence; never a 5xx."""
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
    schema: Any = schemathesis.openapi.from_dict(server.get("/api/v1/openapi.json").json)
    operations = [found.ok() for found in schema.get_all_operations()]
    tried = sum(_fuzz(server, own) for own in operations if "event-stream" not in str(own.definition.raw))
    assert tried > tries(70, 120)


def _fuzz(server: Server, operation: Any) -> int:
    tried = 0

    @FEW
    @given(case=operation.as_strategy())
    def fuzz(case: Any) -> None:
        nonlocal tried
        trial = str((case.path_parameters or {}).get("trial", 0))
        path = operation.path.replace("{name}", "line").replace("{trial}", trial)
        if operation.method.upper() == "GET":
            said = server.get(f"{path}?{urlencode(case.query or {}, errors='replace')}")
        else:
            said = server.post(path, case.body if isinstance(case.body, dict | list) else {})
        tried += 1
        assert said.status < 500, (operation.label, said.content)
        if said.status >= 400:
            assert said.headers["content-type"] == "application/problem+json"
            assert said.json["detail"]

    fuzz()
    return tried


@pytest.mark.tries
@given(steps=st.lists(st.tuples(st.sampled_from(["ask", "tell", "correct", "retract", "fail", "cancel"]),
                                st.integers(0, 6), st.floats(-5, 5)), min_size=4, max_size=14))  # fmt: skip
@FEW
def test_asking_and_telling_in_any_order_is_what_the_library_does(steps: list[tuple[str, int, float]]) -> None:
    """Stateful: what the server acknowledges is what a study in memory does with the same calls."""
    server = _Shared.server
    name = f"walk{_Shared.number}"
    _Shared.number += 1
    line(server.folder, name, budget=8)
    here = zn.Study(zn.Box({"x": (0, 1)}), budget=8, kernel=zn.RBF(1.0, 0.2), noise=0.1, rng=0)
    at = f"/api/v1/studies/{name}"
    for word, number, value in steps:
        path = "/ask" if word == "ask" else f"/trials/{number}/{word}"
        body = {"value": value} if word in ("tell", "correct") else {}
        said = server.post(at + path, body).status == 200
        try:
            arguments: list[Any] = [] if word == "ask" else [number, *body.values()]
            getattr(here, word.replace("-", "_"))(*arguments)
            did = True
        except zn.ZonalError:
            did = False
        assert said == did, (word, number)
    there = zn.Study.open(server.folder / f"{name}.db")
    assert [(own.state, own.value, own.node) for own in there.trials] == [
        (own.state, own.value, own.node) for own in here.trials
    ]


class _Shared:
    server: Server
    number = 0


@pytest.fixture(autouse=True)
def _share(server: Server, tmp_path: Path) -> None:
    _Shared.server = server
