"""The API, through a real server process."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

import zonal as zn
from processes import wait_for
from web.server_process import Server, line
from zonal.study.study import Study
from zonal.web import routes
from zonal.web.routes import Unknown
from zonal.web.service import Service
from zonal.web.study_folder import Folder

RECIPE = {"budget": 6, "axes": {"x": {"low": 0, "high": 1, "unit": "cm"}}, "measurement": {"noise": 0.1}}
AT = "/api/v1/studies/line"


@pytest.fixture
def study(server: Server) -> Iterator[zn.Study]:
    path = server.folder / "line.db"
    yield line(server.folder, told=4)
    path.unlink()


def test_a_study_goes_from_its_recipe_to_its_answer(server: Server) -> None:
    made = server.post("/api/v1/studies", {"name": "made here", "recipe": RECIPE})
    assert made.status == 201
    assert made.headers["location"] == "/api/v1/studies/made%20here"
    assert made.json["address"] == "/studies/made%20here"
    at = "/api/v1/studies/made%20here"
    for number in range(6):
        (trial,) = server.post(f"{at}/ask").json
        assert trial["trial"] == number
        low, high = trial["region"]["bounds"]["x"]
        told = server.post(f"{at}/trials/{number}/tell", {"value": low + high, "note": "by hand"})
        assert told.json["measured"] == number + 1
    spent = server.post(f"{at}/ask")
    assert spent.status == 409
    assert spent.json["title"] == "Budget spent"
    assert spent.json["type"] == "/problems/budget-spent"
    assert server.get(spent.json["type"]).status == 200
    assert "budget" in spent.json["detail"]
    (best,) = server.get(f"{at}/recommend").json
    here = Study.open(server.folder / "made here.db")
    assert best["mean"] == here.recommend().mean
    assert best["region"]["name"] == here.recommend().region.name
    head = server.get(at).json
    assert (head["measured"], head["state"], head["space"]["axes"][0]["unit"]) == (6, "spent", "cm")


def test_a_sheet_says_how_long_a_look_took_over_http_too(server: Server) -> None:
    study = line(server.folder, "timed", times=[1, 2], overhead=1.0)
    number = study.ask().number
    said = server.post("/api/v1/studies/timed/sheet", {"csv": f"trial,value,time\n{number},0.5,1.5\n"})
    assert (said.status, said.json["new"]) == (200, 1)
    study.refresh()
    assert (study.trials[number].time, study.spent) == (1.5, 2.5)


def test_the_overview_lists_every_file_and_opens_no_posterior(server: Server, study: zn.Study) -> None:
    (server.folder / "broken.db").write_text("nonsense")
    listed: dict[str, Any] = {"line": {"state": "opening"}}
    while any(own["state"] == "opening" for own in listed.values()):  # a busy machine takes its time
        listed = {own["name"]: own for own in server.get("/api/v1/studies").json["studies"]}
    (server.folder / "broken.db").unlink()
    assert listed["line"]["measured"] == 4
    assert listed["line"]["best"]["mean"] == pytest.approx(study.recommend(on_grid=True).mean)
    assert "damaged" in listed["broken"]["error"]


def test_the_overview_never_opens_a_posterior(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    best = line(tmp_path, told=20).recommend(on_grid=True)
    monkeypatch.setattr(Study, "open", lambda *_: pytest.fail("it was opened"))
    monkeypatch.setattr(Study, "_of", lambda *_: pytest.fail("it was worked out"))
    service = Service(tmp_path)
    sent: list[Any] = []

    async def get() -> None:
        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"host", b"localhost")]
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/api/v1/studies",
            "query_string": b"",
            "headers": headers,
        }
        await service.app(scope, receive, send)

    def listed() -> Any:
        sent.clear()
        asyncio.run(get())
        return json.loads(b"".join(message.get("body", b"") for message in sent))["studies"]

    (one,) = next(found for found in iter(listed, None) if found[0]["state"] != "opening")
    assert (one["measured"], one["state"]) == (20, "ready")
    assert (one["best"]["mean"], one["best"]["std"]) == pytest.approx((best.mean, best.std))  # as it was stored


def test_a_key_asked_again_gets_the_same_trials(server: Server, study: zn.Study) -> None:
    first = server.post(f"{AT}/ask", {"n": 2}, **{"Idempotency-Key": "k1"})
    again = server.post(f"{AT}/ask", {"n": 2}, **{"Idempotency-Key": "k1"})
    assert first.json == again.json
    assert len(server.get(f"{AT}/pending").json["trials"]) == 2


def test_all_that_changes_a_study_does(server: Server, study: zn.Study) -> None:
    assert server.post(f"{AT}/trials/1/correct", {"value": 0.25, "note": "slip"}).status == 200
    assert server.post(f"{AT}/trials/2/retract", {"note": "wrong lamp"}).status == 200
    assert server.post(f"{AT}/observe", {"region": "x=0..0.5", "value": 0.4, "sem": 0.1}).json["observation"] == 0
    assert server.post(f"{AT}/trials/0/correct", {"value": 0.5, "observation": True}).status == 200
    assert server.post(f"{AT}/extend", {"n": 3}).json["budget"] == 33
    trial = server.post(f"{AT}/ask").json[0]["trial"]
    assert server.post(f"{AT}/trials/{trial}/fail", {"retry": False}).status == 200
    assert server.post(f"{AT}/allow", {"region": {"x": [0, 1]}}).json["allowed"] == 1
    trial = server.post(f"{AT}/ask").json[0]["trial"]
    assert server.post(f"{AT}/trials/{trial}/cancel").json["pending"] == 0
    study.refresh()
    assert study.trials[1].value == 0.25
    assert [own.state for own in study.trials[:3]] == ["measured", "measured", "retracted"]
    assert study.observations[0].value == 0.5
    assert study.budget == 33
    columns = server.get(f"{AT}/trials").json
    assert columns["earlier"]["1"][0]["value"] != 0.25
    assert columns["observed"][0]["value"] == 0.5
    assert columns["state"][2] == "retracted"
    assert server.get(AT).json["measured"] == study.measured == 3


def test_what_is_believed_is_what_the_library_believes(server: Server, study: zn.Study) -> None:
    said = server.post(
        f"{AT}/predict", {"regions": ["x=0..0.5", {"x": [0.6, 0.8]}, [[0, 1]], {"node": [1, 1]}]}
    ).json
    here = study.predict([study.space.region([own]) for own in ((0, 0.5), (0.6, 0.8), (0, 1), (0.5, 1))])
    assert said["mean"] == pytest.approx(here.mean, rel=1e-9)
    assert said["std"] == pytest.approx(here.std, rel=1e-6)
    chance = server.post(f"{AT}/probability", {"regions": ["x=0..0.5"], "above": 0.5}).json["probability"]
    assert chance == pytest.approx([study.probability([(0, 0.5)], above=0.5)])
    above = server.get(f"{AT}/above?threshold=0.1&probability=0.5").json
    assert [own["region"]["name"] for own in above["regions"]] == [
        own.region.name for own in study.above(0.1, 0.5)
    ]
    joined = server.get(f"{AT}/above?threshold=0.1&sigma=0.5&patches=true").json["patches"]
    assert [own["extent"] for own in joined] == [
        own.extent.tolist() for own in study.above(0.1, sigma=0.5).patches()
    ]
    assert server.get(f"{AT}/above?threshold=0.1&within=2").status == 422
    every = server.post(f"{AT}/predict").json
    assert every["mean"] == pytest.approx(study.predict().mean, rel=1e-9)
    assert every["regions"][-1]["name"] == study.predict().regions[-1].name
    assert server.get(f"{AT}/outlook?n=3").json["gain"] == pytest.approx(study.outlook(3).gain)
    nodes = server.get(f"{AT}/nodes").json
    assert nodes["mean"] == pytest.approx(study.tree.mean, rel=1e-9)


def test_documents_of_the_page_fit_together(server: Server, study: zn.Study) -> None:
    shape, values = server.get(f"{AT}/shape").json, server.get(f"{AT}/values").json
    assert len(shape["parent"]) == len(values["mean"]) == len(study.tree)
    more = server.get(f"{AT}/shape?from=3").json
    assert more["parent"] == shape["parent"][3:]
    tag = server.get(f"{AT}/values").headers["etag"]
    assert server.get(f"{AT}/values", **{"If-None-Match": tag}).status == 304
    assert len(server.get(f"{AT}/picture").json["curves"][0]["x"]) == 400
    assert server.get(f"{AT}/history").json["number"][-1] == 3
    assert server.get(f"{AT}/export/trials.csv").content.startswith(b"trial,region")
    (server.folder / "copy.db").write_bytes(server.get(f"{AT}/export/study.db").content)
    assert Study.open(server.folder / "copy.db").measured == 4
    (server.folder / "copy.db").unlink()
    assert b"Methods" in server.get(f"{AT}/export/report.html").content


@pytest.mark.parametrize(
    ("path", "body", "status", "words", "field"),
    [
        ("/ask", {"n": 0}, 422, "from 1 to 100", "n"),
        ("/ask", {"n": 101}, 422, "from 1 to 100", "n"),
        ("/ask", {"m": 1}, 422, "no such field", "m"),
        ("/ask", [1], 422, "must be an object", None),
        ("/ask", {"within": "x=0..0.5"}, 422, "a list of 1000 at most", "within"),
        ("/ask", {"avoid": ["x=0..1"]}, 409, "nothing outside of x 0..1 may be asked for", None),
        ("/forbid", {"region": "x=0..1"}, 422, "forbid the whole space", None),
        ("/forbid", {}, 422, "region is missing", "region"),
        ("/trials/0/tell", {}, 422, "value is missing", "value"),
        ("/trials/0/tell", {"value": "1"}, 422, "must be a number", "value"),
        ("/trials/0/tell", {"value": 7.5}, 409, "already has the value", None),
        ("/trials/99/tell", {"value": 1}, 404, "is not a trial of this study", None),
        ("/trials/x/tell", {"value": 1}, 422, "a trial must be a number", "trial"),
        ("/observe", {"region": "y=0..1", "value": 1}, 422, "must begin with the name of an axis", None),
        ("/observe", {"region": {"node": [70, 1]}, "value": 1}, 422, "no such node", None),
        ("/allow", {"region": {"x": [0, 1]}}, 422, "nothing failed", None),
        ("/predict", {"regions": ["x=0..1"] * 1001}, 422, "1000 at most", "regions"),
        ("/extend", {"n": True}, 422, "must be a number", "n"),
    ],
)
def test_refusals_are_problems_with_the_librarys_words(
    server: Server, study: zn.Study, path: str, body: Any, status: int, words: str, field: str | None
) -> None:
    said = server.post(AT + path, body)
    assert said.status == status, said.content
    assert said.headers["content-type"] == "application/problem+json"
    assert words in said.json["detail"]
    assert said.json.get("field") == field


def test_what_is_no_json_is_refused(server: Server, study: zn.Study) -> None:
    for body in (b"{", b'{"value": NaN}', b"[" * 100_000, b'{"note": "\\ud800"}', b"\xff"):
        assert server.post(f"{AT}/ask", body).status == 400
    assert server.post(f"{AT}/ask", b"n=1", **{"Content-Type": "text/plain"}).status == 415
    assert server.get("/api/v1/studies/nobody").status == 404
    assert server.get("/api/nothing").json["status"] == 404


def read_events(
    server: Server, path: str, wanted: int, after: Callable[[int], object] = lambda number: None
) -> list[tuple[int, Any, float]]:
    """Return the first events of a stream, with when they came; something may happen after each."""
    found: list[tuple[int, Any, float]] = []
    with socket.create_connection(("127.0.0.1", server.port), 60) as line:
        line.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        number, buffer = -1, b""
        while len(found) < wanted:
            more = line.recv(65536)
            assert more, "the stream has ended"
            buffer += more
            *whole, buffer = buffer.split(b"\n")
            for own in whole:
                if own.startswith(b"id: "):
                    number = int(own[4:])
                if own.startswith(b"data: "):
                    found.append((number, json.loads(own[6:]), time.monotonic()))
                    after(number)
    return found


def test_a_stream_begins_where_it_should_and_shows_others_writes_within_two_seconds(
    server: Server, study: zn.Study
) -> None:
    known = len(study.events)
    wrote: list[float] = []

    def write(number: int) -> None:
        if number >= known - 1:
            study.ask(by="another process")
            wrote.append(time.monotonic())

    events = read_events(server, f"{AT}/events?after={known - 3}", 5, write)
    assert [own[0] for own in events] == list(range(known - 2, known + 3))
    assert events[-1][1]["events"][-1] == "Asked"
    late = [came - written for (_, _, came), written in zip(events[2:], wrote, strict=False)]
    assert min(late) < 2  # a busy machine may be late once
    changes = read_events(server, "/api/v1/events", 1)
    assert {"study", "event", "measured", "pending", "state"} <= changes[0][1].keys()


def test_a_stream_resumes_exactly_after_the_last_it_sent(server: Server, study: zn.Study) -> None:
    with socket.create_connection(("127.0.0.1", server.port), 60) as line:
        path = f"{AT}/events?after=0"
        line.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 5\r\n\r\n".encode())
        said = b""
        while said.count(b"data:") < len(study.events) - 6:
            said += line.recv(65536)
    numbers = [int(own[4:]) for own in said.splitlines() if own.startswith(b"id: ")]
    assert numbers == list(range(6, len(study.events)))


GOLDEN = sorted((Path(__file__).parents[1] / "data" / "golden").glob("*.db"))


def test_golden_files_are_served(server: Server) -> None:
    for file in GOLDEN:
        shutil.copy(file, server.folder)
        at = f"/api/v1/studies/{file.stem}"
        if file.stem == "classes":  # of the user's own: nothing to see, and what to do
            assert "Open it with" in server.get(at).json["detail"]
            continue
        for part in ("", "/trials?named=true", "/shape", "/values", "/picture", "/history", "/journal"):
            blind = file.stem == "functions" and part == "/values"  # without the user's delta
            assert server.get(at + part).status == (409 if blind else 200), (file.stem, part)
        there, here = zn.connect(server.url(file.stem)), Study.open(server.folder / file.name)
        assert len(read_events(server, f"{at}/events?after=-1", len(here.events))) == len(here.events)
        assert (there.trials, there.events) == (here.trials, here.events)
        (server.folder / file.name).unlink()


def test_slow_work_on_one_study_holds_up_no_other(server: Server, study: zn.Study) -> None:
    slow = zn.Study.create(server.folder / "slow.db", zn.Sequences("ACGT", length=6), budget=60, rng=0)
    for _ in range(16):
        trial = slow.ask()
        slow.tell(trial, float(trial.region.name.count("A")))
    enough, slowly = threading.Event(), list[float]()

    def work() -> None:
        for n in itertools.count(20):
            start = time.monotonic()
            assert server.get(f"/api/v1/studies/slow/outlook?n={n}").status == 200
            slowly.append(time.monotonic() - start)
            if enough.is_set():
                return

    busy = threading.Thread(target=work)
    busy.start()
    wait_for(lambda: slowly)
    took: list[float] = []
    for _ in range(10):
        start = time.monotonic()
        (asked,) = server.post(f"{AT}/ask").json
        server.post(f"{AT}/trials/{asked['trial']}/cancel")
        took.append(time.monotonic() - start)
    enough.set()
    busy.join()
    (server.folder / "slow.db").unlink()
    assert statistics.median(took) < statistics.median(slowly)


def test_every_route_is_described_and_every_description_is_a_route(server: Server) -> None:
    described = server.get("/api/v1/openapi.json").json["paths"]
    both = {(method.upper(), path) for path, own in described.items() for method in own}
    assert both == {(own.method, own.path) for own in routes.EVERY}
    for route in routes.EVERY:
        operation = described[route.path][route.method.lower()]
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        query = {own["name"] for own in operation["parameters"] if own["in"] == "query"}
        assert set(route.fields) == (set(body["properties"]) if route.method == "POST" else query)


def test_the_api_has_all_words_of_a_study() -> None:
    """What `Study` can do and HTTP cannot is named here, with why."""
    elsewhere = {
        "create", "open", "save", "replay", "path", "refresh", "snapshot", "plot", "refine", "optimize",  # local
        "sample",  # arrays as large as the map
        "table", "top", "events", "timestamps", "observations", "blocked", "trials",  # in exports
        "id", "space", "read_only",  # in settings
        "observe_study",  # as observations
        "model", "models", "relative_std", "confidence_bands", "stands_out",  # in the head
        "budget", "measured", "remaining", "spent", "forbidden",
    }  # fmt: skip
    public = {name for name in dir(Study) if not name.startswith("_")}
    assert public - {route.operation for route in routes.ROUTES} == elsewhere


def test_the_overview_names_no_region_that_was_recommended_before_something_else_came_in(tmp_path: Path) -> None:
    study = zn.Study.create(tmp_path / "line.db", [(0, 1)], budget=5, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    study.tell(study.ask(), 0.1)
    folder = Folder(tmp_path)
    assert folder.entry("line").overview().best() is not None
    study.observe([(0.8, 0.9)], 3.0)
    assert folder.entry("line").overview().best() is None
    study.tell(study.ask(), 0.2)
    assert folder.entry("line").overview().best() is not None


def test_a_study_whose_file_has_no_ending_is_shown_too(tmp_path: Path) -> None:
    zn.Study.create(tmp_path / "plain", [(0, 1)], budget=3, noise=0.1)
    zn.Study.create(tmp_path / "usual.db", [(0, 1)], budget=3, noise=0.1)
    (tmp_path / "README").write_text("SQLite format 3, but no study")
    folder = Folder(tmp_path)
    assert folder.names() == ["plain", "usual"]
    assert folder.entry("plain").overview().budget == 3
    with pytest.raises(zn.InvalidInput, match="there is a study of this name"):
        folder.new("plain")
    for name in ("README", "usual.db"):
        with pytest.raises(Unknown):
            folder.entry(name)
    folder.end()


def test_repeating_an_idempotency_key_does_nothing_twice(server: Server) -> None:
    study = line(server.folder, "keys", told=2)
    at = "/api/v1/studies/keys"
    pending = [trial["trial"] for trial in server.post(f"{at}/ask", {"n": 2, "by": "robot"}).json]
    requests: dict[str, Any] = {
        "/observe": {"region": [[0, 0.5]], "value": 0.3, "by": "Ada"},
        "/extend": {"n": 5, "by": "Ada"},
        f"/trials/{pending[0]}/tell": {"value": 0.5, "by": "Ada"},
        f"/trials/{pending[1]}/fail": {"note": "broke", "by": "Ada"},
        "/trials/0/retract": {"by": "Ada"},
    }
    for number, (path, sent) in enumerate(requests.items()):
        header = {"Idempotency-Key": f"request {number}"}
        first, again = (server.post(at + path, sent, **header) for _ in range(2))
        assert (first.status, again.status) == (200, 200), (path, again.json)
        assert first.json == again.json, path
    study.refresh()
    assert (len(study.observations), study.budget) == (1, 35)
    trials = server.get(f"{at}/trials").json
    assert [trials["told_by"][n] for n in pending] == ["Ada", "Ada"]
    assert [trials["by"][n] for n in pending] == ["robot", "robot"]
