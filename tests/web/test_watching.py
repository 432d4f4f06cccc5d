"""The service with many who look: tags, names of files, addresses, signing in, memory; tells do not wait."""

from __future__ import annotations

import os
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

import zonal as zn
from web.server_process import Server, line, serving

TOKEN = "a-token-of-a-test-0123456789"
AXES = {"x": {"low": 0, "high": 1}}


def test_another_study_in_a_files_place_has_another_tag(server: Server, tmp_path: Path) -> None:
    first = line(server.folder, "swapped", told=3)
    at = "/api/v1/studies/swapped"
    tags = {path: server.get(at + path).headers["etag"] for path in ("/values", "/trials")}
    assert all(zn.__version__ in tag for tag in tags.values())
    for path, tag in tags.items():
        assert server.get(at + path, **{"If-None-Match": tag}).status == 304
        assert server.get(at + path, **{"If-None-Match": f'"other", {tag}'}).status == 304
        assert server.get(at + path, **{"If-None-Match": "*"}).status == 304
    other = line(tmp_path, "swapped", told=3, rng=1)
    assert first.path is not None
    assert other.path is not None
    os.replace(other.path, first.path)
    for path, tag in tags.items():
        said = server.get(at + path, **{"If-None-Match": tag})
        assert said.status == 200, path
        assert said.headers["etag"] != tag


def test_a_file_whose_name_is_no_text_harms_no_other(server: Server) -> None:
    line(server.folder, "fine", told=1)
    bad = os.fsencode(server.folder) + b"/bad\xff.db"
    with open(bad, "wb") as file:
        file.write(b"x")
    try:
        names = [study["name"] for study in server.get("/api/v1/studies").json["studies"]]
        assert "fine" in names
        assert all("bad" not in name for name in names)
    finally:
        os.unlink(bad)


def test_names_that_no_file_can_have_are_refused_at_their_field(server: Server) -> None:
    for name in ("CON", "aux", "lpt1.x", "a ", "a.", "日" * 80, "x" * 81):
        said = server.post("/api/v1/studies", {"name": name, "recipe": {"budget": 1, "axes": AXES}})
        assert (said.status, said.json.get("field")) == (422, "name"), name
        assert str(server.folder) not in said.json["detail"]
    recipe = {"budget": 2, "axes": AXES}
    assert server.post("/api/v1/studies", {"name": "once", "recipe": recipe}).status == 201
    again = server.post("/api/v1/studies", {"name": "once", "recipe": recipe})
    assert (again.status, again.json["field"]) == (422, "name")


def test_a_recipe_may_be_its_text_and_its_names_are_of_bounded_length(server: Server) -> None:
    text = 'budget = 5\n[axes]\nphase = { low = 0, high = 360, unit = "deg", periodic = true }\n'
    assert server.post("/api/v1/studies", {"name": "pasted", "recipe": text}).status == 201
    assert zn.Study.open(server.folder / "pasted.db").space.names == ("phase",)
    wrong = server.post("/api/v1/studies", {"name": "wrong", "recipe": "budget = = 5"})
    assert wrong.status == 422
    assert "line 1" in wrong.json["detail"]
    named = server.post("/api/v1/studies", {"name": "file", "recipe": '[points]\ntable = "x.csv"\n'})
    assert "names a file" in named.json["detail"]
    long = {"budget": 5, "axes": AXES, "measurement": {"name": "x" * 20_000}}
    assert "20000 letters" in server.post("/api/v1/studies", {"name": "long", "recipe": long}).json["detail"]
    many = {"budget": 5, "axes": {f"x{n}": {"low": 0, "high": 1} for n in range(3000)}}
    began = time.monotonic()
    assert "3000 axes" in server.post("/api/v1/studies", {"name": "many", "recipe": many}).json["detail"]
    assert time.monotonic() - began < 5


def test_a_link_survives_signing_in(tmp_path: Path) -> None:
    line(tmp_path, told=1)
    with serving(tmp_path, ZONAL_TOKEN=TOKEN) as server:
        sent = server.get("/studies/line")
        assert (sent.status, sent.headers["location"]) == (303, "/login?next=/studies/line")
        cookie = server.post("/login", {"token": TOKEN}).headers["set-cookie"].partition(";")[0]
        assert server.get("/login?next=/studies/line", Cookie=cookie).headers["location"] == "/studies/line"
        for elsewhere in ("//evil.example", "https://evil.example", "/\\evil.example"):
            assert server.get(f"/login?next={elsewhere}", Cookie=cookie).headers["location"] == "/"
        assert server.post("/login", {"token": "x" * 3000}).status == 413


def test_the_addresses_that_are_printed_work(tmp_path: Path) -> None:
    with serving(tmp_path, "--host", "0.0.0.0") as server:
        token = server.process.stdout.readline().split()[1]
        others = [server.process.stdout.readline().split()[-1] for _ in range(1)]
        for address in (server.address, *others):
            assert "0.0.0.0" not in address
            host = address.removeprefix("http://")
            said = server.get("/api/v1/studies", Host=host, Authorization=f"Bearer {token}")
            assert said.status == 200, address


def test_a_wrong_method_is_told_the_right_one(server: Server) -> None:
    said = server.send("PUT", "/api/v1/studies")
    assert said.status == 405
    assert "GET" in said.headers["allow"]


def test_a_body_that_ends_in_the_middle_is_no_error_of_the_service(server: Server) -> None:
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", server.port)) as peer:
            head = "POST /api/v1/studies HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            peer.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
    assert server.get("/api/v1/studies").status == 200  # and at its end no traceback was logged


def resident(pid: int) -> float:
    """Return how many megabytes a process has in memory."""
    for entry in Path(f"/proc/{pid}/status").read_text().splitlines():
        if entry.startswith("VmRSS"):
            return int(entry.split()[1]) / 1024
    raise AssertionError(pid)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_memory_stays_bounded_when_many_studies_are_opened(tmp_path: Path) -> None:
    for number in range(20):
        space = zn.Box({"x": (0, 1), "y": (0, 1)})
        given: dict[str, Any] = {"kernel": zn.RBF(1.0, 0.2), "noise": 0.1, "rng": number}
        study = zn.Study.create(tmp_path / f"s{number}.db", space, budget=40, **given)
        study.optimize(lambda region: float(region.bounds[0].mean()), n=12)
    with serving(tmp_path) as server:
        for number in range(20):
            for path in ("", "/shape", "/values", "/picture", "/history", "/ahead", "/trials"):
                assert server.get(f"/api/v1/studies/s{number}{path}").status == 200
        assert resident(server.process.pid) < 400


def test_a_tell_does_not_wait_for_those_who_look(tmp_path: Path) -> None:
    """While somebody computes a history for seconds, a tell of the same study takes no longer than that."""
    study = line(tmp_path, "busy", budget=500, told=120)
    with serving(tmp_path) as server:
        at = "/api/v1/studies/busy"
        assert server.post(f"{at}/ask", {"by": "robot"}).status == 200
        took = dict[str, float]()

        def look() -> None:
            began = time.monotonic()
            assert server.get(f"{at}/export/report.html").status == 200
            took["report"] = time.monotonic() - began

        looking = threading.Thread(target=look)
        looking.start()
        time.sleep(0.3)
        began = time.monotonic()
        trial = study.measured
        assert server.post(f"{at}/trials/{trial}/tell", {"value": 0.5}).status == 200
        told = time.monotonic() - began
        looking.join()
        assert told < max(0.5 * took["report"], 0.5), (told, took)


def test_a_study_is_archived_and_restored(server: Server) -> None:
    study = line(server.folder, "aside", told=2)
    at = "/api/v1/studies/aside"

    def listed() -> list[str]:
        return [entry["name"] for entry in server.get("/api/v1/studies").json["studies"]]

    assert server.get(f"{at}/values").status == 200
    assert server.post(f"{at}/archive").status == 200
    assert "aside" not in listed()
    assert server.get(at).status == 404
    assert server.post(f"{at}/archive").status == 404
    assert "aside" in server.get("/api/v1/archive").json["studies"]
    line(server.folder, "aside", told=1)  # another of this name: neither replaces the other
    assert server.post("/api/v1/archive/aside/restore").status == 422
    (server.folder / "aside.db").unlink()
    assert server.post("/api/v1/archive/aside/restore").status == 200
    assert server.post("/api/v1/archive/aside/restore").status == 404
    assert "aside" in listed()
    assert zn.Study.open(server.folder / "aside.db").events == study.events
    for name in ("..%2Fx", "%2e%2e"):
        assert server.post(f"/api/v1/archive/{name}/restore").status == 404
